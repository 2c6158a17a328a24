"""CUDA C++ programs with what they must give: inputs, launches and numpy results for `tests/cuda/programs/<name>.cu`.

A program is a function of its name. It is handed `launch(entry, grid, block, *arguments)`, which runs a kernel of the
file on some engine and changes the arrays in place, and compares what comes back with numpy.

    python tests/cuda_programs.py                # a table: program, compiler, engine -> ok, refused, WRONG or fault
    python tests/cuda_programs.py fft --sm 90    # one program, another target
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Launch = Callable[..., Any]
PROGRAMS: dict[str, Callable[[Launch], None]] = {}
NEEDS = {"matmul_wmma_tf32": 80}
"""The first architecture of a program, where it is not sm_75."""


def program(f: Callable[[Launch], None]) -> Callable[[Launch], None]:
    """Adds a program to the table."""
    PROGRAMS[f.__name__] = f
    return f


def close(got: np.ndarray, expected: Any, relative: float = 0.0, absolute: float = 0.0) -> None:
    """Fails unless `got` is within `absolute + relative |expected|`; both 0 asks for equal values (or both NaN)."""
    expected = np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    a, b = np.asarray(got, np.float64), expected.astype(np.float64)
    if got.dtype.kind in "iu" and expected.dtype.kind in "iu":
        wrong = got != expected.astype(got.dtype)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~((a == b) | (np.abs(a - b) <= absolute + relative * np.abs(b)) | (np.isnan(a) & np.isnan(b)))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        assert not wrong.any(), f"{wrong.sum()} of {wrong.size} differ, at {at}: {got[at]!r}, expected {expected[at]!r}"


def numbers(seed: int) -> np.random.Generator:
    """A generator of its own for a program."""
    return np.random.default_rng(seed)


def f32(x: Any) -> np.ndarray:
    """The array in single precision, contiguous."""
    return np.ascontiguousarray(x, np.float32)


# -- sums, scans, sorts ------------------------------------------------------------------------------------------------


@program
def reductions(launch: Launch) -> None:
    x = numbers(1).integers(0, 2**32, 1000, np.uint32)
    for style in range(1, 8):
        out = np.zeros(8, np.uint32)
        launch(f"reduce{style}", 8, 128, x, out, 1000, shared=512 if style < 6 else 0)
        assert int(out.sum(dtype=np.uint32)) == int(x.sum(dtype=np.uint32)), style


@program
def reduce_groups(launch: Launch) -> None:
    x = numbers(2).integers(-99, 99, 500).astype(np.int32)
    out = np.zeros(1 + 2 * 96, np.int32)
    launch("reduce_groups", 1, 96, x, out, 500)
    t = np.arange(96)
    fours = (x[:96] < 0).reshape(-1, 4)
    expected = t // 4 * 4 * 4 + np.repeat(fours.any(1) * 2 + fours.all(1), 4)
    thirds = np.where(t % 3 == 0, [100 * len([k for k in range(32) if (w + k) % 3 == 0]) for w in t // 32 * 32], 32)
    thirds += np.where(t % 3 == 0, [sum(k % 3 == 0 for k in range(i // 32 * 32, i)) for i in t], 0)
    close(out, np.concatenate([[x.sum()], expected, thirds]))


@program
def grid_sync(launch: Launch) -> None:
    a = numbers(3).integers(0, 99, 250).astype(np.int32)
    b = np.zeros_like(a)
    expected = a.copy()
    for _ in range(6):
        expected = expected + np.roll(expected, -1)
    launch("grid_sync", 4, 64, a, b, 250, 6, cooperative=True)
    close(a, expected)


@program
def threadfence_reduce(launch: Launch) -> None:
    x = f32(numbers(4).integers(-99, 99, 3000))
    partial, out = np.zeros(6, np.float32), np.zeros(1, np.float32)
    launch("threadfence_reduce", 6, 128, x, partial, out, 3000)
    close(out, [x.sum()])


@program
def scan_blelloch(launch: Launch) -> None:
    x = numbers(5).integers(-99, 99, 250).astype(np.int32)
    out = np.zeros_like(x)
    launch("scan_blelloch", 1, 128, x, out, 250, shared=4 * (256 + 8))
    close(out, np.cumsum(x) - x)


@program
def scan_shuffle(launch: Launch) -> None:
    x = numbers(6).integers(-(2**60), 2**60, 200)
    out = np.zeros_like(x)
    launch("scan_shuffle", 1, 224, x, out, 200)
    close(out, np.cumsum(x))


@program
def scan_lookback(launch: Launch) -> None:
    x = numbers(7).integers(0, 99, 3000).astype(np.uint32)
    out, status = np.zeros_like(x), np.zeros(48, np.uint32)
    launch("scan_lookback", 24, 128, x, out, status, 3000)
    close(out, np.cumsum(x, dtype=np.uint32))


@program
def sort_bitonic(launch: Launch) -> None:
    keys = f32(numbers(8).permutation(256) - 100)
    values = np.arange(256, dtype=np.int32)
    order = np.argsort(keys)
    expected = keys[order]
    launch("sort_bitonic", 1, 256, keys, values, shared=2048)
    close(keys, expected)
    close(values, order)


@program
def sort_radix(launch: Launch) -> None:
    data = numbers(9).integers(0, 2**32, 190, np.uint32)
    expected = np.sort(data)
    launch("sort_radix", 1, 192, data, np.zeros_like(data), 190)
    close(data, expected)


@program
def sort_merge(launch: Launch) -> None:
    x = numbers(10).integers(0, 50, 300).astype(np.int32)
    out, expected, run = np.zeros_like(x), np.sort(x), 1
    while run < 300:
        launch("sort_merge", 5, 64, x, out, 300, run)
        x, out, run = out, x, 2 * run
    close(x, expected)


@program
def sort_quick(launch: Launch) -> None:
    x = numbers(11).integers(-1000, 1000, (40, 37)).astype(np.int32)
    expected = np.sort(x, axis=1)
    launch("sort_quick", 2, 20, x, 37)
    close(x, expected)


@program
def histogram_warp(launch: Launch) -> None:
    data = (numbers(12).standard_normal(2000) * 30 + 128).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    launch("histogram_warp", 3, 96, data, counts, 2000, shared=3 * 1024)
    close(counts, np.bincount(data, minlength=256))


# -- grids -------------------------------------------------------------------------------------------------------------


@program
def convolution_separable(launch: Launch) -> None:
    width, height = 53, 41
    x = f32(numbers(13).standard_normal((height, width)))
    kernel = f32([0.01, 0.05, 0.12, 0.2, 0.24, 0.2, 0.12, 0.05, 0.01])
    between, out = np.zeros_like(x), np.zeros_like(x)
    launch("rows", (2, 6), (32, 8), x, between, width, height)
    launch("columns", (7, 2), (8, 32), between, out, width, height)
    rows = np.stack([np.convolve(r, kernel, "same") for r in x.astype(np.float64)])
    close(between, rows, 0, 1e-6)
    close(out, np.stack([np.convolve(c, kernel, "same") for c in rows.T]).T, 0, 1e-6)


@program
def fft(launch: Launch) -> None:
    rng = numbers(14)
    x = rng.standard_normal((3, 256)) + 1j * rng.standard_normal((3, 256))
    expected = np.fft.fft(x)
    single, double = x.astype(np.complex64), x.copy()
    launch("fft32", 3, 128, single.view(np.float32))
    launch("fft64", 3, 128, double.view(np.float64))
    close(single.view(np.float32), expected.view(np.float64), 0, 3e-5)
    close(double.view(np.float64), expected.view(np.float64), 0, 1e-12)


@program
def stencil_3d(launch: Launch) -> None:
    x = f32(numbers(15).integers(-9, 9, (7, 19, 35)))
    out = np.zeros_like(x)
    launch("stencil_3d", (3, 3), (16, 8), x, out, 35, 19, 7)
    p = np.pad(x, 1)
    around = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
    close(out, around + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - 6 * x)


@program
def life(launch: Launch) -> None:
    cells = numbers(16).integers(0, 2, (24, 96))
    words = np.packbits(cells, axis=1, bitorder="little").view(np.uint32).copy()
    out = np.zeros_like(words)
    launch("life", (1, 24), 32, words, out, 3, 24)
    around = sum(np.roll(cells, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - cells
    alive = (around == 3) | ((around == 2) & (cells == 1))
    close(out, np.packbits(alive, axis=1, bitorder="little").view(np.uint32))


@program
def nbody(launch: Launch) -> None:
    body = f32(numbers(17).uniform(-1, 1, (150, 4)))
    force = np.zeros_like(body)
    launch("nbody", 3, 64, body, force, 150, np.float32(0.01))
    p, mass = body[:, :3].astype(np.float64), body[:, 3].astype(np.float64)
    d = p[None] - p[:, None]
    weight = mass * ((d**2).sum(2) + np.float32(0.01)) ** -1.5
    close(force[:, :3], (d * weight[..., None]).sum(1), 1e-4, 1e-3)


@program
def dct(launch: Launch) -> None:
    image = numbers(18).integers(0, 256, (16, 24)).astype(np.uint8)
    out = np.zeros((16, 24), np.int16)
    launch("dct", (3, 2), (8, 8), image, out, 24)
    k, i = np.mgrid[:8, :8]
    basis = np.cos((2 * i + 1) * k * np.pi / 16) * np.where(k, 0.5, np.sqrt(0.125))
    blocks = image.reshape(2, 8, 3, 8).transpose(0, 2, 1, 3) - 128.0
    exact = basis @ blocks @ basis.T / (1 + k + i)
    expected = np.clip(np.rint(exact), -100, 100).transpose(0, 2, 1, 3).reshape(16, 24)
    near = np.abs(exact - np.floor(exact) - 0.5).transpose(0, 2, 1, 3).reshape(16, 24) < 1e-4
    close(out[~near], expected[~near])


@program
def transpose_swizzled(launch: Launch) -> None:
    x = numbers(19).integers(-(2**62), 2**62, (37, 45))
    out = np.zeros((45, 37), np.int64)
    launch("transpose_swizzled", (3, 3), (16, 16), x, out, 37, 45)
    close(out, x.T)


@program
def mandelbrot(launch: Launch) -> None:
    width, height, most = 40, 24, 60
    out = np.zeros((height, width), np.uint16)
    launch("mandelbrot", (5, 6), (8, 4), out, width, height, most)
    y, x = np.mgrid[:height, :width].astype(np.float64)
    c = (-2.0 + 2.5 * x / width) + 1j * (-1.25 + 2.5 * y / height)
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(most):
        inside = z.real * z.real + z.imag * z.imag <= 4.0
        count += inside
        z = np.where(inside, (z.real * z.real - z.imag * z.imag + c.real) + 1j * (2.0 * z.real * z.imag + c.imag), z)
    # The compiler may fuse the coordinates' product and sum: a point on the edge may then differ.
    assert (out != count).mean() < 0.02


@program
def ray_march(launch: Launch) -> None:
    width, height = 24, 20
    depth, shade = np.zeros((height, width), np.float32), np.zeros((height, width), np.uint8)
    launch("ray_march", (3, 5), (8, 4), depth, shade, width, height)
    y, x = np.mgrid[:height, :width]
    ray = np.stack([(x + 0.5) / width - 0.5, (y + 0.5) / height - 0.5, np.ones((height, width))], -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    origin = np.array([0.5, 0.4, -3.0])

    def scene(p: np.ndarray) -> np.ndarray:
        q = np.abs(p) - 0.7
        box = np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0)
        return np.maximum(box, -(np.linalg.norm(p, axis=-1) - 1.0 + 0.1))

    t, hit = np.zeros((height, width)), np.zeros((height, width), bool)
    for _ in range(64):
        d = scene(origin + ray * t[..., None])
        hit |= (d < 1e-3) & (t < 8)
        t = np.where(hit | (t >= 8), t, t + d)
    same = (depth >= 0) == hit
    assert same.mean() > 0.98
    assert (np.abs(depth - t)[same & hit] < 1e-2).mean() > 0.95
    assert shade[hit & same].max() > 200
    assert not shade[~hit & same].any()


# -- linear algebra ----------------------------------------------------------------------------------------------------


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


# -- a language model --------------------------------------------------------------------------------------------------


def softmax_of(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis in double precision."""
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@program
def softmax_online(launch: Launch) -> None:
    x = f32(numbers(31).standard_normal((5, 77)) * 4)
    out = np.zeros_like(x)
    launch("softmax_online", 2, 96, x, out, 5, 77)
    close(out, softmax_of(x), 3e-5)


