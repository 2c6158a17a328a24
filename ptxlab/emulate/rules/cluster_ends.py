"""racecheck at the end of a block: its shared memory is freed then, and other blocks of the cluster may still access
it.

An access to a block that has exited faults (memcheck). One that came in time only because of the order in which the
blocks ran here is noted: nothing that a warp of the block has waited for comes after it. Programs without a barrier of
the cluster, which cannot know that the other block has begun, are not looked at.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.note_kinds import MAY_HAVE_EXITED
from ptxlab.emulate.rules.notes import NOWHERE, note, serial
from ptxlab.emulate.rules.race_order import published
from ptxlab.emulate.rules.races import ordered
from ptxlab.emulate.rules.records import BLOCK, LAST_TIME, STRONG, TIME, WARP, Block, Launch


@rule(cold=True)
def ended(launch: Launch, block: Block) -> None:
    """A block of a cluster has ended."""
    records, stride = block.records, block.stride
    if records is None:
        return
    serial(launch, 0)
    before: u64 = 0
    for at in range(3 * stride):
        record = records[at]
        if record != 0 and record >> BLOCK != block.now >> BLOCK and record | 31 != before:
            before = record | 31
            if not waited_for(launch, block, record, at < stride):
                linear = block.linear
                block.linear = (record >> BLOCK) - 1  # the finding is about the thread of the other block
                note(launch, block, MAY_HAVE_EXITED, record, 0, NOWHERE, 0)
                block.linear = linear


@rule(cold=True)
def waited_for(launch: Launch, block: Block, record: u64, wrote: boolean) -> boolean:
    """Whether an access comes before the end of any warp of the block. A strong write that the block has acquired is
    itself a flag that it has seen."""
    theirs = published(launch, record)
    published_itself = theirs.reached_alone[record >> WARP & 31] == record >> TIME & LAST_TIME
    if record >> STRONG & 1 != 0 and published_itself and theirs.first <= published(launch, block.now).acquired:
        return True
    for warp in range(block.warps):
        if ordered(launch, block, record, block.now | warp << WARP, wrote):
            return True
    return False
