"""Convolutions, transforms, stencils and pictures, as CUDA C++ programs with what they must give."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import Launch, close, f32, numbers, program


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
