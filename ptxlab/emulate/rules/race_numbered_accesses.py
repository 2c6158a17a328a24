"""racecheck of global memory whose words have numbers (`race_numbers`): what the lanes of a warp access.

A table tells what each of them does: how many accesses it makes; the size of each; the offset of the first word; as
many bits as words from there on, those that are accessed, and those that are written, 0 where they are too many; then
of each access its offset, and whether it writes.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import HALVES_IN_A_ROW, IN_A_ROW
from ptxlab.emulate.rules.race_line_records import ALL_NUMBERED, LINE, ROW
from ptxlab.emulate.rules.race_numbers import (
    all_opened,
    lines_of,
    mistaken,
    opened,
    row_told,
    run_told,
    spaced_told,
    thread_number,
    word_told,
    words_of,
)
from ptxlab.emulate.rules.records import Block, Launch

CLOSE, FEW, SHORT = 16, 12, 6
"""By how many words lanes are apart at most to be looked at by lines; how many are at least, unless all are; words of a
row from which on it is looked at by lines, on average."""
ENTRIES = 5
"""Where in a table the accesses begin."""


@rule
def rows(
    launch: Launch,
    block: Block,
    warp: u32,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    high: u64,
    pattern: u32,
    table: Pointer[u64],
) -> boolean:
    """Notes what all lanes of a warp access that lie in a row, or do so in each half, from these offsets on. False,
    where they do not."""
    if pattern != IN_A_ROW and pattern != HALVES_IN_A_ROW:
        return False
    least, mine, shift = launch.first_number, thread_number(launch, block, warp), first(u32(launch.granule))
    size = table[1] >> shift
    by, extent = first(u32(size)), size * (32 if pattern == IN_A_ROW else 16)
    for k in range(table[0]):
        word, write = low + table[2 * k + ENTRIES] >> shift, u32(table[2 * k + ENTRIES + 1])
        if not run_told(records, stride, word, extent, least, mine, by, ALL_LANES, write):
            mistaken(launch)
            return True
        if pattern == HALVES_IN_A_ROW:
            word = high + table[2 * k + ENTRIES] >> shift
            if not run_told(records, stride, word, extent, least, mine + 32, by, ALL_LANES, write):
                mistaken(launch)
                return True
    return True


@rule(inline=True)
def apart_by(offsets: Pointer[u32], mask: u32, words: u32, shift: u32) -> u32:
    """By how many words the first lanes of a mask are apart; 0 if that is no number of words, or fewer than each
    accesses."""
    lane, rest = first(mask), mask & mask - 1
    if rest == 0:
        return words
    two = first(rest)
    step = u32(offsets[two] - offsets[lane])
    if step == (words << shift) * (two - lane):
        return words
    if two != lane + 1:
        step = step // (two - lane)
    apart = step >> shift
    return apart if apart >= words and apart << shift == step else u32(0)


@rule(inline=True)
def together(offsets: Pointer[u32], mask: u32, step: u32) -> u32:
    """The lanes of a mask that are as many bytes apart as this, counted from the first of them."""
    lane = first(mask)
    return mask & bits(load_lanes(offsets) == (lane_ids() - lane) * step + offsets[lane])


@rule
def neighbours_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    extent: u32,
    least: u32,
    mine: u32,
    mask: u32,
    table: Pointer[u64],
) -> boolean:
    """Notes what lanes in a row access of their own words and of those of their neighbours, line by line: `extent`
    words from that of the lane whose number is `mine` to the last one's. False: it may be a hazard."""
    shift, ids = first(u32(launch.granule)), narrow(row_ids())
    by, low = first(u32(table[1] >> shift)), offset + table[2]
    words, lines, begin = words_of(records, stride), lines_of(records, stride), low >> shift
    end = (offset + table[2 * (table[0] - 1) + ENTRIES] >> shift) + extent
    for at in range(begin >> LINE, (end - 1 >> LINE) + 1):
        place = words + (at << LINE)
        opened(place, lines + at, least)
        seen, wrong = load_row(place), ids & 0
        for k in range(table[0]):
            word, write = offset + table[2 * k + ENTRIES] >> shift, (ids & 0) + u32(table[2 * k + ENTRIES + 1])
            within = ids + u32((at << LINE) - word)
            lane = within >> by
            chosen = (within < extent) & (((ids & 0) + mask >> (lane & 31)) & 1 != 0)
            number = lane * 2 + mine
            free = seen < least
            alone = free | ((seen ^ number) < 2)
            wrong |= select(chosen & ~alone, seen | write, 0)
            seen = select(chosen, select(alone, select(free, number, seen) | write, least), seen)
        if any_of(wrong & 1 != 0):
            return False
        store_row(place, seen)
    return True


