"""Clusters in the interpreter: how blocks become one, their barrier, and the records for the rules of bulk copies."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer, lanes
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import bulk_checks, clusters
from ptxlab.emulate.rules.mbarrier_lifetimes import Phases
from ptxlab.emulate.rules.records import Mates
from ptxlab.emulate.runtime.state import Cluster as ClusterRecord
from ptxlab.emulate.runtime.state import Fault, Found, MemoryMap, Queue, Transfer
from ptxlab.emulate.step.control_flow import CLUSTER_BARRIER
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_state import Cluster, LaunchState, Spaces
from ptxlab.emulate.step.warp import LaneGroup, Warp


def form_cluster(state: LaunchState, blocks: list[Spaces]) -> None:
    """Makes blocks that begin one cluster, in the order of their ranks."""
    cluster = Cluster(blocks)
    for rank, block in enumerate(blocks):
        block.cluster, block.rank = cluster, rank
    queues: Pointer[Queue] | None = None
    if state.bulk:
        queues, threads = Queue.many(1), LANES * state.launch.warps
        cluster.queue = queues[0]
        cluster.queue.committed = Pointer(np.zeros(threads * len(blocks), np.uint32))
        cluster.queue.threads = threads
        cluster.context = BulkContext(state, blocks, queues)
    if state.checker is not None:
        checks = [block.check for block in blocks]
        Phases.meet([check.phases for check in checks], queues)
        if len(checks) > 1 or state.clustered:
            mates = Mates.many(1)
            for rank, check in enumerate(checks):
                check.in_cluster(mates, rank)


def open_barrier(warps: list[Warp]) -> None:
    """Completes the phase of a cluster's barrier if all these warps, those of its threads that have not exited, have
    arrived, and resumes those that wait for a completed phase."""
    for warp in warps:
        warp.record.live = mask_bits(warp.live)
    if all(clusters.arrived_all(warp.record) for warp in warps):
        for warp in warps:
            clusters.phase_over(warp.record)
    for warp in warps:
        if warp.record.cluster_waits and (going := clusters.open_for(warp.record)):
            _go_on(warp, going)


def _go_on(warp: Warp, going: int) -> None:
    for group in list(warp.others):
        if group.wait is None or group.wait.barrier != CLUSTER_BARRIER or not mask_bits(group.mask) & going:
            continue
        left = group.mask & ~lanes(going)
        if left.any():
            warp.others.append(LaneGroup(group.pc, left, group.wait))
            group.mask = group.mask & ~left
        group.wait = None
    if warp.stopped:
        warp.resume()


class BulkBlock:
    """A block of a cluster, with those fields of a `Cta` that the rules of bulk copies read."""

    race_shared, race_shared_stride = None, 0  # races of bulk copies are found by `bulk_checks`

    def __init__(self, spaces: Spaces, rank: int, cluster: ClusterRecord) -> None:
        self.spaces, self.rank, self.cluster = spaces, rank, cluster
        self.shared = Pointer[int](spaces.shared.data)
        self.init_shared = None if spaces.check is None else spaces.check.record.written
        self.checks = None if spaces.check is None else spaces.check.record.opaque

    @property
    def active(self) -> int:
        """1 until all its threads have exited."""
        return int(not self.spaces.ended)


class BulkContext:
    """A worker's context, with those fields of a `Context` that the rules of bulk copies read."""

    def __init__(self, state: LaunchState, blocks: Sequence[Spaces], queue: Pointer[Queue]) -> None:
        self.check = None if state.checker is None else state.checker.record.opaque
        self.memory: MemoryMap = state.map
        for index, held in enumerate(state.live):
            row = self.memory.allocations[index]
            row.host = Pointer(held.data)
            row.written = None if held.written is None else Pointer(held.written)
            shadow = None if state.checker is None else state.checker.shadow(state.region_of(index))[0]
            if shadow is not None:
                row.accesses, row.stride = shadow.records, shadow.stride
        self.params: Pointer[int] = Pointer(state.parameters.data)
        self.fault, self.found = Fault.new(), Found.new()
        self.moved: Pointer[int] | None = None if state.moved is None else Pointer(state.moved)
        self.explicit_cluster = int(state.launch.cluster is not None)
        cluster = ClusterRecord.new()
        cluster.queue = queue
        self.slots = [SimpleNamespace(cta=BulkBlock(block, rank, cluster)) for rank, block in enumerate(blocks)]

        self.lines = [code.line for code in state.program.codes]
        self.order: Any = getattr(state.launch.trace, "order", None)  # a recorder that a user wrote may have none
        context: Any = self
        self.check_issued = functools.partial(bulk_checks.issued, context)
        self.check_completed = functools.partial(bulk_checks.completed, context)
        self.checked, self.traced = self.check is not None, self.order is not None

    def issued(self, queue: Queue, transfer: Transfer) -> None:
        block, to = (self.slots[rank].cta.spaces.block for rank in (transfer.rank, transfer.at_rank))
        self.order.issued(id(transfer), transfer, self.lines[transfer.code], block, to, self.order.steps)

    def completed(self, queue: Queue, transfer: Transfer) -> None:
        self.order.completed(id(transfer), self.order.steps)
