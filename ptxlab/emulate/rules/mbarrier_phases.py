"""The phases of mbarriers as the checks follow them: who arrives in which phase, and who waits for it.

Both engines report each operation after it. Threads that wait for a phase are ordered after the arrivals in it, which
`racecheck` uses. For `synccheck` a wait is

- too early, if it passes at once for a thread that has itself arrived in the first phase, which has not ended;
- stale, if it passes for a phase that its thread has waited for before, and the thread then never waits for the next
  one, in which threads have arrived. To repeat a wait and then wait for the next phase is no error;
- endless, if no thread of the block can end it (see `Phases.stuck`), or if the launch is stopped while it still fails.

An arrival is too early if no wait of any thread has seen the phase before over: the manual wants one for each phase.
And each warp that sees it over must do so before some arrival of the next phase (or a warp of its four has waited since
for a product of `wgmma` that it has begun since): else that phase may be over first, and the warp has missed it.

Copies that `cp.async.mbarrier.arrive` reports are complete when a thread has waited for the phase they arrived in.

What is rare is left to Python (`mbarrier_lifetimes`): notes, and mbarriers that begin and end.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import mbarrier_words, records
from ptxlab.emulate.rules.async_proxy import waited_since
from ptxlab.emulate.rules.copies_in_flight import settle
from ptxlab.emulate.rules.mbarrier_records import *
from ptxlab.emulate.rules.mbarrier_words import ANNOUNCES, ARRIVES, COPIES, NO_PROBLEM, RELAXED, SPIN, UPDATE, WAIT
from ptxlab.emulate.rules.notes import MISSED, PHASE, TOO_FEW_BYTES, UNSEEN
from ptxlab.emulate.rules.race_order import LATEST, advance, covered, covered_by, known, learn, release, release_lanes
from ptxlab.emulate.rules.races import ordered, ordered_in_cluster
from ptxlab.emulate.rules.records import (
    CLOCK_END,
    LAST_CODE,
    LAST_TIME,
    MANY,
    NARROW,
    RANKS,
    TIME,
    WARP,
    Block,
    Launch,
    access_of,
    traits_of,
)
from ptxlab.emulate.runtime.state import ROOM, Context, Transfer
from ptxlab.isa.convert import PEER
from ptxlab.isa.mbarrier import PHASE_SHIFT
from ptxlab.targets import WARPS_PER_BLOCK


@rule
def notified(
    context: Context,
    block: Block,
    warp: u32,
    mask: u32,
    code: u32,
    action: u32,
    flags: u32,
    lane: u32,
    problem: u32,
    words: Pointer[u64],
) -> u32:
    """`mbarriers.notify_checks` of compiled code: lanes have operated on mbarriers, the operation of one is invalid."""
    held = block.mbarriers.cast(Mbarriers)[0]
    operated(context.check.cast(Launch)[0], held, warp, mask, code, action, flags, words, None)
    if problem != NO_PROBLEM:
        report(held, REFUSED, party(code, warp, lane), NOBODY, words[lane], problem)
    return 0


@rule
def operated(
    launch: Launch,
    held: Mbarriers,
    warp: u32,
    mask: u32,
    code: u32,
    action: u32,
    flags: u32,
    words: Pointer[u64],
    issued: Pointer[u32] | None,
) -> None:
    """Lanes of a warp have operated on mbarriers, in their order. words: as in `notify_checks`; what is asked is for a
    wait the word whose phase it tests. issued: of a bulk copy what its warp released when it issued it."""
    addresses, asked, before, after = words, words + LANES, words + 2 * LANES, words + 3 * LANES
    renewed(held)
    held.serial += 1
    relaxed = launch.racecheck and flags & RELAXED != 0
    released, last = local(u32, WARPS_PER_BLOCK), u64(NOBODY)
    use = access_of(held.block, warp, code) | (u64(1) << MANY if mask & mask - 1 != 0 else u64(0))
    if action == UPDATE:
        store_lanes(released, release(held.block, warp, mask))
        if flags & ARRIVES != 0 and flags & RELAXED != 0:
            held.block.relaxed, held.block.relaxed_at = u64(code) + 1, u64(released[warp])
    for lane in lanes_of(mask):
        by, at = party(code, warp, lane), shared_offset(addresses[lane])
        if action != UPDATE and action != WAIT:
            report(held, CHANGED, by, before[lane], at, after[lane])
            continue
        home = held
        if at >= PEER:  # of another block of the cluster: an arrival, or bytes
            home = held.mates[at // PEER - 1].mbarriers.cast(Mbarriers)[0]
            renewed(home)
            by = seen_from(home, held, by)
        place = place_of(home, at % PEER, by)
        if place.held is None:
            continue  # the launch is stopped: its memory could not be made
        one = place.held[0]
        one.word = after[lane]
        if home.block.rank == held.block.rank and (action == WAIT or flags & (ARRIVES | ANNOUNCES) != 0):
            one.uses[warp] = use | lane
        if action == UPDATE:
            if at != last:
                if issued is not None and home.block.rank == held.block.rank:
                    one.landing[warp] = released[warp]
                    store_lanes(released, load_lanes(issued))
                releases(launch, held, home, one, use, released, mask if relaxed else u32(0))
            arrived(launch, home, one, by, flags, before[lane], after[lane])
        elif not waited(launch, held, one, by, u32(asked[lane] >> PHASE_SHIFT), flags & SPIN != 0):
            continue
        elif at != last:
            if launch.synccheck and use >> TIME & LAST_TIME != CLOCK_END:
                saw_over(held, one, warp, by, u32(asked[lane] >> PHASE_SHIFT))
                one.passed[warp], one.begun[warp] = use | lane, held.block.products_begun[warp]
            learned(launch, held.block, use, one, flags & RELAXED != 0)
        last = at  # what other lanes do there orders nothing more


# -- arrivals ----------------------------------------------------------------------------------------------------------


@rule
def arrived(launch: Launch, held: Mbarriers, one: Mbarrier, by: u64, flags: u32, before: u64, after: u64) -> None:
    """A party has arrived, or has announced or brought bytes."""
    phase = one.phase
    one.used = by
    comes_after_init(launch, held, one, by)
    if flags & (ARRIVES | ANNOUNCES) != 0 and first_arrival(one, phase) == NOBODY:
        one.first[u32(phase) % KEPT], one.first_phase[u32(phase) % KEPT] = by, phase
        if one.repeats != 0:
            missed(held, one, by)
    if flags & ARRIVES != 0:
        if one.seen < phase - 1:
            earlier = first_arrival(one, i32(phase - 1))
            report(held, UNSEEN, by, one.made if earlier == NOBODY else earlier, one.at, u64(i64(phase)))
        seat = seat_of(held, one, by)
        if seat.arrived_order == 0:
            seat.arrived_order = next_order(one)
        seat.arrived_phase, seat.arrived_code = phase, u32(by >> CODE)
        one.latest = by
    if by >> RANK & THREADS == 0:  # a thread of this block
        held.updates[by & THREADS] += 1
    if flags & COPIES != 0:
        copied(held, one, by)
    if mbarrier_words.bytes_pending(before) != mbarrier_words.bytes_pending(after):
        moved(launch, one, by, mbarrier_words.bytes_pending(after) - mbarrier_words.bytes_pending(before))
    if (before ^ after) >> PHASE_SHIFT & 1 != 0:
        completed(held, one, by)


@rule(cold=True)
def missed(held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """The first arrival in a phase: it is what repeated waits for the phase before should have waited for."""
    for thread in range(held.threads):
        seat = one.seats[thread]
        if seat.repeated != 0 and seat.passed_phase == one.phase - 1 and seat.next_arrival == NOBODY:
            seat.next_arrival = by


@rule
def releases(
    launch: Launch, held: Mbarriers, home: Mbarriers, one: Mbarrier, access: u64, done: Pointer[u32], relaxed: u32
) -> None:
    """Arrivals of lanes of a warp of `held` at an mbarrier of `home` come after waits, and release what these lanes
    have done (relaxed ones: what fences cover). To another block nothing is released if the scope is the block."""
    passed, warp = load_lanes(one.passed), u32(access >> WARP & 31)
    if home.block.rank == held.block.rank:
        advance(one.pending, covered_by(held.block, warp, relaxed) if relaxed != 0 else load_lanes(done))
        before: lanes_bool = narrow(passed >> TIME) & LAST_TIME < load_lanes(done)
        store_lanes(one.passed, select(before, 0, passed))
        if relaxed != 0:
            for w in lanes_of(bits(load_lanes(one.passed) != 0)):
                if waited_since(held.block, w, one.begun[w], done):
                    one.passed[w] = 0
    else:
        for w in lanes_of(bits(passed != 0)):
            wait, block = one.passed[w], held.block  # whichever lane of its warp has arrived since: that one has passed
            if ordered_in_cluster(block, wait, warp, True) or ordered(launch, block, wait, access, False):
                one.passed[w] = 0
        peers = held.block.peers
        fence = held.block.fenced_wide[warp]
        if peers is not None and traits_of(launch, access) & NARROW == 0 and (fence != 0 or relaxed == 0):
            advance(one.pending, load_lanes(peers + WARPS_PER_BLOCK * (warp * RANKS + home.block.rank)))
            one.far |= u32(1) << u32(held.block.rank)
            released = load_lanes(done)
            if relaxed != 0:
                mine = release_lanes(held.block, warp, relaxed, fence)
                released = insert(covered(held.block, warp, True), warp, mine)
            advance(one.far_pending + WARPS_PER_BLOCK * held.block.rank, released)


@rule
def copied(held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """A thread's copies of cp.async so far report to this phase."""
    seat = one.seats[by & THREADS]
    if seat.copied_phase != one.phase:
        seat.copied_before, seat.copied_before_at = seat.copied, seat.copied_at
    seat.copied_phase, seat.copied = one.phase, held.block.committed[0, by & THREADS]
    seat.copied_at = u32(held.block.now >> TIME & LAST_TIME) - 1  # before what this arrival releases
    one.copies = 1


