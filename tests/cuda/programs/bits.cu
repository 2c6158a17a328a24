// Integer tricks: population count, leading zeros, bit reversal, funnel shifts, averages, absolute differences, SIMD.
extern "C" __global__ void bits(const unsigned *x, const unsigned long long *w, unsigned *out, unsigned long long *wide,
                                int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = x[(i + 1) % n];
    unsigned long long p = w[i], q = w[(i + 1) % n];
    unsigned r[24] = {
        (unsigned)__popc(a), (unsigned)__clz(a), __brev(a), (unsigned)__ffs(a), __funnelshift_l(a, b, i),
        __funnelshift_rc(a, b, i * 3), __byte_perm(a, b, 0x6172), __umulhi(a, b), (unsigned)__mulhi((int)a, (int)b),
        __sad((int)a, (int)b, 5u), __usad(a, b, 7u), __uhadd(a, b), __urhadd(a, b), (unsigned)__hadd((int)a, (int)b),
        __umul24(a, b), (unsigned)__mul24((int)a, (int)b), __vadd2(a, b), __vminu4(a, b), __vmaxs2(a, b),
        __vcmpgtu4(a, b), a / (b | 1), a % (b | 1), (unsigned)((int)a / (int)(b | 1)), (unsigned)((int)a >> (i & 31))};
    for (int k = 0; k < 24; k++) out[k * n + i] = r[k];
    unsigned long long s[10] = {
        (unsigned long long)__popcll(p), (unsigned long long)__clzll(p), __brevll(p), (unsigned long long)__ffsll(p),
        __umul64hi(p, q), (unsigned long long)__mul64hi((long long)p, (long long)q), p / (q | 1), p % (q | 1),
        (unsigned long long)((long long)p / (long long)(q | 1)), p << (i & 63) | p >> (63 - (i & 63))};
    for (int k = 0; k < 10; k++) wide[k * n + i] = s[k];
}
