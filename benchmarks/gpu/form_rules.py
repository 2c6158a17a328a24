"""How near a GPU has to come to the emulator for each form: bit for bit, within a bound, or left open by the manual.

Bounds come from the PTX manual, by way of `ptxlab.isa.accuracy`; what the emulator is itself off is added, since it
is not the exact result either. Products of floats are open in order and rounding: of n products, each addition may be
off by a unit of the accumulator, or two where it truncates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ptxlab.isa import types
from ptxlab.isa.accuracy import Accuracy, accuracy
from ptxlab.isa.table import Form

FLOATS = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
          "tf32": np.dtype(np.float32), "f64": np.dtype(np.float64)}  # fmt: skip
Array = np.ndarray[Any, Any]

OPEN = {
    "cvta": "addresses of windows that the program does not have",
    "isspacep": "addresses of windows that the program does not have",
    "createpolicy": "the manual does not say what a policy looks like",
    "mbarrier": "the manual does not say what a state looks like",
}
"""Instructions whose result on arbitrary bits the manual leaves open: they are run, and not compared."""


@dataclass(frozen=True)
class Rule:
    """`says` in words; `allowed(a, b, inputs)` the difference that is allowed between two arrays of numbers, infinite
    where the manual says nothing. Without it results are compared bit for bit. about: what a row of a difference tells
    besides, such as where operands lie."""

    says: str
    allowed: Callable[[Array, Array, list[Array]], Array] | None = None
    opened: bool = False
    about: str = ""


EXACT = Rule("bit for bit")


def unit(x: Array, type_: str) -> Array:
    """The unit in the last place of numbers, that of the smallest normal number below it."""
    info = ml_dtypes.finfo(FLOATS[type_])
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(x), float(info.tiny))))
    return np.where(np.isfinite(x), 2.0 ** np.where(np.isfinite(exponent), exponent, 0) * float(info.eps), 0.0)


def numbers(bits: Array, type_: str) -> Array:
    """The floats in registers as float64, [in a register, 32]."""
    held = FLOATS[type_.removesuffix("x2")]
    width, count = 8 * held.itemsize, 2 if type_.endswith("x2") else 1
    fields = [(bits >> np.uint64(width * k)).astype(f"u{held.itemsize}").view(held) for k in range(count)]
    return np.stack(fields).astype(np.float64)


def rule_for(form: Form) -> Rule:
    """The rule of a form that computes in registers."""
    name = form.op.name
    if name in OPEN:
        return Rule(f"open: {OPEN[name]}", opened=True)
    if ".approx" in form.opcode or ".full" in form.opcode:
        return _approximate(form)
    if name in ("div", "rem") and types.is_integer(form.type):

        def not_by_zero(a: Array, b: Array, inputs: list[Array]) -> Array:
            width = np.uint64(types.width(form.type))
            divisor = inputs[1] if width == 64 else inputs[1] & np.uint64((1 << int(width)) - 1)
            return np.where(divisor == 0, np.inf, 0.0)[None]

        return Rule("bit for bit; open for a divisor of 0", not_by_zero)
    return EXACT


def _approximate(form: Form) -> Rule:
    words = [w for w in form.opcode.split(".") if w not in ("ftz", "sat")]
    plain = ".".join(words).removesuffix("x2")
    rows = accuracy(plain) or accuracy(plain.replace("approx.", "approx.ftz."))
    if not rows and form.type == "f64":
        bits = -50 if form.opcode == "rsqrt.approx.f64" else -19
        says = f"a relative difference of 2**{bits}; the manual states no error"
        return Rule(says, lambda a, b, inputs: 2.0**bits * np.abs(a))
    if not rows:
        raise LookupError(f"no bound is known for {form.opcode}: ptxlab/isa/accuracy.json has none for {plain}")
    return Rule(
        "; ".join(f"{r.bound:.3g} {r.unit} ({r.where})" for r in rows) + " of the manual, plus the emulator's error",
        lambda a, b, inputs: _allowed(rows, form.type, a, b, inputs),
    )


def _allowed(rows: tuple[Accuracy, ...], type_: str, a: Array, b: Array, inputs: list[Array]) -> Array:
    single = type_.removesuffix("x2")
    given = [numbers(x, type_) for x in inputs]
    size = np.maximum(np.abs(a), np.abs(b))
    out = np.full(a.shape, np.inf)
    for row in reversed(rows):  # the first row is the narrowest
        both = row.bound + row.measured
        bound = {"absolute": np.full(a.shape, both), "relative": both * size, "ulp": both * unit(size, single)}[
            row.unit
        ]
        out = np.where(_inside(row.where, given), np.maximum(bound, unit(np.zeros(a.shape), single)), out)
    # f16 and bf16 results are rounded as well
    return out + (unit(size, single) if single != "f32" else 0.0)


def _inside(where: str, given: list[Array]) -> Array:
    """Where the inputs are what a bound of the manual is about. Infinities and NaN have results of their own."""
    x = given[0]
    size, special = np.abs(x), ~np.isfinite(x)
    if where == "0.5 to 2":
        return (x >= 0.5) & (x <= 2)
    if where == "-2 pi to 2 pi":
        return special | (size <= 2 * math.pi)
    if where == "-100 pi to 100 pi":
        return special | (size <= 100 * math.pi)
    if where.startswith("divisors of"):
        divisor = np.abs(given[1])
        return ((divisor >= 2.0**-126) & (divisor <= 2.0**126)) | ~np.isfinite(given[1]) | (divisor == 0)
    assert where in ("all inputs", "elsewhere", "all positive inputs"), where
    return np.ones(x.shape, bool)


def product_rule(depth: int, accumulator: str, sizes: Array, factor: str = "") -> Rule:
    """Of a sum of `depth` products and c; sizes: for each result |c| plus the sum of |a b|, [in a register, 32].
    factor: the type of a in a warpgroup's product."""
    short = accumulator == "f32" and factor in ("e4m3", "e5m2")
    bits = -13 if short else {"f16": -9, "f32": -22, "f64": -51}[accumulator]
    says = (
        f"({depth} + 1) * 2**{bits} * (|c| + sum |a b|): the manual leaves the order of the additions and their "
        f"rounding open{', and Hopper is known to add 8-bit floats with some 14 bits' if short else ''}; for small "
        "whole numbers bit for bit"
    )
    return Rule(says, lambda a, b, inputs: (depth + 1) * 2.0**bits * sizes)


