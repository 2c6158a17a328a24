"""f16 and bf16 arithmetic against exact rounding, min and max with their NaN rules, signs, and number classes."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from isa_oracle import assert_same, exact, lanes, pairs, run, sign_of

HALF = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
INF, NAN = math.inf, math.nan


def halves(type: str, count: int, seed: int) -> Any:
    """Random bits: every exponent, subnormals and specials among them; half of them close to 1."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 16, count).astype(np.uint16)
    near = (rng.integers(-40, 40, count) * 2.0 ** rng.integers(-8, 3, count)).astype(HALF[type]).view(np.uint16)
    return np.where(rng.random(count) < 0.5, bits, near)


def numbers(type: str, bits: Any) -> list[float]:
    return [float(x) for x in bits.view(HALF[type])]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_arithmetic_rounds_once(name: str, type: str) -> None:
    count = 3 if name == "fma" else 2
    sources = [halves(type, 6000, 7 * k + 1) for k in range(count)]
    if name == "fma":  # products and addends that leave a tie or nearly one
        with np.errstate(all="ignore"):
            product = np.array(numbers(type, sources[0])) * np.array(numbers(type, sources[1]))
            tie = (product * 2.0 ** np.random.default_rng(3).integers(8, 20, len(product))).astype(HALF[type])
        sources[2] = np.where(np.arange(len(product)) % 2, tie.view(np.uint16), sources[2])
    want = [exact(name, "rn", type, *xs) for xs in zip(*(numbers(type, s) for s in sources), strict=True)]
    got = run(f"{name}.rn.{type}", *sources)
    assert_same(np.array(numbers(type, got)), np.array(want), name, *(numbers(type, s) for s in sources))
    # the packed form does the same to both halves
    packed = [s[0::2].astype(np.uint32) | s[1::2].astype(np.uint32) << 16 for s in sources]
    both = run(f"{name}.rn.{type}x2", *packed)
    assert_same((both & 0xFFFF).astype(np.uint16), got[0::2])
    assert_same((both >> 16).astype(np.uint16), got[1::2])


def test_modifiers_of_halves() -> None:
    a = np.array([-1.0, 0.25, 3.0, 6e-8, NAN], np.float16).view(np.uint16)
    one, zero = np.array([1.0] * 5, np.float16).view(np.uint16), np.array([0.0] * 5, np.float16).view(np.uint16)

    def halves_of(got: Any) -> Any:
        return got.view(np.float16)

    assert_same(halves_of(run("mul.rn.ftz.f16", a, one)), np.array([-1.0, 0.25, 3.0, 0.0, NAN], np.float16))
    assert_same(halves_of(run("add.rn.sat.f16", a, zero)), np.array([0.0, 0.25, 1.0, 6e-8, 0.0], np.float16))
    relu = run("fma.rn.relu.f16", a, one, zero)
    assert_same(halves_of(relu), np.array([0.0, 0.25, 3.0, 6e-8, NAN], np.float16))
    assert int(relu[4]) == 0x7FFF


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_fma_with_elements_out_of_bounds(type: str) -> None:
    """The result is 0 where a or b marks an element out of bounds, with either sign; another NaN stays one."""
    marked = np.array([0x7FF7, 0xFFF7, 0x7FFF, 0x7FF6], np.uint16)
    one, big = (np.array([x] * 4, HALF[type]).view(np.uint16) for x in (1.0, 7.0))
    for words in ("", ".relu", *([".sat"] if type == "f16" else [])):
        other = 0 if words == ".sat" else 0x7FFF
        for a, b in ((marked, one), (one, marked)):
            assert list(run(f"fma.rn.oob{words}.{type}", a, b, big)) == [0, 0, other, other]
        assert (
            list(run(f"fma.rn.oob{words}.{type}", one, one, marked)) == [other] * 4
        )  # the addend may be what it likes
        seven = np.array([1.0 if words == ".sat" else 7.0], HALF[type]).view(np.uint16)[0]
        assert list(run(f"fma.rn.oob{words}.{type}", one * 0, one, big)) == [seven] * 4
    pair = marked[:2].view(np.uint32), (one.astype(np.uint32) | one.astype(np.uint32) << 16)[:1]
    assert list(run(f"fma.rn.oob.{type}x2", *pair, pair[1])) == [0]


