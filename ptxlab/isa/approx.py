"""The approximate functions: ex2, lg2, sin, cos, tanh, rcp, sqrt, rsqrt, div, as polynomials that both engines share.

The hardware interpolates in small tables; these are polynomials of our own (minimax fits) that stay within the error
that the PTX manual states. Measured against float64 (tests/isa/test_isa_approx.py holds them to it): ex2 1.1 ULP, lg2 2
ULP (2**-23 absolute near 1), sin and cos 2**-23 absolute within 2 pi, tanh 4 ULP, rcp, sqrt and div 0.5 ULP, rsqrt 1.5
ULP. Special cases are exact: ex2(-inf) = 0, ex2(0) = 1, lg2(0) = -inf, lg2(1) = 0.
"""

from __future__ import annotations

from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.rounding import flush
from ptxlab.isa.table import Form

EX2 = (1.0, 0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.00961843691766262, 0.0013398875016719103,
       0.00015353361959569156)  # fmt: skip
"""2**f on [-0.5, 0.5], lowest power first; relative error 2**-28.9 before rounding."""

LG2 = (1.4426950216293335, -0.7213473320007324, 0.4808982312679291, -0.3606966435909271, 0.2885673940181732,
       -0.23961739242076874, 0.20460066199302673, -0.19106286764144897, 0.18617480993270874,
       -0.10994909703731537)  # fmt: skip
"""log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]; relative error 2**-27.9 before rounding."""

SIN = (1.0, -0.16666649281978607, 0.008331985212862492, -0.00019497332687024027)
"""sin(r) / r in r*r, for |r| <= pi/4."""

COS = (1.0, -0.5, 0.04166661202907562, -0.0013886528322473168, 2.4371563995373435e-05)
"""cos(r) in r*r, for |r| <= pi/4."""

TANH = (1.0, -0.3333234488964081, 0.13310648500919342, -0.052122555673122406, 0.015504647046327591)
"""tanh(x) / x in x*x, for |x| <= 0.6."""

ROUND_MAGIC = 12582912.0
"""1.5 * 2**23: adding it to a float below 2**22 in size rounds that to an integer, in the low bits of the sum."""


def _polynomial(m: Machine, coefficients: tuple[float, ...], x: Value) -> Value:
    d = m.const("f32", coefficients[-1])
    for c in reversed(coefficients[:-1]):
        d = m.fma(d, x, m.const("f32", c))
    return d


def _inputs(m: Machine, i: Form, a: Value) -> Value:
    return flush(m, "f32", a) if i.ftz else a


# -- exponential and logarithm -----------------------------------------------------------------------------------------


def ex2_f32(m: Machine, a: Value) -> Value:
    """2**a: a = n + f, a polynomial for 2**f, and 2**n, where there is no instruction for it in two factors so that
    subnormal results come out right."""
    f = m.fraction(a)
    if f is not None:
        return m.scaled(_polynomial(m, EX2, f), m.fsub(a, f))
    low, high = m.const("f32", -152.0), m.const("f32", 129.0)
    x = m.select(m.flt(high, a), high, a)  # NaN stays
    x = m.select(m.flt(x, low), low, x)
    magic = m.const("f32", ROUND_MAGIC)
    shifted = m.fadd(x, magic)
    whole = m.fsub(shifted, magic)
    p = _polynomial(m, EX2, m.fsub(x, whole))
    # n plus the exponents' bias for each factor: its halves are the exponents of the factors as they are encoded
    n = m.add(m.bitcast("i32", shifted), m.sub(m.const("i32", 2 * 127), m.bitcast("i32", magic)))
    half, fields = m.ashr(n, m.const("i32", 1)), m.const("i32", 23)
    factors = [m.bitcast("f32", m.shl(exponent, fields)) for exponent in (half, m.sub(n, half))]
    return m.fmul(m.fmul(p, factors[0]), factors[1])


