"""The blocks of one cluster while they run, and the barrier between them, for the stepping engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import clusters
from ptxlab.emulate.rules.bulk import complete_all
from ptxlab.emulate.rules.mbarrier_book import Phases
from ptxlab.emulate.rules.records import Mates
from ptxlab.emulate.runtime.transfers import Queue
from ptxlab.emulate.step.bulk import BulkContext
from ptxlab.emulate.step.flow import CLUSTER_BARRIER
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.warp import LaneGroup

if TYPE_CHECKING:
    from ptxlab.emulate.step.schedule import BlockRun
    from ptxlab.emulate.step.warp import Warp


class Cluster:
    """The blocks of a cluster, by rank. idle: how many of them in a row have had a turn in which all their threads
    waited. A launch without clusters has clusters of one block."""

    def __init__(self, machine: Any, blocks: list[BlockRun]) -> None:
        self.machine, self.blocks, self.idle = machine, blocks, 0
        self.queue: Queue | None = None
        self.queues: Pointer[Queue] | None = None
        self.context: Any = None
        if machine.bulk:
            queues, threads = Queue.many(1), LANES * machine.launch.warps
            self.queue, self.queues = queues[0], queues
            self.queue.committed = Pointer(np.zeros(threads * len(blocks), np.uint32))
            self.queue.threads = threads
            self.context = BulkContext(machine, blocks, queues)
        if machine.checker is not None:
            self._checked()
        for rank, block in enumerate(blocks):
            block.cluster = block.spaces.cluster = self
            block.spaces.rank = rank
        if len(blocks) > 1 and machine.checker is not None:
            mates = Mates.many(1)
            for rank, block in enumerate(blocks):
                assert block.check is not None
                block.check.in_cluster(mates, rank)

    def _checked(self) -> None:
        """Gives the checks of each block access to those of the others."""
        checks = [block.check for block in self.blocks if block.check is not None]
        Phases.meet([check.phases for check in checks], self.queues)

    @property
    def busy(self) -> int:
        """How many blocks still run."""
        return sum(bool(block.running) for block in self.blocks)

    def stuck(self) -> bool:
        """Whether every thread of the cluster that could run spins on an mbarrier whose phase has not completed. Bulk
        copies in flight are performed first; if there are any, the cluster is not stuck yet."""
        return all(block.spins.stuck() for block in self.blocks) and not self.perform()

    def others_run(self, rank: int, warp: int) -> bool:
        """Whether a thread of the cluster can run and does not spin, one warp (of the block of that rank) left out."""
        return any(block.spins.runs(warp if at == rank else None) for at, block in enumerate(self.blocks))

    def perform(self) -> bool:
        """Performs the bulk copies in flight. Whether there were any."""
        return self.queue is not None and complete_all(self.context, self.queue)

    def ended(self) -> None:
        """A block has ended and its shared memory is gone: warps forget the addresses in it that they have cached."""
        self.perform()
        if len(self.blocks) > 1:
            for block in self.blocks:
                for warp in block.warps:
                    warp.near.clear()

    def open(self) -> None:
        """Completes the phase of the barrier if all threads that have not exited have arrived, and resumes those that
        wait for a completed phase."""
        warps = [warp for block in self.blocks for warp in block.running]
        for warp in warps:
            warp.record.live = mask_bits(warp.live)
        if all(clusters.arrived_all(warp.record) for warp in warps):
            for warp in warps:
                clusters.phase_over(warp.record)
        for warp in warps:
            if warp.record.cluster_waits and (going := clusters.open_for(warp.record)):
                _go_on(warp, going)


def _go_on(warp: Warp, going: int) -> None:
    """Resumes lanes of a warp."""
    for group in list(warp.others):
        if group.wait is None or group.wait.barrier != CLUSTER_BARRIER or not mask_bits(group.mask) & going:
            continue
        lanes = group.mask & warp.lanes_in(going)
        if (lanes != group.mask).any():
            warp.others.append(LaneGroup(group.pc, group.mask & ~lanes, group.wait))
            group.mask = lanes
        group.wait = None
    if warp.stopped:
        warp.resume()
