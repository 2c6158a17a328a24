// Histogram with one shared table a warp, added up at the end with global atomics.
extern "C" __global__ void histogram_warp(const unsigned char *data, unsigned *counts, int n) {
    extern __shared__ unsigned table[];  // [warps][256]
    int warps = blockDim.x / 32;
    for (int i = threadIdx.x; i < 256 * warps; i += blockDim.x) table[i] = 0;
    __syncthreads();
    unsigned *mine = table + threadIdx.x / 32 * 256;
    const uchar4 *four = (const uchar4 *)data;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 c = four[i];
        atomicAdd(mine + c.x, 1);
        atomicAdd(mine + c.y, 1);
        atomicAdd(mine + c.z, 1);
        atomicAdd(mine + c.w, 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < warps; w++) sum += table[w * 256 + i];
        if (sum) atomicAdd(counts + i, sum);
    }
}
