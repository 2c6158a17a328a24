// Matrix multiplication in double precision with alpha and beta, complex numbers beside it.
struct Z { double re, im; };

extern "C" __global__ void gemm64(const double *a, const double *b, double *c, int n, double alpha, double beta) {
    __shared__ double left[8][8], right[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    double sum = 0;
    for (int k = 0; k < n; k += 8) {
        left[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0;
        right[ty][tx] = k + ty < n && col < n ? b[(k + ty) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = alpha * sum + beta * c[row * n + col];
}

extern "C" __global__ void zgemv(const Z *a, const Z *x, Z *y, int n) {
    int r = threadIdx.x;
    if (r >= n) return;
    Z sum = {0, 0};
    for (int k = 0; k < n; k++) {
        Z u = a[r * n + k], v = x[k];
        sum.re += u.re * v.re - u.im * v.im;
        sum.im += u.re * v.im + u.im * v.re;
    }
    y[r] = sum;
}
