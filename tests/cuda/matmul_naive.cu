// C = A * B for row-major A [m, k], B [k, n], C [m, n]; one thread an element of C.
extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
