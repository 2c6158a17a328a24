"""What an exercise may limit: what a launch cost, and the PTX lines that cost most of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxlab import isa
from ptxlab.course.value_watch import place
from ptxlab.isa.actions import Action
from ptxlab.isa.properties import Properties
from ptxlab.launch.run import Run

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.counters import LineCounters


def _what(line: LineCounters) -> Properties:
    """What the table says of a line's instruction; of several on one line, of the first."""
    return isa.form(line.opcode.partition(";")[0]).properties


def _moves(line: LineCounters, what: str, *spaces: str) -> bool:
    """Whether each lane loads or stores at an address in these spaces: elements, or rows of matrices."""
    known = _what(line)
    return (known.plain or known.rows) and known.touches == what and known.space in spaces


LINES: dict[str, Callable[[LineCounters], int]] = {
    "bank conflicts": lambda c: c.conflicts,
    "sectors": lambda c: c.sectors,
    "excess sectors": lambda c: c.sectors - c.ideal_sectors,
    "wavefronts": lambda c: c.wavefronts,
    "requests": lambda c: c.requests,
    "bytes": lambda c: c.bytes,
    "warp instructions": lambda c: c.warps,
    "thread instructions": lambda c: c.threads,
    "divergent branches": lambda c: c.divergent,
    "barriers": lambda c: c.warps if _what(c).action in (Action.BARRIER, Action.CLUSTER_BARRIER) else 0,
    "shuffles": lambda c: c.warps if _what(c).action is Action.SHUFFLE else 0,
    "global loads": lambda c: c.warps if _moves(c, "load", "global") else 0,
    "global stores": lambda c: c.warps if _moves(c, "store", "global") else 0,
    "shared loads": lambda c: c.warps if _moves(c, "load", "shared", "cluster") else 0,
    "shared stores": lambda c: c.warps if _moves(c, "store", "shared", "cluster") else 0,
    "exponentials": lambda c: c.threads if _what(c).action is Action.EXPONENTIAL else 0,
}
"""What is counted line by line: a sum over the lines of a launch with `counters=True`."""
STATIC = ("registers", "instructions")
"""What is known without running: registers alive at once in the PTX (the same on every machine), instructions in it."""
MEASURES = (*LINES, *STATIC)


def measure(run: Run, kernel: Any, what: str) -> int:
    """What a launch cost; `what` is one of `MEASURES` or a metric of `run.counters`."""
    if what in STATIC:
        from ptxlab.static import inspect

        seen = inspect(kernel, entry=run.kernel)
        return max(seen.pressure.values(), default=0) if what == "registers" else seen.instructions
    if run.counters is None:
        raise ValueError(f"{what}: the launch needs counters=True")
    if what in LINES:
        return sum(LINES[what](line) for line in run.counters.by_line.values())
    return run.counters[what]


def costs(run: Run, kernel: Any, what: str) -> list[tuple[int, int]]:
    """(PTX line, cost) of the lines that cost most of it, the dearest first; of registers, where most are alive."""
    if what == "registers":
        from ptxlab.static import inspect

        seen = inspect(kernel, entry=run.kernel)
        return [(seen.peak, seen.pressure.get(seen.peak, 0))]
    if what not in LINES or run.counters is None:
        return []
    found = [(line, LINES[what](counts)) for line, counts in run.counters.by_line.items()]
    return sorted((f for f in found if f[1] > 0), key=lambda f: (-f[1], f[0]))


def dearest(kernel: Any, found: list[tuple[int, int]], most: int = 3) -> list[str]:
    """The places that cost most, in words: PTX lines that one line of Python wrote are one place."""
    together: dict[Any, list[tuple[int, int]]] = {}
    for line, cost in found:
        span = kernel.module.spans.get(line)
        together.setdefault(line if span is None else (span.file, span.line), []).append((line, cost))
    ranked = sorted(together.values(), key=lambda lines: -sum(cost for _, cost in lines))
    out = []
    for lines in ranked[:most]:
        others = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        out.append(f"{sum(cost for _, cost in lines):,} of them: {place(kernel, lines[0][0])}{others}")
    return out
