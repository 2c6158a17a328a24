// Warps leave a while loop at their own count.
// launch: 1 x 96
// finds: divergent block
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int s[96];
    int t = threadIdx.x, left = t / 32 + 1;
    s[t] = x[t];
#ifndef BUG
    left = 3;
#endif
    while (left--) {
        __syncthreads();
        int v = s[(t + 1) % 96];
        __syncthreads();
        s[t] = v + 1;
    }
    out[t] = s[t];
}
