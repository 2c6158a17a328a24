"""Which rules emitted code calls, and their object code for a program: what is loaded beside the program's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit import barrier_checks, rulecode
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import blocks, copies_in_flight, lane_masks, notes, race_accesses, races
from ptxlab.emulate.rules.launches import known

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments import Instruments

CHECKS: tuple[rulecode.Function, ...] = (
    notes.serial, notes.note, blocks.started, barrier_checks.arrived, barrier_checks.opened,
    copies_in_flight.start, copies_in_flight.commit, copies_in_flight.wait_group, copies_in_flight.wait_all,
    copies_in_flight.touched, lane_masks.named, lane_masks.shuffled,
    races.fence, races.acquire, races.together, races.meet, races.arrived, races.storing, races.stored, races.hazard,
    races.remember, race_accesses.at_one_address, race_accesses.at_addresses,
)  # fmt: skip
"""Of a build with checks."""


def rules_object(program: Program, instruments: Instruments, cpu: Cpu) -> bytes:
    """The object code of the rules that a build with these instruments calls; empty where there are none."""
    if not instruments.checks:
        return b""
    return rulecode.object_code(CHECKS, known(program, instruments.checks), cpu)
