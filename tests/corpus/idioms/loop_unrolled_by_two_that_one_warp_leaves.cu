// Loop unrolled by two that one warp leaves.
// launch: 1 x 64
// finds: divergent block
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, rounds = x[0] % 3 + 5;
#ifdef BUG
    if (t >= 32) rounds -= 2;
#endif
#pragma unroll 2
    for (int i = 0; i < rounds; i++) {
        s[t] = x[t + i];
        __syncthreads();
        out[t + i * 64] = s[t ^ 1];
        __syncthreads();
    }
}
