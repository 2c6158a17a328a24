"""The interface of an instrument (counters, checks, a trace): a hook for each event in emitted code.

Instruments are nested: hooks before an event run in the order of `Emitter.instruments`, those after it in the opposite
order. A check of addresses is an event, too: `located` and `accesses` come after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxlab.emulate.jit.emitter.access_groups import AccessGroup, Seen
from ptxlab.emulate.jit.llvm.values import Address, Value
from ptxlab.emulate.program.flat_program import Block, Code

After = Callable[[], object]
"""What a hook before an event leaves to be called after it."""


class Instrument:
    """The base of instruments, whose hooks do nothing. Each overrides the hooks that it needs; they emit code."""

    by_warpgroup = False
    """Whether executions are counted for each warpgroup."""
    stays = ""
    """i1: whether a warp stays in the function for diverged warps though it has reconverged; "" for no warp."""

    # -- the function and its blocks

    def enters(self) -> None:
        """The entry of a warp: loads values that are needed everywhere."""

    def begins(self) -> None:
        """A label. Values computed before it may not be used after it."""

    # -- one instruction

    def guarded(self, code: Code) -> None:
        """The active mask is that of this instruction, its guard applied."""

    def before(self, code: Code) -> After | None:
        """Before an instruction that does not end a block; what is returned is called after it."""

    def ends(self, code: Code) -> None:
        """Before an instruction that ends a block."""

    def branches(self, target: Value | None) -> None:
        """Lanes whose guard holds go to a program counter, the others on. None: the lanes that branch exit."""

    # -- memory

    def located(self, group: AccessGroup, uniform: bool) -> None:
        """After the addresses of a group of accesses have been checked, by the first of them."""

    def accesses(self, seen: Seen) -> None:
        """After the addresses of a load or store have been checked, and before its data move."""

    def accessed_local(self, at: Value, size: int, stores: bool) -> None:
        """After a load or store of local memory. at: where, an i64 that is right in all active lanes."""

    def copied_frame(self, source: int, dest: int, size: int) -> None:
        """After arguments or results of a call have been copied from frame to frame."""

    def atomic(self, address: Address) -> After | None:
        """Before an atomic operation; what is returned is called after it."""

    def tile(self, code: Code, address: Value, stride: Value | None) -> None:
        """After a wmma load or store. stride: elements from one row or column to the next, if given."""

    # -- lanes that synchronize

    def arrives(self, code: Code) -> None:
        """Lanes arrive at a `.sync` instruction, which synchronizes lanes of their warp. (A barrier: `barrier`.)"""

    def synced(self, code: Code, brought: list[Any] | None) -> None:
        """Lanes have synchronized there. brought: their operands, if the warp was diverged."""

    def barrier(self, block: Block, code: Code) -> None:
        """Before lanes arrive at a barrier of their thread block, by `bar.sync`, `.red` or `.arrive`."""

    def barrier_arrives(self, offset: str) -> None:
        """Before a whole warp passes `bar.arrive`. offset: four times the barrier's number, an i64."""

    def cluster_barrier(self, code: Code) -> None:
        """Before lanes arrive or wait at the barrier of the cluster."""
