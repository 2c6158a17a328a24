"""The scheduler of the JIT: a worker runs blocks, their warps in turn, until the grid is done.

    for each block (taken from a counter that all workers share):
        run every warp that can run for a time slice, by a function for converged warps or one for diverged warps;
            after each of these turns, complete barriers with a thread count that as many threads have arrived at
        after this round of turns, complete each barrier that every warp has arrived at
        when no warp can run: the block has ended, or it is in a deadlock

All state lies in the context, so that `run_grid` can be called again where it stopped: after the function for diverged
warps has been compiled, which is done when a warp diverges for the first time, after memory for one more block has been
allocated, with better code, between two blocks, and after as many steps as it was given. A worker has one resident
block as long as that ends by itself. When it does not, more blocks become resident and take turns, so that a block
which waits for a later one can end.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import barrier_checks, clusters, memcheck, races, warpgroup_products
from ptxlab.emulate.rules.block_start import begin_cluster, begin_round, go_on, next_random, reset_barrier
from ptxlab.emulate.rules.bulk_copies import complete_all
from ptxlab.emulate.rules.clusters import warp_of
from ptxlab.emulate.rules.lane_scheduling import count_ends, may_resume, only_waits
from ptxlab.emulate.rules.mbarriers import still_spinning
from ptxlab.emulate.rules.memcheck import stop
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.emulate.runtime.state import *

GO_ON, ANOTHER = 6, 7
"""Results of a step of the scheduler: the next step's turn; another block's turn."""


# -- what a program's own code does ------------------------------------------------------------------------------------


@rule(external=True, symbol="converged")
def run_converged(context: Context, cta: Cta, warp: Warp) -> u32:
    """Runs a converged warp until it must stop, and says why; and, where it can, the warps after it, which have their
    turns then (see `jit.control.converged_flow`)."""
    raise AssertionError("the function is known to compiled code only")


@rule(pointer="run_diverged")
def run_diverged(context: Context, cta: Cta, warp: Warp) -> u32:
    """Runs a diverged warp until it must stop, and says why."""
    raise AssertionError("the function is known to compiled code only")


# -- the grid ----------------------------------------------------------------------------------------------------------


@rule(symbol="grid")
def run_grid(context: Context) -> u32:
    """Runs blocks until there are none left; returns why it stops."""
    while True:
        if context.steps_left <= 0:
            return PAUSED
        context.steps_left -= 1
        if context.cta.active == 0:
            if context.stop[0] != 0:
                return STOPPED
            if context.outdated != 0:
                context.outdated = 0
                return NEEDS_CODE
            if context.cta.cluster.busy == 0:
                ticket: u64 = atomic("add", context.next, 0, 1)
                if ticket < context.total:
                    begin_cluster(context, context.cta.cluster, ticket)
                elif not next_resident(context):
                    return DONE
            else:
                next_resident(context)
        outcome = take_turns(context, context.cta)
        if outcome == GO_ON:
            outcome = end_round(context, context.cta)
        if outcome != GO_ON and outcome != ANOTHER:
            if outcome == FAULT:
                context.stop[0] = 1
            return outcome


@rule
def next_resident(context: Context) -> boolean:
    """The turn of another resident block, if there is one. Clears what all sites cache: the shared memory is another
    now, and that of a block which has ended is freed."""
    memcheck.forget(context)
    for tried in range(context.slot_count):
        slot = (context.slot + tried + 1) % context.slot_count
        if context.slots[slot].cta.active != 0:
            context.slot = slot
            context.cta = context.slots[slot].cta
            return True
    return False


# -- rounds ------------------------------------------------------------------------------------------------------------


@rule
def take_turns(context: Context, cta: Cta) -> u32:
    """Gives each warp that can run a turn, from the block's position on."""
    while cta.position < context.warps:
        warp = warp_of(context, cta, context.order[cta.position])
        if warp.live & ~warp.wait == 0:
            cta.position += 1
            continue
        resumes = warp.diverged != 0 and may_resume(warp)
        if resumes and context.slice >= 0:
            warp.diverged = 0
            warp.converged_pc = warp.region
        if warp.diverged == 0:
            result = run_converged(context, cta, warp)
            warp = warp_of(context, cta, context.order[cta.position])  # that of the last turn, of several
        elif resumes:
            result = SUSPENDED
        elif context.run_diverged != 0:
            result = run_diverged(context, cta, warp)
        else:
            return NEEDS_DIVERGED
        if result == DONE:
            if warp.live == 0:
                count_ends(context, warp)
            if warp.diverged != 0:
                pass_arrivals(context, cta, warp)
            complete_counted(context, cta)
            cta.position = 0 if context.leaders_first else cta.position + 1
        elif result == DIVERGED:
            warp.diverged = 1
            cta.converged = 0
        elif result == CONVERGED:
            warp.diverged = 0
        elif result == SUSPENDED:
            outcome = end_slice(context, cta, warp)
            if outcome != GO_ON:
                return outcome
        elif result == LACKING:
            return NEEDS_DIVERGED
        else:
            return FAULT
    return GO_ON


