// Matrix transposition of 64-bit elements through a swizzled tile, no padding, no conflicts.
extern "C" __global__ void transpose_swizzled(const long long *in, long long *out, int rows, int columns) {
    __shared__ long long tile[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.x ^ threadIdx.y];
}
