"""Operands A and B of f16 and bf16 products, brought into memory in the form in which products read them.

A register of A or B is by itself a dense 8x8 matrix, 16 bytes to a row of A or a column of B. So is what `ldmatrix`
loads, whose rows are B's columns or, with `.trans`, its rows. See `half_forms` for the forms.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxlab.emulate.jit.llvm.fragments import function, shuffle, slot
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.llvm.vector_elements import joined
from ptxlab.emulate.jit.matrices.element_conversions import widen
from ptxlab.emulate.jit.matrices.half_forms import (
    EVEN_FIRST,
    FLAG,
    FLOATS,
    HALVES,
    PAIRS,
    ROWS,
    Vectors,
    a_bytes,
    b_bytes,
    unit_rows,
)
from ptxlab.isa.fragments import Fragment

_LEAST_A, _LEAST_B = 42, 100
"""Biased exponents. With factors of 2**(42 - 127) and 2**(100 - 127) or more, 8 bits each, products are multiples of
2**-126, and so are then all sums of those and of a C of such size (see `dot_products`): none of them is subnormal."""


def pointer_at(t: Text, pointer: str, offset: int) -> str:
    """A pointer to a byte after another."""
    return t.offset(pointer, offset) if offset else pointer


def widening_a(name: str, f: Fragment, cpu: Vectors, declared: set[str]) -> str:
    """`f(ptr %ws, ptr %table, ptr %wide)`: the table begins with the registers of A; one unit's A after the other."""
    t = Text()
    t.declared = declared
    form, rows, blocks = cpu.form(f.type), unit_rows(f), f.columns // 8
    halves = rows // 8
    for top in range(f.rows // rows):
        wide = pointer_at(t, "%wide", top * a_bytes(rows, f.columns, form))
        looked: list[str] = []
        for block in range(blocks):
            for half in range(halves):
                held = slot(t, (top * blocks + block) * halves + half)
                _put_a(t, f.type, cpu, held, (wide, rows, rows * block + 8 * half), looked)
        if form == PAIRS:
            _note(t, wide, a_bytes(rows, f.columns, form), "<16 x i32>", looked, _LEAST_A)
    return function(t, name, ", ptr %wide")


def _put_a(t: Text, type_: str, cpu: Vectors, held: str, into: tuple[str, int, int], looked: list[str]) -> None:
    """A register of A. into: where the unit's A lies, its rows, and the number of the register's first row."""
    (wide, height, row), form = into, cpu.form(type_)
    if form == PAIRS:
        for z in range(2):
            four = t.load("<16 x i32>", pointer_at(t, held, 64 * z), align=64)
            looked.append(four)
            t.store("<16 x i32>", _swapped(t, 16, four), pointer_at(t, wide, 16 * (row + 4 * z)), align=64)
    elif form in (ROWS, HALVES):
        for r in range(0, 8, 2):
            two = t.load("<16 x i16>", pointer_at(t, held, 16 * r), align=32)
            t.store("<16 x float>", widen(t, type_, 16, two), pointer_at(t, wide, 32 * (row + r)), align=64)
    else:
        block, first = divmod(row, height)
        for part in range(2):
            for r in range(0, 8, cpu.rows):
                some = [
                    t.load("<4 x i16>", pointer_at(t, held, 16 * (r + i) + 8 * part), align=8) for i in range(cpu.rows)
                ]
                value = widen(t, type_, cpu.lanes, joined(t, "i16", 4, some))
                where = pointer_at(t, wide, 16 * ((2 * block + part) * height + first + r))
                t.store(f"<{cpu.lanes} x float>", value, where, align=4 * cpu.lanes)


def widening_b(name: str, f: Fragment, cpu: Vectors, declared: set[str]) -> str:
    """`f(ptr %ws, ptr %table, ptr %wide)`: the table begins with the registers of B; one unit's B after the other."""
    t = Text()
    t.declared = declared
    form, blocks = cpu.form(f.type), f.rows // 8
    for left in range(f.columns // 8):
        held = [slot(t, left * blocks + block) for block in range(blocks)]
        lines = [[t.load("<8 x i16>", pointer_at(t, x, 16 * c), align=16) for c in range(8)] for x in held]
        put_b(t, f.type, form, lines, pointer_at(t, "%wide", left * b_bytes(f.rows, form)), along_k=True)
    return function(t, name, ", ptr %wide")


def put_b(t: Text, type_: str, form: str, blocks: list[list[str]], wide: str, *, along_k: bool) -> None:
    """A unit's B, of blocks of 8x8 elements: 8 lines each, columns of 8 along k, or rows."""
    if form in (FLOATS, ROWS):
        for block, lines in enumerate(blocks):
            for k, row in enumerate(_rows_of_columns(t, [[line] for line in lines], along_k=along_k)):
                where = pointer_at(t, wide, 32 * (8 * block + k))
                t.store("<8 x float>", widen(t, type_, 8, row), where, align=32)
        return
    beside = [list(lines) for lines in zip(*blocks, strict=True)]
    if form == HALVES:
        width = 8 * len(blocks)
        for k, row in enumerate(_rows_of_columns(t, beside, along_k=along_k)):
            t.store(f"<{width} x i16>", row, pointer_at(t, wide, 2 * width * k), align=2 * width)
        return
    looked = (_pairs_of_columns if along_k else _pairs_of_rows)(t, beside, wide)
    kind = f"<{8 * len(blocks)} x {'i32' if along_k else 'i16'}>"
    _note(t, wide, b_bytes(8 * len(blocks), form), kind, looked, _LEAST_B)


def _rows_of_columns(t: Text, beside: list[list[str]], *, along_k: bool) -> list[str]:
    """For each k 8 columns, the even ones first, of all blocks. beside: for each line those of the blocks."""
    if along_k:
        return transposed(t, [joined(t, "i16", 8, beside[c]) for c in EVEN_FIRST], len(beside[0]))
    order = [8 * b + c for b in range(len(beside[0])) for c in EVEN_FIRST]
    return [shuffle(t, "i16", len(order), joined(t, "i16", 8, lines), "poison", order) for lines in beside]


def _pairs_of_columns(t: Text, beside: list[list[str]], wide: str) -> list[str]:
    """Pairs of B of lines along k; gives the vectors that hold it."""
    n, some = 8 * len(beside[0]), []
    for column in range(0, 8, 2):
        halves = joined(t, "i16", 8, beside[column] + beside[column + 1])
        some.append(t.bitcast(f"<{2 * n} x i16>", halves, f"<{n} x i32>"))
    low, high = (
        [_in_turn(t, "i32", n, some[i], some[i + 1], start, 1) for i in (0, 2)] for start in (0, 2)
    )  # the columns' first two pairs, and the others
    for q, (a, b) in enumerate((low, low, high, high)):
        four = _in_turn(t, "i32", n, a, b, 2 * (q % 2), 2)
        t.store(f"<{n} x i32>", _swapped(t, n, four), pointer_at(t, wide, 4 * n * q), align=4 * n)
    return some


def _pairs_of_rows(t: Text, beside: list[list[str]], wide: str) -> list[str]:
    """As `_pairs_of_columns`, of lines across k."""
    n = 8 * len(beside[0])
    rows = _rows_of_columns(t, beside, along_k=False)
    for q in range(4):
        for odd in range(2):
            pairs = _in_turn(t, "i16", n, rows[2 * q + 1], rows[2 * q], 4 * odd, 1)
            t.store(f"<{n} x i16>", pairs, pointer_at(t, wide, 4 * n * q + 2 * n * odd), align=2 * n)
    return rows


def _in_turn(t: Text, ty: str, n: int, a: str, b: str, start: int, run: int) -> str:
    """Of each 16 bytes of two vectors a half, from element `start` on: `run` elements of each in turn."""
    lane = 128 // int(ty[1:])
    order = [
        first + start + i + j + of
        for first in range(0, n, lane)
        for i in range(0, lane // 2, run)
        for of in (0, n)
        for j in range(run)
    ]
    return shuffle(t, ty, n, a, b, order)


def transposed(t: Text, lines: list[str], blocks: int = 1) -> list[str]:
    """The transpose of 8 lines of 8 elements of 16 bits, of one block or of some beside each other. To interleave lines
    i and i + 4 moves the highest bit of the line's number to the end of the element's; after three times they have
    changed places."""
    n = 8 * blocks
    for _ in range(3):
        lines = [_in_turn(t, "i16", n, lines[i], lines[i + 4], start, 1) for i in range(4) for start in (0, 4)]
    return lines


def _note(t: Text, wide: str, size: int, kind: str, looked: Sequence[str], least: int) -> None:
    good = none_below(t, "i16", kind, looked, least << 8)
    t.store("i32", t.zext("i1", good, "i32"), pointer_at(t, wide, size - FLAG), align=64)


def none_below(t: Text, ty: str, kind: str, vectors: Sequence[str], least: int) -> str:
    """i1: whether every element of some vectors but zeros is at least `least` (its bits without the sign, shifted left
    by one). kind: the vectors' type, of <n x i16> or <n x i32>."""
    count, _, of = kind[1:-1].split()
    n = int(count) * int(of[1:]) // int(ty[1:])
    vec, found = f"<{n} x {ty}>", ""
    for x in vectors:
        bits = t.bitcast(kind, x, vec)
        size = t.add(vec, t.add(vec, bits, bits), f"splat ({ty} -1)")  # zero becomes the largest
        found = size if not found else t.call(vec, f"llvm.umin.v{n}{ty}", [(vec, found), (vec, size)])
    below = t.ult(vec, found, f"splat ({ty} {least - 1})")
    return t.eq(f"i{n}", t.bitcast(f"<{n} x i1>", below, f"i{n}"), 0)


def _swapped(t: Text, n: int, x: str) -> str:
    """The halves of each word changed round."""
    vec = f"<{n} x i32>"
    return t.call(vec, f"llvm.fshl.v{n}i32", [(vec, x), (vec, x), (vec, "splat (i32 16)")])