@program
def layernorm(launch: Launch) -> None:
    rng, n, c = numbers(32), 7, 100
    x, dout = (f32(rng.standard_normal((n, c))) for _ in range(2))
    weight, bias = (f32(rng.standard_normal(c)) for _ in range(2))
    out, mean, rstd = np.zeros_like(x), np.zeros(n, np.float32), np.zeros(n, np.float32)
    launch("layernorm_forward", 4, 64, out, mean, rstd, x, weight, bias, n, c)
    m, s = x.mean(1, dtype=np.float64), 1 / np.sqrt(x.var(1, dtype=np.float64) + 1e-5)
    norm = (x - m[:, None]) * s[:, None]
    close(out, norm * weight + bias, 1e-4, 1e-5)
    dx, dweight, dbias = np.zeros_like(x), np.zeros_like(weight), np.zeros_like(bias)
    launch("layernorm_backward", 4, 64, dx, dweight, dbias, dout, x, weight, mean, rstd, n, c, shared=8 * c)
    d = weight * dout.astype(np.float64)
    expected = (d - d.mean(1)[:, None] - norm * (d * norm).mean(1)[:, None]) * s[:, None]
    close(dx, expected, 1e-4, 1e-5)
    close(dweight, (norm * dout).sum(0), 1e-4, 1e-4)
    close(dbias, dout.sum(0, dtype=np.float64), 1e-4, 1e-4)


