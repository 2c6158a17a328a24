"""The fused multiply-add where it is hardest: ties, subnormal numbers, overflow, signs. `tests/isa` has the others."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from isa_oracle import assert_same, exact, lanes, run


def check_fma(type: str, triples: list[tuple[float, float, float]]) -> None:
    """Every a*b + c, bit for bit as it is rounded once."""
    a, b, c = (lanes(type, column) for column in zip(*triples, strict=True))
    want = [exact("fma", "rn", type, *map(float, given)) for given in zip(a, b, c, strict=True)]
    assert_same(run(f"fma.rn.{type}", a, b, c), lanes(type, want), a, b, c)


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
    half = float(2 ** ((width + 1) // 2) + 1)
    triples += [(half, half, sign * math.ldexp(1.0, k)) for k in range(-3 * width, 3 * width) for sign in (-1, 1)]
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
    check_fma(type, [t for t in triples if all(map(math.isfinite, t))])


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fma_zeros_infinities_and_nan(type: str) -> None:
    """And results below every number, which keep their sign."""
    inf, nan = math.inf, math.nan
    cases = [
        (0.0, 1.0, -0.0), (-0.0, 1.0, -0.0), (0.0, -1.0, -0.0), (-0.0, 1.0, 0.0), (1.0, 1.0, -1.0), (-1.0, 1.0, 1.0),
        (1.5, -2.0, 3.0), (inf, 1.0, 1.0), (inf, -1.0, 1.0), (1.0, 1.0, -inf), (inf, 0.0, 1.0), (inf, 1.0, -inf),
        (nan, 1.0, 1.0), (1.0, 1.0, nan), (2.0, 3.0, 0.0), (0.0, 0.0, 5.0),
        (-(2.0**-100), 2.0**-100, 0.0), (-(2.0**-700), 2.0**-700, 0.0), (-(2.0**-700), -(2.0**-700), -0.0),
    ]  # fmt: skip
    check_fma(type, cases)


def test_sign_operations_reach_nan() -> None:
    nan = np.full(32, 0x7FC01234, np.uint32).view(np.float32)
    assert (run("neg.f32", nan).view(np.uint32) == 0xFFC01234).all()
    assert (run("abs.f32", run("neg.f32", nan)).view(np.uint32) == 0x7FC01234).all()
