// Shared array read past its end (stencil halo).
// launch: 1 x 64
// finds: array overrun
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int a[64];
    __shared__ int b[64];
    int t = threadIdx.x;
    a[t] = x[t];
    b[t] = x[t+64];
    __syncthreads();
#ifdef BUG
    out[t] = a[t]+a[t+1]+b[t];
#else
    out[t] = a[t]+(t<63?a[t+1]:0)+b[t];
#endif
}
