"""Gathers and scatters of the lanes up to the last active one, in vectors as short as they can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.llvm.ir_text import Text, W

WIDTHS = (4, 16)
"""Lanes up to which the active ones are gathered and scattered in shorter vectors, where some are likely to be
inactive: AMD's CPUs take a cycle for each element of the vector, however few are moved."""


class ShortGathers:
    """Arms of code for the lanes of a mask up to the last one in it, in vectors as short as they can be: `for width,
    arm in widths:` and in it `with arm as results:`, then `widths.phi(type)` if each arm has a result."""

    def __init__(self, t: Text, m: LaneMachine, bits: str) -> None:
        self.t, self.m, self.bits = t, m, bits
        self.found: list[tuple[list[str], str]] = []

    def __iter__(self) -> Iterator[tuple[int, AbstractContextManager[list[str]]]]:
        end = self.t.label("placed")
        for width in WIDTHS:
            within = self.t.label("within")
            other = self.t.label("wider")
            self.t.branch(self.t.ult("i32", self.bits, 1 << width), within, other)
            self.t.at(within)
            yield width, self._arm(end)
            self.t.at(other)
        yield W, self._arm(end)
        self.t.at(end)

    @contextmanager
    def _arm(self, end: str) -> Iterator[list[str]]:
        results: list[str] = []
        with self.t.not_dominating():
            yield results
        self.found.append((results, self.t.here))
        self.t.go(end)

    def phi(self, kind: str) -> str:
        """The result."""
        return self.t.phi(kind, *((results[0], label) for results, label in self.found))
