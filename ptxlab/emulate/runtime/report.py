"""Input and result of a launch on the emulator, and the order in which its blocks begin."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ptxlab.targets import WARP

if TYPE_CHECKING:
    from ptxlab.emulate.program.printf import Message
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.counters import Counters


RESIDENT = 32
"""Blocks that are at work at once, where they wait for each other and nothing else is known."""
LEADERS = 0
"""The seed of the order in which leaders run ahead of their groups, and groups mix."""
WARPGROUP = 4
"""Warps that make up a warpgroup, counted from the first of a block."""


class Launch(NamedTuple):
    """One launch: sizes in x, y, z; `params` the packed parameters; `shared` bytes of dynamic shared memory; `budget`
    the warp-instructions after which it is stopped (None: no limit); `resident` the blocks that may run at once."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: bytes
    shared: int = 0
    budget: int | None = None
    workers: int | None = None
    tier: str | None = None
    seed: int | None = None
    checks: tuple[str, ...] = ("memcheck",)
    counters: bool = False
    trace: Any = None
    cooperative: bool = False
    cluster: tuple[int, int, int] | None = None
    resident: int = RESIDENT

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def shuffled(self) -> bool:
        """Whether the order of warps and blocks is drawn."""
        return self.seed not in (None, LEADERS)

    @property
    def leaders_first(self) -> bool:
        """Whether warps have their turns as `leaders_first` says."""
        return self.seed == LEADERS

    @property
    def resident_clusters(self) -> int:
        """Clusters that may be at work at once."""
        return max(1, self.resident // self.cluster_blocks)

    @property
    def cluster_size(self) -> tuple[int, int, int]:
        """Blocks of a cluster in x, y, z; without clusters each block is one of its own."""
        return self.cluster or (1, 1, 1)

    @property
    def cluster_blocks(self) -> int:
        x, y, z = self.cluster_size
        return x * y * z

    @property
    def warps(self) -> int:
        """Warps per block; the last one may be partly empty."""
        return -(-self.threads // WARP)


Index = tuple[int, int, int]
Linear = TypeVar("Linear", int, np.ndarray)


def unravel(index: Linear, size: Index) -> tuple[Linear, Linear, Linear]:
    """A linear index (or an array of them) as (x, y, z), x fastest: `unravel(33, (32, 2, 1)) == (1, 1, 0)`."""
    return index % size[0], index // size[0] % size[1], index // (size[0] * size[1])


@dataclass(eq=False, repr=False)
class Report:
    """The result of a launch: counts by PTX line, time, findings."""

    executed: Callable[[], dict[int, tuple[int, int]]] = dict
    """Makes `lines`, once somebody asks for them: most launches are not asked."""
    seconds: float = 0.0
    findings: list[Any] = field(default_factory=list)
    trace: Any = None
    counters: Counters | None = None
    build_seconds: float = 0.0
    cached: bool = False
    messages: list[Message] = field(default_factory=list)

    @functools.cached_property
    def lines(self) -> dict[int, tuple[int, int]]:
        """(warp-instructions, thread-instructions) of each PTX line: an instruction counts for each warp that issued it
        and for each thread that was active, whether its guard held or not."""
        return self.executed()

    @property
    def warp_instructions(self) -> int:
        return sum(warps for warps, _ in self.lines.values())

    @property
    def thread_instructions(self) -> int:
        return sum(threads for _, threads in self.lines.values())

    @property
    def printed(self) -> str:
        """What the kernel's calls of `printf` printed."""
        return "".join(message.text for message in self.messages)


def by_line(program: Program, executed: np.ndarray) -> dict[int, tuple[int, int]]:
    """How many warps and threads executed each PTX line, from the same of each instruction: `[instructions, 2]`, int64.
    What lowering added (the copies around a call) does not count."""
    lines: dict[int, tuple[int, int]] = {}
    for code, (warps, threads) in zip(program.codes, executed.tolist(), strict=True):
        if warps and code.instruction is not None:
            before = lines.get(code.line, (0, 0))
            lines[code.line] = before[0] + warps, before[1] + threads
    return dict(sorted(lines.items()))


SHUFFLED = 1 << 22
"""The most blocks of a launch with a seed: their order is drawn before the first begins."""
MIXED = 4
"""Blocks that are resident at once in a shuffled launch, whether they wait for each other or not."""


def leaders_first(warps: int) -> list[int]:
    """The warps of a block by the reversed bits of their numbers: of eight 0, 4, 2, 6, 1, 5, 3, 7. After each turn that
    ends at a barrier, or with the warp, the first that can go on has its turn; after others the next in this order."""
    width = (warps - 1).bit_length()
    return sorted(range(warps), key=lambda warp: f"{warp:0{width}b}"[::-1])


def block_order(program: Program, launch: Launch) -> Sequence[int]:
    """The linear indices of a launch's clusters in the order in which they begin: of its blocks, where there are no
    clusters. A seed shuffles them; the engines draw the order of warps and their slices.

    A GPU promises no order of blocks, so any is legal. But kernels that wait for results of blocks before them (a scan
    in one pass) rely on those having begun, and on a GPU they have. So where a program may wait for other threads,
    blocks are shuffled only within as many as can be resident at once: when one waits for a block before it, that one
    has begun, or there is room for it to begin."""
    count = launch.blocks // launch.cluster_blocks
    if not launch.shuffled:
        return range(count)
    order = list(range(count))
    draw = random.Random(f"blocks {launch.seed}")
    window = max(1, count)
    if program.may_wait and not launch.cooperative:
        window = min(RESIDENT, launch.resident_clusters)
    for first in range(0, len(order), window):
        some = order[first : first + window]
        draw.shuffle(some)
        order[first : first + window] = some
    return order
