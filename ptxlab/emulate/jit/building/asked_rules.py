"""The rules that are called where counters or checks are asked for; imported where some are."""

from __future__ import annotations

from ptxlab.emulate.jit.bodies.table import all_bodies, rules_of
from ptxlab.emulate.jit.checks import lane_by_lane, records_at_once
from ptxlab.emulate.jit.translation.rulecode import Function
from ptxlab.emulate.rules import (
    async_proxy,
    barriers,
    initcheck,
    lane_masks,
    local_memory,
    memory_model,
    notes,
    race_accesses,
    race_chunks,
    race_order,
    race_watch,
    races,
    register_values,
    warpgroup_registers,
    written_before,
)

COUNTERS: tuple[Function, ...] = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: tuple[Function, ...] = (
    barriers.arrived,
    lane_masks.named, lane_masks.shuffled,
    race_order.fence, race_order.publish, race_order.acquire, race_order.cluster_arrived,
    race_order.cluster_waited, race_order.sync_warp, race_order.sync_lanes, race_order.arrived, races.storing,
    races.stored,
    race_accesses.at_one_address, race_accesses.at_addresses, race_accesses.rows, race_accesses.departed,
    race_chunks.chunks_stored,
    notes.taking_part, race_watch.watched_rows,
    lane_by_lane.each, records_at_once.one_place, records_at_once.whole_row,
    initcheck.reach, initcheck.all_written, initcheck.group_written, written_before.all_before,
    initcheck.report, initcheck.stored, initcheck.overruns,
    register_values.executed, warpgroup_registers.touched, warpgroup_registers.wrote,
    warpgroup_registers.fenced, warpgroup_registers.unfenced, async_proxy.stored, async_proxy.fenced,
    local_memory.loaded, local_memory.stored, local_memory.copied,
    local_memory.accessed_anywhere, *rules_of(all_bodies(), checks=True),
)  # fmt: skip
"""Of a build with checks."""
