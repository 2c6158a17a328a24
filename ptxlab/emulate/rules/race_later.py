"""racecheck on reads that are recorded when somebody needs to know of them, which is often never.

What is kept of a read is for a later write to compare with. Most kernels never write to the arrays that they read, and
what a block has read in shared memory no longer matters after its next barrier. So compiled code puts reads off: it
notes who reads what, which takes a few instructions, and the first access to the same memory that has to look at
records has all notes worked off before, in their order (`race_accesses.work_off`).

A loop reads the same way in each round, and so does one warp after the other, with addresses that are equally far
apart. One note tells all of such a series: how many reads there are, whose the next one would be, where, and which
number it would have among all reads that are put off, so that they are recorded in their order, whatever lies between
them.

That this comes to the same needs two things. No write of the allocation may be missing where a read is put off, so
that it is no hazard: global memory that nobody has written to yet, and shared memory until its first write after a
barrier. And whatever orders two accesses must be as it was: the clock is in the note, and programs that order threads
by anything but barriers of the whole block and `.sync` instructions of whole warps put nothing off (`may_put_off`).
Atomic operations order nothing in a program without fences: nobody has released anything that they could acquire.
When lanes last synchronized need not be known: as long as nothing but such barriers has ordered warps, a read makes
room only for one after a barrier, or for the same thread's (`Block.simple`).
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.instructions import full_masks, of_whole_warp, releases
from ptxlab.emulate.rules.race_rows import LATER, LINE
from ptxlab.emulate.rules.records import CODE, LAST_CODE, LAST_TIME, TIME, Block, Later, Launch, Put
from ptxlab.isa.actions import Action

TO_LAUNCH, NOW, TO_BLOCK, WATCHED, REPEATED = range(5)
"""Where reads of an allocation are noted: in the launch's notes, nowhere, in the block's; there, and writes as well;
nowhere as long as all accesses are those that an earlier block has made (`race_repeats`)."""
NOTED_WRITE = 16
"""What the note of a write has in its stamp besides the pattern."""
SINCE, FRONT = 14, 64
"""Of the numbers in `Later.who` (`race_alone`): where the interval begins; how many lie before the words', as many as
lanes that do not take part may lie in front of others."""
LAST_INTERVAL = (1 << 32 - SINCE) - 1
"""Where there is no room for another interval until the next barrier."""
LAUNCH_ROOM, LEAST_ROOM, BLOCK_ROOM = 1 << 17, 1 << 14, 1 << 12
"""How many reads of global memory may be put off at most, how many anyway, and how many of a block's shared memory."""
PATIENCE = 64
"""How many more reads of shared memory may be recorded after all than are forgotten; then none is put off."""
PARTS_OF_ROWS, ONE_ADDRESS, EACH, STRIDED = 6, 7, 8, 9
"""Patterns of reads that are put off, besides those of `accesses`: a row, or one for each half, of which some lanes are
missing; one address for those lanes that there are; an offset for each lane; lanes that are equally far apart, or so in
each half."""
NEAR = 64
"""A read is one more of a series only if fewer notes than this have been begun since, and fewer reads made between."""
NEVER = (1 << 64) - 1
"""The number of a read that there is none of."""
APART = 2
"""One of so many reads may have an offset for each lane."""
KINDS = "pure", "memory", "flow", "none", "lane", "warp"
"""Kinds of actions that order no accesses of different warps, with these exceptions."""
ORDERS = frozenset(
    {Action.FENCE, Action.CLUSTER_BARRIER, Action.WARPGROUP_PRODUCT, Action.WARPGROUP_FENCE, Action.WARPGROUP_COMMIT,
     Action.WARPGROUP_WAIT}
)  # fmt: skip


def room(words: int) -> int:
    """How many reads of so many words of global memory may be put off. To put off a read that is recorded after all
    costs a tenth more, so that it is no use where all lines are read again and again: there they settle."""
    return min(max(2 * words >> LINE, LEAST_ROOM), LAUNCH_ROOM)


