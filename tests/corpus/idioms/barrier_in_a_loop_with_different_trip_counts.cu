// Barrier in a loop with different trip counts.
// launch: 1 x 128
// finds: divergent block
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
#ifdef BUG
    int m = 1+t/32;
#else
    int m = 2;
#endif
    for (int i = 0; i<m; i++) {
        s[t] = i+x[t];
        __syncthreads();
        out[t] += s[t^1];
        __syncthreads();
    }
}
