// Right kernels of CUDA C++, which tests/support/damaged.py damages a line at a time.

extern "C" __global__ void reverse(const float *x, float *out) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = x[i];
    __syncthreads();
    out[i] = tile[63 - t];
}

extern "C" __global__ void stencil(const float *x, float *out, int n) {
    __shared__ float tile[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i < n)
        tile[t + 1] = x[i];
    if (t == 0)
        tile[0] = i > 0 ? x[i - 1] : 0.0f;
    if (t == 63 || i == n - 1)
        tile[t + 2] = i + 1 < n ? x[i + 1] : 0.0f;
    __syncthreads();
    if (i < n)
        out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

extern "C" __global__ void block_sum(const float *x, float *out, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = 0.0f;
    if (i < n)
        tile[t] = x[i];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step)
            tile[t] += tile[t + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

extern "C" __global__ void transpose(const float *x, float *out, int rows, int cols) {
    __shared__ float tile[16][17];
    int a = threadIdx.x, b = threadIdx.y;
    int row = blockIdx.y * 16 + b, col = blockIdx.x * 16 + a;
    if (row < rows && col < cols)
        tile[b][a] = x[row * cols + col];
    __syncthreads();
    row = blockIdx.x * 16 + b, col = blockIdx.y * 16 + a;
    if (row < cols && col < rows)
        out[row * rows + col] = tile[a][b];
}

extern "C" __global__ void histogram(const int *x, int *bins, int n) {
    __shared__ int counts[32];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t < 32)
        counts[t] = 0;
    __syncthreads();
    if (i < n)
        atomicAdd(&counts[x[i]], 1);
    __syncthreads();
    if (t < 32)
        atomicAdd(&bins[t], counts[t]);
}

extern "C" __global__ void matmul(const float *a, const float *b, float *out, int n) {
    __shared__ float left[16][16], right[16][16];
    int c = threadIdx.x, r = threadIdx.y;
    int row = blockIdx.y * 16 + r, col = blockIdx.x * 16 + c;
    float total = 0.0f;
    for (int start = 0; start < n; start += 16) {
        left[r][c] = row < n && start + c < n ? a[row * n + start + c] : 0.0f;
        right[r][c] = start + r < n && col < n ? b[(start + r) * n + col] : 0.0f;
        __syncthreads();
        for (int j = 0; j < 16; j++)
            total += left[r][j] * right[j][c];
        __syncthreads();
    }
    if (row < n && col < n)
        out[row * n + col] = total;
}

extern "C" __global__ void scan(const float *x, float *out) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = x[i];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        float before = 0.0f;
        if (t >= step)
            before = tile[t - step];
        __syncthreads();
        tile[t] += before;
        __syncthreads();
    }
    out[i] = tile[t];
}

extern "C" __global__ void last_block(const float *x, float *partial, int *count, float *out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t == 0) {
        float total = 0.0f;
        for (int j = 0; j < 64; j++)
            total += tile[j];
        partial[blockIdx.x] = total;
        __threadfence();
        if (atomicAdd(&count[0], 1) == gridDim.x - 1) {
            __threadfence();
            total = 0.0f;
            for (int j = 0; j < gridDim.x; j++)
                total += partial[j];
            out[0] = total;
        }
    }
}

extern "C" __global__ void exchange(const float *x, float *out) {
    __shared__ float tile[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    tile[t] = x[i];
    __syncwarp();
    out[i] = tile[t ^ 1];
}