@rule
def regular_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    apart: u32,
    mask: u32,
    mine: u32,
    table: Pointer[u64],
) -> boolean:
    """Notes what lanes access that are so many words apart, the first of them from this offset on. False: it may be a
    hazard."""
    lane, shift, least = first(mask), first(u32(launch.granule)), launch.first_number
    words, part, number = u32(table[1] >> shift), mask >> lane, mine + 2 * lane
    extent, all_, whole = u64((last(part) + 1) * words), u32((1 << words) - 1), part & (part + 1) == 0
    if table[3] != 0 and apart != words and last(u32(table[3])) < apart:
        word = offset + table[2] >> shift
        return spaced_told(records, stride, word, apart, least, number, part, u32(table[3]), u32(table[4]))
    if table[3] != 0 and apart == words and table[0] > 1 and not whole:
        return neighbours_told(launch, records, stride, offset, u32(extent), least, number, part, table)
    for k in range(table[0]):
        word, write = offset + table[2 * k + ENTRIES] >> shift, u32(table[2 * k + ENTRIES + 1])
        if apart == words:
            wide = u32(ALL_LANES) if whole else part
            if not run_told(records, stride, word, extent, least, number, first(words), wide, write):
                return False
        elif not spaced_told(records, stride, word, apart, least, number, part, all_, all_ if write else u32(0)):
            return False
    return True


@rule(separate=True)
def lanes_told(
    words: Pointer[u32], offsets: Pointer[u32], by: u32, shift: u32, least: u32, mine: u32, mask: u32, write: boolean
) -> boolean:
    """Notes accesses to a word by each lane of a mask, so many bytes behind its offset. False: it may be a hazard."""
    wrong, writes = u32(0), u32(1 if write else 0)
    for lane in lanes_of(mask):
        place, number = words + (offsets[lane] + by >> shift), mine + 2 * lane
        seen = place[0]
        kept = number if seen < least else seen
        alone = u32(kept ^ number) < 2
        wrong |= u32(0) if alone else seen | writes
        place[0] = kept | writes if alone else least
    return wrong & 1 == 0


@rule
def chunks_told(
    words: Pointer[u32],
    offsets: Pointer[u32],
    by: u32,
    shift: u32,
    least: u32,
    mine: u32,
    mask: u32,
    wanted: u32,
    wrote: u32,
) -> boolean:
    """The same of some of 16 words."""
    none = narrow(row_ids()) & 0
    chosen, writes = (none + wanted >> narrow(row_ids())) & 1 != 0, (none + wrote >> narrow(row_ids())) & 1
    for lane in lanes_of(mask):
        place = words + (offsets[lane] + by >> shift)
        if not row_told(place, least, none + (mine + 2 * lane), chosen, writes):
            return False
    return True


@rule
def anyhow_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    mask: u32,
    mine: u32,
    table: Pointer[u64],
    far: boolean,
) -> boolean:
    """Notes what lanes access that lie anyhow, one after the other. far: they are far apart; else rows of neighbours
    would overlap, and each wait for the one before. False: it may be a hazard."""
    least, shift, words = launch.first_number, first(u32(launch.granule)), words_of(records, stride)
    if records[3 * stride + ALL_NUMBERED] == 0:
        all_opened(records, stride, least)
    wanted, wrote = u32(table[3]), u32(table[4])
    if far and table[0] > 1 and wanted != 0 and wanted >> ROW == 0:
        return chunks_told(words, offsets, u32(table[2]), shift, least, mine, mask, wanted, wrote)
    size = u32(table[1] >> shift)
    for k in range(table[0]):
        by, write = u32(table[2 * k + ENTRIES]), table[2 * k + ENTRIES + 1] != 0
        if not far or size == 1:
            for word in range(size):
                if not lanes_told(words, offsets, by + (word << shift), shift, least, mine, mask, write):
                    return False
        else:
            wanted = u32((1 << size) - 1)
            if not chunks_told(words, offsets, by, shift, least, mine, mask, wanted, wanted if write else u32(0)):
                return False
    return True


@rule(inline=True)
def next_lanes(offsets: Pointer[u32], mask: u32, step: u32) -> u32:
    """The lanes of a mask of which the next one, also of the mask, is so many bytes behind them; none if few are."""
    pairs = mask & mask >> 1
    if 2 * count(pairs) < count(mask):
        return 0
    places = load_lanes(offsets)
    return bits(following(places) == places + step) & pairs


