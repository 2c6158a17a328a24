// Cross entropy of a classifier fused with softmax, and its gradient; block a row, three block-wide reductions.
template <typename F> __device__ float block_reduce(float v, F f, float identity) {
    __shared__ float s[32];
    for (int d = 16; d; d >>= 1) v = f(v, __shfl_xor_sync(~0u, v, d));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? s[threadIdx.x % 32] : identity;
    for (int d = 16; d; d >>= 1) v = f(v, __shfl_xor_sync(~0u, v, d));
    __syncthreads();
    return v;
}

extern "C" __global__ void crossentropy(const float *logits, const int *target, float *loss, float *dlogits, int v) {
    const float *x = logits + blockIdx.x * v;
    float best = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < v; i += blockDim.x) best = fmaxf(best, x[i]);
    best = block_reduce(best, [](float a, float b) { return fmaxf(a, b); }, -INFINITY);
    for (int i = threadIdx.x; i < v; i += blockDim.x) sum += expf(x[i] - best);
    sum = block_reduce(sum, [](float a, float b) { return a + b; }, 0.0f);
    if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + best - x[target[blockIdx.x]];
    for (int i = threadIdx.x; i < v; i += blockDim.x)
        dlogits[blockIdx.x * v + i] = expf(x[i] - best) / sum - (i == target[blockIdx.x] ? 1.0f : 0.0f);
}
