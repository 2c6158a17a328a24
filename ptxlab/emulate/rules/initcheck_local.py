"""initcheck: which bytes of its local memory a thread has written.

`offsets` are those of 32 lanes, each in its own local memory.

Lanes mostly access one address at a time. So what is written is kept for all of them: of each byte the lanes that have
written it.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
from ptxlab.emulate.rules.notes import NOWHERE, OVERRUN, SECOND_WIDE, UNINITIALISED, note, serial
from ptxlab.emulate.rules.records import CODE, READS, WARP, WRITES, Block, Launch


@rule(inline=True)
def of_warp(block: Block, warp: u32) -> Pointer[u32]:
    """The lanes that have written each byte of a warp's local memory."""
    return block.local + u64(warp) * block.local_stride


@rule
def unwritten(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64) -> u32:
    """The lanes of the mask, which is not empty, that have not written all of the `size` bytes at their offsets."""
    masks, places, found = of_warp(block, warp), load_lanes(offsets), u32(0)
    at: u64 = offsets[first(mask)]
    together = not any_of(lanes(mask) & (places != u32(at)))
    for byte in range(size):
        if together:
            found |= ~masks[at + byte]
        else:
            found |= bits((gather(masks, places + u32(byte), lanes(mask)) >> lane_ids() & 1) == 0)
    return mask & found


@rule
def loaded(launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64, code: u64) -> None:
    """Lanes load `size` bytes each from their local memory."""
    if mask == 0:
        return
    missing = unwritten(block, warp, mask, offsets, size)
    if missing:
        serial(launch, mask)
        access = block.now | code << CODE | u64(warp) << WARP | first(missing)
        note(launch, block, UNINITIALISED, access, 0, NOWHERE, 0)


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
    """Lanes access generic addresses, which should lie in an object of their local memory; see `within`."""
    offsets = local(u32, 32)
    store_lanes(offsets, narrow(load_lanes(addresses) + u64(extra - LOCAL_WINDOW)))
    within(launch, block, warp, mask, offsets, size, begin, end, code, LOCAL_WINDOW)


@rule
def stored(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64) -> None:
    """Lanes have stored `size` bytes each to their local memory: those of one address after the other."""
    masks, places, left = of_warp(block, warp), load_lanes(offsets), mask
    if mask and any_of(lanes(mask) & (places != offsets[first(mask)])):
        for byte in range(size):  # those that write what they have written before need not be looked at
            left &= bits((gather(masks, places + u32(byte), lanes(mask)) >> lane_ids() & 1) != 0)
        left = mask & ~left
    while left:
        at: u64 = offsets[first(left)]
        same = bits(places == u32(at)) & left
        left &= ~same
        for byte in range(size):
            masks[at + byte] |= same


@rule
def copied(block: Block, warp: u32, mask: u32, source: u64, dest: u64, size: u64) -> None:
    """Each lane has copied bytes within its local memory, as a call does with its arguments."""
    masks = of_warp(block, warp)
    for byte in range(size):
        masks[dest + byte] = masks[dest + byte] & ~mask | masks[source + byte] & mask


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
        loaded(launch, block, warp, inside, offsets, size, code)
    if inside and action != READS:
        stored(block, warp, inside, offsets, size)
