"""racecheck on a block that does in its shared memory what an earlier block did.

Nearly all blocks of a grid do the same, if with other values: between two barriers the same warps make the same
accesses in the same order, at the same offsets. Whether any of these is a hazard follows from that alone. So the
accesses of an interval in which all of them could be deferred, which shows that none was one (`race_deferred`), are
remembered, and where a later block is in the same interval each access is only compared with the one that is to come.
As long as they are the same nothing is noted. The first one that is another has all those before it noted, as they
would have been; then the interval goes on as if nothing had been remembered.

An access is the same if its time, its warp, its lanes and their offsets are, and when the warp had last synchronized:
so whatever orders two of them is the same, too. An interval that ends early is without a hazard as well.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.notes import taking_part
from ptxlab.emulate.rules.race_deferred_reads import (
    EACH,
    LAST_INTERVAL,
    NOTED_WRITE,
    NOW,
    PATIENCE,
    REPEATED,
    STRIDED,
    TO_BLOCK,
    equally_far,
    laid,
)
from ptxlab.emulate.rules.race_line_records import LATER
from ptxlab.emulate.rules.records import (
    BLOCK,
    CODE,
    LAST_TIME,
    TIME,
    WARP,
    Block,
    Interval,
    Launch,
    Repeats,
    Told,
)

INTERVALS, ACCESSES, SPREAD = 1 << 9, 1 << 13, 1 << 9
"""Intervals of a block that something is remembered of, accesses in all of them, those with an offset for each lane."""
TRIES = 4
"""How often it is tried to remember an interval."""
DOUBT = 2
"""How many more blocks may leave what is remembered of an interval than keep to it; then it is forgotten."""
NOT_BLOCK, NOT_PATTERN = (1 << BLOCK) - 1, (1 << 64) - (1 << WARP)
"""The parts of a stamp without the block, and without the pattern."""
NO_KEY = (1 << 64) - 1
"""The key of no access, behind those of each interval."""


def make_room(repeats: Repeats) -> None:
    """Makes room for what blocks do; that which is not used costs nothing."""
    repeats.told = Told.many(np.empty(ACCESSES * Told.size, np.uint8))
    repeats.offsets = Pointer(np.empty(32 * SPREAD, np.uint32))
    repeats.intervals, repeats.room = Interval.many(INTERVALS), INTERVALS


# -- accesses that are the same ----------------------------------------------------------------------------------------


@rule(inline=True)
def key_of(block: Block, warp: u32, pattern: u64) -> u64:
    """`Told.key` of an access that is made now."""
    return (access_of(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE | pattern) & NOT_BLOCK


@rule
def repeated(
    block: Block, warp: u32, mask: u32, places: u64, apart: u64, pattern: u64, members: Pointer[u64]
) -> boolean:
    """Whether an access of lanes that are equally far apart is the one that was to come; then it is done."""
    told = block.repeats.told[block.repeats.next]
    if told.key != key_of(block, warp, pattern) or told.places != places or told.members != members:
        return False
    if told.lanes != apart << 32 | mask or told.synced != block.sync[warp, warp]:
        return False
    block.repeats.next += 1
    return True


@rule
def repeated_each(
    block: Block, warp: u32, mask: u32, offsets: Pointer[u32], members: Pointer[u64], write: boolean
) -> boolean:
    """The same of lanes that may lie anyhow."""
    writes = NOTED_WRITE if write else u64(0)
    strided, places, apart = equally_far(offsets, mask)
    if strided:
        return repeated(block, warp, mask, places, apart, STRIDED | writes, members)
    told = block.repeats.told[block.repeats.next]
    if told.key != key_of(block, warp, EACH | writes):
        return False
    given = block.repeats.offsets + 32 * told.places
    if any_of(lanes(mask) & (load_lanes(given) != load_lanes(offsets))):
        return False
    return repeated(block, warp, mask, told.places, 0, EACH | writes, members)


@rule
def note_again(launch: Launch, block: Block) -> boolean:
    """An access is not the one that was to come: notes those before it. Whether some of them write."""
    later, repeats, writes = block.later, block.repeats, False
    interval = repeats.intervals[repeats.now]
    interval.left += 1
    for k in range(interval.begin, repeats.next):
        told, deferred = repeats.told[k], later.reads[later.count]
        warp, mask = u32(told.key >> WARP & 31), u32(told.lanes)
        taking_part(launch, warp, mask, told.members)
        deferred.stamp = block.now & ~NOT_BLOCK | told.key & NOT_PATTERN | told.pattern
        deferred.records, deferred.extent = block.records, u64(mask) << 32 | block.stride
        deferred.places, deferred.apart, deferred.synced = told.where, told.apart, told.synced
        deferred.members, deferred.pieces = told.members, told.pieces
        writes = writes or told.pattern & NOTED_WRITE != 0
        if told.pattern & 15 == EACH:
            deferred.places = later.apart
            copy_bytes((later.offsets + 32 * later.apart).cast(u8), (repeats.offsets + 32 * told.where).cast(u8), 128)
            later.apart += 1
        later.count += 1
    return writes


# -- intervals ---------------------------------------------------------------------------------------------------------


@rule
def begin_interval(block: Block, first: boolean) -> None:
    """A block begins (`first`), or all its warps have arrived at a barrier: what was done in its shared memory before
    no longer matters. Accesses are deferred again, if that has been of use."""
    records, stride, later, repeats = block.records, block.stride, block.later, block.repeats
    if later.limit != 0 and records is not None:
        if later.interval >= LAST_INTERVAL:
            fill_bytes(later.who.cast(u8), 0, 4 * later.words)
            fill_bytes(later.synced.cast(u8), 0, 128)
            later.interval = 0
        later.interval += 1
        later.since = later.interval
        summary = records + 3 * stride
        if repeats.learns != 0:
            remember(block, summary[LATER] != NOW)
        elif summary[LATER] == REPEATED:
            repeats.intervals[repeats.now].kept += 1
        later.spared += later.count
        later.count, later.apart = 0, 0
        repeats.now, repeats.learns = 0 if first else repeats.now + 1, 0
        summary[LATER] = TO_BLOCK if later.spared + PATIENCE > later.wasted else NOW
        if repeats.now < repeats.room:
            interval = repeats.intervals[repeats.now]
            if interval.left > interval.kept + DOUBT:
                interval.end, interval.kept, interval.left = interval.begin, 0, 0
            if interval.begin != interval.end:
                summary[LATER], repeats.next = REPEATED, interval.begin
            elif interval.tries < TRIES:
                summary[LATER], repeats.learns = TO_BLOCK, 1


@rule(cold=True)
def remember(block: Block, fine: boolean) -> None:
    """Remembers the accesses of an interval that ends, if all of them have been deferred."""
    later, repeats = block.later, block.repeats
    interval = repeats.intervals[repeats.now]
    interval.tries += 1
    if not fine or repeats.used + later.count >= ACCESSES or repeats.apart + later.apart > SPREAD:
        return
    interval.begin = repeats.used
    for k in range(later.count):
        deferred, told = later.reads[k], repeats.told[repeats.used]
        pattern = deferred.stamp & 15
        told.pattern, told.where, told.apart, told.synced = (
            u32(deferred.stamp & 31),
            deferred.places,
            deferred.apart,
            deferred.synced,
        )
        told.members, told.pieces = deferred.members, deferred.pieces
        strided, places, apart = True, u64(0), u64(0)
        if pattern == EACH:
            given = later.offsets + 32 * deferred.places
            strided, places, apart = equally_far(given, u32(deferred.extent >> 32))
            told.where = repeats.apart
            copy_bytes((repeats.offsets + 32 * repeats.apart).cast(u8), given.cast(u8), 128)
            if not strided:
                places, apart = repeats.apart, 0
            repeats.apart += 1
        else:
            places, apart = laid(deferred)
        lies = u64(STRIDED) if strided else u64(EACH)
        told.key = deferred.stamp & NOT_BLOCK & NOT_PATTERN | lies | deferred.stamp & NOTED_WRITE
        told.places, told.lanes = places, apart << 32 | deferred.extent >> 32
        repeats.used += 1
    interval.end = repeats.used
    repeats.told[repeats.used].key = NO_KEY
    repeats.used += 1
