"""Liveness: which registers an instruction reads and writes, and which values may still be needed.

Reading a register that some path has not written is not an error: a guarded load leaves such registers in the lanes
that the guard excludes, and arithmetic on them does no harm as long as its result is not used. So initcheck looks at
the instructions that touch them (`register_flow`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Mem, Reg, Source
from ptxlab.emulate.program.program import Program, once
from ptxlab.isa.actions import Action


def registers_of(source: Source | None) -> list[int]:
    """The registers that an operand reads (or, for a destination, writes)."""
    if isinstance(source, Reg):
        return [source.index]
    if isinstance(source, Inverted):
        return [source.operand.index]
    if isinstance(source, Mem):
        return registers_of(source.base)
    if isinstance(source, Group):
        return [r for e in source.elements for r in registers_of(e)]
    return []


def _of_all(operands: Iterable[Source | None]) -> list[int]:
    out = []
    for operand in operands:
        if type(operand) is Reg:  # most are
            out.append(operand.index)
        else:
            out += registers_of(operand)
    return out


def bit_set(numbers: Collection[int]) -> int:
    """The set as the bits of an int. To set one bit after the other would copy the whole each time."""
    octets = bytearray(max(numbers, default=0) // 8 + 1)
    for n in numbers:
        octets[n >> 3] |= 1 << (n & 7)
    return int.from_bytes(octets, "little")


def numbers(bits: int) -> list[int]:
    octets = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    return [8 * at + k for at, octet in enumerate(octets) if octet for k in range(8) if octet >> k & 1]


def reads(code: Code) -> list[int]:
    """Registers read by an instruction; a guarded write keeps the old value in some lanes, and so reads it."""
    out = _of_all(code.sources)
    if code.guard is not None:
        out.append(code.guard[0])
        out += _of_all(code.dests)
    if code.action is Action.RETURN and code.register >= 0:
        out.append(code.register)
    if code.action is Action.WARPGROUP_PRODUCT:  # what it adds to
        out += _of_all(code.dests)
    return out


def writes(code: Code) -> list[int]:
    return [*_of_all(code.dests), *((code.register,) if code.action is Action.CALL else ())]


def writers_of(codes: Iterable[Code]) -> dict[int, list[Code]]:
    found: dict[int, list[Code]] = {}
    for code in codes:
        for r in writes(code):
            found.setdefault(r, []).append(code)
    return found


def live_in(program: Program) -> list[int]:
    """For each block the registers alive at its start, as a bit set."""
    use, define = [], []
    for block in program.blocks:
        used, defined = set[int](), set[int]()
        for code in program.codes[block.first : block.last]:
            used.update(r for r in reads(code) if r not in defined)
            defined.update(writes(code))
        use.append(bit_set(used))
        define.append(bit_set(defined))
    alive = [0] * len(program.blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks):
            out = 0
            for successor in successors(program, block.index):
                out |= alive[successor]
            new = use[block.index] | (out & ~define[block.index])
            if new != alive[block.index]:
                alive[block.index] = new
                changed = True
    return alive


def successors(program: Program, block: int) -> list[int]:
    this = program.blocks[block]
    return [*this.targets, *([this.next] if this.next >= 0 else [])]


def live_at(program: Program) -> list[tuple[int, int]]:
    """The registers alive before and after each instruction, as bit sets; what it writes is alive after it."""
    alive = live_in(program)
    out = [(0, 0)] * len(program.codes)
    for block in program.blocks:
        live = 0
        for successor in successors(program, block.index):
            live |= alive[successor]
        for index in range(block.last - 1, block.first - 1, -1):
            code = program.codes[index]
            written = sum({1 << r for r in writes(code)})
            behind = live | written
            live = live & ~written
            for r in reads(code):
                live |= 1 << r
            out[index] = live, behind
    return out


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
    """The registers that a program may read before it writes them. Calls that save registers leave them as they are."""
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
