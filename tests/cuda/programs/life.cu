// Game of Life on a torus, one bit a cell, 32 cells a word: neighbours are counted with bit-sliced adders.
__device__ void add(unsigned x, unsigned &ones, unsigned &twos, unsigned &fours) {
    unsigned carry = ones & x;
    ones ^= x;
    unsigned second = twos & carry;
    twos ^= carry;
    fours |= second;
}

extern "C" __global__ void life(const unsigned *in, unsigned *out, int words, int height) {
    int w = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (w >= words) return;
    int left = (w + words - 1) % words, right = (w + 1) % words;
    unsigned ones = 0, twos = 0, fours = 0;
    for (int d = -1; d <= 1; d++) {
        const unsigned *row = in + (y + d + height) % height * words;
        unsigned middle = row[w];
        add(__funnelshift_l(row[left], middle, 1), ones, twos, fours);
        add(__funnelshift_r(middle, row[right], 1), ones, twos, fours);
        if (d) add(middle, ones, twos, fours);
    }
    out[y * words + w] = twos & ~fours & (ones | in[y * words + w]);
}
