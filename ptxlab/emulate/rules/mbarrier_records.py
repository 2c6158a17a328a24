"""What the checks know of mbarriers: their phases, who has arrived in them, and who waits.

A **party** is one number: a code index, from bit 32 on, and the thread that executed it, in the lowest 16 bits. Between
these stand, of a thread of another block of the cluster, the rank of that block + 1.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.records import RANKS, Block
from ptxlab.emulate.runtime.state import Queue
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
    """What one thread has done at an mbarrier. The orders say who was the first to do so at it; 0: it has not."""

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
    copied: i32
    copied_before: i32  # the last group of those that report to phases before that


class Mbarrier(Record):
    """One mbarrier."""

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
    far: u32  # ranks of the cluster whose threads have arrived
    pending: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # what arrivals of this phase release,
    known: Array[u32] = array(WARPS_PER_BLOCK, align=64)  # and what completed phases do
    far_pending: Pointer[u32]  # the same of other blocks of the cluster, by rank
    far_known: Pointer[u32]
    seats: Pointer[Seat]  # of each thread; then, by rank, of those of the cluster


class Place(Record):
    """8 bytes of shared memory."""

    held: Pointer[Mbarrier]  # None: there is no mbarrier


class Mate(Record):
    """A block of a cluster."""

    mbarriers: Pointer[u8]  # its `Mbarriers`


class Mbarriers(Record):
    """The mbarriers of a block."""

    block: Ref[Block]
    linear: u64  # of which block these are, + 1; see `mbarrier_reports.renewed`
    start: u64  # where shared memory begins
    threads: u64  # of a block
    places: Pointer[Place]  # for each 8 bytes of shared memory
    updates: Pointer[u32]  # of each thread how often it has arrived
    queue: Pointer[Queue] | None  # the bulk copies of the cluster
    mates: Pointer[Mate]  # the blocks of the cluster by rank
    serial: u64  # operations so far
    report: u64  # the function that compiled rules call: see `mbarrier_reports.report`


FAR_WORDS = RANKS * WARPS_PER_BLOCK
"""Numbers in `Mbarrier.far_pending`."""


@rule(inline=True)
def first_arrival(one: Mbarrier, phase: i32) -> u64:
    """The first arrival in one of the last phases."""
    return one.first[u32(phase) % KEPT] if one.first_phase[u32(phase) % KEPT] == phase else u64(NOBODY)
