"""The checks' records of mbarriers: their phases, which threads have arrived in them, and which wait.

A **party** is one number: a code index, from bit 32 on, and the thread that executed it, in the lowest 16 bits. Between
these stand, of a thread of another block of the cluster, the rank of that block + 1.
"""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.language import *
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules.notes import INIT_UNORDERED
from ptxlab.emulate.rules.races import between_warps
from ptxlab.emulate.rules.records import LAST_TIME, RANKS, TIME, Block, Launch
from ptxlab.emulate.runtime.state import Queue, Transfer
from ptxlab.targets import WARPS_PER_BLOCK

CODE, RANK, THREADS = 32, 16, 0xFFFF
"""Where in a party the code index and the rank of another block begin; the bits of the thread."""
NOBODY = (1 << 64) - 1
"""Instead of a party."""
KEPT, LINES = 4, 4
"""Phases whose first arrival is known; lines whose bytes are added up in a phase."""
NEVER = -9
"""Stands for no phase."""


class Seat(Record):
    """The record of one thread at an mbarrier. The orders say who was the first to do so at it; 0: it has not."""

    arrived_order: u32
    arrived_phase: i32  # of its last arrival
    arrived_code: u32
    passed_order: u32  # of its last wait that has passed: the phase that is over, the instruction, `given` then
    passed_phase: i32
    passed_code: u32
    passed_updates: u64
    passed_full: u64
    next_arrival: u64  # the first in the phase that it should have waited for
    repeated: u32  # whether a wait has passed for the same phase before that one
    waiting_order: u32  # of a wait that still fails: the phase, if it can only wait again, and the parity it tests
    waiting_phase: i32
    waiting_code: u32
    waiting_parity: u32
    copied_phase: i32  # the last phase to which its copies of cp.async report, and their last group
    copied: u32
    copied_at: u32  # when they were told to
    copied_before: u32  # the same of those that report to phases before that
    copied_before_at: u32


class Mbarrier(Record):
    at: u64  # its address in shared memory
    made: u64  # by whom, or its first user
    word: u64  # its contents
    phase: i32  # how many have completed
    seen: i32  # the last phase that a wait has seen over
    used: u64  # by whom last
    latest: u64  # the last arrival in this phase
    first: Array[u64] = array(KEPT)  # of phase p, at p % KEPT: the first arrival; which phase that is
    first_phase: Array[i32] = array(KEPT)
    order: u32  # the last one given to a seat
    repeats: u32  # whether any seat has a repeated wait
    copies: u32  # whether copies of cp.async report to this phase; to phases before this one, and no wait was told
    copies_before: u32
    announced: u64  # in this phase: who announced bytes first, and who brought some last
    brought: u64
    moved_line: Array[u32] = array(LINES)  # in this phase: twice a line, + 1 where it announces bytes; 0: none
    moved: Array[u64] = array(LINES)  # how many bytes it has announced or brought
    in_flight: u32  # bulk copies that report to it
    short: u32  # whether a phase has completed before a copy was performed
    record: u64  # of its `init` as an access; 0: unknown
    ordered: u32  # warps ordered after it, or already reported
    uses: Array[u64] = array(WARPS_PER_BLOCK)  # of each warp its last arrival or wait, as an access
    passed: Array[u64] = array(WARPS_PER_BLOCK, align=64)  # of each warp its wait that has passed and that no
    # arrival of this phase comes after; and how many products of `wgmma` it had begun then
    begun: Array[u32] = array(WARPS_PER_BLOCK)
    seen_phase: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # of each warp the last phase that it saw over, + 2, and
    seen_at: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # when
    far: u32  # ranks of the cluster whose threads have arrived
    pending: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # what arrivals of this phase release,
    known: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # and what completed phases do
    landing: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # `pending` and `known` of bulk copies themselves: of each
    landed: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # warp that issued some, when the last was performed
    far_pending: Pointer[u32]  # the same of other blocks of the cluster, by rank
    far_known: Pointer[u32]
    seats: Pointer[Seat]  # of each thread; then, by rank, of those of the cluster


class Place(Record):
    """8 bytes of shared memory."""

    held: Pointer[Mbarrier]  # None: there is no mbarrier


class Mate(Record):
    mbarriers: Pointer[u8]  # its `Mbarriers`


