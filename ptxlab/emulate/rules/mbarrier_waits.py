"""What a wait for an mbarrier does to what the checks know of it: whether it passes, and what comes after what then."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.mbarrier_records import CODE, NOBODY, THREADS, Mbarrier, Mbarriers, Seat, first_arrival
from ptxlab.emulate.rules.mbarrier_reports import EARLY, comes_after_init, next_order, report, reports_to
from ptxlab.emulate.rules.note_kinds import PHASE
from ptxlab.emulate.rules.race_order import learn
from ptxlab.emulate.rules.records import RANKS, Block, Launch
from ptxlab.emulate.runtime.state import ROOM
from ptxlab.targets import WARPS_PER_BLOCK


@rule
def waited(launch: Launch, held: Mbarriers, one: Mbarrier, by: u64, parity: u32, waits_only: boolean) -> boolean:
    """A thread has waited for an mbarrier. Whether the wait passes."""
    thread = by & THREADS
    seat = one.seats[thread]
    one.used = by
    comes_after_init(launch, held, one, by)
    if u32(one.phase) & 1 == parity:
        if seat.waiting_order == 0:
            seat.waiting_order = next_order(one)
        seat.waiting_phase = one.phase if waits_only else i32(-1)
        seat.waiting_code, seat.waiting_parity = u32(by >> CODE), parity
        return False
    seat.waiting_order = 0
    phase = i32(one.phase - 1)
    one.seen = phase
    if one.in_flight != 0:
        passed_early(held, one, by, parity)
    updates, full = u64(held.updates[thread]), held.block.full  # they change when the thread may release others
    own, repeated = u64(seat.arrived_code) << CODE | thread, False
    arrived_here = seat.arrived_order != 0 and seat.arrived_phase == one.phase
    if seat.passed_order != 0 and seat.passed_phase == phase:
        if seat.passed_updates != updates or seat.passed_full != full:
            repeated = not arrived_here
            if arrived_here:
                report(held, PHASE, by, own, one.at, u64(i64(phase)))
        elif seat.repeated != 0:
            repeated = True
    else:
        if seat.passed_order != 0:
            check_wait(held, one, seat, thread, phase, NOBODY)
        if phase < 0 and arrived_here:
            report(held, PHASE, by, own, one.at, u64(i64(phase)))
    if not repeated or seat.passed_updates != updates or seat.passed_full != full:
        if seat.passed_order == 0:
            seat.passed_order = next_order(one)
        seat.passed_phase, seat.passed_code = phase, u32(by >> CODE)
        seat.passed_updates, seat.passed_full = updates, full
        seat.next_arrival, seat.repeated = first_arrival(one, one.phase), u32(repeated)
        one.repeats |= u32(repeated)
    if one.copies_before != 0:
        complete_copies(held, one)
    return True


@rule(cold=True)
def check_wait(held: Mbarriers, one: Mbarrier, seat: Seat, thread: u64, phase: i32, stuck: u64) -> None:
    """A thread now waits for `phase` (or exits): was its last wait that passed one for an old phase? stuck: the last
    arrival, in a deadlock, where that is certain."""
    if seat.repeated != 0 and phase != seat.passed_phase + 1:
        arrival = stuck if seat.next_arrival == NOBODY else seat.next_arrival
        if arrival != NOBODY:
            by = u64(seat.passed_code) << CODE | thread
            report(held, PHASE, by, arrival, one.at, u64(i64(seat.passed_phase)))


@rule
def learned(block: Block, warp: u32, one: Mbarrier) -> None:
    """A warp has waited for completed phases: it comes after what the arrivals in them release."""
    learn(block, warp, load_lanes(one.known))
    for rank in lanes_of(one.far):
        known, peers = one.far_known + WARPS_PER_BLOCK * rank, block.peers
        if peers is not None:
            row = peers + (warp * RANKS + rank) * WARPS_PER_BLOCK
            store_lanes(row, maximum(load_lanes(row), load_lanes(known)))


@rule(cold=True)
def passed_early(held: Mbarriers, one: Mbarrier, by: u64, parity: u32) -> None:
    """A wait has passed: reports, once for each warp, the copies in flight to the mbarrier that it did not wait for."""
    if held.queue is None:
        return
    queue, warp = held.queue[0], u32(by & THREADS) >> 5
    for number in range(queue.first, queue.behind):
        transfer = queue.transfers[number % ROOM]
        if reports_to(transfer, held, one) and transfer.passed >> warp & 1 == 0:
            transfer.passed |= u32(1) << warp
            report(held, EARLY, by, u64(transfer.code), one.at, parity)


@rule(cold=True)
def complete_copies(held: Mbarriers, one: Mbarrier) -> None:
    """Copies of cp.async that report to completed phases are complete."""
    finished = held.block.finished
    for thread in range(held.threads):
        seat = one.seats[thread]
        finished[thread] = max(finished[thread], seat.copied_before)
        seat.copied_before = 0
        if seat.copied_phase < one.phase:
            finished[thread] = max(finished[thread], seat.copied)
            seat.copied = 0
    one.copies_before = 0