def ex2(m: Machine, i: Form, a: Value) -> Value:
    """`ex2.approx{.ftz}.f32`."""
    d = ex2_f32(m, _inputs(m, i, a))
    return flush(m, "f32", d) if i.ftz else d


def ex2_half(m: Machine, type: str, a: Value) -> Value:
    """2**a of a half that was widened to f32."""
    return ex2_f32(m, a)


def lg2(m: Machine, i: Form, a: Value) -> Value:
    """`lg2.approx{.ftz}.f32`: the exponent plus a polynomial of the fraction in [sqrt(1/2), sqrt(2))."""
    a = _inputs(m, i, a)
    zero, infinity = m.const("f32", 0.0), m.const("f32", float("inf"))
    tiny = m.flt(a, m.const("f32", 2.0**-126))
    bits = m.bitcast("i32", m.select(tiny, m.fmul(a, m.const("f32", 2.0**24)), a))
    # subtracting the bits of sqrt(1/2) puts the exponent that brings the fraction into range in the top bits
    offset = m.sub(bits, m.const("i32", 0x3F3504F3))
    n = m.ashr(offset, m.const("i32", 23))
    one_based = m.bitcast("f32", m.sub(bits, m.shl(n, m.const("i32", 23))))
    f = m.fsub(one_based, m.const("f32", 1.0))
    n = m.select(tiny, m.sub(n, m.const("i32", 24)), n)
    d = m.fma(f, _polynomial(m, LG2, f), m.stof("f32", n))
    d = m.select(m.feq(a, infinity), infinity, d)
    d = m.select(m.feq(a, zero), m.const("f32", float("-inf")), d)
    return m.select(m.fle(zero, a), d, m.bitcast("f32", m.const("i32", 0x7FFFFFFF)))


# -- trigonometry ------------------------------------------------------------------------------------------------------


def _sine(m: Machine, a: Value, quarter_turns: int) -> Value:
    """sin(a + quarter_turns * pi/2): a is reduced by multiples of pi/2 (Cody and Waite, three parts)."""
    k = m.rint(m.fmul(a, m.const("f32", 0.6366197723675814)))
    minus_k = m.fneg(k)
    r = m.fma(minus_k, m.const("f32", 1.5707963705062866), a)
    r = m.fma(minus_k, m.const("f32", -4.371138828673793e-08), r)
    r = m.fma(minus_k, m.const("f32", -1.7151245100059027e-15), r)
    turns = m.fsub(k, m.fmul(m.const("f32", 4.0), m.floor(m.fmul(k, m.const("f32", 0.25)))))
    known = m.feq(turns, turns)
    quadrant = m.add(m.ftos("i32", m.select(known, turns, m.const("f32", 0.0))), m.const("i32", quarter_turns))
    square = m.fmul(r, r)
    sine = m.fmul(r, _polynomial(m, SIN, square))
    cosine = _polynomial(m, COS, square)
    odd = m.ne(m.and_(quadrant, m.const("i32", 1)), m.const("i32", 0))
    negative = m.ne(m.and_(quadrant, m.const("i32", 2)), m.const("i32", 0))
    d = m.select(odd, cosine, sine)
    d = m.select(negative, m.fneg(d), d)
    one = m.const("f32", 1.0)  # beyond 2**22 turns the reduction has no digits left; the result stays a sine
    d = m.select(m.flt(one, d), one, m.select(m.flt(d, m.fneg(one)), m.fneg(one), d))
    return m.select(m.feq(a, m.const("f32", 0.0)), a, d) if quarter_turns == 0 else d


def sin(m: Machine, i: Form, a: Value) -> Value:
    """`sin.approx{.ftz}.f32`."""
    return _sine(m, _inputs(m, i, a), 0)


def cos(m: Machine, i: Form, a: Value) -> Value:
    """`cos.approx{.ftz}.f32`."""
    return _sine(m, _inputs(m, i, a), 1)


