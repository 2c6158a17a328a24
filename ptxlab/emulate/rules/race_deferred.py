"""racecheck defers accesses of a block to its shared memory, writes as well, while each word is used by one thread
only.

Between two barriers most words of shared memory are read and written by one thread, or read by several and written by
none, or accessed by one warp whose lanes synchronize (`race_owners`). As long as that is so there is no hazard, and
nothing needs to be recorded: after the barrier it would no longer matter. At the first access of which that cannot be
said, all deferred accesses are recorded.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import HALVES_IN_A_ROW, IN_A_ROW, PARTS_OF_ROWS, next_piece
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.notes import serial, taking_part
from ptxlab.emulate.rules.race_deferred_reads import (
    EACH,
    FRONT,
    NOTED_WRITE,
    REPEATED,
    STRIDED,
    TO_BLOCK,
    WATCHED,
    equally_far,
    full,
    laid,
)
from ptxlab.emulate.rules.race_line_records import LATER, SCATTERED
from ptxlab.emulate.rules.race_owners import (
    FARTHEST,
    WORD,
    begin_of,
    each_alone,
    floor_of,
    row_alone,
    rows_alone,
    thread_of,
    word_alone,
)
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block, DeferredAccess, DeferredAccesses, Launch


@rule
def deferred_offsets(deferred: DeferredAccess, given: Pointer[u32], offsets: Pointer[u32]) -> None:
    """The offset of each lane of a deferred access. given: those of lanes that lie apart."""
    if deferred.stamp & 15 == EACH:
        store_lanes(offsets, load_lanes(given + 32 * deferred.places))
        return
    places, apart = laid(deferred)
    low, high = u32(places), u32(places >> 32)
    store_lanes(offsets, (lane_ids() & 15) * u32(apart) + (lane_ids() >> 4) * u32(high - low) + low)


@rule
def watched(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    members: Pointer[u64],
    pieces: Pointer[u64],
    write: boolean,
) -> boolean:
    """Defers an access to shared memory, of which reads alone, or none, have been deferred. False if it has to be
    recorded now."""
    later = block.later
    if full(later) or not all_alone(launch, block, records + 3 * stride):
        return False
    if not each_alone(launch, block, warp, mask, offsets, members, pieces, write):
        return False
    deferred = begun(block, warp, mask, records, stride, members, pieces, write)
    strided, places, apart = equally_far(offsets, mask)
    if strided:
        deferred.stamp |= STRIDED
        deferred.places, deferred.apart = places, apart
    else:
        deferred.stamp |= EACH
        deferred.places = later.apart
        store_lanes(later.offsets + 32 * later.apart, load_lanes(offsets))
        later.apart += 1
    return True


@rule
def watched_word(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    members: Pointer[u64],
    pieces: Pointer[u64],
    write: boolean,
) -> boolean:
    """The same where all lanes of the mask access one offset."""
    if launch.granule != 1 << WORD:
        places = local(u32, 32)
        store_lanes(places, (lane_ids() & 0) + u32(offset))
        return watched(launch, block, warp, mask, records, stride, places, members, pieces, write)
    later = block.later
    if full(later) or not all_alone(launch, block, records + 3 * stride):
        return False
    begin, floor, thread = begin_of(later), floor_of(later, warp), thread_of(later, warp) | first(mask)
    at: u64 = 1
    for _ in range(pieces[0]):
        place = later.who + ((offset + pieces[at] >> WORD) + FRONT)
        for k in range(pieces[at + 1]):
            if not word_alone(place + k, begin, floor, thread, mask & mask - 1 != 0, write):
                return False
        at = next_piece(at, pieces[at + 1])
    deferred = begun(block, warp, mask, records, stride, members, pieces, write)
    deferred.stamp |= STRIDED
    deferred.places, deferred.apart = offset << 32 | offset, 0
    return True


@rule(inline=True)
def all_alone(launch: Launch, block: Block, summary: Pointer[u64]) -> boolean:
    """Whether the words of all reads that have been deferred are one thread's or only read."""
    return summary[LATER] == WATCHED or reads_alone(launch, block, summary)


