"""The workers of a launch: what they share, the memory of each, and the blocks that it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.jit.running.memory_image import Image
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.memory import MARGIN, Memory
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cluster, Context, Cta, Queue, Resident, Warp

if TYPE_CHECKING:
    from ptxlab.emulate.jit.instruments.tracing import Tape
    from ptxlab.emulate.jit.running.shadow_memory import ShadowMemory
    from ptxlab.emulate.rules.records import Mates


class LaunchState:
    """The state that all workers of a launch share. `Run` fills it in before workers are made."""

    program: Program
    launch: Launch
    memory: Memory
    workers: list[Worker]
    """Those that are made, of those that are wanted."""
    workers_wanted: int
    image: Image
    context: Context
    """What the contexts of all workers begin with."""
    shared_size: int
    bulk: bool
    """Whether the kernel copies in bulk."""
    clustered: bool
    """Whether it has barriers of the cluster."""
    checks: ShadowMemory | None
    follow: Callable[[Any], None] | None
    """Takes the slots of each further cluster, for the checks of mbarriers."""
    chosen: tuple[Any, Any] | None
    """The blocks and the warps of which a trace is recorded."""
    resident: int
    """The blocks that a worker may have at once."""
    stop: np.ndarray
    errors: list[BaseException]
    """What was raised where compiled code had called, for the caller's thread to raise."""


class Slot:
    """The memory of one resident block: its record, its warps' states, shared and local memory."""

    def __init__(self, run: LaunchState, mates: Pointer[Mates] | None, rank: int) -> None:
        image, warps, each = run.image, run.launch.warps, LANES * run.program.local_stride
        octets, self.memory = image.cta.new()
        self.shared = zeroed(run.shared_size + 2 * MARGIN)[MARGIN : MARGIN + run.shared_size]
        states = self.memory["states"]
        states[:, : Warp.size] = image.warps
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
    """One thread's context, its resident blocks, its sites and counts."""

    def __init__(self, run: LaunchState) -> None:
        image = run.image
        self.image = image  # which holds what the context points to
        self.slots: list[Slot] = []
        octets, memory = image.memory.new()
        self.sites, self.counts, self.rest = memory["sites"], memory["counts"], memory["rest"]
        self.tally, self.moved = memory["tally"], memory["moved"]
        self.tape: Tape | None = None
        self.result = S.DONE
        """How it ended."""
        octets[: Context.size] = run.context.buffer
        self.context = context = Context(octets)
        self.address = start_of(octets)
        """Where the context lies."""
        for name in ("sites", "counts", "rest", "tally", *(["moved"] if self.moved.size else [])):
            context.point(name, self.address + image.memory.offsets[name])
        context.slots = Resident.many(run.resident)
        if run.chosen is not None:
            from ptxlab.emulate.jit.instruments.tracing import Tape

            self.tape = Tape(run.launch.trace, *run.chosen)
            context.trace, context.traced = self.tape.record, True
        self.add_slots(run)

    def add_slots(self, run: LaunchState) -> None:
        """Memory for the blocks of one more cluster, which is the next to run."""
        first, context, size = len(self.slots), self.context, run.launch.cluster_blocks
        cluster = Cluster.new()
        cluster.first, cluster.count = first, size
        if run.bulk:
            queue, threads = Queue.many(1), LANES * run.launch.warps
            queue[0].committed = Pointer(np.zeros(size * threads, np.uint32))
            queue[0].threads, queue[0].first_rank = threads, first
            cluster.queue = queue
        mates: Pointer[Mates] | None = None
        if size > 1 or run.clustered:
            from ptxlab.emulate.rules.records import Mates

            mates = Mates.many(1)
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
        """The block that runs, or ran last."""
        return self.slots[self.context.slot]
