"""Rows and columns of matrices: what beginners write, a thread for each row, column or element of the result."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.yardstick import COLUMNS, LANES, STRIDED, Kernel, Numbers


def normal(rng: Numbers, *shape: int) -> np.ndarray:
    """Normally distributed f32."""
    return rng.standard_normal(shape, dtype=np.float32)


def matrices(rng: Numbers, n: int, dtype: type = np.float32) -> list[object]:
    """Two square factors, a place for their product, and their size."""
    a, b = (normal(rng, n, n).astype(dtype) for _ in range(2))
    return [a, b, np.zeros((n, n), np.float32 if dtype == np.float16 else dtype), np.int32(n)]


def _vector(rng: Numbers, n: int, m: int) -> list[object]:
    return [normal(rng, n, m), normal(rng, m), np.zeros(n, np.float32), np.int32(n), np.int32(m)]


def _columns(rng: Numbers, n: int, m: int) -> list[object]:
    return [normal(rng, m, n), normal(rng, m), np.zeros(n, np.float32), np.int32(n), np.int32(m)]


MATMUL_C = """void {name}(const {t} *a, const {t} *b, {sum} *c, int n) {{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {{
            {sum} s = 0;
            for (int k = 0; k < n; k++) s += ({sum})a[i * n + k] * ({sum})b[k * n + j];
            c[i * n + j] = s;
        }}
}}
"""

KERNELS = [
    Kernel(
        "matvec_rows", "a thread per row, its row in global memory", 16, 256,
        lambda rng: _vector(rng, 4096, 512), (2,),
        """extern "C" __global__ void matvec_rows(const float *a, const float *x, float *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < m; k++) s += a[i * m + k] * x[k];
    y[i] = s;
}
""",
        """void matvec_rows(const float *a, const float *x, float *y, int n, int m) {
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = 0; k < m; k++) s += a[i * m + k] * x[k];
        y[i] = s;
    }
}
""",
    ),
    Kernel(
        "matvec_columns", "a thread per column", 16, 256,
        lambda rng: _columns(rng, 4096, 512), (2,),
        """extern "C" __global__ void matvec_columns(const float *a, const float *x, float *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < m; k++) s += a[k * n + i] * x[k];
    y[i] = s;
}
""",
        """void matvec_columns(const float *a, const float *x, float *y, int n, int m) {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int k = 0; k < m; k++)
        for (int i = 0; i < n; i++) y[i] += a[k * n + i] * x[k];
}
""", reason=COLUMNS,
    ),
    Kernel(
        "matmul_naive", "a thread per element, all from global memory", (16, 16), (16, 16),
        lambda rng: matrices(rng, 256), (2,),
        """extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
}
""",
        MATMUL_C.format(name="matmul_naive", t="float", sum="float"),
    ),
    Kernel(
        "matmul_swapped", "a thread per element, x along the rows: nothing coalesced", (8, 32), (32, 8),
        lambda rng: matrices(rng, 256), (2,),
        """extern "C" __global__ void matmul_swapped(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
}
""",
        MATMUL_C.format(name="matmul_swapped", t="float", sum="float"),
    ),
    Kernel(
        "matmul_tiled", "tiles of 16 x 16 in shared memory", (16, 16), (16, 16),
        lambda rng: matrices(rng, 256), (2,),
        """extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        as[y][x] = a[i * n + t + x];
        bs[y][x] = b[(t + y) * n + j];
        __syncthreads();
        for (int k = 0; k < 16; k++) s += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[i * n + j] = s;
}
""",
        MATMUL_C.format(name="matmul_tiled", t="float", sum="float"),
    ),
    Kernel(
        "matmul_f64", "f64, a thread per element", (16, 16), (16, 16),
        lambda rng: matrices(rng, 256, np.float64), (2,),
        """extern "C" __global__ void matmul_f64(const double *a, const double *b, double *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    double s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
}
""",
        MATMUL_C.format(name="matmul_f64", t="double", sum="double"), tolerance=1e-12,
    ),
    Kernel(
        "matmul_f16", "f16 in, sums in f32", (16, 16), (16, 16),
        lambda rng: matrices(rng, 256, np.float16), (2,),
        """#include <cuda_fp16.h>
