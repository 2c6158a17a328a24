"""racecheck: who has accessed each word of a block's shared memory since the last barrier, a number for each.

Accesses that are deferred (`race_deferred`) need no record as long as each word is one thread's, or is only read, or is
one warp's whose lanes have synchronized between its accesses. The number of a word says so:

    31..14  the interval of its last access; a barrier begins one, and so does a `.sync` instruction of a whole warp
    13      WARPS: several warps have read it                 11  SEVERAL: several lanes have read it
    12      DIRTY: written since the last barrier             10  WRITTEN: written since its warp last synchronized
     9..5   the warp                                        4..0  the lane

A word has 4 bytes. Where the program has narrower accesses, each of their granules has a number as well
(`DeferredAccesses.narrow`), and the word that they lie in gets one that no thread has (`NARROW`), so that no wide
access to it is deferred.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import next_piece
from ptxlab.emulate.rules.race_deferred_reads import FRONT, SINCE
from ptxlab.emulate.rules.race_words import all_apart
from ptxlab.emulate.rules.records import Block, DeferredAccesses, Launch

WRITTEN, SEVERAL, DIRTY, WARPS = 1 << SINCE - 4, 1 << SINCE - 3, 1 << SINCE - 2, 1 << SINCE - 1
BOTH, BUT_DIRTY = WRITTEN | DIRTY, 0xFFFFFFFF ^ DIRTY
OF_WARP = WARPS | 31 << 5
OF_THREAD = WARPS | SEVERAL | 31 << 5 | 31
"""What a number has in common with all of one warp, and with all of one thread that is alone."""
NARROW = (1 << SINCE) - 1
"""The lower part of the number of a word of which bytes are accessed."""
WORD = 2
"""A word is 2**WORD bytes."""
FARTHEST = 2
"""Lanes up to 2**FARTHEST words apart are looked at as rows."""
AT_ONE, ANYHOW = 7, 8
"""How lanes of a half-warp lie, besides the logarithm of the words by which they are equally far apart."""


@rule(inline=True)
def thread_of(later: DeferredAccesses, warp: u32) -> u32:
    """The number that an access by lane 0 of a warp gives to a word."""
    return u32(later.interval << SINCE) | warp << 5


@rule(inline=True)
def begin_of(later: DeferredAccesses) -> u32:
    """The least number of an access since the last barrier."""
    return u32(later.since << SINCE)


@rule(inline=True)
def floor_of(later: DeferredAccesses, warp: u32) -> u32:
    """The least number of an access by a warp that its lanes have not synchronized after."""
    return max(begin_of(later), u32(later.synced[warp] << SINCE))


# -- one word, 16, or those of 32 lanes --------------------------------------------------------------------------------


@rule(inline=True)
def word_alone(place: Pointer[u32], begin: u32, floor: u32, thread: u32, many: boolean, write: boolean) -> boolean:
    """Notes an access to a word; False, and nothing is noted, if it may be a hazard. many: several lanes of the warp
    make it."""
    seen, dirty = place[0], u32(0)
    if floor != begin and seen >= begin and (seen ^ thread) & OF_WARP == 0:
        dirty = seen & DIRTY
        seen = since_synced(seen, thread, floor)
    fresh, own = seen < begin, (seen ^ thread) & OF_THREAD == 0 and not many
    if write:
        if many or not (fresh or own):
            return False
        place[0] = thread | BOTH
        return True
    if fresh:
        seen = thread
    elif not own and seen & DIRTY != 0:
        return False
    if many or not (fresh or own):
        seen |= u32(SEVERAL) if (seen ^ thread) & OF_WARP == 0 else u32(SEVERAL | WARPS)
    place[0] = seen | dirty
    return True


@rule(inline=True)
def since_synced(seen: u32, thread: u32, floor: u32) -> u32:
    """The number of a word that one warp alone accesses, without what came before its lanes last synchronized: then the
    word is the next thread's, and what was written before matters to other warps alone."""
    if seen < floor:
        return thread
    return seen if seen & WRITTEN != 0 else seen & BUT_DIRTY


@rule(inline=True)
def row_alone(
    place: Pointer[u32], begin: u32, floor: u32, thread: row_u32, chosen: row_bool, write: boolean
) -> boolean:
    """The same of the chosen ones of 16 words in a row, each accessed by the thread of its number."""
    before = load_row(place)
    seen, dirty = before, before & 0
    if floor != begin:
        same = (seen >= begin) & ((seen ^ thread) & OF_WARP == 0)
        dirty = select(same, seen & DIRTY, dirty)
        seen = select(same & (seen & WRITTEN == 0), seen & BUT_DIRTY, seen)
        seen = select(same & (before < floor), thread, seen)
    fresh, own = seen < begin, (seen ^ thread) & OF_THREAD == 0
    if write:
        if any_of(chosen & ~(fresh | own)):
            return False
        store_row(place, select(chosen, thread | BOTH, before))
        return True
    if any_of(chosen & ~(fresh | own | (seen & DIRTY == 0))):
        return False
    others = select((seen ^ thread) & OF_WARP == 0, seen | SEVERAL, seen | (SEVERAL | WARPS))
    store_row(place, select(chosen, select(fresh, thread, select(own, seen, others)) | dirty, before))
    return True


