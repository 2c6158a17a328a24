// Monte Carlo with Philox 4x32-10 counters: pi from points in a circle, and a normal sample after Box and Muller.
__device__ uint4 philox(uint4 c, uint2 k) {
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void monte_carlo(unsigned *raw, unsigned long long *hits, float *normals, unsigned seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    for (unsigned k = 0; k < 8; k++) {
        uint4 r = philox(make_uint4(i, k, 0, 0), make_uint2(seed, 0));
        if (k == 0) ((uint4 *)raw)[i] = r;
        float x = r.x * 0x1p-32f, y = r.y * 0x1p-32f;
        inside += x * x + y * y < 1.0f;
        if (k == 0) {
            float radius = sqrtf(-2.0f * logf((r.z + 1.0f) * 0x1p-32f)), s, c;
            sincospif(2.0f * (r.w * 0x1p-32f), &s, &c);
            normals[2 * i] = radius * c;
            normals[2 * i + 1] = radius * s;
        }
    }
    for (int d = 16; d; d >>= 1) inside += __shfl_xor_sync(0xffffffff, inside, d);
    if (threadIdx.x % 32 == 0) atomicAdd(hits, (unsigned long long)inside);
}
