"""`compare` and `compare_decode`: several kernels on the same inputs and the same device, side by side.

print(pl.compare(q, k, v, kernels=["mma", "swizzle", "pipelined"], causal=True, device="cpu"))
print(pl.compare_decode(q, k_cache, v_cache, lengths, device="cpu"))
"""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ptxlab.attention.decode import Decode
from ptxlab.attention.heuristics import SPLITTING
from ptxlab.attention.prefill import Prefill
from ptxlab.attention.problem import Result, check_call, run
from ptxlab.errors import LaunchError
from ptxlab.kernels import Built, DecodeBuilt
from ptxlab.launch.buffers import memory_of
from ptxlab.launch.run import passes_on, show_seconds
from ptxlab.options import MISSING, several
from ptxlab.static import inspect

Array = NDArray[Any]


@dataclass(frozen=True)
class Entry:
    """A kernel's row. tiles: query rows x keys, or ""; error: the largest, of o against float64; ok: within tolerance
    and without findings.

    instructions: warp-instructions; sectors: 32 bytes of global memory each; conflicts: wavefronts of shared memory
    that bank conflicts added; these three are None on a GPU. registers: a thread's (the assembler's, or the most alive
    at once); occupancy: the share of an SM's warps that fit on the kernel's target. seconds: of the kernel alone.
    """

    kernel: str
    tiles: str
    error: float
    ok: bool
    instructions: int | None
    sectors: int | None
    conflicts: int | None
    registers: int
    occupancy: float
    seconds: float


COLUMNS = (
    "kernel", "tiles", "max error", "result", "warp instr.", "sectors", "conflicts", "registers", "occupancy", "time",
)  # fmt: skip
NUMBERS = {
    "max error": "error", "warp instr.": "instructions", "sectors": "sectors", "conflicts": "conflicts",
    "registers": "registers", "occupancy": "occupancy", "time": "seconds",
}  # fmt: skip
"""The columns that are numbers, and which of an entry's."""
CELL = "text-align: left; vertical-align: top; padding: 2px 12px 4px 0; min-width: 4em"
BAR = "height: 4px; margin-top: 2px; background-color: #4c8bd6; width: "
"""The style of a bar under a number: a blue that is seen on white and on black."""


