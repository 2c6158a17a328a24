"""Floating-point arithmetic: add, mul, fma, division and roots in every rounding mode; min, max; the 16-bit forms."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.isa import approx, rounding
from ptxlab.isa.common import ROUNDING, Sem, element, halves
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.rounding import flush, from_float, saturate, to_float
from ptxlab.isa.table import Form, op
from ptxlab.isa.tensor_map import OOB_NAN


def _arithmetic(nearest: Sem, directed: Sem) -> Sem:
    """The semantics of an f32/f64 operation: one Machine call unless a modifier asks for more."""

    def sem(m: Machine, i: Form, *sources: Value) -> Value:
        if not (i.ftz or i.sat) and i.rnd in (None, "rn", "full"):
            return nearest(m, *sources)
        if i.ftz:
            sources = tuple(flush(m, "f32", a) for a in sources)
        d = nearest(m, *sources) if i.rnd in (None, "full") else directed(m, i.type, i.rnd, *sources)
        if i.ftz:
            d = flush(m, "f32", d)
        return saturate(m, i.type, d) if i.sat else d

    return sem


def _reciprocal(m: Machine, a: Value) -> Value:
    return m.fdiv(m.const("f32", 1.0), a)


_add = _arithmetic(lambda m, a, b: m.fadd(a, b), rounding.add)
_sub = _arithmetic(lambda m, a, b: m.fsub(a, b), rounding.sub)
_mul = _arithmetic(lambda m, a, b: m.fmul(a, b), rounding.mul)
_fma = _arithmetic(lambda m, a, b, c: m.fma(a, b, c), rounding.fma)
_div = _arithmetic(lambda m, a, b: m.fdiv(a, b), rounding.div)
_sqrt = _arithmetic(lambda m, a: m.fsqrt(a), rounding.sqrt)
_rcp = _arithmetic(_reciprocal, lambda m, type, rnd, a: rounding.div(m, type, rnd, m.const(type, 1.0), a))

# fmt: off
for _name, _sem, _says in (
    ("add", _add, "Floating-point addition, rounded once. In softmax it sums the exponentials of a row."),
    ("sub", _sub, "Floating-point subtraction, rounded once. Attention subtracts the row's maximum before `ex2`, so "
                  "that no exponential overflows."),
    ("mul", _mul, "Floating-point multiplication, rounded once. In online softmax it rescales what was summed so far."),
):
    op(f"{_name}{{.rnd}}{{.ftz}}{{.sat}}.f32  d, a, b", _says, _sem, rnd=ROUNDING,
       notes={"rn": "To nearest, and never fused: a mul and an add without `.rn` may become one fma."})
    op(f"{_name}{{.rnd}}.f64  d, a, b", _says, _sem, rnd=ROUNDING, version=(1, 4), sm=13)

op("fma.rnd{.ftz}{.sat}.f32  d, a, b, c", """Fused multiply-add: d = a*b + c, rounded once. The workhorse of every dot
   product: two flops in one issue slot, and a smaller error than `mul` followed by `add`.""",
   _fma, rnd=ROUNDING, version=(2, 0), sm=20)
op("fma.rnd.f64  d, a, b, c", """Fused multiply-add in double precision: d = a*b + c, rounded once.""",
   _fma, rnd=ROUNDING, version=(1, 4), sm=13)
op("mad.rnd{.ftz}{.sat}.f32  d, a, b, c", """The old name of `fma`: on sm_20 and later it is the same instruction.""",
   _fma, rnd=ROUNDING, sm=20)
op("mad.rnd.f64  d, a, b, c", """The old name of `fma`.""", _fma, rnd=ROUNDING, version=(1, 4), sm=13)

# -- division and roots ------------------------------------------------------------------------------------------------

op("div.approx{.ftz}.f32  d, a, b", """Fast division: a times an approximate 1/b, at most 2 units in the last place off.
   Where |b| exceeds 2**126 the reciprocal underflows and the result is 0. Enough for the final normalisation by the row
   sum.""", approx.div, version=(1, 4))
op("div.full{.ftz}.f32  d, a, b", """Approximate division that scales its operands and so holds 2 units in the last
   place over the whole range.""", _div, version=(1, 4))
op("div.rnd{.ftz}.f32  d, a, b", """Division, rounded as IEEE 754 requires. A subroutine of about ten instructions:
   divide once per row, not once per element.""", _div, rnd=ROUNDING, version=(1, 4), sm=20)
op("div.rnd.f64  d, a, b", """Division in double precision, rounded as IEEE 754 requires; slow on consumer GPUs.""",
   _div, rnd=ROUNDING, version=(1, 4), sm=13)

op("rcp.approx{.ftz}.f32  d, a", """1/a in one instruction of the special-function unit, at most 1 unit in the last
   place off. Multiplying a row of outputs by it costs less than dividing each of them.""", approx.reciprocal,
   version=(1, 4))
op("rcp.rnd{.ftz}.f32  d, a", """1/a, rounded as IEEE 754 requires.""", _rcp, rnd=ROUNDING, version=(1, 4), sm=20)
op("rcp.rnd.f64  d, a", """1/a in double precision, rounded as IEEE 754 requires.""",
   lambda m, i, a: rounding.div(m, "f64", i.rnd, m.const("f64", 1.0), a), rnd=ROUNDING, version=(1, 4),
   sm=13)
op("rcp.approx.ftz.f64  d, a", """A gross reciprocal: 20 bits of the fraction, the lower word is zero. The start of a
   Newton iteration; `.ftz` is part of its name.""", approx.reciprocal_f64, version=(2, 1), sm=20)

op("sqrt.approx{.ftz}.f32  d, a", """The square root to a relative error of 2**-23, by the special-function unit.""",
   approx.square_root, version=(1, 4))
op("sqrt.rnd{.ftz}.f32  d, a", """The square root, rounded as IEEE 754 requires.""", _sqrt, rnd=ROUNDING,
   version=(1, 4), sm=20)
op("sqrt.rnd.f64  d, a", """The square root in double precision, rounded as IEEE 754 requires.""",
   _sqrt, rnd=ROUNDING, version=(1, 4), sm=13)
op("rsqrt.approx{.ftz}.f32  d, a", """1/sqrt(a) to a relative error of 2**-22.9. The attention scale 1/sqrt(head_dim)
   and every RMSNorm are made of it.""", approx.reciprocal_root, version=(1, 4))
op("rsqrt.approx.f64  d, a", """1/sqrt(a) of a double, to a relative error of about 2**-23: the start of a Newton
   iteration.""", approx.reciprocal_root_f64, version=(1, 4), sm=13)
op("rsqrt.approx.ftz.f64  d, a", """A gross reciprocal square root: 20 bits of the fraction, the lower word is zero.""",
   approx.reciprocal_root_gross, version=(4, 0), sm=20)

# -- the transcendental functions --------------------------------------------------------------------------------------

op("ex2.approx{.ftz}.f32  d, a", """2**a, to a relative error of 2**-22. Softmax runs on it: log2(e) is folded into the
   scale, so exp(x) costs one multiplication less. `ex2(-inf)` is exactly 0, which is what masks a key.""",
   approx.ex2, version=(1, 4))
op("lg2.approx{.ftz}.f32  d, a", """log2(a). The log-sum-exp of a row is the running maximum plus this of the row
   sum.""", approx.lg2, version=(1, 4))
op("sin.approx{.ftz}.f32  d, a", """The sine, to an absolute error of 2**-20.5 between -2 pi and 2 pi. Rotary position
   embeddings rotate queries and keys with it.""", approx.sin, version=(1, 4))
op("cos.approx{.ftz}.f32  d, a", """The cosine, to an absolute error of 2**-20.5 between -2 pi and 2 pi.""",
   approx.cos, version=(1, 4))
op("tanh.approx.f32  d, a", """The hyperbolic tangent, to a relative error of 2**-11. Soft-capped attention squeezes
   its logits through it.""", approx.tanh, version=(7, 0), sm=75)
# fmt: on

# -- min and max -------------------------------------------------------------------------------------------------------


def extremum(m: Machine, type: str, larger: bool, a: Value, b: Value) -> Value:
    """min or max of f32 or f64: -0 below +0, a NaN operand is ignored (both NaN: the canonical NaN)."""
    found = m.extremum(larger, a, b)
    if found is not None:
        return found
    lane, a, b = rounding.BITS[type], m.any_nan(a), m.any_nan(b)  # the last selection sees to it
    less, more = (a, b) if larger else (b, a)
    # two selections that agree but where the operands are equal: these differ in the sign of zero at most, and or / and
    # of the bits picks the right one
    ways = [m.select(m.flt(less, more), b, a), m.select(m.flt(more, less), a, b)]
    x, y = (m.bitcast(lane, way) for way in ways)
    d = m.bitcast(type, m.and_(x, y) if larger else m.or_(x, y))
    d = m.select(m.isnan(b), a, m.select(m.isnan(a), b, d))
    return m.select(m.isnan(d), canonical_nan(m, type), d)


def canonical_nan(m: Machine, type: str) -> Value:
    """The NaN that the manual promises."""
    return m.bitcast(type, m.const(rounding.BITS[type], rounding.CANONICAL_NAN[type]))


def _extremum(larger: bool) -> Sem:
    def sem(m: Machine, i: Form, *operands: Value) -> Value:
        sources = [a for a in operands if a is not None]
        if i.ftz:
            sources = [flush(m, "f32", a) for a in sources]
        values = [m.fabs(a) for a in sources] if i.xorsign else sources
        d, nan = values[0], m.isnan(values[0])
        for v in values[1:]:
            d, nan = extremum(m, i.type, larger, d, v), m.or_(nan, m.isnan(v))
        if i.xorsign:
            lane = rounding.BITS[i.type]
            signs = m.xor(m.bitcast(lane, sources[0]), m.bitcast(lane, sources[1]))
            sign = m.and_(signs, m.const(lane, rounding.SIGN[i.type]))
            d = m.bitcast(i.type, m.or_(m.bitcast(lane, d), sign))
            d = m.select(m.isnan(d), canonical_nan(m, i.type), d)
        return m.select(nan, canonical_nan(m, i.type), d) if i.NaN else d

    return sem


def _extremum_half(larger: bool) -> Sem:
    def one(m: Machine, i: Form, type: str, a: Value, b: Value) -> Value:
        if i.ftz:
            a, b = flush(m, type, a), flush(m, type, b)
        x, y = to_float(m, type, a), to_float(m, type, b)
        nan = m.or_(m.isnan(x), m.isnan(y))
        if i.xorsign:
            x, y = m.fabs(x), m.fabs(y)
        d = rounding.exact_half(m, type, extremum(m, "f32", larger, x, y))
        if i.xorsign:
            d = m.or_(d, m.and_(m.xor(a, b), m.const("i16", 0x8000)))
            d = m.select(m.isnan(to_float(m, type, d)), m.const("i16", 0x7FFF), d)
        return m.select(nan, m.const("i16", 0x7FFF), d) if i.NaN else d

    return lambda m, i, a, b: _each(m, i, one, a, b)


def _each(m: Machine, i: Form, one: Callable[..., Value], *sources: Value) -> Value:
    """one(m, i, type, ...) on f16/bf16 sources, or on both halves of packed ones."""
    type = element(i.type)
    if type == i.type:
        return one(m, i, type, *sources)
    return halves(m, lambda *parts: one(m, i, type, *parts), *sources)


for _name, _larger, _says in (
    ("min", False, "The smaller of two floating-point numbers."),
    ("max", True, "The larger of two floating-point numbers. Online softmax keeps a row's running maximum with it."),
):
    _nan = " A NaN operand is ignored unless `.NaN` asks for it back."
    for _sign, _more in (("", ""), (".xorsign.abs", " Here of the absolute values, with the xor of both signs.")):
        _words = f"{_name}{{.ftz}}{{.NaN}}{_sign}"
        _third = "" if _sign else "{, c}"
        op(f"{_words}.f32  d, a, b{_third}", _says + _nan + _more, _extremum(_larger),
           version=(7, 2) if _sign else (1, 0), sm=86 if _sign else 0,
           notes={} if _sign else {"c": "A third operand needs sm_100 and PTX 8.8."})  # fmt: skip
        op(f"{_words}.type  d, a, b", _says + _nan + _more, _extremum_half(_larger),
           type=("f16", "f16x2"), version=(7, 2) if _sign else (7, 0), sm=86 if _sign else 80)  # fmt: skip
        op(f"{_name}{{.NaN}}{_sign}.type  d, a, b", _says + _nan + _more, _extremum_half(_larger),
           type=("bf16", "bf16x2"), version=(7, 2) if _sign else (7, 0), sm=86 if _sign else 80)  # fmt: skip
    op(f"{_name}.f64  d, a, b", _says + " A NaN operand is ignored.", _extremum(_larger), version=(1, 4), sm=13)

# -- sign and class ----------------------------------------------------------------------------------------------------


def _sign_op(f32: Callable[[Machine, Value], Value]) -> Sem:
    return lambda m, i, a: f32(m, flush(m, "f32", a) if i.ftz else a)


def _sign_half(change: Callable[[Machine, Value], Value]) -> Sem:
    def one(m: Machine, i: Form, type: str, a: Value) -> Value:
        return change(m, flush(m, type, a) if i.ftz else a)

    return lambda m, i, a: _each(m, i, one, a)


for _name, _f32, _half, _says in (
    ("abs", lambda m, a: m.fabs(a), lambda m, a: m.and_(a, m.const("i16", 0x7FFF)), "The absolute value: no sign."),
    ("neg", lambda m, a: m.fneg(a), lambda m, a: m.xor(a, m.const("i16", 0x8000)), "Negation: flips the sign bit."),
):
    op(f"{_name}{{.ftz}}.f32  d, a", _says, _sign_op(_f32))
    op(f"{_name}.f64  d, a", _says, _sign_op(_f32), version=(1, 4), sm=13)
    op(f"{_name}{{.ftz}}.type  d, a", _says, _sign_half(_half), type=("f16", "f16x2"), sm=53,
       version=(6, 5) if _name == "abs" else (6, 0))  # fmt: skip
    op(f"{_name}.type  d, a", _says, _sign_half(_half), type=("bf16", "bf16x2"), version=(7, 0), sm=80)


def _copysign(m: Machine, i: Form, a: Value, b: Value) -> Value:
    lane, sign = rounding.BITS[i.type], rounding.SIGN[i.type]
    signs = m.and_(m.bitcast(lane, a), m.const(lane, sign))
    rest = m.and_(m.bitcast(lane, b), m.const(lane, sign - 1))
    return m.bitcast(i.type, m.or_(signs, rest))


op("copysign.type  d, a, b", """The value of b with the sign of a.""", _copysign, type=("f32", "f64"), version=(2, 0),
   sm=20)  # fmt: skip


def _testp(m: Machine, i: Form, a: Value) -> Value:
    size = m.fabs(a)
    infinity, least = m.const(i.type, float("inf")), m.const(i.type, 2.0 ** (-126 if i.type == "f32" else -1022))
    zero = m.const(i.type, 0.0)
    if i.test == "finite":
        return m.flt(size, infinity)
    if i.test == "infinite":
        return m.feq(size, infinity)
    if i.test == "number":
        return m.not_(m.isnan(a))
    if i.test == "notanumber":
        return m.isnan(a)
    if i.test == "normal":
        return m.and_(m.or_(m.fle(least, size), m.feq(size, zero)), m.flt(size, infinity))
    return m.and_(m.flt(zero, size), m.flt(size, least))


op("testp.test.type  p:pred, a", """Tests what kind of number a is: finite, infinite, a number, NaN, normal (zeros
   count as normal) or subnormal.""", _testp, type=("f32", "f64"),
   test=("finite", "infinite", "number", "notanumber", "normal", "subnormal"), version=(2, 0), sm=20)  # fmt: skip

# -- 16-bit arithmetic -------------------------------------------------------------------------------------------------


def _half_op(exact: Callable[..., Value]) -> Sem:
    """A half operation: `exact(m, type, a, b, ...)` gives the result in f32 so that rounding it once more is right."""

    def one(m: Machine, i: Form, type: str, *sources: Value) -> Value:
        if i.ftz:
            sources = tuple(flush(m, type, a) for a in sources)
        x = exact(m, type, *(to_float(m, type, a) for a in sources))
        if i.sat:
            x = saturate(m, "f32", x)
        if i.relu:
            x = rounding.relu(m, x)
        d = from_float(m, type, x)
        if i.oob:
            d = m.select(m.or_(*(_out_of_bounds(m, a) for a in sources[:2])), m.const("i16", 0), d)
        return flush(m, type, d) if i.ftz else d

    return lambda m, i, *sources: _each(m, i, one, *sources)


def _out_of_bounds(m: Machine, a: Value) -> Value:
    # published measurements on hardware report the mark with either sign
    return m.eq(m.and_(a, m.const("i16", 0x7FFF)), m.const("i16", OOB_NAN))


# an f32 sum of two f16 (or bf16) may be rounded again: 24 bits are at least twice 11 plus 2 (Figueroa, 1995)
# fmt: off
for _name, _exact, _what in (
    ("add", lambda m, type, a, b: m.fadd(a, b), "Addition"),
    ("sub", lambda m, type, a, b: m.fsub(a, b), "Subtraction"),
    ("mul", rounding.mul_of_halves, "Multiplication"),
):
    _says = f"{_what} of 16-bit floats, rounded once; the `x2` forms do two at a time in one register."
    _sem = _half_op(_exact)
    op(f"{_name}{{.rnd}}{{.ftz}}{{.sat}}.type  d, a, b", _says, _sem, rnd=("rn",), type=("f16", "f16x2"),
       version=(4, 2), sm=53)
    op(f"{_name}{{.rnd}}.type  d, a, b", _says, _sem, rnd=("rn",), type=("bf16", "bf16x2"), version=(7, 8), sm=90)

_says = """Fused multiply-add of 16-bit floats, rounded once. Twice the rate of f32 in the x2 form, but sums of 11 or
   8 bits lose too much for attention: tensor cores multiply halves and add in f32."""
op("fma.rnd{.ftz}{.sat}.type  d, a, b, c", _says, _half_op(rounding.fma_of_halves), rnd=("rn",), type=("f16", "f16x2"),
   version=(4, 2), sm=53)
op("fma.rnd{.ftz}{.relu}.type  d, a, b, c", _says, _half_op(rounding.fma_of_halves), rnd=("rn",), type=("f16", "f16x2"),
   version=(7, 0), sm=80)
op("fma.rnd{.relu}.type  d, a, b, c", _says, _half_op(rounding.fma_of_halves), rnd=("rn",), type=("bf16", "bf16x2"),
   version=(7, 0), sm=80)
_says += """ With `.oob` the result is 0 where a or b is the NaN that marks an element out of a tensor's bounds."""
op("fma.rnd.oob{.relu}.type  d, a, b, c", _says, _half_op(rounding.fma_of_halves), rnd=("rn",),
   type=("f16", "f16x2", "bf16", "bf16x2"), version=(8, 1), sm=90)
