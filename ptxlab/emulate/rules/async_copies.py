"""`cp.async`: the bytes are moved when the copy is issued.

A GPU may do so, too: it is the earliest order that is allowed. Commits and waits then have nothing left to do.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.memcheck import resolve, stop
from ptxlab.emulate.runtime.state import COPY_FROM, COPY_SIZE, COPY_TO, GLOBAL, SHARED, Context, Cta, Site, Warp


@rule(inline=True)
def move(to: Pointer[u8], source: Pointer[u8] | None, count: u64, size: u64) -> None:
    """One lane's copy of `size` bytes, of which only `count` are read: zeros stand for the others."""
    if source is not None:
        copy_bytes(to, source, count)
    if count != size:
        fill_bytes(to + count, 0, size - count)


@rule
def copy(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    to: Pointer[u32],
    to_start: u32,
    source: Pointer[u64],
    source_start: u64,
    counts: Pointer[u32] | None,
    site: Site,
    code: u32,
    size: u32,
) -> boolean:
    """`copy_lanes` of 4, 8 or 16 bytes per lane: a way for each, so that bytes are copied as one number."""
    if size == 4:
        return copy_lanes(context, cta, warp, mask, to, to_start, source, source_start, counts, site, code, 4, 2)
    if size == 8:
        return copy_lanes(context, cta, warp, mask, to, to_start, source, source_start, counts, site, code, 8, 3)
    return copy_lanes(context, cta, warp, mask, to, to_start, source, source_start, counts, site, code, 16, 4)


@rule(inline=True)
def copy_lanes(
    context: Context,
    cta: Cta,
    warp: Warp,
    mask: u32,
    to: Pointer[u32],
    to_start: u32,
    source: Pointer[u64],
    source_start: u64,
    counts: Pointer[u32] | None,
    site: Site,
    code: u32,
    size: u64,
    log2: u64,
) -> boolean:
    """The copies of the lanes of a mask. to, source: their addresses, to which the starts are added. counts: the bytes
    that each lane reads; None for all `size`. site: caches the allocation that is read. Returns whether the
    kernel must stop, with the fault noted."""
    there, here = u32(to_start - u32(context.memory.shared_start)), u64(source_start - site.base)
    whole = mask == ALL_LANES and context.memory.shared_size >= size
    if whole and (counts is None or all_of(load_lanes(counts) == u32(size))):
        offsets, starts = load_lanes(to) + there, load_lanes(source) + here
        inside = (offsets & u32(size - 1) == 0) & (offsets <= u32(context.memory.shared_size - size))
        if all_of(inside & (starts & (size - 1) == 0) & (starts >> log2 < site.places)):
            shared, host = cta.shared, site.host
            for k in range(32):
                copy_bytes(shared + u32(to[k] + there), host + u64(source[k] + here), size)
            return False
    for lane in lanes_of(mask):
        target = u64(u32(to[lane] + to_start))
        address = u64(source[lane] + source_start)
        count = size
        if counts is not None:
            count = u64(counts[lane])
        if count > size:  # undefined
            stop(context, warp, COPY_SIZE, code, lane, count)
            return True
        place = resolve(context, cta, warp, lane, target, size, log2, SHARED, 1, None)
        if place is None:
            stop(context, warp, COPY_TO, code, lane, target)
            return True
        if count == 0:
            move(place, None, 0, size)
            continue
        learns = site if count == size and lane == first(mask) else None
        held = resolve(context, cta, warp, lane, address, count, log2, GLOBAL, 0, learns)
        if held is None:
            stop(context, warp, COPY_FROM, code, lane, address)
            return True
        move(place, held, count, size)
    return False
