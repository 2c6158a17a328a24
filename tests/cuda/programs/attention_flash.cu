// Flash attention forward: a block of queries against tiles of keys, one thread a query, online softmax.
#define TILE 16
#define D 32
extern "C" __global__ void attention_flash(const float *q, const float *k, const float *v, float *out, float *lse,
                                           int n, float scale) {
    __shared__ float key[TILE][D], value[TILE][D];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float query[D], acc[D] = {}, best = -INFINITY, sum = 0;
    if (row < n)
        for (int d = 0; d < D; d++) query[d] = q[row * D + d] * scale;
    for (int start = 0; start < n; start += TILE) {
        for (int i = threadIdx.x; i < TILE * D; i += blockDim.x) {
            bool there = start + i / D < n;
            key[i / D][i % D] = there ? k[start * D + i] : 0;
            value[i / D][i % D] = there ? v[start * D + i] : 0;
        }
        __syncthreads();
        int count = min(TILE, n - start);
        if (row < n)
            for (int j = 0; j < count; j++) {
                float s = 0;
#pragma unroll
                for (int d = 0; d < D; d++) s = fmaf(query[d], key[j][d], s);
                float now = fmaxf(best, s), rescale = exp2f((best - now) * 1.44269504f),
                      p = exp2f((s - now) * 1.44269504f);
                sum = sum * rescale + p;
#pragma unroll
                for (int d = 0; d < D; d++) acc[d] = acc[d] * rescale + p * value[j][d];
                best = now;
            }
        __syncthreads();
    }
    if (row < n) {
        for (int d = 0; d < D; d++) out[row * D + d] = acc[d] / sum;
        lse[row] = best + logf(sum);
    }
}
