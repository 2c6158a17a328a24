// Bits of bytes set by lanes.
// launch: 1 x 32
// finds: WAR
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ unsigned char bits[4];
    __shared__ unsigned int word;
    int t = threadIdx.x;
    if (t < 4) bits[t] = 0;
    if (t == 0) word = 0;
    __syncwarp();
#ifdef BUG
    if (x[t] & 1) bits[t / 8] |= 1 << t % 8;
    __syncwarp();
    if (t < 4) out[t] = bits[t];
#else
    if (x[t] & 1) atomicOr(&word, 1u << t);
    __syncwarp();
    if (t < 4) out[t] = word >> 8 * t & 255;
#endif
}