op("fma.rnd.oob.sat.type  d, a, b, c", _says, _half_op(rounding.fma_of_halves), rnd=("rn",), type=("f16", "f16x2"),
   version=(8, 1), sm=90)

_says = """{} of 16-bit floats, computed in f32 and rounded once; the `x2` forms do two at a time."""
op("ex2.approx.type  d, a", _says.format("2**a"), _half_op(approx.ex2_half), type=("f16", "f16x2"), version=(7, 0),
   sm=75)
op("ex2.approx.ftz.type  d, a", _says.format("2**a"), _half_op(approx.ex2_half), type=("bf16", "bf16x2"),
   version=(7, 8), sm=90)
op("tanh.approx.type  d, a", _says.format("The hyperbolic tangent"), _half_op(approx.tanh_half),
   type=("f16", "f16x2"), version=(7, 0), sm=75)
op("tanh.approx.type  d, a", _says.format("The hyperbolic tangent"), _half_op(approx.tanh_half),
   type=("bf16", "bf16x2"), version=(7, 8), sm=90)
# fmt: on

# -- two f32 in one 64-bit register ------------------------------------------------------------------------------------


class _Single:
    """What the f32 semantics reads of an f32x2 form."""

    type, sat = "f32", False

    def __init__(self, i: Form) -> None:
        self.rnd, self.ftz = i.rnd, i.ftz


def _pair(single: Sem) -> Sem:
    def each(m: Machine, i: Form, *sources: Value) -> Value:
        def part(k: int) -> Value:
            words = [m.trunc("i32", m.lshr(a, m.const("i64", 32)) if k else a) for a in sources]
            d = single(m, _Single(i), *(m.bitcast("f32", w) for w in words))
            return m.zext("i64", m.bitcast("i32", d))

        return m.or_(part(0), m.shl(part(1), m.const("i64", 32)))

    return each


for _name, _sem in (("add", _add), ("sub", _sub), ("mul", _mul), ("fma", _fma)):
    _rnd, _tail = (".rnd", "a, b, c") if _name == "fma" else ("{.rnd}", "a, b")
    op(f"{_name}{_rnd}{{.ftz}}.f32x2  d, {_tail}",
       f"""`{_name}.f32` on two numbers in one 64-bit register: Blackwell doubles
             its f32 rate with it.""", _pair(_sem), rnd=ROUNDING, version=(8, 6), sm=100)  # fmt: skip
