"""Decompositions and matrix products, scalar and on tensor cores, as CUDA C++ programs."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import NEEDS, Launch, close, f32, numbers, program


@program
def lu(launch: Launch) -> None:
    n = 12
    a = numbers(20).standard_normal((2, n, n))
    packed, pivots = a.copy(), np.zeros((2, n), np.int32)
    launch("lu", 2, 32, packed, pivots, n, shared=8 * n * n)
    for before, after, swaps in zip(a, packed, pivots, strict=True):
        rows = np.arange(n)
        for k, other in enumerate(swaps):
            rows[[k, other]] = rows[[other, k]]
        close((np.tril(after, -1) + np.eye(n)) @ np.triu(after), before[rows], 0, 1e-13)


@program
def cholesky(launch: Launch) -> None:
    n = 16
    rng = numbers(21)
    a = rng.standard_normal((2, n, n))
    matrix, right = f32(a @ a.transpose(0, 2, 1) + 4 * np.eye(n)), f32(rng.standard_normal((2, n)))
    x = np.zeros_like(right)
    launch("cholesky", 2, n, matrix, right, x, n, shared=4 * (n * n + n))
    close(x, np.linalg.solve(matrix.astype(np.float64), right.astype(np.float64)[..., None])[..., 0], 1e-4, 1e-4)


@program
def matmul_blocked(launch: Launch) -> None:
    rng = numbers(22)
    a, b = f32(rng.integers(-9, 9, (64, 64))), f32(rng.integers(-9, 9, (64, 64)))
    c = np.zeros_like(a)
    launch("matmul_blocked", (2, 2), 64, a, b, c, 64)
    close(c, a @ b)


@program
def matmul_wmma(launch: Launch) -> None:
    rng, n = numbers(23), 32
    a, b = (rng.integers(-8, 8, (n, n)).astype(np.float16) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    launch("matmul_wmma", (2, 2), 32, a, b, c, n)
    close(c, 2 * a.astype(np.float32) @ b)
    half = rng.integers(-8, 8, (n, n)).astype(np.float16)
    expected = a.astype(np.float32).T @ b.astype(np.float32).T + half
    launch("matmul_wmma_half", (4, 1), 32, a, b, half, n)
    close(half, expected)
    x, y = (rng.integers(-128, 128, (n, n)).astype(np.int8) for _ in range(2))
    z = np.zeros((n, n), np.int32)
    launch("matmul_wmma_int", (2, 2), 32, x, y, z, n)
    blocks = (x.astype(np.int32) @ y.astype(np.int32).T).reshape(2, 16, 2, 16)
    close(z, blocks.transpose(0, 3, 2, 1).reshape(n, n))


@program
def matmul_wmma_tf32(launch: Launch) -> None:
    rng, n = numbers(24), 32
    a, b = (f32(rng.standard_normal((n, n))) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    launch("matmul_tf32", (2, 2), 32, a, b, c, n)

    def rounded(x: np.ndarray) -> np.ndarray:
        bits = x.view(np.uint32).astype(np.uint64) + 0x1000
        return (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)

    close(c, rounded(a).astype(np.float64) @ rounded(b), 1e-5, 1e-5)
    x, y = (rng.integers(-16, 16, (n, n)) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    launch("matmul_bf16", (1, 4), 32, *((f32(v).view(np.uint32) >> 16).astype(np.uint16) for v in (x, y)), c, n)
    close(c, x @ y)
    d, e, f = rng.standard_normal((n, n)), rng.standard_normal((n, n)), np.zeros((n, n))
    launch("matmul_f64", (4, 4), 32, d, e, f, n)
    close(f, d @ e, 1e-13, 1e-13)


@program
def matmul_mma(launch: Launch) -> None:
    rng = numbers(25)
    a, b = (rng.integers(-8, 8, shape).astype(np.float16) for shape in ((32, 48), (16, 48)))
    c = np.zeros((32, 16), np.float32)
    launch("matmul_mma", (1, 2), 32, a, b, c, 16, 48)
    close(c, a.astype(np.float32) @ b.astype(np.float32).T)


NEEDS["matmul_mma"] = 80


@program
def matmul_dp4a(launch: Launch) -> None:
    rng = numbers(26)
    a, b = rng.integers(-128, 128, (16, 40)).astype(np.int8), rng.integers(-128, 128, (24, 40)).astype(np.int8)
    c = np.zeros((16, 24), np.int32)
    launch("matmul_dp4a", (3, 4), (8, 4), a, b, c, 24, 10)
    close(c, a.astype(np.int32) @ b.astype(np.int32).T)
    x, y = rng.integers(-(2**15), 2**15, 400).astype(np.int16), rng.integers(-128, 128, 400).astype(np.int8)
    out = np.zeros(1, np.int32)
    launch("dot_dp2a", 1, 64, x, y, out, 100)
    close(out, [(x.astype(np.int64) * y).sum().astype(np.int32)])


@program
def gemm64(launch: Launch) -> None:
    rng, n = numbers(27), 19
    a, b, c = rng.standard_normal((3, n, n))
    expected = 1.5 * (a @ b) - 0.5 * c
    c = c.copy()
    launch("gemm64", (3, 3), (8, 8), a.copy(), b.copy(), c, n, 1.5, -0.5)
    close(c, expected, 1e-13, 1e-13)
    m, x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((n, n), (n,)))
    y = np.zeros(2 * n)
    launch("zgemv", 1, 32, m.view(np.float64), x.view(np.float64), y, n)
    close(y, (m @ x).view(np.float64), 1e-13, 1e-13)


@program
def spmv(launch: Launch) -> None:
    rng, n = numbers(28), 60
    dense = np.where(rng.random((n, n)) < 0.15, rng.standard_normal((n, n)), 0)
    rows = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    columns, values = np.nonzero(dense)[1].astype(np.int32), dense[dense != 0]
    x = rng.standard_normal(n)
    for entry, blocks in (("spmv_scalar", 1), ("spmv_vector", 30)):
        y = np.zeros(n)
        launch(entry, blocks, 64, rows, columns, values, x, y, n)
        close(y, dense @ x, 1e-13, 1e-13)


@program
def pipeline_copy(launch: Launch) -> None:
    x = f32(numbers(29).integers(-9, 9, (7, 64, 4)))
    out = np.zeros(64, np.float32)
    launch("pipeline_copy", 1, 64, x, out, 7)
    close(out, (x @ f32([1, 2, 3, 4])).sum(0)[::-1])


@program
def barrier_copy(launch: Launch) -> None:
    x = numbers(30).integers(-99, 99, (3, 64)).astype(np.int32)
    out, expected, t = np.zeros(64, np.int32), np.zeros(64, np.int32), np.arange(64)
    for r in range(3):
        expected = (expected + x[r][(t * 7 + r) % 64]) * 3
    launch("barrier_copy", 1, 64, x, out, 3)
    close(out, expected)
