// Shared array runs into the next.
// launch: 1 x 64
// finds: array overrun
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int a[32];
    __shared__ int b[64];
    int t = threadIdx.x;
    b[t] = x[t];
    __syncthreads();
#ifdef BUG
    for (int j = t; j <= 32; j += 64) a[j] = j;
#else
    for (int j = t; j<32; j += 64) a[j] = j;
#endif
    __syncthreads();
    out[t] = b[t]+a[t&31];
}
