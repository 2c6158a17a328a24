"""The warps of one block and the barriers between them, in the interpreter.

Since sm_70 a barrier counts whole warps: a warp has arrived when all its live lanes wait at that barrier, and then
counts as 32 threads. Without a count a barrier waits for every warp that has not exited.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.faults import deadlocked
from ptxlab.emulate.rules.mbarrier_deadlocks import Spin, Spins, in_words
from ptxlab.emulate.rules.warp_positions import Place
from ptxlab.emulate.rules.warpgroup_faults import incomplete_warpgroup
from ptxlab.emulate.rules.warpgroup_products import has_begun, same_products
from ptxlab.emulate.runtime.report import leaders_first
from ptxlab.emulate.step.checked_warp import BlockChecks, CheckedWarp
from ptxlab.emulate.step.clusters import form_cluster, open_barrier
from ptxlab.emulate.step.control_flow import CLUSTER_BARRIER, WARPGROUP_BEGUN, waiting_for
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_state import LaunchState, Spaces
from ptxlab.emulate.step.warp import RUNS, STUCK, LaneGroup, Warp
from ptxlab.errors import DeviceFault

POLL_SLICE = 16
"""Instructions that a warp may run in a turn after one in which it polled memory."""
MOST_ROUNDS = 256
"""Rounds of a block's turn."""


