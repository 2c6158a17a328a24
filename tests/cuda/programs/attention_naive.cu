// Causal attention in three kernels, as a first GPT writes it: scores, softmax, values. Tensors are [B, T, 3, H, D].
extern "C" __global__ void scores(const float *qkv, float *att, int B, int T, int H, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * H * T * T) return;
    int t2 = i % T, t = i / T % T, h = i / T / T % H, b = i / T / T / H;
    if (t2 > t) {
        att[i] = -INFINITY;
        return;
    }
    const float *q = qkv + ((b * T + t) * 3 * H + h) * D, *k = qkv + ((b * T + t2) * 3 * H + H + h) * D;
    float sum = 0;
    for (int d = 0; d < D; d++) sum += q[d] * k[d];
    att[i] = sum / sqrtf(D);
}

extern "C" __global__ void softmax(float *att, int rows, int T) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float *x = att + row * T, best = -10000.0f;
    double sum = 0;
    int visible = row % T + 1;
    for (int i = 0; i < visible; i++) best = fmaxf(best, x[i]);
    for (int i = 0; i < visible; i++) sum += x[i] = expf(x[i] - best);
    for (int i = 0; i < T; i++) x[i] = i < visible ? x[i] / (float)sum : 0.0f;
}

extern "C" __global__ void values(const float *qkv, const float *att, float *out, int B, int T, int H, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * T * H * D) return;
    int d = i % D, h = i / D % H, t = i / D / H % T, b = i / D / H / T;
    float sum = 0;
    for (int t2 = 0; t2 <= t; t2++)
        sum += att[((b * H + h) * T + t) * T + t2] * qkv[((b * T + t2) * 3 * H + 2 * H + h) * D + d];
    out[i] = sum;
}
