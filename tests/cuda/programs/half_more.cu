// More of half and bfloat16: pairs, transcendental functions, conversions with every rounding, comparisons with NaN.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define N 64

extern "C" __global__ void half_functions(const half *x, const half *y, half *out) {
    int i = threadIdx.x, k = 0;
    half a = x[i], b = y[i];
#define PUT(v) out[k++ * N + i] = v;
    PUT(hexp(a)) PUT(hexp2(a)) PUT(hexp10(a)) PUT(hlog(b)) PUT(hlog2(b)) PUT(hlog10(b)) PUT(hsin(a)) PUT(hcos(a))
    PUT(hrcp(b)) PUT(hrsqrt(b)) PUT(hsqrt(b)) PUT(hfloor(a)) PUT(hceil(a)) PUT(htrunc(a)) PUT(hrint(a))
    PUT(__hadd_sat(a, b)) PUT(__hmul_sat(a, b)) PUT(__hfma_sat(a, b, a)) PUT(__float2half_rd(__half2float(a) * 1.001f))
    PUT(__float2half_ru(__half2float(a) * 1.001f)) PUT(__float2half_rz(__half2float(a) * 1.001f))
    PUT(__int2half_rn(i * 1234)) PUT(__ushort2half_rn((unsigned short)(i * 1000)))
    PUT(__short2half_rn((short)__half2short_rz(a))) PUT(__hmax_nan(a, b)) PUT(__hmin_nan(a, b))
    PUT(__double2half((double)i / 7)) PUT(__hfma_relu(a, b, a)) PUT(__ll2half_rn((long long)i * 321)) PUT(htanh(a))
}

extern "C" __global__ void half_pairs(const half2 *x, const half2 *y, half2 *out, int *flags) {
    int i = threadIdx.x, k = 0;
    half2 a = x[i], b = y[i];
    PUT(__hadd2(a, b)) PUT(__hsub2(a, b)) PUT(__hmul2(a, b)) PUT(__hfma2(a, b, a)) PUT(__hmax2(a, b)) PUT(__hmin2(a, b))
    PUT(__habs2(a)) PUT(__hneg2(a)) PUT(h2exp2(a)) PUT(h2sqrt(__habs2(a))) PUT(__lowhigh2highlow(a)) PUT(__highs2half2(a, b))
    PUT(__heq2(a, b)) PUT(__hgt2(a, b)) PUT(__h2div(a, b)) PUT(h2rcp(b)) PUT(__float22half2_rn(__half22float2(a)))
    PUT(__hfma2_relu(a, b, a)) PUT(__hcmadd(a, b, a)) PUT(h2rint(a))
    flags[i] = __hbeq2(a, a) + 2 * __hblt2(a, b) + 4 * __hisnan(a.x) + 8 * (int)__heq2_mask(a, a);
}

extern "C" __global__ void bfloat_pairs(const __nv_bfloat162 *x, const __nv_bfloat162 *y, __nv_bfloat162 *out) {
    int i = threadIdx.x, k = 0;
    __nv_bfloat162 a = x[i], b = y[i];
    PUT(__hadd2(a, b)) PUT(__hsub2(a, b)) PUT(__hmul2(a, b)) PUT(__hfma2(a, b, a)) PUT(__hmax2(a, b)) PUT(__hmin2(a, b))
    PUT(__habs2(a)) PUT(__hneg2(a)) PUT(h2exp2(a)) PUT(__floats2bfloat162_rn(1.1f * i, -2.3f * i)) PUT(__h2div(a, b))
    PUT(__hmax2_nan(a, b)) PUT(__hfma2_relu(a, b, a)) PUT(h2sqrt(__habs2(a)))
}