@rule
def moved(launch: Launch, one: Mbarrier, by: u64, count: i64) -> None:
    """A party has announced bytes, or, where the number is negative, has brought them."""
    line = launch.lines[by >> CODE] << 1
    if count > 0:
        line |= 1
        if one.announced == NOBODY:
            one.announced = by
    else:
        one.brought = by
    for k in range(LINES):
        if one.moved_line[k] == 0 or one.moved_line[k] == line:
            one.moved_line[k] = line
            one.moved[k] += u64(count if count > 0 else -count)
            return


@rule(cold=True)
def may_have_missed(held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """A phase completes, by the arrival of a party, before which some warps may not have seen the one before over."""
    for warp in lanes_of(bits(load_lanes(one.passed) != 0)):
        access = one.passed[warp]
        one.passed[warp] = 0
        if not waited_since(held.block, warp, one.begun[warp], one.pending):
            waited = party(u32(access >> records.CODE & LAST_CODE), warp, u32(access & 31))
            report(held, MISSED, waited, by if one.latest == NOBODY else one.latest, one.at, u64(i64(one.phase)))


@rule
def completed(held: Mbarriers, one: Mbarrier, by: u64) -> None:
    """A phase has completed, by the arrival of a party."""
    if any_of(load_lanes(one.passed) != 0):
        may_have_missed(held, one, by)
    if one.in_flight != 0:
        copy = in_flight_since(held, one)
        if copy != NOBODY:
            report(held, TOO_FEW_BYTES, copy, one.announced, one.at, u64(i64(one.phase)))
            one.short = 1
    one.announced, one.brought = NOBODY, NOBODY
    for k in range(LINES):
        one.moved_line[k], one.moved[k] = 0, 0
    one.phase += 1
    one.latest = NOBODY
    advance(one.known, load_lanes(one.pending))
    advance(one.landed, load_lanes(one.landing))
    for rank in lanes_of(one.far):
        pending = load_lanes(one.far_pending + WARPS_PER_BLOCK * rank)
        advance(one.far_known + WARPS_PER_BLOCK * rank, pending)
    one.copies_before |= one.copies
    one.copies = 0


# -- bulk copies -------------------------------------------------------------------------------------------------------


@rule(cold=True)
def in_flight_since(held: Mbarriers, one: Mbarrier) -> u64:
    """The first bulk copy in flight that has been issued in this phase."""
    if held.queue is not None:
        queue = held.queue[0]
        for number in range(queue.first, queue.behind):
            transfer = queue.transfers[number % ROOM]
            if reports_to(transfer, held, one):
                return copier(held, transfer)
    return NOBODY


@rule
def bulk_copy_issued(held: Mbarriers, transfer: Transfer) -> None:
    """A bulk copy has been issued that reports to an mbarrier of the block."""
    renewed(held)
    place = place_of(held, transfer.barrier, copier(held, transfer))
    if place.held is not None:
        transfer.phase, transfer.passed = place.held[0].phase, 0
        place.held[0].in_flight += 1


@rule
def bulk_copy_performed(launch: Launch, held: Mbarriers, transfer: Transfer, before: u64, after: u64) -> None:
    """A bulk copy has brought its bytes to an mbarrier. held: those of the block whose thread has issued it."""
    home = held.mates[transfer.owner].mbarriers.cast(Mbarriers)[0]
    renewed(home)
    if transfer.phase != NEVER:
        place = place_of(home, transfer.barrier, copier(home, transfer))
        if place.held is not None:
            place.held[0].in_flight -= 1
    lane, address = transfer.thread & 31, u64(transfer.barrier)
    if transfer.owner != transfer.rank:
        address += u64(transfer.owner + 1) * PEER
    words = local(u64, 4 * LANES)
    words[lane], words[2 * LANES + lane], words[3 * LANES + lane] = address, before, after
    operated(launch, held, transfer.thread >> 5, u32(1) << lane, transfer.code, UPDATE, 0, words, transfer.released)


# -- waits -------------------------------------------------------------------------------------------------------------


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
    arrival, repeated = u64(seat.arrived_code) << CODE | thread, False
    arrived_here = seat.arrived_order != 0 and seat.arrived_phase == one.phase
    if seat.passed_order != 0 and seat.passed_phase == phase:
        if seat.passed_updates != updates or seat.passed_full != full:
            repeated = not arrived_here
            if arrived_here:
                report(held, PHASE, by, arrival, one.at, u64(i64(phase)))
        elif seat.repeated != 0:
            repeated = True
    else:
        if seat.passed_order != 0:
            check_wait(held, one, seat, thread, phase, NOBODY)
        if phase < 0 and arrived_here:
            report(held, PHASE, by, arrival, one.at, u64(i64(phase)))
    if not repeated or seat.passed_updates != updates or seat.passed_full != full:
        if seat.passed_order == 0:
            seat.passed_order = next_order(one)
        seat.passed_phase, seat.passed_code = phase, u32(by >> CODE)
        seat.passed_updates, seat.passed_full = updates, full
        seat.next_arrival, seat.repeated = first_arrival(one, one.phase), u32(repeated)
        one.repeats |= u32(repeated)
    if one.copies_before != 0:
        complete_copies(launch, held, one)
    return True


@rule
def saw_over(held: Mbarriers, one: Mbarrier, warp: u32, by: u64, parity: u32) -> None:
    """A warp sees a phase over. It has waited for the next one with this parity after the last one that it knows is
    over: from its own waits, or from those of others that come before it."""
    knows, phase = insert(known(held.block, warp), warp, LATEST), u32(one.phase + 1)
    seen = select(load_lanes(one.seen_at) < knows, load_lanes(one.seen_phase), 0)
    over = max(LATEST - least(LATEST - seen), 1)
    if phase > over + ((over ^ parity) & 1):
        arrival = first_arrival(one, i32(over + ((over ^ parity) & 1)) - 1)
        report(held, MISSED, by, one.made if arrival == NOBODY else arrival, one.at, u64(i64(one.phase)))
    one.seen_phase[warp], one.seen_at[warp] = phase, u32(held.block.now >> TIME & LAST_TIME)


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
def learned(launch: Launch, block: Block, access: u64, one: Mbarrier, relaxed: boolean) -> None:
    """A warp has waited for completed phases: it comes after what the arrivals in them release; those of other blocks,
    unless the scope of the wait is the block. relaxed: those of its own block only once it has executed a fence."""
    warp = u32(access >> WARP & 31)
    if relaxed:
        block.fences, block.unordered[warp] = max(block.fences, 1), u32(access >> records.CODE & LAST_CODE) + 1
        advance(block.seen.row(warp), load_lanes(one.known))
    else:
        learn(block, warp, load_lanes(one.known))
    advance(block.landed.row(warp), load_lanes(one.landed))
    for rank in lanes_of(one.far):
        known, peers = one.far_known + WARPS_PER_BLOCK * rank, block.peers
        if traits_of(launch, access) & NARROW != 0:
            block.narrow_wait = (access >> records.CODE & LAST_CODE) + 1
        elif peers is not None:
            advance(peers + (warp * RANKS + rank) * WARPS_PER_BLOCK, load_lanes(known))


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
def complete_copies(launch: Launch, held: Mbarriers, one: Mbarrier) -> None:
    """Copies of cp.async that report to completed phases are complete."""
    for thread in range(held.threads):
        seat, warp, lane = one.seats[thread], u32(thread >> 5), u32(1) << u32(thread & 31)
        if seat.copied_before != 0:
            settle(launch, held.block, warp, lane, 0, seat.copied_before, seat.copied_before_at)
            seat.copied_before = 0
        if seat.copied != 0 and seat.copied_phase < one.phase:
            settle(launch, held.block, warp, lane, 0, seat.copied, seat.copied_at)
            seat.copied = 0
    one.copies_before = 0
