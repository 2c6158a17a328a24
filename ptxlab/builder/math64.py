"""`k.exp2` and `k.log2` of f64, which PTX has no instruction for: some 30 and 55 instructions, correct to 1 ULP.

exp2(x): x = n + f with n whole and |f| <= 1/2; the Taylor polynomial of 2^f of degree 13 (its remainder is 4e-18);
then 2^n is made of two powers whose exponent fields are written directly, so that results below the smallest normal
number are rounded once. exp2(-inf) is exactly 0.

log2(x): x = 2^e * m with m between sqrt(1/2) and sqrt(2); log2(m) = 2/ln2 * atanh(s) with s = (m - 1)/(m + 1), where s
and 2/ln2 are carried with their rounding errors, so that what is lost is the last addition's half unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from typing import Any

from ptxlab.builder.emit import Emitter
from ptxlab.builder.registers import Register, f64, pred, s32, u32
from ptxlab.builder.source import Site

getcontext().prec = 60
_LN2 = Decimal(2).ln()
_EXP = [float(_LN2**n / math.factorial(n)) for n in range(14)]
_ATANH = [1.0 / (2 * n + 3) for n in range(11)]  # atanh(s) = s + s z (1/3 + z/5 + z^2/7 + ...), z = s^2
_SCALE = float(2 / _LN2)
_SCALE_LOW = float(2 / _LN2 - Decimal(_SCALE))


class _Steps:
    """Emits temporaries at one place in Python."""

    def __init__(self, k: Emitter, site: Site) -> None:
        self.k, self.site = k, site

    def __call__(self, opcode: str, *operands: Any, result: type[Any] = f64) -> Any:
        return self.k._emit(opcode, *operands, result=result, site=self.site, temporary=True)

    def last(self, opcode: str, *operands: Any) -> Any:
        """The final instruction, which takes the assigned name."""
        return self.k._emit(opcode, *operands, result=f64, site=self.site)

    def horner(self, x: Any, coefficients: list[float]) -> Any:
        """The polynomial with these coefficients, the constant first."""
        *rest, second, first = coefficients
        value = self("fma.rn.f64", x, first, second)
        for c in reversed(rest):
            value = self("fma.rn.f64", value, x, c)
        return value


def exp2(k: Emitter, x: Register[Any], site: Site) -> Any:
    """2 to the power x, to 1 ULP; 0 at -inf, inf from 1024 on, NaN at NaN, rounded once below the smallest normal."""
    do = _Steps(k, site)
    inside = do("min.f64", do("max.f64", x, -1100.0), 1100.0)  # beyond, the result is 0 or inf anyway
    whole = do("cvt.rni.f64.f64", inside)
    f = do("sub.rn.f64", inside, whole)
    power = do.horner(f, _EXP)
    n = do("cvt.rzi.s32.f64", whole, result=s32)
    half = do("shr.s32", n, 1, result=s32)
    for exponent in (half, do("sub.s32", n, half, result=s32)):
        power = do("mul.rn.f64", power, _power_of_two(do, exponent))
    nan = do("setp.nan.f64", x, x, result=pred)
    return do.last("selp.f64", x, power, nan)


def _power_of_two(do: Callable[..., Any], n: Any) -> Any:
    """2^n for a normal result: the exponent field is n + 1023."""
    high = do("shl.b32", do("add.s32", n, 1023, result=s32), 20, result=s32)
    return do("mov.b64", (0, high))


def log2(k: Emitter, x: Register[Any], site: Site) -> Any:
    """The logarithm to base 2, to 1 ULP; -inf at 0, inf at inf, NaN below 0 and at NaN."""
    do = _Steps(k, site)
    # A subnormal number is made normal first.
    tiny = do("setp.lt.f64", x, 2.0**-1022, result=pred)
    y = do("selp.f64", do("mul.rn.f64", x, 2.0**54), x, tiny)
    bias = do("selp.s32", -1023 - 54, -1023, tiny, result=s32)
    low, high = _halves(k, y, site)
    e = do("add.s32", do("shr.u32", high, 20, result=s32), bias, result=s32)
    one_to_two = do("or.b32", do("and.b32", high, 0xFFFFF, result=u32), 0x3FF00000, result=u32)
    m = do("mov.b64", (low, one_to_two))
    # From [1, 2) to [sqrt(1/2), sqrt(2)).
    large = do("setp.gt.f64", m, math.sqrt(2), result=pred)
    m = do("selp.f64", do("mul.rn.f64", m, 0.5), m, large)
    e = do("selp.s32", do("add.s32", e, 1, result=s32), e, large, result=s32)
    whole = do("cvt.rn.f64.s32", e)
    # s = f / (2 + f), with what rounding the sum and the quotient took away.
    f = do("sub.rn.f64", m, 1.0)
    t = do("add.rn.f64", f, 2.0)
    t_low = do("sub.rn.f64", f, do("sub.rn.f64", t, 2.0))
    inverse = do("rcp.rn.f64", t)
    s = do("mul.rn.f64", f, inverse)
    minus_s = do("neg.f64", s)
    rest = do("fma.rn.f64", minus_s, t_low, do("fma.rn.f64", minus_s, t, f))
    s_low = do("mul.rn.f64", rest, inverse)
    # 2/ln2 * (s + s_low + s z P(z)), in two parts.
    z = do("mul.rn.f64", s, s)
    tail = do("mul.rn.f64", do("mul.rn.f64", do.horner(z, _ATANH), z), s)
    main = do("mul.rn.f64", s, _SCALE)
    small = do("fma.rn.f64", s, _SCALE, do("neg.f64", main))
    small = do("fma.rn.f64", s, _SCALE_LOW, small)
    small = do("fma.rn.f64", s_low, _SCALE, small)
    small = do("fma.rn.f64", tail, _SCALE, small)
    # Plus the exponent, again with what the sum takes away.
    total = do("add.rn.f64", whole, main)
    lost = do("sub.rn.f64", main, do("sub.rn.f64", total, whole))
    result = do("add.rn.f64", total, do("add.rn.f64", lost, small))
    finite = do("setp.lt.f64", x, math.inf, result=pred)
    result = do("selp.f64", result, x, finite)
    zero = do("setp.eq.f64", x, 0.0, result=pred)
    result = do("selp.f64", -math.inf, result, zero)
    negative = do("setp.lt.f64", x, 0.0, result=pred)
    return do.last("selp.f64", math.nan, result, negative)


def _halves(k: Emitter, y: Any, site: Site) -> tuple[Any, Any]:
    words = [k._register(u32, None, site) for _ in range(2)]
    k._emit("mov.b64", y, into=words, site=site)
    return words[0], words[1]
