// Out of bounds missing guard.
// launch: 5 x 64, 300 elements
// finds: fault
extern "C" __global__ void k(int *out, int *x, int n) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
#ifndef BUG
    if (i<n)
#endif
    out[i] = x[i];
}
