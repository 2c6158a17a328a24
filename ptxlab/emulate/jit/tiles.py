"""Fragments to and from memory as LLVM functions, one for each form of ldmatrix, stmatrix and so on.

`f(ptr %ws, ptr %table, ...)` uses the registers whose offsets the table lists. ldmatrix and stmatrix return a bit mask
of the lanes whose row is not 16 aligned bytes of shared memory, and do nothing if there are any. The wmma functions
record the fault themselves and return 1.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.fragments import Place, function, join, load, pick, places, store
from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.rules.matrix_access import Piece, Tile, find, mark
from ptxlab.emulate.runtime.state import Place as Found
from ptxlab.isa.fragments import Fragment, pieces, rows_of_8


def movmatrix(name: str) -> str:
    """`d, a`: the transpose of one 8x8 matrix."""
    t, source, dest = Text(), rows_of_8(1, False), rows_of_8(1, True)
    wanted = places(source, dest.row[0].T, dest.column[0].T)
    store(t, 0, "i16", 2 * W, pick(t, "i16", 2 * W, [load(t, 1, "i16", 2 * W)], wanted))
    return function(t, name)


ROW_ARGUMENTS = ", ptr %at, i32 %offset, ptr %shared, i64 %size"
"""Parameters of ldmatrix and stmatrix: 32 i32 addresses, what is added to them (an offset less the start of shared
memory), and a pointer to shared memory."""


def rows(name: str, f: Fragment, declared: set[str], *, stores: bool) -> str:
    """ldmatrix or stmatrix: `f.rows` rows of 16 bytes, whose addresses the first lanes give."""
    t = Text()
    t.declared = declared
    vec = f"<{W} x i32>"
    at = t.let(f"load {vec}, ptr %at, align 64")
    off = t.let(f"add {vec} {at}, {t.splat('i32', '%offset')}")
    rotated = t.call(vec, f"llvm.fshr.v{W}i32", [(vec, off), (vec, off), (vec, "splat (i32 4)")])
    # one comparison for range and alignment: a misaligned offset becomes a huge one
    count = t.let(f"trunc i64 {t.let('lshr i64 %size, 4')} to i32")
    outside = t.let(f"icmp uge {vec} {rotated}, {t.splat('i32', count)}")
    bad = t.let(f"and i32 {t.let(f'bitcast <{W} x i1> {outside} to i32')}, {(1 << f.rows) - 1}")
    t.do(f"br i1 {t.let(f'icmp eq i32 {bad}, 0')}, label %good, label %bad")
    t.at("bad")
    t.do(f"ret i32 {bad}")
    t.at("good")
    if stores:
        registers = [load(t, k, "i16", 2 * W) for k in range(f.registers)]
        for row in range(f.rows):
            eight = pick(t, "i16", 2 * W, registers, places(f, np.full(8, row), np.arange(8)))
            t.do(f"store <8 x i16> {eight}, ptr {_row(t, row)}, align 1")
    else:
        parts = []  # all read before any is written: the addresses may lie in one of the registers
        for k in range(f.registers):
            lines = [t.let(f"load <8 x i16>, ptr {_row(t, 8 * k + r)}, align 1") for r in range(8)]
            whole = join(t, "i16", 8, lines)
            elements = [
                (int(r) - 8 * k, int(c)) for r, c in zip(f.row[k].T.ravel(), f.column[k].T.ravel(), strict=True)
            ]
            parts.append(pick(t, "i16", 2 * W, [whole], [(0, 8 * r + c) for r, c in elements]))
        for k, part in enumerate(parts):
            store(t, k, "i16", 2 * W, part)
    return function(t, name, ROW_ARGUMENTS, "i32", "ret i32 0")


def _row(t: Text, number: int) -> str:
    """A pointer to a row in shared memory."""
    p = t.let(f"getelementptr i32, ptr %at, i64 {number}")
    offset = t.let(f"add i32 {t.let(f'load i32, ptr {p}')}, %offset")
    return t.let(f"getelementptr i8, ptr %shared, i64 {t.let(f'zext i32 {offset} to i64')}")


WMMA_ARGUMENTS = ", ptr %ctx, ptr %cta, i64 %base, i64 %stride, i32 %space, i32 %code"
"""Parameters of wmma: the address, bytes from one row (or column) to the next, the space, the code index."""


def wmma(name: str, f: Fragment, layout: str, *, stores: bool) -> str:
    """wmma.load or wmma.store: the pieces of the matrix found in memory, then moved."""
    t = Text()
    found = pieces(f, layout)
    size, count = found[0].size, len(found)
    tile = Tile.new()
    tile.count, tile.last, tile.log2, tile.write = count, found[-1].line, size.bit_length() - 1, int(stores)
    tile.length = size * count // (tile.last + 1)
    listed = Piece.many(count)
    for k, piece in enumerate(found):
        listed[k].line, listed[k].start, listed[k].lane = piece.line, piece.start, piece.lane
    t.do(f"%places = alloca [{count * Found.size} x i8], align 64")
    stops = t.let(
        call(
            find, "%ctx", "%cta", "%ws", "%base", "%stride", "%space", "%code", f"@{name}.tile", f"@{name}.pieces",
            "%places",
        )
    )  # fmt: skip
    t.do(f"br i1 {stops}, label %wrong, label %ready")
    t.at("wrong")
    t.do("ret i32 1")
    t.at("ready")
    each = size * 8 // f.bits
    pointers = []
    for k in range(count):
        p = t.let(f"getelementptr i8, ptr %places, i64 {k * Found.size + Found.offset('host')}")
        pointers.append(t.let(f"load ptr, ptr {p}"))
    ty, packed = f"i{f.bits}", W * f.packed
    if stores:
        registers = [load(t, k, ty, packed) for k in range(f.registers)]
        for k, piece in enumerate(found):
            lined, run = np.full(each, piece.line), piece.start * 8 // f.bits + np.arange(each)
            wanted = places(f, lined, run) if layout == "row" else places(f, run, lined)
            value = pick(t, ty, packed, registers, wanted)
            t.do(f"store <{each} x {ty}> {value}, ptr {pointers[k]}, align 1")
        t.do(call(mark, f"@{name}.tile", "%places"))
    else:
        data = [t.let(f"load <{each} x {ty}>, ptr {p}, align 1") for p in pointers]
        for k in range(f.registers):
            places_ = zip(f.row[k].T.ravel().tolist(), f.column[k].T.ravel().tolist(), strict=True)
            wanted = [_in_piece(place, layout, each, count // (tile.last + 1)) for place in places_]
            store(t, k, ty, packed, pick(t, ty, each, data, wanted))
    constants = _constant(f"{name}.tile", tile.buffer) + _constant(f"{name}.pieces", listed.array)
    return constants + function(t, name, WMMA_ARGUMENTS, "i32", "ret i32 0")


def _constant(name: str, octets: np.ndarray) -> str:
    """Bytes of records that compiled code reads."""
    text = "".join(f"\\{octet:02X}" for octet in octets.tolist())
    return f'@{name} = internal constant [{octets.size} x i8] c"{text}", align 8\n'


def _in_piece(place: Place, layout: str, each: int, in_line: int) -> Place:
    """Which piece holds a row and column, and which element of it that is."""
    line, along = place if layout == "row" else place[::-1]
    return line * in_line + along // each, along % each
