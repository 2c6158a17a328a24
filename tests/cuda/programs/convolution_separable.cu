// A separable convolution with its filter in constant memory: rows, then columns, tiles with borders in shared memory.
#define RADIUS 4
#define TILE 32
__constant__ float filter[2 * RADIUS + 1] = {0.01f, 0.05f, 0.12f, 0.2f, 0.24f, 0.2f, 0.12f, 0.05f, 0.01f};

extern "C" __global__ void rows(const float *in, float *out, int width, int height) {
    __shared__ float tile[8][TILE + 2 * RADIUS];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int c = threadIdx.x; c < TILE + 2 * RADIUS; c += TILE) {
        int from = blockIdx.x * TILE + c - RADIUS;
        tile[threadIdx.y][c] = from >= 0 && from < width && y < height ? in[y * width + from] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) sum += filter[k + RADIUS] * tile[threadIdx.y][threadIdx.x + RADIUS + k];
    if (x < width && y < height) out[y * width + x] = sum;
}

extern "C" __global__ void columns(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE + 2 * RADIUS][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int r = threadIdx.y; r < TILE + 2 * RADIUS; r += TILE) {
        int from = blockIdx.y * TILE + r - RADIUS;
        tile[r][threadIdx.x] = from >= 0 && from < height && x < width ? in[from * width + x] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) sum += filter[k + RADIUS] * tile[threadIdx.y + RADIUS + k][threadIdx.x];
    if (x < width && y < height) out[y * width + x] = sum;
}
