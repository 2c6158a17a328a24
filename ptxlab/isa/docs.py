"""The documentation of one dotted opcode, gathered from the table, for hover texts and the reference page."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from ptxlab.isa import modifiers
from ptxlab.isa.actions import SAMPLERS
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.matching import form
from ptxlab.isa.table import Form

_TYPE_SAYS = {
    "pred": "a predicate",
    "addr": "a memory address",
    "label": "a label",
    "any": "registers of the type that the instruction implies",
    "int": "a constant",
    "vec": "a vector in braces",
}
_ROLE_SAYS = {"dst": "written", "src": "read", "addr": "accessed"}


@dataclass(frozen=True)
class Doc:
    """The documentation of a form.

    modifiers: (word without dot, sentence), in the opcode's order. operands: (name as the syntax shows it, sentence).
    since: the lowest PTX version and architecture, and whether the emulator runs the form. Iterating over a Doc
    gives its modifiers, so `dict(doc)` looks words up.
    """

    opcode: str
    syntax: str
    says: str
    modifiers: tuple[tuple[str, str], ...]
    operands: tuple[tuple[str, str], ...]
    version: tuple[int, int]
    sm: int
    executed: bool
    accuracy: str = ""
    """How far an approximate instruction is off at most; "" for the others."""

    @property
    def since(self) -> str:
        """`PTX 7.0, sm_80`, and a remark if the form is only assembled."""
        sm = f", sm_{self.sm}" if self.sm else ""
        only = "" if self.executed else "; assembled only: the emulator refuses it"
        return f"PTX {self.version[0]}.{self.version[1]}{sm}{only}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.modifiers)

    def __str__(self) -> str:
        lines = [self.syntax, "", self.says, ""]
        lines += [f"  .{word}  {says}" for word, says in self.modifiers]
        lines += [f"  {name}  {says}" for name, says in self.operands]
        lines += [f"  {self.accuracy}"] if self.accuracy else []
        return "\n".join([*lines, f"  {self.since}"])


@functools.cache
def explain(opcode: str) -> Doc:
    """The documentation of a dotted opcode (`fma.rn.ftz.f32`); `FormError` if there is no such form."""
    found = form(opcode)
    entry = found.op
    words = []
    for word in opcode.split(".")[1:]:
        says = entry.notes.get(word) or modifiers.word(word)
        words.append((word, says))
    operands = tuple(_operand(found, spec) for spec in entry.operands)
    from ptxlab.isa.accuracy import accuracy

    off = "; ".join(str(row) for row in accuracy(_without(opcode, "ftz")) or accuracy(opcode))
    return Doc(opcode, entry.syntax, entry.says, tuple(words), operands, found.version, found.sm, entry.executed, off)


def _without(opcode: str, word: str) -> str:
    return ".".join(w for w in opcode.removesuffix("x2").split(".") if w != word)


def _operand(found: Form, spec: OperandSpec) -> tuple[str, str]:
    type_ = found.operand_type(spec)
    what = _TYPE_SAYS.get(type_, f".{type_}")
    if type_ == "addr" and found.op.does in SAMPLERS:
        what = "the handle of a texture or surface, with coordinates where some are needed"
    says = f"{_ROLE_SAYS[spec.role]}: {what}" + (", optional" if spec.optional else "")
    note = found.op.notes.get(spec.name)
    name = f"[{spec.name}]" if spec.role == "addr" else f"{{!}}{spec.name}" if spec.negatable else spec.name
    return name, f"{says}. {note}" if note else f"{says}."
