"""Which rules emitted code calls, and their object code for a program: what is loaded beside the program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit import barrier_checks, lane_by_lane, rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import (
    copies_in_flight,
    initcheck,
    lane_masks,
    local_memory,
    memcheck,
    memory_model,
    race_accesses,
    races,
    register_values,
)
from ptxlab.emulate.rules.launches import known

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

ALWAYS: tuple[rulecode.Function, ...] = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.forget,
)  # fmt: skip
"""Of every build."""
COUNTERS: tuple[rulecode.Function, ...] = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: tuple[rulecode.Function, ...] = (
    barrier_checks.started, barrier_checks.arrived, barrier_checks.opened,
    copies_in_flight.start, copies_in_flight.commit, copies_in_flight.wait_group, copies_in_flight.wait_all,
    copies_in_flight.touched, lane_masks.named, lane_masks.shuffled,
    races.fence, races.acquire, races.together, races.meet, races.arrived, races.storing, races.stored,
    race_accesses.at_one_address, race_accesses.at_addresses,
    lane_by_lane.each, initcheck.all_written, initcheck.group_written,
    initcheck.report, initcheck.stored, initcheck.overruns,
    register_values.executed, local_memory.loaded, local_memory.stored, local_memory.copied,
    local_memory.accessed_anywhere,
)  # fmt: skip
"""Of a build with checks."""


def linked(instruments: Instruments) -> tuple[rulecode.Function, ...]:
    """The rules that a build with these instruments may call."""
    return ALWAYS + (COUNTERS if instruments.counters else ()) + (CHECKS if instruments.checks else ())


def rules_object(program: Program, instruments: Instruments, cpu: Cpu) -> bytes:
    """Their object code."""
    constants = known(program, instruments.checks) if instruments.checks else {}
    return rulecode.object_code(linked(instruments), constants, cpu)
