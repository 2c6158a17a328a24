"""The workers of a launch: the memory of each, and the CTAs that it runs.

A launch of a small kernel takes about as long as to prepare this memory. So what is the same in all launches of a
kernel with blocks of one size is made once (`Image`) and copied, and what a worker needs is one piece of memory.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import zeroed
from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.report import WARPGROUP, Launch, unravel
from ptxlab.emulate.runtime.state import Cluster, Context, Cta, Executions, Resident, Site, Warp
from ptxlab.emulate.runtime.transfers import MOVED, Queue

if TYPE_CHECKING:
    from ptxlab.emulate.jit.building.build import Loaded
    from ptxlab.emulate.jit.instruments.tracing import Tape
    from ptxlab.emulate.jit.running.run import Run
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.rules.records import Mates

MARGIN = 512
"""Bytes on both sides of shared memory, which the lanes of a row that are inactive may reach: see `memory.transfer`."""
ENDLESS = 1 << 62
"""More steps of a scheduler than there can be."""
PARTS = 4
"""Of what is left of the grid a worker takes this part of its share at once."""
FULL = 0xFFFFFFFF
"""All lanes of a warp."""
_wide_lock = np.zeros(1, np.uint32)
"""The lock of 128-bit atomic operations, one for all: a program's fast and slow function, and better code of both, may
be at work at once. A host instruction would do without, if memory were sure to be aligned on the host."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _wide_lock.fill(0))