@program
def gelu(launch: Launch) -> None:
    import math

    x, dout = f32(numbers(33).standard_normal((2, 150)) * 2)
    out, dx, exact = np.zeros((3, 150), np.float32)
    launch("gelu", 2, 96, x, dout, out, dx, exact, 150)
    v = x.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)
    t = np.tanh(inner)
    close(out, 0.5 * v * (1 + t), 1e-5, 1e-6)
    slope = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * v * v)
    close(dx, dout * slope, 1e-5, 1e-6)
    close(exact, [0.5 * a * (1 + math.erf(a / math.sqrt(2))) for a in v], 1e-5, 1e-6)


@program
def attention_naive(launch: Launch) -> None:
    B, T, H, D = 2, 9, 3, 8
    qkv = f32(numbers(34).standard_normal((B, T, 3, H, D)))
    att, out = np.zeros((B, H, T, T), np.float32), np.zeros((B, T, H, D), np.float32)
    launch("scores", -(-att.size // 64), 64, qkv, att, B, T, H, D)
    launch("softmax", 1, 64, att, B * H * T, T)
    launch("values", -(-out.size // 64), 64, qkv, att, out, B, T, H, D)
    q, k, v = qkv.astype(np.float64).transpose(2, 0, 3, 1, 4)
    score = np.where(np.tri(T, dtype=bool), q @ k.transpose(0, 1, 3, 2) / np.sqrt(D), -np.inf)
    close(att, softmax_of(score), 1e-5, 1e-7)
    close(out, (softmax_of(score) @ v).transpose(0, 2, 1, 3), 1e-5, 1e-6)


@program
def attention_flash(launch: Launch) -> None:
    n = 45
    q, k, v = f32(numbers(35).standard_normal((3, n, 32)))
    out, lse = np.zeros((n, 32), np.float32), np.zeros(n, np.float32)
    launch("attention_flash", 2, 32, q, k, v, out, lse, n, np.float32(32**-0.5))
    score = q.astype(np.float64) @ k.T / np.sqrt(32)
    close(out, softmax_of(score) @ v, 1e-5, 2e-6)
    close(lse, np.log(np.exp(score).sum(1)), 1e-5, 1e-6)


@program
def adamw(launch: Launch) -> None:
    rng, step = numbers(36), 7
    p, g, m = f32(rng.standard_normal((3, 100)))
    v = f32(rng.uniform(0, 1, 100))
    m2, v2 = 0.1 * g.astype(np.float64) + 0.9 * m, 0.001 * g.astype(np.float64) ** 2 + 0.999 * v
    update = m2 / (1 - 0.9**step) / (np.sqrt(v2 / (1 - 0.999**step)) + 1e-8) + 0.1 * p
    expected = p - 0.01 * step / 100 * update
    launch("adamw", 1, 128, p, g, m, v, 100, 0.01, 0.9, 0.999, step, 0.1)
    close(m, m2, 1e-5, 1e-6)
    close(v, v2, 1e-5, 1e-6)
    close(p, expected, 1e-5, 1e-6)


@program
def crossentropy(launch: Launch) -> None:
    rng = numbers(37)
    x, target = f32(rng.standard_normal((4, 130)) * 3), rng.integers(0, 130, 4).astype(np.int32)
    loss, grad = np.zeros(4, np.float32), np.zeros_like(x)
    launch("crossentropy", 4, 64, x, target, loss, grad, 130)
    p = softmax_of(x)
    close(loss, -np.log(p[np.arange(4), target]), 1e-5, 1e-5)
    close(grad, p - np.eye(130)[target], 1e-4, 1e-7)


@program
def embedding(launch: Launch) -> None:
    rng, T, C = numbers(38), 12, 20
    tokens = rng.integers(0, 5, T).astype(np.int32)
    wte, wpe, dout = (
        f32(rng.standard_normal((5, C))),
        f32(rng.standard_normal((T, C))),
        f32(rng.integers(-9, 9, (T, C))),
    )
    out, dwte = np.zeros((T, C), np.float32), np.zeros((5, C), np.float32)
    launch("embed", 1, 64, out, tokens, wte, wpe, T, C)
    close(out, wte[tokens] + wpe)
    launch("embed_backward", 4, 64, dwte, tokens, dout, T, C)
    expected = np.zeros_like(dwte)
    np.add.at(expected, tokens, dout)
    close(dwte, expected)


@program
def rmsnorm_half(launch: Launch) -> None:
    rng = numbers(39)
    x, weight = rng.standard_normal((3, 90)).astype(np.float16), rng.standard_normal(90).astype(np.float16)
    out = np.zeros_like(x)
    launch("rmsnorm_half", 3, 32, x, weight, out, 45)
    scale = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-6)
    close(out, x * scale * weight, 3e-3, 1e-6)
    a, b = rng.standard_normal((2, 60)).astype(np.float16) * np.float16(4)
    out = np.zeros((12, 60), np.float16)
    launch("half_math", 1, 64, a, b, out, 60)
    fused = (a.astype(np.float64) * b + a).astype(np.float16)
    rows = [a + b, a - b, a * b, fused, np.maximum(a, b), np.minimum(a, b), np.abs(a), -b, None, np.sqrt(np.abs(a)),
            np.trunc(a), np.where(a > b, a, b)]  # fmt: skip
    for row, expected in zip(out, rows, strict=True):
        if expected is not None:
            close(row, expected)
    close(out[8], a / b, 1e-3)


@program
def bfloat_math(launch: Launch) -> None:
    rng = numbers(40)
    x, y = ((f32(rng.standard_normal(60) * 4).view(np.uint32) >> 16).astype(np.uint16) for _ in range(2))
    out = np.zeros((8, 60), np.uint16)
    launch("bfloat_math", 1, 64, x, y, out, 60)
    a, b = ((v.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for v in (x, y))

    def bits(v: np.ndarray) -> np.ndarray:
        word = f32(v).view(np.uint32).astype(np.uint64)
        return ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)

    rows = [a + b, a - b, a * b, a * b + a, np.maximum(a, b), np.minimum(a, b), a * 3, np.where(a < b, a, b)]
    for row, expected in zip(out, rows, strict=True):
        close(row, bits(expected))


NEEDS["bfloat_math"] = 80


@program
def fp8_quantize(launch: Launch) -> None:
    import ml_dtypes

    x = f32(numbers(41).standard_normal((3, 50)) * 3)
    e4m3, e5m2, back = np.zeros(x.shape, np.uint8), np.zeros(x.shape, np.uint8), np.zeros_like(x)
    launch("fp8_quantize", 3, 32, x, e4m3, e5m2, back, 50)
    scale = (np.float32(448) / np.abs(x).max(1, keepdims=True)).astype(np.float32)
    a, b = (x * scale).astype(ml_dtypes.float8_e4m3fn), x.astype(ml_dtypes.float8_e5m2)
    assert (e4m3 != a.view(np.uint8)).sum() <= 1  # the division may round its last bit the other way
    close(e5m2, b.view(np.uint8))
    close(back, e4m3.view(ml_dtypes.float8_e4m3fn).astype(np.float32) / scale + b.astype(np.float32), 1e-5)


# -- functions ---------------------------------------------------------------------------------------------------------


@program
def recursion(launch: Launch) -> None:
    a, h, parity = np.zeros(40, np.uint32), np.zeros(40, np.int32), np.zeros(40, np.uint32)
    launch("recursion", 1, 40, a, h, parity)
    t = np.arange(40)
    m, n = t % 3, t % 5
    close(a, np.select([m == 0, m == 1], [n + 1, n + 2], 2 * n + 3))
    close(h, 2 ** (t % 6) - 1 + 1000 * (t % 6))
    close(parity, (t % 2 == 0) * 2 + (t * 3 % 2 == 1))


@program
def function_pointers(launch: Launch) -> None:
    rng = numbers(42)
    x, y, which = f32(rng.integers(-9, 9, 90)), f32(rng.integers(-9, 9, 90)), rng.integers(0, 4, 90).astype(np.int32)
    out = np.zeros_like(x)
    launch("function_pointers", 2, 48, x, y, out, which, 90)
    f = (np.add, np.subtract, np.multiply, np.maximum)
    close(out, [f[w](f[w](a, b), 2) for a, b, w in zip(x, y, which, strict=True)])


@program
def virtual_functions(launch: Launch) -> None:
    x = f32(numbers(43).integers(1, 9, 70))
    out = np.zeros_like(x)
    launch("virtual_functions", 1, 96, x, out, 70)
    circle = np.float32(3.14159265) * x * x
    close(out, np.where(np.arange(70) % 3, 5 * x * x, -3 * circle), 1e-6)


@program
def printing(launch: Launch) -> None:
    x, done = f32(np.arange(40) / 3), np.zeros(40, np.int32)
    run = launch("printing", 2, 32, x, done, 40)
    lines = sorted(run.printed.splitlines(), key=lambda line: int(line.split(":")[0]) if ":" in line else -1)
    assert lines[0] == "no arguments"
    for line, i in zip(lines[1:], (3, 19, 35), strict=True):
        word, letter = "late" if i > 20 else "early", chr(ord("a") + i % 26)
        value = float(np.float32(x[i]))
        start = f"{i}: x = {value:f}, {word} {letter} {float(np.float64(x[i]) * 1000.0):5.2e}|{i * 7:<6d}|"
        assert line == f"{start}{i * 4097:06x}|{-5000000000 * i} %", line
    close(done, np.where(np.isin(np.arange(40), (3, 19, 35)), 8, 0))


@program
def asserting(launch: Launch) -> None:
    x, out = np.arange(50, dtype=np.int32), np.zeros(50, np.int32)
    launch("asserting", 2, 32, x, out, 50)
    close(out, 2 * x)


@program
def structures(launch: Launch) -> None:
    rng = numbers(44)
    layout = np.zeros(1, np.dtype([("rows", "i4"), ("columns", "i4"), ("bias", "i2"), ("shift", "i1"),
                                   ("flags", "u1", 5), ("scale", "f8")]))  # fmt: skip
    flags = np.array([1, 2, 3, 4, 250], np.uint8)
    layout[0] = (5, 7, -300, 3, flags, 0.75)
    v = rng.integers(-3000, 3000, (35, 4)).astype(np.int16)
    out, small = np.zeros((35, 2)), np.zeros((35, 2), np.int8)
    launch("structures", 2, 32, layout.tobytes().ljust(32, b"\0"), v, out, small)
    i = np.arange(35)
    changed = np.tile(flags, (35, 1))
    changed[i, i % 4] ^= 255
    w = v.astype(np.int64)
    close(out, np.stack([(w[:, 0] - 300 + i % 4) * 1.5, (w[:, 1] << 3) - w[:, 2]], 1).astype(np.float64))
    first = (w[:, 3] + changed[i, i % 5]).astype(np.int8)
    close(small, np.stack([first, (-changed[i, i & 3].astype(np.int64)).astype(np.int8)], 1))


@program
def state_machine(launch: Launch) -> None:
    codes = np.full((4, 16), 255, np.uint8)
    #                 dup  dup mul  push 7 add  loop: push 1 sub dup ifpos
    codes[0, :5] = [0, 0, 2, 1, 255]
    codes[1, :9] = [4, 1, 6, 0, 5, 0, 3, 9, 255]
    codes[2, :8] = [0, 9, 2, 4, 100, 6, 3, 255]
    codes[3, :9] = [0, 4, 21, 7, 8, 2, 0, 1, 255]
    value = (np.arange(40) * 5 - 60).astype(np.int32)
    out = np.zeros((40, 2), np.int32)
    launch("state_machine", 2, 20, codes, 16, value, out)

    def interpret(code: np.ndarray, value: int) -> tuple[int, int]:
        stack, pc, steps = [value], 0, 0
        while steps < 200 and (op := int(code[pc])) < 10:
            pc += 1
            if op == 0:
                stack.append(stack[-1])
            elif op == 3:
                stack[-1] = -stack[-1]
            elif op == 4:
                stack.append(int(code[pc]))
                pc += 1
            elif op == 5:
                pc = int(code[pc]) if stack.pop() > 0 else pc + 1
            elif op == 7:
                stack[-1], stack[-2] = stack[-2], stack[-1]
            elif op == 9:
                stack[-1] = (stack[-1] & 0xFFFFFFFF).bit_count()
            else:
                b, a = stack.pop(), stack.pop()
                stack.append({1: a + b, 2: a * b, 6: a - b, 8: a ^ (b >> 1)}[op])
            steps += 1
        return stack[-1], steps

    with np.errstate(over="ignore"):
        close(out, np.array([interpret(codes[t % 4], int(v)) for t, v in enumerate(value)], np.int64).astype(np.int32))


# -- threads together --------------------------------------------------------------------------------------------------


@program
def cas_loops(launch: Launch) -> None:
    x = f32(numbers(45).integers(-99, 99, 100))
    most, total, counts = f32([-1000]), np.zeros(2), np.zeros(8, np.uint8)
    counts[2] = 250
    rest = np.zeros(14, np.uint32)
    rest[3] = 0xFFFFFFFF
    launch("cas_loops", 2, 64, x, most, total, counts, rest, 100)
    close(most, [x.max()])
    close(total, [x.sum(), x.sum()])
    expected = np.append(np.bincount(np.arange(100) % 7), 0)
    expected[2] = 255
    close(counts, expected)
    xor = int(np.bitwise_xor.reduce(np.arange(100)))
    down = 0
    for _ in range(100):
        down = 9 if down == 0 or down > 9 else down - 1
    wide = np.uint64(99) << np.uint64(33)
    words = [-99 & 0xFFFFFFFF, 99, 0xFFFFFFFF, 0xFFFF0000, xor, 0, down, -300 & 0xFFFFFFFF, 77, 0]
    words += [int(wide) & 0xFFFFFFFF, int(wide) >> 32, 100, 200]
    close(rest, np.array(words, np.uint32))


@program
def spin_lock(launch: Launch) -> None:
    counter, order = np.zeros(4, np.int32), np.full(3 * 40 * 2, -1, np.int32)
    launch("spin_lock", 3, 40, counter, order, 2)
    close(counter, [240, 40, 40, 40])
    close(np.sort(order), np.repeat(np.arange(120), 2))


@program
def warp_votes(launch: Launch) -> None:
    x = numbers(46).integers(-3, 4, 32).astype(np.int32)
    out = np.zeros((18, 32), np.uint32)
    launch("warp_votes", 1, 32, x, out)
    t, u = np.arange(32), x.view(np.uint32)
    odd = sum(1 << k for k in range(32) if x[k] & 1)
    match = [sum(1 << k for k in range(32) if x[k] == v) for v in x]
    third = [sum(1 << k for k in range(32) if k % 4 == 1 and x[k] > 0) if i % 4 == 1 else 0 for i in t]
    below = x.astype(np.float64) / 3
    rows = [[odd] * 32, [2] * 32, match, [0] * 32, [0] * 32, u[(t + 5) % 32], u[t // 8 * 8 + 3],
            u[np.where(t % 16 >= 2, t - 2, t)], u[np.where(t % 4 + 3 < 4, t + 3, t) % 32], u[t ^ 9], None, third, match,
            f32(x * 1.5)[t ^ 1].view(np.uint32), below[np.minimum(t + 1, 31)].view(np.uint64) & 0xFFFFFFFF,
            [int(len(set(x != 0)) == 1)] * 32, [0xFFFFFFFF] * 32, t]  # fmt: skip
    for k, (row, expected) in enumerate(zip(out, rows, strict=True)):
        if expected is None:
            assert all((int(v) >> i & 1) == 1 and not int(v) & ~odd for i, v in enumerate(row) if x[i] & 1)
        elif k == 3:
            close(row, np.full(32, 0xFFFFFFFF + 1 & 0xFFFFFFFF, np.uint32))
        else:
            close(row, np.asarray(expected).astype(np.uint32))


@program
def warp_reductions(launch: Launch) -> None:
    x = numbers(47).integers(-(2**31), 2**31, 32).astype(np.int32)
    out = np.zeros((7, 32), np.uint32)
    launch("warp_reductions", 1, 32, x, out)
    u = x.view(np.uint32)
    values = [u.sum(dtype=np.uint32), x.min(), x.max(), np.bitwise_and.reduce(u), np.bitwise_or.reduce(u),
              np.bitwise_xor.reduce(u), u.max()]  # fmt: skip
    close(out, np.repeat(np.array([int(v) & 0xFFFFFFFF for v in values], np.uint32)[:, None], 32, 1))


NEEDS["warp_reductions"] = 80


@program
def producer_consumer(launch: Launch) -> None:
    x = numbers(48).integers(-99, 99, (5, 3, 32)).astype(np.int32)
    out = np.zeros(97, np.int32)
    launch("producer_consumer", 1, 128, x, out, 5)
    t = np.arange(32)
    expected = sum((i + 1) * x[i][:, (t + i) % 32] for i in range(5)).reshape(-1)
    close(out, np.append(expected, 26 * 4 + 2))


@program
def heat_persistent(launch: Launch) -> None:
    a = f32(numbers(49).standard_normal(200))
    expected = a.copy()
    for _ in range(4):
        p = np.pad(expected, 1, mode="edge")
        expected = f32(0.25) * p[:-2] + f32(0.5) * p[1:-1] + f32(0.25) * p[2:]
    b, taken, work = np.zeros_like(a), np.zeros(1, np.uint32), np.zeros(11, np.int32)
    launch("heat_persistent", 3, 32, a, b, 200, 4, taken, work, 11, cooperative=True)
    close(a, expected, 1e-6, 1e-6)
    close(work, np.full(11, 528))


@program
def clocks(launch: Launch) -> None:
    out, elapsed = np.zeros((6, 48), np.uint32), np.full((6, 48, 2), -1, np.int64)
    launch("clocks", (3, 1, 2), (4, 6, 2), out, elapsed)
    close(out, np.arange(6)[:, None] * 10000 + np.arange(48) * 10 + 7)
    assert (elapsed >= 0).all()


# -- numbers and words -------------------------------------------------------------------------------------------------


@program
def black_scholes(launch: Launch) -> None:
    import math

    rng, n = numbers(50), 80
    s, k, t = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
    d1 = (np.log(s / k) + (0.02 + 0.5 * 0.09) * t) / (0.3 * np.sqrt(t))
    cdf = lambda d: np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in d])
    discount = k * np.exp(-0.02 * t)
    call = s * cdf(d1) - discount * cdf(d1 - 0.3 * np.sqrt(t))
    put = call - s + discount
    for name, kind, error in (("black_scholes32", np.float32, 2e-5), ("black_scholes64", np.float64, 1e-13)):
        got = np.zeros((2, n), kind)
        arrays = [np.ascontiguousarray(v, kind) for v in (s, k, t)]
        launch(name, 2, 64, *arrays, got[0], got[1], kind(0.02), kind(0.3), n)
        close(got, np.stack([call, put]), 0, error * 100)


@program
def monte_carlo(launch: Launch) -> None:
    raw, hits, normals = np.zeros((128, 4), np.uint32), np.zeros(1, np.uint64), np.zeros((128, 2), np.float32)
    launch("monte_carlo", 2, 64, raw, hits, normals, 1234)

    def philox(c: list[int], k: list[int]) -> list[int]:
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c

    every = np.array([[philox([i, k, 0, 0], [1234, 0]) for k in range(8)] for i in range(128)], np.uint32)
    close(raw, every[:, 0])
    x, y = (f32(every[..., i]) * np.float32(2**-32) for i in (0, 1))
    assert abs(int(hits[0]) - int((x * x + y * y < 1).sum())) <= 1
    radius = np.sqrt(-2 * np.log((every[:, 0, 2].astype(np.float64) + 1) / 2**32))
    angle = 2 * np.pi * every[:, 0, 3].astype(np.float64) / 2**32
    close(normals, np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), 1e-4, 1e-5)


@program
def string_search(launch: Launch) -> None:
    text = b"A needle in a haystack; needles need needless needling, NEEDLE. " * 3 + b"need"
    data = np.frombuffer(text, np.uint8).copy()
    found, places, upper = np.zeros(1, np.int32), np.full(20, -1, np.int32), np.zeros_like(data)
    launch("string_search", 4, 64, data, len(text), found, places, upper)
    expected = [i for i in range(len(text)) if text.startswith(b"needle", i)]
    assert sorted(places[: found[0]].tolist()) == expected
    assert upper.tobytes() == text.upper()
    x = numbers(51).integers(0, 2**32, 30, np.uint32)
    out, halves = np.zeros_like(x), np.zeros(30, np.uint16)
    launch("swap_bytes", 1, 32, x, out, halves, 30)
    close(out, x.byteswap())
    close(halves, (x >> 16 | (x & 0xFF) << 8).astype(np.uint16))


@program
def sieve(launch: Launch) -> None:
    limit = 6000
    is_prime = np.ones(limit, bool)
    is_prime[:2] = False
    for p in range(2, 78):
        is_prime[p * p :: p] = False if is_prime[p] else is_prime[p * p :: p]
    primes = np.nonzero(is_prime[:78])[0].astype(np.int32)
    composite = np.zeros(-(-limit // 32), np.uint32)
    launch("sieve", 3, 64, primes, len(primes), composite, len(composite))
    bits = np.unpackbits(composite.view(np.uint8), bitorder="little")[:limit]
    assert (bits[2:] == ~is_prime[2:]).all()
    base, exponent = numbers(52).integers(0, 2**64, (2, 20), np.uint64)
    exponent >>= np.uint64(44)
    out, modulus = np.zeros(20, np.uint64), 2**64 - 59
    launch("power", 1, 32, base, exponent, modulus, out, 20)
    close(out, np.array([pow(int(b), int(e), modulus) for b, e in zip(base, exponent, strict=True)], np.uint64))


@program
def breadth_first(launch: Launch) -> None:
    rng, n = numbers(53), 200
    edges = [sorted(set(rng.integers(0, n, 2).tolist())) for _ in range(n)]
    start = np.concatenate([[0], np.cumsum([len(e) for e in edges])]).astype(np.int32)
    flat, distance = np.array([t for ends in edges for t in ends], np.int32), np.zeros(n, np.int32)
    launch("breadth_first", 1, 64, start, flat, distance, n, 3)
    expected, front = np.full(n, -1), [3]
    expected[3] = 0
    while front:
        front = [t for s in front for t in edges[s] if expected[t] < 0 and not expected.__setitem__(t, expected[s] + 1)]
    close(distance, expected)


@program
def kmeans(launch: Launch) -> None:
    rng, n = numbers(54), 150
    points, centres = f32(rng.integers(-20, 20, (3, n))), f32(rng.integers(-20, 20, (5, 3)))
    label, sums, counts = np.zeros(n, np.int32), np.zeros((5, 3), np.float32), np.zeros(5, np.int32)
    launch("kmeans", 3, 64, points, centres, label, sums, counts, n)
    expected = ((points.T[:, None] - centres) ** 2).sum(2).argmin(1)
    close(label, expected)
    close(counts, np.bincount(expected, minlength=5))
    close(sums, np.stack([points.T[expected == k].sum(0) for k in range(5)]))


@program
def levenshtein(launch: Launch) -> None:
    a, b = b"instruction set architecture", b"construction of a secret arch"
    out = np.zeros(1, np.int32)
    words = [np.frombuffer(w, np.uint8).copy() for w in (a, b)]
    launch("levenshtein", 1, 32, *words, len(a), len(b), out, shared=12 * (len(a) + 1))
    row = list(range(len(b) + 1))
    for i, c in enumerate(a):
        above, row = row, [i + 1]
        for j, d in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (c != d)))
    close(out, [row[-1]])


@program
def hashing(launch: Launch) -> None:
    rng = numbers(55)
    messages = np.zeros((20, 56), np.uint8)
    digests = np.zeros((20, 8), np.uint32)
    words = [rng.integers(0, 256, rng.integers(0, 56)).astype(np.uint8) for _ in range(20)]
    for row, word in zip(messages, words, strict=True):
        row[: len(word)], row[55] = word, len(word)
    launch("sha256", 1, 20, messages, digests)
    assert [d.astype(">u4").tobytes() for d in digests] == [hashlib.sha256(w.tobytes()).digest() for w in words]
    data, sums = rng.integers(0, 256, (32, 21)).astype(np.uint8), np.zeros(32, np.uint32)
    launch("crc32", 1, 32, data, 21, sums)
    close(sums, np.array([zlib.crc32(row.tobytes()) for row in data], np.uint32))
    keys = rng.integers(0, 40, 150).astype(np.uint32)
    slots, values = np.full(64, 0xFFFFFFFF, np.uint32), np.zeros(64, np.uint32)
    launch("hash_table", 3, 64, keys, slots, values, 150, 64)
    there = slots != 0xFFFFFFFF
    found = dict(zip(slots[there].tolist(), values[there].tolist(), strict=True))
    assert found == dict(zip(*(v.tolist() for v in np.unique(keys, return_counts=True)), strict=True))


@program
def bits(launch: Launch) -> None:
    rng, n = numbers(56), 40
    x, w = rng.integers(0, 2**32, n, np.uint32), rng.integers(0, 2**64, n, np.uint64)
    x[:4], w[:4] = (0, 1, 2**31, 2**32 - 1), (0, 1, 2**63, 2**64 - 1)
    out, wide = np.zeros((24, n), np.uint32), np.zeros((10, n), np.uint64)
    launch("bits", 1, 64, x, w, out, wide, n)
    signed = lambda v, size: v - (1 << size) if v >> (size - 1) else v
    bytes_of = lambda v: [v >> 8 * k & 255 for k in range(4)]
    halves = lambda v: [v & 0xFFFF, v >> 16]
    word = lambda parts, size: sum((p & ((1 << size) - 1)) << size * k for k, p in enumerate(parts))
    quotient = lambda p, q: abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
    flip = lambda v, size: int(f"{v:0{size}b}"[::-1], 2)
    low24 = lambda v: signed(v & 0xFFFFFF, 24)
    for i in range(n):
        a, b = int(x[i]), int(x[(i + 1) % n])
        p, q = int(w[i]), int(w[(i + 1) % n])
        sa, sb, sp, sq = signed(a, 32), signed(b, 32), signed(p, 64), signed(q, 64)
        double = b << 32 | a
        eight = bytes_of(a) + bytes_of(b)
        expected = [
            a.bit_count(), 32 - a.bit_length(), flip(a, 32), (a & -a).bit_length(), (double << (i & 31)) >> 32,
            double >> min(3 * i, 32), word([eight[k] for k in (2, 7, 1, 6)], 8), a * b >> 32, sa * sb >> 32,
            abs(sa - sb) + 5, abs(a - b) + 7, (a + b) >> 1, (a + b + 1) >> 1, (sa + sb) >> 1,
            (a & 0xFFFFFF) * (b & 0xFFFFFF), low24(a) * low24(b),
            word([u + v for u, v in zip(halves(a), halves(b), strict=True)], 16),
            word([abs(u - v) for u, v in zip(bytes_of(a), bytes_of(b), strict=True)], 8),
            word([max(signed(u, 16), signed(v, 16)) for u, v in zip(halves(a), halves(b), strict=True)], 16),
            word([255 * (u > v) for u, v in zip(bytes_of(a), bytes_of(b), strict=True)], 8),
            a // (b | 1), a % (b | 1), quotient(sa, signed(b | 1, 32)), sa >> (i & 31),
        ]  # fmt: skip
        close(out[:, i], np.array([v & 0xFFFFFFFF for v in expected], np.uint32))
        shift = i & 63
        large = [
            p.bit_count(), 64 - p.bit_length(), flip(p, 64), (p & -p).bit_length(), p * q >> 64, sp * sq >> 64,
            p // (q | 1), p % (q | 1), quotient(sp, signed(q | 1, 64)), p << shift | p >> (63 - shift),
        ]  # fmt: skip
        close(wide[:, i], np.array([v & (2**64 - 1) for v in large], np.uint64))


def library(x: np.ndarray, y: np.ndarray, rows: int) -> list[Any]:
    """What the rows of math32 and math64 must hold, in double precision; None where numpy and math lack it."""
    import math

    a, b = x.astype(np.float64), y.astype(np.float64)
    each = lambda f, *v: np.array([f(*u) for u in zip(*v, strict=True)])
    half_away = np.sign(a) * np.floor(np.abs(a) + 0.5)
    unary = [np.sin(a), np.cos(a), np.tan(a), np.arcsin(a), np.arccos(a), np.arctan(a), np.sinh(a), np.cosh(a),
             np.tanh(a), np.arcsinh(a), np.arctanh(a), np.exp(a), np.exp2(a), 10.0**a, np.expm1(a), np.log1p(a),
             np.cbrt(a), each(math.erf, a), each(math.erfc, a), np.floor(a), np.ceil(a), np.trunc(a), np.rint(a),
             half_away, np.abs(a), each(math.gamma, a), np.sin(np.pi * a)]  # fmt: skip
    if rows == 50:
        unary += [1 / np.cbrt(a), each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), a), None]
    i = np.arange(len(a))
    hundred = a * 100 if rows != 50 else (x * np.float32(100)).astype(np.float64)
    rest = [np.log(b), np.log2(b), np.log10(b), np.sqrt(b), 1 / np.sqrt(b), each(math.lgamma, b), b**a,
            np.arctan2(a, b), np.hypot(a, b), np.fmod(hundred, b), each(math.remainder, hundred, b), np.copysign(b, a),
            np.maximum(a - b, 0), np.ldexp(a, i % 40 - 20), a / b]  # fmt: skip
    return unary + rest


