"""The workers of a launch: the memory of each, and the CTAs that it runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.memory import MARGIN
from ptxlab.emulate.runtime.state import Cluster, Context, Cta, Queue, Resident, Warp

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments.tracing import Tape
    from ptxlab.emulate.jit.running.launch_state import LaunchState
    from ptxlab.emulate.rules.records import Mates

ENDLESS = 1 << 62
"""More steps of a scheduler than there can be."""


class Slot:
    """The memory of one resident CTA: its record, its warps' states, shared and local memory."""

    def __init__(self, run: LaunchState, mates: Pointer[Mates] | None, rank: int) -> None:
        image, warps, each = run.image, run.launch.warps, LANES * run.program.local_stride
        octets, self.memory = image.cta.new()
        self.shared = zeroed(run.shared_size + 2 * MARGIN)[MARGIN : MARGIN + run.shared_size]
        states = self.memory["states"]
        states[:, : Warp.size] = image.octets
        cta = self.cta = Cta(octets)
        cta.shared, cta.shared_size = Pointer(self.shared), run.shared_size
        cta.point("states", start_of(octets) + image.cta.offsets["states"])
        if each:
            local = zeroed(each * warps)
            self.warps["local"] = start_of(local) + np.arange(warps) * each
            cta.local, cta.local_size = Pointer(local), local.size
        self.checked = None if run.checks is None else run.checks.slot(cta, run.shared_size, mates, rank)

    @property
    def warps(self) -> np.ndarray:
        """The warps' states without their registers, a numpy array of records."""
        records: np.ndarray = self.memory["states"][:, : Warp.size].view(Warp.dtype)[:, 0]
        return records

    def can_run(self) -> Iterator[tuple[int, int]]:
        """The warps that have not exited, each with the lanes that wait only for their turn."""
        for warp, (live, wait) in enumerate(zip(self.warps["live"].tolist(), self.warps["wait"].tolist(), strict=True)):
            if live:
                yield warp, live & ~wait


class Worker:
    """One thread's context, its resident CTAs, its sites and counts."""

    def __init__(self, run: LaunchState) -> None:
        image = run.image
        self.image = image  # which holds what the context points to
        self.slots: list[Slot] = []
        octets, memory = image.memory.new()
        self.sites, self.counts, self.rest = memory["sites"], memory["counts"], memory["rest"]
        self.tally, self.moved = memory["tally"], memory["moved"]
        self.tape: Tape | None = None
        if run.chosen is not None:
            from ptxlab.emulate.jit.instruments.tracing import Tape

            self.tape = Tape(run.launch.trace, *run.chosen)
        self.result = S.DONE
        """How it ended."""
        octets[: Context.size] = image.context if run.context is None else run.context
        self.context = context = Context(octets)
        self.address = first = start_of(octets)
        """Where the context lies."""
        if run.context is None:
            self._begin(run)
            run.context = octets[: Context.size].copy()
        for name in _POINTERS:
            context.point(name, first + image.memory.offsets[name])
        if self.moved.size:
            context.point("moved", first + image.memory.offsets["moved"])
        context.slots = Resident.many(run.resident)
        if self.tape is not None:
            context.trace, context.traced = self.tape.record, True
        self.add_slots(run)

    def _begin(self, run: LaunchState) -> None:
        """Notes in the context what is the same for all workers of the launch: they copy it."""
        launch, context = run.launch, self.context
        context.next, context.stop, context.budget, context.params = run.pointers
        context.total, context.memory = launch.blocks // launch.cluster_blocks, run.map
        context.quantum = context.quantum_size = run.quantum
        context.steps_left = ENDLESS
        context.patience = S.PATIENT_QUANTA if launch.seed is None and not launch.cooperative else 1
        context.slot_limit = run.resident
        if launch.seed is not None and run.blocks is not None:  # then there is one worker
            draw = random.Random(launch.seed)
            context.random = draw.getrandbits(62) | 1
            context.quantum = context.quantum_size = min(run.quantum, draw.randint(1, 255))
            context.order, context.block_order = Pointer(self.image.order.copy()), Pointer(run.blocks)
        if run.checks is not None:
            context.check, context.checked = Pointer(run.checks.record.buffer), True
        for name, address in run.functions.items():
            setattr(context, name, address)
        context.grid_x, context.grid_y, context.grid_z = launch.grid
        context.cluster_x, context.cluster_y, context.cluster_z = launch.cluster_size
        context.explicit_cluster = launch.cluster is not None

    def add_slots(self, run: LaunchState) -> None:
        """Room for the CTAs of one more cluster, which is the next to run."""
        first, context, size = len(self.slots), self.context, run.launch.cluster_blocks
        cluster = Cluster.new()
        cluster.first, cluster.count = first, size
        if run.bulk:
            queue, threads = Queue.many(1), LANES * run.launch.warps
            queue[0].committed = Pointer(np.zeros(size * threads, np.uint32))
            queue[0].threads, queue[0].first_rank = threads, first
            cluster.queue = queue
        mates = _mates() if size > 1 else None
        for rank in range(size):
            slot = Slot(run, mates, rank)
            self.slots.append(slot)
            context.slots[first + rank].cta = slot.cta
            slot.cta.cluster, slot.cta.rank = cluster, rank
        if run.follow is not None:
            run.follow(self.slots[first:])
        context.cta = self.slots[first].cta
        context.slot, context.slot_count = first, first + size
        self.sites[:] = 0  # no allocation is cached yet

    @property
    def slot(self) -> Slot:
        """The CTA that runs, or ran last."""
        return self.slots[self.context.slot]


def _mates() -> Pointer[Mates]:
    from ptxlab.emulate.rules.records import Mates

    return Mates.many(1)


_POINTERS = "sites", "counts", "rest", "tally"
"""Pointers of the context that point to the array of that name in the worker's memory."""
