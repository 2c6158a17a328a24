"""racecheck on reads of rows, several at once: a warp that reads its neighbours' words too, or rows of a tile.

`stretch` looks at all words of one access, then at those of the next. Here each line is looked at once for all of them,
which comes to the same where nothing needs to be noted: what is kept of a word depends on this word alone.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.race_line_records import (
    CHANGED,
    LINE,
    LOOK,
    OF_WORDS,
    OWN_RECORDS,
    ROW,
    WHOLE,
    before_barrier,
    begun,
    by_rows,
    keep,
    line_of,
    no_later,
    records_of,
    row_accessed,
)
from ptxlab.emulate.rules.race_owned_lines import line_taken
from ptxlab.emulate.rules.race_partial_lines import FULL, by_lanes, mixed, words_of
from ptxlab.emulate.rules.race_summaries import accessed, none_written
from ptxlab.emulate.rules.records import BLOCK, ID, STRONG, Block, Launch

OF_WARP = ID & ~(31 | 1 << STRONG)
"""The fields of a record that name the warp, and say whether many of its lanes made the access."""
NEAR = 16 * ROW
"""Words among which reads that are looked at line by line lie, unless each lies behind the one before."""


@rule
def read_together(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    members: Pointer[u64],
    width: u64,
    access: u64,
) -> boolean:
    """All members, which read, side by side in `width` lanes: each line is looked at once, for all of them. False where
    words need to be looked at, or lanes read different numbers of words. To record the same reads again, one after the
    other, changes nothing."""
    if block.simple == 0:
        return False
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    count, extent = members[0], members[2] // launch.granule * width
    begin, end, apart, rising = u64(ALL_LANES), u64(0), True, True
    for k in range(count):
        word = (offset + members[3 * k + 1]) // launch.granule
        if members[3 * k + 2] != members[2]:
            return False
        rising = rising and word + extent > end
        apart = apart and (word < begin or word + extent > end)
        begin = min(begin, word)
        end = max(end, word + extent)
    if not rising and end - begin > NEAR:
        return False
    unwritten = none_written(launch, block, records, stride)
    accessed(launch, block, records, stride, False)
    number, one, past = begin >> LINE, u64(0), u64(0)
    if not rising:
        past = count
    while number <= end - 1 >> LINE:
        if rising:  # members from `one` on and before `past` touch this line
            while (offset + members[3 * one + 1]) // launch.granule + extent <= number << LINE:
                one += 1
            past = max(past, one)
            while past < count and (offset + members[3 * past + 1]) // launch.granule < number + 1 << LINE:
                past += 1
            if one == past:
                number = (offset + members[3 * one + 1]) // launch.granule >> LINE
                continue
        if not line_read(
            launch,
            block,
            records,
            stride,
            number,
            offset,
            members,
            one,
            past,
            width,
            access,
            low,
            span,
            unwritten,
            apart,
        ):
            return False
        number += 1
    return True


@rule(inline=True)
def covered(number: u64, word: u64, words: u64) -> u32:
    """The bits of the words of a line that are among some words in a row."""
    begin = number << LINE
    if word <= begin:
        if word + words >= begin + ROW:
            return FULL
        return u32((1 << word + words - begin) - 1) if word + words > begin else u32(0)
    if word >= begin + ROW:
        return 0
    high = min(word + words - begin, u64(ROW))
    return u32((1 << high) - (1 << word - begin))


@rule
def line_read(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    number: u64,
    offset: u64,
    members: Pointer[u64],
    one: u64,
    past: u64,
    width: u64,
    access: u64,
    low: u64,
    span: u64,
    unwritten: boolean,
    apart: boolean,
) -> boolean:
    """Records what members from `one` on and before `past`, which read, do to one line. False where words need to be
    looked at. unwritten: that it has no writer is known. apart: no lane reads a word twice."""
    rows = by_rows(launch, records, stride)
    line, begin = line_of(records, stride, number), records + (number << LINE)
    size = members[2] // launch.granule
    shift = u64(first(u32(size)))
    done, changes = one, u64(0)
    if rows and past - one == 1:
        word = (offset + members[3 * one + 1]) // launch.granule
        now = by_lanes(access | members[3 * one + 3], u64((number << LINE) - word), shift)
        if line_taken(records, stride, number, now, covered(number, word, size * width), False):
            return True
    if rows:
        line = begun(records, stride, number)
        while done < past:  # those that cover the whole line, as records of lines
            word = (offset + members[3 * done + 1]) // launch.granule
            meant = covered(number, word, size * width)
            if meant != 0:
                if meant != FULL:
                    break
                who = (access | members[3 * done + 3]) + ((number << LINE) - word >> shift)
                told = row_accessed(block, line, who, min(shift, u64(WHOLE)), low, span, False)
                if told == LOOK:
                    break
                changes += u64(told == CHANGED)
                if apart and changes == 2:  # they are its two readers now, and no other lane is one of these
                    return True
            done += 1
        if done == past:
            return True
    if not (unwritten or (rows and before_barrier(line[0], low, span))):
        writer = records_of(records, stride, number, 0, rows)
        if not all_of((writer == 0) | (writer - low < span)):
            return False
    reader = records_of(records, stride, number, 1, rows)
    other = records_of(records, stride, number, 2, rows)
    free, left = u32(FULL), u32(FULL)  # words where a reader, and another one, need not be kept
    if not (rows and before_barrier(line[1], low, span)):
        free = bits((reader == 0) | (reader - low < span))
    if not (rows and before_barrier(line[2], low, span)):
        left = bits((other == 0) | (other - low < span))
    ours, others = bits((reader ^ access) & OF_WARP == 0), bits((other ^ access) & OF_WARP == 0)  # words of this warp
    new, last = False, False
    while done < past:
        word = (offset + members[3 * done + 1]) // launch.granule
        meant = covered(number, word, size * width)
        if meant & (free | left | ours | others) != 0:
            now = by_lanes(access | members[3 * done + 3], u64((number << LINE) - word), shift)
            taken = meant & free
            if meant & ours & ~free != 0:
                taken |= meant & bits((reader ^ now) & ID == 0)
            if taken != 0:
                reader = mixed(words_of(taken), now, reader)
                free, new = free & ~taken, True
                ours = ours & ~taken if apart else ours | taken
                meant &= ~taken
            taken = meant & left
            if meant & others & ~left != 0:
                taken |= meant & bits((other ^ now) & ID == 0)
            if taken != 0:
                other = mixed(words_of(taken), now, other)
                left, last = left & ~taken, True
                others = others & ~taken if apart else others | taken
        done += 1
    if new:
        put_row(block, records, stride, line, 1, begin + stride, reader, rows)
    if last:
        put_row(block, records, stride, line, 2, begin + 2 * stride, other, rows)
    return True


@rule(inline=True)
def put_row(
    block: Block,
    records: Pointer[u64],
    stride: u64,
    line: Pointer[u64],
    third: u64,
    at: Pointer[u64],
    row: row_u64,
    rows: boolean,
) -> None:
    """Gives the words of a line these records."""
    if rows:
        records[3 * stride + OWN_RECORDS] = 1
        keep(line, third, line[third], OF_WORDS)
        no_later(line, third, block.now)
    store_row(at, row)
