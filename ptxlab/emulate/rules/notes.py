"""The notes that checks take: a table, each entry with a count, until the launch has ended.

An instruction often makes the same mistake thousands of times, so notes of one kind at the same instructions share an
entry; it keeps the first of those whose threads are farthest apart (`scope`), as what orders blocks orders warps, and
not the other way round. Several lanes or words of one warp-instruction count once: `serial` is its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.language import *
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.instructions import barrier_before
from ptxlab.emulate.rules.records import *

UNINITIALISED, RAW, WAR, WAW, SAME, DIVERGENT, EXITED, COUNTS, OMITTED, EXITED_LANE, SOURCE, RANGE = range(1, 13)
PENDING, PHASE, ENDLESS, MADE_AGAIN, INVALID_IN_USE, UNMADE, TOO_MANY, COMPLETES, BAD_COUNT = range(13, 22)
TOUCHED_EARLY, UNFENCED, NO_PROXY_FENCE, TILE_OVERWRITTEN, TILE_LAYOUT, TILE_UNORDERED = range(40, 46)
DIVERGENT_BLOCK, LOCKSTEP, MAY_HAVE_EXITED, NO_VALUE, OVERRUN = 22, 23, 31, 32, 33
TOO_FEW_BYTES, BYTES_LEFT, BAD_BYTES, BLOCK_ENDED, INVALID_BEFORE_COPY, INIT_UNORDERED, UNSEEN = range(24, 31)
MISSED, SHARED_BARRIER, MAY_NOT_HAVE_BEGUN = range(46, 49)
"""The kinds of note an engine takes. SAME: two lanes in one store."""
HAZARDS = (RAW, WAR, WAW, SAME)
"""Those of two accesses that race."""
SECOND, SECOND_WIDE = 16, 32
"""In the value of a note that has two numbers: where the second one begins, of counts and of lanes, and of others."""
CAUSE = 32
"""In the value of a race's note: where code index + 1 of the instruction begins that could have ordered it,"""
SOME_LANES = LAST_CODE + 1
"""or this: some lanes of a warp have released only what they did themselves. Any other cause takes precedence."""
KIND, MINE = 40, 20
"""Where, in a note's key, its kind and the code index of the access that noticed begin; the other's + 1 is at 0."""
NOWHERE = (1 << 64) - 1
"""The address of a note that is not about memory."""


@dataclass
class Note:
    """What an engine noted: `kind`, the code index and thread (linear block, warp, lane) that noticed, those of the
    other party (code -1: none), the address as the instruction sees it, a number that the kind explains, how often."""

    kind: int
    code: int
    block: int
    warp: int
    lane: int
    other: int = -1
    other_block: int = 0
    other_warp: int = 0
    other_lane: int = 0
    address: int = -1
    value: int = 0
    count: int = 1

    @property
    def scope(self) -> int:
        """How far apart its threads are; see `scope`."""
        return 2 if self.block != self.other_block else int(self.warp != self.other_warp)


@rule
def serial(launch: Launch, mask: u32) -> None:
    """The next warp-instruction, executed by the lanes of the mask: what is noted twice in it counts once."""
    launch.serial += 1
    launch.mask = mask


@rule
def scope(access: u64, other: u64) -> u64:
    """How far apart the threads of two records are: 0 of one warp, 1 of one block, 2 of two blocks."""
    difference = access ^ other
    if difference >> BLOCK != 0:
        return u64(2)
    return u64(difference >> WARP & 31 != 0)


@rule(cold=True)
def note(launch: Launch, block: Block, kind: u64, access: u64, other: u64, address: u64, value: u64) -> None:
    """Takes a note: the record of the access that noticed, that of the other one (0: there is none), the address, and a
    number that the kind explains. One that finds no room is lost."""
    theirs: u64 = 0
    if other != 0:
        theirs = (other >> CODE & LAST_CODE) + 1
    key = kind << KIND | (access >> CODE & LAST_CODE) << MINE | theirs
    at = u64(key * 0x9E3779B97F4A7C15) >> 54
    for _ in range(ENTRIES):
        entry = launch.notes[at]
        first = entry.key == 0
        if first or entry.key == key:
            # how often a warp tries to wait for an mbarrier is a matter of the schedule
            if first or (entry.serial != launch.serial and traits_of(launch, access) & USES == 0):
                entry.count += 1
                entry.serial = launch.serial
            better = kind <= SAME and entry.value >> CAUSE == SOME_LANES != value >> CAUSE
            if first or better or scope(access, other) > scope(entry.access, entry.other):
                entry.key = key
                entry.access = access
                entry.other = other
                entry.address = address
                entry.block = block.linear
                entry.value = value
            return
        at = (at + 1) % ENTRIES


@rule
def taking_part(launch: Launch, warp: u32, mask: u32, members: Pointer[u64]) -> None:
    """Records which lanes of a warp make an access, if not all do: a record for many lanes names only one of them.
    members: the instructions, as `race_accesses` describes them."""
    if mask != ALL_LANES:
        for k in range(members[0]):
            launch.masks[(members[3 * k + 3] >> CODE & LAST_CODE) * 32 + warp] = mask


def noted(launch: Launch, program: Program) -> Iterator[Note]:
    for k in np.flatnonzero(launch.notes.array.view(Entry.dtype)["key"]).tolist():
        found = _read(launch, launch.notes[k])
        if found.kind == DIVERGENT and found.value:  # it waits at the barrier in front of where it goes on
            found.other = barrier_before(program, 2 * found.other)
        yield found


def _read(launch: Launch, entry: Entry) -> Note:
    access, other = entry.access, entry.other
    has_other = bool(entry.key & (1 << MINE) - 1)
    same_block, same_warp = access >> BLOCK == other >> BLOCK, not (access ^ other) >> WARP & 31
    other_code, other_warp, other_lane = other >> CODE & LAST_CODE, other >> WARP & 31, other >> LANE & 31
    lane = access >> LANE & 31
    others = entry.value & 0xFFFFFFFF & ~(1 << lane)
    if access >> MANY & 1 and same_warp and lane == other_lane and others:  # the record's lane is the other party
        lane = (others & -others).bit_length() - 1
    if has_other and other >> MANY & 1 and same_block and same_warp and lane == other_lane:
        other_lane = another(launch.masks[32 * other_code + other_warp], lane)
    mine = access >> CODE & LAST_CODE, entry.block, access >> WARP & 31, lane
    theirs = entry.block if same_block else (other >> BLOCK) - 1, other_warp, other_lane
    address = entry.address if entry.address != NOWHERE else -1
    return Note(entry.key >> KIND, *mine, other_code if has_other else -1, *theirs, address, entry.value, entry.count)


def another(mask: int, lane: int) -> int:
    """The lowest lane above `lane` that made the same access; `mask`: the lanes that did, 0 for all."""
    above = (mask or ALL_LANES) >> lane + 1 << lane + 1
    return (above & -above).bit_length() - 1 if above & ALL_LANES else lane
