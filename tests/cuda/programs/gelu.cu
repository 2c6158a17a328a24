// GELU, tanh form, forward and backward, and the exact form with erff.
extern "C" __global__ void gelu(const float *x, const float *dout, float *out, float *dx, float *exact, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float scale = 0.7978845608028654f;
    float v = x[i], cube = 0.044715f * v * v * v, inner = scale * (v + cube), t = tanhf(inner), c = coshf(inner);
    out[i] = 0.5f * v * (1.0f + t);
    dx[i] = dout[i] * (0.5f * (1.0f + t) + v * 0.5f * (1.0f / (c * c)) * scale * (1.0f + 3.0f * 0.044715f * v * v));
    exact[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
}
