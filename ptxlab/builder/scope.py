"""Where the instructions of one body collect: of the kernel, of a loop, of an if."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Scope:
    """The nodes of one body, in order. `open`: instructions may still read what was computed in it."""

    what: str = "kernel"
    nodes: list[Any] = field(default_factory=list)
    open: bool = True
