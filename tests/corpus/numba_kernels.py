"""Programs of numba-cuda in the style of puzzles and tutorials, each with its numpy answer: `PROGRAMS`.

Nothing here knows of ptxlab: the same text runs on a GPU, in numba's simulator and on the emulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32

TPB = 8
TPB_AND_4 = TPB + 4


@cuda.jit
def map_ten(out, a):
    """One thread for each element."""
    i = cuda.threadIdx.x
    out[i] = a[i] + 10


@cuda.jit
def guard(out, a, size):
    i = cuda.threadIdx.x
    if i < size:
        out[i] = a[i] * 2


@cuda.jit
def broadcast(out, a, b, size):
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    if i < size and j < size:
        out[i, j] = a[i, 0] + b[0, j]


@cuda.jit
def shared(out, a, size):
    buffer = cuda.shared.array(TPB, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < size:
        buffer[t] = a[i]
    cuda.syncthreads()
    if i < size:
        out[i] = buffer[t] + 10


@cuda.jit
def pooling(out, a, size):
    """The sum of each element and the two before it."""
    buffer = cuda.shared.array(TPB, float32)
    i = cuda.threadIdx.x
    if i < size:
        buffer[i] = a[i]
    cuda.syncthreads()
    if i < size:
        total = float32(0)
        for j in range(max(0, i - 2), i + 1):
            total += buffer[j]
        out[i] = total


@cuda.jit
def dot(out, a, b, size):
    buffer = cuda.shared.array(TPB, float32)
    i = cuda.threadIdx.x
    buffer[i] = a[i] * b[i] if i < size else float32(0)
    cuda.syncthreads()
    if i == 0:
        total = float32(0)
        for j in range(size):
            total += buffer[j]
        out[0] = total


@cuda.jit
def convolution(out, a, b, n, m):
    tile = cuda.shared.array(TPB_AND_4, float32)
    weights = cuda.shared.array(4, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < n:
        tile[t] = a[i]
    if t < m:
        weights[t] = b[t]
        if i + TPB < n:
            tile[t + TPB] = a[i + TPB]
    cuda.syncthreads()
    if i < n:
        total = float32(0)
        for j in range(m):
            if i + j < n:
                total += tile[t + j] * weights[j]
        out[i] = total


@cuda.jit
def block_sums(out, a, size):
    """The sum of each block, in log2 steps."""
    buffer = cuda.shared.array(TPB, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    buffer[t] = a[i] if i < size else float32(0)
    step = 1
    while step < TPB:
        cuda.syncthreads()
        if t % (2 * step) == 0:
            buffer[t] += buffer[t + step]
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = buffer[0]


@cuda.jit(device=True)
def fused(a, b, c):
    return a * b + c


@cuda.jit
def matmul(out, a, b):
    tile_a = cuda.shared.array((TPB, TPB), float32)
    tile_b = cuda.shared.array((TPB, TPB), float32)
    i, j = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TPB):
        tile_a[x, y] = a[i, start + y] if i < a.shape[0] and start + y < a.shape[1] else float32(0)
        tile_b[x, y] = b[start + x, j] if start + x < b.shape[0] and j < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(TPB):
            total = fused(tile_a[x, k], tile_b[k, y], total)
        cuda.syncthreads()
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = total


@cuda.jit
def histogram(out, a):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        cuda.atomic.add(out, a[i], 1)


@cuda.jit
def warp_sums(out, a):
    i = cuda.grid(1)
    value = a[i]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.jit
def reversed_block(out, a):
    """Dynamic shared memory: its size stands in the launch."""
    buffer = cuda.shared.array(0, dtype=float32)
    t = cuda.threadIdx.x
    buffer[t] = a[t]
    cuda.syncthreads()
    out[t] = buffer[cuda.blockDim.x - 1 - t]


TABLE = np.array([1.0, 0.5, 0.25, 0.125])


@cuda.jit
def polynomial(out, x):
    """A constant array, a local array, and a function of the math library."""
    table = cuda.const.array_like(TABLE)
    powers = cuda.local.array(4, float64)
    i = cuda.grid(1)
    if i < x.size:
        powers[0] = 1.0
        for k in range(1, 4):
            powers[k] = powers[k - 1] * x[i]
        total = 0.0
        for k in range(4):
            total += table[k] * powers[k]
        out[i] = math.exp(-total)


@cuda.jit
def halves(out, a):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] * a[i] + np.float16(1)


@cuda.jit
def strided(out, a):
    """Any strides: `a` is a column, a transpose or every other row."""
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[i, j]


@cuda.jit("void(float32[:], float32[:], int32)")
def with_signature(out, a, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = math.sqrt(a[i])


@cuda.jit
def grid_reverse(a):
    """All blocks meet between reading and writing."""
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    value = a[a.size - 1 - i]
    grid.sync()
    a[i] = value


@cuda.jit
def mandelbrot(out, width, height, limit):
    x, y = cuda.grid(2)
    if x < width and y < height:
        c = complex(-2.0 + 3.0 * x / width, -1.0 + 2.0 * y / height)
        z = complex(0.0, 0.0)
        steps = int32(0)
        while steps < limit and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            steps += 1
        out[y, x] = steps


@dataclass(frozen=True)
class Program:
    """A kernel, its launch, its arguments and what the first of them holds afterwards."""

    kernel: Any
    grid: Any
    block: Any
    args: Callable[[], list[Any]]
    wanted: Callable[..., Any]
    close: float = 0.0
    shared: int = 0


def _numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape).astype(dtype)


def _mandelbrot(out: Any, width: int, height: int, limit: int) -> Any:
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    c = (-2.0 + 3.0 * x / width) + 1j * (-1.0 + 2.0 * y / height)
    z, steps = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(limit):
        going = z.real * z.real + z.imag * z.imag < 4.0
        z = np.where(going, z * z + c, z)
        steps += going
    return steps


def _convolved(out: Any, a: Any, b: Any, n: int, m: int) -> Any:
    padded = np.concatenate([a, np.zeros(m, a.dtype)])
    return np.array([padded[i : i + m] @ b for i in range(n)])


Z = np.float32
PROGRAMS = {
    "map": Program(map_ten, 1, 4, lambda: [np.zeros(4), np.arange(4.0)], lambda o, a: a + 10),
    "guard": Program(guard, 1, 8, lambda: [np.zeros(5, Z), _numbers(5), 5], lambda o, a, n: a * 2),
    "broadcast": Program(
        broadcast, 1, (4, 4), lambda: [np.zeros((3, 3), Z), _numbers(3, 1), _numbers(1, 3), 3], lambda o, a, b, n: a + b
    ),
    "shared": Program(shared, 3, TPB, lambda: [np.zeros(20, Z), _numbers(20), 20], lambda o, a, n: a + Z(10)),
    "pooling": Program(
        pooling, 1, TPB, lambda: [np.zeros(8, Z), _numbers(8), 8],
        lambda o, a, n: np.array([a[max(0, i - 2) : i + 1].sum() for i in range(n)]), close=1e-6,
    ),
    "dot": Program(
        dot, 1, TPB, lambda: [np.zeros(1, Z), _numbers(7), _numbers(7), 7], lambda o, a, b, n: a @ b, close=1e-5
    ),
    "convolution": Program(
        convolution, 3, TPB, lambda: [np.zeros(21, Z), _numbers(21), _numbers(4), 21, 4], _convolved, close=1e-5
    ),
    "block_sums": Program(
        block_sums, 3, TPB, lambda: [np.zeros(3, Z), _numbers(24), 24],
        lambda o, a, n: a.reshape(3, TPB).sum(1), close=1e-5,
    ),
    "matmul": Program(
        matmul, (3, 2), (TPB, TPB), lambda: [np.zeros((20, 13), Z), _numbers(20, 17), _numbers(17, 13)],
        lambda o, a, b: a @ b, close=1e-5,
    ),
    "histogram": Program(
        histogram, 2, 64, lambda: [np.zeros(16, np.int32), np.arange(1000) * 7 % 16],
        lambda o, a: np.bincount(a, minlength=16),
    ),
    "warp_sums": Program(
        warp_sums, 1, 64, lambda: [np.zeros(2, Z), _numbers(64)], lambda o, a: a.reshape(2, 32).sum(1), close=1e-5
    ),
    "reversed": Program(
        reversed_block, 1, 64, lambda: [np.zeros(64, Z), _numbers(64)], lambda o, a: a[::-1], shared=256
    ),
    "polynomial": Program(
        polynomial, 2, 32, lambda: [np.zeros(50), _numbers(50, dtype=np.float64)],
        lambda o, x: np.exp(-np.polyval(TABLE[::-1], x)), close=1e-14,
    ),
    "halves": Program(
        halves, 1, 64, lambda: [np.zeros(50, np.float16), _numbers(50, dtype=np.float16)],
        lambda o, a: a * a + np.float16(1),
    ),
    "transposed": Program(
        strided, (2, 2), (16, 16), lambda: [np.zeros((20, 30), Z), _numbers(30, 20).T], lambda o, a: a
    ),
    "signature": Program(
        with_signature, 1, 64, lambda: [np.zeros(50, Z), abs(_numbers(50)), 50], lambda o, a, n: np.sqrt(a), close=1e-6
    ),
    "grid_sync": Program(grid_reverse, 4, 32, lambda: [_numbers(128)], lambda a: a[::-1]),
    "mandelbrot": Program(
        mandelbrot, (3, 2), (16, 16), lambda: [np.zeros((30, 40), np.int32), 40, 30, 50], _mandelbrot
    ),
}  # fmt: skip
