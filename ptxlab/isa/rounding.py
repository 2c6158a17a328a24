"""Rounding as PTX defines it: flush to zero, saturation, and the directed modes rz, rm and rp, exact to the last bit.

A CPU rounds to nearest. A directed result is the nearest one, moved by at most one step in the direction of the error
that rounding made. That error comes out exactly from error-free transforms (Dekker, Knuth; Muller et al., "Handbook of
Floating-Point Arithmetic", chapter 4). For f32 everything is computed in f64 and rounded *to odd* there, so that the
second rounding cannot hurt (Boldo and Melquiond, 2008). Written in Machine operations only, for both engines; where the
CPU has an instruction that rounds in that direction, compiled code is that instruction (`Machine.directed`).
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.isa.machine import Machine, Value

BITS = {"f32": "i32", "f64": "i64", "f16": "i16", "bf16": "i16"}
SIGN = {"f32": 1 << 31, "f64": 1 << 63, "f16": 1 << 15, "bf16": 1 << 15}
EXPONENT = {"f32": 0x7F800000, "f64": 0x7FF0000000000000, "f16": 0x7C00, "bf16": 0x7F80}
CANONICAL_NAN = {"f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000, "f16": 0x7FFF, "bf16": 0x7FFF}

# -- flush and saturate ------------------------------------------------------------------------------------------------


def flush(m: Machine, type: str, a: Value) -> Value:
    """`.ftz`: subnormals become zero and keep their sign. For f16 and bf16 the value is the bits, as everywhere."""
    lane = BITS[type]
    bits = m.bitcast(lane, a) if type == "f32" else a
    tiny = m.eq(m.and_(bits, m.const(lane, EXPONENT[type])), m.const(lane, 0))
    zero = m.and_(bits, m.const(lane, SIGN[type]))
    return m.select(tiny, m.bitcast("f32", zero) if type == "f32" else zero, a)


def saturate(m: Machine, type: str, a: Value) -> Value:
    """`.sat`: clamped to 0..1; NaN becomes +0. Only f32 and f64; halves are saturated before they are narrowed."""
    zero, one = m.const(type, 0.0), m.const(type, 1.0)
    return m.select(m.flt(zero, a), m.select(m.flt(a, one), a, one), zero)


def relu(m: Machine, a: Value) -> Value:
    """`.relu` of an f32: +0 unless it is above zero, so also of -0. A NaN stays one."""
    zero = m.const("f32", 0.0)
    return m.select(m.fle(a, zero), zero, a)


# -- one step ----------------------------------------------------------------------------------------------------------


def _next_up(m: Machine, lane: str, bits: Value) -> Value:
    """The next larger float of the same format (never called for the zero whose sign points the other way)."""
    one = m.const(lane, 1)
    return m.select(m.slt(bits, m.const(lane, 0)), m.sub(bits, one), m.add(bits, one))


def _next_down(m: Machine, lane: str, bits: Value) -> Value:
    one = m.const(lane, 1)
    return m.select(m.slt(bits, m.const(lane, 0)), m.add(bits, one), m.sub(bits, one))


def adjust(m: Machine, lane: str, rnd: str, bits: Value, above: Value, below: Value) -> Value:
    """The directed result from the nearest one. `above`/`below` (i1): the exact value is above/below it."""
    if rnd == "rn":
        return bits
    if rnd == "rp":
        return m.select(above, _next_up(m, lane, bits), bits)
    if rnd == "rm":
        return m.select(below, _next_down(m, lane, bits), bits)
    negative = m.slt(bits, m.const(lane, 0))
    too_far = m.select(negative, above, below)
    return m.select(too_far, m.sub(bits, m.const(lane, 1)), bits)


def _odd(m: Machine, lane: str, bits: Value, above: Value, below: Value) -> Value:
    """The same to odd: if inexact, the neighbour whose last bit is 1."""
    odd = m.or_(adjust(m, lane, "rz", bits, above, below), m.const(lane, 1))
    return m.select(m.or_(above, below), odd, bits)


def _to_odd(m: Machine, type: str, nearest: Value, error: Value) -> Value:
    """nearest + error (f32, f64), rounded to odd."""
    lane, zero = BITS[type], m.const(type, 0.0)
    return m.bitcast(type, _odd(m, lane, m.bitcast(lane, nearest), m.flt(zero, error), m.flt(error, zero)))


# -- narrowing ---------------------------------------------------------------------------------------------------------


def narrow_f64(m: Machine, a: Value, rnd: str = "rn") -> Value:
    """f64 to f32 in any rounding mode; also "odd" (to odd: the first of two roundings)."""
    nearest = m.fptrunc(a)
    if rnd == "rn":
        return nearest
    back = m.fpext(nearest)
    above, below = m.flt(back, a), m.flt(a, back)
    bits = m.bitcast("i32", nearest)
    rounded = _odd(m, "i32", bits, above, below) if rnd == "odd" else adjust(m, "i32", rnd, bits, above, below)
    return m.bitcast("f32", rounded)


def to_float(m: Machine, type: str, bits: Value) -> Value:
    """f16 or bf16 bits to f32, exact."""
    if type == "f16":
        return m.half_to_float(bits)
    return m.bitcast("f32", m.shl(m.zext("i32", bits), m.const("i32", 16)))


def from_float(m: Machine, type: str, a: Value, rnd: str = "rn") -> Value:
    """f32 to f16 or bf16 bits in any rounding mode; NaN becomes the canonical 0x7fff."""
    if type == "f16":  # of the canonical NaN comes the canonical one
        a = m.select(m.isnan(a), m.bitcast("f32", m.const("i32", CANONICAL_NAN["f32"])), a)
        nearest = m.float_to_half(a)
    else:
        bits = m.bitcast("i32", a)
        last = m.and_(m.lshr(bits, m.const("i32", 16)), m.const("i32", 1))
        rounded = m.add(bits, m.add(last, m.const("i32", 0x7FFF)))
        # chosen as 32 bits: packed ones are then made of these, without 16-bit lanes between
        rounded = m.select(m.isnan(a), m.const("i32", CANONICAL_NAN[type] << 16), rounded)
        nearest = m.trunc("i16", m.lshr(rounded, m.const("i32", 16)))
    if rnd != "rn":
        back = to_float(m, type, nearest)
        nearest = adjust(m, "i16", rnd, nearest, m.flt(back, a), m.flt(a, back))
    return nearest


def exact_half(m: Machine, type: str, a: Value) -> Value:
    """The bits of an f16 or bf16 that an f32 holds exactly, or of the canonical NaN."""
    if type == "f16":
        return m.float_to_half(a)
    return m.trunc("i16", m.lshr(m.bitcast("i32", a), m.const("i32", 16)))


# -- sums, products, quotients, roots ----------------------------------------------------------------------------------


def _two_sum(m: Machine, a: Value, b: Value) -> tuple[Value, Value]:
    """s = a + b and its error, exactly (NaN where s is not finite). Ordered by size first: no overflow on the way."""
    swap = m.flt(m.fabs(a), m.fabs(b))
    big, small = m.select(swap, b, a), m.select(swap, a, b)
    s = m.fadd(big, small)
    return s, m.fsub(small, m.fsub(s, big))


def _signed_zero(m: Machine, type: str, rnd: str, result: Value, a: Value, b: Value) -> Value:
    """An exact zero sum: rm gives -0 unless both terms are +0; the other modes are right already."""
    if rnd != "rm":
        return result
    lane = BITS[type]
    signs = m.and_(m.or_(m.bitcast(lane, a), m.bitcast(lane, b)), m.const(lane, SIGN[type]))
    zero = m.and_(m.feq(result, m.const(type, 0.0)), m.feq(a, m.fneg(b)))
    return m.select(zero, m.bitcast(type, signs), result)


def _direct(m: Machine, rnd: str, nearest: Value, error: Value, finite: Value) -> Value:
    """nearest, moved by the sign of its error; a finite sum that overflowed is below the infinity it became."""
    zero = m.const("f64", 0.0)
    infinite = m.feq(m.fabs(nearest), m.const("f64", float("inf")))
    error = m.select(m.and_(infinite, finite), m.fneg(nearest), error)
    error = m.select(m.and_(infinite, m.not_(finite)), zero, error)
    bits = adjust(m, "i64", rnd, m.bitcast("i64", nearest), m.flt(zero, error), m.flt(error, zero))
    return m.bitcast("f64", bits)


def _finite(m: Machine, *values: Value) -> Value:
    infinity = m.const("f64", float("inf"))
    every = m.flt(m.fabs(values[0]), infinity)
    for v in values[1:]:
        every = m.and_(every, m.flt(m.fabs(v), infinity))
    return every


def _rounded_by_cpu(m: Machine, name: str, rnd: str, *operands: Value) -> Value | None:
    """The result of an operation where the CPU rounds in this direction, None where it does not."""
    nearest: Callable[..., Value] = getattr(m, name)
    return nearest(*operands) if rnd == "rn" else m.directed(name, rnd, *operands)


def add(m: Machine, type: str, rnd: str, a: Value, b: Value) -> Value:
    """a + b in any rounding mode (f32, f64)."""
    if (given := _rounded_by_cpu(m, "fadd", rnd, a, b)) is not None:
        return given
    if type == "f32":
        x, y = m.fpext(a), m.fpext(b)
        s, e = _two_sum(m, x, y)
        return _signed_zero(m, "f32", rnd, narrow_f64(m, _to_odd(m, "f64", s, e), rnd), a, b)
    s, e = _two_sum(m, a, b)
    return _signed_zero(m, "f64", rnd, _direct(m, rnd, s, e, _finite(m, a, b)), a, b)


def sub(m: Machine, type: str, rnd: str, a: Value, b: Value) -> Value:
    """a - b in any rounding mode (f32, f64)."""
    return m.fsub(a, b) if rnd == "rn" else add(m, type, rnd, a, m.fneg(b))


def mul(m: Machine, type: str, rnd: str, a: Value, b: Value) -> Value:
    """a * b in any rounding mode (f32, f64)."""
    if (given := _rounded_by_cpu(m, "fmul", rnd, a, b)) is not None:
        return given
    if type == "f32":
        return narrow_f64(m, m.fmul(m.fpext(a), m.fpext(b)), rnd)
    p = m.fmul(a, b)
    return _direct(m, rnd, p, _product_error(m, p, a, b, m.const("f64", 0.0)), _finite(m, a, b))


def fma(m: Machine, type: str, rnd: str, a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once, in any rounding mode (f32, f64)."""
    if (given := _rounded_by_cpu(m, "fma", rnd, a, b, c)) is not None:
        return given
    if type == "f32":
        p = m.fmul(m.fpext(a), m.fpext(b))
        s = _signed_zero(m, "f64", rnd, _sum_to_odd(m, "f64", p, m.fpext(c)), p, m.fpext(c))
        return narrow_f64(m, s, rnd)
    s = m.fma(a, b, c)
    error = _product_error(m, s, a, b, c)
    result = _direct(m, rnd, s, error, _finite(m, a, b, c))
    if rnd != "rm":
        return result
    zero = m.const("f64", 0.0)
    product_sign = m.xor(m.bitcast("i64", a), m.bitcast("i64", b))
    sign = m.and_(m.or_(product_sign, m.bitcast("i64", c)), m.const("i64", SIGN["f64"]))
    return m.select(m.and_(m.feq(s, zero), m.feq(error, zero)), m.bitcast("f64", sign), result)


