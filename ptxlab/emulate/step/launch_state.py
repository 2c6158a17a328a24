"""What the blocks and warps of a launch share on the stepping engine: the program, memory, counts."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.instructions import scheduled
from ptxlab.emulate.rules.memcheck import memory_map
from ptxlab.emulate.runtime.bulk_transfers import MOVED
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.report import WARPGROUP, Launch
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.memory_ranges import Region, region_of


class LaunchState:
    """A launch, as its warps see it. checker: the checks besides memcheck. bulk, clustered, warpgroups: whether the
    program copies in bulk, has the barrier of clusters, or products of wgmma."""

    def __init__(self, program: Program, launch: Launch, memory: Memory, checker: LaunchChecks | None) -> None:
        self.program, self.launch, self.memory, self.checker = program, launch, memory, checker
        self.start = program.blocks[program.entry].first
        warpgroups = -(-launch.warps // WARPGROUP) if launch.counters else 1
        self.issued = [[0] * len(program.codes) for _ in range(warpgroups)]
        """How many warps have executed each instruction: of each warpgroup where counters are on, else of all."""
        self.threads = [0] * len(program.codes)
        self.moved = np.zeros(len(MOVED) * len(program.codes), np.uint64) if launch.counters else None
        """What each instruction has copied in bulk, where counters are on."""
        block = np.zeros(-(-max(program.param_size, 1) // 16) * 16, np.uint8)
        block[: len(launch.params)] = np.frombuffer(launch.params, np.uint8)
        size = program.param_size
        self.parameters = Region(0, block, size, "parameters", writable=False)
        self.parameters_window = Region(PARAM_WINDOW, block, size, "parameters", writable=False)
        has = scheduled(program.codes)
        self.bulk, self.clustered = has["Context.bulk_copies"], has["Context.cluster_barriers"]
        self.warpgroups = has["Context.warpgroup_products"]
        self.live = [a for a in memory.live() if a.size]
        self.map = memory_map(program, launch, self.live)
        self._regions: dict[int, Region] = {}

    def issued_by(self, warp: int) -> list[int]:
        """Where the instructions of a warp of a block are counted."""
        return self.issued[warp // WARPGROUP % len(self.issued)]

    def executed(self) -> int:
        """Warp-instructions so far."""
        return sum(map(sum, self.issued))

    def region_of(self, allocation: int) -> Region:
        """The region of an allocation, made once."""
        found = self._regions.get(allocation)
        if found is None:
            found = self._regions[allocation] = region_of(self.live[allocation])
        return found
