"""Twelve CUDA kernels as people write them, each beside the same loops in C: what `benchmarks.cut` runs."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Numbers = np.random.Generator
COMPILE_C = ("gcc", "-O3", "-std=gnu11", "-march=native", "-shared", "-fPIC")
"""No -ffast-math: C keeps the order of the sums, as the kernels keep theirs."""
C_PRELUDE = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
SIDE, N = 1024, 1 << 20


@dataclass(frozen=True)
class Kernel:
    """`cuda` has an entry `name`, `c` a function `name` that takes the same arguments.

    style: what is typical of it. arguments: makes them, arrays and numpy scalars. written: which of them the kernel
    writes, compared with `tolerance`, relative to the largest value (0: to the bit).
    """

    name: str
    style: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: Callable[[Numbers], Sequence[Any]]
    written: tuple[int, ...]
    cuda: str
    c: str
    tolerance: float = 1e-5


def compile_c(kernels: Sequence[Kernel], folder: Path) -> ctypes.CDLL:
    """All C functions as one library."""
    source, library = folder / "kernels.c", folder / "kernels.so"
    source.write_text(C_PRELUDE + "\n".join(k.c for k in kernels))
    subprocess.run([*COMPILE_C, "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


class InC:
    """A kernel's C function, with arrays of its own."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Any], library: ctypes.CDLL) -> None:
        self.kernel, self.given = kernel, arguments
        self.arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        self.function = getattr(library, kernel.name)
        self.function.restype = None
        self.passed = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else np.ctypeslib.as_ctypes(np.asarray(a))
            for a in self.arguments
        ]

    def run(self) -> float:
        """CPU seconds of one call."""
        for k in self.kernel.written:
            self.arguments[k][...] = self.given[k]
        begun = time.process_time()
        self.function(*self.passed)
        return time.process_time() - begun


