"""What a build watches besides running: nothing, counters, checks. Each is a mixin over the fast and slow functions."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.jit.checked_control import checking
from ptxlab.emulate.jit.counting import Counting
from ptxlab.emulate.jit.emit import Emitter
from ptxlab.emulate.jit.fast import Fast
from ptxlab.emulate.jit.slow import Slow
from ptxlab.emulate.jit.tracing import TracingSlow
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.trace.recorder import TraceRecorder


@dataclass(frozen=True)
class Instruments:
    """Which instruments a build has; part of the key of its cache entry."""

    counters: bool = False
    checks: frozenset[str] = frozenset()
    trace: bool = False

    @property
    def key(self) -> str:
        """A word for each instrument."""
        words = [name for name in ("counters", "trace") if getattr(self, name)]
        return "+".join(["jit", *words, *sorted(self.checks)])


def instruments_of(launch: Launch) -> Instruments:
    """What a launch asks for."""
    return Instruments(
        launch.counters, frozenset(launch.checks) - {"memcheck"}, isinstance(launch.trace, TraceRecorder)
    )


def emitters(instruments: Instruments) -> tuple[type[Emitter], type[Emitter]]:
    """The classes that write the fast and the slow function of such a build."""
    fast: list[type] = []
    slow: list[type] = []
    if instruments.trace:
        slow.append(TracingSlow)
    if instruments.counters:
        fast.append(Counting)
        slow.append(Counting)
    if instruments.checks:
        checked = checking(instruments.checks)
        fast.append(checked)
        slow.append(checked)
    if not slow:
        return Fast, Slow
    return type("InstrumentedFast", (*fast, Fast), {}), type("InstrumentedSlow", (*slow, Slow), {})