def _sum_to_odd(m: Machine, type: str, a: Value, b: Value) -> Value:
    """a + b in f32 or f64, rounded to odd: exact enough to be rounded again to any format that is 2 bits shorter."""
    s, e = _two_sum(m, a, b)
    return _to_odd(m, type, s, e)


def div(m: Machine, type: str, rnd: str, a: Value, b: Value) -> Value:
    """a / b in any rounding mode (f32, f64)."""
    if (given := _rounded_by_cpu(m, "fdiv", rnd, a, b)) is not None:
        return given
    if type == "f32":
        x, y = m.fpext(a), m.fpext(b)
        q = m.fdiv(x, y)
        return narrow_f64(m, _to_odd(m, "f64", q, _toward(m, m.fma(m.fneg(q), y, x), y)), rnd)
    q = m.fdiv(a, b)
    # a - q*b, exactly: the error of fma(-q, b, a) seen from 0; its sign over b's is the quotient's error
    remainder = m.fneg(_product_error(m, m.const("f64", 0.0), q, b, m.fneg(a)))
    zero = m.const("f64", 0.0)
    finite = m.and_(_finite(m, a, b), m.not_(m.feq(b, zero)))
    error = m.select(m.feq(m.fabs(b), m.const("f64", float("inf"))), zero, _toward(m, remainder, b))
    return _direct(m, rnd, q, error, finite)


