"""Factors of a sparse product as LLVM IR: an element of the packed A, and the element of B that its metadata points to.

The element of B is one of four (or of four pairs of 4-bit ones) in the rows of one chunk. If they lie in one word, that
word is shifted; else two or four vectors are picked, and one of them is selected lane by lane.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.llvm.fragments import Place, load, pick, places, shuffle
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.matrices.element_conversions import VEC, bits, nibble, widen
from ptxlab.isa.fragments import Fragment, Product, words
from ptxlab.isa.sparse import Metadata


class Operand:
    """A, B or C in registers: 32 lanes of its elements, as bits or as numbers, each pick made once."""

    def __init__(self, t: Text, f: Fragment, first: int, *, numbers: bool) -> None:
        self.t, self.f, self.numbers = t, f, numbers
        self.vectors = [load(t, first + k, bits(f), W * f.packed) for k in range(f.registers)]
        self.known: dict[tuple[Place, ...], str] = {}

    def at(self, row: np.ndarray, column: np.ndarray) -> str:
        """The elements at 32 rows and columns."""
        wanted = tuple(places(self.f, row, column))
        if wanted not in self.known:
            picked = pick(self.t, bits(self.f), W * self.f.packed, self.vectors, wanted)
            self.known[wanted] = widen(self.t, self.f.type, W, picked) if self.numbers else picked
        return self.known[wanted]


class PackedProducts:
    """The factors of `d = a*b + c` with a packed A. Registers come in the order d, a, b, c, e."""

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
            left = widen(t, self.p.a.type, W, self.a.at(row, np.full(W, j)))
        if not self.in_words:
            return left, widen(t, type_, W, self._one_of(int(self.metadata.base[j]), index, column))
        word = self.b.at(np.full(W, self.metadata.base[j] // (4 * self.metadata.unit)), column)
        word = t.lshr(VEC, word, t.shl(VEC, index, "splat (i32 3)"))
        if self.p.b.bits < 8:
            return left, nibble(t, type_, word, j % self.metadata.unit)
        return left, widen(t, type_, W, t.trunc(VEC, word, f"<{W} x i8>"))

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
        t, ty = self.t, f"<{W} x {bits(self.p.b)}>"
        found = [self.b.at(np.full(W, first + k), column) for k in range(self.metadata.mask + 1)]
        bit = 1
        while len(found) > 1:
            is_set = t.ne(VEC, t.and_(VEC, index, f"splat (i32 {bit})"), "zeroinitializer")
            found = [
                t.select(is_set, ty, odd, even, of=f"<{W} x i1>")
                for even, odd in zip(found[::2], found[1::2], strict=True)
            ]
            bit *= 2
        return found[0]
