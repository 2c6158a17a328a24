// Accumulator fragment that is not filled.
// launch: 1 x 32
// finds: uninitialised register
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(int *out, int *x, int n) {
    __shared__ half a[256];
    __shared__ float c[256];
    for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float2half(x[i] % 7);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
#ifndef BUG
    wmma::fill_fragment(fc, 0.0f);
#endif
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    for (int i = 0; i < 3; i++) wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = c[i];
}