extern "C" __global__ void matmul_f16(const __half *a, const __half *b, float *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += __half2float(a[i * n + k]) * __half2float(b[k * n + j]);
    c[i * n + j] = s;
}
""",
        MATMUL_C.format(name="matmul_f16", t="_Float16", sum="float"),
    ),
    Kernel(
        "matmul_wmma", "tensor cores: wmma of 16 x 16 x 16, f16", (16, 16), 32,
        lambda rng: matrices(rng, 256, np.float16), (2,),
        """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul_wmma(const __half *a, const __half *b, float *c, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
    wmma::fill_fragment(s, 0.0f);
    int i = blockIdx.y * 16, j = blockIdx.x * 16;
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + i * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + j, n);
        wmma::mma_sync(s, fa, fb, s);
    }
    wmma::store_matrix_sync(c + i * n + j, s, n, wmma::mem_row_major);
}
""",
        MATMUL_C.format(name="matmul_wmma", t="_Float16", sum="float"),
    ),
    Kernel(
        "saxpy_bf16", "bf16, element by element", 4096, 256,
        lambda rng: [
            (normal(rng, 1 << 20).view(np.uint32) >> 16).astype(np.uint16),
            (normal(rng, 1 << 20).view(np.uint32) >> 16).astype(np.uint16),
            np.zeros(1 << 20, np.float32), np.int32(1 << 20),
        ],
        (2,),
        """#include <cuda_bf16.h>
extern "C" __global__ void saxpy_bf16(const __nv_bfloat16 *x, const __nv_bfloat16 *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = 2.0f * __bfloat162float(x[i]) + __bfloat162float(y[i]);
}
""",
        """static float from_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
void saxpy_bf16(const uint16_t *x, const uint16_t *y, float *z, int n) {
    for (int i = 0; i < n; i++) z[i] = 2.0f * from_bf16(x[i]) + from_bf16(y[i]);
}
""", reason=LANES,
    ),
    Kernel(
        "saxpy_grid_stride", "a grid-stride loop over arrays that no cache holds", 128, 256,
        lambda rng: [normal(rng, 1 << 22), normal(rng, 1 << 22), np.int32(1 << 22)], (1,),
        """extern "C" __global__ void saxpy_grid_stride(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * x[i] + y[i];
}
""",
        """void saxpy_grid_stride(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++) y[i] = 2.0f * x[i] + y[i];
}
""", reason=STRIDED,
    ),
    Kernel(
        "matmul_dp4a", "int8 in words of four, __dp4a, tiles of 16 x 16 words", (16, 16), (16, 16),
        lambda rng: [
            *(rng.integers(-(1 << 31), 1 << 31, (256, 64), dtype=np.int32) for _ in range(2)),
            np.zeros((256, 256), np.int32), np.int32(256),
        ],
        (2,),
        """extern "C" __global__ void matmul_dp4a(const int *a, const int *b, int *c, int n) {
    __shared__ int as[16][17], bs[16][17];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16, s = 0;
    for (int k = 0; k < n / 4; k += 16) {
        as[y][x] = a[i * (n / 4) + k + x];
        bs[y][x] = b[(j + y) * (n / 4) + k + x];
        __syncthreads();
        for (int e = 0; e < 16; e++) s = __dp4a(as[y][e], bs[x][e], s);
        __syncthreads();
    }
    c[i * n + j + x] = s;
}
""",
        """void matmul_dp4a(const int8_t *a, const int8_t *b, int *c, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[j * n + k];
            c[i * n + j] = s;
        }
}
""", tolerance=0,
        reason="C has an instruction or two for 32 bytes of a row. Tried: one for each two products (it is in)",
    ),
]  # fmt: skip
