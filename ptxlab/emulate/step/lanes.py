"""The interpreter's arithmetic: every pure operation of `ptxlab.isa.machine.Machine` on 32 lanes of numpy.

A value is an array of shape (32,): `bool` for i1, the unsigned integer of its width for i8 to i64, else a float array.
No operation writes into its arguments, and no result is written to later, so arrays may be shared freely.
Run it under `np.errstate(all="ignore")`: overflow, division by zero and invalid casts are legal in PTX.

numpy has no fused multiply-add. For f32 the product is exact in f64, and the sum is rounded to odd before it is rounded
to f32, so that double rounding does no harm (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums:
proved algorithms using rounding to odd", 2008); for f64 the same paper's error-free transforms, with integers where
those could overflow or underflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ptxlab.emulate.language import bits
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.isa.machine import OptionalOperations, Value
from ptxlab.isa.rounding import CANONICAL_NAN

SIGNED: dict[int, Any] = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_WIDER: dict[int, Any] = {1: np.dtype(np.uint16), 2: np.dtype(np.uint32), 4: np.dtype(np.uint64)}
_LOW32 = np.uint64(0xFFFFFFFF)
_LOW28 = np.uint64(0x0FFFFFFF)
_HALF27, _HIGH26 = np.uint64(1 << 26), np.uint64(0xFFFFFFFFF8000000)
CONSTANTS = 4096
"""Constants, cached for the next instruction that names the same one."""
_BYTE_REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
_LANE_ID = np.arange(LANES, dtype=np.uint32)


def constant(type: str, value: int | float) -> Value:
    """One value of a lane type in every lane; the array cannot be written to."""
    dtype = DTYPE[type]
    if dtype.kind == "u":
        value = int(value) & ((1 << 8 * dtype.itemsize) - 1)
    lanes = np.full(LANES, value, dtype)
    lanes.setflags(write=False)
    return lanes


def _signed(operation: Callable[[Value, Value], Value]) -> Callable[[Lanes, Value, Value], Value]:
    """An operation on unsigned integers that reads them as signed."""

    def run(self: Lanes, a: Value, b: Value) -> Value:
        signed = SIGNED[a.dtype.itemsize]
        result = operation(a.view(signed), b.view(signed))
        return result if result.dtype == np.bool_ else result.view(a.dtype)

    return run


def _rounded(operation: Callable[..., Value]) -> Callable[..., Value]:
    """Arithmetic of floats, whose only NaN is the canonical one."""

    def run(self: Lanes, *operands: Value) -> Value:
        return one_nan(operation(*operands))

    return run


class Lanes(OptionalOperations):
    """The pure half of a Machine; `mask` is the bool array of the lanes that execute the current instruction."""

    _constants: ClassVar[dict[tuple[str, Any], Value]] = {}

    def __init__(self) -> None:
        self.mask: Value = np.ones(LANES, np.bool_)

    # -- constants and lanes
    def const(self, type: str, value: int | float) -> Value:
        key = (type, value if value and value == value else repr(value))  # 0.0 == -0.0, and NaN is never equal
        found = self._constants.get(key)
        if found is None:
            if len(self._constants) >= CONSTANTS:  # of kernels long gone, for the most part
                self._constants.clear()
            found = self._constants[key] = constant(type, value)
        return found

    def lane_id(self) -> Value:
        return _LANE_ID

    def active(self) -> Value:
        return self.mask

    # -- integers
    add = np.add
    sub = np.subtract
    mul = np.multiply
    and_ = np.bitwise_and
    or_ = np.bitwise_or
    xor = np.bitwise_xor
    not_ = np.invert
    shl = np.left_shift
    lshr = np.right_shift
    umin = np.minimum
    umax = np.maximum

    def umulh(self, a: Value, b: Value) -> Value:
        size = a.dtype.itemsize
        if size < 8:
            wide = _WIDER[size]
            return (np.multiply(a, b, dtype=wide) >> wide.type(8 * size)).astype(a.dtype)
        a_low, a_high, b_low, b_high = a & _LOW32, a >> np.uint64(32), b & _LOW32, b >> np.uint64(32)
        # Every partial sum stays below 2**64: (2**32 - 1)**2 + 2 * (2**32 - 1) == 2**64 - 1.
        middle = a_high * b_low + (a_low * b_low >> np.uint64(32))
        other = a_low * b_high + (middle & _LOW32)
        return a_high * b_high + (middle >> np.uint64(32)) + (other >> np.uint64(32))

    def smulh(self, a: Value, b: Value) -> Value:
        # As a signed number a is its unsigned reading less 2**N where it is negative.
        zero = a.dtype.type(0)
        return self.umulh(a, b) - np.where(_negative(a), b, zero) - np.where(_negative(b), a, zero)

    def udiv(self, a: Value, b: Value) -> Value:
        return np.where(b == 0, ~b.dtype.type(0), np.floor_divide(a, b))

    def urem(self, a: Value, b: Value) -> Value:
        return np.where(b == 0, ~b.dtype.type(0), np.remainder(a, b))

    def sdiv(self, a: Value, b: Value) -> Value:
        quotient = np.floor_divide(_magnitude(a), _magnitude(b))
        quotient = np.where(_negative(a) ^ _negative(b), np.negative(quotient), quotient)
        return np.where(b == 0, ~b.dtype.type(0), quotient)

    def srem(self, a: Value, b: Value) -> Value:
        rest = np.remainder(_magnitude(a), _magnitude(b))
        return np.where(b == 0, ~b.dtype.type(0), np.where(_negative(a), np.negative(rest), rest))

    ashr = _signed(np.right_shift)
    smin = _signed(np.minimum)
    smax = _signed(np.maximum)

    def popc(self, a: Value) -> Value:
        return np.bitwise_count(a).astype(a.dtype)

    def clz(self, a: Value) -> Value:
        return (8 * a.dtype.itemsize - _bit_length(a)).astype(a.dtype)

    def brev(self, a: Value) -> Value:
        return _BYTE_REVERSED[a.view(np.uint8)].view(a.dtype).byteswap()

    # -- comparisons
    eq = feq = np.equal
    ne = np.not_equal
    ult = flt = np.less
    ule = fle = np.less_equal
    isnan = np.isnan

    slt = _signed(np.less)
    sle = _signed(np.less_equal)

    # -- floating point
    fadd = _rounded(np.add)
    fsub = _rounded(np.subtract)
    fmul = _rounded(np.multiply)
    fdiv = _rounded(np.divide)
    fsqrt = _rounded(np.sqrt)

    def any_nan(self, a: Value) -> Value:
        return a

    fneg = np.negative
    fabs = np.absolute
    floor = np.floor
    ceil = np.ceil
    ftrunc = np.trunc
    rint = np.rint

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        if a.dtype.itemsize == 8:
            return one_nan(_fma_f64(a, b, c))
        product = np.multiply(a, b, dtype=np.float64)  # 24 + 24 bits: exact
        total = product + c
        # Only a total that looks like a tie between two f32 (or is exact) can be rounded wrongly the second time: its
        # low 28 bits are zero. Subnormal results drop more bits, so their ties are among these.
        if not (total.view(np.uint64) & _LOW28).all():
            total = _to_odd(total, _sum_error(product, c.astype(np.float64), total))
        return one_nan(total.astype(np.float32))

    # -- conversions
    def zext(self, type: str, a: Value) -> Value:
        return a.astype(DTYPE[type])

    utof = ftou = zext

    def sext(self, type: str, a: Value) -> Value:
        dtype = DTYPE[type]
        if a.dtype.kind == "b":
            return np.negative(a.astype(dtype)) if dtype.kind == "u" else a
        return a.view(SIGNED[a.dtype.itemsize]).astype(dtype)

    def trunc(self, type: str, a: Value) -> Value:
        if type == "i1":
            return (a & a.dtype.type(1)).astype(np.bool_)
        return a.astype(DTYPE[type])

    def bitcast(self, type: str, a: Value) -> Value:
        return a.view(DTYPE[type])

    def stof(self, type: str, a: Value) -> Value:
        return a.view(SIGNED[a.dtype.itemsize]).astype(DTYPE[type])

    def ftos(self, type: str, a: Value) -> Value:
        dtype = DTYPE[type]
        return a.astype(SIGNED[dtype.itemsize]).view(dtype)

    def fpext(self, a: Value) -> Value:
        return a.astype(np.float64)

    def fptrunc(self, a: Value) -> Value:
        return one_nan(a.astype(np.float32))

    def half_to_float(self, a: Value) -> Value:
        d = a.view(np.float16).astype(np.float32)
        return np.where(np.isnan(d), d.view(np.uint32) | np.uint32(1 << 22), d.view(np.uint32)).view(np.float32)

    def float_to_half(self, a: Value) -> Value:
        return a.astype(np.float16).view(np.uint16)

    select = staticmethod(np.where)

    # -- across lanes
    def lane_read(self, a: Value, index: Value) -> Value:
        return a[index]

    def ballot(self, a: Value) -> Value:
        return np.full(LANES, mask_bits(a & self.mask), np.uint32)


NAN = {
    type: np.full(LANES, bits, DTYPE[lane]).view(DTYPE[type])
    for type, lane, bits in (("f32", "i32", CANONICAL_NAN["f32"]), ("f64", "i64", CANONICAL_NAN["f64"]))
}
"""The one NaN that arithmetic returns: the manual promises 0x7FFFFFFF for f32, and leaves it open for f64."""
_NAN = {value.dtype: value[0] for value in NAN.values()}


def one_nan(d: Value) -> Value:
    """The results of arithmetic, with every NaN replaced by the canonical one."""
    nan = np.isnan(d)
    return np.where(nan, _NAN[d.dtype], d) if nan.any() else d


mask_bits = bits
"""A bool array of 32 lanes as an integer, lane 0 in bit 0."""


def _negative(a: Value) -> Value:
    return a.view(SIGNED[a.dtype.itemsize]) < 0


def _magnitude(a: Value) -> Value:
    """|a| of a signed integer, unsigned: the minimum gives 2**(N-1)."""
    return np.where(_negative(a), np.negative(a), a)


def _bit_length(a: Value) -> Value:
    """The number of bits needed to write an unsigned integer; 0 for 0."""
    if a.dtype.itemsize < 8:
        return np.frexp(a.astype(np.float64))[1]
    high = _bit_length((a >> np.uint64(32)).astype(np.uint32))
    return np.where(high > 0, high + 32, _bit_length(a.astype(np.uint32)))


def _sum_error(a: Value, b: Value, total: Value) -> Value:
    """a + b - `total`, the rounded sum: exact (Knuth's TwoSum); NaN where a term is infinite or NaN."""
    b_part = total - a
    return (a - (total - b_part)) + (b - b_part)


def _to_odd(total: Value, error: Value) -> Value:
    """total + error rounded to odd: the neighbour of an inexact sum whose last bit is 1. error is below half an ulp."""
    bits = total.view(np.int64)
    inexact = (np.absolute(error) > 0) & ((bits & 1) == 0)  # false for NaN
    return (bits + np.where((error > 0) == (total > 0), 1, -1) * inexact).view(np.float64)


def _fma_f64(a: Value, b: Value, c: Value) -> Value:
    """a*b + c of three f64 arrays, rounded once."""
    product = a * b
    # Rounding to 26 leading bits leaves a rest of at most 26, so all four partial products are exact (Dekker).
    a_high = ((a.view(np.uint64) + _HALF27) & _HIGH26).view(np.float64)
    b_high = ((b.view(np.uint64) + _HALF27) & _HIGH26).view(np.float64)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    low = c + error
    low_error = _sum_error(c, error, low)
    high = product + low
    high_error = _sum_error(product, low, high)
    tail = high_error + low_error
    result = high + _to_odd(tail, _sum_error(high_error, low_error, tail))

    # Proved when nothing overflows and the product's error does not underflow.
    size = np.absolute(product)
    safe = (size > 2.0**-900) & (size < 2.0**1000) & (np.absolute(c) < 2.0**1000)
    safe &= (np.absolute(a) < 2.0**1000) & (np.absolute(b) < 2.0**1000)
    if not safe.all():
        # A zero factor or an infinite or NaN operand makes the two-step sum exact.
        plain = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
        result = np.where(plain, product + c, result)
        # finite factors whose product overflows do not cancel an infinite c
        result = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, result)
        for lane in np.flatnonzero(~(safe | plain)):
            result[lane] = _fma_exact(float(a[lane]), float(b[lane]), float(c[lane]))
    return result


def _fma_exact(a: float, b: float, c: float) -> float:
    """a*b + c of finite numbers, a and b not zero, by integers: Python's `int / int` rounds once, to nearest even."""
    (a_top, a_bottom), (b_top, b_bottom), (c_top, c_bottom) = (x.as_integer_ratio() for x in (a, b, c))
    bottom = a_bottom * b_bottom
    top = a_top * b_top * c_bottom + c_top * bottom
    try:
        return top / (bottom * c_bottom)
    except OverflowError:
        return float("inf") if top > 0 else float("-inf")
