"""State that warps of the interpreter share: those of a launch program and counts, of a block and a cluster memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import PARAM_WINDOW, SHARED_WINDOW
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.bulk_copies import complete_all
from ptxlab.emulate.rules.instructions import scheduled
from ptxlab.emulate.rules.mbarrier_deadlocks import Spins
from ptxlab.emulate.runtime.memory import POISON, Memory, memory_map
from ptxlab.emulate.runtime.report import WARPGROUP, Launch
from ptxlab.emulate.runtime.state import MOVED, Queue
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.isa.convert import PEER


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
        return sum(map(sum, self.issued))

    def region_of(self, allocation: int) -> Region:
        """The region of an allocation, made once."""
        found = self._regions.get(allocation)
        if found is None:
            a = self.live[allocation]
            where = a.address, a.data, a.size, a.name
            found = Region(*where, writable=a.writable, written=a.written, flushes=True)
            self._regions[allocation] = found
        return found


class Spaces:
    """What the warps of a block share. `shared` is their memory; local memory is made for each warp. rank: the
    block's in its cluster. ended: whether all its threads have exited, so that its shared memory is freed."""

    def __init__(self, state: LaunchState, block: int) -> None:
        self.launch_state, self.block = state, block
        self.check: Any = None
        self.spins: Spins
        program, launch = state.program, state.launch
        start, end = program.shared_start, program.dynamic_start + launch.shared
        data = np.full(-(-(end - start) // 16) * 16, POISON, np.uint8)
        self.shared = Region(start, data, end - start, "shared memory")
        self.shared_window = Region(SHARED_WINDOW + start, data, end - start, "shared memory")
        self.cluster: Cluster
        self.rank, self.ended = 0, False
        self._peers: dict[tuple[int, bool], Region] = {}

    def peer(self, rank: int, *, generic: bool) -> Region:
        """The shared memory of a block of the cluster, at the addresses that name it by its rank."""
        found = self._peers.get((rank, generic))
        if found is None:
            there = self.cluster.blocks[rank].shared
            base = int(there.base) + (rank + 1) * PEER + (SHARED_WINDOW if generic else 0)
            found = self._peers[rank, generic] = Region(base, there.data, there.size, there.name, values=there.values)
        return found


class Cluster:
    """The blocks of a cluster, by rank. A launch without clusters has clusters of one block. queue: the bulk copies in
    flight; context: what their rules are given."""

    def __init__(self, blocks: list[Spaces]) -> None:
        self.blocks = blocks
        self.queue: Queue | None = None
        self.context: Any = None

    def stuck(self) -> bool:
        """Whether no thread of the cluster can go on: those that have not exited wait, or spin on an mbarrier whose
        phase has not completed. Bulk copies in flight are performed then; if there are any, it is not stuck yet."""
        return all(block.spins.stuck() for block in self.blocks) and not self.perform()

    def others_run(self, rank: int, warp: int) -> bool:
        """Whether a thread of the cluster can run and does not spin, one warp (of the block of that rank) left out."""
        return any(block.spins.runs(warp if at == rank else None) for at, block in enumerate(self.blocks))

    def perform(self) -> bool:
        """Performs the bulk copies in flight. Whether there were any."""
        return self.queue is not None and complete_all(self.context, self.queue)
