// Sparse matrix times vector in CSR: a thread a row, and a warp a row; the vector through the read-only cache.
extern "C" __global__ void spmv_scalar(const int *rows, const int *columns, const double *values,
                                       const double *__restrict__ x, double *y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    double sum = 0;
    for (int i = rows[r]; i < rows[r + 1]; i++) sum += values[i] * x[columns[i]];
    y[r] = sum;
}

extern "C" __global__ void spmv_vector(const int *rows, const int *columns, const double *values,
                                       const double *__restrict__ x, double *y, int n) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= n) return;
    double sum = 0;
    for (int i = rows[r] + lane; i < rows[r + 1]; i += 32) sum += __ldg(values + i) * __ldg(x + columns[i]);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[r] = sum;
}