def agree(kernel: Kernel, ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> None:
    """Raises ValueError where two results differ by more than the kernel's tolerance."""
    for k, a, b in zip(kernel.written, ours, theirs, strict=True):
        scale = float(np.abs(b.astype(float)).max())
        error = float(np.abs(a.astype(float) - b.astype(float)).max())
        if not (np.array_equal(a, b) if kernel.tolerance == 0 else error <= kernel.tolerance * scale):
            raise ValueError(f"{kernel.name}: argument {k} differs from C's by {error:.3g}, the largest is {scale:.3g}")
        if not b.any():
            raise ValueError(f"{kernel.name}: argument {k} is all zeros: the comparison shows nothing")


def normal(rng: Numbers, *shape: int) -> np.ndarray:
    """Normally distributed f32."""
    return rng.standard_normal(shape, dtype=np.float32)


def matrices(rng: Numbers, n: int) -> list[Any]:
    """Two square factors, a place for their product, and their size."""
    return [normal(rng, n, n), normal(rng, n, n), np.zeros((n, n), np.float32), np.int32(n)]


def _image(rng: Numbers) -> list[Any]:
    return [normal(rng, SIDE, SIDE), np.zeros((SIDE, SIDE), np.float32), np.int32(SIDE)]


def _partial(rng: Numbers) -> list[Any]:
    return [rng.random(N, dtype=np.float32), np.zeros(4096, np.float32), np.int32(N)]


def _scan(rng: Numbers) -> list[Any]:
    return [rng.integers(0, 100, N, dtype=np.int32), np.zeros(N, np.int32)]


def _histogram(rng: Numbers) -> list[Any]:
    return [rng.integers(0, 256, N, dtype=np.uint8), np.zeros(256, np.int32), np.int32(N)]


def _rows(rng: Numbers) -> list[Any]:
    return [normal(rng, 1024, 256), np.zeros((1024, 256), np.float32), np.int32(256)]


def _qkv(rng: Numbers) -> list[Any]:
    return [*(normal(rng, 512, 64) for _ in range(3)), np.zeros((512, 64), np.float32), np.int32(512)]


MATMUL_C = """void {name}(const float *a, const float *b, float *c, int n) {{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {{
            float s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }}
}}
"""

KERNELS = [
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
        MATMUL_C.format(name="matmul_naive"),
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
        MATMUL_C.format(name="matmul_tiled"),
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
""",
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
""",
    ),
    Kernel(
        "stencil_2d", "five points, the border left out by an if", (SIDE // 16, SIDE // 16), (16, 16), _image, (1,),
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
""",
    ),
    Kernel(
        "transpose_tiled", "tiles of 32 x 33 in shared memory", (SIDE // 32, SIDE // 32), (32, 8), _image, (1,),
        """extern "C" __global__ void transpose_tiled(const float *x, float *y, int n) {
    __shared__ float s[32][33];
    int a = blockIdx.x * 32, b = blockIdx.y * 32, t = threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) s[k][t] = x[(b + k) * n + a + t];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8) y[(a + k) * n + b + t] = s[t][k];
}
""",
        """void transpose_tiled(const float *x, float *y, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) y[j * n + i] = x[i * n + j];
}
""", tolerance=0,
    ),
    Kernel(
        "reduce_sequential", "t < w, halves", 4096, 256, _partial, (1,),
        """extern "C" __global__ void reduce_sequential(const float *x, float *y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int w = 128; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
""",
        """void reduce_sequential(const float *x, float *y, int n) {
    for (int b = 0; b < n / 256; b++) {
        float s = 0;
        for (int i = 0; i < 256; i++) s += x[b * 256 + i];
        y[b] = s;
    }
}
""",
    ),
    Kernel(
        "scan_shuffle", "warps by shuffles, then their sums", 4096, 256, _scan, (1,),
        """extern "C" __global__ void scan_shuffle(const int *x, int *y) {
    __shared__ int sums[8];
    int t = threadIdx.x, lane = t % 32, s = x[blockIdx.x * 256 + t];
    for (int w = 1; w < 32; w *= 2) {
        int below = __shfl_up_sync(0xffffffff, s, w);
        if (lane >= w) s += below;
    }
    if (lane == 31) sums[t / 32] = s;
    __syncthreads();
    for (int k = 0; k < t / 32; k++) s += sums[k];
    y[blockIdx.x * 256 + t] = s;
}
""",
        """void scan_shuffle(const int *x, int *y) {
    for (int b = 0; b < 4096; b++) {
        int s = 0;
        for (int i = 0; i < 256; i++) y[b * 256 + i] = s += x[b * 256 + i];
    }
}
""", tolerance=0,
    ),
    Kernel(
        "histogram_shared", "atomics in shared memory, a grid-stride loop", 64, 256, _histogram, (1,),
        """extern "C" __global__ void histogram_shared(const unsigned char *x, int *bins, int n) {
    __shared__ int mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
""",
        """void histogram_shared(const unsigned char *x, int *bins, int n) {
    for (int i = 0; i < n; i++) bins[x[i]]++;
}
""", tolerance=0,
    ),
    Kernel(
        "softmax_warp", "a warp per row, the row in registers, shuffles", 256, 128, _rows, (1,),
        """extern "C" __global__ void softmax_warp(const float *x, float *y, int m) {
    int i = blockIdx.x * 4 + threadIdx.x / 32, t = threadIdx.x % 32;
    float row[8], top = -INFINITY, sum = 0;
    for (int k = 0; k < 8; k++) top = fmaxf(top, row[k] = x[i * m + k * 32 + t]);
    for (int w = 16; w; w /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, w));
    for (int k = 0; k < 8; k++) sum += row[k] = expf(row[k] - top);
    for (int w = 16; w; w /= 2) sum += __shfl_xor_sync(0xffffffff, sum, w);
    for (int k = 0; k < 8; k++) y[i * m + k * 32 + t] = row[k] / sum;
}
""",
        """void softmax_warp(const float *x, float *y, int m) {
    for (int i = 0; i < 1024; i++) {
        float top = -INFINITY, sum = 0;
        for (int k = 0; k < m; k++) top = fmaxf(top, x[i * m + k]);
        for (int k = 0; k < m; k++) sum += y[i * m + k] = expf(x[i * m + k] - top);
        for (int k = 0; k < m; k++) y[i * m + k] /= sum;
    }
}
""",
    ),
    Kernel(
        "attention_rows", "a thread per query row, O in global memory, no loop unrolled", 16, 32, _qkv, (3,),
        """extern "C" __global__ void attention_rows(const float *q, const float *k, const float *v, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = -INFINITY, l = 0;
#pragma unroll 1
    for (int d = 0; d < 64; d++) o[i * 64 + d] = 0;
    for (int j = 0; j < n; j++) {
        float s = 0;
#pragma unroll 1
        for (int d = 0; d < 64; d++) s += q[i * 64 + d] * k[j * 64 + d];
        s *= 0.125f;
        float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
        l = l * old + p;
        m = top;
#pragma unroll 1
        for (int d = 0; d < 64; d++) o[i * 64 + d] = o[i * 64 + d] * old + p * v[j * 64 + d];
    }
#pragma unroll 1
    for (int d = 0; d < 64; d++) o[i * 64 + d] /= l;
}
""",
        """void attention_rows(const float *q, const float *k, const float *v, float *o, int n) {
    for (int i = 0; i < n; i++) {
        float m = -INFINITY, l = 0;
        for (int d = 0; d < 64; d++) o[i * 64 + d] = 0;
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int d = 0; d < 64; d++) s += q[i * 64 + d] * k[j * 64 + d];
            s *= 0.125f;
            float top = fmaxf(m, s), old = expf(m - top), p = expf(s - top);
            l = l * old + p;
            m = top;
            for (int d = 0; d < 64; d++) o[i * 64 + d] = o[i * 64 + d] * old + p * v[j * 64 + d];
        }
        for (int d = 0; d < 64; d++) o[i * 64 + d] /= l;
    }
}
""",
    ),
    Kernel(
        "collatz", "a loop of unknown length in each thread", 256, 256,
        lambda rng: [np.zeros(1 << 16, np.int32)], (0,),
        """extern "C" __global__ void collatz(int *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long v = i + 1;
    int n = 0;
    while (v != 1) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        n++;
    }
    y[i] = n;
}
""",
        """void collatz(int *y) {
    for (uint32_t i = 0; i < 1 << 16; i++) {
        uint64_t v = i + 1;
        int n = 0;
        while (v != 1) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            n++;
        }
        y[i] = n;
    }
}
""", tolerance=0,
    ),
]  # fmt: skip