def _toward(m: Machine, remainder: Value, divisor: Value) -> Value:
    """The sign of remainder / divisor, as a number."""
    return m.select(m.flt(divisor, m.const("f64", 0.0)), m.fneg(remainder), remainder)


def sqrt(m: Machine, type: str, rnd: str, a: Value) -> Value:
    """The square root in any rounding mode (f32, f64)."""
    if (given := _rounded_by_cpu(m, "fsqrt", rnd, a)) is not None:
        return given
    if type == "f32":
        x = m.fpext(a)
        s = m.fsqrt(x)
        return narrow_f64(m, _to_odd(m, "f64", s, m.fma(m.fneg(s), s, x)), rnd)
    # below 2^-900 the remainder would underflow: an even power of two moves it up
    small = m.flt(a, m.const("f64", 2.0**-900))
    x = m.select(small, m.fmul(a, m.const("f64", 2.0**200)), a)
    s = m.fsqrt(x)
    error = m.fma(m.fneg(s), s, x)
    return _direct(m, rnd, m.fsqrt(a), error, _finite(m, a))


# -- products and sums of halves ---------------------------------------------------------------------------------------


def mul_of_halves(m: Machine, type: str, a: Value, b: Value) -> Value:
    """a * b of two f16 or bf16, given as f32, exact or rounded to odd."""
    if type == "f16":  # f32 holds a product of two f16, and of two bf16 unless it is out of range
        return m.fmul(a, b)
    if (given := m.rounded_to_odd("fmul", a, b)) is not None:
        return given
    return narrow_f64(m, m.fmul(m.fpext(a), m.fpext(b)), "odd")


