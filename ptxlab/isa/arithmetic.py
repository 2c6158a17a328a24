"""Integer arithmetic: add, sub, mul, mad with their carry chains, division, and the bit-counting family."""

from __future__ import annotations

from ptxlab.isa import types
from ptxlab.isa.common import INTEGERS, PAIRS, WIDE_INTEGERS, extend, halves, lane_of, shift_left, shift_right, to_u32
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.table import Form, op


def _signed(i: Form) -> bool:
    return types.is_signed(i.type)


# -- add and sub -------------------------------------------------------------------------------------------------------

op("add.type  d, a, b", """Integer addition, wrapping around at the type's width. In kernels it mostly computes
   addresses and loop counters: the overhead that unrolling and immediate offsets take away.""",
   lambda m, i, a, b: m.add(a, b), type=INTEGERS)  # fmt: skip

op("sub.type  d, a, b", """Integer subtraction, wrapping around at the type's width.""",
   lambda m, i, a, b: m.sub(a, b), type=INTEGERS)  # fmt: skip


def _saturating(m: Machine, a: Value, b: Value, result: Value, overflow: Value) -> Value:
    """`result`, or the s32 limit on a's side where `overflow` has its sign bit set."""
    limit = m.xor(m.ashr(a, m.const("i32", 31)), m.const("i32", 0x7FFFFFFF))
    return m.select(m.slt(overflow, m.const("i32", 0)), limit, result)


def _add_sat(m: Machine, i: Form, a: Value, b: Value) -> Value:
    d = m.add(a, b)
    return _saturating(m, a, b, d, m.and_(m.xor(a, d), m.xor(b, d)))


def _sub_sat(m: Machine, i: Form, a: Value, b: Value) -> Value:
    d = m.sub(a, b)
    return _saturating(m, a, b, d, m.and_(m.xor(a, b), m.xor(a, d)))


# fmt: off
op("add.sat.s32  d, a, b", """Addition that stays at the largest or smallest s32 instead of wrapping around: what
   fixed-point and quantised code needs.""", _add_sat)
op("sub.sat.s32  d, a, b", """Subtraction that stays at the largest or smallest s32 instead of wrapping around.""",
   _sub_sat)
op("add.type  d, a, b", """Two 16-bit additions in one 32-bit register, each half on its own.""",
   lambda m, i, a, b: halves(m, m.add, a, b), type=PAIRS, version=(8, 0), sm=90)
# fmt: on


def _add_carry(m: Machine, i: Form, a: Value, b: Value) -> Value:
    d = m.add(a, b)
    m.carry_set(m.ult(d, a))
    return d


def _add_with_carry(m: Machine, i: Form, a: Value, b: Value) -> Value:
    carry = m.zext(lane_of(i), m.carry_get())
    partial = m.add(a, b)
    d = m.add(partial, carry)
    if i.cc:
        m.carry_set(m.zext("i1", m.or_(m.ult(partial, a), m.ult(d, partial))))
    return d


# A subtraction is an addition of the complement, and CC.CF its carry: 1 where nothing was borrowed. `addc` after
# `sub.cc` sees that (the compiler's 128-bit division does so), and so it is in the machine code of NVIDIA's assembler.
def _sub_borrow(m: Machine, i: Form, a: Value, b: Value) -> Value:
    m.carry_set(m.not_(m.ult(a, b)))
    return m.sub(a, b)


def _sub_with_borrow(m: Machine, i: Form, a: Value, b: Value) -> Value:
    borrow = m.zext(lane_of(i), m.not_(m.carry_get()))
    partial = m.sub(a, b)
    if i.cc:
        m.carry_set(m.not_(m.or_(m.ult(a, b), m.ult(partial, borrow))))
    return m.sub(partial, borrow)


# fmt: off
op("add.cc.type  d, a, b", """Addition that leaves its carry in the flag CC.CF, the first link of a chain that adds
   numbers wider than a register.""", _add_carry, type=WIDE_INTEGERS, version=(1, 2))
op("addc{.cc}.type  d, a, b", """Addition of a, b and the carry flag: the next link of an extended-precision sum. With
   `.cc` it leaves a new carry for the link after it.""", _add_with_carry, type=WIDE_INTEGERS,
   version=(1, 2))
