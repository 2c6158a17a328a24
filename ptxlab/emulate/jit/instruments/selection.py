"""The instruments of a build: none, counters, checks, a trace."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptxlab.emulate.runtime.report import Launch


class Instruments(NamedTuple):
    """The instruments of a build; part of the key of its cache entry."""

    counters: bool = False
    checks: frozenset[str] = frozenset()
    trace: bool = False

    @property
    def key(self) -> str:
        """A word for each instrument."""
        words = [name for name in ("counters", "trace") if getattr(self, name)]
        return "+".join(["jit", *words, *sorted(self.checks)])


def instruments_of(launch: Launch) -> Instruments:
    return Instruments(launch.counters, frozenset(launch.checks) - {"memcheck"}, _is_recorded(launch.trace))


def _is_recorded(trace: Any) -> bool:
    """Whether what a launch gives its steps to is a trace: compiled code records for no other."""
    if trace is None:
        return False
    from ptxlab.emulate.trace.recorder import TraceRecorder

    return isinstance(trace, TraceRecorder)
