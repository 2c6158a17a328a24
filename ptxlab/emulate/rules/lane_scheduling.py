"""The choice of the lanes of a diverged warp that run next: one rule for both engines.

Lanes at one program counter are a group. The group at the smallest program counter goes, and the order of the blocks
makes lanes reconverge by that (see `ptxlab.emulate.program.reconvergence`). But a lane may spin for what another has to
do, say release a lock. So rounds of loops are counted while the warp is diverged, and after `PATIENCE` of them a lane
that the rule has passed over gets a turn; turns go round the lanes. When the warp has reconverged, counts and turns
start anew.

The rule is applied at the end of each basic block and after each instruction that synchronizes lanes of a warp.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.reconvergence import POLLING
from ptxlab.emulate.runtime.state import LOG_WARPGROUP, Context, Turns, Warp

PATIENCE = 4096
"""Loop rounds that lanes may make while others could go as well."""
TURN = 64
"""How often the rule is applied while a turn lasts."""
MOST_WAITS = 65536
"""Waits that lanes may end while others could go as well."""
DIVERGED_TURNS = 256
"""How much longer a warp needs for a round of the loops where its lanes wait, if they are in several and take turns."""
NOWHERE = 0xFFFFFFFF
"""Larger than any program counter."""


@rule(inline=True)
def smallest_goes(turns: Turns) -> boolean:
    """Whether the lanes at the smallest program counter go, whatever others wait for a turn."""
    return turns.left == 0 and turns.rounds < PATIENCE


@rule
def next_lane(turns: Turns, ready: u32, smallest: u32) -> u32:
    """A lane of the group that goes next. `ready`: lanes that can run; `smallest`: those at the smallest counter."""
    if turns.left != 0:
        if ready >> turns.lane & 1 != 0:
            turns.left -= 1
            return turns.lane
        turns.left = 0
    if smallest_goes(turns):
        return first(smallest)
    turns.rounds = 0
    turns.waits = 0
    passed_over = ready & ~smallest
    if passed_over == 0:
        return first(smallest)
    above = passed_over & u32(0xFFFFFFFE << turns.lane)
    turns.lane = first(above if above != 0 else passed_over)
    turns.left = TURN
    return turns.lane


@rule(inline=True)
def forget(turns: Turns) -> None:
    """The warp has reconverged."""
    turns.rounds = 0
    turns.left = 0
    turns.lane = 0
    turns.waits = 0


@rule(inline=True)
def tried(turns: Turns, ended: boolean, others_run: boolean) -> None:
    """Lanes of a diverged warp have executed a wait in a loop that can do nothing else: it has failed, or succeeded
    after having failed before (`ended`). others_run: whether another warp may end the wait. If not, lanes of this warp
    must, and a failed wait counts like any other polling of a thread."""
    if not ended and others_run:
        turns.rounds -= min(turns.rounds, u32(POLLING - 1))
    elif ended and turns.waits < MOST_WAITS:
        turns.waits += 1
        turns.rounds = 0


@rule(inline=True)
def may_resume(warp: Warp) -> boolean:
    """Whether a diverged warp may go on in the region that it has left, if all of its lanes are there: the group at the
    smallest program counter goes next, and nobody waits."""
    busy = warp.wait | warp.synced | warp.resume | warp.traced | warp.turns.waits
    return warp.region != 0 and busy == 0 and smallest_goes(warp.turns)


@rule
def only_waits(context: Context, warp: Warp) -> boolean:
    """Whether the lanes of a warp that can run are in loops that only wait for others."""
    if context.waiting is None:
        return False
    for lane in lanes_of(warp.live & ~warp.wait):
        at = u64((warp.converged_pc if warp.diverged == 0 else warp.pc[lane]) >> 1)
        if at >= context.waiting_end or context.waiting[at] == 0:
            return False
    return True


@rule(inline=True)
def at_smallest(counters: lanes_u32, among: u32) -> u32:
    """Which of some lanes are at the smallest of their program counters."""
    return bits(counters == least(select(lanes(among), counters, NOWHERE))) & among


@rule(inline=True)
def choose(warp: Warp, ready: u32) -> u32:
    """The lanes of a diverged warp that go next, of those that are ready: not 0. Lanes that have synchronized receive
    their results before any lane has a turn."""
    counters = load_lanes(warp.pc)
    going: u32 = 0
    if warp.synced != 0:
        going = at_smallest(counters, warp.synced)
    else:
        going = at_smallest(counters, ready)
        if not smallest_goes(warp.turns):
            lane = next_lane(warp.turns, ready, going)
            going = bits(counters == extract(counters, lane)) & ready
    if going == warp.live:
        forget(warp.turns)
    return going


@rule
def go_on(context: Context, warp: Warp) -> u32:
    """The lanes of a diverged warp that go next; 0 if none is ready, or if the slice is spent."""
    ready = warp.live & ~warp.wait
    if ready == 0:
        return 0
    context.slice -= 1
    return choose(warp, ready) if context.slice >= 0 else 0


@rule
def count_ends(context: Context, warp: Warp) -> None:
    """The last lanes of a warp have exited: counts it for each `exit` or `ret` that lanes have left by in a branch."""
    first_block = u64(warp.warp_id >> LOG_WARPGROUP) * context.basic_blocks
    for end in lanes_of(warp.ended):
        context.counts[first_block + context.exits[end]].warps += 1
