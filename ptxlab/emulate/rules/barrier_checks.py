"""What the checks do at barriers of a block. synccheck: warps must agree, and each must arrive with all its lanes.
racecheck: what a barrier orders (`order`). Barriers are executed elsewhere: by `scheduling`, and by `step.schedule`.

`bar` is `barrier.aligned`, which PTX ISA ("bar, barrier") allows only where all threads of the block execute the same
barrier instruction; different warps may use different ones of the same number if they give a thread count, as producers
and consumers do. Without `.aligned` lanes may arrive one by one, at any barrier instruction.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import race_order
from ptxlab.emulate.rules.notes import *
from ptxlab.emulate.rules.race_order import advance, known, share_heard, share_peers
from ptxlab.emulate.rules.records import BLOCK, CLOCK_END, CODE, LAST_TIME, TIME, WARP, Block, Launch, access_of, tick
from ptxlab.emulate.runtime.state import BARRIERS, Warp


@rule
def arrive(
    launch: Launch, block: Block, warp: u32, mask: u32, barrier: u32, count: u32, aligned: boolean, code: u32
) -> None:
    """Lanes of `mask` arrive at a barrier that waits for `count` threads, 0 for all of the block. The first arrival
    since the barrier last completed sets the count; the others must give the same."""
    if barrier >= BARRIERS:
        return  # the barrier itself reports it
    serial(launch, mask)
    lane = first(mask)
    block.bar_at[warp] = code << CODE | lane
    block.bar_code[warp] = code + 1 if aligned else 0
    block.whole_code[warp] = code + 1 if aligned and count == 0 else 0
    if block.expected[barrier] == 0:
        block.expected[barrier] = u32(count + 1)
        block.expected_code[barrier] = code
        block.expected_by[barrier] = warp << 5 | lane
    elif block.expected[barrier] != u32(count + 1):
        other = block.now | u64(block.expected_code[barrier]) << CODE | block.expected_by[barrier]
        said = u32((block.expected[barrier] - 1) << SECOND) | count
        note(launch, block, COUNTS, access_of(block, warp, code) | lane, other, NOWHERE, u64(said))


@rule
def diverged(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    away: u32,
    skipping: u32,
    waiting: u32,
    pcs: Pointer[u32],
    behind: u32,
    may_come: Pointer[u8],
    code: u32,
) -> None:
    """Lanes of `mask` have arrived at an aligned barrier, the lanes `away` of their warp have not.

    They may still arrive, unless the barrier's guard excludes them (`skipping`; they go on at `behind`), they wait at
    another barrier of the block (`waiting`), or no path leads from where they are to this one (`may_come`, for each
    instruction). A program counter is twice a code index, or that plus one.
    """
    for lane in lanes_of(away & ~skipping & ~waiting):
        place = pcs[lane] >> 1
        if place < code or may_come[place]:
            return
    if away:
        lane = first(away)
        place = (behind if skipping >> lane & 1 else pcs[lane]) >> 1
        other = access_of(block, warp, place) | lane
        access = access_of(block, warp, code) | first(mask)
        note(launch, block, DIVERGENT, access, other, NOWHERE, u64(waiting >> lane & 1))


@rule
def opened(
    launch: Launch,
    block: Block,
    barrier: u32,
    waiting: u32,
    began: Pointer[u32],
    live: Pointer[u32],
    counted: boolean,
    overfull: boolean,
) -> None:
    """A barrier completes and releases the warps of `waiting`. For each warp: the lanes that it `began` with, and those
    `live`. counted: it has a thread count, and waits for no warp to exit; overfull: more have arrived than that."""
    block.expected[barrier] = 0
    if launch.synccheck:
        if counted or block.counted >> barrier & 1 != 0:
            after_phase_before(launch, block, barrier, waiting)
            phase_over(block, barrier, waiting, counted)
        for warp in lanes_of(waiting):
            exited = began[warp] & ~live[warp]
            if exited and block.bar_code[warp]:
                serial(launch, 0)
                access = access_of(block, warp, block.bar_code[warp] - 1) | first(live[warp])
                note(launch, block, EXITED, access, 0, NOWHERE, u64(first(exited)))
        same_instruction(launch, block, waiting, live)
    everyone = waiting == bits(load_lanes(began if counted else live) != 0)
    order(block, barrier, waiting, everyone, overfull)


@rule
def after_phase_before(launch: Launch, block: Block, barrier: u32, arriving: u32) -> None:
    """Warps arrive at a barrier: each must come after all arrivals in the phase before, or the two may be one."""
    before = load_lanes(block.arrivals.row(barrier))
    for warp in lanes_of(arriving):
        others = bits((before != 0) & (narrow(before >> TIME) & LAST_TIME >= known(block, warp))) & ~(u32(1) << warp)
        if others and block.now >> TIME & LAST_TIME != CLOCK_END:
            serial(launch, 0)
            access = access_of(block, warp, 0) | block.bar_at[warp]
            note(launch, block, SHARED_BARRIER, access, extract(before, first(others)), NOWHERE, barrier)


@rule
def phase_over(block: Block, barrier: u32, waiting: u32, counted: boolean) -> None:
    """The phase of a barrier is over, for which warps wait; others may have passed `bar.arrive`."""
    came, warps = load_lanes(block.came.row(barrier)), widen(lane_ids()) << WARP
    here = warps | widen(load_lanes(block.bar_at)) | block.now
    passed = warps | (block.now >> BLOCK << BLOCK | block.arrived_at[barrier]) | widen(maximum(came, 1) - 1) << TIME
    arrivals = select(lanes(waiting), here, select(came != 0, passed, 0))
    store_lanes(block.arrivals.row(barrier), arrivals if counted else arrivals ^ arrivals)
    block.counted = block.counted & ~(u64(1) << barrier) | u64(counted) << barrier


@rule
def passed_arrive(launch: Launch, block: Block, warp: u32, barrier: u32) -> None:
    if launch.synccheck:
        after_phase_before(launch, block, barrier, u32(1) << warp)
        block.arrived_at[barrier] = block.bar_at[warp]
    race_order.passed_arrive(block, warp, barrier)


@rule
def same_instruction(launch: Launch, block: Block, waiting: u32, live: Pointer[u32]) -> None:
    """Warps at an aligned barrier for all threads must be at the same instruction. One that was there and has exited
    left a loop earlier; in an unrolled loop it was at another copy of the instruction."""
    codes = load_lanes(block.whole_code)
    whole = waiting & bits(codes != 0)
    if whole:
        lead = first(whole)
        same = bits(codes == block.whole_code[lead])
        elsewhere, exited, barrier = whole & ~same, u32(0), launch.barriers[block.whole_code[lead] - 1]
        for warp in lanes_of(bits((codes != 0) & (load_lanes(live) == 0))):
            if barrier != 0 and launch.barriers[block.whole_code[warp] - 1] == barrier:
                exited |= u32(1) << warp
        if elsewhere or exited:
            serial(launch, 0)
            other = access_of(block, lead, block.whole_code[lead] - 1) | first(live[lead])
            for warp in lanes_of(elsewhere):
                access = access_of(block, warp, block.whole_code[warp] - 1) | first(live[warp])
                note(launch, block, DIVERGENT_BLOCK, access, other, NOWHERE, 0)
            if elsewhere:  # what follows from it is no other mistake
                store_lanes(block.whole_code, select(lanes(whole), 0, codes))
            else:
                note(launch, block, DIVERGENT_BLOCK, other, 0, NOWHERE, u64(first(exited)) + 1)


@rule
def order(block: Block, barrier: u32, waiting: u32, everyone: boolean, overfull: boolean) -> None:
    """A barrier has released the warps of `waiting`: each is now ordered after all that the arrived warps were ordered
    after. Where more have arrived than it counts, no warp has waited for all the others."""
    time, came = tick(block), load_lanes(block.came.row(barrier))
    if not overfull and waiting:
        share_peers(block, waiting | bits(came != 0), waiting)
        share_heard(block, ALL_LANES if everyone else waiting | bits(came != 0), waiting)
    if overfull:
        block.simple = 0
    elif everyone and not any_of(came != 0):
        block.full = block.now
    else:
        block.simple, block.syncs = 0, 1
        after = maximum(select(lanes(waiting), time, came), load_lanes(block.knew.row(barrier)))
        for warp in lanes_of(waiting):
            after = maximum(after, known(block, warp))
        for warp in lanes_of(waiting):
            advance(block.sync.row(warp), after)
        fill_bytes(block.came.row(barrier), 0, 128)
        fill_bytes(block.knew.row(barrier), 0, 128)


@rule
def arrived(
    launch: Launch,
    block: Block,
    warp: Warp,
    mask: u32,
    skipping: u32,
    barrier: u32,
    count: u32,
    aligned: boolean,
    behind: u32,
    may_come: Pointer[u8],
    code: u32,
) -> None:
    """`arrive` and `diverged` in one call: lanes of `mask` have arrived at a barrier; its guard excludes those of
    `skipping`, which go on at the program counter `behind`."""
    if mask == 0:
        return
    arrive(launch, block, warp.warp_id, mask, barrier, count, aligned, code)
    away = warp.live & ~mask
    if aligned and away and barrier < BARRIERS:
        waiting = warp.wait & ~bits(load_lanes(warp.sync_kind) != 0)
        here = waiting & warp.bar[barrier] & bits(load_lanes(warp.pc) == behind)
        diverged(launch, block, warp.warp_id, mask, away & ~here, skipping, waiting, warp.pc, behind, may_come, code)
