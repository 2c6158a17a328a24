"""What decides whether an instruction takes its operands: its shape, which most instructions of a file share."""

from __future__ import annotations

from ptxlab.isa.special import SPECIAL_REGISTERS
from ptxlab.text.model import Address, Guard, Instruction, Name, Number, Operand, Vector
from ptxlab.text.scope import Scope


def shape_of(instruction: Instruction, scope: Scope) -> tuple[tuple[object, ...] | None, bool]:
    """All that decides whether an instruction takes its operands, names left out, for most instructions of a file are
    of few shapes; and whether all its names are declared. None for the shape, and False, where operands are something
    else than numbers, names and addresses, or elements of vectors."""
    shape: list[object] = [instruction.opcode]
    known = True
    find = scope.find

    def plain(operand: Operand) -> bool:
        nonlocal known
        kind = operand.__class__
        if isinstance(operand, Name):
            variable = find(operand.text)
            if variable is None:
                known = False
                shape.append(None)
                return operand.text not in SPECIAL_REGISTERS
            if variable.vector > 1 or "." in operand.text:
                return False
            shape.append(variable.type if variable.space == "reg" else (variable.space, variable.type))
            return True
        if isinstance(operand, Number):
            shape.append((kind, operand.kind))
            return True
        if isinstance(operand, Address):
            shape.append(kind)
            return operand.register_offset is None and not operand.extra and plain(operand.base)
        if isinstance(operand, Vector):
            shape.append((kind, len(operand.elements)))
            return all(map(plain, operand.elements))
        return False

    if instruction.guard is not None:
        guard = find(instruction.guard.name)
        if guard is None or "." in instruction.guard.name:
            return None, False
        shape.append((Guard, guard.space, guard.type))
    return (tuple(shape), known) if all(map(plain, instruction.operands)) else (None, False)
