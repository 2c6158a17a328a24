"""Rounds that all warps of a CTA go through alike, each with all its lanes: the function for converged warps ends them
itself, so that it need not return (see `jit.control.warp_loop`).

What these rules do is what the scheduler would do (`scheduling.end_round`, and then `scheduling.run_grid`); where there
is more to do than the common case, they do nothing, and the scheduler does it all.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import barriers, block_reset
from ptxlab.emulate.rules.block_start import begin, draw_ticket, go_on, reset_barrier, simple
from ptxlab.emulate.rules.clusters import warp_of
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.emulate.runtime.state import Context, Cta, Warp

ANY, NONE, EXITED, YIELDED, AT_BARRIER = 0, 1, 2, 3, 4
"""How the turns of a round so far have ended: there was none yet; not all alike; all lanes have exited; all go
on in the next round; all wait at barrier 0 (the other barriers follow)."""
UNKNOWN = -1
"""In place of the program counter of all warps of a CTA: their states say theirs."""


@rule
def end_alike(context: Context, cta: Cta, ended: u32, noted: boolean) -> boolean:
    """All warps of a CTA have had a turn in this round, which ended alike (`EXITED`, `AT_BARRIER` or above). Whether a
    new round has begun: of this CTA, or of the next in its place. noted: the warps' states say how it ended.

    In most programs nobody looks at a warp's state between its turns. While all turns end alike the loop notes nowhere
    that a warp has exited or waits: the end of the round would only take it back. Where turns do not end alike,
    `leave_round` makes up for it."""
    if ended == EXITED:
        ticket = next_ticket(context, cta)
        if ticket >= context.total:
            return False
        begin(context, cta, ticket, not noted)
        return True
    if ended == YIELDED:
        cta.position = 0
        return True
    return all_go_on(context, cta, ended - AT_BARRIER, noted)


IN_PLACE = 32
"""CTAs from one look to the next at what begins in place: meanwhile nobody sees how often blocks have run."""


@rule
def begin_in_place(context: Context, cta: Cta) -> boolean:
    """All warps of a CTA have exited, without a barrier since it began. If the next one needs nothing but its number,
        it begins
    in its place, and this is true. Otherwise, and once in `IN_PLACE` CTAs anyway, the caller goes on with
    `end_alike`."""
    x, number = u64(cta.ctaid_x) + 1, cta.linear + 1
    if number % IN_PLACE == 0 or x >= context.grid_x or cta.shared_size != 0 or cta.local_size != 0:
        return False
    if context.stop[0] != 0 or context.outdated != 0 or context.steps_left <= 0 or cta.cluster.count != 1:
        return False
    if context.bulk_copies or context.clears or context.random != 0 or cta.partly_exited != 0 or cta.converged == 0:
        return False
    if not simple(context):
        return False
    ticket, end = context.ticket, context.tickets_end
    if context.only:
        ticket, end = context.next[0], context.total
    if ticket != number or ticket >= end or ticket >= context.total:
        return False
    if context.only:
        context.next[0] = ticket + 1
    else:
        context.ticket = ticket + 1
    context.steps_left -= 1
    context.finished += 1
    cta.ctaid_x = u32(x)
    cta.linear = number
    if context.checked:
        block_reset.started(cta.checks.cast(Block)[0], number)
    return True


@rule
def followers(context: Context, cta: Cta) -> u64:
    """How many CTAs may begin in the place of this one, one after the other, each as by `begin_in_place`, without a
    question at each."""
    x, number = u64(cta.ctaid_x) + 1, cta.linear + 1
    if number % IN_PLACE == 0 or x >= context.grid_x or cta.shared_size != 0 or cta.local_size != 0:
        return 0
    if context.stop[0] != 0 or context.outdated != 0 or cta.cluster.count != 1:
        return 0
    if context.bulk_copies or context.clears or context.random != 0 or cta.partly_exited != 0 or cta.converged == 0:
        return 0
    if not simple(context):
        return 0
    ticket, end = context.ticket, context.tickets_end
    if context.only:
        ticket, end = context.next[0], context.total
    if ticket != number or number >= end or number >= context.total or context.steps_left <= 0:
        return 0
    count = min(IN_PLACE - number % IN_PLACE, context.grid_x - x)
    return min(min(count, end - number), min(context.total - number, u64(context.steps_left)))


@rule
def follows(context: Context, cta: Cta) -> None:
    """A CTA has begun in place of the one before, in code with checks or counters."""
    if context.checked:
        block_reset.started(cta.checks.cast(Block)[0], cta.linear)


@rule
def have_followed(context: Context, cta: Cta, count: u64) -> None:
    """So many have begun in its place: it has the number of the last."""
    if context.only:
        context.next[0] += count
    else:
        context.ticket += count
    context.steps_left -= i64(count)
    context.finished += count


@rule(inline=True)
def next_ticket(context: Context, cta: Cta) -> u64:
    """All warps have exited: the number of the CTA that may begin in the same place; a number beyond the last if there
    is none, or if the scheduler has to look after it."""
    if context.stop[0] != 0 or context.outdated != 0 or cta.cluster.count != 1:
        return context.total
    if context.bulk_copies or context.steps_left <= 0 or not simple(context):
        return context.total
    context.steps_left -= 1
    ticket = draw_ticket(context)
    if ticket < context.total:
        context.finished += 1
    return ticket


@rule
def leave_round(context: Context, cta: Cta, warp: Warp, before: u32, ended: u32, at: i32) -> None:
    """The scheduler goes on after the turn of this warp: the states say now how the turns before it have ended
    (`before`), and this one (`ended`; `NONE`: its state says it already). at: the program counter of later warps, if
    their states do not say it; else `UNKNOWN`."""
    position = u64(warp.warp_id)
    for k in range(position):
        settle(warp_of(context, cta, k), before)
    if ended != NONE:
        settle(warp, ended)
    if at != UNKNOWN:
        for k in range(position + 1, context.warps):
            warp_of(context, cta, k).converged_pc = u32(at)
    cta.position = position


@rule
def leave_segment(context: Context, cta: Cta, first: Warp, warp: Warp, start: u32, behind: i32) -> None:
    """A segment that all warps from the first on have been at stops at a warp: the states say now where the others are.
    Those before it are at `behind`, unless that is `UNKNOWN`, those after it at the start."""
    if behind != UNKNOWN:
        for k in range(u64(first.warp_id), u64(warp.warp_id)):
            warp_of(context, cta, k).converged_pc = u32(behind)
    for k in range(u64(warp.warp_id) + 1, context.warps):
        warp_of(context, cta, k).converged_pc = start


@rule(inline=True)
def settle(warp: Warp, ended: u32) -> None:
    """All lanes of a warp have exited, or wait at a barrier."""
    if ended == EXITED:
        warp.live = 0
    elif ended != YIELDED:
        warp.bar[ended - AT_BARRIER] = warp.live
        warp.wait = warp.live


@rule(inline=True)
def all_go_on(context: Context, cta: Cta, barrier: u32, noted: boolean) -> boolean:
    """All warps wait at a barrier that asks for no other number of threads: it completes."""
    if cta.bar_count[barrier] != 0 or cta.bar_arrived[barrier] != 0 or context.cluster_barriers:
        return False
    if context.checked:
        launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
        if launch.synccheck:
            tell_checks(context, cta, barrier, True, True, False)
        elif launch.racecheck:
            block.expected[barrier] = 0
            barriers.order(block, barrier, u32(0xFFFFFFFF >> 32 - context.warps), True, False)
    if noted:
        for k in range(context.warps):
            go_on(warp_of(context, cta, k), barrier)
    if cta.bar_asked[barrier] != 0:  # `bar.red`
        for k in range(context.warps):
            warp = warp_of(context, cta, k)
            warp.yes = cta.bar_yes[barrier]
            warp.asked = cta.bar_asked[barrier]
        reset_barrier(cta, barrier)
    cta.position = 0
    return True


@rule(inline=True)
def waits_whole(warp: Warp, barrier: u32) -> boolean:
    """Whether all live lanes of a warp wait at a barrier."""
    return warp.live != 0 and warp.bar[barrier] == warp.live


@rule
def tell_checks(context: Context, cta: Cta, barrier: u32, alike: boolean, everyone: boolean, overfull: boolean) -> None:
    """A barrier completes, for all warps that have not exited if `everyone`; more have arrived than it waits for if
    `overfull`. alike: all warps wait there, whatever their states say."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    if not (launch.synccheck or launch.racecheck):
        return
    began = local(u32, 32)
    live = local(u32, 32)
    waiting: u32 = 0
    for k in range(context.warps):
        warp = warp_of(context, cta, k)
        began[k] = warp.first_live
        live[k] = warp.live
        if alike or waits_whole(warp, barrier):
            waiting |= u32(1 << u32(k))
    barriers.opened(launch, block, barrier, waiting, began, live, everyone, overfull)
