"""Fragments to and from memory as LLVM functions, one for each form of ldmatrix, stmatrix and so on.

`f(ptr %ws, ptr %table, ...)` uses the registers whose offsets the table lists. ldmatrix and stmatrix return a bit mask
of the lanes whose row is not 16 aligned bytes of shared memory, and do nothing if there are any. The wmma functions
record the fault themselves and return 1.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.matrices.products import Place, function, load, pick, places, shuffle, slot, store
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules.matrix_access import Piece, Tile, find, mark
from ptxlab.emulate.runtime.state import Place as Found
from ptxlab.isa.fragments import Fragment, pieces


def movmatrix(name: str) -> str:
    """`d, a`: the transpose of one 8x8 matrix."""
    t = Text()
    store(t, 0, "i16", 2 * W, t.joined("i16", 8, _transposed(t, _eight_lines(t, 1))))
    return function(t, name)


ROW_ARGUMENTS = ", ptr %at, i32 %offset, ptr %shared, i64 %size, ptr %data"
"""Parameters of ldmatrix and stmatrix: 32 i32 addresses, what is added to them (an offset less the start of shared
memory), a pointer to shared memory, and a buffer."""


def rows(name: str, f: Fragment, declared: set[str], *, stores: bool, keeps: bool) -> str:
    """ldmatrix or stmatrix: `f.rows` rows of 16 bytes, whose addresses the first lanes give. keeps: what rows held
    before they were stored is left in the buffer."""
    t = Text()
    t.declared = declared
    _check_rows(t, f.rows)
    across = bool((f.row[0, :, 0] != f.row[0, 0, 0]).any())  # a register holds the transpose of what lies in memory
    for r in range(f.rows if stores and keeps else 0):
        t.store("<8 x i16>", t.load("<8 x i16>", _row(t, r), align=1), t.offset("%data", 16 * r), align=16)
    loaded = []
    for k in range(f.registers):
        lines = _eight_lines(t, k) if stores else _eight_rows(t, k)
        if across:
            lines = _transposed(t, lines)
        if stores:
            for r, line in enumerate(lines):
                t.store("<8 x i16>", line, _row(t, 8 * k + r), align=1)
        else:
            loaded.append(t.joined("i16", 8, lines))
    for k, value in enumerate(loaded):  # after all rows: their addresses may lie in one of the registers
        store(t, k, "i16", 2 * W, value)
    return function(t, name, ROW_ARGUMENTS, "i32", 0)


def _transposed(t: Text, lines: list[str]) -> list[str]:
    """The transpose of 8 lines of 8 elements of 16 bits. To interleave lines i and i + 4 moves the highest bit of the
    line's number to the end of the element's; after three times they have changed places."""
    for _ in range(3):
        lines = [
            shuffle(t, "i16", 8, lines[i], lines[i + 4], [start + k + of for k in range(4) for of in (0, 8)])
            for i in range(4)
            for start in (0, 4)
        ]
    return lines


def _check_rows(t: Text, count: int) -> None:
    """Returns if a row's offset in shared memory is wrong. A misaligned one rotated to the right is a huge one, so that
    one comparison tells of range and alignment; first of the largest of all."""
    vec = f"<{W} x i32>"
    at = t.load(vec, "%at", align=64)
    off = t.add(vec, at, t.splat("i32", "%offset"))
    rotated = t.call(vec, f"llvm.fshr.v{W}i32", [(vec, off), (vec, off), (vec, "splat (i32 4)")])
    parts = [shuffle(t, "i32", W, rotated, "poison", range(first, first + 8)) for first in range(0, count, 8)]
    largest, eight = parts[0], "<8 x i32>"
    for part in parts[1:]:
        largest = t.call(eight, "llvm.umax.v8i32", [(eight, largest), (eight, part)])
    limit = t.trunc("i64", t.lshr("i64", "%size", 4), "i32")
    limits = t.splat("i32", limit)
    some = shuffle(t, "i32", W, limits, "poison", range(8))
    any_outside = t.bitcast("<8 x i1>", t.uge(eight, largest, some), "i8")
    t.branch(t.eq("i8", any_outside, 0), "good", "bad")
    t.at("bad")
    outside = t.uge(vec, rotated, limits)
    lanes = t.bitcast(f"<{W} x i1>", outside, "i32")
    t.ret("i32", t.and_("i32", lanes, (1 << count) - 1))
    t.at("good")


def _eight_rows(t: Text, register: int) -> list[str]:
    """What lies in shared memory for a register."""
    return [t.load("<8 x i16>", _row(t, 8 * register + r), align=1) for r in range(8)]


def _eight_lines(t: Text, register: int) -> list[str]:
    """A register as 8 lines of 8 elements."""
    where = slot(t, register)
    pointers = [t.offset(where, 16 * line) for line in range(8)]
    return [t.load("<8 x i16>", p, align=16) for p in pointers]


def _row(t: Text, number: int) -> str:
    """A pointer to a row in shared memory. Its address is read again: to take it out of a vector costs more."""
    p = t.element("i32", "%at", number)
    offset = t.add("i32", t.load("i32", p), "%offset")
    return t.offset("%shared", t.zext("i32", offset, "i64"))


WMMA_ARGUMENTS = ", ptr %ctx, ptr %cta, i64 %base, i64 %stride, i32 %space, i32 %code"
"""Parameters of wmma: the address, bytes from one row (or column) to the next, the space, the code index."""


def wmma(name: str, f: Fragment, layout: str, declared: set[str], *, stores: bool) -> str:
    """wmma.load or wmma.store: the pieces of the matrix found in memory, then moved."""
    t = Text()
    t.declared = declared
    found = pieces(f, layout)
    size, count = found[0].size, len(found)
    tile = Tile.new()
    tile.count, tile.last, tile.log2, tile.write = count, found[-1].line, size.bit_length() - 1, int(stores)
    tile.length = size * count // (tile.last + 1)
    listed = Piece.many(count)
    for k, piece in enumerate(found):
        listed[k].line, listed[k].start, listed[k].lane = piece.line, piece.start, piece.lane
    t.alloca(f"[{count * Found.size} x i8]", align=64, name="%places")
    given = "%base", "%stride", "%space", "%code", f"@{name}.tile", f"@{name}.pieces", "%places"
    wrong = t.let(call(find, "%ctx", "%cta", "%ws", *given))
    t.branch(wrong, "wrong", "ready")
    t.at("wrong")
    t.ret("i32", 1)
    t.at("ready")
    each = size * 8 // f.bits
    pointers = []
    for k in range(count):
        p = t.offset("%places", k * Found.size + Found.offset("host"))
        pointers.append(t.load("ptr", p))
    ty, packed = f"i{f.bits}", W * f.packed
    if stores:
        registers = [load(t, k, ty, packed) for k in range(f.registers)]
        for k, piece in enumerate(found):
            lined, run = np.full(each, piece.line), piece.start * 8 // f.bits + np.arange(each)
            wanted = places(f, lined, run) if layout == "row" else places(f, run, lined)
            value = pick(t, ty, packed, registers, wanted)
            t.store(f"<{each} x {ty}>", value, pointers[k], align=1)
        t.do(call(mark, f"@{name}.tile", "%places"))
    else:
        data = [t.load(f"<{each} x {ty}>", p, align=1) for p in pointers]
        for k in range(f.registers):
            places_ = zip(f.row[k].T.ravel().tolist(), f.column[k].T.ravel().tolist(), strict=True)
            wanted = [_in_piece(place, layout, each, count // (tile.last + 1)) for place in places_]
            store(t, k, ty, packed, pick(t, ty, each, data, wanted))
    constants = _constant(f"{name}.tile", tile.buffer) + _constant(f"{name}.pieces", listed.array)
    return constants + function(t, name, WMMA_ARGUMENTS, "i32", 0)


def _constant(name: str, octets: np.ndarray) -> str:
    text = "".join(f"\\{octet:02X}" for octet in octets.tolist())
    return f'@{name} = internal constant [{octets.size} x i8] c"{text}", align 8\n'


def _in_piece(place: Place, layout: str, each: int, in_line: int) -> Place:
    """Which piece holds a row and column, and which element of it that is."""
    line, along = place if layout == "row" else place[::-1]
    return line * in_line + along // each, along % each
