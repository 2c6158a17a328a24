"""What an autotuner of Triton compares on the emulator: clocks by a model, from counters. It is not the time of a GPU.

The model: each multiprocessor (SM) works on its share of the blocks, and each of its units is as fast as its data sheet
says; the busiest unit decides. Latencies, caches and how copies overlap with products (`num_stages`) are not in it: of
configurations with equal costs the autotuner takes the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab import targets
from ptxlab.launch.run import Run

WARPS, WAVEFRONTS, SECTORS = 4, 1, 2
"""What an SM does in a clock: instructions of warps that it issues, wavefronts of shared memory, and sectors of 32
bytes from L2 (NVIDIA A100 white paper: 5,120 bytes for all SMs, of which there are 108)."""
PRODUCTS = {80: 2048, 86: 1024, 89: 1024, 90: 4096}
"""Floating-point operations of f16 matrix products in a clock of an SM (NVIDIA's white papers), by target."""


@dataclass(frozen=True)
class Cost:
    """Clocks of the model for one launch, and which unit they are of."""

    clocks: float
    unit: str


def cost(run: Run, arch: str) -> Cost:
    """The model's clocks for a launch with counters."""
    counters = run.counters
    assert counters is not None, "the launch was made without counters"
    found = targets.get(arch)
    sms = found.gpus[0][1] if found.gpus else 1
    blocks = run.grid[0] * run.grid[1] * run.grid[2]
    share = -(-blocks // sms) / blocks
    products = PRODUCTS.get(found.number, PRODUCTS[80])
    units = {
        "instructions": counters.warp_instructions / WARPS,
        "matrix products": counters.flops.get("tensor", 0) / products,
        "shared memory": counters["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"] / WAVEFRONTS,
        "global memory": counters.memory_sectors / SECTORS,
    }
    unit = max(units, key=lambda name: units[name])
    return Cost(units[unit] * share, unit)


@dataclass(frozen=True)
class Tuning:
    """What an autotuner has compared: its configurations with their clocks by the model, and the one it has taken."""

    kernel: str
    key: tuple[Any, ...]
    clocks: dict[str, float]
    best: str

    def __str__(self) -> str:
        rows = [f"{self.kernel} for {', '.join(map(str, self.key))}: clocks by a model, from counters; not timed"]
        for config, clocks in sorted(self.clocks.items(), key=lambda item: item[1]):
            rows.append(f"{clocks:>14,.0f}  {config}{'  (taken)' if config == self.best else ''}")
        return "\n".join(rows)


def named(config: Any) -> str:
    """A configuration in a line."""
    parts = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
    return ", ".join(f"{name} {value}" for name, value in parts.items())


def tuning(autotuner: Any, key: tuple[Any, ...], timings: dict[Any, Sequence[float]]) -> Tuning:
    """What an autotuner of Triton has compared for a key."""
    clocks = {named(config): float(found[0]) for config, found in timings.items()}
    return Tuning(autotuner.base_fn.__name__, key, clocks, named(autotuner.cache[key]))