class Layout:
    """Arrays one after the other in one piece of memory, each at a multiple of 128 bytes; given are their types and
    shapes."""

    def __init__(self, **fields: tuple[Any, Any]) -> None:
        formats = [np.dtype(type_and_shape) for type_and_shape in fields.values()]
        ends = list(accumulate(-(-each.itemsize // 128) * 128 for each in formats))
        self.offsets = dict(zip(fields, [0, *ends], strict=False))
        """Where each begins, in bytes."""
        self.size, offsets = ends[-1], [0, *ends[:-1]]
        self.dtype = np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": self.size})

    def new(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Zeroed memory as bytes, and its arrays by their names."""
        octets = zeroed(self.size)
        whole: Any = octets.view(self.dtype)[0]
        return octets, whole


class Image:
    """What the workers of all launches of a kernel with blocks of one size begin with. It does not change."""

    def __init__(self, program: Program, built: Loaded, launch: Launch) -> None:
        blocks, codes = len(built.block_work), built.outline.instructions
        counted = built.instruments.counters
        warps, warpgroups = launch.warps, -(-launch.warps // WARPGROUP) if counted else 1
        self.exits, self.order = np.array(program.exits, np.uint32), np.arange(warps, dtype=np.uint32)
        self.memory = Layout(
            context=(np.uint8, Context.size),
            sites=(np.uint8, Site.size * built.sites),
            counts=(Executions.dtype, (warpgroups, blocks)),
            rest=(Executions.dtype, (warpgroups, codes)),
            tally=(np.uint8, _counted_size() * codes if counted else 0),
            moved=(np.uint64, (codes * counted, len(MOVED))),
        )
        """A worker's memory: its context first, its sites and counts."""
        self.context = self._context(program, built, launch, warpgroups).buffer
        self.cta = Layout(record=(np.uint8, Cta.size), states=(np.uint8, (warps, built.state_size)))
        """The memory of a resident CTA, but for its shared and local memory."""
        self.warps = np.zeros(warps, Warp.dtype)
        threads = np.arange(32 * warps, dtype=np.uint32).reshape(-1, 32)
        self.warps["tid_x"], self.warps["tid_y"], self.warps["tid_z"] = unravel(threads, launch.block)
        self.warps["first_live"] = FULL
        self.warps["first_live"][-1] = FULL >> (-launch.threads % 32)  # the last one may have fewer threads
        self.warps["warp_id"] = self.order
        self.octets = self.warps.view(np.uint8).reshape(warps, Warp.size)

    def _context(self, program: Program, built: Loaded, launch: Launch, warpgroups: int) -> Context:
        """The context, without what differs from launch to launch."""
        context = Context.new()
        context.wide_lock, context.exits = Pointer(_wide_lock), Pointer(self.exits)
        context.order = Pointer(self.order)  # with a seed each worker has its own, shuffled again for every round
        context.warps, context.state_size = launch.warps, built.state_size
        context.site_count, context.clears = built.sites, built.clears
        if warpgroups > 1:
            context.basic_blocks = len(built.block_work)
        context.local_first = program.local_first if program.local_first < program.local_stride else 0
        context.entry = 2 * built.outline.first
        for name, needed in built.scheduled.items():
            setattr(context, name.partition(".")[2], needed)
        context.block_x, context.block_y, context.block_z = launch.block
        return context

    @staticmethod
    def of(program: Program, built: Loaded, launch: Launch) -> Image:
        """The image for such a launch, made when it is first needed."""
        found = built.images.get(launch.block)
        if found is None:
            if len(built.images) >= SHAPES:
                built.images.clear()
            found = built.images[launch.block] = Image(program, built, launch)
        assert isinstance(found, Image)
        return found


def _counted_size() -> int:
    from ptxlab.emulate.rules.memory_model import Counted

    return Counted.size


SHAPES = 16
"""Sizes of blocks of which a kernel's images are kept at most."""


class Slot:
    """The memory of one resident CTA: its record, its warps' states, shared and local memory."""

    def __init__(self, run: Run, mates: Pointer[Mates] | None, rank: int) -> None:
        image, warps, each = run.image, run.launch.warps, 32 * run.program.local_stride
        octets, self.memory = image.cta.new()
        self.shared = zeroed(run.shared_size + 2 * MARGIN)[MARGIN : MARGIN + run.shared_size]
        states, local = self.memory["states"], zeroed(each * warps)
        states[:, : Warp.size] = image.octets
        first = start_of(local)
        if each:
            self.warps["local"] = first + np.arange(warps) * each
        cta = self.cta = Cta.view(octets)
        cta.shared, cta.shared_size = Pointer(self.shared), run.shared_size
        cta.point("states", start_of(octets) + image.cta.offsets["states"])
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

    def __init__(self, run: Run) -> None:
        launch, image = run.launch, run.image
        self.image = image  # which holds what the context points to
        self.slots: list[Slot] = []
        octets, memory = image.memory.new()
        self.sites, self.counts, self.rest = memory["sites"], memory["counts"], memory["rest"]
        self.tally, self.moved = memory["tally"], memory["moved"]
        self.tape: Tape | None = None
        if run.chosen is not None:
            from ptxlab.emulate.jit.instruments.tracing import Tape

            self.tape = Tape(launch.trace, *run.chosen)
        self.result, self.pausing = S.DONE, False
        """How it ended; whether it is to pause before its next CTA."""
        octets[: Context.size] = image.context
        self.context = context = Context.view(octets)
        self.address = first = start_of(octets)
        """Where the context lies."""
        for name in _POINTERS:
            context.point(name, first + image.memory.offsets[name])
        if self.moved.size:
            context.point("moved", first + image.memory.offsets["moved"])
        context.next, context.stop, context.budget, context.params = run.pointers
        context.total, context.memory = launch.blocks // launch.cluster_blocks, run.map
        context.only = context.alone = run.asked == 1
        context.parts = 0 if run.program.may_wait or launch.cooperative else PARTS * run.workers_wanted
        context.quantum = context.quantum_size = run.quantum
        context.steps_left = ENDLESS
        context.slots, context.slot_limit = Resident.many(run.resident), run.resident
        if launch.seed is not None and run.blocks is not None:
            draw = random.Random(launch.seed)
            context.random = draw.getrandbits(62) | 1
            context.quantum = context.quantum_size = min(run.quantum, draw.randint(1, 255))
            context.order, context.block_order = Pointer(image.order.copy()), Pointer(run.blocks)
        if self.tape is not None:
            context.trace, context.traced = self.tape.record, True
        if run.checks is not None:
            context.check, context.checked = Pointer(run.checks.record.buffer), True
        if run.reductions is not None:
            context.combine = run.reductions.address
        if run.reports is not None:
            context.issued, context.completed = run.reports.issued, run.reports.completed
        if run.callback is not None:
            context.phases = run.callback.address
        context.grid_x, context.grid_y, context.grid_z = launch.grid
        context.cluster_x, context.cluster_y, context.cluster_z = launch.cluster_size
        context.explicit_cluster = launch.cluster is not None
        self.add_slots(run)

    def add_slots(self, run: Run) -> None:
        """Room for the CTAs of one more cluster, which is the next to run."""
        first, context, size = len(self.slots), self.context, run.launch.cluster_blocks
        cluster = Cluster.new()
        cluster.first, cluster.count = first, size
        if run.bulk:
            queue, threads = Queue.many(1), 32 * run.launch.warps
            queue[0].committed = Pointer(np.zeros(size * threads, np.uint32))
            queue[0].threads, queue[0].first_rank = threads, first
            cluster.queue = queue
        mates = _mates() if size > 1 else None
        for rank in range(size):
            slot = Slot(run, mates, rank)
            self.slots.append(slot)
            context.slots[first + rank].cta = slot.cta
            slot.cta.cluster, slot.cta.rank = cluster, rank
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
