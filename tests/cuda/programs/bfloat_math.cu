// The scalar operations of bfloat16.
#include <cuda_bf16.h>

extern "C" __global__ void bfloat_math(const __nv_bfloat16 *x, const __nv_bfloat16 *y, __nv_bfloat16 *out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 a = x[i], b = y[i];
    __nv_bfloat16 r[8] = {__hadd(a, b), __hsub(a, b), __hmul(a, b), __hfma(a, b, a), __hmax(a, b), __hmin(a, b),
                          __float2bfloat16(__bfloat162float(a) * 3.0f), __hlt(a, b) ? a : b};
    for (int k = 0; k < 8; k++) out[k * n + i] = r[k];
}
