// Cholesky decomposition of small symmetric matrices, one thread a row, and the solution of a system with it.
extern "C" __global__ void cholesky(const float *matrices, const float *right, float *solution, int n) {
    extern __shared__ float a[];
    float *y = a + n * n;
    const float *m = matrices + blockIdx.x * n * n;
    int r = threadIdx.x;
    for (int c = 0; c < n; c++) a[r * n + c] = m[r * n + c];
    y[r] = right[blockIdx.x * n + r];
    __syncthreads();
    for (int k = 0; k < n; k++) {
        if (r == k) a[k * n + k] = __fsqrt_rn(a[k * n + k]);
        __syncthreads();
        if (r > k) a[r * n + k] = __fdiv_rn(a[r * n + k], a[k * n + k]);
        __syncthreads();
        if (r > k)
            for (int c = k + 1; c <= r; c++) a[r * n + c] -= a[r * n + k] * a[c * n + k];
        __syncthreads();
    }
    for (int k = 0; k < n; k++) {
        if (r == k) y[k] /= a[k * n + k];
        __syncthreads();
        if (r > k) y[r] -= a[r * n + k] * y[k];
        __syncthreads();
    }
    for (int k = n - 1; k >= 0; k--) {
        if (r == k) y[k] /= a[k * n + k];
        __syncthreads();
        if (r < k) y[r] -= a[k * n + r] * y[k];
        __syncthreads();
    }
    solution[blockIdx.x * n + r] = y[r];
}
