"""Images and bytes: rows with a pitch, a few bytes or numbers for each thread, windows of pixels."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import BESIDE, BORDER, Kernel, Numbers


def _colours(rng: Numbers) -> list[object]:
    return [rng.integers(0, 256, (1 << 18, 3)).astype(np.uint8), np.zeros((1 << 18, 3), np.uint8)]


def _pitched(rng: Numbers) -> list[object]:
    pitches = np.uint64(1040 * 4), np.uint64(1072 * 4)
    return [normal(rng, 1024, 1040), np.zeros((1024, 1072), np.float32), *pitches, np.int32(1000), np.int32(1000)]


KERNELS = [
    Kernel(
        "pitch_2d", "an image whose rows have a pitch, blocks of 16 x 16", (63, 63), (16, 16), _pitched, (1,),
        """extern "C" __global__ void pitch_2d(const float *x, float *y, size_t px, size_t py, int w, int h) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= w || i >= h) return;
    const float *a = (const float *)((const char *)x + i * px);
    float *o = (float *)((char *)y + i * py);
    o[j] = 2 * a[j] + 1;
}
""",
        """void pitch_2d(const float *x, float *y, size_t px, size_t py, int w, int h) {
    for (int i = 0; i < h; i++) {
        const float *a = (const float *)((const char *)x + i * px);
        float *o = (float *)((char *)y + i * py);
        for (int j = 0; j < w; j++) o[j] = 2 * a[j] + 1;
    }
}
""", reason=BORDER,
    ),
    Kernel(
        "pool_2x2", "the largest of 2 x 2 pixels, by a pointer to a row", (32, 32), (16, 16),
        lambda rng: [normal(rng, 1024, 1024), np.zeros((512, 512), np.float32), np.int32(1024)], (1,),
        """extern "C" __global__ void pool_2x2(const float *x, float *y, int w) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    const float *p = x + 2 * i * w + 2 * j;
    y[i * (w / 2) + j] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
}
""",
        """void pool_2x2(const float *x, float *y, int w) {
    for (int i = 0; i < w / 2; i++)
        for (int j = 0; j < w / 2; j++) {
            const float *p = x + 2 * i * w + 2 * j;
            y[i * (w / 2) + j] = MAX(MAX(p[0], p[1]), MAX(p[w], p[w + 1]));
        }
}
""", tolerance=0, reason=BESIDE,
    ),
    Kernel(
        "rgb_invert", "three bytes for each thread", 1024, 256, _colours, (1,),
        """extern "C" __global__ void rgb_invert(const unsigned char *x, unsigned char *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[3 * i] = 255 - x[3 * i];
    y[3 * i + 1] = 255 - x[3 * i + 1];
    y[3 * i + 2] = 255 - x[3 * i + 2];
}
""",
        """void rgb_invert(const unsigned char *x, unsigned char *y) {
    for (int i = 0; i < 3 << 18; i++) y[i] = 255 - x[i];
}
""", tolerance=0, reason=BESIDE,
    ),
    Kernel(
        "own_chunks", "16 bytes for each thread, one by one", 256, 256,
        lambda rng: [rng.integers(0, 256, (1 << 16, 16)).astype(np.uint8), np.zeros((1 << 16, 16), np.uint8)], (1,),
        """extern "C" __global__ void own_chunks(const unsigned char *x, unsigned char *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++) y[16 * i + k] = x[16 * i + k] ^ 85;
}
""",
        """void own_chunks(const unsigned char *x, unsigned char *y) {
    for (int i = 0; i < 16 << 16; i++) y[i] = x[i] ^ 85;
}
""", tolerance=0, reason=BESIDE,
    ),
    Kernel(
        "stencil_3d", "seven points, blocks of 8 x 8 x 8", (16, 16, 16), (8, 8, 8),
        lambda rng: [normal(rng, 128, 128, 128), np.zeros((128, 128, 128), np.float32), np.int32(128)], (1,),
        """extern "C" __global__ void stencil_3d(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i == 0 || j == 0 || k == 0 || i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    int at = (k * n + j) * n + i, m = n * n;
    y[at] = x[at] - (x[at - 1] + x[at + 1] + x[at - n] + x[at + n] + x[at - m] + x[at + m]) / 6;
}
""",
        """void stencil_3d(const float *x, float *y, int n) {
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++) {
                int at = (k * n + j) * n + i, m = n * n;
                y[at] = x[at] - (x[at - 1] + x[at + 1] + x[at - n] + x[at + n] + x[at - m] + x[at + m]) / 6;
            }
}
""", reason=BORDER,
    ),
]  # fmt: skip
