"""A form of the table (`ptxlab.isa.table.Form`) as those know it who say what follows from it: `FormLike`.

The table's forms have properties, so that what computes properties stands below the table and cannot import its types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ptxlab.isa.actions import Action, AsyncGroup


class SlotLike(Protocol):
    """A modifier position, as `table.Slot`."""

    @property
    def name(self) -> str: ...


class OperandLike(Protocol):
    """An operand position, as `table.OperandSpec`."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...


class OpLike(Protocol):
    """An entry, as `table.Op`."""

    @property
    def name(self) -> str: ...
    @property
    def does(self) -> Action: ...
    @property
    def group(self) -> AsyncGroup: ...
    @property
    def slots(self) -> Sequence[SlotLike]: ...
    @property
    def operands(self) -> Sequence[OperandLike]: ...


class FormLike(Protocol):
    """An opcode with all its modifiers filled in; any other attribute is the word in the slot of that name."""

    @property
    def op(self) -> OpLike: ...
    @property
    def opcode(self) -> str: ...
    def __hash__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
