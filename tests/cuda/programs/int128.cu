// 128-bit integers: sums, products, quotients, shifts, and conversions to and from double.
typedef unsigned __int128 u128;
typedef __int128 i128;
__device__ u128 make(const unsigned long long *p) { return (u128)p[1] << 64 | p[0]; }
__device__ void put(unsigned long long *p, u128 v) { p[0] = (unsigned long long)v; p[1] = (unsigned long long)(v >> 64); }

extern "C" __global__ void int128(const unsigned long long *x, const unsigned long long *y, unsigned long long *out, int n) {
    int i = threadIdx.x;
    u128 a = make(x + 2 * i), b = make(y + 2 * i);
    u128 r[9] = {a + b, a - b, a * b, a / (b | 1), a % (b | 1), a << (i & 127), a >> (i & 127),
                 (u128)((i128)a / (i128)((b >> 70) | 1)), (u128)((i128)a >> 5)};
    for (int k = 0; k < 9; k++) put(out + 2 * (k * n + i), r[k]);
    put(out + 2 * (9 * n + i), (u128)(a < b) | (u128)((i128)a < (i128)b) << 1);
}
