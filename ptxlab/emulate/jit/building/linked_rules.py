"""Which rules emitted code calls, and in which parts they are built: what is loaded beside a program's own code."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from ptxlab.emulate.jit.bodies.body import all_bodies, bodies_of, rules_of
from ptxlab.emulate.jit.building.rule_parts import Part
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.language.rules import rule_named, rule_of
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
"""Of every build. Programs with instructions that have bodies call the rules of these besides."""
SHARED: Functions = (memcheck.stop, memcheck.resolve, memcheck.forget)
"""Those of memcheck that rules of other files call as well, a third of what these would be otherwise."""
ATOMICS: Functions = (memcheck.find_together, memcheck.find_lanes)
"""Of every build, too, but built apart: most programs have no atomic operations, and need not wait for these."""
GRID = ("grid", "lane_scheduling.count_ends")
"""The scheduler, which calls the function for converged warps, and what that function's loop over warps calls. Their
symbols, as the rules themselves are imported to be translated."""


def linked(program: Program, instruments: Instruments) -> Functions:
    """The rules that a build with these instruments may call."""
    counters, checks = _asked_for(instruments)
    return ALWAYS + rules_of(bodies_of(program.codes)) + ATOMICS + counters + checks


def _asked_for(instruments: Instruments | None = None) -> tuple[Functions, Functions]:
    """The rules of a build with counters, and with checks, if these instruments are such; those of any build else. Most
    builds have neither, and do not load these rules."""
    if instruments is not None and not instruments.counters and not instruments.checks:
        return (), ()
    from ptxlab.emulate.jit.building.observer_rules import CHECKS, COUNTERS

    if instruments is None:
        return COUNTERS, CHECKS
    return (COUNTERS if instruments.counters else ()), (CHECKS if instruments.checks else ())


def parts(symbols: Iterable[str], program: Program, instruments: Instruments, cpu: Cpu) -> list[Part]:
    """What is linked to code that calls these rules: for each file of rules that has some of them, its rules."""
    wanted, constants = set(symbols), dict[str, int]()
    if instruments.checks:
        from ptxlab.emulate.rules.launches import known_values

        constants = known_values(program, instruments.checks)
    if wanted:
        wanted.update(_symbols(SHARED))
    counters, checks = _asked_for(instruments)
    return [
        part
        for functions, fixed in (
            (ALWAYS + rules_of(bodies_of(program.codes)), {}),
            (ATOMICS, {}),
            (counters, {}),
            (checks, constants),
        )
        for part in _files(functions, fixed, cpu)
        if not wanted.isdisjoint(part.symbols)
    ]


def rules_of_other_parts(part: Part) -> Functions:
    """The rules that a part calls in another: what it knows must be what that one knows, nothing."""
    return () if part.known or not set(part.symbols).isdisjoint(_symbols(SHARED)) else SHARED


def _files(functions: Functions, constants: Mapping[str, int], cpu: Cpu) -> list[Part]:
    """Rules file by file: those of one file call each other, and are small enough to be built quickly."""
    files: dict[str, list[Function]] = {}
    for function in functions:
        files.setdefault(function.__module__, []).append(function)
    return [Part(_symbols(each), tuple(sorted(constants.items())), cpu) for each in files.values()]


def scheduler(known: Mapping[str, bool], checked: bool, traced: bool, cpu: Cpu) -> Part:
    """The scheduler of a build with checks or a trace; known: what the program has (`rules.instructions.scheduled`)."""
    return Part(GRID, tuple({**known, "Context.checked": checked, "Context.traced": traced}.items()), cpu)


def _symbols(functions: Iterable[Function]) -> tuple[str, ...]:
    return tuple(rule_of(function).symbol for function in functions)


def functions_of(symbols: Iterable[str]) -> list[Function]:
    """The rules that have these symbols."""
    listed = list(symbols)
    for load in (_load_scheduler, all_bodies, _asked_for):  # what rules are in, the most usual first
        if any(rule_named(symbol) is None for symbol in listed):
            load()
    found = [rule_named(symbol) for symbol in listed]
    return [rule.function for rule in found if rule is not None]


def _load_scheduler() -> None:
    from ptxlab.emulate.rules import scheduling  # noqa: F401


def usual_parts(cpu: Cpu) -> list[Part]:
    """The parts that nearly all launches link."""
    counters, checks = _asked_for()
    parts = [*_files(ALWAYS + rules_of(all_bodies()) + counters, {}, cpu), *_files(ATOMICS, {}, cpu)]
    parts += [scheduler(scheduled(()), checked, False, cpu) for checked in (False, True)]
    every = {f"Launch.{name}": True for name in ("initcheck", "racecheck", "synccheck")}
    for granule, gaps in itertools.product((4, 2), (False, True)):
        parts += _files(checks, every | {"Launch.granule": granule, "Launch.gaps": gaps}, cpu)
    return parts
