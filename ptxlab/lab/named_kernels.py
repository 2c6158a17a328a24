"""Kernels kept under a name by `%%ptx -k NAME` or `pl.show(ptx, keep=NAME)`, with the launch they were shown in.

The name stands for the text in `--diff`, `against=`, `pl.diff` and `pl.editor`, and for text and launch in
`%ptx_explore` and `%ptx_debug`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ptxlab import kernels
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


def kernel_of(kernel: Any) -> Any:
    """The kernel that a name stands for, kept or of the library; anything else as it is.

    Raises `LaunchError` for a single word that is not the name of a kernel: no PTX is that short.
    """
    if isinstance(kernel, str) and kernel in KEPT:
        return KEPT[kernel].kernel
    if isinstance(kernel, str) and kernel.isidentifier() and kernel not in kernels.names():
        there = f"; kept are {', '.join(KEPT)}" if KEPT else ""
        keep = f"keep one with %%ptx -k {kernel} or keep={kernel!r}"
        raise LaunchError(f"no text was kept under {kernel!r}; {keep}{there}")
    return kernels.looked_up(kernel)
