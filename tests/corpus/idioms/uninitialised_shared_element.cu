// Uninitialised shared element.
// launch: 1 x 64
// finds: uninitialised read
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[65];
    int t = threadIdx.x;
    s[t] = x[t];
#ifndef BUG
    if (t == 0)s[64] = 0;
#endif
    __syncthreads();
    out[t] = s[t+1];
}
