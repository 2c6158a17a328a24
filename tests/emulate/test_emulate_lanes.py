"""The numpy lanes against Python integers, fractions and directed ties."""

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
from ptxlab.emulate.step.lanes import Lanes, mask_bits

WIDTHS = (8, 16, 32, 64)
m = Lanes()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def integers(bits: int, count: int = 320) -> list[int]:
    rng = random.Random(bits)
    top = 1 << bits
    edges = [
        0,
        1,
        2,
        3,
        top - 1,
        top - 2,
        top // 2,
        top // 2 - 1,
        top // 2 + 1,
        1 << (bits // 2),
        (1 << (bits // 2)) - 1,
    ]
    return edges + [rng.getrandbits(rng.randint(1, bits)) for _ in range(count - len(edges))]


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def apply(operation: Callable[..., Any], dtype: np.dtype[Any], *columns: list[Any]) -> list[Any]:
    """The operation on many values, 32 lanes at a time, as Python numbers."""
    out: list[Any] = []
    for start in range(0, len(columns[0]), LANES):
        chunk = [column[start : start + LANES] for column in columns]
        padded = [np.array(part + [part[0]] * (LANES - len(part)), dtype) for part in chunk]
        out += operation(*padded).tolist()[: len(chunk[0])]
    return out


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, n: a + b,
    "sub": lambda a, b, n: a - b,
    "mul": lambda a, b, n: a * b,
    "umulh": lambda a, b, n: a * b >> n,
    "smulh": lambda a, b, n: signed(a, n) * signed(b, n) >> n,
    "udiv": lambda a, b, n: a // b if b else -1,
    "urem": lambda a, b, n: a % b if b else -1,
    "sdiv": lambda a, b, n: truncated(signed(a, n), signed(b, n)) if b else -1,
    "srem": lambda a, b, n: signed(a, n) - signed(b, n) * truncated(signed(a, n), signed(b, n)) if b else -1,
    "and_": lambda a, b, n: a & b,
    "or_": lambda a, b, n: a | b,
    "xor": lambda a, b, n: a ^ b,
    "umin": lambda a, b, n: min(a, b),
    "umax": lambda a, b, n: max(a, b),
    "smin": lambda a, b, n: min(signed(a, n), signed(b, n)),
    "smax": lambda a, b, n: max(signed(a, n), signed(b, n)),
    "shl": lambda a, b, n: a << b % n,
    "lshr": lambda a, b, n: a >> b % n,
    "ashr": lambda a, b, n: signed(a, n) >> b % n,
    "eq": lambda a, b, n: a == b,
    "ne": lambda a, b, n: a != b,
    "ult": lambda a, b, n: a < b,
    "ule": lambda a, b, n: a <= b,
    "slt": lambda a, b, n: signed(a, n) < signed(b, n),
    "sle": lambda a, b, n: signed(a, n) <= signed(b, n),
}


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", BINARY)
def test_integer_operation(name: str, bits: int) -> None:
    a = integers(bits)
    b = random.Random(7).sample(a, len(a))
    a, b = [*a, 1 << (bits - 1), 0, 5], [*b, (1 << bits) - 1, 0, 0]
    if name in ("shl", "lshr", "ashr"):
        b = [x % bits for x in b]
    found = apply(getattr(m, name), DTYPE[f"i{bits}"], a, b)
    expected = [BINARY[name](x, y, bits) for x, y in zip(a, b, strict=True)]
    if not isinstance(found[0], bool):
        expected = [value % (1 << bits) for value in expected]
    assert found == expected


UNARY: dict[str, Callable[[int, int], int]] = {
    "not_": lambda a, n: ~a % (1 << n),
    "popc": lambda a, n: a.bit_count(),
    "clz": lambda a, n: n - a.bit_length(),
    "brev": lambda a, n: int(f"{a:0{n}b}"[::-1], 2),
}


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", UNARY)
def test_integer_function(name: str, bits: int) -> None:
    a = integers(bits) + [1 << k for k in range(bits)] + [(1 << k) - 1 for k in range(bits)]
    assert apply(getattr(m, name), DTYPE[f"i{bits}"], a) == [UNARY[name](x, bits) for x in a]


@pytest.mark.parametrize("wide", WIDTHS)
@pytest.mark.parametrize("narrow", WIDTHS)
def test_integer_widths(narrow: int, wide: int) -> None:
    if narrow > wide:
        a = integers(narrow)
        found = apply(lambda x: m.trunc(f"i{wide}", x), DTYPE[f"i{narrow}"], a)
        assert found == [x % (1 << wide) for x in a]
        return
    a = integers(narrow)
    assert apply(lambda x: m.zext(f"i{wide}", x), DTYPE[f"i{narrow}"], a) == a
    found = apply(lambda x: m.sext(f"i{wide}", x), DTYPE[f"i{narrow}"], a)
    assert found == [signed(x, narrow) % (1 << wide) for x in a]


def test_predicates_as_integers() -> None:
    p = [bool(k % 3) for k in range(LANES)]
    assert apply(lambda x: m.zext("i32", x), DTYPE["i1"], p) == [int(x) for x in p]
    assert apply(lambda x: m.sext("i32", x), DTYPE["i1"], p) == [0xFFFFFFFF * x for x in p]
    assert apply(lambda x: m.trunc("i1", x), DTYPE["i32"], list(range(32))) == [bool(k & 1) for k in range(32)]
    assert apply(m.not_, DTYPE["i1"], p) == [not x for x in p]


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("bits", WIDTHS)
def test_integers_to_float_round_once(bits: int, type: str) -> None:
    a = integers(bits) + (
        [(1 << 63) | (1 << 39), (1 << 63) | (1 << 39) | 1, (1 << 62) + (1 << 9)] if bits == 64 else []
    )
    width = 24 if type == "f32" else 53
    assert apply(lambda x: m.utof(type, x), DTYPE[f"i{bits}"], a) == [rounded(Fraction(x), width) for x in a]
    expected = [rounded(Fraction(signed(x, bits)), width) for x in a]
    assert apply(lambda x: m.stof(type, x), DTYPE[f"i{bits}"], a) == expected


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("bits", WIDTHS)
def test_float_to_integer_truncates_exactly(bits: int, type: str) -> None:
    numbers = [rounded(Fraction(x), 24) for x in integers(bits) if rounded(Fraction(x), 24) < 2**bits] + [
        0.5,
        0.99,
        1.5,
    ]
    if bits == 64:
        numbers += [float((1 << 63) | (1 << 41)), float((1 << 64) - (1 << 40))]
    numbers = [float(np.float32(x)) for x in numbers]
    assert apply(lambda x: m.ftou(f"i{bits}", x), DTYPE[type], numbers) == [int(x) for x in numbers]
    numbers = [x for x in numbers if x < 2 ** (bits - 1)] + [-x for x in numbers if x <= 2 ** (bits - 1)]
    found = apply(lambda x: m.ftos(f"i{bits}", x), DTYPE[type], numbers)
    assert found == [int(x) % (1 << bits) for x in numbers]


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
def test_fma_random(type: str) -> None:
    rng, width = random.Random(1), 24 if type == "f32" else 53
    span = {"f32": 60, "f64": 480}[type]

    def number(around: int, spread: int) -> float:
        return math.ldexp(
            rng.choice((-1, 1)) * (rng.getrandbits(width) | 1), rng.randint(-spread, spread) + around - width
        )

    triples = [(number(0, 3), number(0, 3), number(0, 60)) for _ in range(1500)]
    triples += [(number(0, span), number(0, span), number(0, span)) for _ in range(500)]
    check_fma(type, triples)


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


def test_fma_f32_tie_of_the_f64_sum() -> None:
    """1 + 2**-24 + 2**-60: in f64 a tie that goes to even, 1; the exact answer is 1 + 2**-23."""
    ulp = 2.0**-23
    found = m.fma(*(np.full(LANES, x, np.float32) for x in (2.0**-30, 2.0**-30, 1.0)))
    assert found[0] == 1.0
    a = np.full(LANES, 2.0**-12 * (1 + 2.0**-20), np.float32)
    b = np.full(LANES, 2.0**-12 * (1 - 2.0**-20), np.float32)  # a*b = 2**-24 * (1 - 2**-40): below the tie
    assert m.fma(a, b, np.full(LANES, 1.0 + ulp, np.float32))[0] == np.float32(1.0 + ulp)
    assert m.fma(a, -b, np.full(LANES, 1.0 + ulp, np.float32))[0] == np.float32(1.0 + ulp)
    naive = np.float32(np.float64(a[0]) * np.float64(b[0]) + np.float64(np.float32(1.0 + ulp)))
    assert naive == np.float32(1.0 + 2 * ulp)


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


def test_halves_round_trip_and_round_once() -> None:
    every = np.arange(0x10000, dtype=np.uint16)
    for start in range(0, 0x10000, LANES):
        half = every[start : start + LANES]
        numbers = m.half_to_float(half)
        again = m.float_to_half(numbers)
        assert ((again == half) | np.isnan(numbers)).all()
    ties = [1 + 2.0**-11, 1 + 3 * 2.0**-11, 65519.0, 65520.0, 2.0**-25, 2.0**-25 * 1.001, 2.0**-24 * 1.5]
    found = apply(m.float_to_half, DTYPE["f32"], ties)
    assert found == [0x3C00, 0x3C02, 0x7BFF, 0x7C00, 0x0000, 0x0001, 0x0002]


def test_constants_keep_sign_and_width() -> None:
    assert m.const("i8", -1).tolist() == [255] * LANES
    assert m.const("i64", -(1 << 63)).tolist() == [1 << 63] * LANES
    assert not np.signbit(m.const("f32", 0.0)).any()
    assert np.signbit(m.const("f32", -0.0)).all()
    assert np.isnan(m.const("f64", math.nan)).all()
    assert np.isneginf(m.const("f32", -math.inf)).all()
    assert m.const("i1", 1).dtype == np.bool_
    with pytest.raises(ValueError, match="read-only"):
        m.const("i32", 3)[0] = 1


def test_lanes_across() -> None:
    machine = Lanes()
    machine.mask = np.arange(LANES) % 2 == 0
    a = np.arange(LANES, dtype=np.float32) * 2
    assert machine.lane_read(a, machine.const("i32", 5)).tolist() == [10.0] * LANES
    assert machine.lane_read(a, machine.xor(machine.lane_id(), machine.const("i32", 1)))[:4].tolist() == [2, 0, 6, 4]
    assert machine.ballot(np.ones(LANES, np.bool_)).tolist() == [0x55555555] * LANES
    assert mask_bits(np.arange(LANES) == 31) == 1 << 31
    assert machine.active() is machine.mask
    condition = machine.ult(machine.lane_id(), machine.const("i32", 3))
    assert machine.select(condition, a, machine.fneg(a))[2:4].tolist() == [4.0, -6.0]
