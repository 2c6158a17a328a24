"""The fused multiply-add of numpy lanes against fractions: ties, subnormal numbers, overflow, signs. All operations on
lanes are tested by the instructions that they make up (tests/isa)."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.step.lanes import Lanes

m = Lanes()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def apply(operation: Callable[..., Any], dtype: np.dtype[Any], *columns: list[Any]) -> list[Any]:
    """The operation on many values, 32 lanes at a time, as Python numbers."""
    out: list[Any] = []
    for start in range(0, len(columns[0]), LANES):
        chunk = [column[start : start + LANES] for column in columns]
        padded = [np.array(part + [part[0]] * (LANES - len(part)), dtype) for part in chunk]
        out += operation(*padded).tolist()[: len(chunk[0])]
    return out


def rounded(value: Fraction, width: int, lowest: int | None = None) -> float:
    """A rational rounded once, to nearest even, to `width` bits: an oracle that uses no floating point."""
    lowest = {24: -149, 53: -1074}[width] if lowest is None else lowest
    if value == 0:
        return 0.0
    size, sign = abs(value), 1 if value > 0 else -1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - width + 1, lowest)
    result = round(size / unit) * unit
    if result >= Fraction(2) ** (128 if width == 24 else 1024):
        return math.inf * sign
    return float(result) * sign


def bits_of(value: float, type: str) -> int:
    code, integer = ("<f", "<I") if type == "f32" else ("<d", "<Q")
    return int(struct.unpack(integer, struct.pack(code, value))[0])


def check_fma(type: str, triples: list[tuple[float, float, float]]) -> None:
    """Every a*b + c with a nonzero exact sum, bit for bit against the rational."""
    a, b, c = (list(column) for column in zip(*triples, strict=True))
    found = apply(m.fma, DTYPE[type], a, b, c)
    for x, y, z, result in zip(a, b, c, found, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact:
            expected = rounded(exact, 24 if type == "f32" else 53)
            assert bits_of(result, type) == bits_of(expected, type), (x.hex(), y.hex(), z.hex())


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fma_where_rounding_twice_would_go_wrong(type: str) -> None:
    """The exact sum lies a hair above or below a tie: adding in twice the width first would round it onto the tie."""
    width = 24 if type == "f32" else 53
    triples = []
    for shift in range(2 * width + 40):
        for sign in (-1, 1):
            for odd in (0, 1):
                big = float(2 ** (width - 1) + odd)  # an ulp of 1; + 0.5 is a tie
                hair = math.ldexp(1.0, -shift)
                triples += [(sign * big, 1.0, math.copysign(0.5, sign) + s * hair) for s in (-1, 1)]
                triples += [(sign * hair, s, big) for s in (-1.0, 1.0)]
                triples += [(s * (1 + 2.0 ** (1 - width)), hair, sign * big) for s in (-1.0, 1.0)]
    # (2**12 + 1)**2 = 2**24 + 2**13 + 1: the 1 is what the product loses.
    half = float(2 ** ((width - 1) // 2) + 1)
    triples += [(half, half, sign * math.ldexp(1.0, k)) for k in range(-width, 3 * width) for sign in (-1, 1)]
    if type == "f32":
        triples = [tuple(float(np.float32(x)) for x in t) for t in triples]  # type: ignore[misc]
    check_fma(type, triples)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fma_subnormal_and_overflow(type: str) -> None:
    rng, width = random.Random(3), 24 if type == "f32" else 53
    tiny, huge = (-149, 127) if type == "f32" else (-1074, 1023)
    largest = math.ldexp(2.0 - 2.0 ** (1 - width), huge)

    def near(exponent: int) -> float:
        size = rng.choice((1.0, 1.5, 1 + 2.0 ** (1 - width), 2 - 2.0 ** (1 - width), rng.uniform(1, 2)))
        if type == "f32":
            size = float(np.float32(size))
        return rng.choice((-1, 1)) * math.ldexp(size, exponent)

    triples = []
    for k in range(600):
        shift = rng.randint(-4, 30)
        triples.append((near(tiny // 2 + shift), near(tiny // 2 - shift + k % 9), math.ldexp(rng.randint(-9, 9), tiny)))
        triples.append((near(huge // 2), near(huge - huge // 2 + 1), -near(huge - k % 3)))
        triples.append((largest, rng.choice((1.0, -1.0)), near(huge - width + k % 4 - 1)))
        triples.append((largest, rng.choice((1.0, 2.0)), -largest))
    if type == "f32":
        triples = [tuple(float(np.float32(x)) for x in t) for t in triples]  # type: ignore[misc]
    check_fma(type, [t for t in triples if all(map(math.isfinite, t))])


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fma_zeros_infinities_and_nan(type: str) -> None:
    inf, nan = math.inf, math.nan
    cases = [
        (0.0, 1.0, -0.0, 0.0), (-0.0, 1.0, -0.0, -0.0), (0.0, -1.0, -0.0, -0.0), (-0.0, 1.0, 0.0, 0.0),
        (1.0, 1.0, -1.0, 0.0), (-1.0, 1.0, 1.0, 0.0), (1.5, -2.0, 3.0, 0.0),
        (inf, 1.0, 1.0, inf), (inf, -1.0, 1.0, -inf), (1.0, 1.0, -inf, -inf),
        (inf, 0.0, 1.0, nan), (inf, 1.0, -inf, nan), (nan, 1.0, 1.0, nan), (1.0, 1.0, nan, nan),
        (2.0, 3.0, 0.0, 6.0), (0.0, 0.0, 5.0, 5.0),
    ]  # fmt: skip
    a, b, c, expected = (list(column) for column in zip(*cases, strict=True))
    for found, wanted in zip(apply(m.fma, DTYPE[type], a, b, c), expected, strict=True):
        assert math.isnan(found) if math.isnan(wanted) else bits_of(found, type) == bits_of(wanted, type)


def test_fma_f64_result_below_every_number_keeps_its_sign() -> None:
    a, b = np.full(LANES, -(2.0**-700)), np.full(LANES, 2.0**-700)
    assert np.signbit(m.fma(a, b, np.zeros(LANES))).all()
    assert not np.signbit(m.fma(a, -b, np.full(LANES, -0.0))).any()


def test_sign_operations_reach_nan() -> None:
    nan = np.full(LANES, 0x7FC01234, np.uint32).view(np.float32)
    assert (m.fneg(nan).view(np.uint32) == 0xFFC01234).all()
    assert (m.fabs(m.fneg(nan)).view(np.uint32) == 0x7FC01234).all()
