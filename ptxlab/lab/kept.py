"""Kernels kept under a name by `%%ptx -k NAME` or `pl.show(ptx, keep=NAME)`, with the launch they were shown in.

The name stands for the text in `--diff`, `against=`, `pl.diff` and `pl.editor`, and for text and launch in
`%ptx_explore` and `%ptx_debug`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Kept:
    """A kernel (text, or what has PTX), and what it was launched with; `grid` is None where it was only shown."""

    kernel: Any
    text: str
    grid: Any = None
    block: Any = None
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> tuple[Any, ...]:
        """grid, block and arguments; nothing where it was only shown."""
        return () if self.grid is None else (self.grid, self.block, *self.args)


KEPT: dict[str, Kept] = {}
"""By name, the last one of each."""


def text_of(name: str) -> str:
    """The text that a name stands for, or the name itself where it stands for none."""
    found = KEPT.get(name)
    return name if found is None else found.text