@rule
def end_slice(context: Context, cta: Cta, warp: Warp) -> u32:
    """A warp has spent its slice: must the launch stop, is its budget spent, is it another block's turn?"""
    gave_up = context.forgone != 0
    used = context.slice_size - context.slice - context.forgone
    context.slice = context.slice_size
    context.forgone = 0
    context.clock += u64(used)
    if atomic("sub", context.budget, 0, used) < used:
        lane = first(warp.live)
        at = warp.converged_pc if warp.diverged == 0 else warp.pc[lane]
        stop(context, warp, BUDGET_SPENT, at >> 1, lane, 0)
        return FAULT
    if context.stop[0] != 0:
        return STOPPED
    cta.position += 1
    if gave_up:  # another warp of the cluster ends its wait, or none does: `end_round` sees to both
        if context.slot_count == 1 or warp.live & ~(warp.wait | warp.spins) == 0:
            return GO_ON
        next_resident(context)  # which `end_round` does not look for: this warp has lanes that could go on
        return ANOTHER
    context.suspensions += 1
    if context.bulk_copies and warp.spins == 0 and context.suspensions % PATIENT_SLICES == 0:
        complete_copies(context, cta)  # threads may poll memory for what is in flight
    if context.random != 0 and not context.leaders_first:  # slices of random length, and other blocks soon
        next_random(context)
        context.slice_size = i64(context.random & 255)
        context.slice = context.slice_size
    if context.next[0] < context.total:  # a slot is for all blocks of one more cluster
        full = context.slot_count == context.slot_limit
        if context.suspensions >= context.asks_at or (not full and only_waits(context, warp)):
            return NEEDS_SLOT
    if context.slot_count == 1:
        return GO_ON
    next_resident(context)
    return ANOTHER


@rule
def end_round(context: Context, cta: Cta) -> u32:
    """After a round: completes barriers, then begins the next one, ends the block, or finds its cluster's deadlock."""
    alive = False
    for k in range(context.warps):
        if warp_of(context, cta, k).live != 0:
            alive = True
    cluster = cta.cluster
    if not alive:
        cta.active = 0
        if context.bulk_copies:
            complete_copies(context, cta)
        if context.checked and context.cluster_barriers and cluster.count != 1:
            races.block_ended(context.check.cast(Launch)[0], cta.checks.cast(Block)[0])
        if context.warpgroup_products:
            number = warpgroup_products.incomplete_warpgroup(context, cta)
            if number != 0:
                stop(context, warp_of(context, cta, number - 1), INCOMPLETE_WARPGROUP, 0, 0, 0)
                return FAULT
        cluster.busy -= 1
        context.finished += 1
        return GO_ON
    if complete_barriers(context, cta):
        begin_round(context, cta)
        return GO_ON
    for rank in range(cluster.count):
        mate = context.slots[cluster.first + rank].cta
        if mate.active != 0 and rank != cta.rank and complete_barriers(context, mate):
            begin_round(context, cta)
            next_resident(context)
            return ANOTHER
    if context.bulk_copies and complete_copies(context, cta):
        begin_round(context, cta)
        return GO_ON
    context.slot = cluster.first + to_report(context, cluster)
    stop(context, warp_of(context, cta, 0), DEADLOCK, 0, 0, 0)
    return FAULT


