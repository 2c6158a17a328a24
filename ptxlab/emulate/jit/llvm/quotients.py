"""Quotients and remainders of 32 lanes by divisions of f64: CPUs divide no vectors of integers, and LLVM would write 32
divisions of a number each.

Numbers below 2**50 are exact as f64, and a quotient that is no integer is at least 1 / b away from the next one, where
rounding moves it by at most a / b * 2**-53. So the quotient without its fraction is right. Where all lanes divide by
one number, its reciprocal is a division for all of them: (a + 1/2) / b is at least 1 / 2b away from an integer, and two
roundings move it by less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.llvm.irtext import W
from ptxlab.emulate.jit.llvm.values import LLVM, Value

if TYPE_CHECKING:
    from ptxlab.emulate.jit.llvm.operations import Ops

EXACT = 50
"""Bits of the numbers for which this holds."""
_FLOATS = f"<{W} x double>"


def by_floats(ops: Ops, word: str, a: Value, b: Value, *, signed: bool) -> Value:
    """What LLVM's instruction `word` ("udiv", "srem") makes of a and b, of which no lane is 0 or overflows. signed: how
    the numbers are converted, of which all have at most `EXACT` bits."""
    t, kind, ints = ops.t, LLVM[a.type], f"<{W} x {LLVM[a.type]}>"
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    x, y = ops.vector(a), ops.vector(b)
    dividend = t.let(f"{to} {ints} {x} to {_FLOATS}")
    if b.uniform:
        half = "splat (double 0.5)"
        if signed:
            half = t.call(_FLOATS, f"llvm.copysign.v{W}f64", [(_FLOATS, half), (_FLOATS, dividend)])
        reciprocal = t.let(f"fdiv double 1.0, {t.let(f'{to} {kind} {b.text} to double')}")
        more = t.let(f"fadd {_FLOATS} {dividend}, {half}")
        quotient = t.let(f"fmul {_FLOATS} {more}, {t.splat('double', reciprocal)}")
    else:
        quotient = t.let(f"fdiv {_FLOATS} {dividend}, {t.let(f'{to} {ints} {y} to {_FLOATS}')}")
    found = t.let(f"{back} {_FLOATS} {quotient} to {ints}")
    if word in ("urem", "srem"):
        found = t.let(f"sub {ints} {x}, {t.let(f'mul {ints} {found}, {y}')}")
    return Value(found, a.type, False)


def if_small(ops: Ops, word: str, a: Value, b: Value, active: str) -> Value:
    """The same of i64: by f64 where all of the active lanes (an i32) have numbers small enough."""
    t, outside = ops.t, "0"
    for value in (a, b):
        most, at = 1 << EXACT, value
        if word[0] == "s":
            most, at = 2 * most, ops.add(value, ops.const("i64", most))
        large = ops.all_bits(ops.ule(ops.const("i64", most), at))
        outside = t.let(f"or i32 {outside}, {large}")
    outside = t.let(f"and i32 {outside}, {active}")
    with t.if_else(t.let(f"icmp eq i32 {outside}, 0")) as (small, large_):
        with small, ops.own_splats():
            quick, first = by_floats(ops, word, a, b, signed=True).text, t.here
        with large_, ops.own_splats():
            each, second = t.let(f"{word} <{W} x i64> {ops.vector(a)}, {ops.vector(b)}"), t.here
    return Value(t.let(f"phi <{W} x i64> [{quick}, %{first}], [{each}, %{second}]"), "i64", False)
