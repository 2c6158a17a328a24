// 2D shared tile column overrun.
// launch: 1 x 64
// finds: array overrun
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ int a[8][8];
    __shared__ int c[8];
    int t = threadIdx.x, r = t/8, q = t%8;
    a[r][q] = x[t];
    if (t<8)c[t] = t;
    __syncthreads();
#ifdef BUG
    out[t] = a[q+1][r]+c[q];
#else
    out[t] = a[q][r]+c[q];
#endif
}