@rule(cold=True)
def reads_alone(launch: Launch, block: Block, summary: Pointer[u64]) -> boolean:
    """Notes who has made the accesses that have been deferred."""
    places, later = local(u32, 32), block.later
    for k in range(later.count):
        deferred = later.reads[k]
        by, mask, pattern = u32(deferred.stamp >> WARP & 31), u32(deferred.extent >> 32), deferred.stamp & 15
        begin, write = begin_of(later), deferred.stamp & NOTED_WRITE != 0
        rows = pattern == IN_A_ROW or pattern == HALVES_IN_A_ROW or pattern == PARTS_OF_ROWS
        if rows and deferred.members[2] == 1 << WORD and floor_of(later, by) == begin:
            low, high = deferred.places & 0xFFFFFFFF, deferred.places >> 32
            if pattern == IN_A_ROW:
                high = low + (16 << WORD)
            if not words_alone(later, low, high, begin, thread_of(later, by), mask, deferred.members, write):
                return False
        else:
            deferred_offsets(deferred, later.offsets, places)
            if not each_alone(launch, block, by, mask, places, deferred.members, deferred.pieces, write):
                return False
    summary[LATER] = WATCHED
    return True


@rule
def words_alone(
    later: DeferredAccesses,
    low: u64,
    high: u64,
    begin: u32,
    thread: u32,
    mask: u32,
    members: Pointer[u64],
    write: boolean,
) -> boolean:
    """Notes who accesses the words of all members, one in each lane, side by side in each half of a warp whose lanes
    have not synchronized since the last barrier. False where one may be a hazard."""
    part, other, lane = mask & 0xFFFF, mask >> 16, narrow(row_ids())
    low_lanes, high_lanes = ((lane & 0) + part >> lane) & 1 != 0, ((lane & 0) + other >> lane) & 1 != 0
    for k in range(members[0]):
        place = later.who + ((members[3 * k + 1] >> WORD) + FRONT)
        if members[3 * k + 2] != 1 << WORD:
            return False
        if part != 0:
            if not row_alone(place + (low >> WORD), begin, begin, lane + thread, low_lanes, write):
                return False
        if other != 0:
            if not row_alone(place + (high >> WORD), begin, begin, lane + (thread | 16), high_lanes, write):
                return False
    return True


@rule(inline=True)
def begun(
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    members: Pointer[u64],
    pieces: Pointer[u64],
    write: boolean,
) -> DeferredAccess:
    """A note of an access, but for its pattern and places."""
    deferred = block.later.reads[block.later.count]
    deferred.stamp = (
        access_of(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE | (NOTED_WRITE if write else u64(0))
    )
    deferred.records, deferred.extent, deferred.members, deferred.pieces = (
        records,
        u64(mask) << 32 | stride,
        members,
        pieces,
    )
    deferred.synced = block.sync[warp, warp]
    block.later.count += 1
    return deferred


@rule
def watched_rows(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    high: u64,
    pattern: u32,
    members: Pointer[u64],
    pieces: Pointer[u64],
    write: boolean,
) -> boolean:
    """The same of rows, those of all lanes or of the two halves, of which lanes may be missing. low, high: the offsets
    of lanes 0 and 16. False if it has to be looked at otherwise."""
    summary, later, size = records + 3 * stride, block.later, members[2]
    if pattern != IN_A_ROW and pattern != HALVES_IN_A_ROW and pattern != PARTS_OF_ROWS:
        return False
    if size > 1 << WORD + FARTHEST or (low | high | stride) >> 32 != 0 or mask == 0:
        return False
    if summary[LATER] == REPEATED:
        return False
    if summary[LATER] == TO_BLOCK and summary[SCATTERED] == 0 and block.repeats.learns == 0:
        if later.count == 0 or pattern != PARTS_OF_ROWS:
            return False  # lines that are whole cost less
    if full(later) or not all_alone(launch, block, summary):
        return False
    begin, floor, thread = begin_of(later), floor_of(later, warp), thread_of(later, warp)
    if pattern == IN_A_ROW:
        high = low + 16 * size
    if size == 1 << WORD and floor == begin:
        if not words_alone(later, low, high, begin, thread, mask, members, write):
            return False
    elif not rows_alone(launch, later, low, high, begin, floor, thread, mask, members, write):
        return False
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    deferred = begun(block, warp, mask, records, stride, members, pieces, write)
    deferred.stamp |= PARTS_OF_ROWS
    deferred.places = high << 32 | low
    return True
