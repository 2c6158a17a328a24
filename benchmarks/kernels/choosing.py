"""Top-k, sorting and sparse products: where the data decides what is read next."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import DIVERGED, ROW_OF_A_WARP, SPARSE, Kernel, Numbers


def _sparse(rng: Numbers) -> list[object]:
    lengths = rng.integers(0, 64, 4096)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    count = int(starts[-1])
    columns = rng.integers(0, 4096, count, dtype=np.int32)
    return [starts, columns, normal(rng, count), normal(rng, 4096), np.zeros(4096, np.float32)]


SPARSE_C = """void {name}(const int *starts, const int *columns, const float *values, const float *x, float *y) {{
    for (int i = 0; i < 4096; i++) {{
        float s = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++) s += values[k] * x[columns[k]];
        y[i] = s;
    }}
}}
"""

KERNELS = [
    Kernel(
        "top_k", "a thread per row keeps the 4 largest by insertion", 16, 128,
        lambda rng: [normal(rng, 2048, 128), np.zeros((2048, 4), np.float32), np.int32(128)], (1,),
        """extern "C" __global__ void top_k(const float *x, float *y, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < m; k++) {
        float v = x[i * m + k];
        if (v <= best[3]) continue;
        best[3] = v;
        for (int a = 3; a > 0; a--)
            if (best[a] > best[a - 1]) {
                float up = best[a];
                best[a] = best[a - 1];
                best[a - 1] = up;
            }
    }
    for (int a = 0; a < 4; a++) y[i * 4 + a] = best[a];
}
""",
        """void top_k(const float *x, float *y, int m) {
    for (int i = 0; i < 2048; i++) {
        float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (int k = 0; k < m; k++) {
            float v = x[i * m + k];
            if (v <= best[3]) continue;
            best[3] = v;
            for (int a = 3; a > 0; a--)
                if (best[a] > best[a - 1]) {
                    float up = best[a];
                    best[a] = best[a - 1];
                    best[a - 1] = up;
                }
        }
        for (int a = 0; a < 4; a++) y[i * 4 + a] = best[a];
    }
}
""", tolerance=0, reason=DIVERGED,
    ),
    Kernel(
        "sort_bitonic", "a block sorts 512 numbers in shared memory", 256, 256,
        lambda rng: [rng.integers(0, 1 << 30, (256, 512), dtype=np.int32)], (0,),
        """extern "C" __global__ void sort_bitonic(int *x) {
    __shared__ int s[512];
    int t = threadIdx.x, at = blockIdx.x * 512;
    s[t] = x[at + t];
    s[t + 256] = x[at + t + 256];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            __syncthreads();
            int a = 2 * t - (t & (j - 1)), b = a + j;
            if ((s[a] > s[b]) == ((a & k) == 0)) {
                int other = s[a];
                s[a] = s[b];
                s[b] = other;
            }
        }
    __syncthreads();
    x[at + t] = s[t];
    x[at + t + 256] = s[t + 256];
}
""",
        """void sort_bitonic(int *x) {
    for (int block = 0; block < 256; block++) {
        int *s = x + block * 512;
        for (int k = 2; k <= 512; k *= 2)
            for (int j = k / 2; j; j /= 2)
                for (int t = 0; t < 256; t++) {
                    int a = 2 * t - (t & (j - 1)), b = a + j;
                    if ((s[a] > s[b]) == ((a & k) == 0)) {
                        int other = s[a];
                        s[a] = s[b];
                        s[b] = other;
                    }
                }
    }
}
""", tolerance=0,
    ),
    Kernel(
        "sort_insertion", "a thread sorts its own 32 numbers in local memory", 32, 128,
        lambda rng: [rng.integers(0, 1 << 30, (4096, 32), dtype=np.int32)], (0,),
        """extern "C" __global__ void sort_insertion(int *x) {
    int mine[32], *row = x + (blockIdx.x * 128 + threadIdx.x) * 32;
    for (int k = 0; k < 32; k++) mine[k] = row[k];
    for (int k = 1; k < 32; k++) {
        int v = mine[k], a = k;
        for (; a > 0 && mine[a - 1] > v; a--) mine[a] = mine[a - 1];
        mine[a] = v;
    }
    for (int k = 0; k < 32; k++) row[k] = mine[k];
}
""",
        """void sort_insertion(int *x) {
    for (int i = 0; i < 4096; i++) {
        int *row = x + i * 32;
        for (int k = 1; k < 32; k++) {
            int v = row[k], a = k;
            for (; a > 0 && row[a - 1] > v; a--) row[a] = row[a - 1];
            row[a] = v;
        }
    }
}
""", tolerance=0, reason=DIVERGED,
    ),
    Kernel(
        "sparse_thread", "CSR, a thread per row of 0 to 63 elements", 32, 128, _sparse, (4,),
        """extern "C" __global__ void sparse_thread(const int *starts, const int *columns, const float *values,
                                         const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) s += values[k] * x[columns[k]];
    y[i] = s;
}
""",
        SPARSE_C.format(name="sparse_thread"), reason=SPARSE,
    ),
    Kernel(
        "sparse_warp", "CSR, a warp per row", 1024, 128, _sparse, (4,),
        """extern "C" __global__ void sparse_warp(const int *starts, const int *columns, const float *values,
                                       const float *x, float *y) {
    int i = blockIdx.x * 4 + threadIdx.x / 32;
    float s = 0;
    for (int k = starts[i] + threadIdx.x % 32; k < starts[i + 1]; k += 32) s += values[k] * x[columns[k]];
    for (int w = 16; w; w /= 2) s += __shfl_down_sync(0xffffffff, s, w);
    if (threadIdx.x % 32 == 0) y[i] = s;
}
""",
        SPARSE_C.format(name="sparse_warp"), reason=ROW_OF_A_WARP,
    ),
]  # fmt: skip