@dataclass(frozen=True)
class Comparison:
    """The rows in the order of the kernels, the device that all of them ran on, and which rows were not judged."""

    entries: tuple[Entry, ...]
    device: str
    note: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings: those of `COLUMNS`, without "tiles" where no kernel has any."""
        return COLUMNS if any(e.tiles for e in self.entries) else tuple(name for name in COLUMNS if name != "tiles")

    def cells(self) -> list[tuple[str, ...]]:
        """The table's rows as text."""
        return [
            (
                e.kernel,
                *((e.tiles,) if "tiles" in self.columns else ()),
                f"{e.error:.2e}",
                "FAIL" if not e.ok else "not judged" if math.isnan(e.error) else "pass",
                *("-" if n is None else f"{n:,}" for n in (e.instructions, e.sectors, e.conflicts)),
                str(e.registers),
                f"{e.occupancy:.0%}",
                show_seconds(e.seconds),
            )
            for e in self.entries
        ]

    def __str__(self) -> str:
        rows = [self.columns, *self.cells()]
        widths = [max(len(row[n]) for row in rows) for n in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if n == 0 else cell.rjust(width)
                for n, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([f"on {self.device}", *lines, *filter(None, [self.note])])

    __repr__ = __str__

    def numbers(self) -> dict[str, list[float | None]]:
        """The columns that are numbers, by name: what is drawn as bars. An error that is none (NaN) has no bar."""
        values = {name: [getattr(e, which) for e in self.entries] for name, which in NUMBERS.items()}
        return {name: [x if x is None or math.isfinite(x) else None for x in row] for name, row in values.items()}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The table; under each number a bar, as long as its share of the largest in the column."""
        numbers = self.numbers()
        head = "".join(f'<th style="{CELL}">{html.escape(name)}</th>' for name in self.columns)
        rows = ""
        for n, cells in enumerate(self.cells()):
            row = ""
            for name, cell in zip(self.columns, cells, strict=True):
                bar, value = "", numbers[name][n] if name in numbers else None
                if value is not None:
                    largest = max(x for x in numbers[name] if x is not None) or 1.0
                    bar = f'<div style="{BAR}{100 * value / largest:.0f}%"></div>'
                shown = f"<b>{cell}</b>" if cell == "FAIL" else html.escape(cell)
                row += f'<td style="{CELL}">{shown}{bar}</td>'
            rows += f"<tr>{row}</tr>"
        title = "; ".join(filter(None, [f"on {self.device}", self.note]))
        caption = f'<caption style="text-align: left">{html.escape(title)}</caption>'
        return {"text/plain": str(self), "text/html": f"<table>{caption}<tr>{head}</tr>{rows}</table>"}


@passes_on
def compare(
    q: Array = MISSING,
    k: Array = MISSING,
    v: Array = MISSING,
    *,
    kernels: str | Built | Sequence[str | Built] | None = None,
    causal: bool = False,
    scale: float | None = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    sinks: Array | None = None,
    **arrays: Any,
) -> Comparison:
    """Runs each kernel on q, k and v and puts error, counters, registers and time side by side.

    Parameters
    ----------
    q, k, v, causal, scale, score_mod, mask_mod, sinks, **arrays
        As for `pl.attention`.
    kernels
        Names or built kernels; by default every prefill kernel that takes q's type and head_dim.
    device, checks, counters, trace, seed, budget, workers
        As for `pl.launch`. On the emulator the run also counts, and its time is that of the CPU.

    Returns
    -------
    ptxlab.attention.comparison.Comparison
        A table that `pl.plot_comparison` draws.
    """
    mods = {"score_mod": score_mod, "mask_mod": mask_mod, "sinks": sinks}
    more, mods = check_call(compare, {"q": q, "k": k, "v": v}, arrays, mods, kernels, causal=causal)
    return _side_by_side(Prefill.of(q, k, v, causal, scale, mods), kernels, more)


@passes_on
def compare_decode(
    q: Array = MISSING,
    k_cache: Array = MISSING,
    v_cache: Array = MISSING,
    lengths: int | Sequence[int] | Array = MISSING,
    block_table: Array | None = None,
    *,
    kernels: str | DecodeBuilt | Sequence[str | DecodeBuilt] | None = None,
    scale: float | None = None,
    splits: int | None = None,
    score_mod: Any = None,
    mask_mod: Any = None,
    sinks: Array | None = None,
    **arrays: Any,
) -> Comparison:
    """Runs each decode kernel on the same query and cache and puts them side by side, as `compare` does.

    Parameters
    ----------
    q, k_cache, v_cache, lengths, block_table, scale, score_mod, mask_mod, sinks, **arrays
        As for `pl.decode`.
    kernels
        Names or built kernels; by default every one that takes q's type and head_dim and this kind of cache.
    splits
        For those that split the keys.
    device, checks, counters, trace, seed, budget, workers
        As for `pl.launch`.

    Returns
    -------
    ptxlab.attention.comparison.Comparison
        The row of a kernel that leaves partial results counts `decode_reduce` in; registers and occupancy are of the
        first kernel.
    """
    given = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "lengths": lengths}
    mods = {"score_mod": score_mod, "mask_mod": mask_mod, "sinks": sinks}
    more, mods = check_call(compare_decode, given, arrays, mods, kernels)
    return _side_by_side(Decode.of(q, k_cache, v_cache, lengths, block_table, scale, splits, mods), kernels, more)


def _side_by_side(problem: Prefill | Decode, kernels: Any, given: Mapping[str, Any]) -> Comparison:
    """Runs the kernels that were named, one or several, or else all that fit."""
    device = given.get("device", "auto")
    options = {"counters": memory_of(device) == "cpu", **given}
    chosen = problem.fitting(device) if kernels is None else several(kernels)
    if chosen == []:
        raise LaunchError("kernels: expected at least one name, got none\n  write:  kernels=['scalar', 'tiled']")
    entries = []
    for kernel in [kernels] if chosen is None else chosen:
        asked = problem
        if isinstance(problem, Decode) and problem.name_of(kernel) not in SPLITTING:
            asked = dataclasses.replace(problem, splits=None)
        result = run(asked, kernel, False, options)
        entries.append(_entry(result))
    return Comparison(tuple(entries), result.run.device, result.error.note)


def _entry(result: Result) -> Entry:
    """The row of a kernel, from its result."""
    config, runs = result.kernel.config, result.runs
    counters = [run.counters for run in runs if run.counters is not None]
    lines = [line for counted in counters for line in counted.by_line.values()]
    looked = inspect(result.kernel, runs[0].block[0], runs[0].shared)
    return Entry(
        " + ".join(built.name for built in result.kernels),
        f"{config.tile_q} x {config.tile_kv}" if isinstance(result.problem, Prefill) else "",
        result.error.max,
        result.error.ok and not result.findings,
        sum(counted.warp_instructions for counted in counters) if counters else None,
        sum(line.sectors for line in lines) if counters else None,
        sum(line.conflicts for line in lines) if counters else None,
        looked.registers,
        looked.occupancy.share if looked.occupancy else 0.0,
        result.seconds,
    )
