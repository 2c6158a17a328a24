"""Fragments: which lane holds which element of a matrix, in which register, for every matrix instruction.

A warp holds a matrix in pieces: each lane has a fragment, a few registers of it. Nearly all fragments are made of one
block, 8 rows of 16 bytes, of which lane 4*g + t holds bytes 4*t to 4*t + 3 of row g in one register. With 16-bit
elements that is an 8x8 matrix with two neighbours in a register; with 8-bit elements 8x16; with 32-bit ones 8x4. (A
register of f64 is 8 bytes wide and its block 8 rows of 32 bytes.)

    A (M x K)      blocks over the rows; registers go down 16 rows, then along k, then to the next 16 rows
    B (K x N)      the same block turned round: lane 4*g + t holds column g, and its elements lie along k
    C, D (M x N)   lane 4*g + t holds columns 2*t and 2*t + 1 of row g, then of row g + 8, then the next 8 columns

The manual specifies this for `mma.sync`, `ldmatrix`, `stmatrix` and `movmatrix`. For `wmma` it specifies only how many
registers there are: on hardware the layout differs from chip to chip. Here a wmma fragment is laid out as the same
matrix for `mma.sync`, and where an f16 operand has more registers than elements (A and B always have eight), the rest
repeats what came before. Loading, multiplying and storing agree on it, and nothing else may rely on it.

`wgmma` splits its 64 rows among four warps, and each holds its 16 as `mma` does: A with 32 bytes of a row, D as wide as
the product.

`mma.m8n8k4` with f16 is the exception: it multiplies four pairs of 8x4 and 4x8 matrices at once, one for each quad of
lanes 4*q to 4*q + 3 together with lanes 16 + 4*q to 16 + 4*q + 3. Here matrix q of A has rows 8*q to 8*q + 7, B has
columns 8*q to 8*q + 7, and C both.

Source: PTX ISA 9.0, "Matrix fragments for mma" and "for wmma", "ldmatrix".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.entries import Opcode

LANES = 32
_LANE = np.arange(LANES)
_GROUP, _IN_GROUP = _LANE >> 2, _LANE & 3


@dataclass(eq=False, repr=False)
class Fragment:
    """A matrix as a warp holds it. `row` and `column` (int, shape (registers, elements in a register, 32)) say which
    element lies there, the lowest bits of a register first.

    rows, columns: of the matrix. type: its elements' PTX type. width: bits of a register.
    """

    rows: int
    columns: int
    type: str
    width: int
    row: np.ndarray = field(repr=False)
    column: np.ndarray = field(repr=False)

    @property
    def registers(self) -> int:
        """Registers a lane."""
        return int(self.row.shape[0])

    @property
    def packed(self) -> int:
        """Elements in a register."""
        return int(self.row.shape[1])

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.width // self.packed

    def where(self, row: int, column: int) -> list[tuple[int, int, int]]:
        """Every place that holds an element: (lane, register, position in the register)."""
        found = np.argwhere((self.row == row) & (self.column == column))
        return [(int(lane), int(register), int(position)) for register, position, lane in found]

    def element(self, lane: int, register: int, position: int = 0) -> tuple[int, int]:
        """The (row, column) that a lane holds there."""
        return int(self.row[register, position, lane]), int(self.column[register, position, lane])

    @functools.cached_property
    def first(self) -> np.ndarray:
        """int, shape (rows, columns): the first place of each element, as (register * packed + position) * 32 + lane;
        -1 where no lane holds it."""
        place = np.full((self.rows, self.columns), self.row.size)
        np.minimum.at(place, (self.row, self.column), np.arange(self.row.size).reshape(self.row.shape))
        place[place == self.row.size] = -1
        return place


def _fragment(rows: int, columns: int, type: str, blocks: list[tuple[np.ndarray, np.ndarray]]) -> Fragment:
    row, column = (np.stack([np.broadcast_to(b[k], b[0].shape) for b in blocks]) for k in (0, 1))
    return Fragment(rows, columns, type, max(32, types.width(type)), row, column)


@functools.cache
def operand_a(rows: int, k: int, type: str) -> Fragment:
    """A as `mma` takes it: each register a block of 8 rows and 16 bytes along k."""
    packed = max(1, 32 // types.width(type))
    along = packed * _IN_GROUP + np.arange(packed)[:, None]
    blocks = []
    for top in range(0, rows, 16):
        for start in range(0, k, 4 * packed):
            for half in range(min(2, rows // 8)):
                row = np.broadcast_to(top + 8 * half + _GROUP, (packed, LANES))
                blocks.append((row, start + along))
    return _fragment(rows, k, type, blocks)


@functools.cache
def operand_b(k: int, columns: int, type: str) -> Fragment:
    """B as `mma` wants it: A's blocks turned round."""
    packed = max(1, 32 // types.width(type))
    along = packed * _IN_GROUP + np.arange(packed)[:, None]
    blocks = []
    for left in range(0, columns, 8):
        for start in range(0, k, 4 * packed):
            blocks.append((start + along, np.broadcast_to(left + _GROUP, (packed, LANES))))
    return _fragment(k, columns, type, blocks)


@functools.cache
def accumulator(rows: int, columns: int, type: str) -> Fragment:
    """C or D: two neighbouring columns per lane and row, in one register (f16) or two."""
    pair = 2 * _IN_GROUP + np.arange(2)[:, None]
    blocks = []
    for top in range(0, rows, 16):
        for left in range(0, columns, 8):
            for half in range(min(2, rows // 8)):
                row, column = np.broadcast_to(top + 8 * half + _GROUP, (2, LANES)), left + pair
                if types.width(type) == 16:
                    blocks.append((row, column))
                else:
                    blocks += [(row[[i]], column[[i]]) for i in (0, 1)]
    return _fragment(rows, columns, type, blocks)


@functools.cache
def _quad_pair(what: str, layout: str, type: str) -> Fragment:
    """The four matrices of `mma.m8n8k4` with f16; `layout` is A's or B's."""
    quad, within, upper = (_LANE & 15) >> 2, _LANE & 3, 4 * (_LANE >> 4)
    i = np.arange(8 if what == "c" else 4)[:, None]
    if what == "c" and type == "f32":
        major, minor = upper + (within & 1) + (i & 2), (i & 4) + (within & 2) + (i & 1)
    elif what == "c":
        major, minor = upper + within + 0 * i, i + 0 * within
    elif (what == "a") == (layout == "row"):
        major, minor = upper + within + 0 * i, i + 0 * within
    else:
        major, minor = upper + i, within + 0 * i
    row, column = 8 * quad + major, minor
    if what == "b":
        row, column = minor, 8 * quad + major
    elif what == "c":
        column = 8 * quad + minor
    packed = 32 // types.width(type)
    blocks = [(row[k : k + packed], column[k : k + packed]) for k in range(0, len(row), packed)]
    rows, columns = {"a": (32, 4), "b": (4, 32), "c": (32, 32)}[what]
    return _fragment(rows, columns, type, blocks)


@functools.cache
def rows_of_8(count: int, transposed: bool) -> Fragment:
    """What `ldmatrix` loads and `stmatrix` stores: `count` 8x8 matrices of b16 below each other, one in a register."""
    pair = 2 * _IN_GROUP + np.arange(2)[:, None]
    group = np.broadcast_to(_GROUP, (2, LANES))
    blocks = [(8 * n + (pair if transposed else group), group if transposed else pair) for n in range(count)]
    return _fragment(8 * count, 8, "b16", blocks)


@functools.cache
def each_lane() -> Fragment:
    """A word per lane, as a column of 32: the metadata of a sparse product."""
    return Fragment(LANES, 1, "b32", 32, _LANE[None, None], np.zeros((1, 1, LANES), np.intp))


def shape(text: str) -> tuple[int, int, int]:
    """(M, N, K) of a shape: `"m16n8k16"`."""
    m, n, k = map(int, re.findall(r"\d+", text))
    return m, n, k


def _repeated(f: Fragment, registers: int) -> Fragment:
    times = registers // f.registers
    row, column = np.tile(f.row, (times, 1, 1)), np.tile(f.column, (times, 1, 1))
    return Fragment(f.rows, f.columns, f.type, f.width, row, column)


@functools.cache
def wmma(what: str, dimensions: str, type: str) -> Fragment:
    """The fragment of matrix "a", "b", "c" or "d" of a wmma shape."""
    m, n, k = shape(dimensions)
    if what in ("c", "d"):
        return accumulator(m, n, type)
    f = operand_a(m, k, type) if what == "a" else operand_b(k, n, type)
    return _repeated(f, 8) if type == "f16" else f


@functools.cache
def words(f: Fragment) -> Fragment:
    """A fragment of A or B with each register taken as one element of 32 bits: where elements are smaller than a byte,
    memory and products deal with the words that hold them, along a row of A or a column of B."""
    along_row = bool((f.row[0, 0] == f.row[0, 1]).all())
    rows, columns = (f.rows, f.columns // f.packed) if along_row else (f.rows // f.packed, f.columns)
    row, column = f.row[:, :1] * rows // f.rows, f.column[:, :1] * columns // f.columns
    return Fragment(rows, columns, "b32", f.width, row, column)


class Product(NamedTuple):
    """The matrices of `d = a*b + c`; bits: "xor" or "and" where that stands for the product of two bits; packed: A is
    sparse and without its zeros (`ptxlab.isa.sparse`)."""

    a: Fragment
    b: Fragment
    c: Fragment
    d: Fragment
    bits: str = ""
    packed: bool = False


@functools.cache
def product(form: Opcode) -> Product:
    """The fragments of an `mma.sync` or `wmma.mma` form; of a `wgmma` form those of one warp, as if b were in registers
    as well."""
    m, n, k = shape(form.shape)
    a, b, c, d = form.atype, form.btype, form.ctype, form.dtype
    if form.op.does is Action.WARPGROUP_PRODUCT:
        m, c = m // 4, d
    if form.op.name == "wmma":
        a, b, c, d = (wmma(what, form.shape, type) for what, type in (("a", a), ("b", b), ("c", c), ("d", d)))
        return Product(a, b, c, d, form.bits or "")
    if form.shape == "m8n8k4" and a == "f16":
        return Product(_quad_pair("a", form.alayout, a), _quad_pair("b", form.blayout, b), _quad_pair("c", "", c),
                       _quad_pair("c", "", d))  # fmt: skip
    if form.sparse:
        return Product(
            operand_a(m, k // 2, a), operand_b(k, n, b), accumulator(m, n, c), accumulator(m, n, d), "", True
        )
    return Product(operand_a(m, k, a), operand_b(k, n, b), accumulator(m, n, c), accumulator(m, n, d), form.bits or "")


@functools.cache
def operands(form: Opcode) -> Mapping[str, Fragment]:
    """The fragment of each register operand of a matrix instruction, by the operand's name in the table."""
    name = form.op.name
    if form.op.does in (Action.WARPGROUP_FENCE, Action.WARPGROUP_COMMIT, Action.WARPGROUP_WAIT):
        return {}
    if name == "movmatrix":
        return {"d": rows_of_8(1, True), "a": rows_of_8(1, False)}
    if name in ("ldmatrix", "stmatrix"):
        return {"d" if name == "ldmatrix" else "b": rows_of_8(int(form.num[1:]), form.trans)}
    if form.matrix:
        f = wmma(form.matrix, form.shape, form.type)
        return {"b" if form.matrix == "d" else "d": words(f) if form.type in types.SUB_BYTE else f}
    p = product(form)
    if form.op.does is Action.WARPGROUP_PRODUCT:
        held = {"d": p.d, "a": p.a}  # a may be in shared memory instead
    else:
        held = {"d": p.d, "a": p.a, "b": p.b, "c": p.c}
    return held | {"e": each_lane()} if form.sparse else held


class Piece(NamedTuple):
    """Up to 16 bytes that lie together in memory and in a matrix: the number of the row (or column, in column-major
    order), the first byte in it, and the lane that is named when the access is wrong."""

    line: int
    start: int
    size: int
    lane: int


@functools.cache
def pieces(f: Fragment, layout: str) -> list[Piece]:
    """How `wmma.load` and `wmma.store` go to memory: line after line, each checked in pieces of 16 bytes."""
    lines, along = (f.rows, f.columns) if layout == "row" else (f.columns, f.rows)
    size, out = f.bits // 8, []
    for line in range(lines):
        for start in range(0, along * size, 16):
            row, column = (line, start // size) if layout == "row" else (start // size, line)
            out.append(Piece(line, start, min(16, along * size), int(f.first[row, column]) % LANES))
    return out
