// RMS normalisation in half precision with half2 arithmetic, and the scalar operations of half.
#include <cuda_fp16.h>

extern "C" __global__ void rmsnorm_half(const half2 *x, const half2 *weight, half2 *out, int pairs) {
    int lane = threadIdx.x;
    const half2 *in = x + blockIdx.x * pairs;
    float sum = 0;
    for (int i = lane; i < pairs; i += 32) {
        float2 f = __half22float2(in[i]);
        sum += f.x * f.x + f.y * f.y;
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    half2 scale = __float2half2_rn(rsqrtf(sum / (2 * pairs) + 1e-6f));
    for (int i = lane; i < pairs; i += 32) out[blockIdx.x * pairs + i] = __hmul2(__hmul2(in[i], scale), weight[i]);
}

extern "C" __global__ void half_math(const half *x, const half *y, half *out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    half a = x[i], b = y[i];
    half r[12] = {__hadd(a, b), __hsub(a, b), __hmul(a, b), __hfma(a, b, a), __hmax(a, b), __hmin(a, b),
                  __habs(a), __hneg(b), __hdiv(a, b), hsqrt(__habs(a)), __int2half_rn(__half2int_rz(a)),
                  __hgt(a, b) ? a : b};
    for (int k = 0; k < 12; k++) out[k * n + i] = r[k];
}
