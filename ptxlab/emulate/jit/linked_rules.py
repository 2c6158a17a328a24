"""Which rules emitted code calls, and their object code for a program: what is loaded beside the program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit import rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.shadows import known
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import blocks, mbarriers, memcheck, memory_model, notes

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

ALWAYS: tuple[rulecode.Function, ...] = (
    memcheck.stop, memcheck.resolve, memcheck.miss, memcheck.miss_lanes, memcheck.access_lanes, memcheck.mark_lanes,
    memcheck.forget, mbarriers.operate, mbarriers.still_spinning,
)  # fmt: skip
"""Of every build."""
COUNTERS: tuple[rulecode.Function, ...] = (
    memory_model.sectors, memory_model.groups, memory_model.remembered_wavefronts, memory_model.count_access,
    memory_model.differ,
)  # fmt: skip
"""Of a build with counters."""
CHECKS: tuple[rulecode.Function, ...] = (notes.serial, notes.note, blocks.started)
"""Of a build with checks."""


def linked(instruments: Instruments) -> tuple[rulecode.Function, ...]:
    """The rules that a build with these instruments may call."""
    return ALWAYS + (COUNTERS if instruments.counters else ()) + (CHECKS if instruments.checks else ())


def rules_object(program: Program, instruments: Instruments, cpu: Cpu) -> bytes:
    """Their object code."""
    constants = known(program, instruments.checks) if instruments.checks else {}
    return rulecode.object_code(linked(instruments), constants, cpu)
