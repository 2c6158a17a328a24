"""initcheck: reads of shared memory that are known to be of written bytes, since the same have been before.

What has been written stays so until the block ends. Most shared memory is soon written without a hole, and one
comparison tells (`Block.reached`); but rows are often padded, and the padding is never written. Threads read the same
words there again and again: so reads of lanes that are equally far apart are remembered, some of them at a time.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.initcheck import group_written, reach
from ptxlab.emulate.rules.race_deferred_reads import equally_far
from ptxlab.emulate.rules.records import STRETCHES, Block


@rule
def all_before(
    block: Block,
    stretch: u64,
    mask: u32,
    offsets: Pointer[u32],
    pattern: u32,
    ranges: Pointer[u64],
    members: Pointer[u64],
) -> boolean:
    """Whether everything is written that a group of accesses reads in shared memory (`group_written`). Where that has
    to be looked up, so is how far the stretch is written by now; there is none from `STRETCHES` on."""
    strided, places, apart = equally_far(offsets, mask)
    known = block.remembered[u32(u32(places + members[1]) * 0x9E3779B1) >> 24]  # of the first one: its offset
    lanes = apart << 32 | mask
    if strided and known.begun == block.begun and known.places == places and known.lanes == lanes:
        if known.members == members:
            return True
    good = group_written(mask, block.written, offsets, pattern, ranges, members)
    if good and strided:
        known.begun, known.places, known.lanes, known.members = block.begun, places, lanes, members
    if stretch < STRETCHES:
        reach(block, stretch)
    return good
