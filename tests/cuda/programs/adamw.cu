// One step of AdamW, with a learning rate schedule in double precision.
__device__ float lerp(float start, float end, float weight) { return fmaf(weight, end, fmaf(-weight, start, start)); }

extern "C" __global__ void adamw(float *param, const float *grad, float *m, float *v, int n, float rate, float beta1,
                                 float beta2, int step, float decay) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double warm = rate * fmin(1.0, step / 100.0);
    float c1 = 1.0f - powf(beta1, step), c2 = 1.0f - powf(beta2, step), g = grad[i];
    m[i] = lerp(g, m[i], beta1);
    v[i] = lerp(g * g, v[i], beta2);
    float update = (m[i] / c1) / (sqrtf(v[i] / c2) + 1e-8f) + decay * param[i];
    param[i] -= (float)warm * update;
}
