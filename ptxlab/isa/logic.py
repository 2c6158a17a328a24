"""Bits: and, or, xor, not, the three-input lop3, shifts that clamp, funnel shifts, and the byte permutation prmt."""

from __future__ import annotations

from ptxlab.isa import types
from ptxlab.isa.common import lane_of, shift_left, shift_right
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.table import Form, op

_MOVE = {"shl": 1, "shr": 1, "shf": 2, "prmt": 2, "bfe": 1, "bfi": 2, "shfl": 1}


def moved(i: Form) -> int:
    """How many first sources an instruction moves bits from, while the others say where to; 0
    for all others."""
    return _MOVE.get(i.op.name, 0)


BITS = ("b16", "b32", "b64")

for _name, _call, _says in (
    ("and", "and_", "Bitwise and. On predicates it joins two conditions; on integers it is the cheap remainder by a "
                    "power of two."),
    ("or", "or_", "Bitwise or; on predicates, either condition."),
    ("xor", "xor", "Bitwise exclusive or. The swizzle that keeps shared-memory tiles free of bank conflicts is one."),
):  # fmt: skip

    def _binary(m: Machine, i: Form, a: Value, b: Value, _call: str = _call) -> Value:
        return getattr(m, _call)(a, b)

    op(f"{_name}.type  d, a, b", _says, _binary, type=("pred", *BITS))

op("not.type  d, a", """Every bit flipped; on a predicate, its negation.""", lambda m, i, a: m.not_(a),
   type=("pred", *BITS))  # fmt: skip


def _cnot(m: Machine, i: Form, a: Value) -> Value:
    return m.zext(lane_of(i), m.eq(a, m.const(lane_of(i), 0)))


op("cnot.type  d, a", """Logical negation as C has it: 1 where a is 0, else 0.""", _cnot, type=BITS)


def _lop3(m: Machine, i: Form, a: Value, b: Value, c: Value, table: int) -> Value:
    """Sum of the minterms in the look-up table: bit 4a + 2b + c of `table` is the result for those input bits."""
    result = m.const("i32", 0)
    for index in range(8):
        if int(table) >> index & 1:
            term = a if index & 4 else m.not_(a)
            term = m.and_(term, b if index & 2 else m.not_(b))
            term = m.and_(term, c if index & 1 else m.not_(c))
            result = m.or_(result, term)
    return result


def _lop3_bool(m: Machine, i: Form, a: Value, b: Value, c: Value, table: int, q: Value) -> tuple[Value, Value]:
    d = _lop3(m, i, a, b, c, table)
    p = m.ne(d, m.const("i32", 0))
    return d, (m.or_(p, q) if i.bool == "or" else m.and_(p, q))


# fmt: off
op("lop3.b32  d, a, b, c, lut:int", """Any bitwise function of three inputs: bit k of the 8-bit constant is the answer
   where the bits of a, b, c spell k. Compilers merge chains of and, or, xor into one; 0x96 is a xor b xor c, 0xE8 the
   majority.""", _lop3, version=(4, 3), sm=50)
op("lop3.bool.b32  d|p:pred, a, b, c, lut:int, q:pred", """lop3 that also compares its result with zero and joins the
   answer with a predicate.""", _lop3_bool, bool=("or", "and"), version=(8, 2), sm=70)

# -- shifts ------------------------------------------------------------------------------------------------------------

op("shl.type  d, a, b:u32", """Shift left, zeros moving in. PTX clamps: a shift by the width or more gives 0, unlike C,
   where it is undefined.""", lambda m, i, a, b: shift_left(m, lane_of(i), a, b), type=BITS)
op("shr.type  d, a, b:u32", """Shift right: signed types copy the sign, others move zeros in. A shift by the width or
   more gives 0 or all sign bits.""", lambda m, i, a, b: shift_right(m, lane_of(i), a, b, types.is_signed(i.type)),
   type=(*BITS, "u16", "u32", "u64", "s16", "s32", "s64"))
# fmt: on


def _shf(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    limit = m.const("i32", 32)
    n = m.and_(c, m.const("i32", 31)) if i.mode == "wrap" else m.umin(c, limit)
    rest = m.sub(limit, n)
    if i.dir == "l":
        return m.or_(shift_left(m, "i32", b, n), shift_right(m, "i32", a, rest))
    return m.or_(shift_left(m, "i32", b, rest), shift_right(m, "i32", a, n))


op("shf.dir.mode.b32  d, a, b, c:u32", """Funnel shift: shifts the 64-bit number with low word a and high word b by c,
   and keeps the high word (`.l`) or the low word (`.r`). With a = b and `.wrap` it rotates.""", _shf, dir=("l", "r"),
   mode=("clamp", "wrap"), version=(3, 1), sm=32)  # fmt: skip

# -- bytes -------------------------------------------------------------------------------------------------------------


def _byte(m: Machine, low: Value, high: Value, selector: Value, replicate: bool) -> Value:
    """The byte (0 to 7) of high:low that the low bits of `selector` name; bit 3 asks for its sign in all bits."""
    both = m.or_(m.zext("i64", low), m.shl(m.zext("i64", high), m.const("i64", 32)))
    index = m.and_(selector, m.const("i32", 7))
    bits = m.shl(m.zext("i64", index), m.const("i64", 3))
    byte = m.and_(m.trunc("i32", m.lshr(both, bits)), m.const("i32", 0xFF))
    if not replicate:
        return byte
    negative = m.ne(m.and_(byte, m.const("i32", 0x80)), m.const("i32", 0))
    sign = m.select(negative, m.const("i32", 0xFF), m.const("i32", 0))
    return m.select(m.ne(m.and_(selector, m.const("i32", 8)), m.const("i32", 0)), sign, byte)


_PRMT = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}
"""Mode -> for c = 0 to 3, which byte becomes byte 0, 1, 2, 3 of the result."""


def _prmt(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    if i.mode is not None:
        table = _PRMT[i.mode]
        words = [sum(row[k] << 4 * k for k in range(4)) for row in table]
        index = m.and_(c, m.const("i32", 3))
        c = m.const("i32", words[0])
        for k in range(1, 4):
            c = m.select(m.eq(index, m.const("i32", k)), m.const("i32", words[k]), c)
    d = m.const("i32", 0)
    for k in range(4):
        selector = m.lshr(c, m.const("i32", 4 * k)) if k else c
        byte = _byte(m, a, b, selector, i.mode is None)
        d = m.or_(d, m.shl(byte, m.const("i32", 8 * k)) if k else byte)
    return d


op("prmt.b32{.mode}  d, a, b, c", """Picks four of the eight bytes of b:a; each nibble of c names one (bit 3 of it:
   fill with that byte's sign). It repacks 8- and 16-bit data for tensor cores in one instruction.""", _prmt,
   mode=("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"), version=(2, 0), sm=20)  # fmt: skip