class Mbarriers(Record):
    block: Ref[Block]
    linear: u64  # of which block these are, + 1; see `renewed`
    start: u64  # where shared memory begins
    threads: u64  # of a block
    places: Pointer[Place]  # for each 8 bytes of shared memory
    updates: Pointer[u32]  # of each thread how often it has arrived
    queue: Pointer[Queue] | None  # the bulk copies of the cluster
    mates: Pointer[Mate]  # the blocks of the cluster by rank
    serial: u64  # operations so far
    report: u64  # the function that compiled rules call: see `report`


FAR_WORDS = RANKS * WARPS_PER_BLOCK
"""Numbers in `Mbarrier.far_pending`."""


@rule(inline=True)
def first_arrival(one: Mbarrier, phase: i32) -> u64:
    """The first arrival in one of the last phases."""
    return one.first[u32(phase) % KEPT] if one.first_phase[u32(phase) % KEPT] == phase else u64(NOBODY)


BEGUN, MADE, CHANGED, EARLY, REFUSED = range(100, 105)
"""What is reported besides notes: a new block; an mbarrier that is not known yet; one initialised (`by` whom, what it
held) or invalidated; a wait that passed while a copy was in flight; an invalid operation."""


@rule(pointer="report")
def report(held: Mbarriers, what: u32, by: u64, other: u64, at: u64, value: u64) -> u32:
    """Reports what is rare: a note of a kind, or one of the above. by, other: parties. Compiled code calls back."""
    known: Any = held
    known.phases.reported(what, by, other, at, value)
    return 0


@rule(inline=True)
def party(code: u32, warp: u32, lane: u32) -> u64:
    return u64(code) << CODE | warp << 5 | lane


@rule(inline=True)
def shared_offset(address: u64) -> u64:
    """A generic or shared address as an offset in shared memory."""
    return address - SHARED_WINDOW if address >= SHARED_WINDOW else address


@rule(inline=True)
def renewed(held: Mbarriers) -> None:
    """Begins the records of a block, if they are still those of the block before it."""
    if held.linear != held.block.linear + 1:
        report(held, BEGUN, NOBODY, NOBODY, 0, 0)


@rule(inline=True)
def seen_from(home: Mbarriers, held: Mbarriers, by: u64) -> u64:
    """A party of a block as it is known in another one, or in its own."""
    return by if home.block.rank == held.block.rank else by | held.block.rank + 1 << RANK


@rule(inline=True)
def place_of(held: Mbarriers, at: u64, by: u64) -> Place:
    """The place of an mbarrier, which may not have been initialised by `mbarrier.init`."""
    place = held.places[(at - held.start) >> 3]
    if place.held is None:
        report(held, MADE, by, NOBODY, at, 0)
    return place


@rule(inline=True)
def seat_of(held: Mbarriers, one: Mbarrier, by: u64) -> Seat:
    return one.seats[(by >> RANK & THREADS) * held.threads + (by & THREADS)]


@rule
def comes_after_init(launch: Launch, held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """A thread uses an mbarrier: is that ordered after its `init`, which another warp may have executed?"""
    warp = u32(by & THREADS) >> 5
    if not launch.racecheck or one.record == 0 or by >> RANK & THREADS != 0 or one.ordered >> warp & 1 != 0:
        return
    one.ordered |= u32(1) << warp
    block, maker = held.block, u32(one.made & THREADS) >> 5
    fence = max(block.fenced[maker], block.fenced_init[maker])
    fenced = fence > u32(one.record >> TIME & LAST_TIME) and block.phases[warp] != 0
    if not fenced and not between_warps(block, one.record, warp):
        report(held, INIT_UNORDERED, by, one.made, one.at, 0)


@rule(inline=True)
def next_order(one: Mbarrier) -> u32:
    one.order += 1
    return one.order


@rule(inline=True)
def reports_to(transfer: Transfer, held: Mbarriers, one: Mbarrier) -> boolean:
    """Whether a bulk copy that is in flight has been issued in this phase of an mbarrier, and reports to it."""
    if transfer.open == 0 or transfer.group != 0 or transfer.phase != one.phase:
        return False
    return transfer.owner == held.block.rank and transfer.barrier == one.at


@rule
def copier(held: Mbarriers, transfer: Transfer) -> u64:
    by = u64(transfer.code) << CODE | transfer.thread
    return seen_from(held, held.mates[transfer.rank].mbarriers.cast(Mbarriers)[0], by)
