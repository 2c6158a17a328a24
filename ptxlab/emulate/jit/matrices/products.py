"""Matrix products as LLVM functions, one for each form: `f(ptr %ws, ptr %table)`, the registers of d, a, b and c.

`ptxlab.emulate.step.bodies.matrices` says how numbers are computed; both engines agree to the last bit. Kinds of code:

- `_general` follows the fragments: for each k it arranges one column of A and one row of B over the lanes like the
  fragment of the sum, and multiplies. It serves every form; for a sparse A with factors from `PackedProducts`.
- `_words` does the same with whole words, for elements smaller than a byte.

A register of 32 lanes is one vector of 32 * packed elements, lane 0 first: the element of a lane at a position is
number `lane * packed + position`. Functions take `%ws`, the warp's state, and `%table`, the byte offsets in it of their
registers: one function serves every instruction of its form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.isa.fragments import Fragment, Product, words
from ptxlab.isa.sparse import Metadata
from ptxlab.isa.types import is_signed

Place = tuple[int, int]
"""A register and an element of its vector."""


def places(f: Fragment, row: np.ndarray, column: np.ndarray) -> list[Place]:
    """The first place of each element at these rows and columns (arrays of one shape, flattened)."""
    found = f.first[row, column].ravel()
    return [(int(p) // (W * f.packed), int(p) % W * f.packed + int(p) // W % f.packed) for p in found]


def shuffle(t: Text, ty: str, width: int, a: str, b: str, indices: Sequence[int]) -> str:
    """Elements of two vectors of `width` elements, by index."""
    if b == "poison" and list(indices) == list(range(width)):
        return a
    return t.shuffle(f"<{width} x {ty}>", a, indices, b)


def pick(t: Text, ty: str, width: int, sources: Sequence[str], wanted: Sequence[Place]) -> str:
    """A vector of the wanted elements of vectors that have `width` each."""
    used = sorted({source for source, _ in wanted})
    if len(used) > 2:
        used += used[:1] * ((1 << (len(used) - 1).bit_length()) - len(used))
    where = {source: k * width for k, source in reversed(list(enumerate(used)))}
    indices = [where[source] + element for source, element in wanted]
    if len(used) <= 2:
        return shuffle(t, ty, width, sources[used[0]], sources[used[1]] if len(used) > 1 else "poison", indices)
    half = len(used) // 2
    low, high = (t.joined(ty, width, [sources[s] for s in some]) for some in (used[:half], used[half:]))
    return shuffle(t, ty, width * half, low, high, indices)


def slot(t: Text, number: int) -> str:
    """A pointer to the register whose offset is the `number`th of the table."""
    p = t.element("i32", "%table", number)
    offset = t.zext("i32", t.load("i32", p), "i64")
    return t.offset("%ws", offset)


def load(t: Text, number: int, ty: str, count: int) -> str:
    return t.load(f"<{count} x {ty}>", slot(t, number), align=64)


def store(t: Text, number: int, ty: str, count: int, value: str) -> None:
    t.store(f"<{count} x {ty}>", value, slot(t, number), align=64)


def function(t: Text, name: str, more: str = "", result: str = "void", value: str | int = "") -> str:
    """Ends a function and gives its text. more: parameters behind the two."""
    t.ret(result, value)
    return t.function(f"{result} @{name}(ptr %ws, ptr %table{more})")


VEC = f"<{W} x i32>"


def product_function(name: str, p: Product, declared: set[str], satfinite: bool, metadata: Metadata | None) -> str:
    """The text of the function; its intrinsics are added to `declared`. metadata: where a sparse product has it."""
    t = Text()
    t.declared = declared
    if metadata is not None:
        _general(t, p, satfinite, PackedProducts(t, p, metadata))
    elif p.a.bits < 8:
        _words(t, p, satfinite)
    else:
        _general(t, p, satfinite)
    return function(t, name)


# -- operands ----------------------------------------------------------------------------------------------------------


class Operand:
    """A, B or C in registers: 32 lanes of its elements, as bits or as numbers, each pick made once."""

    def __init__(self, t: Text, f: Fragment, first: int, *, numbers: bool) -> None:
        self.t, self.f, self.numbers = t, f, numbers
        self.vectors = [load(t, first + k, bits(f), W * f.packed) for k in range(f.registers)]
        self.known: dict[tuple[Place, ...], str] = {}

    def at(self, row: np.ndarray, column: np.ndarray) -> str:
        wanted = tuple(places(self.f, row, column))
        if wanted not in self.known:
            picked = pick(self.t, bits(self.f), W * self.f.packed, self.vectors, wanted)
            self.known[wanted] = widen(self.t, self.f.type, picked) if self.numbers else picked
        return self.known[wanted]


class PackedProducts:
    """The factors of `d = a*b + c` with a packed A: an element of A, and the element of B that its metadata points to.
    Registers come in the order d, a, b, c, e.

    The element of B is one of four (or of four pairs of 4-bit ones) in the rows of one chunk. If they lie in one word,
    that word is shifted; else two or four vectors are picked, and one of them is selected lane by lane.
    """

    def __init__(self, t: Text, p: Product, metadata: Metadata) -> None:
        self.t, self.p, self.metadata = t, p, metadata
        self.in_words = p.b.bits <= 8
        at_a = p.d.registers
        at_b = at_a + p.a.registers
        self.a = Operand(t, words(p.a) if p.a.bits < 8 else p.a, at_a, numbers=False)
        self.b = Operand(t, words(p.b) if self.in_words else p.b, at_b, numbers=False)
        self.e = load(t, at_b + p.b.registers + p.c.registers, "i32", W)
        self.indices: dict[tuple[int, ...], str] = {}

    def factors(self, j: int, row: np.ndarray, column: np.ndarray) -> tuple[str, str]:
        """Packed column j of A in these 32 rows, and the matching elements of B in these columns: numbers."""
        t, type_ = self.t, self.p.b.type
        index = self._index(j, row)
        if self.p.a.bits < 8:
            left = nibble(t, self.p.a.type, self.a.at(row, np.full(W, j // 8)), j % 8)
        else:
            left = widen(t, self.p.a.type, self.a.at(row, np.full(W, j)))
        if not self.in_words:
            return left, widen(t, type_, self._one_of(int(self.metadata.base[j]), index, column))
        word = self.b.at(np.full(W, self.metadata.base[j] // (4 * self.metadata.unit)), column)
        word = t.lshr(VEC, word, t.shl(VEC, index, "splat (i32 3)"))
        if self.p.b.bits < 8:
            return left, nibble(t, type_, word, j % self.metadata.unit)
        return left, widen(t, type_, t.trunc(VEC, word, lanes("i8")))

    def _index(self, j: int, row: np.ndarray) -> str:
        """The index in the metadata for packed column j in these rows, i32."""
        t = self.t
        lane, shift = (tuple(int(x) for x in some[row, j]) for some in (self.metadata.lane, self.metadata.shift))
        if lane + shift not in self.indices:
            shifts = ", ".join(f"i32 {x}" for x in shift)
            moved = t.lshr(VEC, shuffle(t, "i32", W, self.e, "poison", lane), f"<{shifts}>")
            self.indices[lane + shift] = t.and_(VEC, moved, f"splat (i32 {self.metadata.mask})")
        return self.indices[lane + shift]

    def _one_of(self, first: int, index: str, column: np.ndarray) -> str:
        """Row `first + index` of B, as bits."""
        t, ty = self.t, lanes(bits(self.p.b))
        found = [self.b.at(np.full(W, first + k), column) for k in range(self.metadata.mask + 1)]
        bit = 1
        while len(found) > 1:
            is_set = t.ne(VEC, t.and_(VEC, index, f"splat (i32 {bit})"), "zeroinitializer")
            found = [
                t.select(is_set, ty, odd, even, of=lanes("i1"))
                for even, odd in zip(found[::2], found[1::2], strict=True)
            ]
            bit *= 2
        return found[0]


# -- products ----------------------------------------------------------------------------------------------------------


def _operands(t: Text, p: Product, a: Fragment, b: Fragment) -> Iterator[Operand]:
    """A and B, as these fragments, and C: their registers follow those of D."""
    first = p.d.registers
    for f in (a, b, p.c):
        yield Operand(t, f, first, numbers=True)
        first += f.registers


def _general(t: Text, p: Product, satfinite: bool, packed: PackedProducts | None = None) -> None:
    a, b, c = _operands(t, p, p.a, p.b)
    spots = [(r, q) for r in range(p.d.registers) for q in range(p.d.packed)]
    start = {s: c.at(p.d.row[s], p.d.column[s]) for s in spots}
    integer = p.d.type == "s32"
    total = dict.fromkeys(spots, "zeroinitializer") if integer else dict(start)
    vec, fma = (lanes("double"), f"llvm.fma.v{W}f64") if p.d.type == "f64" else (lanes("float"), f"llvm.fma.v{W}f32")
    for k in range(p.a.columns):
        for s in spots:
            if packed is not None:
                left, right = packed.factors(k, p.d.row[s], p.d.column[s])
            else:
                left, right = a.at(p.d.row[s], np.full(W, k)), b.at(np.full(W, k), p.d.column[s])
            if integer:
                part = t.mul(VEC, left, right)
                total[s] = t.add(VEC, total[s], part)
            else:
                total[s] = t.call(vec, fma, [(vec, left), (vec, right), (vec, total[s])])
    if integer:
        total = {s: _add(t, start[s], total[s], satfinite) for s in spots}
    for r in range(p.d.registers):
        parts = [narrow(t, p.d.type, total[r, q]) for q in range(p.d.packed)]
        _put(t, p.d, r, parts)


def _words(t: Text, p: Product, satfinite: bool) -> None:
    """Elements smaller than a byte: words are arranged over the lanes, and unpacked there."""
    a, b, c = _operands(t, p, words(p.a), words(p.b))
    for r in range(p.d.registers):
        row, column = p.d.row[r, 0], p.d.column[r, 0]
        along = [np.full(W, k) for k in range(p.a.columns // p.a.packed)]
        total = dot(t, p, [(a.at(row, k), b.at(k, column)) for k in along])
        store(t, r, "i32", W, _add(t, c.at(row, column), total, satfinite))


def _add(t: Text, a: str, b: str, satfinite: bool) -> str:
    """c plus the sum of the products, which by itself fits in an s32."""
    if satfinite:
        return t.call(VEC, f"llvm.sadd.sat.v{W}i32", [(VEC, a), (VEC, b)])
    return t.add(VEC, a, b)


def _put(t: Text, f: Fragment, register: int, parts: list[str]) -> None:
    """Writes a register of the result: one or two elements per lane."""
    if len(parts) == 1:
        store(t, register, bits(f), W, parts[0])
        return
    low, high = (t.zext(lanes("i16"), part, VEC) for part in parts)
    high = t.shl(VEC, high, "splat (i32 16)")
    store(t, register, "i32", W, t.or_(VEC, low, high))


# -- elements as numbers -----------------------------------------------------------------------------------------------


def bits(f: Fragment) -> str:
    return f"i{f.bits}"


def lanes(type_: str) -> str:
    return f"<{W} x {type_}>"


def widen(t: Text, type_: str, value: str) -> str:
    """Elements as bits -> f32, f64 or i32."""
    if type_ == "f64":
        return t.bitcast(lanes("i64"), value, lanes("double"))
    if type_ in ("f32", "tf32"):
        if type_ == "tf32":
            value = t.and_(VEC, value, "splat (i32 -8192)")
        return t.bitcast(VEC, value, lanes("float"))
    if type_ == "bf16":
        high = t.shl(VEC, t.zext(lanes("i16"), value, VEC), "splat (i32 16)")
        return t.bitcast(VEC, high, lanes("float"))
    if type_ in ("s32", "b32"):
        return value
    if type_ in ("s8", "u8"):
        return t.let(f"{'sext' if is_signed(type_) else 'zext'} {lanes('i8')} {value} to {VEC}")
    if type_ in ("e4m3", "e5m2"):
        return _eighth(t, type_, value)
    return t.fpext(lanes("half"), t.bitcast(lanes("i16"), value, lanes("half")), lanes("float"))


def _eighth(t: Text, type_: str, value: str) -> str:
    """An 8-bit float through the f16 with the same fields: e5m2 is its upper byte, e4m3's exponent is 8 too low."""
    vec = lanes("i16")
    wide = t.zext(lanes("i8"), value, vec)
    if type_ == "e5m2":
        return widen(t, "f16", t.shl(vec, wide, "splat (i16 8)"))
    size = t.and_(vec, wide, "splat (i16 127)")
    sign = t.and_(vec, t.shl(vec, wide, "splat (i16 8)"), "splat (i16 -32768)")
    half = t.or_(vec, t.shl(vec, size, "splat (i16 7)"), sign)
    number = t.fmul(lanes("float"), widen(t, "f16", half), "splat (float 256.0)")
    nan = t.eq(vec, size, "splat (i16 127)")
    return t.select(nan, lanes("float"), "splat (float 0x7FF8000000000000)", number, of=lanes("i1"))