@rule
def short_rows_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    mask: u32,
    follows: u32,
    mine: u32,
    table: Pointer[u64],
) -> boolean:
    """Notes what lanes access that are several rows. follows: those that another one of their row follows. False: it
    may be a hazard."""
    least, shift = launch.first_number, first(u32(launch.granule))
    words, lines, ids = words_of(records, stride), lines_of(records, stride), narrow(row_ids())
    by, unit = first(u32(table[1] >> shift)), u32(table[1] >> shift)
    for lane in lanes_of(mask & ~(follows << 1)):
        length = first(~(follows >> lane)) + 1
        number, extent = mine + 2 * lane, u32(length * unit)
        for k in range(table[0]):
            word, write = u64(offsets[lane] + table[2 * k + ENTRIES] >> shift), u32(table[2 * k + ENTRIES + 1])
            before = u32(word) & ROW - 1
            if before + extent > ROW:
                if not run_told(records, stride, word, extent, least, number, by, ALL_LANES, write):
                    return False
                continue
            place, within = words + (word - before), ids - before
            opened(place, lines + (word >> LINE), least)
            if not row_told(place, least, (within >> by) * 2 + number, within < extent, (ids & 0) + write):
                return False
    return True


@rule
def shared_words_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    mask: u32,
    follows: u32,
    mine: u32,
    table: Pointer[u64],
) -> boolean:
    """The same of lanes of which several access the same words. follows: those that another one of these follows."""
    least, shift = launch.first_number, first(u32(launch.granule))
    words, lines = words_of(records, stride), lines_of(records, stride)
    for lane in lanes_of(mask & ~(follows << 1)):
        length = first(~(follows >> lane)) + 1
        for k in range(table[0]):
            word, write = offsets[lane] + table[2 * k + ENTRIES] >> shift, table[2 * k + ENTRIES + 1] != 0
            for at in range(word, word + (table[1] >> shift)):
                opened(words + (at >> LINE << LINE), lines + (at >> LINE), least)
                if not word_told(words + at, least, mine + 2 * lane, length > 1, write):
                    return False
    return True


@rule
def irregular_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    mask: u32,
    mine: u32,
    table: Pointer[u64],
) -> boolean:
    """The same of lanes that are neither in one row nor equally far apart: of most that share words by their runs, of
    others one after the other."""
    follows = next_lanes(offsets, mask, u32(0))
    if 2 * count(follows) >= count(mask):
        return shared_words_told(launch, records, stride, offsets, mask, follows, mine, table)
    return anyhow_told(launch, records, stride, offsets, mask, mine, table, False)


@rule
def each(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    table: Pointer[u64],
) -> None:
    """Notes what lanes access, each from an offset of its own."""
    mine, shift, left = thread_number(launch, block, warp), first(u32(launch.granule)), mask
    words = u32(table[1] >> shift)
    follows = next_lanes(offsets, mask, u32(table[1]))
    rows = count(mask & ~(follows << 1))
    if rows > 1 and 4 * rows <= count(mask):
        told = False
        if SHORT * rows <= words * count(mask):
            told = short_rows_told(launch, records, stride, offsets, mask, follows, mine, table)
        else:
            told = anyhow_told(launch, records, stride, offsets, mask, mine, table, False)
        if not told:
            mistaken(launch)
        return
    while left != 0:
        apart = apart_by(offsets, left, words, shift)
        some = together(offsets, left, apart << shift) if apart != 0 else u32(0)
        if some != left and count(some) < FEW:
            if not irregular_told(launch, records, stride, offsets, left, mine, table):
                mistaken(launch)
            return
        if apart > CLOSE:
            if not anyhow_told(launch, records, stride, offsets, left, mine, table, some == left):
                mistaken(launch)
            return
        if not regular_told(launch, records, stride, u64(offsets[first(some)]), apart, some, mine, table):
            mistaken(launch)
            return
        left &= ~some


@rule
def regular(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    apart: u32,
    table: Pointer[u64],
) -> None:
    """Notes what lanes access that are known to be so many words apart, lane 0 from this offset on."""
    if mask != 0:
        offset = low + (u64(first(mask)) * apart << first(u32(launch.granule)))
        mine = thread_number(launch, block, warp)
        if not regular_told(launch, records, stride, offset, apart, mask, mine, table):
            mistaken(launch)


@rule
def one(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    table: Pointer[u64],
) -> None:
    """Notes what lanes access at one offset."""
    if mask == 0:
        return
    mine, least, shift = thread_number(launch, block, warp), launch.first_number, first(u32(launch.granule))
    words, lines, many = words_of(records, stride), lines_of(records, stride), mask & mask - 1 != 0
    mine += 2 * first(mask)
    for k in range(table[0]):
        word = offset + table[2 * k + ENTRIES] >> shift
        for at in range(word, word + (table[1] >> shift)):
            opened(words + (at >> LINE << LINE), lines + (at >> LINE), least)
            if not word_told(words + at, least, mine, many, table[2 * k + ENTRIES + 1] != 0):
                mistaken(launch)
                return
