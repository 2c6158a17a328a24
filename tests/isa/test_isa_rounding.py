"""Directed rounding, flush and saturation against exact fractions: f32 and f64, with every kind of edge."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from isa_oracle import FORMATS, assert_same, lanes, pairs, round_exact, run

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


def sum_rounded(terms: list[Fraction], signs: list[int], mode: str, type: str) -> float:
    total = sum(terms, Fraction(0))
    agree = all(s == signs[0] for s in signs)
    zero_sign = signs[0] if agree else (-1 if mode == "rm" else 1)
    return round_exact(total, mode, type, zero_sign)


def sign_of(x: float) -> int:
    return int(math.copysign(1, x))


def exact(name: str, mode: str, type: str, *xs: float) -> float:
    """The result of an operation by its definition."""
    if any(math.isnan(x) for x in xs) or (name == "sqrt" and xs[0] < 0):
        return NAN
    if name == "sqrt":
        return xs[0] if xs[0] in (0.0, INF) else root_rounded(Fraction(xs[0]), mode, type)
    if name == "sub":
        return exact("add", mode, type, xs[0], -xs[1])
    if any(math.isinf(x) for x in xs) or (name == "div" and xs[1] == 0):
        with np.errstate(all="ignore"):  # infinities do not round: the nearest operation is right
            x = [np.float64(v) for v in xs]
            if name == "fma" and not any(math.isinf(v) for v in xs[:2]):
                return float(x[2])
            value = (
                {"add": x[0] + x[1], "mul": x[0] * x[1], "div": x[0] / x[1]}.get(name)
                if name != "fma"
                else (x[0] * x[1] + x[2])
            )
            return float(value)  # type: ignore[arg-type]
    if name == "add":
        return sum_rounded([Fraction(x) for x in xs], [sign_of(x) for x in xs], mode, type)
    product_sign = sign_of(xs[0]) * sign_of(xs[1])
    if name == "mul":
        return round_exact(Fraction(xs[0]) * Fraction(xs[1]), mode, type, product_sign)
    if name == "div":
        return round_exact(Fraction(xs[0]) / Fraction(xs[1]), mode, type, product_sign)
    terms = [Fraction(xs[0]) * Fraction(xs[1]), Fraction(xs[2])]
    return sum_rounded(terms, [product_sign, sign_of(xs[2])], mode, type)


def root_rounded(x: Fraction, mode: str, type: str) -> float:
    """sqrt(x): 200 bits of it, and a sticky bit below."""
    scaled = x * Fraction(2) ** 2400
    whole = math.isqrt(int(scaled))
    root = Fraction(whole) if whole * whole == scaled else Fraction(2 * whole + 1, 2)
    return round_exact(root / Fraction(2) ** 1200, mode, type)


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
