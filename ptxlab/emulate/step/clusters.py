"""Clusters of blocks in the stepping engine: how blocks become one, and the barrier between them."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import clusters
from ptxlab.emulate.rules.mbarrier_lifetimes import Phases
from ptxlab.emulate.rules.records import Mates
from ptxlab.emulate.runtime.bulk_transfers import Queue
from ptxlab.emulate.step.block_memory import Cluster, Spaces
from ptxlab.emulate.step.bulk_records import BulkContext
from ptxlab.emulate.step.control_flow import CLUSTER_BARRIER
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_state import LaunchState
from ptxlab.emulate.step.warp import LaneGroup, Warp


def form_cluster(machine: LaunchState, blocks: list[Spaces]) -> None:
    """Makes blocks that begin one cluster, in the order of their ranks."""
    cluster = Cluster(blocks)
    for rank, block in enumerate(blocks):
        block.cluster, block.rank = cluster, rank
    queues: Pointer[Queue] | None = None
    if machine.bulk:
        queues, threads = Queue.many(1), LANES * machine.launch.warps
        cluster.queue = queues[0]
        cluster.queue.committed = Pointer(np.zeros(threads * len(blocks), np.uint32))
        cluster.queue.threads = threads
        cluster.context = BulkContext(machine, blocks, queues)
    if machine.checker is not None:
        checks = [block.check for block in blocks]
        Phases.meet([check.phases for check in checks], queues)
        if len(checks) > 1:
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
