// Syncthreads in an unrolled loop that a warp leaves.
// launch: 1 x 64
// finds: divergent block
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        s[t] = x[t + i];
        __syncthreads();
#ifdef BUG
        if (t / 32 + i == 3) return;
#endif
        out[t + 64 * i] = s[t ^ 1];
        __syncthreads();
    }
}
