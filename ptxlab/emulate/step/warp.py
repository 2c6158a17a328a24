"""One warp of the stepping engine: 32 lanes, their registers, and the groups they fall into when branches part them.

Lanes that stand at the same place form a part. One part runs; the others wait for their turn, or for something else: a
barrier of the block, or the lanes named in the member mask of a `.sync` instruction. Whose turn it is, at the end of
each basic block and behind each instruction that lanes meet at, `ptxlab.emulate.rules.turns` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.rules.faults import unravel
from ptxlab.emulate.rules.turns import forget, next_lane, smallest_goes
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.emulate.runtime.state import Executed, Turns
from ptxlab.emulate.step.access import Access, Spaces
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.isa.machine import Value
from ptxlab.isa.special import SPECIAL

if TYPE_CHECKING:
    from ptxlab.emulate.program.model import Code

GONE = -1
"""Instead of a program counter: the part that ran has ended, or waits."""

RUNS, STUCK = -1, -2
"""Instead of the barrier that a warp has arrived at: it can run; it waits and nothing can end that."""

CLOCKS = {
    "%clock": ("i32", 0), "%clock_hi": ("i32", 32), "%clock64": ("i64", 0),
    "%globaltimer": ("i64", 0), "%globaltimer_lo": ("i32", 0), "%globaltimer_hi": ("i32", 32),
}  # fmt: skip
"""Special registers that count the warp-instructions issued so far: lane type, bits to shift away."""

NONE, ALL = bytes(LANES), b"\x01" * LANES
"""What `mask.tobytes()` gives for no lane and for every lane: the fastest way to ask."""


@dataclass(slots=True, eq=False)
class Wait:
    """What a part waits for: barrier `barrier` of the block (-1: the lanes `members` of its own warp).

    count: threads the barrier wants, 0 for all of the block. stays: false for `bar.arrive`, which goes on once its warp
    has come. meet(warp, part): lets the part go on if all lanes that it waits for are there. finish(warp, mask, count,
    all, any): writes the result of a reduction over `predicate`.
    """

    code: Code
    barrier: int = -1
    count: int = 0
    stays: bool = True
    members: np.ndarray | None = None
    predicate: np.ndarray | None = None
    meet: Callable[[Warp, Part], None] | None = None
    finish: Callable[[Warp, np.ndarray, int, bool, bool], None] | None = None


@dataclass(slots=True, eq=False)
class Part:
    """Lanes at one program counter, and what they wait for."""

    pc: int
    mask: np.ndarray = field(repr=False)
    wait: Wait | None = None


def _bits(parts: list[Part]) -> int:
    """The lanes of some parts, as bits."""
    return sum(mask_bits(part.mask) for part in parts)


class Warp(Access):
    """The Machine that instruction semantics run on. `mask` are the lanes that execute now; `live` have not exited.

    regs: one array a register, then the program's constants. An array in it is never written into, only replaced. pc:
    where the running part goes on. others: the parts that do not run. turns: who goes next. left: the ends of threads
    (code indices) that lanes have come to by a branch, and that the warp is not counted for yet. lanes: how many lanes
    run. polled: since the warp last had its turn in the block it has read what others may change. arrived: the barrier
    at which the whole warp waits. in_flight, executed: its products of wgmma. stopped: no part can run.
    """

    def __init__(self, spaces: Spaces, index: int, regs: list[Any], block_index: int) -> None:
        super().__init__(spaces, index)
        launch = self.machine.launch
        self.regs = regs
        self.carry: Value = np.zeros(LANES, np.bool_)
        first = index * LANES
        self.live: np.ndarray = np.arange(first, first + LANES) < launch.threads
        self.block_index = block_index
        self.pc = self.machine.start
        self.others: list[Part] = []
        self.apart = False
        self.turns = Turns.new()
        self.left: set[int] = set()
        self.polled = False
        self.in_flight = Products.new()
        self.executed = Executed.new()
        self.arrived = RUNS
        self.stopped = False
        self.run_lanes(self.live)
        self._special: dict[str, Value] = {}

    # -- lanes ---------------------------------------------------------------------------------------------------------

    def run_lanes(self, mask: np.ndarray) -> None:
        """Makes these the lanes that run."""
        self.mask, self.bits = mask, mask.tobytes()
        self.full, self.lanes = self.bits == ALL, self.bits.count(1)

    @property
    def done(self) -> bool:
        """Whether every lane has exited."""
        return not self.live.any()

    def leave(self, mask: np.ndarray, pc: int) -> None:
        """These lanes part from the running ones and go on at `pc` when it is their turn."""
        self.others.append(Part(pc, mask))
        self.apart = True

    def retire(self, leaving: np.ndarray) -> None:
        """These lanes end; whoever waited for no one else goes on."""
        self.live = self.live & ~leaving
        for part in [p for p in self.others if p.wait is not None and p.wait.meet is not None]:
            if part.wait is not None and part.wait.meet is not None:
                part.wait.meet(self, part)
        if self.done:
            for index in self.left:
                self.machine.issued[index] += 1

    def leave_by_branch(self, end: int) -> int:
        """The running lanes have branched to an end of threads, the instruction `end`. They do not wait there for
        others: the warp is counted with the last that come."""
        self.machine.threads[end] += self.lanes
        self.left.add(end)
        self.retire(self.mask)
        return GONE

    def wait(self, wait: Wait, pc: int) -> int:
        """The running lanes stop, to go on at `pc` when `wait` is over."""
        self.others.append(Part(pc, self.mask, wait))
        self.apart = True
        return GONE

    def resume(self) -> None:
        """Runs on after a barrier has opened."""
        self.stopped = False
        self.pc = self.choose(GONE)

    def choose(self, pc: int) -> int:
        """Which part runs next, when there are several: called where an instruction has left the running part at `pc`
        and the next may have its turn. GONE when no part can run."""
        others = self.others
        if pc != GONE:
            others.append(Part(pc, self.mask))
        ready = [p for p in others if p.wait is None]
        if not ready:
            self._together()
            return GONE
        pc = min([part.pc for part in ready])
        if not smallest_goes(self.turns):
            lane = next_lane(self.turns, _bits(ready), _bits([part for part in ready if part.pc == pc]))
            pc = next(part.pc for part in ready if part.mask[lane])
        chosen = [part for part in ready if part.pc == pc]
        mask = chosen[0].mask
        for part in chosen:
            mask = mask | part.mask
            others.remove(part)
        self.run_lanes(mask)
        self._together()
        return pc

    def _together(self) -> None:
        if not self.others:
            self.apart = False
            forget(self.turns)

    # -- state of the machine ------------------------------------------------------------------------------------------

    def carry_get(self) -> Value:
        return self.carry

    def carry_set(self, carry: Value) -> None:
        self.carry = carry if self.full else np.where(self.mask, carry, self.carry)

    def special(self, name: str) -> Value:
        if name in CLOCKS:
            lane, shift = CLOCKS[name]
            return np.full(LANES, np.uint64(sum(self.machine.issued) >> shift)).astype(DTYPE[lane])
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = self._read_special(name)
        return found

    def _read_special(self, name: str) -> Value:
        """A special register that keeps its value while the warp lives."""
        launch, program = self.machine.launch, self.machine.program
        register, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            which = "xyz".index(axis)
            if register == "%tid":
                threads = self.warp * LANES + np.arange(LANES)
                return unravel(threads, launch.block)[which].astype(np.uint32)
            value = {
                "%ntid": launch.block, "%nctaid": launch.grid, "%ctaid": unravel(self.block_index, launch.grid),
            }.get(register)  # fmt: skip
            if value is not None:
                return self.const("i32", value[which])
        lane = np.arange(LANES, dtype=np.uint64)
        one = np.uint64(1)
        masks = {
            "%lanemask_eq": one << lane, "%lanemask_lt": (one << lane) - one, "%lanemask_le": (one << lane + one) - one,
            "%lanemask_gt": ~((one << lane + one) - one), "%lanemask_ge": ~((one << lane) - one),
        }  # fmt: skip
        if name in masks:
            return masks[name].astype(np.uint32)
        if name == "%laneid":
            return self.lane_id()
        total = program.dynamic_start + launch.shared
        fixed = {
            "%warpid": self.warp, "%nwarpid": launch.warps, "%nsmid": 1, "%cluster_nctarank": 1,
            "%dynamic_smem_size": launch.shared, "%aggr_smem_size": total,
            "%total_smem_size": total - self.machine.program.shared_start,
        }  # fmt: skip
        if register in ("%nclusterid", "%clusterid"):  # without clusters each block is a cluster of its own
            return self.special(name.replace("cluster", "cta"))
        ones = 1 if register == "%cluster_nctaid" else 0
        return self.const(SPECIAL[name].lane, fixed.get(name, ones))
