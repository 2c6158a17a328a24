// Layer normalisation forward and backward as in a GPT: warp a row, gradients of weight and bias by shared atomics.
__device__ float warp_sum(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void layernorm_forward(float *out, float *mean, float *rstd, const float *x, const float *weight,
                                             const float *bias, int n, int c) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    const float *in = x + row * c;
    float sum = 0;
    for (int i = lane; i < c; i += 32) sum += in[i];
    float m = warp_sum(sum) / c;
    sum = 0;
    for (int i = lane; i < c; i += 32) sum += (in[i] - m) * (in[i] - m);
    float s = rsqrtf(warp_sum(sum) / c + 1e-5f);
    if (lane == 0) {
        mean[row] = m;
        __stcs(rstd + row, s);
    }
    for (int i = lane; i < c; i += 32) out[row * c + i] = s * (__ldcs(in + i) - m) * weight[i] + bias[i];
}

extern "C" __global__ void layernorm_backward(float *dx, float *dweight, float *dbias, const float *dout,
                                              const float *x, const float *weight, const float *mean,
                                              const float *rstd, int n, int c) {
    extern __shared__ float shared[];
    float *sb = shared, *sw = shared + c;
    for (int i = threadIdx.x; i < 2 * c; i += blockDim.x) shared[i] = 0;
    __syncthreads();
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row < n) {
        float m = mean[row], s = rstd[row], d1 = 0, d2 = 0;
        for (int i = lane; i < c; i += 32) {
            float norm = (x[row * c + i] - m) * s, d = weight[i] * dout[row * c + i];
            d1 += d;
            d2 += d * norm;
        }
        d1 = warp_sum(d1) / c;
        d2 = warp_sum(d2) / c;
        for (int i = lane; i < c; i += 32) {
            float g = dout[row * c + i], norm = (x[row * c + i] - m) * s;
            atomicAdd(sb + i, g);
            atomicAdd(sw + i, norm * g);
            dx[row * c + i] += (weight[i] * g - d1 - norm * d2) * s;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        atomicAdd(dbias + i, sb[i]);
        atomicAdd(dweight + i, sw[i]);
    }
}
