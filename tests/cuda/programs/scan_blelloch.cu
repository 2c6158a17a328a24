// Exclusive scan of one block after Blelloch: up-sweep, down-sweep, padded against bank conflicts.
#define PAD(i) ((i) + ((i) >> 5))

extern "C" __global__ void scan_blelloch(const int *x, int *out, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, m = 2 * blockDim.x, offset = 1;
    s[PAD(2 * t)] = 2 * t < n ? x[2 * t] : 0;
    s[PAD(2 * t + 1)] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
    for (int d = m >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[PAD(offset * (2 * t + 2) - 1)] += s[PAD(offset * (2 * t + 1) - 1)];
        offset *= 2;
    }
    if (t == 0) s[PAD(m - 1)] = 0;
    for (int d = 1; d < m; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PAD(offset * (2 * t + 1) - 1), b = PAD(offset * (2 * t + 2) - 1), held = s[a];
            s[a] = s[b];
            s[b] += held;
        }
    }
    __syncthreads();
    if (2 * t < n) out[2 * t] = s[PAD(2 * t)];
    if (2 * t + 1 < n) out[2 * t + 1] = s[PAD(2 * t + 1)];
}
