"""Rooflines: what a kernel's operations and bytes allow on a GPU, and how far from that a measured run is.

Operations and sectors are counted on the emulator; what a GPU could do with them is a model: the lesser of its
arithmetic peak and of bandwidth times intensity. A grid with fewer blocks than the GPU has multiprocessors (SMs)
leaves some of them idle: then the arithmetic peak is that of the SMs that have a block. A kernel has two intensities:
with every sector it asks for coming from memory (no cache helps), and with every array read or written once (the best
that a cache can do). Only a run on a GPU has a measured point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import LaunchError
from ptxlab.performance.peaks import Peaks, array_bytes, peaks


@dataclass(frozen=True)
class Roof:
    """A kernel under the roof of a GPU. flops: by kind; `asked` the bytes of all sectors that it asks for and of
    its bulk copies, `least` the bytes of its arrays, each once (None where they are not known); seconds: measured on a
    GPU, else None. counted: whether flops were counted; else they follow from the shapes. blocks: of the grid, None
    where that is not known or the GPU is taken to be full."""

    label: str
    peaks: Peaks
    flops: dict[str, int]
    asked: int | None
    least: int | None
    seconds: float | None = None
    counted: bool = True
    blocks: int | None = None

    @property
    def busy(self) -> int:
        """How many multiprocessors have a block at all."""
        return self.peaks.sms if self.blocks is None else min(self.blocks, self.peaks.sms)

    @property
    def total(self) -> int:
        """All floating-point operations."""
        return sum(self.flops.values())

    @property
    def peak(self) -> float:
        """FLOP/s if nothing but arithmetic took time on the multiprocessors that have a block: of several kinds the
        mean that their amounts give."""
        time = sum(n / self.peaks.of(kind) for kind, n in self.flops.items())
        return (self.total / time if time else self.peaks.f32) * self.busy / self.peaks.sms

    def intensity(self, least: bool = False) -> float | None:
        """FLOP per byte: of the sectors asked for, or of the arrays."""
        amount = self.least if least else self.asked
        return self.total / amount if amount else None

    def attainable(self, intensity: float) -> float:
        """FLOP/s that the model allows."""
        return min(self.peak, intensity * self.peaks.bandwidth)

    def bound(self, intensity: float) -> str:
        """What the model says limits it: "memory bandwidth", "arithmetic", or that of the few SMs that are busy."""
        if intensity * self.peaks.bandwidth < self.peak:
            return "memory bandwidth"
        return "arithmetic" if self.busy == self.peaks.sms else f"arithmetic of {self.some}"

    @property
    def some(self) -> str:
        """The multiprocessors that have a block, in words: `1 of 108 SMs`."""
        return f"{self.busy} of {self.peaks.sms} SMs"

    @property
    def achieved(self) -> float | None:
        """FLOP/s of the measured run."""
        return self.total / self.seconds if self.seconds else None

    def levels(self) -> list[tuple[str, float]]:
        """The roofs of its kinds of operations on the whole GPU, by name, the lowest first."""
        names = {"tensor": "tensor cores", "f64": "f64"}
        found = {self.peaks.of(kind): names.get(kind, "f32") for kind in sorted(self.flops, key=self.peaks.of)}
        return [(name, level) for level, name in found.items()]

    def points(self) -> list[tuple[str, str, float, float]]:
        """(origin, what, intensity, FLOP/s) of each point: modelled without a cache, modelled with a perfect one,
        measured."""
        found = []
        for origin, what, x in (
            ("modelled", "every sector from memory", self.intensity()),
            ("modelled", "every array once", self.intensity(least=True)),
        ):
            if x:
                found.append((origin, what, x, self.attainable(x)))
        x = self.intensity(least=True) or self.intensity()
        if x and self.achieved:
            found.append(("measured", "on the GPU", x, self.achieved))
        return found

    def __str__(self) -> str:
        words = [f"{self.label} on {self.peaks.gpu}: {self.total:,} FLOP"]
        words += [
            f"  {origin}, {what}: {x:.3g} FLOP/B, {y / 1e12:.3g} TFLOP/s"
            + (f", limited by {self.bound(x)}" if origin == "modelled" else "")
            for origin, what, x, y in self.points()
        ]
        return "\n".join(words)


def roof(result: Any, gpu: str | None = None, arch: str | None = None) -> Roof:
    """The roof of a result of `pl.attention` or `pl.decode`, or of a run of `pl.launch` with counters.

    gpu: whose peaks; by default the one that stands for the kernel's target. arch: that target, where a run does not
    tell. `LaunchError` where there is nothing to go by.
    """
    run = getattr(result, "run", result)
    kernel = getattr(result, "kernel", None)
    config = getattr(kernel, "config", None)
    counters = getattr(result, "counters", None)
    if not hasattr(run, "device"):
        raise LaunchError(
            f"results: expected results of pl.attention, pl.decode or pl.launch, got {type(result).__name__}"
        )
    name = kernel if isinstance(kernel, str) else getattr(kernel, "name", "kernel")
    least = array_bytes(result)
    limits = peaks(arch or str(getattr(config, "arch", "sm_80")), gpu)
    if counters is not None:
        return counted(name, limits, counters, least, run)
    flops, measured = _from_shapes(result), _measured(run)
    if flops is None or measured is None:
        raise LaunchError(f"{name}: this result has no counters; write counters=True")
    kind = "tensor" if config is not None and config.dtype in ("f16", "bf16") else getattr(config, "dtype", "f32")
    return Roof(name, limits, {kind: flops}, None, least, measured, counted=False, blocks=math.prod(run.grid))


def counted(name: str, limits: Peaks, counters: Any, least: int | None, run: Any) -> Roof:
    """The roof of a launch that was counted. least: bytes of its arrays, each once; run: its grid, and on a GPU its
    time."""
    flops, blocks = dict(counters.flops), math.prod(run.grid)
    return Roof(name, limits, flops, counters.memory_bytes, least, _measured(run), blocks=blocks)


def _measured(run: Any) -> float | None:
    seconds: float | None = run.seconds if run.device == "gpu" else None
    return seconds


def _from_shapes(result: Any) -> int | None:
    """Floating-point operations of attention's two products, from the shapes: 4 D for each key that a row sees; None
    where a mask_mod decides that."""
    from ptxlab import reference

    inputs = getattr(result, "inputs", None)
    if inputs is None or (result.problem.mods and result.problem.mods.mods.masks):
        return None
    q, k = inputs[:2]
    lengths = getattr(result, "lengths", None)
    if lengths is not None:
        return int(4 * q.shape[-1] * q.shape[1] * lengths.sum())
    batch, heads, rows, dim = q.shape
    return int(4 * dim * batch * heads * reference.visible_pairs(rows, k.shape[2], result.causal))
