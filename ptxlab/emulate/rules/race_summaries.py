"""What racecheck keeps of whole arrays of records, so that most accesses need not look at all three records of a word.

After the three thirds of an allocation's records (`races.Shadow`) lie

    0   when its last write was recorded: the block and its clock, as in a record; 0: there was none
    1   the same as long as all writes were of one block, else UNSURE
    2   the same of its reads
    3   whether any line has been settled: UNKNOWN (the numbers of lines mean nothing yet), NONE or SOME
    4   whether all words have records of their own (`race_line_records`)
    5   the epoch of the array: how many blocks and launches have used it
    6   whether any words have records of their own, 7 whether any have those of an earlier epoch
    8   whether its reads are recorded later (`race_deferred_reads`)
    9   how often joint lines have been taken apart; 10 how often lanes that lie in no row could not be deferred
    11  whether it is the shared memory of a block
    16  a number for each line of 16 words, then four for each, which `race_line_records` describes

Without a write all writers are 0, and without a read all readers; if all were of one block, and before its last
barrier, they are ordered. Those records are not looked at, and memory that no thread accesses takes no time. A
**settled** line is one of which a read changes nothing and is no hazard: each word has two readers that stay, and no
writer that matters. Kernels read the same matrix with all their blocks, or the same tile with all warps of a block. The
number of a settled line is one of these:

    63..48  a block       47..30  the time of its last barrier      29..0  warps
        It is settled for the other warps of this block until the block's next barrier, or a write to the allocation.
    63..33  0             32      1       31..16  a block           15..0  a block
        All readers are of these blocks. It is settled for all others until a write to the allocation.
    63..32  2, 3 or 4     31..0   the block and the time of its last barrier, but for the highest bits
        It is not known to be settled; it has been read without a change so often, less 1, the last time then.

Only compiled code keeps these (`Launch.summaries`). `step` has records of each word alone, so that comparing the two
engines tests this module.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.race_line_records import (
    BY_WORDS,
    DISSOLVED,
    EPOCH,
    LEFT,
    LINE,
    LINES,
    OWN_RECORDS,
    UNSURE,
    before_barrier,
    by_rows,
    numbers,
    records_of,
)
from ptxlab.emulate.rules.records import BLOCK, TIME, WARP, Block, Launch

LAST_WRITE, WRITES, READS, ANY_SETTLED = range(4)
"""Where each of these begins."""
UNKNOWN, NONE, SOME = range(3)
"""Whether any line has been settled."""
SEEN = 2
"""The first of the three numbers that say how often a line has been read without a change."""
WARPS = (1 << TIME) - 1
"""The bits of a line for warps: there are 30. A line that cannot be settled has all of them."""


@rule(inline=True)
def room(stride: u64) -> u64:
    """Numbers that lie in an array of records with this stride: the records, and what is described above."""
    return 3 * stride + LINES + 5 * numbers(stride)


@rule
def begin_again(records: Pointer[u64], stride: u64) -> None:
    """Nothing has been accessed: another block has the memory now. Words that have records of their own keep them."""
    kept = records + 3 * stride
    kept[LAST_WRITE], kept[WRITES], kept[READS], kept[ANY_SETTLED] = 0, 0, 0, 0
    kept[EPOCH] += 1
    kept[DISSOLVED] = 0
    kept[LEFT] = kept[OWN_RECORDS]
    if kept[BY_WORDS] != 0:
        fill_bytes(records, 0, 24 * stride)


@rule(inline=True)
def none_written(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> boolean:
    """Whether no word of an allocation has a writer, but for those from before the block's last barrier of all."""
    low = block.now >> BLOCK << BLOCK
    return launch.summaries and before_barrier(records[3 * stride + WRITES], low, u64(block.full - low))


