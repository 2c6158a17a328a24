"""The beginning of blocks, of their warps, and of rounds of turns: what the scheduler does before instructions run."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import clusters, records
from ptxlab.emulate.rules.clusters import warp_of
from ptxlab.emulate.rules.lane_scheduling import forget
from ptxlab.emulate.rules.records import Block
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.state import BARRIERS, Cluster, Context, Cta, Warp


@rule(external=True, symbol="clear.registers")
def clear_registers(warp: Warp) -> None:
    """Zeroes the registers that may be read before they are written."""
    raise AssertionError("the function is known to compiled code only")


@rule
def begin_cluster(context: Context, cluster: Cluster, ticket: u64) -> None:
    number = ticket
    if context.block_order is not None:
        number = context.block_order[ticket]
    cluster.busy = cluster.count
    for rank in range(cluster.count):
        linear = number if cluster.count == 1 else clusters.block_of(context, number, rank)
        begin(context, context.slots[cluster.first + rank].cta, linear)


@rule
def begin(context: Context, cta: Cta, number: u64) -> None:
    """Begins a block; `number`: its index in the grid."""
    x = u64(cta.ctaid_x) + 1
    if number == cta.linear + 1 and x < context.grid_x:  # divisions of 64 bits are slow
        cta.ctaid_x = u32(x)
    else:
        cta.ctaid_x = u32(number % context.grid_x)
        cta.ctaid_y = u32(number // context.grid_x % context.grid_y)
        cta.ctaid_z = u32(number // context.grid_x // context.grid_y)
    cta.linear = number
    if cta.shared_size != 0:
        fill_bytes(cta.shared, POISON, cta.shared_size)
    if cta.local_size != 0:
        fill_bytes(cta.local, POISON, cta.local_size)
    for barrier in range(BARRIERS):
        reset_barrier(cta, u32(barrier))
    cta.active = 1
    if context.checked:
        records.started(cta.checks.cast(Block)[0], number)
    others = context.traced or context.mbarriers or context.cluster_barriers or context.warpgroup_products
    if cta.converged == 0 or others:  # more than a few fields of its warps may have changed
        for k in range(context.warps):
            begin_warp(context, cta, warp_of(context, cta, k), k)
        cta.converged = 1
    else:
        for k in range(context.warps):
            begin_again(context, warp_of(context, cta, k))
    begin_round(context, cta)


@rule(inline=True)
def begin_again(context: Context, warp: Warp) -> None:
    """Begins a warp in the place of one of a block whose warps never diverged: only these fields have changed."""
    warp.live = warp.first_live
    warp.converged_pc = context.entry
    warp.ended = 0
    warp.carry = 0
    if context.clears:
        clear_registers(warp)


@rule(inline=True)
def begin_warp(context: Context, cta: Cta, warp: Warp, number: u64) -> None:
    for lane in range(32):
        warp.pc[lane] = context.entry
        warp.sync_kind[lane] = 0
    warp.live = warp.first_live
    warp.wait = 0
    warp.diverged = 0
    warp.converged_pc = context.entry
    warp.synced = 0
    warp.ended = 0
    forget(warp.turns)
    warp.carry = 0
    warp.resume = 0
    warp.region = 0
    warp.cluster_arrived = 0
    warp.cluster_passed = 0
    warp.cluster_waits = 0
    warp.spins = 0
    clear(warp.products)
    warp.awaited = 0
    for barrier in range(BARRIERS):
        warp.bar[barrier] = 0
        warp.arrived[barrier] = 0
    if context.traced:  # a recorded warp stays in the function for diverged warps, and its registers begin as zero
        recorded = context.trace.blocks[cta.linear] & context.trace.warps[number]
        warp.diverged = recorded
        warp.traced = recorded
        registers = cta.states + (number * context.state_size + Warp.size)
        fill_bytes(registers, 0, context.state_size - Warp.size)
    elif context.clears:
        clear_registers(warp)


@rule
def begin_round(context: Context, cta: Cta) -> None:
    """Begins a round, in which each warp has a turn; with a seed, in a new order."""
    cta.position = 0
    if context.random != 0 and not context.leaders_first:
        for k in range(1, context.warps):
            last = context.warps - k
            next_random(context)
            chosen = context.random % (last + 1)
            moved = context.order[last]
            context.order[last] = context.order[chosen]
            context.order[chosen] = moved


@rule(inline=True)
def next_random(context: Context) -> None:
    x = context.random
    x = x ^ u64(x << 13)
    x = x ^ x >> 7
    context.random = x ^ u64(x << 17)


@rule(inline=True)
def reset_barrier(cta: Cta, barrier: u32) -> None:
    cta.bar_count[barrier] = 0
    cta.bar_arrived[barrier] = 0
    cta.bar_yes[barrier] = 0
    cta.bar_asked[barrier] = 0


@rule(inline=True)
def go_on(warp: Warp, barrier: u32) -> None:
    warp.bar[barrier] = 0
    warp.arrived[barrier] = 0
    warp.wait = 0
