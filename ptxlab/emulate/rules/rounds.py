"""Rounds that all warps of a CTA go through alike, each with all its lanes: the function for converged warps ends them
itself, so that it need not return (see `jit.warp_loop`).

What these rules do is what the scheduler would do (`scheduling.end_round`, and then `scheduling.run_grid`); where there
is more to do than the common case, they do nothing, and the scheduler does it all.
"""

from __future__ import annotations

from ptxlab.emulate.language import boolean, local, rule, u32
from ptxlab.emulate.rules import barriers
from ptxlab.emulate.rules.beginning import begin, draw_ticket, go_on, simple, warp_of
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.emulate.runtime.state import Context, Cta, Warp

ANY, NONE, EXITED, AT_BARRIER = 0, 1, 2, 3
"""How the turns of a round so far have ended: there was none yet; not all alike; all lanes have exited; all wait at
barrier 0 (the other barriers follow)."""


@rule
def end_alike(context: Context, cta: Cta, first: Warp, ended: u32) -> boolean:
    """All warps of a CTA have had a turn in this round, which ended alike (`EXITED`, `AT_BARRIER` or above). Whether a
    new round has begun: of this CTA, or of the next in its place. first: the state of warp 0."""
    if ended == EXITED:
        return next_cta(context, cta)
    return all_go_on(context, cta, ended - AT_BARRIER)


@rule(inline=True)
def next_cta(context: Context, cta: Cta) -> boolean:
    """All warps have exited: the next CTA begins in the same place, if there is one."""
    if context.stop[0] != 0 or context.outdated != 0 or cta.cluster.count != 1:
        return False
    if context.bulk_copies or not simple(context):
        return False
    ticket = draw_ticket(context)
    if ticket >= context.total:
        return False
    context.finished += 1
    begin(context, cta, ticket)
    return True


@rule(inline=True)
def all_go_on(context: Context, cta: Cta, barrier: u32) -> boolean:
    """All warps wait at a barrier that asks for no other number of threads: it completes."""
    if cta.bar_count[barrier] != 0 or cta.bar_arrived[barrier] != 0 or context.cluster_barriers:
        return False
    if context.checked:
        launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
        if launch.synccheck:
            tell_checks(context, cta, barrier, True, False)
        elif launch.racecheck:
            block.expected[barrier] = 0
            barriers.order(block, barrier, u32(0xFFFFFFFF >> 32 - context.warps), True, False)
    for k in range(context.warps):
        go_on(warp_of(context, cta, k), barrier)
    cta.cluster.idle = 0
    cta.position = 0
    return True


@rule(inline=True)
def waits_whole(warp: Warp, barrier: u32) -> boolean:
    """Whether all live lanes of a warp wait at a barrier."""
    return warp.live != 0 and warp.bar[barrier] == warp.live


@rule
def tell_checks(context: Context, cta: Cta, barrier: u32, everyone: boolean, overfull: boolean) -> None:
    """A barrier completes, for all warps that have not exited if `everyone`; more have arrived than it waits for if
    `overfull`."""
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
        if waits_whole(warp, barrier):
            waiting |= u32(1 << u32(k))
    barriers.opened(launch, block, barrier, waiting, began, live, everyone, overfull)
