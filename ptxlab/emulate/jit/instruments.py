"""The instruments of a build: none, counters, checks, a trace; and the functions emitted with them."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.jit.block_rows import Rows
from ptxlab.emulate.jit.checked import CheckedBodies, Checks
from ptxlab.emulate.jit.checked_accesses import CheckedAccesses
from ptxlab.emulate.jit.checked_control import CheckedControl
from ptxlab.emulate.jit.checked_registers import CheckedRegisters
from ptxlab.emulate.jit.compile import Cpu
from ptxlab.emulate.jit.counting import Counting
from ptxlab.emulate.jit.emit import Emitter
from ptxlab.emulate.jit.fast import Fast
from ptxlab.emulate.jit.forms import Form
from ptxlab.emulate.jit.instrument import Instrument
from ptxlab.emulate.jit.registers import RegisterFile
from ptxlab.emulate.jit.slow import Slow
from ptxlab.emulate.jit.tracing import Tracing
from ptxlab.emulate.program.model import Program
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
    """The instruments that a launch needs."""
    return Instruments(
        launch.counters, frozenset(launch.checks) - {"memcheck"}, isinstance(launch.trace, TraceRecorder)
    )


def function(
    instruments: Instruments, program: Program, file: RegisterFile, uniform: list[bool], affine: dict[int, Form],
    alive: list[int], cpu: Cpu, *, rows: Rows, slow: bool, small: bool, only: frozenset[int] | None = None,
) -> tuple[Emitter, str]:  # fmt: skip
    """The emitter of the fast or the slow function of such a build, and the function's text. only: the slow function's
    blocks, if not all."""
    e = Emitter(
        program, uniform, affine, alive, file, rows=rows, slow=slow, small=small, wide=cpu.wide, features=cpu.features,
        instruments=lambda e: parts(instruments, e),
    )  # fmt: skip
    return e, Slow(e, only).function() if slow else Fast(e).function()


def parts(instruments: Instruments, e: Emitter) -> list[Instrument]:
    """The instruments of an emitter, in the order in which their hooks run before an event."""
    out: list[Instrument] = []
    if instruments.trace and e.slow:
        out.append(Tracing(e))
    if instruments.counters:
        out.append(Counting(e))
    if instruments.checks:
        e.checks = checks = Checks(e, instruments.checks)
        out += [CheckedControl(e, checks), CheckedBodies(e, checks), CheckedAccesses(e, checks)]
        out.append(CheckedRegisters(e, checks))
    return out