@program
def math32(launch: Launch) -> None:
    rng, n = numbers(57), 60
    x, y = f32(rng.uniform(-0.95, 0.95, n)), f32(rng.uniform(0.1, 9, n))
    out = np.zeros((50, n), np.float32)
    launch("math32", 1, 64, x, y, out, n)
    for k, expected in enumerate(library(x, y, 50)):
        if expected is not None:
            close(out[k], expected, 3e-6, 2e-6 if k in (33, 34, 35, 38, 40) else 1e-6)
    a, b = x.astype(np.float64), y.astype(np.float64)
    close(out[45], np.sin((x * np.float32(1e6)).astype(np.float64)), 1e-6, 1e-6)
    for k, exact, toward in ((46, a * b + a, "zero"), (47, a + b, "up"), (48, a / b, "down")):
        got = out[k].astype(np.float64)
        side = {"zero": np.abs(got) <= np.abs(exact), "up": got >= exact, "down": got <= exact}[toward]
        assert side.all(), k
        close(out[k], exact, 1.3e-7)
    close(out[49], 2.0 + 4 * np.signbit(x))


@program
def math64(launch: Launch) -> None:
    rng, n = numbers(58), 60
    x, y = rng.uniform(-0.95, 0.95, n), rng.uniform(0.1, 9, n)
    out = np.zeros((47, n))
    launch("math64", 1, 64, x, y, out, n)
    for k, expected in enumerate(library(x, y, 47)):
        close(out[k], expected, 4e-15, 4e-15)
    close(out[42], np.sin(x * 1e8), 1e-12, 1e-12)
    close(out[43], x * y + x, 3e-16, 1e-17)
    close(out[44], x + y, 3e-16)
    close(out[45], x / y, 3e-16)
    parts = np.trunc(x * 1e12) + np.trunc(y * 1e10) + np.trunc(x) + np.trunc(y)
    close(out[46], parts)
