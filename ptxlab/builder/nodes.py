"""What a body holds besides instructions: an `if`, a loop, and the jumps out of one. The printer lowers them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ptxlab.builder.emit import Instr
from ptxlab.builder.registers import Register, Scope
from ptxlab.builder.source import Site


@dataclass(slots=True, eq=False)
class If:
    """`then` runs where `condition` holds, `other` (if any) where it does not. `number` names its labels."""

    condition: Register[Any]
    number: int
    site: Site
    then: Scope = field(default_factory=lambda: Scope("if_"))
    other: Scope | None = None


@dataclass(slots=True, eq=False)
class Loop:
    """`head` computes `test`, which says whether to leave (`leave_if`) or stay; then `body`, then `step`, and again."""

    name: str
    site: Site
    head: Scope
    body: Scope
    step: Scope
    test: Register[Any] | None = None
    leave_if: bool = True
    continued: bool = False  # some `continue_if` jumps to the step


@dataclass(slots=True, eq=False)
class Jump:
    """`@condition bra` to a loop's end ("end") or to its step ("next")."""

    loop: Loop
    where: str
    condition: Register[Any]
    site: Site


Node = Instr | If | Loop | Jump