@dataclass(frozen=True)
class Difference:
    """Of one result: the lanes that are wrong, the largest distance in units in the last place of what is allowed to
    differ (0 where all is equal), and whether the manual leaves some of it open."""

    wrong: list[int]
    ulp: float = 0.0


def difference(rule: Rule, type_: str, a: Array, b: Array, inputs: list[Array], same: Array) -> Difference:
    """Compares 32 lanes of registers; same: where the bits are (NaN and NaN are the same)."""
    if same.all() or rule.opened:
        return Difference([])
    if rule.allowed is None:
        return Difference([int(k) for k in np.flatnonzero(~same)])
    if type_.removesuffix("x2") not in FLOATS:
        fine = same | np.isinf(rule.allowed(a, b, inputs))[0]
        return Difference([int(k) for k in np.flatnonzero(~fine)])
    x, y = numbers(a, type_), numbers(b, type_)
    with np.errstate(all="ignore"):
        allowed = rule.allowed(x, y, inputs)
        apart = np.abs(x - y)
        special = ~np.isfinite(x) | ~np.isfinite(y)
        equal = (x == y) | (np.isnan(x) & np.isnan(y))
        fine = equal | np.isinf(allowed) | (~special & (apart <= allowed))
        ulp = np.where(equal | special | np.isinf(allowed), 0.0, apart / unit(x, type_.removesuffix("x2")))
    return Difference([int(k) for k in np.flatnonzero(~fine.all(axis=0))], float(ulp.max()))
