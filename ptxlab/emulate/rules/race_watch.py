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
    bits,
    boolean,
    first,
    gather,
    lane_ids,
    lanes,
    load_lanes,
    load_row,
    local,
    narrow,
    row_ids,
    row_u32,
    rule,
    scatter,
    select,
    store_lanes,
    store_row,
    u32,
    u64,
)
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.notes import serial, taking_part
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
from ptxlab.emulate.rules.race_rows import LATER, SCATTERED
from ptxlab.emulate.rules.race_words import all_apart, begin_of_row
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block, Launch, Put

WRITTEN, SEVERAL = 1 << SINCE - 1, 1 << SINCE - 2
"""What the number of a word says besides the thread, and between which barriers (from bit SINCE on): whether it has
been written, and whether several threads have read it."""
NOT_ALONE, SIDE_BY_SIDE, ANYHOW = range(3)
"""What `each_alone` finds of an access."""


@rule
def each_alone(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], pieces: Pointer[u64], write: boolean
) -> u32:  # fmt: skip
    """Notes who accesses the words of all pieces: NOT_ALONE where one is written, or may be, that another accesses,
    else SIDE_BY_SIDE if the lanes' words are in a row, of which some may be missing, else ANYHOW."""
    who, shift = block.later.who, first(u32(launch.granule))
    since = u32(block.later.interval << SINCE)
    every, lane, low, high = load_lanes(offsets), first(mask), mask & 0xFFFF, mask >> 16
    # each half is a row, one word, or nothing, from a lane of it on
    in_row = bits(every == lane_ids() * u32(launch.granule) + u32(offsets[lane] - lane * u32(launch.granule)))
    row = mask & ~in_row == 0
    after = 16 + first(high)
    low_row, high_row, one_word = row, row, mask & mask - 1 == 0
    if not row:
        same = bits(every == offsets[lane])
        one_word = mask & ~same == 0
        if not one_word and low != 0 and high != 0:
            base, begin = u32(offsets[after] - after * u32(launch.granule)), offsets[after]
            low_row = low & ~in_row == 0
            high_row = high & ~(bits(every == lane_ids() * u32(launch.granule) + base) >> 16) == 0
            if not ((low_row or low & ~same == 0) and (high_row or high & ~(bits(every == begin) >> 16) == 0)):
                return anyhow(launch, block, warp, mask, offsets, pieces, write)
        elif not one_word:
            return anyhow(launch, block, warp, mask, offsets, pieces, write)
    thread, mine = since | warp << 5, narrow(row_ids()) + (since | warp << 5)
    at: u64 = 1
    for _ in range(pieces[0]):
        for k in range(pieces[at + 1]):
            word = (u64(offsets[lane]) + pieces[at] >> shift) + k + FRONT
            if one_word:
                if not word_alone(who + word, since, thread | lane, mask & mask - 1 != 0, write):
                    return NOT_ALONE
                continue
            if low != 0:
                if low_row:
                    if not row_alone(who + (word - lane), since, mine, low, write):
                        return NOT_ALONE
                elif not word_alone(who + word, since, thread | lane, low & low - 1 != 0, write):
                    return NOT_ALONE
            if high != 0:
                word = (u64(offsets[after]) + pieces[at] >> shift) + k + FRONT
                if high_row:
                    if not row_alone(who + (word - (after - 16)), since, mine + 16, high, write):
                        return NOT_ALONE
                elif not word_alone(who + word, since, thread | after, high & high - 1 != 0, write):
                    return NOT_ALONE
        at += 2 + (pieces[at + 1] + 15) // 16 * 16
    return u32(SIDE_BY_SIDE) if row else u32(ANYHOW)


@rule(inline=True)
def row_alone(place: Pointer[u32], since: u32, mine: row_u32, part: u32, write: boolean) -> boolean:
    """The same of 16 words in a row, those of `part`. since: the least number of this interval; mine: the threads."""
    seen = load_row(place)
    fresh, own = seen < since, (seen | WRITTEN) == (mine | WRITTEN)
    chosen = ((narrow(row_ids()) & 0) + part >> narrow(row_ids())) & 1 != 0
    if write:
        if part & ~bits(fresh | own) != 0:
            return False
        store_row(place, select(chosen, mine | WRITTEN, seen))
        return True
    if part & ~bits(fresh | own | (seen & WRITTEN == 0)) != 0:
        return False
    store_row(place, select(chosen, select(fresh, mine, select(own, seen, seen | SEVERAL)), seen))
    return True


@rule(inline=True)
def word_alone(place: Pointer[u32], since: u32, mine: u32, many: boolean, write: boolean) -> boolean:
    """The same of one word. many: several lanes of the warp access it."""
    seen = place[0]
    own = (seen | WRITTEN) == (mine | WRITTEN) and not many
    if write:
        if many or not (seen < since or own):
            return False
        place[0] = mine | WRITTEN
    elif seen < since:
        place[0] = mine | (u32(SEVERAL) if many else u32(0))
    elif not own:
        if seen & WRITTEN != 0:
            return False
        place[0] = seen | SEVERAL
    return True


