"""`compare` and `compare_decode`: several kernels on the same inputs and the same device, side by side.

print(pl.compare(q, k, v, kernels=["mma", "swizzle", "pipelined"], causal=True, device="cpu"))
print(pl.compare_decode(q, k_cache, v_cache, lengths, device="cpu"))
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.attention.decode import Decoded, decode
from ptxlab.attention.heuristics import SPLITTING
from ptxlab.attention.prefill import Result, attention, target_of
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import DTYPES, Built, DecodeBuilt, get, names
from ptxlab.launch.buffers import memory_of
from ptxlab.launch.run import Run, show_seconds
from ptxlab.options import several
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
    "kernel",
    "tiles",
    "max error",
    "result",
    "warp instr.",
    "sectors",
    "conflicts",
    "registers",
    "occupancy",
    "time",
)
CELL = "text-align: left; vertical-align: top; padding: 2px 12px 4px 0; min-width: 4em"
BAR = "height: 4px; margin-top: 2px; background-color: #4c8bd6; width: "
"""The style of a bar under a number: a blue that is seen on white and on black."""


@dataclass(frozen=True)
class Comparison:
    """The rows in the order of the kernels, and the device that all of them ran on."""

    entries: tuple[Entry, ...]
    device: str

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
                "pass" if e.ok else "FAIL",
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
        return "\n".join([f"on {self.device}", *lines])

    __repr__ = __str__

    def numbers(self) -> dict[str, list[float | None]]:
        """The columns that are numbers, by name: what is drawn as bars. An error that is none (NaN) has no bar."""
        return {
            "max error": [e.error if math.isfinite(e.error) else None for e in self.entries],
            "warp instr.": [e.instructions for e in self.entries],
            "sectors": [e.sectors for e in self.entries],
            "conflicts": [e.conflicts for e in self.entries],
            "registers": [e.registers for e in self.entries],
            "occupancy": [e.occupancy for e in self.entries],
            "time": [e.seconds for e in self.entries],
        }

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
        caption = f'<caption style="text-align: left">on {html.escape(self.device)}</caption>'
        return {"text/plain": str(self), "text/html": f"<table>{caption}<tr>{head}</tr>{rows}</table>"}


def compare(
    q: Array,
    k: Array,
    v: Array,
    *,
    kernels: str | Built | Sequence[str | Built] | None = None,
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
) -> Comparison:
    """Runs each kernel on q, k and v (see `attention`) and puts error, counters, registers and time side by side.

    kernels: names or built kernels; by default every prefill kernel that takes q's type and head_dim. On the CPU
    machine the run also counts, and its time is that of the CPU. `pl.plot_comparison` draws the result.
    """
    entries, ran_on = [], device
    counted = memory_of(device) == "cpu"
    for kernel in _chosen(kernels, lambda: _all(q, device)):
        out = attention(q, k, v, kernel=kernel, causal=causal, scale=scale, device=device, counters=counted)
        q4, k4, _ = out.inputs
        shape = out.kernel.launch_shape(q4.shape[0], q4.shape[1], k4.shape[1], q4.shape[2], k4.shape[2])
        tiles = f"{out.kernel.config.tile_q} x {out.kernel.config.tile_kv}"
        entries.append(_entry(out.kernel.name, tiles, out, [out.run], shape[2]))
        ran_on = out.run.device
    return Comparison(tuple(entries), ran_on)


def compare_decode(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    lengths: int | Sequence[int] | Array,
    block_table: Array | None = None,
    *,
    kernels: str | DecodeBuilt | Sequence[str | DecodeBuilt] | None = None,
    scale: float | None = None,
    splits: int | None = None,
    device: str = "auto",
) -> Comparison:
    """Runs each decode kernel on the same query and cache (see `decode`) and puts them side by side, as `compare` does.

    kernels: names or built kernels; by default every one that takes q's type and head_dim and this kind of cache.
    splits: for those that split the keys. The row of a kernel that leaves partial results counts `decode_reduce` in;
    registers and occupancy are of the first kernel.
    """
    entries, ran_on = [], device
    counted = memory_of(device) == "cpu"
    for kernel in _chosen(kernels, lambda: _all_decode(q, block_table)):
        name = kernel.spec.name if isinstance(kernel, DecodeBuilt) else kernel
        parts = splits if isinstance(name, str) and name in SPLITTING else None
        out = decode(
            q,
            k_cache,
            v_cache,
            lengths,
            block_table,
            kernel=kernel,
            scale=scale,
            splits=parts,
            device=device,
            counters=counted,
        )
        title = " + ".join(built.name for built in out.kernels)
        entries.append(_entry(title, "", out, out.runs, out.kernel.launch_shape(1, 1, 1)[2]))
        ran_on = out.run.device
    return Comparison(tuple(entries), ran_on)


def _entry(name: str, tiles: str, out: Result | Decoded, runs: Sequence[Run], shared: int) -> Entry:
    """A row from a result and the launches that made it; shared: bytes that a block of the first asks for."""
    counters = [run.counters for run in runs if run.counters is not None]
    lines = [line for counted in counters for line in counted.by_line.values()]
    looked = inspect(out.kernel, runs[0].block[0], shared)
    return Entry(
        name,
        tiles,
        out.error.max,
        out.error.ok and not any(run.findings for run in runs),
        sum(counted.warp_instructions for counted in counters) if counters else None,
        sum(line.sectors for line in lines) if counters else None,
        sum(line.conflicts for line in lines) if counters else None,
        looked.registers,
        looked.occupancy.share if looked.occupancy else 0.0,
        out.seconds,
    )


def _chosen(kernels: Any, fitting: Callable[[], list[str]]) -> Sequence[Any]:
    """The kernels to run: those given, one or several, or else all that fit."""
    if kernels is None:
        return fitting()
    found = several(kernels)
    return [kernels] if found is None else found


def _kind(q: Array) -> tuple[str, int]:
    """q's type as the kernels call it, and its head_dim."""
    if not isinstance(q, np.ndarray) or q.ndim == 0:
        found = "a single number" if isinstance(q, np.ndarray) else type(q).__name__
        raise LaunchError(f"q: a numpy array is wanted, its last dimension the head_dim; got {found}")
    return next((short for short, name in DTYPES.items() if name == q.dtype.name), q.dtype.name), q.shape[-1]


def _some(found: list[str], phase: str, dtype: str, head_dim: int) -> list[str]:
    """What was found, if anything was."""
    if not found:
        raise TargetError(f"no {phase} kernel takes {dtype} with head_dim={head_dim}")
    return found


def _all(q: Array, device: str) -> list[str]:
    """The prefill kernels that take q's type and head_dim, and that the device can run."""
    dtype, head_dim = _kind(q)
    found = []
    for name in names("prefill"):
        try:
            spec = get(name, "prefill")
            spec.configure(head_dim=head_dim, causal=False, dtype=dtype, arch=target_of(spec, device))
        except TargetError:
            continue  # not for this type or head_dim
        found.append(name)
    return _some(found, "prefill", dtype, head_dim)


def _all_decode(q: Array, table: Array | None) -> list[str]:
    """The decode kernels that take q's type and head_dim, and a dense or a paged cache."""
    dtype, head_dim = _kind(q)
    wanted = {"head_dim": head_dim, "dtype": dtype, "cache": "dense" if table is None else "paged"}
    found = []
    for name in names("decode"):
        takes = get(name, "decode").parameters
        fits = all(takes[what].allows(value) for what, value in wanted.items() if what in takes)
        if name != "decode_reduce" and fits and ("cache" in takes or table is None):
            found.append(name)
    return _some(found, "decode", dtype, head_dim)
