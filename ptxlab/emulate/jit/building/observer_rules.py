"""The rules that are called where counters or checks are asked for; imported where some are."""

from __future__ import annotations

from ptxlab.emulate.jit.bodies.body import all_bodies, rules_of
from ptxlab.emulate.jit.checks import lane_by_lane
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.rules import (
    async_proxy,
    barriers,
    initcheck,
    initcheck_local,
    initcheck_registers,
    lane_masks,
    memory_model,
    race_accesses,
    race_order,
    races,
    warpgroup_registers,
)

COUNTERS: tuple[Function, ...] = (
    memory_model.sectors,
    memory_model.lane_groups,
    memory_model.remembered_wavefronts,
    memory_model.count_access,
    memory_model.lanes_differ,
)
"""Of a build with counters."""
CHECKS: tuple[Function, ...] = (
    barriers.arrived,
    lane_masks.named, lane_masks.shuffled,
    race_order.fence, race_order.publish, race_order.acquire, race_order.cluster_arrived,
    race_order.cluster_waited, race_order.sync_warp, race_order.sync_lanes, race_order.arrived, races.storing,
    races.stored,
    race_accesses.at_one_address, race_accesses.at_addresses, lane_by_lane.each,
    initcheck.all_written,
    initcheck.report, initcheck.stored, initcheck.overruns,
    initcheck_registers.executed, warpgroup_registers.touched, warpgroup_registers.wrote,
    warpgroup_registers.fenced, warpgroup_registers.unfenced, async_proxy.stored, async_proxy.fenced,
    initcheck_local.loaded, initcheck_local.stored, initcheck_local.copied,
    initcheck_local.accessed_anywhere, initcheck_local.within, initcheck_local.within_anywhere,
    *rules_of(all_bodies(), checks=True),
)  # fmt: skip
"""Of a build with checks."""