@rule(inline=True)
def none_read(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> boolean:
    """Whether no word of an allocation has a reader, but for those from before the block's last barrier of all."""
    low = block.now >> BLOCK << BLOCK
    return launch.summaries and before_barrier(records[3 * stride + READS], low, u64(block.full - low))


@rule(inline=True)
def accessed(launch: Launch, block: Block, records: Pointer[u64], stride: u64, write: boolean) -> None:
    """An access to an allocation is about to be recorded."""
    if launch.summaries:
        kept = records + 3 * stride
        if write:
            kept[LAST_WRITE] = block.now
            kept[WRITES] = block.now if one_block(kept[WRITES], block.now) else UNSURE
        else:
            kept[READS] = block.now if one_block(kept[READS], block.now) else UNSURE


@rule(inline=True)
def one_block(before: u64, now: u64) -> boolean:
    """Whether there were no accesses before, or only those of the block that makes one now."""
    return before == 0 or (before ^ now) >> BLOCK == 0


@rule(inline=True)
def disturbed(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> None:
    """Something is recorded of an allocation that lines do not follow: none of them is settled any more."""
    if launch.summaries:
        records[3 * stride + LAST_WRITE] = block.now


@rule(inline=True)
def lines_hold(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> boolean:
    """Whether the numbers of lines are valid for this block: only barriers of all have ordered its warps, and the last
    write was its own before the last of those, or there was none."""
    if not launch.summaries or block.simple == 0:
        return False
    time, low = records[3 * stride + LAST_WRITE], block.now >> BLOCK << BLOCK
    return time == 0 or u64(time - low) < u64(block.full - low)


@rule(inline=True)
def settled(block: Block, line: u64, warp: u64) -> boolean:
    """Whether a read by this warp changes nothing in a line, by its number."""
    if (line ^ block.full) >> TIME == 0 and line >> warp & 1 == 0:
        return True
    mine = block.full >> BLOCK
    return line >> 32 == 1 and line >> 16 & 0xFFFF != mine and line & 0xFFFF != mine


@rule(inline=True)
def row_settled(block: Block, kept: Pointer[u64], word: u64, words: u64, warp: u64) -> boolean:
    """The same for all lines of some words in a row; `kept`: what lies after the records."""
    if warp >= TIME or kept[ANY_SETTLED] != SOME:
        return False
    for line in range(word >> LINE, (word + words - 1 >> LINE) + 1):
        if not settled(block, kept[LINES + line], warp):
            return False
    return True


@rule(inline=True)
def line_settled(block: Block, kept: Pointer[u64], number: u64, warp: u64) -> boolean:
    """The same for one line; `kept`: what lies after the records."""
    return warp < TIME and kept[ANY_SETTLED] == SOME and settled(block, kept[LINES + number], warp)


@rule(inline=True)
def each_settled(block: Block, line: lanes_u64, warp: u64) -> lanes_bool:
    """The same for 32 numbers of lines."""
    mine = block.full >> BLOCK
    good: lanes_bool = (line >> 32 == 1) & (line >> 16 & 0xFFFF != mine) & (line & 0xFFFF != mine)
    if not all_of(good):
        good |= ((line ^ block.full) >> TIME == 0) & (line & 1 << warp == 0)
    return good


@rule(inline=True)
def lanes_settled(
    block: Block, kept: Pointer[u64], begin: lanes_u64, words: u64, warp: u64, chosen: lanes_bool
) -> boolean:
    """The same for some words from one of each lane on, at most 16."""
    if warp >= TIME or kept[ANY_SETTLED] != SOME:
        return False
    lines = kept + LINES
    one, two = begin >> LINE, begin + (words - 1) >> LINE
    if any_of(chosen & ~each_settled(block, gather(lines, one, chosen), warp)):
        return False
    if any_of(chosen & (one != two)):
        return not any_of(chosen & ~each_settled(block, gather(lines, two, chosen), warp))
    return True


@rule(cold=True)
def settle(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, word: u64, words: u64, patient: boolean
) -> None:
    """Some words in a row have been read, and nothing has changed: looks whether their lines are settled, once for
    each line between two barriers, and for one more block where the readers are of two others. patient: not
    before it has been so twice between two barriers, or four times; many lines are read once or twice more, and then
    never again."""
    kept = records + 3 * stride
    lines = kept + LINES
    if kept[ANY_SETTLED] == UNKNOWN:
        kept[ANY_SETTLED] = NONE
        fill_bytes(lines, 0, 8 * numbers(stride))
    for line in range(word >> LINE, (word + words - 1 >> LINE) + 1):
        if (lines[line] ^ block.full) >> TIME != 0 and lines[line] >> 32 != 1:
            now, seen = block.full >> TIME & 0xFFFFFFFF, lines[line] >> 32
            if patient and seen != SEEN + 2 and (seen < SEEN or seen > SEEN + 2 or lines[line] & 0xFFFFFFFF != now):
                lines[line] = (seen + 1 if seen == SEEN or seen == SEEN + 1 else u64(SEEN)) << 32 | now
                continue
            lines[line] = number_of(launch, block, records, stride, line << LINE)
            if lines[line] & WARPS != WARPS:
                kept[ANY_SETTLED] = SOME


@rule(inline=True)
def before(record: row_u64, low: u64, span: u64) -> row_bool:
    """Which records are those of the block from before its last barrier."""
    found: row_bool = record - low < span
    return found


@rule
def number_of(launch: Launch, block: Block, records: Pointer[u64], stride: u64, word: u64) -> u64:
    """The number of a line, which begins with this word."""
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    rows, line = by_rows(launch, records, stride), word >> LINE
    reader, other = records_of(records, stride, line, 1, rows), records_of(records, stride, line, 2, rows)
    writer = records_of(records, stride, line, 0, rows)
    if any_of((reader == 0) | (other == 0) | before(reader, low, span) | before(other, low, span)):
        return block.full | WARPS
    if not all_of((writer == 0) | before(writer, low, span)):
        return block.full | WARPS
    one = u64(extract(reader, 0)) >> BLOCK
    two = u64(extract(other, 0)) >> BLOCK
    strange = (reader >> BLOCK != low >> BLOCK) & (other >> BLOCK != low >> BLOCK)
    if records[3 * stride + LAST_WRITE] == 0 and all_of(strange):
        alike = (reader >> BLOCK == one) | (reader >> BLOCK == two)
        if all_of(alike & ((other >> BLOCK == one) | (other >> BLOCK == two))):
            return 1 << 32 | one << 16 | two
    found = block.full
    for third in range(2):
        record = other if third else reader
        left = bits(record >> BLOCK == low >> BLOCK)
        while left:
            warp = u64(extract(record, first(left)) >> WARP & 31)
            if warp >= TIME:
                return block.full | WARPS
            found |= 1 << warp
            left &= ~bits(record >> WARP & 31 == warp)
    return found