def make_room(later: Later, room: int, codes: int = 0, size: int = 0, granule: int = 4) -> None:
    """Makes room for so many reads; of global memory: of how many instructions; of shared memory: of how many bytes."""
    later.reads, later.offsets = _taken(room)  # clearing it takes as long as using it
    later.limit = room
    if codes:
        later.open = Pointer(np.zeros(codes, np.uint64))
    if size:
        words = size // 4 + 2 * FRONT
        later.words = words + (size // granule + 2 * FRONT if granule < 4 else 0)
        later.who = Pointer(np.zeros(later.words, np.uint32))
        later.narrow = later.who + words if granule < 4 else later.who


def give_back(later: Later) -> None:
    """Its launch has ended: the next one may have the room. Pages that the system has not given yet cost more."""
    _idle[:] = [(later.reads, later.offsets, later.limit)]


_idle: list[tuple[Pointer[Put], Pointer[int], int]] = []
"""Room for the reads of a launch that has ended, of one at most."""


def _taken(room: int) -> tuple[Pointer[Put], Pointer[int]]:
    """Room for so many notes, and for the offsets of some of them."""
    try:
        reads, offsets, held = _idle.pop()
    except IndexError:
        held = 0
    if held != room:
        return Put.many(np.empty(room * Put.size, np.uint8)), Pointer(np.empty(32 * (room // APART), np.uint32))
    return reads, offsets


def may_put_off(program: Program) -> bool:
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
def synchronized(later: Later, warp: u32) -> None:
    """The lanes of a warp have synchronized."""
    if later.limit != 0 and later.interval < LAST_INTERVAL:
        later.interval += 1
        later.synced[warp] = u32(later.interval)


@rule(inline=True)
def full(later: Later) -> boolean:
    """Whether no more reads can be put off."""
    return later.count >= later.limit or later.apart >= later.limit // APART


@rule(cold=True)
def put_off(
    launch: Launch, block: Block, warp: u32, records: Pointer[u64], stride: u64, places: u64, mask: u32, pattern: u32,
    offsets: Pointer[u32] | None, members: Pointer[u64], pieces: Pointer[u64],
) -> boolean:  # fmt: skip
    """Notes a read, so that it is recorded later. False if it has to be recorded now."""
    where = records[3 * stride + LATER]
    if stride >> 32 != 0 or full(block.later if where == TO_BLOCK else launch.later):
        return False
    later = block.later if where == TO_BLOCK else launch.later
    stamp = me(block, warp, 0) | (block.full >> TIME & LAST_TIME) << CODE
    extent = u64(mask) << 32 | stride
    if where == TO_LAUNCH:
        if offsets is None:
            return put_off_again(launch, stamp | pattern, places, records, extent, 0, members, pieces)
        strided, places, apart = equally_far(offsets, mask)
        if strided:
            return put_off_again(launch, stamp | STRIDED, places, records, extent, apart, members, pieces)
    put = later.reads[later.count]
    put.stamp, put.places, put.records, put.extent = stamp | pattern, places, records, extent
    put.members, put.pieces, put.serial, put.count = members, pieces, later.serial, 1
    put.synced = block.sync[warp, warp]
    later.count += 1
    later.serial += u64(where == TO_LAUNCH)
    if offsets is not None:
        put.places = later.apart
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
    if mask != 0xFFFFFFFF:
        low = u32(low - lane * apart)
        high = u32(low + 16 * apart)
    meant = (lane_ids() & 15) * apart + (lane_ids() >> 4) * u32(high - low) + low
    return mask & ~bits(load_lanes(offsets) == meant) == 0, u64(high) << 32 | low, u64(apart)


@rule
def laid(put: Put) -> tuple[u64, u64]:
    """The same of an access that was put off, of whatever pattern but EACH: the offsets of lanes 0 and 16, and how far
    the lanes of each half are apart."""
    low, high, apart, pattern = put.places & 0xFFFFFFFF, put.places >> 32, put.members[2], put.stamp & 15
    if pattern == ONE_ADDRESS or pattern == ALL_THE_SAME:
        high, apart = low, 0
    elif pattern == HALVES_THE_SAME:
        apart = 0
    elif pattern == STRIDED:
        apart = put.apart
    elif pattern == IN_A_ROW:
        high = u64(u32(low + 16 * apart))
    return high << 32 | low, apart


@rule(cold=True)
def put_off_again(
    launch: Launch, stamp: u64, places: u64, records: Pointer[u64], extent: u64, apart: u64, members: Pointer[u64],
    pieces: Pointer[u64],
) -> boolean:  # fmt: skip
    """The same of a read of global memory, which may be one more of a series. The arguments are what a note keeps."""
    later, code = launch.later, members[3] >> CODE & LAST_CODE
    last = later.open[code]
    if u64(later.count - last - 1) < NEAR:
        put = later.reads[last]
        if put.extent == extent and put.apart == apart and put.records == records and put.members == members:
            pace = u64(later.serial - put.serial)
            if put.count == 1 and pace < NEAR:
                put.turn, put.step, put.pace = u64(stamp - put.stamp), u64(places - put.places), pace
                put.who, put.next, put.due = stamp, places, later.serial
            if put.due == later.serial and put.next == places and put.who == stamp:
                put.count += 1
                put.who, put.next = u64(put.who + put.turn), u64(put.next + put.step)
                put.due += put.pace
                later.serial += 1
                return True
    if full(later):
        return False
    put = later.reads[later.count]
    put.stamp, put.places, put.records, put.extent, put.apart = stamp, places, records, extent, apart
    put.members, put.pieces, put.serial, put.count, put.due = members, pieces, later.serial, 1, NEVER
    if last < later.count and later.reads[last].count > 1:  # it is likely to go on as the series before did
        before = later.reads[last]
        put.turn, put.step, put.pace = before.turn, before.step, before.pace
        put.who, put.next = u64(stamp + put.turn), u64(places + put.step)
        put.due = later.serial + put.pace
    later.open[code] = later.count
    later.count += 1
    later.serial += 1
    return True
