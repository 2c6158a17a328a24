"""initcheck: a thread loads bytes of its local memory that have not been written.

Copies of structures include their padding, in words that are read whole. So a load from local memory is noted only if
none of its bytes has been written, and its result is not merely passed on (see `program.register_flow`).
`offsets` are those of 32 lanes, each in its own local memory.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    bits,
    copy_bytes,
    fill_bytes,
    first,
    gather,
    lane_ids,
    lanes,
    lanes_of,
    load_lanes,
    local,
    narrow,
    rule,
    scatter,
    splat,
    u8,
    u32,
    u64,
)
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
from ptxlab.emulate.rules.accesses import READS, WRITES
from ptxlab.emulate.rules.findings import UNINITIALISED
from ptxlab.emulate.rules.initcheck import ALL_WRITTEN
from ptxlab.emulate.rules.notes import note, serial
from ptxlab.emulate.rules.records import CODE, WARP, WRITTEN, Block, Launch


@rule(inline=True)
def of_warp(block: Block, warp: u32) -> Pointer[u8]:
    """The record of a warp's local memory, one lane's after the other's."""
    return block.local + u64(warp) * 32 * block.local_stride


@rule
def loaded(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64, code: u64, start: u64
) -> None:
    """Lanes load `size` bytes each from their local memory, which begins at the address `start`."""
    written, chosen, stride = of_warp(block, warp), lanes(mask), block.local_stride
    there: u32 = 0
    if size < 4:
        for lane in lanes_of(mask):
            for k in range(size):
                if written[lane * stride + offsets[lane] + k] != 0:
                    there |= u32(1) << lane
    else:
        at = (lane_ids() * u32(stride) + load_lanes(offsets)) >> 2
        for word in range(size >> 2):
            there |= bits(gather(written.cast(u32), at + u32(word), chosen) != 0)
    lacking = mask & ~there
    if lacking:
        serial(launch, mask)
        lane = first(lacking)
        me = block.now | code << CODE | u64(warp) << WARP | lane
        note(launch, block, UNINITIALISED, me, 0, start + offsets[lane], 0)


@rule
def stored(block: Block, warp: u32, mask: u32, offsets: Pointer[u32], size: u64) -> None:
    """Lanes have stored `size` bytes each to their local memory."""
    written, stride = of_warp(block, warp), block.local_stride
    if size < 4:
        for lane in lanes_of(mask):
            fill_bytes(written + (lane * stride + offsets[lane]), WRITTEN, size)
    else:
        chosen, full = lanes(mask), narrow(splat(ALL_WRITTEN))
        at = (lane_ids() * u32(stride) + load_lanes(offsets)) >> 2
        for word in range(size >> 2):
            scatter(written.cast(u32), at + u32(word), full, chosen)


@rule
def copied(block: Block, warp: u32, mask: u32, source: u64, dest: u64, size: u64) -> None:
    """Each lane has copied bytes within its local memory, as a call does with its arguments."""
    if (size | source | dest | block.local_stride) & 3 == 0:
        words, chosen = of_warp(block, warp).cast(u32), lanes(mask)
        at = lane_ids() * u32(block.local_stride >> 2)
        for word in range(size >> 2):
            moved = gather(words, at + u32((source >> 2) + word), chosen)
            scatter(words, at + u32((dest >> 2) + word), moved, chosen)
        return
    for lane in lanes_of(mask):
        own = of_warp(block, warp) + lane * block.local_stride
        copy_bytes(own + dest, own + source, size)


@rule
def accessed_anywhere(
    launch: Launch, block: Block, warp: u32, mask: u32, addresses: Pointer[u64], extra: u64, size: u64, code: u64,
    action: u32,
) -> None:  # fmt: skip
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
