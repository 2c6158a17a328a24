"""Which rules emitted code calls, and their object code: what is loaded beside a program's own code."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ptxlab.emulate.jit import lane_by_lane, rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import (
    barriers,
    copies,
    copies_in_flight,
    diverging,
    halves,
    initcheck,
    lane_masks,
    local_memory,
    matrix_access,
    mbarriers,
    memcheck,
    memory_model,
    race_accesses,
    races,
    register_values,
    scheduling,
    turns,
)
from ptxlab.emulate.rules.launches import known

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

Functions = tuple[rulecode.Function, ...]

ALWAYS: Functions = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.find_lanes, memcheck.forget, diverging.spread, diverging.gather_up, diverging.sync_lanes,
    diverging.sync_waiting, turns.go_on, mbarriers.operate, copies.copy, matrix_access.find,
    matrix_access.mark, halves.widened, halves.narrowed,
)  # fmt: skip
"""Of every build."""
COUNTERS: Functions = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: Functions = (
    barriers.arrived,
    copies_in_flight.start, copies_in_flight.commit, copies_in_flight.wait_group, copies_in_flight.wait_all,
    copies_in_flight.touched, lane_masks.named, lane_masks.shuffled,
    races.fence, races.publish, races.acquire, races.sync_warp, races.sync_lanes, races.arrived, races.storing,
    races.stored,
    race_accesses.at_one_address, race_accesses.at_addresses,
    lane_by_lane.each, initcheck.all_written, initcheck.group_written,
    initcheck.report, initcheck.stored, initcheck.overruns,
    register_values.executed, local_memory.loaded, local_memory.stored, local_memory.copied,
    local_memory.accessed_anywhere,
)  # fmt: skip
"""Of a build with checks."""


GRID: Functions = (scheduling.run_grid,)
"""The scheduler, which calls the fast function."""


def linked(instruments: Instruments) -> Functions:
    """The rules that a build with these instruments may call."""
    return ALWAYS + (COUNTERS if instruments.counters else ()) + (CHECKS if instruments.checks else ())


def rules_objects(program: Program, instruments: Instruments, cpu: Cpu) -> tuple[bytes, ...]:
    """Their object codes: that of every build is built once, that of a build with checks once for what they know."""
    codes = [rulecode.object_code(ALWAYS, {}, cpu)]
    if instruments.counters:
        codes.append(rulecode.object_code(COUNTERS, {}, cpu))
    if instruments.checks:
        codes.append(rulecode.object_code(CHECKS, known(program, instruments.checks), cpu))
    return tuple(codes)


def scheduler(instruments: Instruments, cpu: Cpu) -> bytes:
    """The object code of the scheduler for such a build."""
    constants = {"Context.checked": bool(instruments.checks), "Context.traced": instruments.trace}
    return rulecode.object_code(GRID, constants, cpu)


def build_ahead(cpu: Cpu) -> None:
    """Builds the rules that nearly all launches link, so that processes forked from this one find them built."""
    rulecode.object_code(ALWAYS, {}, cpu)
    rulecode.object_code(COUNTERS, {}, cpu)
    for checked in (False, True):
        rulecode.object_code(GRID, {"Context.checked": checked, "Context.traced": False}, cpu)
    every = {f"Launch.{name}": True for name in ("initcheck", "racecheck", "synccheck")}
    for granule, gaps in itertools.product((4, 2), (False, True)):
        rulecode.object_code(CHECKS, every | {"Launch.granule": granule, "Launch.gaps": gaps}, cpu)
