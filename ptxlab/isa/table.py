"""The instruction table: entries in the PTX manual's notation, and the forms that they allow.

    op("fma.rnd{.ftz}{.sat}.f32  d, a, b, c", rnd=ROUNDING, says="...", sem=...)

An entry is written once. The parser validates against it, the builder's methods and the hover docs come from it, and
both engines of the emulator execute its `sem`. Slots in braces are optional; a slot whose word is a keyword argument
takes one of the given choices, any other slot is the literal word. Several entries may share an opcode (`fma` has one
for each kind of type); the first that matches wins (`matching.find_form`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ptxlab.isa.actions import BODIED, COMPUTES, Action, AsyncGroup
from ptxlab.isa.entries import Op, Opcode
from ptxlab.isa.properties import Properties, properties_of


class Form(Opcode):
    """An opcode with all its modifiers filled in, and what follows from them."""

    __slots__ = ()

    @functools.cached_property
    def properties(self) -> Properties:
        """What its instructions do: to memory, to control, to other lanes, and how much work that is."""
        return properties_of(self)


TABLE: dict[str, list[Op]] = {}
"""Opcode (first word) -> its entries, in the order they are tried."""

ON_CHANGE: list[Callable[[], object]] = []
"""Called when an entry is added: each forgets cached answers about the table."""


class FormError(LookupError):
    """A dotted opcode that no entry matches. `what` says why, `syntax` is the entry that came closest."""

    def __init__(self, what: str, syntax: str = "", at: int = 0, length: int = 1) -> None:
        self.what, self.syntax, self.at, self.length = what, syntax, at, length
        super().__init__(what)


def op(
    syntax: str,
    says: str,
    sem: Callable[..., Any] | None = None,
    *,
    does: Action | None = None,
    group: AsyncGroup = AsyncGroup.NONE,
    executed: bool = True,
    loose: bool = False,
    specific: bool = False,
    ended: tuple[tuple[int, int], int] | None = None,
    also: tuple[tuple[int, int], int] | None = None,
    version: tuple[int, int] = (1, 0),
    sm: int = 0,
    fixed: dict[str, Any] | None = None,
    notes: dict[str, str] | None = None,
    needs: dict[str, tuple[tuple[int, int], int]] | None = None,
    **choices: Iterable[str],
) -> Op:
    """Adds an entry. `does` may be left out where `COMPUTES` has the opcode, and for an entry that only computes. An
    entry that computes, accesses memory or exchanges data between lanes is executed if it has a `sem`; `executed=False`
    marks others that are assembled only. `choices` gives each slot its words; `fixed` are attributes every form of this
    entry has; `notes` explain single modifiers where the entry needs to say more than the general modifier docs;
    `needs` are modifiers that need a later PTX version or architecture than the entry itself. An entry whose type is a
    literal word (`.f32`) also has it as `type`."""
    name = syntax.partition(" ")[0].partition(".")[0].partition("{")[0]
    does = does or COMPUTES.get(name, Action.COMPUTE)
    executed = executed and (sem is not None or does.kind in ("flow", "none", *BODIED))
    words = {key: tuple(each) for key, each in choices.items()}
    entry = Op(name, syntax, words, " ".join(says.split()), sem, does, version, sm,
               dict(fixed or {}), dict(notes or {}), dict(needs or {}), group, executed, loose, specific,
               ended, also)  # fmt: skip
    TABLE.setdefault(name, []).append(entry)
    for forget in ON_CHANGE:
        forget()
    return entry


def all_ops() -> list[Op]:
    """Every entry, in table order."""
    return [entry for entries in TABLE.values() for entry in entries]
