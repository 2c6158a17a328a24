"""What goes into a launch on the CPU machine and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ptxlab.emulate.program.model import Program
    from ptxlab.emulate.runtime.counters import Counters

from ptxlab.emulate.program.printf import Message


@dataclass(frozen=True)
class Launch:
    """One launch: sizes in x, y, z; `params` the packed parameter block; `shared` bytes of dynamic shared memory;
    `budget` the warp-instructions after which it is stopped (None: no limit)."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: bytes
    shared: int = 0
    budget: int | None = None
    workers: int | None = None
    seed: int | None = None
    checks: tuple[str, ...] = ("memcheck",)
    counters: bool = False
    trace: Any = None
    cooperative: bool = False
    cluster: tuple[int, int, int] | None = None

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> tuple[int, int, int]:
        """Blocks of a cluster in x, y, z; without clusters each block is one of its own."""
        return self.cluster or (1, 1, 1)

    @property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster."""
        x, y, z = self.cluster_size
        return x * y * z

    @property
    def warps(self) -> int:
        """Warps per block; the last one may be partly empty."""
        return -(-self.threads // 32)


@dataclass
class Report:
    """What a launch did. `lines` maps a PTX line to (warp-instructions, thread-instructions): an instruction counts
    for each warp that issued it and for each thread that was active, whether its guard held or not."""

    seconds: float = 0.0
    warp_instructions: int = 0
    thread_instructions: int = 0
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)
    findings: list[Any] = field(default_factory=list)
    trace: Any = None
    counters: Counters | None = None
    build_seconds: float = 0.0
    cached: bool = False
    messages: list[Message] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program, executed: np.ndarray, seconds: float, counters: Counters | None) -> Report:
        """The report of how many warps and threads executed each instruction: `[instructions, 2]`, int64. What lowering
        added (the copies around a call) does not count."""
        own, starts, numbers = program.by_line
        sums = np.add.reduceat(executed[own], starts, axis=0) if own.size else np.zeros((0, 2), np.int64)
        ran = np.flatnonzero(sums[:, 0])
        each = zip(sums[ran, 0].tolist(), sums[ran, 1].tolist(), strict=True)
        lines = dict(zip(numbers[ran].tolist(), each, strict=True))
        warps, threads = sums.sum(axis=0).tolist()
        return cls(
            seconds=seconds, warp_instructions=warps, thread_instructions=threads, lines=lines, counters=counters,
        )  # fmt: skip

    @property
    def printed(self) -> str:
        """What the kernel's calls of `printf` printed."""
        return "".join(message.text for message in self.messages)
