"""Quotients and remainders of 32 lanes by divisions of f64: CPUs divide no vectors of integers, and LLVM would write 32
divisions of a number each.

Numbers below 2**50 are exact as f64, and a quotient that is no integer is at least 1 / b away from the next one, where
rounding moves it by at most a / b * 2**-53. So the quotient without its fraction is right. Where all lanes divide by
one number, its reciprocal is a division for all of them: (a + 1/2) / b is at least 1 / 2b away from an integer, and two
roundings move it by less.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import LLVM, Value

EXACT = 50
"""Bits of the numbers for which this holds."""
_FLOATS = f"<{W} x double>"


def by_floats(t: Text, vector: Callable[[Value], str], word: str, a: Value, b: Value, *, signed: bool) -> Value:
    """What LLVM's instruction `word` ("udiv", "srem") makes of a and b, of which no lane is 0 or overflows. signed: how
    the numbers are converted, of which all have at most `EXACT` bits."""
    kind, ints = LLVM[a.type], f"<{W} x {LLVM[a.type]}>"
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    x, y = vector(a), vector(b)
    dividend = t.let(f"{to} {ints} {x} to {_FLOATS}")
    if b.uniform:
        half = "splat (double 0.5)"
        if signed:
            half = t.call(_FLOATS, f"llvm.copysign.v{W}f64", [(_FLOATS, half), (_FLOATS, dividend)])
        reciprocal = t.fdiv("double", "1.0", t.let(f"{to} {kind} {b.text} to double"))
        more = t.fadd(_FLOATS, dividend, half)
        quotient = t.fmul(_FLOATS, more, t.splat("double", reciprocal))
    else:
        quotient = t.fdiv(_FLOATS, dividend, t.let(f"{to} {ints} {y} to {_FLOATS}"))
    found = t.let(f"{back} {_FLOATS} {quotient} to {ints}")
    if word in ("urem", "srem"):
        found = t.sub(ints, x, t.mul(ints, found, y))
    return Value(found, a.type, False)
