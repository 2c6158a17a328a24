"""Matrix descriptors of `wgmma`: where in shared memory the tile of a product lies, and how fragments are loaded.

A descriptor is 64 bits:

    63..62  swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes      51..49  base offset
    45..32  stride byte offset / 16     29..16  leading byte offset / 16     13..0  start address / 16

A tile is made of core matrices, 8 lines of 16 bytes. A line is what is contiguous in memory: K-major, a row of A or a
column of B; MN-major (imm_trans_a, imm_trans_b), the elements of one k. `wide` core matrices stand side by side, so
that lines of one swizzle width, 16 * wide bytes, follow each other: 1 without a swizzle, then 2, 4, 8.

    K-major       the next 8 lines are one stride away, the next `wide` core matrices one leading offset
    MN-major      the same; without a swizzle the two offsets change places

A swizzle combines bits of the address by exclusive or: bits 4 to 6 (64 bytes: 4 and 5, 32 bytes: 4) with bits 7 to 9 of
it, less the base offset, which says where a pattern begins that is not aligned to its size.

Source: PTX ISA 9.0, "Shared memory matrix layout" and "Matrix descriptor format"; the canonical layouts as CUTLASS
lists them (cute/arch/mma_sm90_desc.hpp, cute/atom/mma_traits_sm90_gmma.hpp).
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.tensor_maps import NO_SWIZZLE

SWIZZLE, BASE, STRIDE, LEADING = 62, 49, 32, 16
"""Where the fields of a descriptor begin behind the start address, in bits."""
IN_PIECES = 0x3FFF
"""The bits of an address or offset divided by 16."""
CORE_LINES, PIECE = 8, 16
"""Lines of a core matrix, and bytes of each."""
REGISTER = 128
"""Bytes of a register of 32 lanes."""


@rule(inline=True)
def across(swizzle: u32) -> u32:
    """Core matrices side by side in one width of a descriptor's swizzle."""
    return u32(1 if swizzle == NO_SWIZZLE else 16 >> swizzle)


@rule(inline=True)
def piece_address(descriptor: u64, line: u32, piece: u32, mn_major: boolean) -> u32:
    """The address of 16 bytes of a tile: which line, and which piece of it."""
    start = u32(descriptor & IN_PIECES) << 4
    leading = u32(descriptor >> LEADING & IN_PIECES) << 4
    stride = u32(descriptor >> STRIDE & IN_PIECES) << 4
    base = u32(descriptor >> BASE & 7)
    swizzle = u32(descriptor >> SWIZZLE)
    wide = across(swizzle)
    if swizzle == NO_SWIZZLE and mn_major:
        swapped = leading
        leading = stride
        stride = swapped
    at = u32(start + (line & 7) * wide * 16 + (line >> 3) * stride + piece % wide * 16 + piece // wide * leading)
    return u32(at ^ (u32((at >> 7) - base) & (wide - 1)) << 4)


@rule
def first_outside(
    descriptor: u64,
    first_line: u32,
    lines: u32,
    first_piece: u32,
    pieces: u32,
    mn_major: boolean,
    start: u32,
    size: u32,
) -> u64:
    """1 plus the first address of a tile outside shared memory (`size` bytes from `start`); 0 if there is none."""
    for line in range(lines):
        for piece in range(pieces):
            at = piece_address(descriptor, u32(first_line + line), u32(first_piece + piece), mn_major)
            if at < start or u32(at - start) + 16 > size:
                return u64(at) + 1
    return 0


@rule
def piece_offsets(
    descriptor: u64,
    first_line: u32,
    first_piece: u32,
    pieces: u32,
    mn_major: boolean,
    start: u32,
    first: u32,
    count: u32,
    out: Pointer[u32],
) -> None:
    """Where `count` pieces of a tile are in shared memory at `start`, from number `first` on, line by line."""
    for n in range(count):
        line, piece = u32((first + n) // pieces), u32((first + n) % pieces)
        out[n] = u32(piece_address(descriptor, u32(first_line + line), u32(first_piece + piece), mn_major) - start)


@rule
def fragment_a(
    shared: Pointer[u8], start: u32, descriptor: u64, mn_major: boolean, first_row: u32, lines: u32, out: Pointer[u8]
) -> None:
    """16 rows of A of 32 bytes, as `isa.fragments.operand_a` has them. lines: in MN-major order, one for each k."""
    if not mn_major:
        for row in range(16):
            for piece in range(2):
                at = piece_address(descriptor, u32(first_row + row), u32(piece), False)
                to = (2 * piece + (row >> 3)) * REGISTER + (row & 7) * PIECE
                copy_bytes(out + to, shared + u32(at - start), PIECE)
        return
    for k in range(lines):
        for half in range(2):
            at = piece_address(descriptor, u32(k), (first_row >> 3) + u32(half), True)
            source = (shared + u32(at - start)).cast(u16)
            target = (out + (2 * (k >> 3) + half) * REGISTER + (k & 7) * 2).cast(u16)
            for m in range(8):
                target[m * 8] = source[m]


@rule
def fragment_b(
    shared: Pointer[u8], start: u32, descriptor: u64, mn_major: boolean, columns: u32, pieces: u32, out: Pointer[u8]
) -> None:
    """All columns of B as `isa.fragments.operand_b` has them; `pieces` of 16 bytes along k."""
    if not mn_major:
        for column in range(columns):
            for piece in range(pieces):
                at = piece_address(descriptor, u32(column), u32(piece), False)
                to = ((column >> 3) * pieces + piece) * REGISTER + (column & 7) * PIECE
                copy_bytes(out + to, shared + u32(at - start), PIECE)
        return
    for k in range(pieces * 8):
        for left in range(columns >> 3):
            at = piece_address(descriptor, k, left, True)
            source = (shared + u32(at - start)).cast(u16)
            target = (out + (left * pieces + (k >> 3)) * REGISTER + (k & 7) * 2).cast(u16)
            for n in range(8):
                target[n * 8] = source[n]
