// Address of a local variable given to others.
// launch: 1 x 64
// missed: the address of a local variable is valid for its own thread, and is used by others
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int *p;
    int t = threadIdx.x;
    int v[2] = {x[t], t};
#ifdef BUG
    if (t == 0) p = &v[x[1]&1];
    __syncthreads();
    out[t] = *p;
#else
    if (t == 0) p = &x[x[1]&1];
    __syncthreads();
    out[t] = *p;
#endif
}
