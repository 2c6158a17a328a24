"""initcheck: accesses to shared memory that one comparison of addresses shows to be right.

Between two gaps, shared memory is soon written from the beginning of the stretch on without a hole; `Block.reached`
says how far. What lies in front of that has been written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import initcheck
from ptxlab.emulate.rules.accesses import HALVES_IN_A_ROW, IN_A_ROW
from ptxlab.emulate.rules.launches import gaps_of
from ptxlab.emulate.rules.records import STRETCHES, Block

Bytes = list[tuple[int, int]]
"""What is accessed behind an offset: where each part begins, and its bytes."""


class SharedWritten(Part):
    """The comparisons."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory
        gaps = gaps_of(self.program) if self.program.shared_gap else [0]
        self.starts = [0, *(at + size for at, size in zip(gaps[1::2], gaps[2::2], strict=True))]
        """Where the stretches begin."""

    @contextmanager
    def unless_one(self, off: str, accessed: Bytes, *, write: bool = False) -> Iterator[None]:
        """Code that runs unless all that is accessed behind an offset, an i64, is known to be written."""
        stretch, _, reached = self._stretch(off)
        end = self.t.add("i64", off, max(at + size for at, size in accessed))
        with self._unless(self.t.ule("i64", end, reached), stretch, write):
            yield

    @contextmanager
    def unless_near(self, group: Group, accessed: Bytes, *, write: bool) -> Iterator[None]:
        """The same of the offsets of all lanes, those of a group."""
        halves = 2 if group.lanes is not None and HALVES_IN_A_ROW in group.patterns else 1
        if self.active.partly or self.active.guard is not None or not group.patterns & {IN_A_ROW, HALVES_IN_A_ROW}:
            good, stretch = self._lanes(self.memory.sites.offsets(group), accessed, self.active.bits)
        else:
            good, stretch = self._rows(group, halves, accessed)
        with self._unless(good, stretch, write):
            yield

    @contextmanager
    def unless_lanes(self, offsets: str, accessed: Bytes, mask: str, *, write: bool = False) -> Iterator[None]:
        """The same of any 32 offsets, a vector of i32, for the lanes of a mask."""
        good, stretch = self._lanes(offsets, accessed, mask)
        with self._unless(good, stretch, write):
            yield

    @contextmanager
    def _unless(self, good: str, stretch: str, write: bool) -> Iterator[None]:
        """The same; after a read it is found out how far the stretch is written meanwhile."""
        if len(self.starts) > STRETCHES:
            yield
            return
        with self.t.unless(good):
            yield
            if not write:
                self.t.do(call(initcheck.reach, "%check.block", stretch))

    def _stretch(self, off: str) -> tuple[str, str, str]:
        """Of the stretch that an offset lies in: its number, where it begins, and up to where it is written."""
        t, place = self.t, self.t.field(Block, "reached", "%check.block")
        number, low = "0", "0"
        for start in self.starts[1:STRETCHES]:
            behind = t.uge("i64", off, start)
            number = t.add("i64", number, t.zext("i1", behind, "i64"))
            low = t.select(behind, "i64", start, low)
        place = place if number == "0" else t.element("i64", place, number)
        return number, low, t.load("i64", place, align=8)

    def _rows(self, group: Group, halves: int, accessed: Bytes) -> tuple[str, str]:
        """i1: whether the lanes form a row, or a row of each half, which is known to be written; and the stretch."""
        t, size = self.t, max(at + size * W // halves for at, size in accessed)
        stretch, low, reached = self._stretch(group.halves[0])
        good = t.eq("i32", group.pattern, IN_A_ROW if halves == 1 else HALVES_IN_A_ROW)
        for off in group.halves[:halves]:
            end = t.add("i64", off, size)
            good = t.and_("i1", good, t.ule("i64", end, reached))
        if halves == 2 and low != "0":
            good = t.and_("i1", good, t.uge("i64", group.halves[1], low))
        return good, stretch

    def _lanes(self, offsets: str, accessed: Bytes, mask: str) -> tuple[str, str]:
        """i1: whether all that the lanes of a mask access is known to be written, in one stretch; and that."""
        t, kind = self.t, f"<{W} x i32>"
        first = t.zext("i32", t.extract(kind, offsets, 0), "i64")
        stretch, low, reached = self._stretch(first)
        room = t.sub("i64", reached, max(at + size for at, size in accessed))
        if low != "0":
            room = t.sub("i64", room, low)
            offsets = t.sub(kind, offsets, t.splat("i32", t.trunc("i64", low, "i32")))
        last = t.splat("i32", t.trunc("i64", room, "i32"))
        beyond = t.bitcast(f"<{W} x i1>", t.ugt(kind, offsets, last), "i32")
        none = t.eq("i32", t.and_("i32", beyond, mask), 0)
        return t.and_("i1", none, t.sge("i64", room, 0)), stretch
