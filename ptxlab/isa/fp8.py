"""8-bit floating point: cvt between f32 or f16 pairs and pairs of e4m3 and e5m2."""

from __future__ import annotations

from ptxlab.isa.common import join, split
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.rounding import relu as not_below_zero
from ptxlab.isa.rounding import to_float
from ptxlab.isa.table import Form, op

FRACTION = {"e4m3": 3, "e5m2": 2}
BIAS = {"e4m3": 7, "e5m2": 15}
LARGEST = {"e4m3": 0x7E, "e5m2": 0x7B}
"""The bits of the largest finite number: 448 and 57344."""

NAN = 0x7F


def encode(m: Machine, type: str, a: Value, relu: bool = False) -> Value:
    """f32 as the bits of an 8-bit float in an i16: to nearest even, held at the largest finite number."""
    fraction, least = FRACTION[type], 128 - BIAS[type]  # the smallest normal number's exponent, biased as in f32
    if relu:
        a = not_below_zero(m, a)
    bits = m.bitcast("i32", a)
    size = m.fabs(a)
    limit = m.const("f32", 2.0**17)
    size = m.select(m.flt(limit, size), limit, size)
    exponent = m.lshr(m.bitcast("i32", size), m.const("i32", 23))
    exponent = m.smax(m.select(m.isnan(a), m.const("i32", least), exponent), m.const("i32", least))
    # in units of the last place: 2**fraction to 2**(fraction + 1) for normal numbers, less for subnormal ones
    per_unit = m.bitcast("f32", m.shl(m.sub(m.const("i32", 254 + fraction), exponent), m.const("i32", 23)))
    units = m.fmul(size, per_unit)
    units = m.ftos("i32", m.rint(m.select(m.isnan(a), m.const("f32", 0.0), units)))
    code = m.add(m.shl(m.sub(exponent, m.const("i32", least)), m.const("i32", fraction)), units)
    code = m.umin(code, m.const("i32", LARGEST[type]))
    sign = m.and_(m.lshr(bits, m.const("i32", 24)), m.const("i32", 0x80))
    code = m.select(m.isnan(a), m.const("i32", NAN), m.or_(code, sign))
    return m.trunc("i16", code)


def decode(m: Machine, type: str, code: Value) -> Value:
    """The bits of an 8-bit float (i16) as f16 bits; exact."""
    sign = m.shl(m.and_(code, m.const("i16", 0x80)), m.const("i16", 8))
    size = m.and_(code, m.const("i16", 0x7F))
    if type == "e5m2":  # the upper byte of an f16
        half = m.shl(size, m.const("i16", 8))
        nan = m.ult(m.const("i16", 0x7C), size)
    else:  # its exponent is 8 below f16's for the same field
        half = m.float_to_half(m.fmul(m.half_to_float(m.shl(size, m.const("i16", 7))), m.const("f32", 256.0)))
        nan = m.eq(size, m.const("i16", 0x7F))
    return m.select(nan, m.const("i16", 0x7FFF), m.or_(half, sign))


def _pair(m: Machine, high: Value, low: Value) -> Value:
    return m.or_(m.shl(high, m.const("i16", 8)), low)


def _from_f32(m: Machine, i: Form, a: Value, b: Value) -> Value:
    type = i.dtype.removesuffix("x2")
    return _pair(m, encode(m, type, a, i.relu), encode(m, type, b, i.relu))


def _from_f16x2(m: Machine, i: Form, a: Value) -> Value:
    type = i.dtype.removesuffix("x2")
    low, high = (encode(m, type, to_float(m, "f16", h), i.relu) for h in split(m, a))
    return _pair(m, high, low)


def _to_f16x2(m: Machine, i: Form, a: Value) -> Value:
    type = i.atype.removesuffix("x2")
    low = decode(m, type, m.and_(a, m.const("i16", 0xFF)))
    high = decode(m, type, m.lshr(a, m.const("i16", 8)))
    if i.relu:
        zero = m.const("i16", 0)
        low, high = (m.select(m.slt(h, zero), zero, h) for h in (low, high))
    return join(m, low, high)


TYPES = ("e4m3x2", "e5m2x2")
op("cvt.rn.satfinite{.relu}.dtype.f32  d:dtype, a:f32, b:f32", """Rounds two f32 to 8-bit floats and packs them, a in
   the upper byte. FP8 attention scales P and V into this range first: e4m3 ends at 448.""", _from_f32, dtype=TYPES,
   version=(8, 1), sm=89,
   also=((7, 8), 90))  # fmt: skip
op("cvt.rn.satfinite{.relu}.dtype.f16x2  d:dtype, a:f16x2", """Rounds two f16 to 8-bit floats.""", _from_f16x2,
   dtype=TYPES, version=(8, 1), sm=89,
   also=((7, 8), 90))  # fmt: skip
op("cvt.rn{.relu}.f16x2.atype  d:f16x2, a:atype", """Widens two 8-bit floats to f16, which is exact: how FP8 keys and
   values are read where there is no FP8 tensor core.""", _to_f16x2, atype=TYPES, version=(8, 1), sm=89,
   also=((7, 8), 90))  # fmt: skip