def tanh_f32(m: Machine, a: Value) -> Value:
    """tanh(a): an odd polynomial near 0, else 1 - 2 / (exp(2|a|) + 1) with the sign of a."""
    size = m.fabs(a)
    near = m.fmul(size, _polynomial(m, TANH, m.fmul(size, size)))
    one = m.const("f32", 1.0)
    e = ex2_f32(m, m.fmul(size, m.const("f32", 2.8853900817779268)))
    far = m.fsub(one, m.fdiv(m.const("f32", 2.0), m.fadd(e, one)))
    d = m.select(m.flt(size, m.const("f32", 0.6)), near, far)
    sign = m.and_(m.bitcast("i32", a), m.const("i32", 0x80000000))
    return m.select(m.isnan(a), d, m.bitcast("f32", m.or_(m.bitcast("i32", d), sign)))


def tanh(m: Machine, i: Form, a: Value) -> Value:
    """`tanh.approx.f32`."""
    return tanh_f32(m, a)


def tanh_half(m: Machine, type: str, a: Value) -> Value:
    """tanh of a half that was widened to f32."""
    return tanh_f32(m, a)


# -- reciprocals and roots ---------------------------------------------------------------------------------------------


def reciprocal(m: Machine, i: Form, a: Value) -> Value:
    """`rcp.approx{.ftz}.f32`, here correctly rounded."""
    d = m.fdiv(m.const("f32", 1.0), _inputs(m, i, a))
    return flush(m, "f32", d) if i.ftz else d


def square_root(m: Machine, i: Form, a: Value) -> Value:
    """`sqrt.approx{.ftz}.f32`, here correctly rounded."""
    return m.fsqrt(_inputs(m, i, a))


def reciprocal_root(m: Machine, i: Form, a: Value) -> Value:
    """`rsqrt.approx{.ftz}.f32`."""
    return m.fdiv(m.const("f32", 1.0), m.fsqrt(_inputs(m, i, a)))


def div(m: Machine, i: Form, a: Value, b: Value) -> Value:
    """`div.approx{.ftz}.f32`: correctly rounded up to |b| = 2**126; beyond, 1/b underflows and the result is a * 0."""
    a, b = _inputs(m, i, a), _inputs(m, i, b)
    size = m.fabs(b)
    huge = m.and_(m.flt(m.const("f32", 2.0**126), size), m.flt(size, m.const("f32", float("inf"))))
    sign = m.and_(m.bitcast("i32", b), m.const("i32", 0x80000000))
    d = m.select(huge, m.fmul(a, m.bitcast("f32", sign)), m.fdiv(a, b))
    return flush(m, "f32", d) if i.ftz else d


# -- doubles -----------------------------------------------------------------------------------------------------------


def _upper_word(m: Machine, a: Value) -> Value:
    """The value with its lower 32 bits cleared; NaN and infinities as they are."""
    return m.bitcast("f64", m.and_(m.bitcast("i64", a), m.const("i64", 0xFFFFFFFF00000000)))


def _flush_f64(m: Machine, a: Value) -> Value:
    bits = m.bitcast("i64", a)
    tiny = m.flt(m.fabs(a), m.const("f64", 2.0**-1022))
    return m.select(tiny, m.bitcast("f64", m.and_(bits, m.const("i64", 1 << 63))), a)


def reciprocal_f64(m: Machine, i: Form, a: Value) -> Value:
    """`rcp.approx.ftz.f64`: 1/a, truncated to the upper word."""
    a = _upper_word(m, _flush_f64(m, a))
    return _flush_f64(m, _upper_word(m, m.fdiv(m.const("f64", 1.0), a)))


def reciprocal_root_f64(m: Machine, i: Form, a: Value) -> Value:
    """`rsqrt.approx.f64`."""
    return m.fdiv(m.const("f64", 1.0), m.fsqrt(a))


def reciprocal_root_gross(m: Machine, i: Form, a: Value) -> Value:
    """`rsqrt.approx.ftz.f64`: 1/sqrt(a), truncated to the upper word."""
    return _upper_word(m, m.fdiv(m.const("f64", 1.0), m.fsqrt(_upper_word(m, _flush_f64(m, a)))))
