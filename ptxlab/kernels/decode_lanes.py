"""How a row of D elements is spread over the lanes of a warp, and the few conversions that all decode kernels share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxlab.builder import Builder, Ptr, Register, b32, f16, f32, s32, u16, u32

WARP = 32
ELEMENTS = 12
"""The most elements of a row that a lane should hold, which it does four times over: q, o, a key and a value."""
LOWEST = -3.0e38
"""Stands for the maximum of no scores where something is subtracted from it: -inf - (-inf) would be NaN."""


@dataclass(frozen=True)
class Lanes:
    """A row of `head_dim` elements in pieces of one load: `group` lanes hold one row, each `chunks` pieces of it.

    A load takes 16 bytes, the most there is, or 8 where 16-bit rows of an odd size (such as 96) would leave a lane with
    more elements than registers. Piece i of lane n of a group is piece `n + group * i` of the row, so that neighbours
    load neighbouring memory. A warp holds `rows` rows at once.

    Groups are powers of two, because shuffles add them up. A row of 12 pieces suits 4 lanes, with 3 pieces each. One of
    10 would suit 2 lanes, with too many registers each: there the first 2 of 4 lanes have 3 pieces and the others 2,
    with zeros in place of the third (`full`).
    """

    head_dim: int
    dtype: str

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 4 if self.dtype == "f32" else 2

    @property
    def words(self) -> int:
        """Registers of a piece: 4, or 2."""
        odd = self.head_dim & (self.head_dim - 1)
        return 2 if odd and self.dtype != "f32" else 4

    @property
    def width(self) -> int:
        """Elements of a piece."""
        return 4 * self.words // self.size

    @property
    def pieces(self) -> int:
        """Pieces of a row."""
        return self.head_dim // self.width

    @property
    def group(self) -> int:
        """Lanes per row: the largest power of two that divides its pieces, or more if a lane's would be too many."""
        group = min(WARP, self.pieces & -self.pieces)
        while -(-self.pieces // group) * self.width > ELEMENTS:
            group *= 2
        return group

    @property
    def chunks(self) -> int:
        """Pieces a lane."""
        return -(-self.pieces // self.group)

    @property
    def rows(self) -> int:
        """Rows that a warp holds at once."""
        return WARP // self.group

    @property
    def elements(self) -> int:
        """Elements a lane."""
        return self.chunks * self.width

    def at(self, element: int) -> int:
        """Where in the row element `element` of lane 0 lies; lane n's lies n * width further."""
        return element // self.width * self.group * self.width + element % self.width

    @property
    def word(self) -> type[Any]:
        """The type of a piece's registers: f32, or two elements in 32 bits."""
        return f32 if self.dtype == "f32" else b32

    def full(self, k: Builder, member: u32) -> Any:
        """Whether lane `member` of a group has a last piece; None if all of them do."""
        last = self.pieces - self.group * (self.chunks - 1)
        if last == self.group:
            return None
        has_last = member < last
        return has_last

    def load(self, k: Builder, pointer: Ptr[Any], full: Any) -> list[Any]:
        """A lane's pieces of a row, as they are. `pointer`: the lane's first piece; `full`: see there."""
        words: list[Any] = []
        for i in range(self.chunks):
            at = (pointer + i * self.group * self.width).cast(self.word)
            if full is None or i + 1 < self.chunks:
                words += k.load(at, self.words, vector=self.words, nc=True)
            else:
                piece = k.vars(self.word, self.words, 0)
                with k.guard(full):
                    k.op(f"ld.global.nc.v{self.words}.{self.word.ptx}", at, into=piece)
                words += piece
        return words

    def floats(self, k: Builder, words: list[Any]) -> list[f32]:
        """The elements in f32, from what `load` gave."""
        return [x for word in words for x in unpacked(k, word, self.dtype)]


def unpacked(k: Builder, word: Register[Any], dtype: str) -> list[Any]:
    """The elements in a register: one f32, or two f16 or bf16. A bf16 is the upper half of an f32."""
    if dtype == "f32":
        return [word]
    if dtype == "f16":
        return [k.cvt(f32, half) for half in k.unpack(word, f16)]
    bits = k.bitcast(u32, word)
    return [k.bitcast(f32, bits << 16), k.bitcast(f32, bits & 0xFFFF0000)]


def load_float(k: Builder, pointer: Ptr[Any]) -> f32:
    """One element in f32."""
    if pointer.element.ptx == "bf16":
        return k.bitcast(f32, k.cvt(u32, k.load(pointer.cast(u16))) << 16)
    return k.load(pointer) if pointer.element is f32 else k.cvt(f32, k.load(pointer))


def rounded(k: Builder, x: Register[f32], element: type[Any]) -> Any:
    """An f32 in the type of the output."""
    return x if element is f32 else k.cvt(element, x)


def sum_over(k: Builder, x: Any, lanes: int) -> None:
    """Adds up the variable `x` over groups of `lanes` lanes; each lane of a group has the sum."""
    step = lanes // 2
    while step:
        x += k.shfl(x, step, 31, -1, mode="bfly")
        step //= 2


def max_over(k: Builder, x: Any, lanes: int) -> None:
    """The variable `x` becomes its maximum over groups of `lanes` lanes."""
    step = lanes // 2
    while step:
        x.set(k.max(x, k.shfl(x, step, 31, -1, mode="bfly")))
        step //= 2


def key_count(k: Builder, length: u32 | Ptr[s32], batch: u32) -> u32:
    """The number of keys of a sequence, whether it came by value or by pointer; a negative one counts as none."""
    if not isinstance(length, Ptr):
        return length
    keys = k.cvt(u32, length[batch], sat=True)
    return keys
