"""Transposes and stencils: the same element goes to another place, or its neighbours are read."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import BORDER, LANES, Kernel, Numbers

N = 1024


def _image(rng: Numbers) -> list[object]:
    return [normal(rng, N, N), np.zeros((N, N), np.float32), np.int32(N)]


TRANSPOSE_C = """void {name}(const float *x, float *y, int n) {{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) y[j * n + i] = x[i * n + j];
}}
"""

KERNELS = [
    Kernel(
        "transpose_naive", "columns written with a stride", (N // 32, N // 8), (32, 8), _image, (1,),
        """extern "C" __global__ void transpose_naive(const float *x, float *y, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    y[j * n + i] = x[i * n + j];
}
""",
        TRANSPOSE_C.format(name="transpose_naive"), tolerance=0,
    ),
    Kernel(
        "transpose_tiled", "tiles of 32 x 33 in shared memory", (N // 32, N // 32), (32, 8), _image, (1,),
        """extern "C" __global__ void transpose_tiled(const float *x, float *y, int n) {
    __shared__ float s[32][33];
    int a = blockIdx.x * 32, b = blockIdx.y * 32, t = threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) s[k][t] = x[(b + k) * n + a + t];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8) y[(a + k) * n + b + t] = s[t][k];
}
""",
        TRANSPOSE_C.format(name="transpose_tiled"), tolerance=0,
    ),
    Kernel(
        "stencil_1d", "radius 3, a halo in shared memory", 4096, 256,
        lambda rng: [normal(rng, (1 << 20) + 6), np.zeros(1 << 20, np.float32)], (1,),
        """extern "C" __global__ void stencil_1d(const float *x, float *y) {
    __shared__ float s[262];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    if (t < 6) s[t + 256] = x[i + 256];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 7; k++) sum += s[t + k];
    y[i] = sum / 7;
}
""",
        """void stencil_1d(const float *x, float *y) {
    for (int i = 0; i < 1 << 20; i++) {
        float sum = 0;
        for (int k = 0; k < 7; k++) sum += x[i + k];
        y[i] = sum / 7;
    }
}
""", reason=LANES,
    ),
    Kernel(
        "stencil_2d", "five points, the border left out by an if", (N // 16, N // 16), (16, 16), _image, (1,),
        """extern "C" __global__ void stencil_2d(const float *x, float *y, int n) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x, at = i * n + j;
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
        y[at] = 0.5f * x[at] + 0.125f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
}
""",
        """void stencil_2d(const float *x, float *y, int n) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            int at = i * n + j;
            y[at] = 0.5f * x[at] + 0.125f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
        }
}
""", reason=BORDER,
    ),
    Kernel(
        "convolution", "5 x 5, clamped, weights in constant memory", (N // 32, N // 8), (32, 8), _image, (1,),
        """__constant__ float w[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
extern "C" __global__ void convolution(const float *x, float *y, int n) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++)
            sum += w[a + 2] * w[b + 2] * x[min(max(i + a, 0), n - 1) * n + min(max(j + b, 0), n - 1)];
    y[i * n + j] = sum;
}
""",
        """void convolution(const float *x, float *y, int n) {
    static const float w[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int a = -2; a <= 2; a++)
                for (int b = -2; b <= 2; b++)
                    sum += w[a + 2] * w[b + 2] * x[MIN(MAX(i + a, 0), n - 1) * n + MIN(MAX(j + b, 0), n - 1)];
            y[i * n + j] = sum;
        }
}
""", reason=LANES,
    ),
]  # fmt: skip
