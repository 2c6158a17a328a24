"""Arrays that are changed in place, in the ways in which racecheck costs most."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.rows import normal
from benchmarks.kernels.yardstick import BESIDE, EVERY_SECOND, NARROW, OWN_ROWS, Kernel

KERNELS = [
    Kernel(
        "scan_odd_rows", "a thread per row of 65, sums in place", 8, 256,
        lambda rng: [normal(rng, 2048, 65), np.int32(65)], (0,),
        """extern "C" __global__ void scan_odd_rows(float *x, int n) {
    float *row = x + (blockIdx.x * blockDim.x + threadIdx.x) * n, s = 0;
    for (int k = 0; k < n; k++) {
        s += row[k];
        row[k] = s;
    }
}
""",
        """void scan_odd_rows(float *x, int n) {
    for (int i = 0; i < 2048; i++) {
        float *row = x + i * n, s = 0;
        for (int k = 0; k < n; k++) {
            s += row[k];
            row[k] = s;
        }
    }
}
""", reason=OWN_ROWS,
    ),
    Kernel(
        "narrow_blocks", "blocks of 4 x 16, a matrix scaled in place", (64, 64), (4, 16),
        lambda rng: [normal(rng, 1024, 256), np.int32(256)], (0,),
        """extern "C" __global__ void narrow_blocks(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    x[j * n + i] = 2 * x[j * n + i] + 1;
}
""",
        """void narrow_blocks(float *x, int n) {
    for (int i = 0; i < 1024 * n; i++) x[i] = 2 * x[i] + 1;
}
""", reason=NARROW,
    ),
    Kernel(
        "permuted", "elements changed in place in an order that an array gives", 1024, 256,
        lambda rng: [normal(rng, 1 << 18), rng.permutation(1 << 18).astype(np.int32)], (0,),
        """extern "C" __global__ void permuted(float *x, const int *order) {
    int i = order[blockIdx.x * blockDim.x + threadIdx.x];
    x[i] = 2 * x[i] + 1;
}
""",
        """void permuted(float *x, const int *order) {
    for (int i = 0; i < 1 << 18; i++) x[order[i]] = 2 * x[order[i]] + 1;
}
""", reason="elements are gathered and scattered one by one, as in C, which computes no addresses for 32 lanes besides",
    ),
    Kernel(
        "red_black", "every second point of a grid from its neighbours, in place", (16, 64), (32, 8),
        lambda rng: [normal(rng, 512, 512), np.int32(512), np.int32(0)], (0,),
        """extern "C" __global__ void red_black(float *x, int n, int colour) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && j > 0 && i < n - 1 && j < n - 1 && (i + j) % 2 == colour)
        x[j * n + i] = (x[j * n + i - 1] + x[j * n + i + 1] + x[(j - 1) * n + i] + x[(j + 1) * n + i]) / 4;
}
""",
        """void red_black(float *x, int n, int colour) {
    for (int j = 1; j < n - 1; j++)
        for (int i = 1 + (j + 1 + colour) % 2; i < n - 1; i += 2)
            x[j * n + i] = (x[j * n + i - 1] + x[j * n + i + 1] + x[(j - 1) * n + i] + x[(j + 1) * n + i]) / 4;
}
""", reason=EVERY_SECOND,
    ),
    Kernel(
        "swap_colours", "red and blue of each pixel exchanged in place, three bytes a pixel", 1024, 256,
        lambda rng: [rng.integers(0, 256, (1 << 18, 3)).astype(np.uint8)], (0,),
        """extern "C" __global__ void swap_colours(unsigned char *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char red = x[3 * i];
    x[3 * i] = x[3 * i + 2];
    x[3 * i + 2] = red;
}
""",
        """void swap_colours(unsigned char *x) {
    for (int i = 0; i < 1 << 18; i++) {
        unsigned char red = x[3 * i];
        x[3 * i] = x[3 * i + 2];
        x[3 * i + 2] = red;
    }
}
""", tolerance=0, reason=BESIDE,
    ),
]  # fmt: skip
