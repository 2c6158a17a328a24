"""Which rules emitted code calls, and in which parts they are built: what is loaded beside a program's own code."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ptxlab.emulate.jit import lane_by_lane
from ptxlab.emulate.jit.bodies import all_rules
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.rule_objects import GOOD, Part, object_codes
from ptxlab.emulate.jit.rulecode import Function
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.program.model import Code, Program
from ptxlab.emulate.rules import (
    async_proxy,
    barriers,
    clusters,
    diverging,
    halves,
    initcheck,
    lane_masks,
    local_memory,
    memcheck,
    memory_model,
    race_accesses,
    race_later,
    race_order,
    races,
    register_values,
    rounds,
    scheduling,
    turns,
    warpgroup_registers,
)
from ptxlab.emulate.rules.instructions import scheduled
from ptxlab.emulate.rules.launches import known_values

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

Functions = tuple[Function, ...]

ALWAYS: Functions = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.forget, diverging.spread, diverging.gather_up,
    diverging.sync_lanes, diverging.sync_waiting, turns.go_on, clusters.arrive, clusters.wait, halves.widened,
    halves.narrowed, *all_rules(checks=False),
)  # fmt: skip
"""Of every build; those that bodies call with them."""
SHARED: Functions = (memcheck.stop, memcheck.resolve, memcheck.forget)
"""Those of memcheck that rules of other files call as well, a third of what these would be otherwise."""
ATOMICS: Functions = (memcheck.find_together, memcheck.find_lanes)
"""Of every build, too, but built apart: most programs have no atomic operations, and need not wait for these."""
COUNTERS: Functions = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: Functions = (
    barriers.arrived,
    lane_masks.named, lane_masks.shuffled,
    race_order.fence, race_order.publish, race_order.acquire, race_order.cluster_arrived,
    race_order.cluster_waited, race_order.sync_warp, race_order.sync_lanes, race_order.arrived, races.storing,
    races.stored,
    race_accesses.at_one_address, race_accesses.at_addresses, race_accesses.rows, race_accesses.taking_part,
    race_later.put_off_again,
    lane_by_lane.each, initcheck.all_written, initcheck.group_written,
    initcheck.report, initcheck.stored, initcheck.overruns,
    register_values.executed, warpgroup_registers.touched, warpgroup_registers.wrote,
    warpgroup_registers.fenced, warpgroup_registers.unfenced, async_proxy.stored, async_proxy.fenced,
    local_memory.loaded, local_memory.stored, local_memory.copied,
    local_memory.accessed_anywhere, *all_rules(checks=True),
)  # fmt: skip
"""Of a build with checks."""


GRID: Functions = (scheduling.run_grid, rounds.end_alike, rounds.leave_round, turns.count_ends)
"""The scheduler, which calls the fast function; and what the fast function's loop over warps calls."""


def linked(instruments: Instruments) -> Functions:
    """The rules that a build with these instruments may call."""
    return ALWAYS + ATOMICS + (COUNTERS if instruments.counters else ()) + (CHECKS if instruments.checks else ())


def called(text: str, instruments: Instruments) -> Functions:
    """The rules that a build's text calls."""
    found = set(_SYMBOL.findall(text))
    return tuple(function for function in linked(instruments) if rule_of(function).symbol in found)


_SYMBOL = re.compile(r'@"?([\w.]+)')


def parts(symbols: Iterable[str], program: Program, instruments: Instruments, cpu: Cpu) -> list[Part]:
    """What is linked to code that calls these rules: for each file of rules that has some of them, its rules."""
    wanted, constants = set(symbols), known_values(program, instruments.checks) if instruments.checks else {}
    if wanted:
        wanted.update(_symbols(SHARED))
    return [
        part
        for functions, fixed in ((ALWAYS, {}), (ATOMICS, {}), (COUNTERS, {}), (CHECKS, constants))
        for part in _files(functions, fixed, cpu)
        if not wanted.isdisjoint(part.symbols)
    ]


def elsewhere(part: Part) -> Functions:
    """The rules that a part calls in another: what it knows must be what that one knows, nothing."""
    return () if part.known or not set(part.symbols).isdisjoint(_symbols(SHARED)) else SHARED


def _files(functions: Functions, constants: Mapping[str, int], cpu: Cpu) -> list[Part]:
    """Rules file by file: those of one file call each other, and are small enough to be built quickly."""
    files: dict[str, list[Function]] = {}
    for function in functions:
        files.setdefault(function.__module__, []).append(function)
    return [Part(_symbols(each), tuple(sorted(constants.items())), cpu) for each in files.values()]


def scheduler(codes: Sequence[Code], checked: bool, traced: bool, cpu: Cpu) -> Part:
    """The scheduler of a build with checks or a trace, for a program with these instructions."""
    constants = {**scheduled(codes), "Context.checked": checked, "Context.traced": traced}
    return Part(_symbols(GRID), tuple(constants.items()), cpu)


def _symbols(functions: Iterable[Function]) -> tuple[str, ...]:
    return tuple(rule_of(function).symbol for function in functions)


def functions_of(symbols: Iterable[str]) -> list[Function]:
    """The rules that have these symbols."""
    by_symbol = _by_symbol()
    return [by_symbol[symbol] for symbol in symbols]


@functools.cache
def _by_symbol() -> dict[str, Function]:
    return {rule_of(function).symbol: function for function in (*ALWAYS, *ATOMICS, *COUNTERS, *CHECKS, *GRID)}


def build_ahead(cpu: Cpu) -> None:
    """Builds the rules that nearly all launches link, so that processes forked from this one find them built."""
    ahead = [*_files(ALWAYS + COUNTERS, {}, cpu), *_files(ATOMICS, {}, cpu)]
    ahead += [scheduler((), checked, False, cpu) for checked in (False, True)]
    every = {f"Launch.{name}": True for name in ("initcheck", "racecheck", "synccheck")}
    for granule, gaps in itertools.product((4, 2), (False, True)):
        ahead += _files(CHECKS, every | {"Launch.granule": granule, "Launch.gaps": gaps}, cpu)
    object_codes(ahead, GOOD)