@rule
def complete_barriers(context: Context, cta: Cta) -> boolean:
    """Completes the barriers of a block that are full; whether a thread of it can go on then. The answer depends on the
    state alone, because another block of the cluster may have let a thread go on at any time."""
    free: u32 = 0  # lanes that neither wait nor spin
    used: u32 = 0  # barriers at which lanes wait, a bit for each
    ended = False  # whether the phase of an mbarrier has ended that lanes spin on
    for k in range(context.warps):
        warp = warp_of(context, cta, k)
        if warp.live != 0:
            used |= bits(load_row(warp.bar) != 0)
        free = free | warp.live & ~(warp.wait | warp.spins)
        if context.mbarriers and free == 0 and not still_spinning(context, cta, warp):
            ended = True
    opened = context.warpgroup_products and warpgroup_products.go_on(context, cta)
    if context.cluster_barriers:
        clusters.try_to_open(context, cta.cluster)
        if clusters.let_go(context, cta):
            opened = True
    for barrier in lanes_of(used):
        if try_to_open(context, cta, barrier):
            opened = True
    return opened or ended or free != 0


@rule
def to_report(context: Context, cluster: Cluster) -> u64:
    """The rank of the block that a deadlock is reported for: the first in which a thread waits for anything but the
    barrier of the cluster, where mates wait for it; else the first that has not ended."""
    found = cluster.count
    for rank in range(cluster.count):
        mate = context.slots[cluster.first + rank].cta
        if mate.active != 0:
            for k in range(context.warps):
                warp = warp_of(context, mate, k)
                if warp.live & ~warp.cluster_waits != 0:
                    return rank
            found = min(found, rank)
    return found


@rule
def complete_copies(context: Context, cta: Cta) -> boolean:
    """Performs the bulk copies of a cluster that are in flight; whether there are any."""
    queue = cta.cluster.queue
    return queue is not None and complete_all(context, queue[0])


# -- barriers ----------------------------------------------------------------------------------------------------------


@rule
def pass_arrivals(context: Context, cta: Cta, warp: Warp) -> None:
    """A diverged warp passes `bar.arrive` once all its live lanes have executed it: it counts as arrived, and goes on
    in its next turn. As long as a lane is missing, the others wait. If one of them waits at `bar.sync`, the warp waits.
    (`Instrument.barrier_arrives` is about converged warps, which need no rule for it.)"""
    for barrier in lanes_of(bits(load_row(warp.bar) != 0)):
        if waits_whole(warp, barrier) and warp.arrived[barrier] == warp.live:
            cta.bar_arrived[barrier] += 1
            go_on(warp, barrier)
            if context.checked:
                launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
                barrier_checks.passed_arrive(launch, block, warp.warp_id, barrier)
            return


@rule(inline=True)
def complete_counted(context: Context, cta: Cta) -> None:
    """After a turn: completes barriers at which as many have arrived as their count asks for. Warps that come later in
    the same round wait for the next phase."""
    for barrier in lanes_of(bits(load_row(cta.bar_count) != 0)):
        try_to_open(context, cta, barrier)


@rule
def try_to_open(context: Context, cta: Cta, barrier: u32) -> boolean:
    """Completes a barrier if as many whole warps have arrived as it waits for: all live ones, unless it has a count.
    A warp of which only some lanes wait has not arrived. Whether any warp goes on then."""
    came: u32 = 0
    alive: u32 = 0
    for k in range(context.warps):
        warp = warp_of(context, cta, k)
        came += u32(waits_whole(warp, barrier))
        alive += u32(warp.live != 0)
    given = cta.bar_count[barrier]
    wanted = given >> 5 if given != 0 else alive
    total = came + cta.bar_arrived[barrier]
    if total < wanted or (came == 0 and given == 0):
        return False
    if context.checked:
        notify_checks(context, cta, barrier, given != 0, total > wanted)
    for k in range(context.warps):
        warp = warp_of(context, cta, k)
        if waits_whole(warp, barrier):
            go_on(warp, barrier)
            warp.yes = cta.bar_yes[barrier]
            warp.asked = cta.bar_asked[barrier]
    reset_barrier(cta, barrier)
    return came != 0


@rule(inline=True)
def waits_whole(warp: Warp, barrier: u32) -> boolean:
    """Whether all live lanes of a warp wait at a barrier."""
    return warp.live != 0 and warp.bar[barrier] == warp.live


@rule
def notify_checks(context: Context, cta: Cta, barrier: u32, counted: boolean, overfull: boolean) -> None:
    """A barrier completes, with a thread count if `counted`; more have arrived than it waits for if `overfull`."""
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
    barrier_checks.opened(launch, block, barrier, waiting, began, live, counted, overfull)