op("sub.cc.type  d, a, b", """Subtraction that leaves its borrow in the flag CC.CF: the first link of a chain that
   subtracts numbers wider than a register.""", _sub_borrow, type=WIDE_INTEGERS, version=(1, 2))
op("subc{.cc}.type  d, a, b", """Subtraction of b and the borrow from a: the next link of an extended-precision
   difference.""", _sub_with_borrow, type=WIDE_INTEGERS, version=(1, 2))
# fmt: on

# -- mul and mad -------------------------------------------------------------------------------------------------------


def _product_high(m: Machine, i: Form, a: Value, b: Value) -> Value:
    return m.smulh(a, b) if _signed(i) else m.umulh(a, b)


def _product_wide(m: Machine, i: Form, a: Value, b: Value) -> Value:
    lane = f"i{2 * types.width(i.type)}"
    return m.mul(extend(m, lane, i.type, a), extend(m, lane, i.type, b))


# fmt: off
op("mul.lo.type  d, a, b", """The lower half of the product, the part that an integer of the same width can hold.""",
   lambda m, i, a, b: m.mul(a, b), type=INTEGERS)
op("mul.hi.type  d, a, b", """The upper half of the double-width product. Compilers turn division by a constant into a
   multiplication by its reciprocal and this.""", _product_high, type=INTEGERS)
op("mul.wide.type  d:wide, a, b", """The whole product, in a register twice as wide. `mul.wide.u32` turns a row number
   into a 64-bit byte offset that cannot overflow: the usual first step of an address.""",
   _product_wide, type=("u16", "u32", "s16", "s32"))
# fmt: on


