"""How a CPU multiplies f16 and bf16 matrices: the forms in which its products read A and B, and how they are cut.

A product is cut into units: 8 columns of d, and 16 rows or 8 if it has no more. A and B are brought into memory once
and multiplied as often as they are used (`wide_operands`). The forms, `rows` being those of a unit:

| form | A | B |
|---|---|---|
| `FLOATS` | f32: 4 of each row along k, row by row, then the next 4 | f32: for each k the even columns, then the odd |
| `ROWS` | f32: 8 of each row along k, row by row, then the next 8 | as `FLOATS` |
| `HALVES` | as `ROWS` | 16 bits each, in the same order |
| `PAIRS` | 4 pairs of each row along k, row by row, then the next 4 | for each pair the even columns, then the odd |

The k of a B in `HALVES` are in the order 0, 8, 1, 9, ..., its pairs in `PAIRS` in the order 0, 4, 1, 5, 2, ...: what
shuffles both blocks of 8 in one vector leaves them so. A pair has the first of two neighbours above.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace

from ptxlab.isa.fragments import Fragment, Product

FLOATS, ROWS, HALVES, PAIRS = "floats", "rows", "halves", "pairs"
ZERO = "zero"
"""In place of the type of C where all of it is known to be 0.0: it has no registers."""
EVEN_FIRST = (0, 2, 4, 6, 1, 3, 5, 7)
"""The columns of B in the order of d's registers."""
COLUMNS = 8
"""Columns of a unit."""
FLAG = 64
"""Bytes after pairs, which say whether no element is too small for vdpbf16ps."""


@dataclass(frozen=True)
class Vectors:
    """What a CPU has for f32: lanes of a vector; fused: multiply-adds in hardware; by_element: those of a vector and
    one element of another; dots: sums of products of pairs of bf16 (vdpbf16ps)."""

    lanes: int
    fused: bool = True
    by_element: bool = False
    dots: bool = False

    @property
    def rows(self) -> int:
        """Rows of 4 columns in a vector."""
        return self.lanes // 4

    def form(self, type_: str) -> str:
        """The form of operands of a type."""
        if self.dots and type_ == "bf16":
            return PAIRS
        return {16: HALVES, 8: ROWS}.get(self.lanes, FLOATS)


def vectors(features: str) -> Vectors:
    """By the CPU's features, as LLVM writes them. Not all ARM CPUs have theirs named; NEON is in all of them."""
    neon = "+neon" in features or platform.machine().lower() in ("arm64", "aarch64")
    lanes = 16 if "+avx512f" in features else 8 if "+avx" in features else 4
    return Vectors(lanes, "+fma" in features or neon, neon, "+avx512bf16" in features)


def is_half_product(p: Product) -> bool:
    """Whether a product is made in this way: all of f16 and bf16 but sparse ones and the four matrices of m8n8k4."""
    return p.a.type in ("f16", "bf16") and p.a.columns >= 8 and not p.packed


@dataclass(frozen=True)
class Unit:
    """A unit of a product: the types of A and B, of C and of d, the rows, and how deep it is."""

    type: str
    c: str
    d: str
    rows: int
    depth: int

    @property
    def blocks(self) -> int:
        """Blocks of 8 along k."""
        return self.depth // 8

    def goes_on(self, before: Unit) -> bool:
        """Whether it can add to the sums of another one before they are rounded to their type or written."""
        return replace(before, c="f32") == self and self.c == self.d == "f32"

    def a_bytes(self, form: str) -> int:
        return a_bytes(self.rows, self.depth, form)

    def b_bytes(self, form: str) -> int:
        return b_bytes(self.depth, form)

    def registers(self, type_: str) -> int:
        """Registers of a sum of this type."""
        if type_ == ZERO:
            return 0
        return self.rows // 8 * (2 if type_ == "f32" else 1)


def unit(p: Product) -> Unit:
    """What a product is cut into."""
    return Unit(p.a.type, p.c.type, p.d.type, unit_rows(p.a), p.a.columns)


def unit_rows(a: Fragment) -> int:
    return min(16, a.rows)


def a_bytes(rows: int, depth: int, form: str) -> int:
    """Bytes of an A of a unit."""
    return 2 * rows * depth + FLAG if form == PAIRS else 4 * rows * depth


def b_bytes(depth: int, form: str) -> int:
    """Bytes of a B of a unit."""
    return {
        FLOATS: 4 * COLUMNS * depth,
        ROWS: 4 * COLUMNS * depth,
        HALVES: 2 * COLUMNS * depth,
        PAIRS: 2 * COLUMNS * depth + FLAG,
    }[form]
