"""What Triton and numba-cuda make of kernels in Python: their PTX beside the same algorithm in C.

Triton's is that of the tests' corpus (`tests/corpus/triton_kernels.py` has the source), numba's is made here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32, types

from benchmarks.kernels.rows import MATMUL_C, matrices, normal
from benchmarks.kernels.yardstick import LANES, OWN_ROWS, TREE, Kernel, Numbers

CORPUS = Path(__file__).parents[2] / "tests" / "corpus" / "triton"


def triton(name: str) -> Callable[[], str]:
    """The PTX that Triton wrote for a kernel, as it is needed."""
    return lambda: (CORPUS / f"{name}.ptx").read_text(encoding="utf-8")


def numba(function: Callable[..., None], *kinds: str) -> Callable[[], str]:
    """The PTX that numba-cuda makes of a function; kinds: "f4" for a pointer to f32, "i4" for a number."""

    def compiled() -> str:
        signature = [types.CPointer(types.float32) if kind == "f4" else types.int32 for kind in kinds]
        text: str = cuda.compile_ptx(function, tuple(signature), cc=(8, 0))[0]
        return text

    return compiled


def add_rows(a: Any, x: Any, y: Any, n: int, m: int) -> None:
    """y = A x, a thread for each row."""
    i = cuda.grid(1)
    if i < n:
        total = float32(0)
        for k in range(m):
            total += a[i * m + k] * x[k]
        y[i] = total


def sum_blocks(x: Any, sums: Any, n: int) -> None:
    """The sum of each block's 256 elements, by halves in shared memory."""
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < n else float32(0)
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = shared[0]


def matmul_tiles(a: Any, b: Any, c: Any, n: int) -> None:
    """C = A B by tiles of 16 x 16 in shared memory."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    total = float32(0)
    for start in range(0, n, 16):
        left[y, x] = a[row * n + start + x]
        right[y, x] = b[(start + y) * n + column]
        cuda.syncthreads()
        for k in range(16):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    c[row * n + column] = total


def _bf16(rng: Numbers, n: int, d: int) -> np.ndarray:
    return (normal(rng, n, d).view(np.uint32) >> 16).astype(np.uint16)


def _sums(rng: Numbers, n: int) -> list[object]:
    return [rng.random(n, dtype=np.float32), np.zeros(n // 256, np.float32), np.int32(n)]


KERNELS = [
    Kernel(
        "triton_add", "Triton: x + y, 256 elements a program", 4096, 128,
        lambda rng: [normal(rng, 1 << 20), normal(rng, 1 << 20), np.zeros(1 << 20, np.float32), np.int32(1 << 20)],
        (2,), "",
        """void triton_add(const float *x, const float *y, float *z, int n) {
    for (int i = 0; i < n; i++) z[i] = x[i] + y[i];
}
""",
        ptx=triton("add.sm_80"), reason=LANES,
    ),
    Kernel(
        "triton_softmax", "Triton: a row of 1000 a program", 256, 128,
        lambda rng: [normal(rng, 256, 1000), np.zeros((256, 1000), np.float32), np.int32(1000)], (1,), "",
        """void triton_softmax(const float *x, float *y, int m) {
    for (int i = 0; i < 256; i++) {
        float top = -INFINITY, sum = 0;
        for (int k = 0; k < m; k++) top = MAX(top, x[i * m + k]);
        for (int k = 0; k < m; k++) sum += y[i * m + k] = expf(x[i * m + k] - top);
        for (int k = 0; k < m; k++) y[i * m + k] /= sum;
    }
}
""",
        shared=16, ptx=triton("softmax.sm_80"), reason=TREE,
    ),
    Kernel(
        "triton_matmul", "Triton: f16 on tensor cores, tiles of 32 x 32", (8, 8), 128,
        lambda rng: [*matrices(rng, 256, np.float16)[:3], *[np.int32(256)] * 3], (2,), "",
        MATMUL_C.format(name="triton_matmul", t="_Float16", sum="float"), shared=4096, ptx=triton("matmul.sm_80"),
    ),
    Kernel(
        "triton_attention", "Triton: bf16 on tensor cores, online softmax, 32 keys a tile", 16, 128,
        lambda rng: [*(_bf16(rng, 512, 32) for _ in range(3)), np.zeros((512, 32), np.float32), np.int32(512),
                     np.float32(0.25)],
        (3,), "",
        """static float of_bf16(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
void triton_attention(const uint16_t *q, const uint16_t *k, const uint16_t *v, float *o, int n, float scale) {
    float *s = malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) {
        float top = -INFINITY, sum = 0, acc[32] = {0};
        for (int j = 0; j < n; j++) {
            float dot = 0;
            for (int d = 0; d < 32; d++) dot += of_bf16(q[i * 32 + d]) * of_bf16(k[j * 32 + d]);
            top = MAX(top, s[j] = dot * scale);
        }
        for (int j = 0; j < n; j++) {
            float p = exp2f(s[j] - top);
            sum += p;
            for (int d = 0; d < 32; d++) acc[d] += p * of_bf16(v[j * 32 + d]);
        }
        for (int d = 0; d < 32; d++) o[i * 32 + d] = acc[d] / sum;
    }
    free(s);
}
""",
        tolerance=1e-2, shared=4096, ptx=triton("attention.sm_80"),
    ),
    Kernel(
        "numba_matvec", "numba: a thread per row", 16, 256,
        lambda rng: [normal(rng, 4096, 512), normal(rng, 512), np.zeros(4096, np.float32), np.int32(4096),
                     np.int32(512)],
        (2,), "",
        """void numba_matvec(const float *a, const float *x, float *y, int n, int m) {
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = 0; k < m; k++) s += a[i * m + k] * x[k];
        y[i] = s;
    }
}
""",
        ptx=numba(add_rows, "f4", "f4", "f4", "i4", "i4"), reason=OWN_ROWS,
    ),
    Kernel(
        "numba_reduce", "numba: halves in shared memory", 4096, 256, lambda rng: _sums(rng, 1 << 20), (1,), "",
        """void numba_reduce(const float *x, float *sums, int n) {
    for (int i = 0; i < n; i += 256) {
        float s = 0;
        for (int k = 0; k < 256; k++) s += x[i + k];
        sums[i / 256] = s;
    }
}
""",
        ptx=numba(sum_blocks, "f4", "f4", "i4"), reason=TREE,
    ),
    Kernel(
        "numba_matmul", "numba: tiles of 16 x 16 in shared memory", (16, 16), (16, 16),
        lambda rng: matrices(rng, 256), (2,), "", MATMUL_C.format(name="numba_matmul", t="float", sum="float"),
        ptx=numba(matmul_tiles, "f4", "f4", "f4", "i4"),
    ),
]  # fmt: skip
