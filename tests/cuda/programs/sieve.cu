// The sieve of Eratosthenes in segments of shared bits, and modular exponentiation in 64 bits.
extern "C" __global__ void sieve(const int *primes, int count, unsigned *composite, int words) {
    __shared__ unsigned bits[64];
    int t = threadIdx.x, first = blockIdx.x * 2048;
    bits[t] = 0;
    __syncthreads();
    for (int p = t; p < count; p += blockDim.x) {
        int prime = primes[p];
        for (int m = max(prime * prime, (first + prime - 1) / prime * prime); m < first + 2048; m += prime)
            atomicOr(&bits[(m - first) / 32], 1u << (m - first) % 32);
    }
    __syncthreads();
    if (blockIdx.x * 64 + t < words) composite[blockIdx.x * 64 + t] = bits[t];
}

__device__ unsigned long long mulmod(unsigned long long a, unsigned long long b, unsigned long long m) {
    unsigned __int128 p = (unsigned __int128)a * b;
    unsigned long long high = p >> 64, low = (unsigned long long)p;
    for (int i = 0; i < 64; i++) {  // high : low modulo m by shifting
        bool carry = high >> 63;
        high = high << 1 | low >> 63;
        low <<= 1;
        if (carry || high >= m) high -= m;
    }
    return high;
}

extern "C" __global__ void power(const unsigned long long *base, const unsigned long long *exponent,
                                 unsigned long long modulus, unsigned long long *out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned long long b = base[i] % modulus, e = exponent[i], r = 1;
    while (e) {
        if (e & 1) r = mulmod(r, b, modulus);
        b = mulmod(b, b, modulus);
        e >>= 1;
    }
    out[i] = r;
}
