// Radix sort of one block, four bits a pass, ranked with ballots.
extern "C" __global__ void sort_radix(unsigned *data, unsigned *spare, int n) {
    __shared__ unsigned counts[16][33];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = blockDim.x >> 5;
    for (int shift = 0; shift < 32; shift += 4) {
        unsigned key = t < n ? data[t] : 0xffffffffu;
        unsigned digit = key >> shift & 15, rank = 0;
        for (unsigned d = 0; d < 16; d++) {
            unsigned same = __ballot_sync(0xffffffff, digit == d);
            if (digit == d) rank = __popc(same & ((1u << lane) - 1));
            if (lane == 0) counts[d][warp] = __popc(same);
        }
        __syncthreads();
        if (t == 0) {
            unsigned sum = 0;
            for (int d = 0; d < 16; d++)
                for (int w = 0; w < warps; w++) {
                    unsigned c = counts[d][w];
                    counts[d][w] = sum;
                    sum += c;
                }
        }
        __syncthreads();
        unsigned place = counts[digit][warp] + rank;
        if (place < n) spare[place] = key;
        __syncthreads();
        if (t < n) data[t] = spare[t];
        __syncthreads();
    }
}
