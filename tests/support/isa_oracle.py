"""What the instruction tests share: a machine of any number of lanes, and exact rounding by fractions as the oracle."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.step.lanes import Lanes
from ptxlab.isa import form, types

FORMATS = {"f32": (24, -126, 127), "f64": (53, -1022, 1023), "f16": (11, -14, 15), "bf16": (8, -126, 127)}
"""Type -> significant bits, exponents of the smallest and the largest normal number."""


class Wide(Lanes):
    """The interpreter's arithmetic on `count` lanes at once, all active."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.mask = np.ones(count, np.bool_)
        self.carry = np.zeros(count, np.bool_)

    def const(self, type: str, value: int | float) -> Any:
        dtype = DTYPE[type]
        if dtype.kind == "u":
            value = int(value) & ((1 << 8 * dtype.itemsize) - 1)
        return np.full(self.count, value, dtype)

    def carry_get(self) -> Any:
        return self.carry

    def carry_set(self, carry: Any) -> None:
        assert carry.dtype == np.bool_
        self.carry = carry


def run(opcode: str, *sources: Any, machine: Wide | None = None) -> Any:
    """The result of an instruction on arrays; ints and None are handed on as they are."""
    found = form(opcode)
    assert found.op.sem is not None, opcode
    count = next(len(s) for s in sources if isinstance(s, np.ndarray))
    machine = machine or Wide(count)
    with np.errstate(all="ignore"):
        return found.op.sem(machine, found, *sources)


def lanes(type: str, values: Any) -> Any:
    """Python numbers as an array of a PTX type's lanes (negative integers wrap around)."""
    dtype = DTYPE[types.lane(type)]
    if dtype.kind == "u":
        return np.array([int(v) & ((1 << 8 * dtype.itemsize) - 1) for v in values], dtype)
    return np.array(values, dtype)


def pairs(values: Any, count: int = 2) -> list[Any]:
    """Every combination of `count` values, as `count` lists."""
    grid = np.array(np.meshgrid(*[np.arange(len(values))] * count)).reshape(count, -1)
    return [[values[k] for k in row] for row in grid]


def signed(type: str, bits: int) -> int:
    """A lane's bits as the integer that the type says they are."""
    width = types.width(type)
    bits = int(bits) & ((1 << width) - 1)
    return bits - (1 << width) if types.is_signed(type) and bits >> (width - 1) else bits


def round_exact(x: Fraction, mode: str, type: str, zero_sign: int = 1) -> float:
    """A fraction rounded to a format by the definition of the mode; `zero_sign` for an exact 0."""
    precision, least, most = FORMATS[type]
    if x == 0:
        return math.copysign(0.0, zero_sign)
    sign, size = (-1 if x < 0 else 1), abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    whole, rest = divmod(size, unit)
    up = {
        "rz": False,
        "rm": sign < 0 and rest > 0,
        "rp": sign > 0 and rest > 0,
        "rn": rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1),
    }[mode]
    value = (whole + up) * unit
    if value >= Fraction(2) ** (most + 1):
        away = mode == "rn" or (mode == "rp" and sign > 0) or (mode == "rm" and sign < 0)
        value = math.inf if away else Fraction(2) ** (most + 1) - Fraction(2) ** (most + 1 - precision)
    return sign * float(value) if value else math.copysign(0.0, sign)


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
        return math.nan
    if name == "sqrt":
        return xs[0] if xs[0] in (0.0, math.inf) else root_rounded(Fraction(xs[0]), mode, type)
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


def bits_of(a: Any) -> Any:
    """Floats as the integers of their bits, all NaN alike."""
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return a
    view = a.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]).copy()
    view[np.isnan(a)] = 0
    return view


def assert_same(got: Any, want: Any, *context: Any) -> None:
    """Equal to the last bit (any NaN equals any NaN); says the first lane that differs."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    nan = np.isnan(got) & np.isnan(want) if got.dtype.kind == "f" else np.zeros(got.shape, bool)
    wrong = np.flatnonzero((bits_of(got) != bits_of(want)) & ~nan)
    if wrong.size:
        k = wrong[0]
        shown = [c[k] if isinstance(c, list | np.ndarray) else c for c in context]
        raise AssertionError(f"{wrong.size} lanes differ; lane {k}: got {got[k]!r}, want {want[k]!r} for {shown}")
