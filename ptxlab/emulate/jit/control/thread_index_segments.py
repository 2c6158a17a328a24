"""Segments in which most warps of a CTA have nothing to do: the steps of a tree reduction in shared memory.

Where it is known which lanes take a side (see `analysis.thread_index_branches`), the warps that take it run it, and all
others are passed over. That holds for CTAs of one row of full warps. Others run the segment's loop.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.analysis.thread_index_branches import SideFinder, ThreadIndexBranch
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.warp_loop import Segment
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, W
from ptxlab.emulate.rules.scheduling_rounds import EXITED, UNKNOWN, YIELDED
from ptxlab.emulate.runtime import state as S

Side = Callable[[ThreadIndexBranch], None]
"""What writes the code of one."""


class ThreadIndexSegments(Part):
    """Writes the code for such sides, in the functions of segments."""

    def __init__(self, blocks: Blocks, side: Side) -> None:
        super().__init__(blocks.e)
        self.blocks, self.side = blocks, side
        self.finder = SideFinder(self.program, self.e.scalars, self.e.alive)

    def emit(self, segment: Segment, entering: list[str]) -> bool:
        """The end of a function's entry: whether the segment has such a side. Then its code follows, which ends at the
        label `through`; other CTAs go on at `warp`. entering: what a warp begins with."""
        known = self._found(segment)
        if known is None:
            return False
        from ptxlab.emulate.jit.llvm.instruction_text import LET, NAME  # here, as most programs have no such side

        t, before = self.t, self.t.lines
        t.lines = []
        self.side(known)
        t.go("side.done")
        side, t.lines = leaving(t.lines), before
        self._ask()
        t.at("few")
        warps = t.trunc("i64", "%warps", "i32")
        there = t.lshr("i32", -1, t.sub("i32", W, warps))
        taking = t.and_("i32", there, known.warps)
        self._count(known, t.zext("i32", t.call("i32", "llvm.ctpop.i32", [("i32", taking)]), "i64"))
        t.branch(t.eq("i32", taking, 0), "through", "side.warp")
        t.at("side.warp")
        left = t.phi("i32", (taking, "few"), ("%side.left", "side.done"))
        number = t.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
        at = t.mul("i64", t.zext("i32", number, "i64"), self.e.file.size)
        t.offset("%first", at, "%side.ws")
        t.store("ptr", "%side.ws", f"%{PROMOTED}.ws")
        own = {found[1] for line in entering if (found := LET.match(line.strip()))}
        for line in [*entering, *side]:
            t.lines.append(NAME.sub(lambda m: "%side.ws" if m[0] == "%ws" else m[0] + ".s" * (m[0] in own), line))
        t.at("side.done")
        t.and_("i32", left, t.sub("i32", left, 1), "%side.left")
        t.branch(t.eq("i32", "%side.left", 0), "through", "side.warp")
        return True

    def _found(self, segment: Segment) -> ThreadIndexBranch | None:
        """The side that a segment is all about."""
        e = self.e
        one_end = segment.ended == EXITED or (segment.behind != UNKNOWN and segment.ended != YIELDED)
        if e.instruments or e.machine.carries or e.rows.width != W or e.rows.lanes or segment.whole or not one_end:
            return None
        known = self.finder.side(segment.start) if len(segment.blocks) == 3 else None
        if known is None or {known.ahead.index, known.side.index, known.join.index} != set(segment.blocks):
            return None
        return known

    def _ask(self) -> None:
        """Whether the CTA is one row of full warps, which are all there."""
        t, fits = self.t, "%there"
        for axis in "yz":
            threads = t.get(S.Context, f"block_{axis}")
            fits = t.and_("i1", fits, t.eq("i32", threads, 1))
        t.branch(fits, "few", "warp")

    def _count(self, known: ThreadIndexBranch, taking: str) -> None:
        """All warps run what is ahead of the side and behind it, some the side."""
        t, side, spent = self.t, known.side, "0"
        for block, number in ((known.ahead, "%warps"), (known.join, "%warps"), (side, taking)):
            executions = self.e.executions(block.index)
            lanes = known.lanes.bit_count() if block is side else W
            t.bump(t.field(S.Executions, "warps", executions), t.add, "i64", number)
            t.bump(t.field(S.Executions, "threads", executions), t.add, "i64", t.mul("i64", number, lanes))
            spent = t.add("i64", spent, t.mul("i64", number, block.last - block.first))
        t.bump(t.field(S.Context, "quantum"), t.sub, "i64", spent)


def leaving(lines: list[str]) -> list[str]:
    """The code of a segment, which leaves its function by way of the label `leave`."""
    out = []
    for line in lines:
        if line.startswith("  ret i32 "):
            out += [f"  store i32 {line.removeprefix('  ret i32 ')}, ptr %{PROMOTED}.result", "  br label %leave"]
        else:
            out.append(line)
    return out
