"""A second run of a checked launch in another order of its warps, for what depends on it.

Checks follow what orders threads, not how they ran. But which values a thread reads, and so which way it goes, may
depend on the order. Programs in which threads wait for each other otherwise than at one barrier run again with leaders
ahead of their groups (`seed=0`), if they are short: by work, not by time, or findings would depend on the computer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ptxlab.emulate.program.flat_program import Literal
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.rules.findings import as_finding
from ptxlab.emulate.runtime.memory import Memory, saved
from ptxlab.emulate.runtime.report import LEADERS, Launch, Report
from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding
from ptxlab.isa.actions import AsyncGroup

MOST = 300_000
"""Warp-instructions of a run that is made again."""
LONGER = 20
"""How many times as many the second may have."""

Engine = Callable[[Program, Launch, Memory], Report]


def in_both_orders(run: Engine, program: Program, launch: Launch, memory: Memory) -> Report:
    """Runs a launch, and once more for its findings. All else is as the first run has left it."""
    if not _depends_on_order(program):
        return run(program, launch, memory)
    start = saved(memory.live())
    report = run(program, launch, memory)
    if report.warp_instructions > MOST:
        return report
    left = saved(memory.live())
    start()
    budget = LONGER * max(report.warp_instructions, 1000)
    again = launch._replace(seed=LEADERS, counters=False, trace=None, budget=budget)
    try:
        found = run(program, again, memory).findings
    except DeviceFault as stopped:  # one that has only spent its budget has not ended: what it lacks may have come
        found = [] if stopped.kind == "budget" else [as_finding(program, launch, stopped), *stopped.findings]
    finally:
        left()
    known = set(map(_about, report.findings))
    report.findings += [dataclasses.replace(each, seed=LEADERS) for each in found if _about(each) not in known]
    return report


def _about(finding: Finding) -> tuple[str, frozenset[int]]:
    """What a finding is about: the same in both orders, whichever of its threads came first."""
    return finding.check, frozenset(party.line for party in (finding.first, finding.second) if party is not None)


@once
def _depends_on_order(program: Program) -> bool:
    """Whether threads wait for each other by mbarriers, bulk copies, flags, or barriers of some of a block's warps."""
    for code in program.codes:
        named = [s for s in code.sources if s is not None]
        if code.properties.barrier and (len(named) > 1 + bool(code.form.red) or named[:1] not in ([], [Literal(0)])):
            return True
        if code.properties.mbarrier or code.properties.group is AsyncGroup.BULK:
            return True
    return bool(program.waiting)
