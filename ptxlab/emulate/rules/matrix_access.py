"""`wmma.load` and `wmma.store`: where the pieces of a matrix (`ptxlab.isa.fragments.pieces`) are in memory."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.memcheck import resolve, space_of, stop
from ptxlab.emulate.rules.records import WRITTEN
from ptxlab.emulate.runtime.state import LOCAL, OUT_OF_MEMORY_RANGE, Context, Cta, Place, Warp


class Piece(Record):
    """Contiguous bytes: the number of the line (a row, or a column in column-major order), the first byte in it, and
    the lane that is named when the access is invalid."""

    line: u32
    start: u32
    lane: u32


class Tile(Record):
    count: u32  # of the pieces
    last: u32  # the number of the last line
    length: u32  # bytes of one
    log2: u32  # of the bytes of a piece
    write: u32


NEAR = 1 << 24
"""Lines whose distance is less than this are looked up at once."""


@rule(inline=True)
def piece_offset(line: u32, start: u32, stride: u64) -> u64:
    """How far from the start of the matrix a piece lies; stride: bytes from one line to the next."""
    return u64(line * stride + start)


@rule(symbol="wmma.find")
def find(
    context: Context,
    cta: Cta,
    warp: Warp,
    base: u64,
    stride: u64,
    space: u32,
    code: u32,
    tile: Tile,
    pieces: Pointer[Piece],
    places: Pointer[Place],
) -> boolean:
    """Finds all pieces of a matrix. Returns whether the kernel must stop, with the fault noted."""
    size = u64(1) << tile.log2
    where, _ = space_of(space, base)
    if stride < NEAR and stride & (size - 1) == 0 and where != LOCAL:
        span = stride * tile.last + tile.length
        whole = resolve(context, cta, warp, 0, base, span, tile.log2, space, tile.write, None)
        if whole is not None:
            written = context.found.written
            for k in range(tile.count):
                offset = piece_offset(pieces[k].line, pieces[k].start, stride)
                places[k].host = whole + offset
                places[k].written = None if written is None else written + offset
            return False
    for k in range(tile.count):
        address = u64(base + piece_offset(pieces[k].line, pieces[k].start, stride))
        place = resolve(context, cta, warp, pieces[k].lane, address, size, tile.log2, space, tile.write, None)
        where, _ = space_of(space, address)
        if place is None or where == LOCAL:  # each lane has local memory of its own
            stop(context, warp, OUT_OF_MEMORY_RANGE, code, pieces[k].lane, address)
            return True
        places[k].host = place
        places[k].written = context.found.written
    return False


@rule(symbol="wmma.mark")
def mark(tile: Tile, places: Pointer[Place]) -> None:
    """Notes in the record of written bytes that all pieces have been stored."""
    for k in range(tile.count):
        written = places[k].written
        if written is not None:
            fill_bytes(written, WRITTEN, u64(1) << tile.log2)
