"""Which rules emitted code calls, and their object code: what is loaded beside a program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit import rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.shadows import known
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import blocks, copies, mbarriers, memcheck, memory_model, notes

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

Functions = tuple[rulecode.Function, ...]

ALWAYS: Functions = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.forget, mbarriers.operate, mbarriers.still_spinning, *copies.COPY.values(),
)  # fmt: skip
"""Of every build."""
COUNTERS: Functions = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: Functions = (notes.serial, notes.note, blocks.started)
"""Of a build with checks."""


def linked(instruments: Instruments) -> Functions:
    """The rules that a build with these instruments may call."""
    return ALWAYS + (COUNTERS if instruments.counters else ()) + (CHECKS if instruments.checks else ())


def rules_objects(program: Program, instruments: Instruments, cpu: Cpu) -> tuple[bytes, ...]:
    """Their object codes."""
    objects = [rulecode.object_code(ALWAYS, {}, cpu)]
    if instruments.counters:
        objects.append(rulecode.object_code(COUNTERS, {}, cpu))
    if instruments.checks:
        objects.append(rulecode.object_code(CHECKS, known(program, instruments.checks), cpu))
    return tuple(objects)
