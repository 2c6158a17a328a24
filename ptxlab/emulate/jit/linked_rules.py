"""Which rules emitted code calls, and their object code: what is loaded beside a program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit import rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.shadows import known
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import blocks, notes
from ptxlab.emulate.rules.memcheck import access_lanes, forget, mark_lanes, miss, miss_lanes, resolve, stop

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

ALWAYS: tuple[rulecode.Function, ...] = (stop, resolve, miss, miss_lanes, access_lanes, mark_lanes, forget)
"""Of every build."""
CHECKS: tuple[rulecode.Function, ...] = (notes.serial, notes.note, blocks.started)
"""Of a build with checks."""


def rules_objects(program: Program, instruments: Instruments, cpu: Cpu) -> tuple[bytes, ...]:
    """The object codes of the rules that a build with these instruments calls."""
    always = rulecode.object_code(ALWAYS, {}, cpu)
    if not instruments.checks:
        return (always,)
    return always, rulecode.object_code(CHECKS, known(program, instruments.checks), cpu)
