// Matrix multiplication of 8-bit integers with __dp4a, and 16-bit ones with __dp2a.
extern "C" __global__ void matmul_dp4a(const int *a, const int *b, int *c, int n, int words) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k < words; k++) sum = __dp4a(a[row * words + k], b[col * words + k], sum);
    c[row * n + col] = sum;
}

extern "C" __global__ void dot_dp2a(const short2 *a, const char4 *b, int *out, int n) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum = __dp2a_hi(a[2 * i + 1], b[i], __dp2a_lo(a[2 * i], b[i], sum));
    atomicAdd(out, sum);
}
