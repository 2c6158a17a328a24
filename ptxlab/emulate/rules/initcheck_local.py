"""initcheck: a thread loads bytes of its local memory that have not been written.

Copies of structures include their padding, in words that are read whole. So a load from local memory is noted only if
none of its bytes has been written, and its result is not merely passed on (see `program.register_flow`).
`offsets` are those of 32 lanes, each in its own local memory.

Lanes mostly access one address at a time. So what is written is kept for all of them: of each word the lanes that have
written it as a whole; behind that, of each byte, those that have written to it in smaller pieces.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
from ptxlab.emulate.rules.notes import OVERRUN, SECOND_WIDE, UNINITIALISED, note, serial
from ptxlab.emulate.rules.records import CODE, READS, WARP, WRITES, Block, Launch

MASKS = 5
"""Masks of lanes for each word of local memory."""


@rule(inline=True)
def of_warp(block: Block, warp: u32) -> Pointer[u32]:
    """The masks of a warp's local memory."""
    return block.local + u64(warp) * (block.local_stride // 4 * MASKS)


@rule(inline=True)
def pieces_of(block: Block, warp: u32) -> Pointer[u32]:
    """Of these, those of bytes."""
    return of_warp(block, warp) + block.local_stride // 4


@rule
def written(block: Block, warp: u32, at: u64, size: u64) -> u32:
    """The lanes that have written one of `size` bytes from `at` on, or more."""
    words, pieces = of_warp(block, warp), pieces_of(block, warp)
    found = words[at >> 2]
    for word in range(1, size >> 2):
        found |= words[(at >> 2) + word]
    for byte in range(size):
        found |= pieces[at + byte]
    return found


@rule
def unwritten(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64) -> u32:
    """The lanes of the mask, which is not empty, that have written none of the `size` bytes at their offsets."""
    places = load_lanes(offsets)
    at: u64 = offsets[first(mask)]
    if not any_of(lanes(mask) & (places != u32(at))):
        return mask & ~written(block, warp, at, size)
    found = gather(of_warp(block, warp), places >> 2, lanes(mask)) >> lane_ids() & 1
    left = mask & ~bits(found != 0)
    for lane in lanes_of(left):
        left &= ~(written(block, warp, offsets[lane], size) & u32(1) << lane)
    return left


@rule
def loaded(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64, code: u64, start: u64
) -> None:
    """Lanes load `size` bytes each from their local memory, which begins at the address `start`."""
    if mask == 0:
        return
    lacking = unwritten(block, warp, mask, offsets, size)
    if lacking:
        serial(launch, mask)
        lane = first(lacking)
        access = block.now | code << CODE | u64(warp) << WARP | lane
        note(launch, block, UNINITIALISED, access, 0, start + offsets[lane], 0)


@rule
def within(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    offsets: Pointer[u32],
    size: u64,
    begin: u64,
    end: u64,
    code: u64,
    start: u64,
) -> None:
    """Lanes access `size` bytes each, which should lie in an object of their local memory, from `begin` to `end`."""
    outside = mask & bits(load_lanes(offsets) - u32(begin) > u32(end - begin - size))
    if outside:
        serial(launch, mask)
        lane = first(outside)
        access = block.now | code << CODE | u64(warp) << WARP | lane
        note(launch, block, OVERRUN, access, 0, start + offsets[lane], end | begin << SECOND_WIDE)


@rule
def within_anywhere(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    begin: u64,
    end: u64,
    code: u64,
) -> None:
    """The same of generic addresses."""
    offsets = local(u32, 32)
    store_lanes(offsets, narrow(load_lanes(addresses) + u64(extra - LOCAL_WINDOW)))
    within(launch, block, warp, mask, offsets, size, begin, end, code, LOCAL_WINDOW)


@rule
def stored(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64) -> None:
    """Lanes have stored `size` bytes each to their local memory: those of one address after the other."""
    words, pieces = of_warp(block, warp), pieces_of(block, warp)
    places, left = load_lanes(offsets), mask
    if size == 4 and mask and any_of(lanes(mask) & (places != offsets[first(mask)])):
        left &= ~bits((gather(words, places >> 2, lanes(mask)) >> lane_ids() & 1) != 0)
    while left:
        at: u64 = offsets[first(left)]
        same = bits(places == u32(at)) & left
        left &= ~same
        if size < 4:
            for byte in range(size):
                pieces[at + byte] |= same
        for word in range(size >> 2):
            words[(at >> 2) + word] |= same


@rule
def copied(block: Block, warp: u32, mask: u32, source: u64, dest: u64, size: u64) -> None:
    """Each lane has copied bytes within its local memory, as a call does with its arguments."""
    words, pieces = of_warp(block, warp), pieces_of(block, warp)
    whole = (size | source | dest) & 3 == 0
    for word in range(size >> 2 if whole else 0):
        to = (dest >> 2) + word
        words[to] = words[to] & ~mask | words[(source >> 2) + word] & mask
    for byte in range(size):
        to = dest + byte
        there = pieces[source + byte]
        if not whole:
            there |= words[(source + byte) >> 2]
            split(words, pieces, to >> 2, mask)
        pieces[to] = pieces[to] & ~mask | there & mask


@rule
def split(words: Pointer[u32], pieces: Pointer[u32], word: u64, mask: u32) -> None:
    """A word that lanes of the mask have written as a whole has been written byte by byte."""
    held = words[word] & mask
    words[word] &= ~held
    for byte in range(4):
        pieces[4 * word + byte] |= held


@rule
def accessed_anywhere(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    addresses: Pointer[u64],
    extra: u64,
    size: u64,
    code: u64,
    action: u32,
) -> None:
    """Lanes access generic addresses, some of which may lead to local memory. Addresses out of range are left to the
    access itself, which faults."""
    inside: u32 = 0
    offsets = local(u32, 32)
    for lane in lanes_of(mask):
        offset = u64(addresses[lane] + extra - LOCAL_WINDOW)
        if offset < WINDOW_SIZE and offset + size <= block.local_stride:
            inside |= u32(1) << lane
            offsets[lane] = u32(offset)
    if inside and action != WRITES:
        loaded(launch, block, warp, inside, offsets, size, code, LOCAL_WINDOW)
    if inside and action != READS:
        stored(block, warp, inside, offsets, size)
