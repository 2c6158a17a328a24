"""racecheck on reads of shared memory that are recorded when somebody needs to know of them, which is often never.

A read is recorded so that later writes can be compared with it, and after the next barrier of its block it no longer
matters. So compiled code defers reads: it notes who reads what, which takes a few instructions. The first access that
has to look at records first records all deferred ones, in their order (`race_accesses.work_off`).

The result is the same for two reasons. A deferred read is no hazard itself: reads are deferred only from a barrier to
the first write after it. And two accesses are ordered as they were at the time: the note has the clock, and programs
that order threads by anything but barriers of the whole block and `.sync` instructions of whole warps defer nothing
(`may_defer`). Atomic operations order nothing in a program without fences: nobody has released
anything that they could acquire. When lanes last synchronized need not be known: as long as nothing but such barriers
has ordered warps, a read makes room only for one after a barrier, or for the same thread's (`Block.simple`).
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_THE_SAME, IN_A_ROW, PARTS_OF_ROWS
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.instructions import full_masks, of_whole_warp, releases
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, Block, DeferredAccess, DeferredAccesses
from ptxlab.isa.actions import Action

NOW, TO_BLOCK, WATCHED, REPEATED, NUMBERED = range(5)
"""Where reads of an allocation are noted: nowhere, in the block's notes; there, and writes as well; nowhere as long as
all accesses are those that an earlier block has made (`race_repeats`). And of global memory: in numbers of words, as
writes are, too (`race_numbers`)."""
NOTED_WRITE = 16
"""What the note of a write has in its stamp besides the pattern."""
SINCE, FRONT = 14, 64
"""Of the numbers in `DeferredAccesses.who` (`race_owners`): where the interval begins; how many lie before the words',
as many as lanes that do not take part may lie in front of others."""
LAST_INTERVAL = (1 << 32 - SINCE) - 1
"""Where there is no room for another interval until the next barrier."""
ROOM = 1 << 12
"""How many accesses of a block to shared memory may be deferred."""
PATIENCE = 64
"""How many more reads of shared memory may be recorded after all than are forgotten; then none is deferred."""
ONE_ADDRESS, EACH, STRIDED = range(PARTS_OF_ROWS + 1, PARTS_OF_ROWS + 4)
"""Patterns of deferred reads, besides those of `accesses`: one address for those lanes that there are; an offset for
each lane; lanes that are equally far apart, or so in each half."""
APART = 2
"""One of so many reads may have an offset for each lane."""
KINDS = "pure", "memory", "flow", "none", "lane", "warp"
"""Kinds of actions that order no accesses of different warps, with these exceptions."""
ORDERS = frozenset(
    {
        Action.FENCE,
        Action.CLUSTER_BARRIER,
        Action.WARPGROUP_PRODUCT,
        Action.WARPGROUP_FENCE,
        Action.WARPGROUP_COMMIT,
        Action.WARPGROUP_WAIT,
    }
)


def make_room(later: DeferredAccesses, size: int, granule: int) -> None:
    """Makes room for the notes of a block with so many bytes of shared memory."""
    later.reads = DeferredAccess.many(
        np.empty(ROOM * DeferredAccess.size, np.uint8)
    )  # clearing it takes as long as using it
    later.offsets = Pointer(np.empty(32 * (ROOM // APART), np.uint32))
    later.limit = ROOM
    words = size // 4 + 2 * FRONT
    later.words = words + (size // granule + 2 * FRONT if granule < 4 else 0)
    later.who = Pointer(zeroed(4 * later.words).view(np.uint32))
    later.narrow = later.who + words if granule < 4 else later.who


def may_defer(program: Program) -> bool:
    """Whether nothing orders accesses of the program's threads but barriers of the whole block, and `.sync`
    instructions of whole warps."""
    full, calm = full_masks(program), not releases(program)
    return all(_orders_nothing(code, full, calm) for code in program.codes)


def _orders_nothing(code: Code, full: set[int], calm: bool) -> bool:
    """The same of an instruction, which may be such a barrier. calm: nothing releases what an atomic operation would
    acquire."""
    traits = code.properties
    if traits.barrier:
        given = [source for source in code.sources if source is not None]
        return not code.form.arrive and len(given) - bool(code.form.red) == 1
    if traits.space == "cluster" or traits.action in ORDERS:
        return False
    if traits.strong:
        return traits.atomic and calm
    return traits.action.kind in KINDS and (not traits.converges or of_whole_warp(code, full))


@rule(inline=True)
def synchronized(later: DeferredAccesses, warp: u32) -> None:
    """The lanes of a warp have synchronized."""
    if later.limit != 0 and later.interval < LAST_INTERVAL:
        later.interval += 1
        later.synced[warp] = u32(later.interval)


@rule(inline=True)
def full(later: DeferredAccesses) -> boolean:
    """Whether no more reads can be deferred."""
    return later.count >= later.limit or later.apart >= later.limit // APART


@rule(cold=True)
def defer(
    block: Block,
    warp: u32,
    records: Pointer[u64],
    stride: u64,
    places: u64,
    mask: u32,
    pattern: u32,
    offsets: Pointer[u32] | None,
    members: Pointer[u64],
    pieces: Pointer[u64],
) -> boolean:
    """Notes a read, so that it is recorded later. False if it has to be recorded now."""
    later = block.later
    if stride >> 32 != 0 or full(later):
        return False
    deferred = later.reads[later.count]
    deferred.stamp = access_of(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE | pattern
    deferred.places, deferred.records, deferred.extent = places, records, u64(mask) << 32 | stride
    deferred.members, deferred.pieces, deferred.synced = members, pieces, block.sync[warp, warp]
    later.count += 1
    if offsets is not None:
        deferred.places = later.apart
        copy_bytes((later.offsets + 32 * later.apart).cast(u8), offsets.cast(u8), 128)
        later.apart += 1
    return True


@rule
def equally_far(offsets: Pointer[u32], mask: u32) -> tuple[boolean, u64, u64]:
    """Whether the lanes of a mask are equally far apart: of all 32 those of each half, and those of both halves. Also
    the offsets of lanes 0 and 16, and how far."""
    lane = first(mask)
    low, high = offsets[lane & 31], offsets[16]
    apart = u32(offsets[lane + 1 & 31] - low)
    if mask != ALL_LANES:
        low = u32(low - lane * apart)
        high = u32(low + 16 * apart)
    meant = (lane_ids() & 15) * apart + (lane_ids() >> 4) * u32(high - low) + low
    return mask & ~bits(load_lanes(offsets) == meant) == 0, u64(high) << 32 | low, u64(apart)


@rule
def laid(deferred: DeferredAccess) -> tuple[u64, u64]:
    """The same of a deferred access, of whatever pattern but EACH: the offsets of lanes 0 and 16, and how far
    the lanes of each half are apart."""
    low, high, apart, pattern = (
        deferred.places & 0xFFFFFFFF,
        deferred.places >> 32,
        deferred.members[2],
        deferred.stamp & 15,
    )
    if pattern == ONE_ADDRESS or pattern == ALL_THE_SAME:
        high, apart = low, 0
    elif pattern == HALVES_THE_SAME:
        apart = 0
    elif pattern == STRIDED:
        apart = deferred.apart
    elif pattern == IN_A_ROW:
        high = u64(u32(low + 16 * apart))
    return high << 32 | low, apart
