// LU decomposition in place with partial pivoting, one block a matrix, in double precision.
extern "C" __global__ void lu(double *matrices, int *pivots, int n) {
    extern __shared__ double a[];
    __shared__ int best;
    double *m = matrices + blockIdx.x * n * n;
    int t = threadIdx.x;
    for (int i = t; i < n * n; i += blockDim.x) a[i] = m[i];
    __syncthreads();
    for (int k = 0; k < n; k++) {
        if (t == 0) {
            best = k;
            for (int r = k + 1; r < n; r++)
                if (fabs(a[r * n + k]) > fabs(a[best * n + k])) best = r;
            pivots[blockIdx.x * n + k] = best;
        }
        __syncthreads();
        if (best != k)
            for (int c = t; c < n; c += blockDim.x) {
                double x = a[k * n + c];
                a[k * n + c] = a[best * n + c];
                a[best * n + c] = x;
            }
        __syncthreads();
        for (int r = k + 1 + t; r < n; r += blockDim.x) a[r * n + k] /= a[k * n + k];
        __syncthreads();
        for (int i = t; i < (n - k - 1) * (n - k - 1); i += blockDim.x) {
            int r = k + 1 + i / (n - k - 1), c = k + 1 + i % (n - k - 1);
            a[r * n + c] -= a[r * n + k] * a[k * n + c];
        }
        __syncthreads();
    }
    for (int i = t; i < n * n; i += blockDim.x) m[i] = a[i];
}