def extremum(larger: bool, nan: bool, *xs: float) -> float:
    """min and max as the manual defines them; -0 lies below +0."""
    if any(map(math.isnan, xs)) and (nan or all(map(math.isnan, xs))):
        return NAN
    present = [x for x in xs if not math.isnan(x)]
    return (max if larger else min)(present, key=lambda x: (x, sign_of(x)))


VALUES = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-40, -1e-40, INF, -INF, NAN]


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max(name: str) -> None:
    larger = name == "max"
    a, b = pairs(VALUES)
    for type in ("f32", "f64"):
        x, y = lanes(type, a), lanes(type, b)
        for nan in ("", ".NaN") if type == "f32" else ("",):
            want = [extremum(larger, bool(nan), float(p), float(q)) for p, q in zip(x, y, strict=True)]
            assert_same(run(f"{name}{nan}.{type}", x, y), lanes(type, want), a, b)
    x, y = lanes("f32", a), lanes("f32", b)
    flat = [0.0 * v if abs(v) == 1e-40 else v for v in a], [0.0 * v if abs(v) == 1e-40 else v for v in b]
    want = [extremum(larger, False, p, q) for p, q in zip(*flat, strict=True)]
    assert_same(run(f"{name}.ftz.f32", x, y), lanes("f32", want), a, b)
    want = [extremum(larger, False, abs(p), abs(q)) for p, q in zip(x, y, strict=True)]
    want = [
        v if math.isnan(v) else math.copysign(v, sign_of(p) * sign_of(q)) for v, p, q in zip(want, x, y, strict=True)
    ]
    got = run(f"{name}.xorsign.abs.f32", x, y)
    both = ~np.isnan(x) & ~np.isnan(y)  # the sign of a NaN operand is not defined
    assert_same(got[both], lanes("f32", want)[both])
    c = lanes("f32", [VALUES[k % 7] for k in range(len(a))])
    want = [extremum(larger, False, *map(float, v)) for v in zip(x, y, c, strict=True)]
    assert_same(run(f"{name}.f32", x, y, c), lanes("f32", want))
    nan = lanes("f32", [NAN])
    assert int(run(f"{name}.f32", nan, nan).view(np.uint32)[0]) == 0x7FFFFFFF


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_min_and_max_of_halves(type: str) -> None:
    a, b = (np.array(v).astype(HALF[type]) for v in pairs([0.0, -0.0, 1.0, -2.0, INF, -INF, NAN]))
    for name in ("min", "max"):
        for nan in ("", ".NaN"):
            got = run(f"{name}{nan}.{type}", a.view(np.uint16), b.view(np.uint16)).view(HALF[type])
            want = [extremum(name == "max", bool(nan), float(p), float(q)) for p, q in zip(a, b, strict=True)]
            assert_same(got.astype(np.float32), np.array(want, np.float32))


def test_signs_and_classes() -> None:
    x = lanes("f32", VALUES)
    assert_same(run("abs.f32", x), np.abs(x))
    assert_same(run("neg.f32", x), -x)
    assert_same(run("copysign.f32", lanes("f32", [-1.0, 1.0]), lanes("f32", [3.0, -0.0])), lanes("f32", [-3.0, 0.0]))
    tiny = np.abs(x) < 2.0**-126
    expected = {
        "finite": np.isfinite(x),
        "infinite": np.isinf(x),
        "number": ~np.isnan(x),
        "notanumber": np.isnan(x),
        "normal": np.isfinite(x) & (~tiny | (x == 0)),
        "subnormal": tiny & (x != 0),
    }
    for test, want in expected.items():
        assert_same(run(f"testp.{test}.f32", x), want, test)
    half = np.array([1.0, -2.0, -0.0], np.float16).view(np.uint16)
    assert_same(run("neg.f16", half).view(np.float16), np.array([-1.0, 2.0, 0.0], np.float16))
    assert_same(run("abs.bf16", half), half & np.uint16(0x7FFF))


def test_two_floats_in_one_register() -> None:
    a, b = (lanes("f32", [1.5, 2.0, -3.0, 1e-40]).view(np.uint64) for _ in range(2))
    got = run("add.rn.f32x2", a, b).view(np.float32)
    assert_same(got, a.view(np.float32) + b.view(np.float32))
    got = run("fma.rz.ftz.f32x2", a, b, b).view(np.float32)
    assert_same(got, lanes("f32", [3.75, 6.0, 6.0, 0.0]))