@rule
def anyhow(
    launch: Launch, block: Block, warp: u32, mask: u32, offsets: Pointer[u32], pieces: Pointer[u64], write: boolean
) -> u32:  # fmt: skip
    """The same of lanes anywhere."""
    who, shift, chosen = block.later.who, first(u32(launch.granule)), lanes(mask)
    since = u32(block.later.interval << SINCE)
    mine = lane_ids() | since | warp << 5
    done = mine | (u32(WRITTEN) if write else u32(0))
    distinct = all_apart(load_lanes(offsets), mask)
    at: u64 = 1
    for _ in range(pieces[0]):
        for k in range(pieces[at + 1]):
            index = ((load_lanes(offsets) + u32(pieces[at])) >> shift) + u32(k + FRONT)
            seen = gather(who, index, chosen)
            fresh = seen < since
            own = (seen | WRITTEN) == (mine | WRITTEN)
            good = fresh | own
            if not write:
                good |= seen & WRITTEN == 0
            if any_of(chosen & ~good):
                return NOT_ALONE
            new = select(fresh, done, select(own, seen | done, seen | SEVERAL))
            scatter(who, index, new, chosen)
            if not distinct:
                kept = gather(who, index, chosen)
                again = chosen & (kept != new)
                if any_of(again):
                    if write:
                        return NOT_ALONE
                    scatter(who, index, kept | SEVERAL, again)
        at += 2 + (pieces[at + 1] + 15) // 16 * 16
    return ANYHOW


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
    later = block.later
    if full(later) or not all_alone(launch, block, records + 3 * stride):
        return False
    how = each_alone(launch, block, warp, mask, offsets, pieces, write)
    if how == NOT_ALONE:
        return False
    put = begun(block, warp, mask, records, stride, members, pieces, write)
    if how == SIDE_BY_SIDE and members[2] == launch.granule:
        low = begin_of_row(launch, offsets, mask)
        put.stamp |= PARTS_OF_ROWS
        put.places = u64(u32(low + 16 * u32(launch.granule))) << 32 | low
        return True
    strided, places, apart = equally_far(offsets, mask)
    if strided:
        put.stamp |= STRIDED
        put.places, put.apart = places, apart
    else:
        put.stamp |= EACH
        put.places = later.apart
        store_lanes(later.offsets + 32 * later.apart, load_lanes(offsets))
        later.apart += 1
    return True


@rule(inline=True)
def all_alone(launch: Launch, block: Block, kept: Pointer[u64]) -> boolean:
    """Whether the words of all reads that have been put off are one thread's or only read."""
    return kept[LATER] == WATCHED or reads_alone(launch, block, kept)


@rule(cold=True)
def reads_alone(launch: Launch, block: Block, kept: Pointer[u64]) -> boolean:
    """Notes who has made the reads that have been put off."""
    places, later = local(u32, 32), block.later
    for k in range(later.count):
        put = later.reads[k]
        put_offsets(put, later.offsets, places)
        by, mask = u32(put.stamp >> WARP & 31), u32(put.extent >> 32)
        if each_alone(launch, block, by, mask, places, put.pieces, False) == NOT_ALONE:
            return False
    kept[LATER] = WATCHED
    return True


@rule(inline=True)
def begun(
    block: Block, warp: u32, mask: u32, records: Pointer[u64], stride: u64, members: Pointer[u64],
    pieces: Pointer[u64], write: boolean,
) -> Put:  # fmt: skip
    """A note of an access, but for its pattern and places."""
    put = block.later.reads[block.later.count]
    put.stamp = me(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE | (NOTED_WRITE if write else u64(0))
    put.records, put.extent, put.members, put.pieces = records, u64(mask) << 32 | stride, members, pieces
    put.serial, put.count = 0, 1
    block.later.count += 1
    return put


@rule
def watched_rows(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64], stride: u64, low: u64, high: u64,
    pattern: u32, members: Pointer[u64], pieces: Pointer[u64], write: boolean,
) -> boolean:  # fmt: skip
    """The same of rows, those of all lanes or of the two halves, of which lanes may be missing. low, high: the offsets
    of lanes 0 and 16. False if it has to be looked at otherwise."""
    kept, later = records + 3 * stride, block.later
    if pattern != IN_A_ROW and pattern != HALVES_IN_A_ROW and pattern != PARTS_OF_ROWS:
        return False
    if members[2] != launch.granule or (low | high | stride) >> 32 != 0 or mask == 0:
        return False
    if kept[LATER] == TO_BLOCK and kept[SCATTERED] == 0 and (later.count == 0 or pattern != PARTS_OF_ROWS):
        return False  # lines that are whole cost less
    if full(later) or not all_alone(launch, block, kept):
        return False
    who, shift, since = block.later.who, first(u32(launch.granule)), u32(later.interval << SINCE)
    mine, part, other = narrow(row_ids()) + (since | warp << 5), mask & 0xFFFF, mask >> 16
    if pattern == IN_A_ROW:
        high = low + 16 * launch.granule
    at: u64 = 1
    for _ in range(pieces[0]):
        for k in range(pieces[at + 1]):
            if part != 0:
                if not row_alone(who + ((low + pieces[at] >> shift) + k + FRONT), since, mine, part, write):
                    return False
            if other != 0:
                if not row_alone(who + ((high + pieces[at] >> shift) + k + FRONT), since, mine + 16, other, write):
                    return False
        at += 2 + (pieces[at + 1] + 15) // 16 * 16
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    put = begun(block, warp, mask, records, stride, members, pieces, write)
    put.stamp |= PARTS_OF_ROWS
    put.places = high << 32 | low
    return True
