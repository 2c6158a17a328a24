// The single-precision library: every function of a line with its own row of results.
#define UNARY(F) F(sinf) F(cosf) F(tanf) F(asinf) F(acosf) F(atanf) F(sinhf) F(coshf) F(tanhf) F(asinhf) F(atanhf) \
    F(expf) F(exp2f) F(exp10f) F(expm1f) F(log1pf) F(cbrtf) F(erff) F(erfcf) F(floorf) F(ceilf) F(truncf) F(rintf) \
    F(roundf) F(fabsf) F(tgammaf) F(sinpif) F(rcbrtf) F(normcdff) F(j0f)

extern "C" __global__ void math32(const float *x, const float *y, float *out, int n) {
    int i = threadIdx.x, k = 0;
    if (i >= n) return;
    float a = x[i], b = y[i];
#define ROW(f) out[k++ * n + i] = f(a);
    UNARY(ROW)
    out[k++ * n + i] = logf(b);
    out[k++ * n + i] = log2f(b);
    out[k++ * n + i] = log10f(b);
    out[k++ * n + i] = sqrtf(b);
    out[k++ * n + i] = rsqrtf(b);
    out[k++ * n + i] = lgammaf(b);
    out[k++ * n + i] = powf(b, a);
    out[k++ * n + i] = atan2f(a, b);
    out[k++ * n + i] = hypotf(a, b);
    out[k++ * n + i] = fmodf(a * 100, b);
    out[k++ * n + i] = remainderf(a * 100, b);
    out[k++ * n + i] = copysignf(b, a);
    out[k++ * n + i] = fdimf(a, b);
    out[k++ * n + i] = ldexpf(a, i % 40 - 20);
    out[k++ * n + i] = a / b;
    out[k++ * n + i] = sinf(a * 1e6f);  // the slow path of the argument reduction
    out[k++ * n + i] = __fmaf_rz(a, b, a);
    out[k++ * n + i] = __fadd_ru(a, b);
    out[k++ * n + i] = __fdiv_rd(a, b);
    out[k++ * n + i] = (float)isnan(a / (b - b)) + 2.0f * isinf(b / 0.0f) + 4.0f * signbit(a);
}