class BlockRun:
    """A running block: `warps`, and for each barrier the warps that arrived. mates: all blocks of its cluster."""

    mates: Sequence[BlockRun]

    def __init__(self, state: LaunchState, index: int, registers: list[Any]) -> None:
        self.launch_state, self.index = state, index
        spaces = self.spaces = Spaces(state, index)
        checker = state.checker
        self.check = spaces.check = None if checker is None else BlockChecks(checker, spaces, self.can_run)
        make = Warp if checker is None else CheckedWarp
        self.warps = [make(spaces, w, list(registers), index) for w in range(state.launch.warps)]
        for warp in self.warps:
            warp.warpgroup = self.warps[warp.warp & ~3 :][:4]
        self.running = list(self.warps)
        self.spins = spaces.spins = Spins(self.can_run, spaces.shared)
        self.arrived: dict[int, list[Warp]] = {}
        self.expected: dict[int, int] = {}
        self.pending: dict[int, int] = {}
        self.rounds = 0
        self.goes_on = False
        """Whether the block's turn is not over: a warp can run, and none has spent its instructions or polled."""

    def advance(self, run: Callable[[Warp, int], None], length: int, order: random.Random | None) -> bool:
        """A round: runs every warp that can run for up to `length` instructions, and completes barriers. Raises the
        fault of a deadlock. Whether the block has ended."""
        spent = False
        running = list(self.running)
        if self.launch_state.launch.leaders_first:
            running = [self.warps[w] for w in leaders_first(len(self.warps))]
        elif order is not None:
            order.shuffle(running)
        position = 0
        while position < len(running):
            warp = running[position]
            position += 1
            if warp.arrived != RUNS or warp.done:
                continue
            most = POLL_SLICE if warp.polled else length
            warp.polled = False
            run(warp, most if order is None else 1 << order.randrange(most.bit_length()))
            if self.launch_state.launch.leaders_first and warp.stopped:
                position = 0
            spent |= warp.polled or not warp.stopped
            if warp.done:
                self.running.remove(warp)
                if not self.running:
                    self._ended()
            else:
                self._arrive(warp)
            self._open(counted=True)
            if self.launch_state.clustered:
                open_barrier([warp for block in self.mates for warp in block.running])
            if self.launch_state.warpgroups:
                self._go_on_with_products()
        self._open(counted=False)
        if self.running and self.spins.stuck() and self.spaces.cluster.stuck():
            raise self.deadlock()
        self.rounds = 0 if spent else self.rounds + 1
        self.goes_on = self.rounds % MOST_ROUNDS > 0 and any(warp.arrived == RUNS for warp in self.running)
        if not self.running:
            self._warpgroups()
        return not self.running

    def _ended(self) -> None:
        """All threads have exited, shared memory is freed: warps of the cluster forget the addresses in it."""
        self.spaces.ended = True
        self.spaces.cluster.perform()
        if len(self.mates) > 1:
            for block in self.mates:
                for warp in block.warps:
                    warp.near.clear()
        if self.check is not None:
            self.check.phases.ended()
            if self.launch_state.clustered and len(self.mates) > 1:
                races.block_ended(self.check.checker.record, self.check.record)
            self.check.checker.forget(self.spaces.shared)

    def _warpgroups(self) -> None:
        """The block has ended: the warps of each warpgroup have executed the same products of wgmma."""
        for number, warp in enumerate(self.warps):
            if not same_products(warp.executed, self.warps[number & ~3].executed):
                counts = [(w.executed.count, w.executed.last) for w in self.warps]
                raise incomplete_warpgroup(warp.faulting(self.launch_state.program.codes[0], 0), counts)

    def can_run(self) -> Iterator[tuple[int, int]]:
        """The warps that have not exited, each with a mask of the lanes that wait only for their turn."""
        for w in self.running:
            mask = w.live
            for group in w.others:
                if group.wait is not None:
                    mask = mask & ~group.mask
            yield w.warp, mask_bits(mask)

    def only_waits(self) -> bool:
        """Whether the threads that can run are in loops that only wait for others."""
        waiting = self.launch_state.program.waiting
        return all(group.pc in waiting for warp in self.running for group in warp.ready())

    def diverged(self) -> bool:
        """Whether lanes of a warp can run at several places."""
        return any(len(warp.ready()) > 1 for warp in self.running)

    def _arrive(self, warp: Warp) -> None:
        """If a warp has stopped, no lane of it can run: notes the barrier at which all its lanes wait. If
        they wait at several, the warp is STUCK. A warp at `bar.arrive` counts as arrived and goes on at once."""
        if not warp.stopped:
            return
        waits = [group.wait for group in warp.others if group.wait is not None]
        barriers = {wait.barrier for wait in waits}
        # -1: lanes of its own; the barrier of the cluster lets lanes go one by one
        if len(barriers) != 1 or not barriers.isdisjoint((-1, CLUSTER_BARRIER)):
            warp.arrived = STUCK
            return
        barrier = barriers.pop()
        if barrier == WARPGROUP_BEGUN:
            warp.arrived = barrier
            return
        self.expected[barrier] = max(wait.count for wait in waits)
        self.pending[barrier] = self.pending.get(barrier, 0) + LANES
        warps = self.arrived.setdefault(barrier, [])
        if any(wait.stays for wait in waits):
            warp.arrived = barrier
            warps.append(warp)
        else:
            if self.check is not None:
                self.check.passed_arrive(barrier, warp)
            self._release(warp, None)

    def _go_on_with_products(self) -> None:
        """Lets warps go on for which their warpgroups have begun the products that they have waited for."""
        for warp in self.running:
            if warp.arrived == WARPGROUP_BEGUN:
                count = warp.record.awaited
                if all(has_begun(mate.executed, mask_bits(mate.live), count) for mate in warp.warpgroup):
                    warp.record.awaited = 0
                    self._release(warp, None)

    def _open(self, *, counted: bool) -> None:
        """Completes each barrier at which all warps have arrived that it waits for. Barriers with a thread count are
        completed after each turn, so that a warp that comes later in the same round waits for the next phase; the
        others are completed at the end of the round."""
        for barrier, warps in list(self.arrived.items()):
            if counted != (self.expected[barrier] != 0):
                continue
            wanted = self.expected[barrier] or LANES * len(self.running)
            if self.pending[barrier] < wanted:
                continue
            result = _reduced([group for warp in warps for group in warp.others])
            if self.check is not None:
                self.check.opened(barrier, warps, self.warps, counted=counted, overfull=self.pending[barrier] > wanted)
            del self.arrived[barrier], self.pending[barrier]
            for warp in warps:
                self._release(warp, result)

    def _release(self, warp: Warp, result: tuple[int, bool, bool] | None) -> None:
        warp.arrived = RUNS
        for group in warp.others:
            wait = group.wait
            if wait is not None and wait.finish is not None and result is not None:
                wait.finish(warp, group.mask, *result)
            group.wait = None
        warp.resume()

    def _to_report(self) -> BlockRun:
        """The block that a deadlock of its cluster is reported for; see `rules.scheduling.to_report`."""
        running = [block for block in self.mates if block.running]
        for block in running:
            if any(mask_bits(warp.live) & ~warp.record.cluster_waits for warp in block.running):
                return block
        return running[0]

    def deadlock(self) -> DeviceFault:
        """The fault of its cluster, in which no thread can go on."""
        state, mates = self.launch_state, [block.index for block in self.mates]
        places = [place for block in self.mates for place in block.places()]
        return deadlocked(state.program, state.launch, state.memory, mates, self._to_report().index, places)

    def places(self) -> Iterator[Place]:
        waits = [] if self.check is None else list(self.check.phases.stuck())
        waits = waits or list(in_words(self.launch_state.program, self._spinning(), self.spins.word))
        for index, lanes, at, what in waits:
            yield Place(self.index, index, lanes, at, what)
        for warp in self.running:
            spins = [lane for index, lanes, _, _ in waits if index == warp.warp for lane in lanes]
            here = [LaneGroup(warp.pc, warp.mask)] if not warp.stopped else []
            found: dict[int, tuple[int, str]] = {}  # by lane: an interrupt may come while lanes change groups
            for group in (*here, *warp.others):
                wait = group.wait
                place = (group.pc, "") if wait is None else (wait.code.index, waiting_for(wait))
                found |= dict.fromkeys(np.flatnonzero(group.mask & warp.live).tolist(), place)
            for at, what in dict.fromkeys(found.values()):
                lanes = sorted(lane for lane, place in found.items() if place == (at, what) and lane not in spins)
                if lanes:
                    yield Place(self.index, warp.warp, lanes, at, what)

    def _spinning(self) -> Iterator[Spin]:
        running = dict(self.can_run())
        for thread, wait in self.spins.waits.items():
            if running.get(thread // LANES, 0) >> thread % LANES & 1:
                yield wait


def blocks_of_cluster(state: LaunchState, indices: Iterable[int], registers: list[Any]) -> list[BlockRun]:
    """The blocks of one cluster, by rank, before they run."""
    blocks = [BlockRun(state, index, registers) for index in indices]
    form_cluster(state, [block.spaces for block in blocks])
    for block in blocks:
        block.mates = blocks
    return blocks


def _reduced(groups: list[LaneGroup]) -> tuple[int, bool, bool] | None:
    """How many threads brought a true predicate to a `bar.red`, whether all did, whether any did."""
    given = [(g.wait.predicate, g.mask) for g in groups if g.wait is not None and g.wait.predicate is not None]
    if not given:
        return None
    count = sum(int(np.count_nonzero(predicate)) for predicate, _ in given)
    return count, count == sum(int(np.count_nonzero(mask)) for _, mask in given), count > 0
