"""synccheck: does the descriptor of a `wgmma` describe the tile that a tensor copy wrote?

For each 16 bytes that a copy of a tile has written, a record says which part of the tile they are, until another write:

    63..42  code index      41..32  thread      31..30  swizzle: 0 none, 1, 2, 3: 32, 64, 128 bytes
    29..22  number of the copy      21..14  which 16 bytes of its row      13..0  row

A product reads lines and 16-byte pieces of them (`warpgroup_tiles`). Lines must be the rows of the tile in order, from
the ninth on modulo eight, since a tile may be read in parts. The pieces of one swizzle width must follow each other.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import tensor_maps
from ptxlab.emulate.rules.notes import TILE_LAYOUT, note, serial
from ptxlab.emulate.rules.records import CODE, Block, Launch, access_of
from ptxlab.emulate.rules.warpgroup_tiles import CORE_LINES, IN_PIECES, PIECE, SWIZZLE, across, piece_address
from ptxlab.emulate.runtime.state import Transfer

AT_CODE, AT_THREAD, AT_SWIZZLE, AT_NUMBER, AT_CHUNK = 42, 32, 30, 22, 14
OF_COPY = ~((1 << AT_NUMBER) - 1) & ~(3 << AT_SWIZZLE) & (1 << 64) - 1
"""The fields that name the copy."""
ROW, CHUNK = (1 << AT_CHUNK) - 1, 0xFF


@rule
def written(block: Block, transfer: Transfer, start: u64) -> None:
    """A copy has written a tile to shared memory, which begins at the address `start`."""
    layout, map = block.tile_layout, transfer.map
    if layout is None:
        return
    block.layouts = (block.layouts + 1) & 0xFF
    pieces, address = tensor_maps.row_bytes(map) // PIECE, transfer.at
    of_copy = u64(transfer.code) << AT_CODE | u64(transfer.thread) << AT_THREAD | u64(block.layouts) << AT_NUMBER
    of_copy |= tensor_maps.field(map, tensor_maps.SWIZZLE, 3) << AT_SWIZZLE
    for row in range(tensor_maps.rows(map)):
        for piece in range(pieces):
            layout[(tensor_maps.swizzled(map, address) - start) // PIECE] = of_copy | piece << AT_CHUNK | row
            address += PIECE


@rule
def product_begins(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    code: u32,
    descriptor: u64,
    first_line: u32,
    lines: u32,
    first_piece: u32,
    pieces: u32,
    mn_major: boolean,
    start: u32,
) -> None:
    """A warp begins a product that reads a tile, which lies in shared memory."""
    layout = block.tile_layout
    if layout is None or mask == 0:
        return
    swizzle = u32(descriptor >> SWIZZLE)
    for piece in range(min(pieces, across(swizzle))):
        first = layout[u32(piece_address(descriptor, first_line, u32(first_piece + piece), mn_major) - start) >> 4]
        if first == 0:
            return
        for line in range(min(lines, CORE_LINES + 1)):
            at = piece_address(descriptor, u32(first_line + line), u32(first_piece + piece), mn_major)
            found = layout[u32(at - start) >> 4]
            rows = u64(found - first) & ROW
            if found != 0 and (found ^ first) & OF_COPY == 0:
                strays = rows != line if line < CORE_LINES else u64(rows - line) & 7 != 0
                other_piece = (found ^ first) >> AT_CHUNK & CHUNK != 0
                if strays or other_piece or as_in_a_map(swizzle) != found >> AT_SWIZZLE & 3:
                    differ(launch, block, warp, mask, code, found, u64(at), swizzle)
                    return
        begin = layout[u32(piece_address(descriptor, first_line, first_piece, mn_major) - start) >> 4]
        if (first ^ begin) & OF_COPY == 0 and u64(first - begin) != u64(piece) << AT_CHUNK:
            differ(launch, block, warp, mask, code, first, (descriptor & IN_PIECES) << 4, swizzle)
            return


@rule(inline=True)
def as_in_a_map(swizzle: u32) -> u64:
    """A descriptor's swizzle, as a tensor map numbers it."""
    return u64(4 - swizzle & 3)


@rule(cold=True)
def differ(launch: Launch, block: Block, warp: u32, mask: u32, code: u32, found: u64, at: u64, swizzle: u32) -> None:
    """Notes that a product does not read the tile as a copy has written it."""
    serial(launch, mask)
    other = block.now | found >> AT_CODE << CODE | (found >> AT_THREAD & 1023)
    swizzles = as_in_a_map(swizzle) << 2 | found >> AT_SWIZZLE & 3
    note(launch, block, TILE_LAYOUT, access_of(block, warp, code), other, at, swizzles)
