"""CUDA C++ kernels as nvcc and NVRTC compile them, at -O3 and -G, against numpy on every engine of the emulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import launch

CORPUS = Path(__file__).parents[1] / "corpus" / "cuda"
FILES = sorted(path.name for path in CORPUS.glob("*.ptx"))


def saxpy(engine: str, text: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 300)).astype(np.float32)
    fused = (np.float64(np.float32(1.7)) * x + y).astype(np.float32)
    separate = np.float32(1.7) * x + y
    launch(engine, text, 300, 1.7, x, y, grid=(2,), block=(96,))
    assert ((y == fused) | (y == separate)).all()


def matmul_naive(engine: str, text: str, block: tuple[int, int] = (8, 8)) -> None:
    rng = np.random.default_rng(2)
    m, n, k = 19, 21, 23
    a, b = rng.integers(-9, 9, (m, k)).astype(np.float32), rng.integers(-9, 9, (k, n)).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    launch(engine, text, a, b, c, m, n, k, grid=(-(-n // block[0]), -(-m // block[1])), block=block)
    assert (c == a @ b).all()


def matmul_tiled(engine: str, text: str) -> None:
    matmul_naive(engine, text, (16, 16))


def reduce(engine: str, text: str) -> None:
    x = np.random.default_rng(3).integers(-99, 99, 700).astype(np.float32)
    out = np.full(3, np.nan, np.float32)
    launch(engine, text, x, out, 700, grid=(3,), block=(128,))
    shares = [x[np.arange(700) // 128 % 3 == block].sum() for block in range(3)]
    assert out.tolist() == shares


def scan(engine: str, text: str) -> None:
    x = np.random.default_rng(4).integers(-(10**6), 10**6, 100).astype(np.int32)
    out = np.zeros(100, np.int32)
    launch(engine, text, x, out, 100, grid=(1,), block=(128,), shared=2 * 128 * 4)
    assert (out == np.cumsum(x)).all()


def histogram(engine: str, text: str) -> None:
    data = (np.random.default_rng(5).standard_normal(500) * 20 + 128).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    launch(engine, text, data, counts, 500, grid=(2,), block=(96,))
    assert (counts == np.bincount(data, minlength=256)).all()


def transpose(engine: str, text: str) -> None:
    x = np.random.default_rng(6).standard_normal((45, 37)).astype(np.float32)
    out = np.zeros((37, 45), np.float32)
    launch(engine, text, x, out, 45, 37, grid=(2, 2), block=(32, 8))
    assert (out == x.T).all()


def softmax(engine: str, text: str) -> None:
    x = (np.random.default_rng(7).standard_normal((3, 150)) * 4).astype(np.float32)
    out = np.zeros_like(x)
    launch(engine, text, x, out, 150, grid=(3,), block=(64,))
    expected = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    assert np.abs(out / expected - 1).max() < 2e-6


KERNELS: dict[str, Callable[[str, str], None]] = {
    f.__name__: f for f in (saxpy, matmul_naive, matmul_tiled, reduce, scan, histogram, transpose, softmax)
}


def test_every_kernel_is_there() -> None:
    assert {(name, mode) for name in KERNELS for mode in ("O3", "G")} <= {tuple(f.split(".")[:2]) for f in FILES}


@pytest.mark.sweep(28)
@pytest.mark.parametrize("file", FILES)
def test_kernel(file: str, engine: str) -> None:
    KERNELS[file.partition(".")[0]](engine, (CORPUS / file).read_text())
