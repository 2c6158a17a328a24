"""Directed rounding, flush and saturation against exact fractions: f32 and f64, with every kind of edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from isa_oracle import FORMATS, assert_same, exact, lanes, pairs, run

MODES = ("rn", "rz", "rm", "rp")
INF, NAN = math.inf, math.nan


def edges(type: str) -> list[float]:
    precision, least, most = FORMATS[type]
    tiny, unit = 2.0 ** (least - precision + 1) if type == "f32" else 5e-324, 2.0 ** (1 - precision)
    largest = (2.0 - unit) * 2.0**most
    positive = [0.0, tiny, 3 * tiny, 2.0**least, 2.0**least * (1 - unit), 1.0, 1 + unit, 1 - unit / 2, 1.5, 3.0, 1 / 3,
                2.0**precision, 2.0**precision + 2, unit, unit * 0.75, 2.0 ** (most // 2),
                2.0 ** (-(most // 2) - 3) * 1.25, largest, largest / 2, 2.0**most, INF]  # fmt: skip
    dtype = np.dtype(np.float32 if type == "f32" else np.float64)
    return [float(dtype.type(v)) for p in positive for v in (p, -p)] + [NAN]


def randoms(type: str, count: int, seed: int) -> Any:
    """Random bits, and random numbers of similar size: cancellation, ties and plain cases."""
    rng = np.random.default_rng(seed)
    if type == "f32":
        wild = rng.integers(0, 1 << 32, count, np.uint32).view(np.float32)
    else:
        wild = rng.integers(0, 1 << 64, count, np.uint64).view(np.float64)
    near = (rng.integers(-64, 64, count) * 2.0 ** rng.integers(-30, 2, count)).astype(wild.dtype)
    return np.where(rng.random(count) < 0.6, wild, near)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("mode", MODES)
def test_two_operands(name: str, mode: str, type: str) -> None:
    a, b = (np.concatenate([lanes(type, e), randoms(type, 600, k)]) for k, e in enumerate(pairs(edges(type))))
    want = [exact(name, mode, type, float(x), float(y)) for x, y in zip(a, b, strict=True)]
    assert_same(run(f"{name}.{mode}.{type}", a, b), lanes(type, want), name, mode, a, b)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_fma(mode: str, type: str) -> None:
    few = [*edges(type)[::3], NAN]
    sources = [np.concatenate([lanes(type, e), randoms(type, 1500, k)]) for k, e in enumerate(pairs(few, 3))]
    # what is left of a product when its rounding is taken away: the hardest sums
    a, b, c = sources
    with np.errstate(all="ignore"):
        c = np.where(np.arange(len(c)) % 3 == 0, -(a * b), c)
        c = np.where(np.isnan(c), lanes(type, [1.0])[0], c)
    want = [exact("fma", mode, type, *map(float, xs)) for xs in zip(a, b, c, strict=True)]
    assert_same(run(f"fma.{mode}.{type}", a, b, c), lanes(type, want), mode, a, b, c)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_roots_and_reciprocals(mode: str, type: str) -> None:
    a = np.concatenate([lanes(type, edges(type)), randoms(type, 500, 5)])
    want = [exact("sqrt", mode, type, float(x)) for x in a]
    assert_same(run(f"sqrt.{mode}.{type}", a), lanes(type, want), "sqrt", mode, a)
    want = [exact("div", mode, type, 1.0, float(x)) for x in a]
    assert_same(run(f"rcp.{mode}.{type}", a), lanes(type, want), "rcp", mode, a)


def test_flush_keeps_the_sign() -> None:
    tiny = 2.0**-140
    a = lanes("f32", [tiny, -tiny, 2.0**-126, -0.0, 1.0])
    assert_same(run("abs.ftz.f32", a), lanes("f32", [0.0, 0.0, 2.0**-126, 0.0, 1.0]))
    assert_same(run("mul.rn.ftz.f32", a, lanes("f32", [1.0] * 5)), lanes("f32", [0.0, -0.0, 2.0**-126, -0.0, 1.0]))
    # the result is flushed as well as the operands
    half = lanes("f32", [2.0**-126] * 5)
    assert_same(
        run("mul.rn.ftz.f32", half, lanes("f32", [0.5, -0.5, 1.0, -1.0, 0.0])),
        lanes("f32", [0.0, -0.0, 2.0**-126, -(2.0**-126), 0.0]),
    )


def test_saturation_clamps_and_turns_nan_into_zero() -> None:
    a = lanes("f32", [-1.0, -0.0, 0.25, 1.0, 7.0, INF, -INF, NAN])
    zero = lanes("f32", [0.0] * 8)
    assert_same(run("add.sat.f32", a, zero), lanes("f32", [0.0, 0.0, 0.25, 1.0, 1.0, 1.0, 0.0, 0.0]))
    assert_same(
        run("fma.rz.sat.f32", a, lanes("f32", [1.0] * 8), zero), lanes("f32", [0.0, 0.0, 0.25, 1.0, 1.0, 1.0, 0.0, 0.0])
    )