def _mad_hi_sat(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    return _add_sat(m, i, m.smulh(a, b), c)


# fmt: off
op("mad.lo.type  d, a, b, c", """Multiply-add on integers: the lower half of a*b, plus c. One instruction flattens a
   two-dimensional index: `row * stride + column`.""",
   lambda m, i, a, b, c: m.add(m.mul(a, b), c), type=INTEGERS)
op("mad.hi.type  d, a, b, c", """The upper half of a*b, plus c.""",
   lambda m, i, a, b, c: m.add(_product_high(m, i, a, b), c), type=INTEGERS)
op("mad.hi.sat.s32  d, a, b, c", """The upper half of a*b, plus c, clamped to the limits of s32 instead of wrapping
   around.""", _mad_hi_sat)
op("mad.wide.type  d:wide, a, b, c:wide", """The double-width product of a and b, plus a double-width c: a 32-bit index,
   an element size and a 64-bit base pointer become an address in one instruction.""",
   lambda m, i, a, b, c: m.add(_product_wide(m, i, a, b), c), type=("u16", "u32", "s16", "s32"))
# fmt: on


def _product(m: Machine, i: Form, a: Value, b: Value) -> Value:
    return m.mul(a, b) if i.half == "lo" else _product_high(m, i, a, b)


op("mad.half.cc.type  d, a, b, c", """Multiply-add that leaves the carry of its addition in CC.CF: multiplication of
   numbers wider than a register.""", lambda m, i, a, b, c: _add_carry(m, i, _product(m, i, a, b), c),
   half=("lo", "hi"), type=WIDE_INTEGERS, version=(3, 0), sm=20)  # fmt: skip
op("madc.half{.cc}.type  d, a, b, c", """Multiply-add of a, b, c and the carry flag: the next link of a long
   multiplication.""", lambda m, i, a, b, c: _add_with_carry(m, i, _product(m, i, a, b), c),
   half=("lo", "hi"), type=WIDE_INTEGERS, version=(3, 0), sm=20)  # fmt: skip


def _mul24(m: Machine, i: Form, a: Value, b: Value) -> Value:
    """The lower or upper 32 bits of the 48-bit product of 24-bit operands."""

    def operand(x: Value) -> Value:
        high = m.shl(x, m.const("i32", 8))
        narrow = m.ashr(high, m.const("i32", 8)) if _signed(i) else m.lshr(high, m.const("i32", 8))
        return extend(m, "i64", i.type, narrow)

    product = m.mul(operand(a), operand(b))
    return m.trunc("i32", product if i.half == "lo" else m.lshr(product, m.const("i64", 16)))


# fmt: off
_HALVES_24 = {"lo": "Bits 0 to 31 of the product.", "hi": "Bits 16 to 47 of the product."}
op("mul24.half.type  d, a, b", """The product of the low 24 bits of a and b: bits 0 to 31 of it (`.lo`) or bits 16 to 47
   (`.hi`). It was the fast multiply of the first GPUs; today it is slower than `mul.lo`.""",
   _mul24, half=("lo", "hi"), type=("u32", "s32"), notes=_HALVES_24)
op("mad24.half.type  d, a, b, c", """The product of the low 24 bits of a and b (see `mul24`), plus c.""",
   lambda m, i, a, b, c: m.add(_mul24(m, i, a, b), c), half=("lo", "hi"), type=("u32", "s32"),
   notes=_HALVES_24)
op("mad24.hi.sat.s32  d, a, b, c", """`mad24.hi` clamped to the limits of s32 instead of wrapping around.""",
   lambda m, i, a, b, c: _add_sat(m, i, _mul24(m, i, a, b), c), fixed={"type": "s32", "half": "hi"},
   notes=_HALVES_24)

# -- division ----------------------------------------------------------------------------------------------------------

op("div.type  d, a, b", """Integer division, rounded toward zero. GPUs have no divider: this becomes a subroutine of
   some twenty instructions, so kernels use `shr` for powers of two and keep other divisions out of the inner loop.
   Division by zero does not trap; the result is all ones.""",
   lambda m, i, a, b: m.sdiv(a, b) if _signed(i) else m.udiv(a, b), type=INTEGERS)
op("rem.type  d, a, b", """The remainder of integer division, with the sign of a. As slow as `div`; for a power of two
   `and` does the same.""",
   lambda m, i, a, b: m.srem(a, b) if _signed(i) else m.urem(a, b), type=INTEGERS)
# fmt: on

# -- sign, order -------------------------------------------------------------------------------------------------------


def _neg(m: Machine, i: Form, a: Value) -> Value:
    return m.sub(m.const(lane_of(i), 0), a)


op("abs.type  d, a", """The absolute value. The most negative integer has none and stays as it is.""",
   lambda m, i, a: m.smax(a, _neg(m, i, a)), type=("s16", "s32", "s64"))  # fmt: skip
op("neg.type  d, a", """Arithmetic negation: 0 - a.""", _neg, type=("s16", "s32", "s64"))


def _min(m: Machine, i: Form, a: Value, b: Value) -> Value:
    if i.type in PAIRS:
        d = halves(m, m.smin if _signed(i) else m.umin, a, b)
    else:
        d = m.smin(a, b) if _signed(i) else m.umin(a, b)
    return _relu(m, i, d)


def _max(m: Machine, i: Form, a: Value, b: Value) -> Value:
    if i.type in PAIRS:
        d = halves(m, m.smax if _signed(i) else m.umax, a, b)
    else:
        d = m.smax(a, b) if _signed(i) else m.umax(a, b)
    return _relu(m, i, d)


def _relu(m: Machine, i: Form, d: Value) -> Value:
    if not i.relu:
        return d
    if i.type == "s16x2":
        return halves(m, lambda x: m.smax(x, m.const("i16", 0)), d)
    return m.smax(d, m.const("i32", 0))


for _name, _sem, _which in (("min", _min, "smaller"), ("max", _max, "larger")):
    op(f"{_name}.type  d, a, b", f"""The {_which} of two integers. Clamping an index to the last row with it is how a
       kernel stays inside its tensor without a branch.""", _sem, type=INTEGERS)  # fmt: skip
    op(f"{_name}.type  d, a, b", f"""The {_which} of two 16-bit integers, in both halves of a register at once.""",
       _sem, type=PAIRS, version=(8, 0), sm=90)  # fmt: skip
    op(f"{_name}.relu.type  d, a, b", f"""The {_which} of two integers, and 0 where that is negative.""",
       _sem, type=("s32", "s16x2"), version=(8, 0), sm=90)  # fmt: skip


def _sad(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    less = m.slt(a, b) if _signed(i) else m.ult(a, b)
    return m.add(c, m.select(less, m.sub(b, a), m.sub(a, b)))


op("sad.type  d, a, b, c", """Sum of absolute differences: c + |a - b|, a video-coding primitive.""",
   _sad, type=INTEGERS)  # fmt: skip

# -- counting and finding bits -----------------------------------------------------------------------------------------


def _bfind(m: Machine, i: Form, a: Value) -> Value:
    lane, bits = lane_of(i), types.width(i.type)
    if _signed(i):
        a = m.xor(a, m.ashr(a, m.const(lane, bits - 1)))
    zeros = to_u32(m, i.type, m.clz(a))
    if i.shiftamt:
        return m.select(m.eq(a, m.const(lane, 0)), m.const("i32", -1), zeros)
    return m.sub(m.const("i32", bits - 1), zeros)


# fmt: off
op("popc.type  d:u32, a", """How many bits of a are one. On the result of a ballot it counts the lanes that said yes:
   the core of warp-level compaction.""", lambda m, i, a: to_u32(m, i.type, m.popc(a)), type=("b32", "b64"),
   version=(2, 0), sm=20)
op("clz.type  d:u32, a", """How many zero bits are above the highest one bit; the width of the type where a is 0.""",
   lambda m, i, a: to_u32(m, i.type, m.clz(a)), type=("b32", "b64"), version=(2, 0), sm=20)
op("bfind{.shiftamt}.type  d:u32, a", """The position of the most significant bit that is not a copy of the sign, or
   0xffffffff where there is none. `.shiftamt` gives instead the left shift that brings that bit to the top.""",
   _bfind, type=WIDE_INTEGERS, version=(2, 0), sm=20)
op("brev.type  d, a", """The bits in reverse order. Followed by `clz` it finds the lowest one bit.""",
   lambda m, i, a: m.brev(a), type=("b32", "b64"), version=(2, 0), sm=20)
# fmt: on


def _fns(m: Machine, i: Form, mask: Value, base: Value, offset: Value) -> Value:
    zero, one = m.const("i32", 0), m.const("i32", 1)
    found, backward = m.const("i32", -1), m.slt(offset, zero)
    here = m.eq(offset, zero)
    left = m.select(backward, m.sub(zero, offset), offset)
    for step in range(32):
        distance = m.const("i32", step)
        position = m.select(backward, m.sub(base, distance), m.add(base, distance))
        inside = m.ult(position, m.const("i32", 32))
        bit = m.and_(m.lshr(mask, m.and_(position, m.const("i32", 31))), one)
        hit = m.and_(m.ne(bit, zero), inside)
        if step == 0:
            found = m.select(m.and_(here, hit), position, found)
        left = m.select(hit, m.sub(left, one), left)
        chosen = m.and_(m.and_(hit, m.eq(left, zero)), m.not_(here))
        found = m.select(m.and_(chosen, m.eq(found, m.const("i32", -1))), position, found)
    found = m.select(m.ult(base, m.const("i32", 32)), found, m.const("i32", -1))
    # -2**31 has no absolute value; the search that the assembler writes for sm_90 ends at bit 0 then
    return m.select(m.eq(offset, m.const("i32", -(2**31))), zero, found)


op("fns.b32  d, mask:b32, base:b32, offset:s32", """Find the n-th set bit of a mask, counting from bit `base` upward
   (offset n > 0) or downward (n < 0); with offset 0 only bit `base` itself counts. 0xffffffff where there is none. It
   picks the n-th active lane of a warp.""", _fns, loose=True, version=(6, 0), sm=30)  # fmt: skip

# -- bit fields --------------------------------------------------------------------------------------------------------


def _field(m: Machine, i: Form, position: Value, length: Value) -> tuple[Value, Value]:
    """Position and length of a bit field. PTX leaves open what is above 255: a GPU reads the low 8 bits where a field
    has 32 bits, and all 32 of them where it has 64."""
    if types.width(i.type) == 64:
        return position, length
    byte = m.const("i32", 0xFF)
    return m.and_(position, byte), m.and_(length, byte)


def _bfe(m: Machine, i: Form, a: Value, position: Value, length: Value) -> Value:
    lane, bits = lane_of(i), types.width(i.type)
    width = m.const("i32", bits)
    position, length = _field(m, i, position, length)
    unused = m.sub(width, m.umin(length, width))  # bits above the field; all of them for an empty field
    top = shift_left(m, lane, shift_right(m, lane, a, position, _signed(i)), unused)
    field = shift_right(m, lane, top, unused, _signed(i))
    return m.select(m.eq(length, m.const("i32", 0)), m.const(lane, 0), field)


def _bfi(m: Machine, i: Form, a: Value, b: Value, position: Value, length: Value) -> Value:
    lane = lane_of(i)
    position, length = _field(m, i, position, length)
    ones = m.not_(shift_left(m, lane, m.const(lane, -1), length))
    field = shift_left(m, lane, ones, position)
    return m.or_(m.and_(b, m.not_(field)), m.and_(shift_left(m, lane, a, position), field))


op("bfe.type  d, a, b:u32, c:u32", """Bit-field extract: c bits of a, from bit b upward, moved to the bottom and zero-
   or sign-extended. Unpacks 4-bit and 8-bit quantised weights.""", _bfe, type=WIDE_INTEGERS, version=(2, 0),
   sm=20)  # fmt: skip
op("bfi.type  d, a, b, c:u32, e:u32", """Bit-field insert: b with e of its bits, from bit c upward, replaced by the low
   bits of a.""", _bfi, type=("b32", "b64"), version=(2, 0), sm=20)  # fmt: skip


def _bmsk(m: Machine, i: Form, a: Value, b: Value) -> Value:
    if i.mode == "wrap":
        a, b = (m.and_(x, m.const("i32", 31)) for x in (a, b))
    limit = m.const("i32", 32)
    a, b = m.umin(a, limit), m.umin(b, limit)
    ones = m.const("i32", -1)
    above = shift_left(m, "i32", ones, m.add(a, b))
    return m.and_(shift_left(m, "i32", ones, a), m.not_(above))


def _szext(m: Machine, i: Form, a: Value, count: Value) -> Value:
    limit = m.const("i32", 32)
    count = m.and_(count, m.const("i32", 31)) if i.mode == "wrap" else m.umin(count, limit)
    unused = m.sub(limit, count)
    return shift_right(m, "i32", shift_left(m, "i32", a, unused), unused, False) if not _signed(i) else m.select(
        m.eq(count, m.const("i32", 0)), m.const("i32", 0),
        shift_right(m, "i32", shift_left(m, "i32", a, unused), unused, True))  # fmt: skip


op("bmsk.mode.b32  d, a, b:b32", """A bit mask: b ones from bit a upward. `.clamp` holds both at 32, `.wrap` takes them
   modulo 32.""", _bmsk, mode=("clamp", "wrap"), version=(7, 6), sm=70)  # fmt: skip
op("szext.mode.type  d, a, b:u32", """Sign- or zero-extend: the low b bits of a as a 32-bit number. `.clamp` holds b at
   32, `.wrap` takes it modulo 32.""",
   _szext, mode=("clamp", "wrap"), type=("u32", "s32"), version=(7, 6), sm=70)  # fmt: skip

# -- dot products of small integers ------------------------------------------------------------------------------------


def _piece(m: Machine, packed: Value, index: int, bits: int, signed: bool) -> Value:
    left = m.shl(packed, m.const("i32", 32 - bits * (index + 1)))
    shift = m.const("i32", 32 - bits)
    return m.ashr(left, shift) if signed else m.lshr(left, shift)


def _dp4a(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    for k in range(4):
        c = m.add(c, m.mul(_piece(m, a, k, 8, i.atype == "s32"), _piece(m, b, k, 8, i.btype == "s32")))
    return c


def _dp2a(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    for k in range(2):
        byte = k if i.mode == "lo" else k + 2
        c = m.add(c, m.mul(_piece(m, a, k, 16, i.atype == "s32"), _piece(m, b, byte, 8, i.btype == "s32")))
    return c


op("dp4a.atype.btype  d:b32, a:b32, b:b32, c:b32", """Dot product of four bytes with four bytes, added to c: int8
   inference before tensor cores did it. `.atype` and `.btype` say whether the bytes are signed.""", _dp4a,
   atype=("u32", "s32"), btype=("u32", "s32"), version=(5, 0), sm=61)  # fmt: skip
op("dp2a.mode.atype.btype  d:b32, a:b32, b:b32, c:b32", """Dot product of the two 16-bit halves of a with the two low
   (`.lo`) or the two high (`.hi`) bytes of b, added to c.""",
   _dp2a, mode=("lo", "hi"), atype=("u32", "s32"), btype=("u32", "s32"), version=(5, 0), sm=61,
   notes={"lo": "The two low bytes of b.", "hi": "The two high bytes of b."})  # fmt: skip
