"""Kernels kept under a name by `%%ptx -k NAME` or `pl.show(ptx, keep=NAME)`, with the launch they were shown in.

The name stands for the text in `--diff`, `against=`, `pl.diff` and `pl.editor`, and for text and launch in
`%ptx_explore` and `%ptx_debug`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ptxlab.errors import LaunchError


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
    """The text that a name stands for; anything else than a name is a text itself.

    Raises `LaunchError` for a single word that nothing was kept under: no PTX is that short.
    """
    found = KEPT.get(name)
    if found is None and re.fullmatch(r"[A-Za-z_]\w*", name):
        there = f"; kept are {', '.join(KEPT)}" if KEPT else ""
        raise LaunchError(f"no text was kept under {name!r}; keep one with %%ptx -k {name} or keep={name!r}{there}")
    return name if found is None else found.text
