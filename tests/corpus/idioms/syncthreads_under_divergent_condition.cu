// Syncthreads under divergent condition.
// launch: 1 x 64
// finds: RAW, barrier after exit, divergent barrier
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
#ifdef BUG
    if (t<48) __syncthreads();
#else
    __syncthreads();
#endif
    out[t] = s[t^32];
}
