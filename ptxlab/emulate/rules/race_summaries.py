"""What racecheck keeps of whole arrays of records, so that most accesses need not look at all three records of a word.

After the three thirds of an allocation's records (`races.Shadow`) lie

    0   when its last write was recorded, as long as all were of one block: the block and its clock, as in a record;
        0: there was none, UNSURE: several blocks have written
    1   the same of its reads
    2   whether all words have records of their own (`race_line_records`)
    3   the epoch of the array: how many blocks and launches have used it
    4   whether any words have records of their own, 5 whether any have those of an earlier epoch
    6   whether its reads are recorded later (`race_deferred_reads`)
    7   how often joint lines have been taken apart; 8 how often lanes that lie in no row could not be deferred
    9   whether it is the shared memory of a block; 10 whether all lines are owned
    11  of `race_numbers`: whether all words have numbers of their own, 12 since when numbers lie there
    16  four numbers for each line of 16 words, which `race_line_records` describes

Without a write all writers are 0, and without a read all readers; if all were of one block, and before its last
barrier, they are ordered. Those records are not looked at, and memory that no thread accesses takes no time.

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
)
from ptxlab.emulate.rules.records import BLOCK, Block, Launch

WRITES, READS = range(2)
"""Where the first two of these lie."""


@rule(inline=True)
def room(stride: u64) -> u64:
    """Numbers that lie in an array of records with this stride: the records, and what is described above."""
    return 3 * stride + LINES + 4 * ((stride >> LINE) + 9 & ~7)


@rule
def begin_again(records: Pointer[u64], stride: u64) -> None:
    """Nothing has been accessed: another block has the memory now. Words that have records of their own keep them."""
    summary = records + 3 * stride
    summary[WRITES], summary[READS] = 0, 0
    summary[EPOCH] += 1
    summary[DISSOLVED] = 0
    summary[LEFT] = summary[OWN_RECORDS]
    if summary[BY_WORDS] != 0:
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
        summary = records + 3 * stride
        if write:
            summary[WRITES] = block.now if one_block(summary[WRITES], block.now) else UNSURE
        else:
            summary[READS] = block.now if one_block(summary[READS], block.now) else UNSURE


@rule(inline=True)
def one_block(before: u64, now: u64) -> boolean:
    """Whether there were no accesses before, or only those of the block that makes one now."""
    return before == 0 or (before ^ now) >> BLOCK == 0
