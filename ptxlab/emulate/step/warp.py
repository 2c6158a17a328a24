"""One warp of the interpreter: 32 lanes, their registers, and the groups into which a diverged warp falls.

Lanes at the same program counter form a group. One group runs; the others wait for their turn, for a barrier of the
block, or for the lanes named in the member mask of a `.sync` instruction. `ptxlab.emulate.rules.lane_scheduling`
chooses the next group, at the end of each basic block and after each instruction that synchronizes lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.rules.lane_scheduling import forget, next_lane, smallest_goes
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.emulate.runtime.report import unravel
from ptxlab.emulate.runtime.state import Executed, Turns
from ptxlab.emulate.runtime.state import Warp as WarpRecord
from ptxlab.emulate.step.access import Access
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_state import Spaces
from ptxlab.isa.machine import Value
from ptxlab.isa.special_registers import SPECIAL

NO_GROUP = -1
"""Instead of a program counter: the group that ran has exited, or waits."""

RUNS, STUCK = -1, -2
"""Instead of the barrier that a warp has arrived at: it can run; its lanes wait, but not all at one barrier of the
block. (The barrier of the cluster lets its lanes go one by one.)"""

CLOCKS = {
    "%clock": ("i32", 0),
    "%clock_hi": ("i32", 32),
    "%clock64": ("i64", 0),
    "%globaltimer": ("i64", 0),
    "%globaltimer_lo": ("i32", 0),
    "%globaltimer_hi": ("i32", 32),
}
"""Special registers that count the warp-instructions issued so far: lane type, bits to shift away."""

NONE, ALL = bytes(LANES), b"\x01" * LANES
"""`mask.tobytes()` for no lane and for every lane: the fastest test."""


@dataclass(slots=True, eq=False)
class Wait:
    """The event that a group waits for: barrier `barrier` of the block (-1: the lanes `members` of its own warp).

    count: threads the barrier expects, 0 for all of the block. stays: false for `bar.arrive`, which goes on once its
    warp has arrived. release(warp, group): lets the group go on if all lanes that it waits for have arrived.
    finish(warp, mask, count, all, any): writes the result of a reduction over `predicate`.
    """

    code: Code
    barrier: int = -1
    count: int = 0
    stays: bool = True
    members: np.ndarray | None = None
    predicate: np.ndarray | None = None
    release: Callable[[Warp, LaneGroup], None] | None = None
    finish: Callable[[Warp, np.ndarray, int, bool, bool], None] | None = None


@dataclass(slots=True, eq=False)
class LaneGroup:
    """Lanes at one program counter, and what they wait for."""

    pc: int
    mask: np.ndarray = field(repr=False)
    wait: Wait | None = None


def _bits(groups: list[LaneGroup]) -> int:
    """The lanes of these groups, as bits."""
    return sum(mask_bits(group.mask) for group in groups)


class Warp(Access):
    """A warp, and the operations that instruction semantics call (`isa.machine.Machine`). `mask` is the active mask;
    lanes in `live` have not exited.

    regs: one array per register, then the program's constants. Arrays are replaced, never written into. pc: where the
    running group continues. others: the groups that do not run. turns: who goes next. left: code indices of `exit` and
    `ret` instructions that lanes have left by in a branch, without a count for the warp yet. lanes: how many lanes run.
    record: what the rules of clusters and of bulk copies know of the warp.
    polled: whether the warp has read, since its last turn in the block, what other threads may change. arrived: the
    barrier at which the whole warp waits. in_flight, executed: its products of wgmma. warpgroup: the four warps that
    execute them together. stopped: no group can run.
    """

    def __init__(self, spaces: Spaces, index: int, regs: list[Any], block_index: int) -> None:
        super().__init__(spaces, index)
        launch = self.launch_state.launch
        self.regs = regs
        self.carry: Value = np.zeros(LANES, np.bool_)
        first = index * LANES
        self.live: np.ndarray = np.arange(first, first + LANES) < launch.threads
        self.block_index = block_index
        self.pc = self.launch_state.start
        self.others: list[LaneGroup] = []
        self.diverged = False
        self.turns = Turns.new()
        self.record = WarpRecord.new()
        self.record.warp_id = index
        self.left: set[int] = set()
        self.polled = False
        self.in_flight = Products.new()
        self.executed = Executed.new()
        self.warpgroup: list[Warp] = []
        self.arrived = RUNS
        self.stopped = False
        self.run_lanes(self.live)
        self._special: dict[str, Value] = {}

    def run_lanes(self, mask: np.ndarray) -> None:
        self.mask, self.bits = mask, mask.tobytes()
        self.full, self.lanes = self.bits == ALL, self.bits.count(1)

    def held(self, predicate: int, negated: bool) -> np.ndarray:
        p = self.regs[predicate]
        mask: np.ndarray = np.greater(self.mask, p) if negated else self.mask & p
        return mask

    @property
    def done(self) -> bool:
        return not self.live.any()

    def leave(self, mask: np.ndarray, pc: int, wait: Wait | None = None) -> None:
        """These lanes diverge from the running ones: they continue at `pc` when it is their turn, or a wait is over."""
        self.others.append(LaneGroup(pc, mask, wait))
        self.diverged = True

    def retire(self, leaving: np.ndarray) -> None:
        """These lanes exit; groups that waited only for them go on."""
        self.live = self.live & ~leaving
        for group in list(self.others):
            if group.wait is not None and group.wait.release is not None:
                group.wait.release(self, group)
        if self.done:
            for index in self.left:
                self.launch_state.issued_by(self.warp)[index] += 1

    def leave_by_branch(self, end: int) -> int:
        """The running lanes have branched to `exit` or `ret`, the instruction `end`, and exit at once. It is counted
        for the warp when the last lanes come to it."""
        self.launch_state.threads[end] += self.lanes
        self.left.add(end)
        self.retire(self.mask)
        return NO_GROUP

    def wait(self, wait: Wait, pc: int) -> int:
        """The running lanes wait; they continue at `pc` when `wait` is over."""
        self.leave(self.mask, pc, wait)
        return NO_GROUP

    def resume(self) -> None:
        """Continues after a barrier has completed."""
        self.stopped = False
        self.arrived = RUNS
        self.pc = self.choose(NO_GROUP)

    def choose(self, pc: int) -> int:
        """The program counter of the group that runs next, NO_GROUP when none can run. Called at the places where
        groups take turns; `pc`: where the running group is, NO_GROUP if it has exited or waits."""
        if pc != NO_GROUP:
            self.others.append(LaneGroup(pc, self.mask))
        ready = [group for group in self.others if group.wait is None]
        if ready:
            pc = min(group.pc for group in ready)
            if not smallest_goes(self.turns):
                lane = next_lane(self.turns, _bits(ready), _bits([group for group in ready if group.pc == pc]))
                pc = next(group.pc for group in ready if group.mask[lane])
            mask = np.zeros(LANES, np.bool_)
            for group in [group for group in ready if group.pc == pc]:
                mask = mask | group.mask
                self.others.remove(group)
            self.run_lanes(mask)
        if not self.others:
            self.diverged = False
            forget(self.turns)
        return pc

    def ready(self) -> list[LaneGroup]:
        here = [] if self.stopped else [LaneGroup(self.pc, self.mask)]
        return here + [group for group in self.others if group.wait is None]

    def carry_get(self) -> Value:
        return self.carry

    def carry_set(self, carry: Value) -> None:
        self.carry = carry if self.full else np.where(self.mask, carry, self.carry)

    def special(self, name: str) -> Value:
        if name in CLOCKS:
            lane, shift = CLOCKS[name]
            return np.full(LANES, np.uint64(self.launch_state.executed() >> shift)).astype(DTYPE[lane])
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = self._read_special(name)
        return found

    def _read_special(self, name: str) -> Value:
        """A special register that keeps its value while the warp lives."""
        launch, program = self.launch_state.launch, self.launch_state.program
        register, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            which = "xyz".index(axis)
            if register == "%tid":
                threads = self.warp * LANES + np.arange(LANES)
                return unravel(threads, launch.block)[which].astype(np.uint32)
            size, place = launch.cluster_size, unravel(self.block_index, launch.grid)
            value = {
                "%ntid": launch.block,
                "%nctaid": launch.grid,
                "%ctaid": place,
                "%cluster_nctaid": size,
                "%nclusterid": tuple(n // s for n, s in zip(launch.grid, size, strict=True)),
                "%clusterid": tuple(n // s for n, s in zip(place, size, strict=True)),
                "%cluster_ctaid": tuple(n % s for n, s in zip(place, size, strict=True)),
            }.get(register)
            if value is not None:
                return self.const("i32", value[which])
        if name == "%laneid":
            return self.lane_id()
        lane, one = np.arange(LANES, dtype=np.uint64), np.uint64(1)
        masks = {
            "%lanemask_eq": one << lane,
            "%lanemask_lt": (one << lane) - one,
            "%lanemask_le": (one << lane + one) - one,
            "%lanemask_gt": ~((one << lane + one) - one),
            "%lanemask_ge": ~((one << lane) - one),
        }
        if name in masks:
            return masks[name].astype(np.uint32)
        total = program.dynamic_start + launch.shared
        numbers = {
            "%warpid": self.warp,
            "%nwarpid": launch.warps,
            "%nsmid": 1,
            "%dynamic_smem_size": launch.shared,
            "%aggr_smem_size": total,
            "%total_smem_size": total - program.shared_start,
        }
        in_cluster = {
            "%cluster_nctarank": launch.cluster_blocks,
            "%cluster_ctarank": self.spaces.rank,
            "%is_explicit_cluster": launch.cluster is not None,
        }
        return self.const(SPECIAL[name].lane, (numbers | in_cluster).get(name, 0))
