"""`estimate`: the modelled time of a launch, line by line.

    e = pl.estimate(pl.attention(q, k, v, kernel="tiled2d", counters=True), gpu="A100")
    print(e)             # each resource, what it is asked for, how much it does in a clock, and which one is the limit
    e.microseconds       # modelled

Blocks are dealt out to the multiprocessors in waves: as many as fit at once, then the next. A wave takes as long as the
resource that is busy longest: the schedulers (issue slots), a pipe, the L1 cache (sectors), shared memory (wavefronts),
or one warp's chain of dependent instructions (latency), which only other warps can fill. The whole cannot take less
than the memory needs for every array once.

What the model leaves out, and where it is wrong for that reason: it counts PTX, not the SASS that the assembler makes
of it; all sectors hit in the L1 cache, all loads of global memory take the L2 cache's latency; resources that are
busy at the same time do not disturb each other; the launch itself (some microseconds) is not in it; `wgmma` and bulk
copies are counted by what they move and multiply, not by when they are waited for.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import static
from ptxlab.emulate import lower
from ptxlab.emulate.runtime.counters import WAVEFRONT, Counters
from ptxlab.errors import LaunchError
from ptxlab.names import source_name
from ptxlab.options import complete
from ptxlab.performance.latency import warp_clocks
from ptxlab.performance.peaks import L1_SECTORS, SCHEDULERS, SHARED_WAVEFRONTS, Peaks, array_bytes, peaks, rates
from ptxlab.targets import Occupancy
from ptxlab.text import parse


@dataclass(frozen=True)
class Term:
    """One resource of a multiprocessor: what a block asks of it, in its unit, how much it does in a clock, and the
    clocks that a full wave keeps it busy."""

    resource: str
    asked: float
    unit: str
    rate: float
    clocks: float

    def __str__(self) -> str:
        return (
            f"{self.resource:<22}{self.asked:>14,.0f} {self.unit} a block, {self.rate:,.3g} a clock"
            f"  {self.clocks:>12,.0f} clocks a wave"
        )


@dataclass(frozen=True)
class Work:
    """What one launch asks for. demand: (resource, amount of the mean block, unit, amount a clock); latency: clocks of
    the mean warp alone; blocks: of the grid; occupancy: how many of them are resident."""

    name: str
    demand: tuple[tuple[str, float, str, float], ...]
    latency: float
    blocks: int
    occupancy: Occupancy


@dataclass(frozen=True)
class Estimate:
    """The modelled time. terms: of a full wave of the longest launch, the busiest resource first; waves: blocks over
    those resident at once; clocks: of all launches on the multiprocessors; least: bytes that memory moves at least."""

    peaks: Peaks
    works: tuple[Work, ...]
    terms: tuple[Term, ...]
    waves: float
    clocks: float
    least: int | None

    @property
    def microseconds(self) -> float:
        """The modelled time of all launches, without that of launching."""
        return max(self.clocks / rates(self.peaks).clock, self.memory_seconds) * 1e6

    @property
    def memory_seconds(self) -> float:
        """What the memory takes for every array once; 0 where the arrays are not known."""
        return (self.least or 0) / self.peaks.bandwidth

    @property
    def bound(self) -> str:
        """What the model says the time is spent on."""
        if self.memory_seconds > self.clocks / rates(self.peaks).clock:
            return "memory bandwidth"
        return self.terms[0].resource

    def __str__(self) -> str:
        longest = self.works[0]
        clock = rates(self.peaks).clock
        out = [
            f"{longest.name} on {self.peaks.gpu}: {self.microseconds:,.1f} µs, modelled; limited by {self.bound}",
            f"  {longest.blocks:,} blocks, {longest.occupancy.blocks} resident on each of {self.peaks.sms} SMs: "
            f"{self.waves:,.2f} waves",
            f"  {longest.occupancy}",
            *(f"  {term}" for term in self.terms),
            f"  {'all waves':<22}{self.clocks:>14,.0f} clocks at {clock / 1e9:.2f} GHz: "
            f"{self.clocks / clock * 1e6:,.1f} µs",
        ]
        if self.least is not None:
            out.append(
                f"  {'memory':<22}{self.least:>14,} bytes, every array once, at "
                f"{self.peaks.bandwidth / 1e9:,.0f} GB/s: {self.memory_seconds * 1e6:,.1f} µs"
            )
        return "\n".join([*out, f"  peaks: {self.peaks.source}"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": f"<pre>{html.escape(str(self))}</pre>"}


@complete("pl.estimate(pl.launch(kernel, grid, block, x, y, n, counters=True))")
def estimate(result: Any, *, gpu: str | None = None, kernel: Any = None, shared: int = 0) -> Estimate:
    """The modelled time of a kernel on a GPU.

    Parameters
    ----------
    result
        Of `pl.attention` or `pl.decode` with counters, or a run of `pl.launch`.
    gpu
        A name of `ptxlab.performance.peaks.PEAKS`; by default the one that stands for the kernel's target.
    kernel, shared
        For a run: the kernel that was launched, and the bytes of dynamic shared memory.

    Returns
    -------
    Estimate
        The time, the terms that make it up, and the occupancy.

    Raises
    ------
    LaunchError
        Where nothing was counted.
    TargetError
        For a GPU whose peaks are not known.
    """
    runs = list(getattr(result, "runs", None) or [getattr(result, "run", result)])
    kernels = list(getattr(result, "kernels", None) or [getattr(result, "kernel", None) if kernel is None else kernel])
    if any(not hasattr(run, "counters") for run in runs):
        what = type(result).__name__
        raise LaunchError(f"result: expected a result of pl.attention, pl.decode or pl.launch, got {what}")
    if kernel is None and (isinstance(kernels[0], str) or kernels[0] is None):
        raise LaunchError("kernel: a run does not keep its kernel; write:  pl.estimate(run, kernel=kernel)")
    works = []
    for run, built in zip(runs, kernels, strict=True):
        if run.counters is None:
            raise LaunchError(f"{source_name(run.kernel)}: nothing was counted; write counters=True")
        works.append(work_of(built, run.counters, run.grid, run.block, _dynamic(built, shared), gpu))
    return combined(works, peaks(_arch(kernels[0]), gpu), array_bytes(result))


def work_of(
    kernel: Any,
    counters: Counters,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    gpu: str | None = None,
    share: float = 1.0,
) -> Work:
    """What a launch asks for. share: the part of the blocks of `grid` that was run and counted."""
    looked = static.inspect(kernel, math.prod(block), shared)
    limits = peaks(looked.arch, gpu)
    rate, blocks = rates(limits), math.prod(grid)
    ran = blocks * share
    demand: list[tuple[str, float, str, float]] = [
        ("issue slots", counters.warp_instructions, "warp-instructions", SCHEDULERS)
    ]
    demand += [
        (f"pipe {pipe}", n, "warp-instructions", rate.pipes[pipe])
        for pipe, n in counters.pipes.items()
        if pipe in rate.pipes
    ]
    if tensor := counters.flops.get("tensor", 0):
        warpgroups = counters.product_wavefronts > 0  # wgmma: its operands alone come from shared memory by themselves
        demand.append(("tensor cores", tensor, "FLOP", rate.tensor if warpgroups else rate.warp_tensor))
    lines = counters.by_line.values()
    demand.append(("L1 cache", sum(line.sectors for line in lines), "sectors", L1_SECTORS))
    wavefronts = sum(line.wavefronts + -(-line.bulk // WAVEFRONT) for line in lines) + counters.product_wavefronts
    demand.append(("shared memory", wavefronts, "wavefronts", SHARED_WAVEFRONTS))
    module = parse(kernel) if isinstance(kernel, str) else getattr(kernel, "module", kernel)
    program = lower(module, None, looked.arch)
    executed = {number: line.warps for number, line in counters.by_line.items()}
    warps = round(ran) * -(-math.prod(block) // 32)
    assert looked.occupancy is not None
    return Work(
        program.title,
        tuple((name, asked / ran, unit, per_clock) for name, asked, unit, per_clock in demand if asked),
        warp_clocks(program, executed, warps),
        blocks,
        looked.occupancy,
    )


def combined(works: Sequence[Work], limits: Peaks, least: int | None) -> Estimate:
    """The launches one after the other."""
    spent = [_launch(work, limits.sms) for work in works]
    first = max(range(len(works)), key=lambda n: spent[n])
    longest = works[first]
    resident = min(longest.occupancy.blocks, -(-longest.blocks // limits.sms))
    terms = [Term(name, asked, unit, rate, resident * asked / rate) for name, asked, unit, rate in longest.demand]
    terms.append(Term("latency of a warp", longest.latency, "clocks", 1, longest.latency))
    ordered = (longest, *(work for n, work in enumerate(works) if n != first))
    return Estimate(
        limits,
        ordered,
        tuple(sorted(terms, key=lambda term: -term.clocks)),
        longest.blocks / (longest.occupancy.blocks * limits.sms),
        sum(spent),
        least,
    )


def _launch(work: Work, sms: int) -> float:
    """Clocks of a launch: its full waves, and the last one with fewer blocks on a multiprocessor."""
    full, rest = divmod(work.blocks, work.occupancy.blocks * sms)
    return full * _wave(work, work.occupancy.blocks) + (_wave(work, -(-rest // sms)) if rest else 0.0)


def _wave(work: Work, resident: int) -> float:
    return max(work.latency, *(resident * asked / rate for _, asked, _, rate in work.demand))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: 1 where two lists order their items alike, -1 where one is the other's reverse; equal values share
    their ranks. nan for less than two items, or where all of one list are equal."""
    ranks = [_ranks(np.asarray(values, float)) for values in (first, second)]
    if len(ranks[0]) < 2 or min(np.ptp(r) for r in ranks) == 0:
        return math.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]


def _arch(kernel: Any) -> str:
    config = getattr(kernel, "config", None)
    return str(getattr(config, "arch", None) or static.inspect(kernel).arch)


def _dynamic(kernel: Any, shared: int) -> int:
    """Bytes of dynamic shared memory of a block of the library's kernels; what was said for others."""
    if not hasattr(kernel, "launch_shape"):
        return shared
    shape = (1, 1, 1, 1, 1) if kernel.spec.phase == "prefill" else (1, 1, 1)
    return int(kernel.launch_shape(*shape)[2])