@rule(inline=True)
def lanes_alone(
    who: Pointer[u32],
    index: lanes_u32,
    begin: u32,
    floor: u32,
    thread: lanes_u32,
    mask: u32,
    distinct: boolean,
    write: boolean,
) -> boolean:
    """The same of a word of each lane. distinct: it is plain that no two lanes access one word."""
    chosen = lanes(mask)
    seen = gather(who, index, chosen)
    dirty = seen & 0
    if floor != begin:
        same, before = (seen >= begin) & ((seen ^ thread) & OF_WARP == 0), seen < floor
        dirty = select(same, seen & DIRTY, dirty)
        seen = select(same & (seen & WRITTEN == 0), seen & BUT_DIRTY, seen)
        seen = select(same & before, thread, seen)
    fresh, own = seen < begin, (seen ^ thread) & OF_THREAD == 0
    good = fresh | own
    if not write:
        good |= seen & DIRTY == 0
    if any_of(chosen & ~good):
        return False
    done = thread | BOTH
    if not write:
        others = select((seen ^ thread) & OF_WARP == 0, seen | SEVERAL, seen | (SEVERAL | WARPS))
        done = select(fresh, thread, select(own, seen, others)) | dirty
    scatter(who, index, done, chosen)
    if not distinct:
        stored = gather(who, index, chosen)
        again = chosen & (stored != done)
        if any_of(again):
            if write:
                return False
            scatter(who, index, stored | SEVERAL, again)
    return True


# -- accesses ----------------------------------------------------------------------------------------------------------


@rule
def spaced_alone(
    place: Pointer[u32], begin: u32, floor: u32, thread: u32, part: u32, apart: u32, words: u32, write: boolean
) -> boolean:
    """The same of 16 lanes that are 2**apart words apart, those of `part`: of so many words each, one if they lie
    closer. place: the first word of the first lane, whose number is `thread`."""
    for row in range(1 << apart):
        word = narrow(row_ids()) + u32(16 * row)
        chosen = ((word & 0) + part >> (word >> apart)) & 1 != 0
        if apart != 0:
            chosen &= word & u32((1 << apart) - 1) < words
            if not any_of(chosen):
                continue
        if not row_alone(place + 16 * row, begin, floor, (word >> apart) + thread, chosen, write):
            return False
    return True


@rule(cold=True)
def rows_alone(
    launch: Launch,
    later: DeferredAccesses,
    low: u64,
    high: u64,
    begin: u32,
    floor: u32,
    thread: u32,
    mask: u32,
    members: Pointer[u64],
    write: boolean,
) -> boolean:
    """The same of all members, whose lanes access all words from one lane to the next, in both halves of a warp. low,
    high: the offsets of lanes 0 and 16."""
    who, shift, size = later.who, u32(WORD), members[2]
    if size < 1 << WORD:
        who, shift = later.narrow, first(u32(launch.granule))
    words = u32(size >> shift)
    for k in range(members[0]):
        if members[3 * k + 2] != size:
            return False
        for half in range(2):
            part, begins = mask >> 16 * half & 0xFFFF, (high if half else low) + members[3 * k + 1]
            if part == 0:
                continue
            if shift != WORD:
                word, end = begins + first(part) * size >> WORD, begins + last(part) * size + size - 1 >> WORD
                if not row_of_bytes(later.who, u32(word + FRONT), begin, u32(end + 1 - word)):
                    return False
            place, number = who + ((begins >> shift) + FRONT), thread + u32(16 * half)
            if not spaced_alone(place, begin, floor, number, part, first(words), words, write):
                return False
    return True


@rule
def layout(offsets: Pointer[u32], lanes_: u32, shift: u32) -> u32:
    """How these lanes lie, all in one half of a warp: equally far apart by a power of two of words (of 2**shift bytes),
    AT_ONE address, or ANYHOW."""
    if lanes_ & lanes_ - 1 == 0:
        return AT_ONE
    lane, every = first(lanes_), load_lanes(offsets)
    second, base = first(lanes_ & lanes_ - 1), u32(offsets[lane])
    by = u32(offsets[second] - base)
    if by == 0:
        return u32(AT_ONE) if lanes_ & ~bits(every == base) == 0 else u32(ANYHOW)
    for apart in range(FARTHEST + 1):
        if by == u32(second - lane << apart + shift):
            meant = (lane_ids() - lane << u32(apart + shift)) + base
            return u32(apart) if lanes_ & ~bits(every == meant) == 0 else u32(ANYHOW)
    return ANYHOW


