"""Braces around a single operand, which the assembler takes in some instructions."""

from __future__ import annotations

from ptxlab.isa import Action, Form
from ptxlab.isa.actions import BODIED
from ptxlab.text.model import Operand, Vector


def in_braces(found: Form, operand: Operand) -> bool:
    """Whether a single operand is in braces where the assembler refuses them: it takes them in loads, stores and `mov`
    of untyped bits (Triton writes `ld.global.b32 { %r1 }, [%rd1]`)."""
    if not isinstance(operand, Vector) or len(operand.elements) != 1:
        return False
    if found.op.does is Action.BARRIER or (found.single and found.operation) or found.opcode.endswith(".b128"):
        return not found.vec
    if found.op.kind in ("flow", "none", *BODIED) or found.properties.plain:
        return False
    return not (found.op.does is Action.MOVE and str(found.type)[0] == "b")