def fma_of_halves(m: Machine, type: str, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of f16 or bf16, given as f32, rounded to odd."""
    if (given := m.rounded_to_odd("fma", a, b, c)) is not None:
        return given
    if type == "f16":
        return _sum_to_odd(m, "f32", m.fmul(a, b), c)
    product = m.fmul(m.fpext(a), m.fpext(b))
    return narrow_f64(m, _sum_to_odd(m, "f64", product, m.fpext(c)), "odd")


# -- the exact sign of a*b + c - s in f64 ------------------------------------------------------------------------------


def _product_error(m: Machine, s: Value, a: Value, b: Value, c: Value) -> Value:
    """A number with the sign of a*b + c - s, for any finite f64 s; NaN where a, b or c is not finite.

    a, b, c and s become integers of 53 bits times powers of two, and the four terms are summed exactly in a window that
    can neither overflow nor underflow; what falls far below the window only decides ties ("sticky").
    """
    ma, ea = _parts(m, a)
    mb, eb = _parts(m, b)
    mc, ec = _parts(m, c)
    ms, es = _parts(m, m.fneg(s))
    product = m.fmul(ma, mb)
    low = m.fma(ma, mb, m.fneg(product))
    ep = m.add(ea, eb)
    zero = m.const("f64", 0.0)
    # the reference exponent: of the product, or of the larger other term when the product is negligible or zero
    floor = m.const("i64", -100000)
    ep = m.select(m.feq(product, zero), floor, ep)
    ec = m.select(m.feq(mc, zero), floor, ec)
    es = m.select(m.feq(ms, zero), floor, es)
    top = m.smax(ep, m.smax(ec, es))
    terms = [_scale(m, product, m.sub(ep, top)), _scale(m, low, m.sub(ep, top)),
             _scale(m, mc, m.sub(ec, top)), _scale(m, ms, m.sub(es, top))]  # fmt: skip
    return _exact_sign(m, terms)


def _parts(m: Machine, a: Value) -> tuple[Value, Value]:
    """a = f * 2**e with 1 <= |f| < 2 (f is 0 for 0, NaN or infinite as a is); e is i64."""
    tiny = m.flt(m.fabs(a), m.const("f64", 2.0**-1022))
    x = m.select(tiny, m.fmul(a, m.const("f64", 2.0**100)), a)
    bits = m.bitcast("i64", x)
    field = m.and_(m.lshr(bits, m.const("i64", 52)), m.const("i64", 0x7FF))
    e = m.sub(field, m.const("i64", 1023))
    e = m.select(tiny, m.sub(e, m.const("i64", 100)), e)
    unit = m.or_(m.and_(bits, m.const("i64", 0x800FFFFFFFFFFFFF)), m.const("i64", 1023 << 52))
    ordinary = m.and_(m.flt(m.const("f64", 0.0), m.fabs(a)), m.flt(m.fabs(a), m.const("f64", float("inf"))))
    return m.select(ordinary, m.bitcast("f64", unit), a), m.select(ordinary, e, m.const("i64", 0))


def _scale(m: Machine, a: Value, exponent: Value) -> Value:
    """a * 2**exponent, the exponent (i64, not positive) held at -400: further away it is sticky all the same."""
    held = m.smax(exponent, m.const("i64", -400))
    power = m.bitcast("f64", m.shl(m.add(held, m.const("i64", 1023)), m.const("i64", 52)))
    return m.fmul(a, power)


def _exact_sign(m: Machine, terms: list[Value]) -> Value:
    """A number with the sign of the exact sum: two-sums are repeated until the leading term cannot be overruled."""
    for _ in range(len(terms)):
        for k in range(len(terms) - 1, 0, -1):
            terms[k - 1], terms[k] = _two_sum(m, terms[k - 1], terms[k])
    sign = terms[-1]
    for term in reversed(terms[:-1]):
        sign = m.select(m.feq(term, m.const("f64", 0.0)), sign, term)
    return sign
