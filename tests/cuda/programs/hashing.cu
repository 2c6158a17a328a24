// CRC-32 with a table, SHA-256 of short messages, and a hash table with linear probing.
__device__ unsigned rotate(unsigned x, int n) { return x >> n | x << (32 - n); }

__constant__ unsigned K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

// One message of 55 bytes at most a thread, padded to 56 with its length in the last.
extern "C" __global__ void sha256(const unsigned char *messages, unsigned *digests) {
    const unsigned char *m = messages + threadIdx.x * 56;
    int length = m[55];
    unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                            0x5be0cd19};
    for (int i = 0; i < 16; i++) {
        w[i] = 0;
        for (int b = 0; b < 4; b++) {
            int at = i * 4 + b;
            w[i] = w[i] << 8 | (at < length ? m[at] : at == length ? 128 : 0);
        }
    }
    w[15] = length * 8;
    for (int i = 16; i < 64; i++) {
        unsigned s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        unsigned s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    unsigned v[8];
    for (int i = 0; i < 8; i++) v[i] = h[i];
    for (int i = 0; i < 64; i++) {
        unsigned s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        unsigned t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
        unsigned s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        unsigned t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int k = 7; k > 0; k--) v[k] = v[k - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) digests[threadIdx.x * 8 + i] = h[i] + v[i];
}

extern "C" __global__ void crc32(const unsigned char *data, int each, unsigned *out) {
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    unsigned c = ~0u;
    for (int i = 0; i < each; i++) c = table[(c ^ data[threadIdx.x * each + i]) & 255] ^ c >> 8;
    out[threadIdx.x] = ~c;
}

extern "C" __global__ void hash_table(const unsigned *keys, unsigned *slots, unsigned *values, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = keys[i] * 2654435761u % size;
    for (;;) {
        unsigned old = atomicCAS(slots + at, 0xffffffffu, keys[i]);
        if (old == 0xffffffffu || old == keys[i]) break;
        at = (at + 1) % size;
    }
    atomicAdd(values + at, 1);
}
