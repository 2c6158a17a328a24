"""A small PTX program with a known result, in the frame of `emulate_programs.kernel`, and tables of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from emulate_programs import kernel, run

from ptxlab.emulate.runtime.report import Report

T = np.arange(32)
"""The threads of a warp, for expected results."""


@dataclass
class Case:
    """A program and what it must leave in `out`."""

    body: str
    expected: Callable[[], Any]
    threads: int | tuple[int, ...] = 32
    blocks: int = 1
    before: str = ""
    shared: int = 0
    x: np.ndarray | None = None
    out: np.ndarray | None = None
    version: str = "8.0"

    def text(self) -> str:
        """The PTX."""
        return kernel(self.body, self.before).replace(".version 8.8", f".version {self.version}")

    def run(self, engine: str, **options: Any) -> tuple[np.ndarray, Report]:
        """What it leaves in `out` on an engine, and the report."""
        x = None if self.x is None else self.x.copy()
        return run(
            engine,
            self.text(),
            threads=self.threads,
            blocks=self.blocks,
            shared=self.shared,
            x=x,
            out=self.out,
            **options,
        )

    def wanted(self) -> list[int]:
        """What it must leave."""
        return [int(value) for value in self.expected()]


class Cases(dict[str, Case]):
    """The programs of one topic, by name."""

    def add(self, name: str, body: str, expected: Callable[[], Any], **options: Any) -> None:
        """One more; `options` are fields of `Case`."""
        assert name not in self, name
        self[name] = Case(body, expected, **options)
