"""What an opcode in a text does, whether or not the text is right."""

from __future__ import annotations

import functools

from ptxlab.isa.actions import Action
from ptxlab.isa.entries import Op
from ptxlab.isa.matching import find_form
from ptxlab.isa.table import TABLE


@functools.lru_cache(maxsize=1 << 13)
def action_of(opcode: str) -> Action | None:
    """What an opcode does; where no entry has its modifiers, what the first entry of its first word does. None for
    words that no entry begins with."""
    entry = _entry(opcode)
    return None if entry is None else entry.does


def writes_first(opcode: str) -> bool:
    """Whether the first operand is written, as far as the table knows: True for words that it does not have."""
    entry = _entry(opcode)
    return entry is None or (bool(entry.operands) and entry.operands[0].role == "dst")


def _entry(opcode: str) -> Op | None:
    known = find_form(opcode)
    if known is not None:
        return known.op
    entries = TABLE.get(opcode.partition(".")[0])
    return entries[0] if entries else None
