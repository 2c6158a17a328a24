"""racecheck on reads that are recorded when somebody needs to know of them, which is often never.

What is kept of a read is for a later write to compare with. Most kernels never write to the arrays that they read, and
what a block has read in shared memory no longer matters after its next barrier. So compiled code puts reads off: it
notes who reads what, which takes a few instructions, and the first access to the same memory that has to look at
records has all notes worked off before, in their order (`race_accesses.work_off`).

That this comes to the same needs two things. No write of the allocation may be missing where a read is put off, so
that it is no hazard: global memory that nobody has written to yet, and shared memory until its first write after a
barrier. And whatever orders two accesses must be as it was: the clock is in the note, and programs that order threads
by anything but barriers of the whole block put nothing off (`may_put_off`).
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import Pointer, rule
from ptxlab.emulate.program.model import Code, Program
from ptxlab.emulate.rules.race_rows import LATER, LINE
from ptxlab.emulate.rules.records import Block, Later, Put
from ptxlab.isa.actions import Action

TO_LAUNCH, NOW, TO_BLOCK = range(3)
"""Where reads of an allocation are noted: in the launch's notes, nowhere, in the block's."""
LAUNCH_ROOM, BLOCK_ROOM = 1 << 17, 1 << 12
"""How many reads of global memory may be put off at most, and how many of a block's shared memory."""
PATIENCE = 64
"""How many more reads of shared memory may be recorded after all than are forgotten; then none is put off."""
PARTS_OF_ROWS, ONE_ADDRESS, EACH = 6, 7, 8
"""Patterns of reads that are put off, besides those of `accesses`: a row, or one for each half, of which some lanes are
missing; one address for those lanes that there are; an offset for each lane."""
APART = 4
"""One of so many reads may have an offset for each lane."""
KINDS = "pure", "memory", "flow", "none"
"""Kinds of actions that order no accesses of different threads, with some exceptions."""


def room(words: int) -> int:
    """How many reads of so many words of global memory may be put off. To put off a read that is recorded after all
    costs a tenth more, so that it is no use where all lines are read again and again: there they settle."""
    return min(max(2 * words >> LINE, BLOCK_ROOM), LAUNCH_ROOM)


def make_room(later: Later, room: int) -> None:
    """Makes room for so many reads."""
    later.reads, later.offsets, later.limit = Put.many(room), Pointer(np.zeros(32 * (room // APART), np.uint32)), room


def may_put_off(program: Program) -> bool:
    """Whether nothing but barriers of the whole block orders accesses of the program's threads."""
    return all(map(_orders_nothing, program.codes))


def _orders_nothing(code: Code) -> bool:
    """The same of an instruction, which may be such a barrier."""
    traits = code.properties
    if traits.barrier:
        given = [source for source in code.sources if source is not None]
        return not code.form.arrive and len(given) - bool(code.form.red) == 1
    if traits.strong or traits.atomic or traits.converges or traits.space == "cluster":
        return False
    return traits.action.kind in KINDS and traits.action not in (Action.FENCE, Action.CLUSTER_BARRIER)


@rule(inline=True)
def forget_reads(block: Block) -> None:
    """What a block has read in its shared memory no longer matters: it begins, or all its warps have met at a barrier.
    Reads are put off again, if that has been of use."""
    records, stride = block.records, block.stride
    if block.later.limit != 0 and records is not None:
        block.later.spared += block.later.count
        block.later.count, block.later.apart = 0, 0
        records[3 * stride + LATER] = TO_BLOCK if block.later.spared + PATIENCE > block.later.wasted else NOW
