// Matrix stored by one warp read by another.
// launch: 1 x 64
// finds: RAW
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ half a[256], b[256];
    __shared__ float c[256];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 64) {
        a[i] = __float2half(x[i] % 7);
        b[i] = __float2half(x[i] % 5);
    }
    __syncthreads();
    if (t < 32) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::fill_fragment(fc, 0.0f);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    }
#ifndef BUG
    __syncthreads();
#endif
    if (t >= 32)
        for (int i = t - 32; i < 256; i += 32) out[i] = c[i];
}
