"""The parts in which rules are built: what is loaded beside a program's own code, and its name in the cache."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native.code import Cpu


class Part(NamedTuple):
    """Rules that are built together, by their symbols: what other code may call, and what is known of it."""

    symbols: tuple[str, ...]
    known: tuple[tuple[str, int], ...]
    cpu: Cpu

    def entry(self, quality: int) -> str:
        """The name of its cache entry."""
        return "rules-" + native.key(",".join(self.symbols), "", "", self.cpu, f"rules {self.known} {quality}")

    @property
    def note(self) -> list[Any]:
        """What stands beside the code that it is loaded with; see `noted`."""
        return [self.symbols, self.known]

    @classmethod
    def noted(cls, note: list[Any], cpu: Cpu) -> Part:
        """The rules that a note names, so that neither they nor the emitter are imported for code from the cache."""
        symbols, known = note
        return cls(tuple(symbols), tuple((name, value) for name, value in known), cpu)
