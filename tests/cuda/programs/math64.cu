// The double-precision library.
#define UNARY(F) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(atanh) \
    F(exp) F(exp2) F(exp10) F(expm1) F(log1p) F(cbrt) F(erf) F(erfc) F(floor) F(ceil) F(trunc) F(rint) \
    F(round) F(fabs) F(tgamma) F(sinpi)

extern "C" __global__ void math64(const double *x, const double *y, double *out, int n) {
    int i = threadIdx.x, k = 0;
    if (i >= n) return;
    double a = x[i], b = y[i];
#define ROW(f) out[k++ * n + i] = f(a);
    UNARY(ROW)
    out[k++ * n + i] = log(b);
    out[k++ * n + i] = log2(b);
    out[k++ * n + i] = log10(b);
    out[k++ * n + i] = sqrt(b);
    out[k++ * n + i] = rsqrt(b);
    out[k++ * n + i] = lgamma(b);
    out[k++ * n + i] = pow(b, a);
    out[k++ * n + i] = atan2(a, b);
    out[k++ * n + i] = hypot(a, b);
    out[k++ * n + i] = fmod(a * 100, b);
    out[k++ * n + i] = remainder(a * 100, b);
    out[k++ * n + i] = copysign(b, a);
    out[k++ * n + i] = fdim(a, b);
    out[k++ * n + i] = ldexp(a, i % 40 - 20);
    out[k++ * n + i] = a / b;
    out[k++ * n + i] = sin(a * 1e8);
    out[k++ * n + i] = __fma_rz(a, b, a);
    out[k++ * n + i] = __dadd_ru(a, b);
    out[k++ * n + i] = __ddiv_rd(a, b);
    out[k++ * n + i] = (double)(long long)(a * 1e12) + (unsigned long long)(b * 1e10) + (int)a + (unsigned char)b;
}
