"""Kernels with one barrier, wait or fence left out: what no test and no check would miss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ptxlab.isa import Action, find_form
from ptxlab.text import Module, parse

ORDERING = frozenset(
    {
        Action.BARRIER,
        Action.WARP_BARRIER,
        Action.CLUSTER_BARRIER,
        Action.FENCE,
        Action.WAIT_GROUP,
        Action.WAIT_ALL,
        Action.WARPGROUP_FENCE,
        Action.WARPGROUP_WAIT,
    }
)
"""What an instruction does that can be left out: it orders or waits. Those with a result are left in."""


@dataclass(frozen=True)
class Deletion:
    """An instruction to leave out of a text: its line in the PTX, what it is, and the source line that made it."""

    text: str
    line: int
    opcode: str
    source: str

    def __str__(self) -> str:
        return f"{self.opcode} (PTX line {self.line}{', ' + self.source if self.source else ''})"


def deletions(kernel: Any) -> Iterator[Deletion]:
    """One for each instruction of a kernel that can be left out."""
    module = _module(kernel)
    text = str(module)
    for function in module.functions:
        for instruction in function.instructions():
            form = find_form(instruction.opcode)
            if form is None or form.properties.action not in ORDERING or _has_result(instruction):
                continue
            span = module.spans.get(instruction.line)
            yield Deletion(text, instruction.line, instruction.opcode, str(span) if span is not None else "")


def _has_result(instruction: Any) -> bool:
    from ptxlab.isa import writes_first

    return bool(writes_first(instruction.opcode))


def _module(kernel: Any) -> Module:
    """The module of what `pl.launch` takes."""
    if isinstance(kernel, str):
        return parse(kernel)
    module: Module = getattr(kernel, "module", kernel)
    return module


class Mutant:
    """A kernel as it was, but for its text."""

    def __init__(self, kernel: Any, module: Module) -> None:
        self._kernel, self.module, self.ptx, self.original = kernel, module, str(module), self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def without(kernel: Any, deletion: Deletion) -> Any:
    """A kernel without an instruction, if it is the one that the deletion is about; lines keep their numbers."""
    module = _module(kernel)
    if str(module) != deletion.text:
        return kernel
    lines = deletion.text.split("\n")
    start = sum(len(line) + 1 for line in lines[: deletion.line - 1])
    pattern = re.compile(rf"(?:@!?[%\w$]+\s+)?(?<![\w.]){re.escape(deletion.opcode)}(?![\w.])[^;]*;")
    match = pattern.search(deletion.text, start)
    assert match is not None, f"line {deletion.line} holds no {deletion.opcode}"
    blank = re.sub(r"[^\n]", " ", match[0])
    changed = deletion.text[: match.start()] + blank + deletion.text[match.end() :]
    parsed = parse(changed, file=module.file, spans=module.spans)
    return changed if isinstance(kernel, str) else parsed if kernel is module else Mutant(kernel, parsed)
