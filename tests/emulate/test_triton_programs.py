"""Triton kernels as Triton compiles them against numpy, on every engine of the emulator."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_cases.table import close
from emulate_programs import ENGINES

import ptxlab as pl

CORPUS = Path(__file__).parents[1] / "corpus" / "triton"
LAUNCHES: dict[str, dict[str, Any]] = json.loads((CORPUS / "launches.json").read_text())
CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck")
DEVICES = {"step": "step", "jit": "cpu"}

Run = Callable[..., None]


def add(run: Run) -> None:
    x, y = np.random.default_rng(1).standard_normal((2, 700)).astype(np.float32)
    out = np.zeros(700, np.float32)
    run(3, x, y, out, 700)
    close(out, x + y)


def softmax(run: Run) -> None:
    x = (np.random.default_rng(2).standard_normal((5, 700)) * 3).astype(np.float32)
    out = np.zeros_like(x)
    run(5, x, out, 700)
    expected = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    close(out, expected / expected.sum(1, keepdims=True), 3e-6)


def matmul(run: Run, m: int = 45, n: int = 52, k: int = 96) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(-8, 8, (m, k)).astype(np.float16), rng.integers(-8, 8, (k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    run((-(-m // 32), -(-n // 32)), a, b, c, m, n, k)
    close(c, a.astype(np.float32) @ b.astype(np.float32))


def matmul_stages(run: Run) -> None:
    matmul(run, 48, 64, 160)


def histogram(run: Run) -> None:
    data, counts = np.random.default_rng(4).integers(0, 256, 600).astype(np.uint8), np.zeros(256, np.int32)
    run(3, data, counts, 600)
    close(counts, np.bincount(data, minlength=256))


def attention(run: Run, n: int = 75, dim: int = 32) -> None:
    rng = np.random.default_rng(5)
    words = (rng.standard_normal((3, n, dim)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    q, k, v = (w.copy() for w in words)
    out = np.zeros((n, dim), np.float32)
    run(3, q, k, v, out, n, float(0.25 / np.log(2)))
    wide = (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    score = wide[0] @ wide[1].T * 0.25
    p = np.exp(score - score.max(1, keepdims=True))
    close(out, p / p.sum(1, keepdims=True) @ wide[2], 0, 2e-2)


def layernorm(run: Run) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((4, 200)).astype(np.float16)
    weight, bias = rng.standard_normal((2, 200)).astype(np.float32)
    out = np.zeros((4, 200), np.float32)
    run(4, x, weight.copy(), bias.copy(), out, 200, 1e-5)
    wide = x.astype(np.float64)
    norm = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    close(out, norm * weight + bias, 1e-5, 1e-5)


def philox(counter: int, seed: int) -> int:
    """The first word that Philox 4x32-10 makes of a counter."""
    c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


def dropout(run: Run) -> None:
    x = np.random.default_rng(7).standard_normal(300).astype(np.float32)
    out, kept = np.zeros_like(x), np.zeros(300, np.int8)
    run(2, x, out, kept, 300, 0.3, 1234)
    bits = np.array([philox(i, 1234) for i in range(300)], np.uint32).view(np.int32).astype(np.int64)
    uniform = np.where(bits < 0, -bits - 1, bits) * 4.6566127342e-10
    close(kept, (uniform > 0.3).astype(np.int8))
    close(out, np.where(kept == 1, x / np.float32(0.7), 0), 1e-6)


def scan(run: Run) -> None:
    x = np.random.default_rng(8).integers(-99, 99, (6, 180)).astype(np.int32)
    out, totals = np.zeros_like(x), np.array([-(2**31), 0], np.int32)
    run(6, x, out, totals, 180)
    close(out, np.cumsum(x, axis=1))
    close(totals, [x.sum(1).max(), np.maximum(x.max(1), 0).sum()])


def transpose(run: Run) -> None:
    x = np.random.default_rng(9).standard_normal((50, 70)).astype(np.float32)
    out = np.zeros((70, 50), np.float32)
    run((2, 3), x, out, 50, 70)
    close(out, x.T)


PROGRAMS: dict[str, Callable[[Run], None]] = {
    **{f.__name__: f for f in (add, softmax, matmul, histogram, attention, layernorm, dropout, scan, transpose)},
    **dict.fromkeys(("matmul_2_stages", "matmul_3_stages", "matmul_4_stages"), matmul_stages),
}


def check(name: str, kernel: Any, block: int, shared: int, trailing: int, engine: str) -> None:
    def run(grid: Any, *arguments: Any) -> None:
        arguments = tuple(np.float32(a) if isinstance(a, float) else a for a in arguments)
        pl.launch(
            kernel,
            grid,
            block,
            *arguments,
            *(None,) * trailing,
            shared=shared,
            device=DEVICES[engine],
            workers=1,
            budget=20_000_000,
        )

    PROGRAMS[name](run)


@pytest.mark.sweep(15)
@pytest.mark.parametrize("file", [f for f in LAUNCHES if f.endswith("sm_80")])
def test_kernel(file: str, engine: str) -> None:
    launch, text = LAUNCHES[file], (CORPUS / f"{file}.ptx").read_text()
    arguments = sum(kind != "constexpr" for kind in launch["signature"].values())
    (kernel,) = pl.parse(text).kernels
    trailing = len(kernel.params) - arguments
    check(file.partition(".")[0], text, 32 * launch["num_warps"], launch["shared"], trailing, engine)


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["matmul", "attention"])
def test_wgmma(name: str, engine: str) -> None:
    """Hopper's kernels without tensor maps, as they are: tiles swizzled by 64 and 128 bytes, stored by threads (matmul,
    K-major and MN-major) or by cp.async (attention)."""
    launch = LAUNCHES[f"{name}.sm_90"]

    def run(grid: Any, *arguments: Any) -> None:
        report = pl.launch(
            (CORPUS / f"{name}.sm_90.ptx").read_text(),
            grid,
            32 * launch["num_warps"],
            *arguments,
            None,
            None,
            shared=launch["shared"],
            device=DEVICES[engine],
            checks=CHECKS,
            workers=1,
        )
        assert report.findings == []

    if name == "matmul":
        matmul(lambda grid, *arguments: run((2, 2), *arguments), 100, 52, 96)
    else:
        attention(lambda grid, *arguments: run(2, *arguments), 112, 64)


@pytest.mark.rest
@pytest.mark.parametrize("engine", ["jit", pytest.param("step", marks=pytest.mark.slow)])
@pytest.mark.parametrize("roles", ["roles", "tma"])
@pytest.mark.parametrize("name", ["attention", "matmul"])
def test_tensor_maps(name: str, roles: str, engine: str) -> None:
    """Hopper's kernels with tensor maps that they write themselves: one warpgroup; a producer and two consumers."""
    rng, file = np.random.default_rng(5), f"{name}_{roles}.sm_90"
    launch, expected = LAUNCHES[file], np.zeros(0)
    if name == "matmul":
        a, b = rng.integers(-8, 8, (128, 192)).astype(np.float16), rng.integers(-8, 8, (192, 64)).astype(np.float16)
        out, expected = np.zeros((128, 64), np.float32), a.astype(np.float32) @ b.astype(np.float32)
        arguments: tuple[Any, ...] = (a, b, out, 128, 64, 192)
    else:
        q, k, v = rng.standard_normal((3, 128, 64)).astype(np.float16)
        out = np.zeros_like(q)
        arguments = (q.copy(), k.copy(), v.copy(), out, 128, np.float32(np.log2(np.e) / 8))
        score = q.astype(np.float64) @ k.T.astype(np.float64) / 8
        p = np.exp(score - score.max(1, keepdims=True))
        expected = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    report = pl.launch(
        (CORPUS / f"{file}.ptx").read_text(),
        1,
        32 * launch["num_warps"],
        *arguments,
        np.zeros(launch["scratch"], np.uint8),
        None,
        shared=launch["shared"],
        device=DEVICES[engine],
        checks=CHECKS,
        workers=1,
    )
    close(out, expected, 0, 0 if name == "matmul" else 5e-4)
    assert report.findings == []


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton: pip install 'ptxlab[triton]'")
@pytest.mark.parametrize("name", ["add", "matmul_3_stages", "layernorm", "scan"])
def test_compiled_now(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CORPUS.parent)
    triton_kernels = importlib.import_module("triton_kernels")
    case = next(c for c in triton_kernels.ALL if c[0] == name)
    _, fn, arch, signature, constants, attributes, options = case
    suffix = ":16" if attributes else ""
    given = {n: kind + suffix for n, kind in signature.items() if kind != "constexpr"}
    k = pl.triton(fn, given, constants, arch=f"sm_{arch}", **options)
    assert k.block == 32 * options.get("num_warps", 4)
    assert {span.file for span in k.module.spans.values()} >= {fn.fn.__code__.co_filename}
    check(name, k, k.block, 0, 0, ENGINES[-1])


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(pl.UnavailableError) as missing:
        pl.triton(add, {}, {})
    assert str(missing.value) == (
        "Triton is not installed (import of triton halted; None in sys.modules): pip install 'ptxlab[triton]'"
    )
