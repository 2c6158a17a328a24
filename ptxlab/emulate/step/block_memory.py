"""What warps of the stepping engine share: the memory of their block, and with other blocks the cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.rules.bulk_copies import complete_all
from ptxlab.emulate.rules.mbarrier_deadlocks import Spins
from ptxlab.emulate.runtime.bulk_transfers import Queue
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.step.launch_state import LaunchState
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.isa.convert import PEER


class Spaces:
    """What the warps of a block share. `shared` is their memory; local memory is made for each warp. rank: the
    block's in its cluster. ended: whether all its threads have exited, so that its shared memory is freed."""

    def __init__(self, machine: LaunchState, block: int) -> None:
        self.machine, self.block = machine, block
        self.check: Any = None
        self.spins: Spins
        program, launch = machine.program, machine.launch
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
            own = self.cluster.blocks[rank].shared
            base = int(own.base) + (rank + 1) * PEER + (SHARED_WINDOW if generic else 0)
            found = self._peers[rank, generic] = Region(base, own.data, own.size, own.name)
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