@rule
def each_alone(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    offsets: Pointer[u32],
    members: Pointer[u64],
    pieces: Pointer[u64],
    write: boolean,
) -> boolean:
    """Notes who accesses the words of all pieces: False where one may be a hazard. mask: some lanes, at least one."""
    later, who, shift = block.later, block.later.who, u32(WORD)
    if launch.granule != 1 << WORD:
        if has_narrow(members):
            if not words_of_bytes(later, mask, offsets, pieces, launch.granule):
                return False
            who, shift = later.narrow, first(u32(launch.granule))
    begin, floor, thread = begin_of(later), floor_of(later, warp), thread_of(later, warp)
    low, high = mask & 0xFFFF, mask & 0xFFFF0000
    low_lies = layout(offsets, low, shift) if low != 0 else u32(AT_ONE)
    high_lies = layout(offsets, high, shift) if high != 0 else u32(AT_ONE)
    anyhow = low_lies == ANYHOW or high_lies == ANYHOW
    distinct = anyhow and all_apart(load_lanes(offsets), mask)
    at: u64 = 1
    for _ in range(pieces[0]):
        words = u32(pieces[at + 1] * launch.granule >> shift)
        if anyhow:
            for k in range(words):
                index = (load_lanes(offsets) + u32(pieces[at]) >> shift) + u32(k + FRONT)
                if not lanes_alone(who, index, begin, floor, lane_ids() + thread, mask, distinct, write):
                    return False
        else:
            for half in range(2):
                part, lies = high if half else low, high_lies if half else low_lies
                if part != 0:
                    word = (u64(offsets[first(part)]) + pieces[at] >> shift) + FRONT
                    if not half_alone(who, word, begin, floor, thread, part, lies, words, write):
                        return False
        at = next_piece(at, pieces[at + 1])
    return True


@rule(inline=True)
def half_alone(
    who: Pointer[u32], word: u64, begin: u32, floor: u32, thread: u32, part: u32, lies: u32, words: u32, write: boolean
) -> boolean:
    """The same of one piece and the lanes of half a warp. word: the first one of the first of these lanes."""
    lane = first(part)
    if lies == AT_ONE:
        for k in range(words):
            if not word_alone(who + (word + k), begin, floor, thread | lane, part & part - 1 != 0, write):
                return False
        return True
    at, together = lane & 15, words <= u32(1 << lies)
    for k in range(u32(1) if together else words):
        row, low, here = word + k - (at << lies), lane & 16, words if together else u32(1)
        if not spaced_alone(who + row, begin, floor, thread | low, part >> low, lies, here, write):
            return False
    return True


@rule
def has_narrow(members: Pointer[u64]) -> boolean:
    """Whether any access of a table is narrower than a word."""
    for k in range(members[0]):
        if members[3 * k + 2] < 1 << WORD:
            return True
    return False


@rule
def words_of_bytes(
    later: DeferredAccesses, mask: u32, offsets: Pointer[u32], pieces: Pointer[u64], granule: u64
) -> boolean:
    """Notes that bytes of words are accessed, not whole words. False where words have been accessed as a whole since
    the last barrier. Words between those of the lanes may be noted as well."""
    every, begin, who = load_lanes(offsets), begin_of(later), later.who
    at: u64 = 1
    for _ in range(pieces[0]):
        size = u32(pieces[at + 1] * granule)
        for half in range(2):
            part = mask & u32(0xFFFF << 16 * half)
            if part != 0:
                low, high = u32(offsets[first(part)] + pieces[at]), u32(offsets[last(part)] + pieces[at])
                word, reach = low >> WORD, u32(high - low)
                count = u32((high + size - 1 >> WORD) - word + 1)
                if reach < 256 and not any_of(lanes(part) & (every + u32(pieces[at]) - low > reach)):
                    if not row_of_bytes(who, word + FRONT, begin, count):
                        return False
                else:
                    for lane in lanes_of(part):
                        word = u32(offsets[lane] + pieces[at]) >> WORD
                        count = u32((offsets[lane] + pieces[at] + size - 1 >> WORD) - word + 1)
                        if not row_of_bytes(who, word + FRONT, begin, count):
                            return False
        at = next_piece(at, pieces[at + 1])
    return True


@rule
def row_of_bytes(who: Pointer[u32], word: u32, begin: u32, count: u32) -> boolean:
    """The same of so many words in a row. They are loaded and stored as whole lines: on Zen 4 loads that begin anywhere
    sometimes wait 20 us for the stores before them, where those of the narrow numbers begin anywhere, too."""
    for row in range(word & ~u32(15), word + count, 16):
        seen, behind = load_row(who + row), narrow(row_ids()) + u32(row - word)
        chosen = behind < count
        if any_of(chosen & (seen >= begin) & (seen & NARROW != NARROW)):
            return False
        store_row(who + row, select(chosen, (seen & 0) + (begin | NARROW), seen))
    return True
