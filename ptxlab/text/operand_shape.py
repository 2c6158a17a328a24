"""What decides whether an instruction takes its operands: its shape, which most instructions of a file share."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from ptxlab.isa.immediates import LIMITED
from ptxlab.isa.special_registers import SPECIAL_REGISTERS
from ptxlab.isa.types import VARIABLES
from ptxlab.text.model import Address, Guard, Instruction, Name, Number, Operand, Vector
from ptxlab.text.scope import Scope

Part = tuple[Hashable, bool]
"""What decides whether an instruction takes an operand, and whether its names are declared."""


_OF_A_FUNCTION = {("param", type_) for type_ in VARIABLES}
"""What an address in parameters may be depends on the function."""


def shape_of(
    instruction: Instruction, scope: Scope, labels: Collection[str]
) -> tuple[tuple[Hashable, ...] | None, bool]:
    """The shape of an instruction's operands without their names, on which alone depends whether it takes them, and
    whether all names are declared. None and False where operands are other than numbers, names, addresses, or elements
    of vectors."""
    shape: list[Hashable] = [instruction.opcode]
    all_known = True
    if instruction.guard is not None:
        guard = scope.find(instruction.guard.name)
        if guard is None or "." in instruction.guard.name:
            return None, False
        shape.append((Guard, guard.space, guard.type))
    parts = scope.parts
    for operand in instruction.operands:
        if id(operand) not in parts:  # operands that are written alike are one object
            parts[id(operand)] = _part(operand, scope, labels)
        part = parts[id(operand)]
        if part is None:
            return None, False
        shape.append(part[0])
        all_known &= part[1]
    if instruction.name in LIMITED:
        shape += [operand.text for operand in instruction.operands if isinstance(operand, Number)]
    return tuple(shape), all_known


def _part(operand: Operand, scope: Scope, labels: Collection[str]) -> Part | None:
    """The part of one operand; None for one that has none."""
    if isinstance(operand, Name):
        variable = scope.find(operand.text)
        if variable is None:
            named = operand.text in labels, operand.text == "_"
            return None if operand.text in SPECIAL_REGISTERS else (named, False)
        if variable.vector > 1 or "." in operand.text:
            return None
        return variable.type if variable.space == "reg" else (variable.space, variable.type), True
    if isinstance(operand, Number):
        return (Number, operand.kind), True
    if isinstance(operand, Address):
        base = _part(operand.base, scope, labels)
        if base is None or base[0] in _OF_A_FUNCTION or operand.register_offset is not None or operand.extra:
            return None
        return (Address, base[0], operand.offset != 0), base[1]
    if isinstance(operand, Vector):
        elements = [_part(element, scope, labels) for element in operand.elements]
        known = [part for part in elements if part is not None]
        return ((Vector, *(part[0] for part in known)), all(part[1] for part in known)) if known == elements else None
    return None
