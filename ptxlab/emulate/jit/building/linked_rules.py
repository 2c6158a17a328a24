"""The rules that emitted code calls, built in object files to be loaded beside a program's code."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Set

from ptxlab.emulate.jit.bodies.body import all_bodies, bodies_of, rules_of
from ptxlab.emulate.jit.building.rule_objects import TIER_1, RuleObject, object_codes
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.translation.rule_calls import Function, declaration
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import clusters, diverging, half_conversions, lane_scheduling, memcheck
from ptxlab.emulate.rules.instructions import scheduled

Functions = tuple[Function, ...]

ALWAYS: Functions = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.forget, diverging.spread, diverging.gather_up, diverging.sync_lanes, diverging.sync_waiting,
    lane_scheduling.go_on, clusters.arrive, clusters.wait,
    half_conversions.widened, half_conversions.narrowed,
)  # fmt: skip
"""The rules that every build may call. Programs with instructions that have bodies call the rules of these besides."""
ATOMICS: Functions = (memcheck.find_together, memcheck.find_lanes)
"""Also of every build, but an object of their own: most programs have no atomic operations, and need not wait."""


def _counters() -> Functions:
    """The rules that a build with counters calls. Most builds have none, and do not import them."""
    from ptxlab.emulate.rules import memory_model

    return (
        memory_model.sectors,
        memory_model.lane_groups,
        memory_model.remembered_wavefronts,
        memory_model.count_access,
        memory_model.lanes_differ,
    )


def _checks() -> Functions:
    from ptxlab.emulate.jit.checks import lane_by_lane
    from ptxlab.emulate.rules import (
        async_proxy,
        barrier_checks,
        initcheck,
        initcheck_local,
        lane_masks,
        race_accesses,
        race_order,
        races,
        register_checks,
    )

    return (
        barrier_checks.arrived, barrier_checks.passed_arrive,
        lane_masks.named, lane_masks.shuffled,
        race_order.fence, race_order.strong, race_order.cluster_arrived, race_order.cluster_waited,
        race_order.sync_warp, race_order.sync_lanes, races.storing, races.stored,
        race_accesses.at_addresses, lane_by_lane.each,
        initcheck.all_written,
        initcheck.report, initcheck.stored, initcheck.overruns,
        register_checks.read, register_checks.written, register_checks.touched, register_checks.wrote,
        register_checks.fenced, register_checks.unfenced, async_proxy.stored, async_proxy.fenced,
        initcheck_local.loaded, initcheck_local.stored, initcheck_local.copied,
        initcheck_local.accessed_anywhere, initcheck_local.within, initcheck_local.within_anywhere,
        *rules_of(all_bodies(), checks=True),
    )  # fmt: skip


def rule_objects(declared: Set[str], program: Program, instruments: Instruments, cpu: Cpu) -> list[RuleObject]:
    """What is loaded beside code that declares these functions: an object for each file of rules that has some."""
    found = [*_files(ALWAYS + rules_of(bodies_of(program.codes)), {}, cpu), *_files(ATOMICS, {}, cpu)]
    if instruments.counters:
        found += _files(_counters(), {}, cpu)
    if instruments.checks:
        from ptxlab.emulate.rules.launches import known_values

        found += _files(_checks(), known_values(program, instruments.checks), cpu)
    called = [each for each in found if any(declaration(rule) in declared for rule in each.rules)]
    memory_checks = found[0]  # rules of other files call them (`shared`)
    return called if not called or memory_checks in called else [memory_checks, *called]


def _files(functions: Functions, known: Mapping[str, int], cpu: Cpu) -> list[RuleObject]:
    """One object per file: rules of a file call each other, and are small enough to be built quickly."""
    files: dict[str, list[str]] = {}
    for function in functions:
        files.setdefault(function.__module__, []).append(function.__name__)
    return [RuleObject(file, tuple(names), tuple(sorted(known.items())), cpu) for file, names in files.items()]


def scheduler(known: Mapping[str, bool], checked: bool, traced: bool, cpu: Cpu) -> RuleObject:
    """The scheduler of a build with checks or a trace, which calls the function for converged warps, and what that
    function's loop over warps calls. known: what the program has (`rules.instructions.scheduled`)."""
    fixed = {**known, "Context.checked": checked, "Context.traced": traced}
    return RuleObject("ptxlab.emulate.rules.scheduling", ("run_grid", "count_ends"), tuple(fixed.items()), cpu)


def build_ahead(cpu: Cpu) -> None:
    """Builds the rules that nearly all launches link, so that processes forked from this one find them built."""
    found = [*_files(ALWAYS + rules_of(all_bodies()) + _counters(), {}, cpu), *_files(ATOMICS, {}, cpu)]
    found += [scheduler(scheduled(()), checked, False, cpu) for checked in (False, True)]
    every = {f"Launch.{name}": True for name in ("initcheck", "racecheck", "synccheck")}
    for granule, gaps in itertools.product((4, 2), (False, True)):
        found += _files(_checks(), every | {"Launch.granule": granule, "Launch.gaps": gaps}, cpu)
    object_codes(found, TIER_1)
