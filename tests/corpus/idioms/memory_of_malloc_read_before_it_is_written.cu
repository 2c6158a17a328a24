// Memory of malloc read before it is written.
// launch: 1 x 32
// missed: what malloc gives counts as written
extern "C" __global__ void k(int *out, int *x, int n) {
    int *p = (int *)malloc(4 * sizeof(int));
#ifndef BUG
    p[1] = x[threadIdx.x];
#endif
    out[threadIdx.x] = p[1];
    free(p);
}
