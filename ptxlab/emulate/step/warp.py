"""One warp of the stepping engine: 32 lanes, their registers, and the groups they fall into when branches part them.

Lanes that stand at the same place form a part. One part runs; the others wait. The part at the smallest program counter
goes first, and because the program is laid out in running order (see `ptxlab.emulate.program.block_order`), a part that
is ahead waits where the paths join until the others have come there too. A part that goes round a loop for long, above
all one that polls memory, must let the next part have a turn: without this a lane that holds a lock would never give it
back while the rest of its warp spins. Parts may also wait for something: a barrier of the block, or the lanes named in
the member mask of a `.sync` instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.rules.faults import unravel
from ptxlab.emulate.step.access import Access, Spaces
from ptxlab.isa.machine import Value
from ptxlab.isa.special import SPECIAL

if TYPE_CHECKING:
    from ptxlab.emulate.program.model import Code

GONE = -1
"""Instead of a program counter: the part that ran has ended, or waits."""

RUNS, STUCK = -1, -2
"""Instead of the barrier that a warp has arrived at: it can run; it waits and nothing can end that."""

PATIENCE = 4096
"""Loop rounds that a part may make while others wait; a round that polls memory counts as `POLLING`."""
POLLING = 256
TURN = 512
"""Instructions that another part may then run."""

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
    has come. finish(warp, mask, count, all, any): writes the result of a reduction over `predicate`.
    """

    code: Code
    barrier: int = -1
    count: int = 0
    stays: bool = True
    members: np.ndarray | None = None
    predicate: np.ndarray | None = None
    finish: Callable[[Warp, np.ndarray, int, bool, bool], None] | None = None


@dataclass(slots=True, eq=False)
class Part:
    """Lanes at one program counter, and what they wait for."""

    pc: int
    mask: np.ndarray = field(repr=False)
    wait: Wait | None = None


class Warp(Access):
    """The Machine that instruction semantics run on. `mask` are the lanes that execute now; `live` have not exited.

    regs: one array a register, then the program's constants. An array in it is never written into, only replaced.
    pc: where the running part goes on. others: the parts that do not run. lanes: how many lanes run. arrived: the
    barrier at which the whole warp waits. stopped: no part can run.
    """

    def __init__(self, spaces: Spaces, index: int, regs: list[Any], block_index: int) -> None:
        super().__init__(spaces, index)
        launch = self.machine.launch
        self.regs = regs
        self.carry: Value = np.zeros(LANES, np.bool_)
        first = index * LANES
        self.live: np.ndarray = np.arange(first, first + LANES) < launch.threads
        self.block_index = block_index
        self.pc = 0
        self.others: list[Part] = []
        self.apart = False
        self.patience, self.turn = PATIENCE, 0
        self.polled = False
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
        """These lanes exit; whoever waited for no one else goes on."""
        self.live = self.live & ~leaving
        for part in self.others:
            wait = part.wait
            if wait is not None and wait.members is not None and not (wait.members & self.live & ~part.mask).any():
                part.wait = None

    def wait(self, wait: Wait, pc: int) -> int:
        """The running lanes stop, to go on at `pc` when `wait` is over."""
        self.others.append(Part(pc, self.mask, wait))
        self.apart = True
        return GONE

    def resume(self) -> None:
        """Runs on after a barrier has opened."""
        self.stopped = False
        self.pc = self.choose(GONE, GONE)

    def choose(self, pc: int, before: int) -> int:
        """Which part runs next, when there are several: called after each instruction that left the running part at
        `pc`, having been at `before`. GONE when no part can run."""
        others = self.others
        if pc != GONE:
            meeting = [p for p in others if p.pc == pc and p.wait is None]
            if meeting:
                mask = self.mask
                for part in meeting:
                    mask = mask | part.mask
                    others.remove(part)
                self.run_lanes(mask)
                if not others:
                    self._together()
                    return pc
            if self.turn:
                self.turn -= 1
                if self.turn:
                    return pc
            elif pc <= before:
                self.patience -= POLLING if self.polled else 1
                self.polled = False
        ready = [p for p in others if p.wait is None]
        if not ready:
            if pc == GONE and not others:
                self._together()
            return pc
        if pc != GONE:
            if self.patience <= 0:  # the next part in a circle gets a turn, wherever it stands
                self.patience, self.turn = PATIENCE, TURN
                self._swap(min(ready, key=lambda p: (p.pc <= pc, p.pc)), pc)
                return self.pc
            first = min(ready, key=lambda p: p.pc)
            if first.pc < pc:
                self._swap(first, pc)
                return self.pc
            return pc
        first = min(ready, key=lambda p: p.pc)
        self.turn = 0
        others.remove(first)
        self.run_lanes(first.mask)
        if not others:
            self._together()
        # Others may stand at the same place.
        return self.choose(first.pc, GONE) if others else first.pc

    def _swap(self, part: Part, pc: int) -> None:
        self.others.remove(part)
        self.others.append(Part(pc, self.mask))
        self.run_lanes(part.mask)
        self.pc = part.pc

    def _together(self) -> None:
        self.apart, self.patience, self.turn = False, PATIENCE, 0

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
