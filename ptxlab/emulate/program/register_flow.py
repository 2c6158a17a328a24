"""Registers that some path reads before it writes them: whether they have a value is known only while a program runs.

To read one is no error: a guarded load leaves such registers in the lanes that the guard excludes, and arithmetic on
them does no harm as long as its result is not used. So initcheck looks at the instructions that touch them; in a
program without such registers there are none.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.program.liveness import live_in, numbers, registers_of
from ptxlab.emulate.program.program import Program, once


class RegisterFlow(NamedTuple):
    """Such registers. touches: for each instruction (by code index) that reads or writes some which it reads and which
    it writes, by their places in `registers`."""

    registers: tuple[int, ...]
    touches: dict[int, tuple[list[int], list[int]]]


@once
def unwritten_registers(program: Program) -> tuple[int, ...]:
    """The registers that some path reads before it writes them."""
    entry = numbers(live_in(program)[0]) if program.blocks else []
    return tuple(r for r in entry if program.registers[r].function)  # lowering's own begin as zero


@once
def register_flow(program: Program) -> RegisterFlow:
    """The registers that a program may read before it writes them. Calls that save and restore registers leave them
    as they are."""
    registers = unwritten_registers(program)
    places = {r: n for n, r in enumerate(registers)}
    touches = {}
    for code in program.codes if registers else ():
        read, written = (
            sorted({places[r] for operand in operands for r in registers_of(operand) if r in places})
            for operands in (code.sources, code.dests)
        )
        if (read or written) and code.instruction is not None:
            touches[code.index] = read, written
    return RegisterFlow(registers, touches)