_NAN = {"f16": "i16 32767", "f32": "i32 2147483647", "f64": "i64 9221120237041090560"}


def narrow(t: Text, type_: str, value: str) -> str:
    """A sum -> the bits of the accumulator's type, a NaN canonical."""
    if type_ == "s32":
        return value
    wide = "double" if type_ == "f64" else "float"
    nan = t.unordered(lanes(wide), value, "zeroinitializer")
    if type_ == "f16":
        value, wide = t.fptrunc(lanes("float"), value, lanes("half")), "half"
    whole = lanes(_NAN[type_].split()[0])
    value = t.bitcast(lanes(wide), value, whole)
    return t.select(nan, whole, f"splat ({_NAN[type_]})", value, of=lanes("i1"))


def dot(t: Text, p: Product, pairs: list[tuple[str, str]]) -> str:
    """The sum, over pairs of words, of the products of the elements of A and B in them."""
    total = "zeroinitializer"
    for left, right in pairs:
        if p.bits:
            parts = [t.call(VEC, f"llvm.ctpop.v{W}i32", [(VEC, t.let(f"{p.bits} {VEC} {left}, {right}"))])]
        else:
            parts = [t.mul(VEC, nibble(t, p.a.type, left, k), nibble(t, p.b.type, right, k)) for k in range(8)]
        for part in parts:
            total = t.add(VEC, total, part)
    return total


def nibble(t: Text, type_: str, word: str, k: int) -> str:
    """Element k of each word's eight, as i32."""
    high = t.shl(VEC, word, f"splat (i32 {28 - 4 * k})")
    return t.let(f"{'ashr' if is_signed(type_) else 'lshr'} {VEC} {high}, splat (i32 28)")
