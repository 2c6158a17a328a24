"""What is said of an operand that does not fit, when a register fits a type, and when one is in braces.

A register fits where it has the width of the type and is not a number of another kind: `.b32` and `.f32` registers in
an `.f32` instruction, `.b32`, `.u32` and `.s32` ones in a `.u32` instruction, any of 32 bits in a `.b32` instruction.
`ld`, `st` and `cvt` take wider registers as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from ptxlab.isa import Action, Form, types
from ptxlab.isa.actions import BODIED
from ptxlab.text.model import Operand, Variable, Vector

Find = Callable[[str], Variable | None]
"""Gives the declaration of a name."""


@dataclass(frozen=True)
class Misfit:
    """The operand at `index` does not fit. message: why. literal: what to write in its place. before: a line to write
    before the instruction. type: the type of a register that does not fit. name: of what does not fit, where `before`
    makes %new, to be read in its place."""

    index: int
    message: str
    literal: str = ""
    before: str = ""
    type: str = ""
    name: str = ""


class Place(NamedTuple):
    """Where an instruction is. labels, parameters: names of the function around it; kernel: whether that is one;
    arch: 90 for sm_90a, 0 where nothing is said of the target."""

    labels: Collection[str] = ()
    parameters: Collection[str] = ()
    kernel: bool = False
    arch: int = 0


NOWHERE = Place()


def fits(wanted: str, given: str, *, wider: bool) -> bool:
    """Whether an instruction takes a register of type `given` where it wants `wanted`; `wider`: one with more bits,
    too."""
    if given == "f16x2" and not types.is_float(wanted):  # to the assembler a pair of halves is any 32 bits, and ...
        if wanted == "pred":
            return True  # ... in some instructions a predicate
        given = "b32"
    if "pred" in (wanted, given):
        return wanted == given
    bits, room = types.width(wanted), types.width(given)
    if room < bits or (room > bits and not wider):
        return False
    if wanted[0] == "b" and wanted[1:].isdigit():
        return True
    if types.is_float(wanted) or "x" in wanted:
        return given[0] == "b" or given == wanted
    return not types.is_float(given)


def in_words(wanted: str) -> str:
    """The registers that fit a type."""
    if wanted == "pred":
        return "a predicate"
    width = types.width(wanted)
    if wanted[0] == "b" and wanted[1:].isdigit():
        return f"{width} bits"
    if types.is_float(wanted) or "x" in wanted:
        return f".{wanted}" + (f" or .b{width}" if wanted in ("f16", "f32", "f64") else f" in a .b{width} register")
    return f".u{width}, .s{width} or .b{width}"


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
