"""128-bit registers: two registers of 64 bits, which instructions on `.b128` take as a vector of two.

So a load is one of `.v2.b64`, and a move copies both halves. A move that packs or unpacks four 32-bit registers is two
moves of 64 bits. Only atomic operations need the two as one value (see `access` and `jit.atomics`).
"""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Reg, Source, Wide
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.isa import Action, action_of

LOW = (1 << 64) - 1


def whole(low: Lowering, source: Source | None, opcode: str, line: int) -> Source | None:
    """An operand of type b128 as a vector of two."""
    if isinstance(source, Literal):
        return Wide((Literal(int(source.value) & LOW), Literal(int(source.value) >> 64 & LOW)))
    if isinstance(source, Wide) or (action_of(opcode) is Action.MOVE and isinstance(source, Group)):
        return source
    if isinstance(source, Reg):
        register = low.registers[source.index]
        raise low.error(f"{opcode} needs a register of 128 bits here; {register.name} is .{register.type}", line)
    raise low.error(f"{opcode} needs a register of 128 bits here", line)


def split(low: Lowering, code: Code) -> bool:
    """Puts two 64-bit moves in the place of a `mov.b128` that has four 32-bit registers on one side."""
    (dest,), (source,) = code.dests, code.sources
    if not isinstance(dest, Group) or not isinstance(source, Group):
        return False
    counts = {len(dest.elements), len(source.elements)}
    if counts != {2, 4} or not any(isinstance(x, Wide) for x in (dest, source)):
        return False
    low.codes.pop()
    for k in range(2):
        into, out_of = _half(dest, k), _half(source, k)
        assert isinstance(into, Reg | Group)
        half = low.op("mov.b64", (into,), (out_of,), code.line, code.guard)
        half.instruction = None if k else code.instruction  # one of them counts
    return True


def _half(group: Group, k: int) -> Source | None:
    if len(group.elements) == 2:
        return group.elements[k]
    return Group(group.elements[2 * k : 2 * k + 2])
