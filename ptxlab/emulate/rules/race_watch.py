"""racecheck on accesses of a block to its shared memory that are put off, writes as well: each word is one thread's.

Between two barriers most words of shared memory are read and written by one thread, or read by several and written by
none. For each word a number says who has accessed it since the last barrier, which is looked up and noted for 32 lanes
at once. As long as no word is written that another thread accesses, there is no hazard, and nothing needs to be
recorded: after the barrier it would no longer matter. The first access of which that cannot be said has all notes
worked off.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    any_of,
    boolean,
    first,
    gather,
    lane_ids,
    lanes,
    load_lanes,
    local,
    rule,
    scatter,
    select,
    store_lanes,
    u32,
    u64,
)
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.race_later import (
    EACH,
    FRONT,
    NOTED_WRITE,
    ONE_ADDRESS,
    PARTS_OF_ROWS,
    SINCE,
    STRIDED,
    TO_BLOCK,
    WATCHED,
    equally_far,
    full,
)
from ptxlab.emulate.rules.race_rows import LATER
from ptxlab.emulate.rules.race_words import ALL, all_apart, begin_of_row, in_part_of_a_row
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block, Launch, Put

WRITTEN, SEVERAL = 1 << SINCE - 1, 1 << SINCE - 2
"""What the number of a word says besides the thread, and between which barriers (from bit SINCE on): whether it has
been written, and whether several threads have read it."""


@rule
def each_alone(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], pieces: Pointer[u64], write: boolean
) -> boolean:  # fmt: skip
    """Notes who accesses the words of all pieces. False where one is written, or may be, that another accesses."""
    who, shift, chosen = block.later.who, first(u32(launch.granule)), lanes(mask)
    mine = lane_ids() | u32(block.later.interval << SINCE | u64(warp) << 5)
    done = mine | (u32(WRITTEN) if write else u32(0))
    row, begin = in_part_of_a_row(launch, offsets, mask), first(mask)
    distinct = row or all_apart(load_lanes(offsets), mask)
    at: u64 = 1
    for _ in range(pieces[0]):
        for k in range(pieces[at + 1]):
            index = ((load_lanes(offsets) + u32(pieces[at])) >> shift) + u32(k + FRONT)
            place = who + u64((offsets[begin] + pieces[at] >> shift) + k + FRONT - begin)
            seen = load_lanes(place) if row else gather(who, index, chosen)
            fresh = (seen ^ mine) >> SINCE != 0
            own = (seen | WRITTEN) == (mine | WRITTEN)
            good = fresh | own
            if not write:
                good |= seen & WRITTEN == 0
            if any_of(chosen & ~good):
                return False
            new = select(fresh, done, select(own, seen | done, seen | SEVERAL))
            if row:
                store_lanes(place, select(chosen, new, seen))
            else:
                scatter(who, index, new, chosen)
            if not distinct:
                kept = gather(who, index, chosen)
                again = chosen & (kept != new)
                if any_of(again):
                    if write:
                        return False
                    scatter(who, index, kept | SEVERAL, again)
        at += 2 + (pieces[at + 1] + 15) // 16 * 16
    return True


@rule
def put_offsets(put: Put, given: Pointer[u32], offsets: Pointer[u32]) -> None:
    """The offset of each lane of an access that was put off. given: those of lanes that lie apart."""
    low, high, size, pattern = put.places & 0xFFFFFFFF, put.places >> 32, put.members[2], put.stamp & 15
    if pattern == EACH:
        store_lanes(offsets, load_lanes(given + 32 * put.places))
        return
    if pattern == ONE_ADDRESS or pattern == ALL_THE_SAME:
        high, size = low, 0
    elif pattern == HALVES_THE_SAME:
        size = 0
    elif pattern == STRIDED:
        size = put.apart
    elif pattern == IN_A_ROW:
        high = low + 16 * size
    store_lanes(offsets, (lane_ids() & 15) * u32(size) + (lane_ids() >> 4) * u32(high - low) + u32(low))


@rule
def watched(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64], stride: u64, offsets: Pointer[u32],
    members: Pointer[u64], pieces: Pointer[u64], write: boolean,
) -> boolean:  # fmt: skip
    """Puts off an access to shared memory, of which reads alone, or none, have been put off. False if it has to be
    recorded now."""
    kept, later = records + 3 * stride, block.later
    if full(later):
        return False
    if kept[LATER] == TO_BLOCK:
        places = local(u32, 32)
        for k in range(later.count):
            put = later.reads[k]
            put_offsets(put, later.offsets, places)
            if not each_alone(
                launch, block, u32(put.stamp >> WARP & 31), u32(put.extent >> 32), places, put.pieces, False
            ):  # fmt: skip
                return False
        kept[LATER] = WATCHED
    if not each_alone(launch, block, warp, mask, offsets, pieces, write):
        return False
    put = later.reads[later.count]
    put.stamp = me(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE | (NOTED_WRITE if write else u64(0))
    put.records, put.extent, put.members, put.pieces = records, u64(mask) << 32 | stride, members, pieces
    put.serial, put.count = 0, 1
    later.count += 1
    if members[2] == launch.granule and in_part_of_a_row(launch, offsets, mask):
        low = begin_of_row(launch, offsets, mask)
        put.stamp |= PARTS_OF_ROWS
        put.places = u64(u32(low + 16 * u32(launch.granule))) << 32 | low
    elif mask == ALL and equally_far(offsets):
        put.stamp |= STRIDED
        put.places, put.apart = u64(offsets[16]) << 32 | offsets[0], u64(u32(offsets[1] - offsets[0]))
    else:
        put.stamp |= EACH
        put.places = later.apart
        store_lanes(later.offsets + 32 * later.apart, load_lanes(offsets))
        later.apart += 1
    return True
