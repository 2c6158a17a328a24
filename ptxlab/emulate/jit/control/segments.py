"""Segments: what warps do from one barrier to the next, or from their beginning to their end, if it is short.

Between two barriers the turn of a warp is often some ten instructions, and most warps of a tree do nothing there. To
call a turn, to find its place in the kernel and to count its blocks then takes longer than the turn. So such a piece of
code has a function of its own besides, with a loop over the warps of the CTA:

    for each warp from the first to the last:
        if it is not at the start of the segment with all of its 32 lanes: leave
        run the segment's blocks, which are counted in registers
    add the counts to memory

The loop over rounds (`warp_loop`) calls it where the first warp is at its start. Where a warp cannot go on here (it
diverges, faults, some of its lanes exit) the function says so, and which warp it is.

In full quality only. Segments are code without loops, calls, and what has a body of its own (see `body`), with one
kind of end: no warp has to be told from the others. The round of a grid-stride loop is one, too, which its function
repeats (`grid_stride`).
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.converged_flow import ConvergedFlow
from ptxlab.emulate.jit.control.grid_stride_segments import GridStrideSegment
from ptxlab.emulate.jit.control.partial_exits import PartialExits
from ptxlab.emulate.jit.control.regions import Regions
from ptxlab.emulate.jit.control.segment_search import SegmentSearch
from ptxlab.emulate.jit.control.thread_index_segments import Side, ThreadIndexSegments, leaving
from ptxlab.emulate.jit.control.warp_loop import CONVENTION, ELSEWHERE, OVER, PREDICTED, Segment
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.instruction_text import LIVE
from ptxlab.emulate.jit.llvm.instructions import Operand
from ptxlab.emulate.jit.llvm.ir_text import COLD, PROMOTED, W
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.program.flat_program import Block, Code, Special
from ptxlab.emulate.rules.scheduling_rounds import (
    NONE,
    UNKNOWN,
    YIELDED,
    begin_in_place,
    leave_segment,
)
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class Segments(Part):
    """Writes the functions of segments."""

    def __init__(
        self, blocks: Blocks, converged: ConvergedFlow, regions: Regions, block: Callable[[Block], None],
        partial_exits: Callable[[Block, str], None], side: Side,
    ) -> None:  # fmt: skip
        super().__init__(blocks.e)
        self.blocks = blocks
        self.converged, self.regions, self.block = converged, regions, block
        self.found: list[Segment] = []
        self.texts: list[str] = []
        self.thread_index_segments, self.grid_stride = ThreadIndexSegments(blocks, side), GridStrideSegment(blocks.e)
        self.partial_exits = PartialExits(blocks, partial_exits)
        self.masked = False
        """Whether the warps of the segment that is being written run it with the lanes that they begin with."""
        self.barriers_pass = False
        """See `WarpLoop.barriers_pass`."""
        self.full = -1 if self.e.instruments else self.e.rows.full
        """The lanes that warps run a segment with, unless it is under masks."""

    def find(self) -> None:
        """Finds all segments, before the rest of the code is written."""
        if (
            self.e.small
            or self.e.constant_pool is not None
            or self.converged.loop is None
            or not self.converged.loop.lazy
        ):
            return
        barriers = [code for code in self.program.codes if code.action is Action.BARRIER]
        plain = all(self.converged.barrier(code) != NONE and not code.form.red for code in barriers)
        self.barriers_pass = plain and not self.e.instruments
        search = SegmentSearch(self.e, self.converged, self.regions, barriers_pass=self.barriers_pass)
        self.found = search.find()
        along_y = any(source == Special("%tid.y") for code in self.program.codes for source in code.sources)
        self.e.tiles = along_y and any(segment.whole for segment in self.found)

    def emit(self) -> None:
        """The functions of all segments."""
        if not self.found and not self.barriers_pass:
            return
        body = self.t.lines
        self.e.brief = True
        for segment in self.found:
            self.converged.segment = segment
            self.e.rounds = [] if segment.ended == YIELDED else None
            self._function(segment)
        self.e.brief, self.converged.segment, self.e.rounds = False, None, None
        self.t.lines = body
        assert self.converged.loop is not None
        self.converged.loop.segments, self.converged.loop.barriers_pass = self.found, self.barriers_pass

    def _function(self, segment: Segment) -> None:
        t, e, start = self.t, self.e, self.e.pc(segment.start)
        versioned, parted = segment.whole, list[str]()
        self.masked = versioned and e.wide and not e.instruments and e.rows.ends_within
        self.partial_exits.plan(segment)
        if versioned and e.tiles and self.partial_exits.ways:
            parted = self._parted(segment)
        blocks = self._blocks(segment)
        t.lines = []
        self.blocks.enter()
        for name in self._counters(segment):
            t.alloca("i64", name=name)
            t.store("i64", 0, name)
        if segment.ended == YIELDED:
            self._first_warp()
            self.grid_stride.declare()
        self._surely_there()
        t.alloca("i32", name=f"%{PROMOTED}.result")
        t.alloca("ptr", name=f"%{PROMOTED}.ws")
        before, t.lines = t.lines, []
        self.blocks.enter_warp()
        if self.masked:
            t.get(S.Warp, "first_live", name=LIVE)
        entering, t.lines = t.lines, before
        first = "%first, %entry"
        runs = None
        if versioned:
            from ptxlab.emulate.jit.control.versioned_segments import (
                VersionedSegments,
            )  # most programs have no such loop

            both = ([*lines[:1], *entering, *lines[1:]] if lines else [] for lines in (blocks, parted))
            runs = VersionedSegments(e, None if self.masked else self.full, lambda: self._count_anew(segment))
            first = runs.emit(*both)
        else:
            if not self.thread_index_segments.emit(segment, entering):
                t.go("warp")
            if segment.ended == YIELDED:
                first += "], [%warp.0, %side.by.side"
            if segment.whole:
                first += f"], [%warp.0, %{'next.block' if e.by_warpgroup else 'another'}"
        t.at("warp")
        t.do(f"%ws = phi ptr [{first}], [%ws.next, %warp.next]")
        t.store("ptr", "%ws", f"%{PROMOTED}.ws")
        t.lines += entering
        t.do("br label %look" if segment.sure else f"br i1 %there, label %b{segment.start}, label %look")
        t.at("look")
        counter = t.load("i32", "%converged.pc.at")
        if segment.sure:
            t.go("elsewhere")
        else:
            at_start = t.eq("i32", t.select("%known", "i32", start, counter), start)
            full = t.eq("i32", t.load("i32", "%live.at"), self.lanes)
            t.branch(t.and_("i1", at_start, full), f"b{segment.start}", "elsewhere", COLD)
            t.lines += blocks
        t.at("warp.done")
        if segment.behind != UNKNOWN:
            with t.unless("%known"):
                t.store("i32", segment.behind, "%converged.pc.at")
        goes_on = "warp.group" if e.by_warpgroup else "warp.next"
        t.branch(t.eq("ptr", "%ws", "%last"), "through", goes_on)
        if e.by_warpgroup:
            self._next_group(segment)
        t.at("warp.next")
        t.offset("%ws", e.file.size, "%ws.next")
        t.go("warp")
        t.at("elsewhere")
        t.store("i32", t.select("%known", "i32", start, counter), "%converged.pc.at")
        self._result(str(ELSEWHERE))
        t.at("fault")
        self._result(str(S.FAULT))
        t.at("through")
        if segment.ended == YIELDED:
            self.grid_stride.again(lambda: self._count_anew(segment))
        if runs is not None:
            runs.note_followers()
        if segment.whole:
            t.branch("%known", "place", "over")
            t.at("place")
            t.declared.add(declaration(begin_in_place))
            t.branch(t.let(call(begin_in_place, "%ctx", "%cta")), "another", "over")
            t.at("another")
            if e.by_warpgroup:
                with t.if_then(t.ugt("i64", "%warps", 1 << S.LOG_WARPGROUP)):
                    self._count_anew(segment)
                t.go("next.block")
                t.at("next.block")
            if versioned:
                t.go("begin")
            else:
                self._first_warp()
                t.go("warp")
            t.at("over")
        self._result(str(OVER + segment.ended))
        t.at("leave")
        if runs is not None:
            runs.note_followers()
        self._count(segment)
        t.load("ptr", f"%{PROMOTED}.ws", name="%at.last")
        t.store("ptr", "%at.last", "%left")
        t.load("i32", f"%{PROMOTED}.result", name="%result")
        stopped = t.ne("i32", "%result", OVER + segment.ended)
        with t.if_then(t.and_("i1", "%known", stopped)):
            t.declared.add(declaration(leave_segment))
            t.do(call(leave_segment, "%ctx", "%cta", "%first", "%at.last", str(start), str(segment.behind)))
        t.ret("i32", "%result")
        head = f"define internal {CONVENTION}i32 @{segment.function}(ptr noalias %ctx, ptr noalias %cta, "
        head += f"ptr noalias %first, ptr %last, i1 %known, ptr noalias %left) nounwind alignstack(64) {PREDICTED} {{"
        self.texts.append("\n".join([head, "entry:", *t.lines, "}"]) + "\n")

    def _blocks(self, segment: Segment) -> list[str]:
        """The code of its blocks, and of what `partial_exits` needs besides."""
        t = self.t
        t.lines = []
        for at in segment.blocks:
            block = self.program.blocks[at]
            self.blocks.plan(block)
            self.block(block)
        self.partial_exits.emit()
        for at in segment.left:
            t.at(f"b{at}")
            t.store("i32", self.e.pc(at), "%converged.pc.at")
            t.ret("i32", ELSEWHERE)
        return leaving(t.lines)

    def _parted(self, segment: Segment) -> list[str]:
        """The code of the blocks where lanes of most warps are expected to exit."""
        exits = self.partial_exits
        exits.expected = self.m.lanes_part = True
        found = self._blocks(segment)
        exits.expected = self.m.lanes_part = False
        exits.plan(segment)
        return found

    @property
    def lanes(self) -> str:
        """i32: the lanes that a warp runs the segment with."""
        return LIVE if self.masked else str(self.full)

    @property
    def _threads(self) -> Operand:
        """i64: how many these are."""
        if self.masked:
            return self.t.zext("i32", self.t.call("i32", "llvm.ctpop.i32", [("i32", LIVE)]), "i64")
        return self.e.rows.lanes if self.full != -1 else W

    def _surely_there(self) -> None:
        """At the function's entry, `%there`: whether each warp is at the segment's start, with all of its lanes."""
        t = self.t
        partly = t.get(S.Cta, "partly_exited")
        whole = t.eq("i32", partly, 0)
        if not self.masked:
            live = t.get(S.Warp, "first_live", "%last")
            whole = t.and_("i1", t.eq("i32", live, self.full), whole)
        t.and_("i1", "%known", whole, "%there")

    def _next_group(self, segment: Segment) -> None:
        """The next warp may be of another warpgroup, which has its own counts."""
        t = self.t
        t.at("warp.group")
        number, mask = t.get(S.Warp, "warp_id"), (1 << S.LOG_WARPGROUP) - 1
        with t.if_then(t.eq("i32", t.and_("i32", number, mask), mask)):
            self._count_anew(segment)
        t.go("warp.next")

    def _count_anew(self, segment: Segment) -> None:
        """Executions so far; those of the next warps are counted apart."""
        self._count(segment)
        for name in self._counters(segment):
            self.t.store("i64", 0, name)

    def _first_warp(self) -> None:
        """The CTA's first warp, `%warp.0`."""
        behind = self.t.mul("i64", self.t.sub("i64", 1, "%warps"), self.e.file.size)
        self.t.offset("%last", behind, "%warp.0")

    def _result(self, text: str) -> None:
        """The end of the function."""
        self.t.store("i32", text, f"%{PROMOTED}.result")
        self.t.go("leave")

    @staticmethod
    def _ran(block: int) -> str:
        """How many warps have run a block."""
        return f"%{PROMOTED}.ran{block}"

    @staticmethod
    def _ran_by(block: int) -> str:
        """How many of their threads have, where warps are under masks."""
        return f"%{PROMOTED}.by{block}"

    def _counters(self, segment: Segment) -> list[str]:
        """The counts that the function keeps."""
        threads = map(self._ran_by, segment.blocks) if self.masked else ()
        return [*map(self._ran, segment.blocks), *threads, *self.partial_exits.counters()]

    def count(self, block: Block) -> None:
        """A whole warp runs a block. No lane of it has left before, to be counted with it."""
        self.t.bump(self._ran(block.index), self.t.add, "i64", 1)
        if self.masked:
            self.t.bump(self._ran_by(block.index), self.t.add, "i64", self._threads)

    def leaves(self, code: Code) -> None:
        """A whole warp exits, by a branch if that is one: no lane of it has left before, to be counted with it."""
        if code.leaves >= 0:
            executions = self.e.executions(code.target)
            self.t.bump(self.t.field(S.Executions, "warps", executions), self.t.add, "i64", 1)
            self.t.bump(self.t.field(S.Executions, "threads", executions), self.t.add, "i64", self._threads)

    def _count(self, segment: Segment) -> None:
        """Executions of all blocks, by warps and by threads; and the quantum."""
        t, spent, counts = self.t, "0", "%counts"
        if self.e.by_warpgroup:
            last = t.load("ptr", f"%{PROMOTED}.ws")
            counts = t.let(self.e.of_warpgroup("%all.counts", len(self.program.blocks), last))
        for at in segment.blocks:
            block = self.program.blocks[at]
            ran = t.load("i64", self._ran(at))
            executions, whole = self.e.executions(at, counts), ran
            if at in self.partial_exits.counted:
                ran = t.add("i64", ran, t.load("i64", self.partial_exits.ran(at)))
            t.bump(t.field(S.Executions, "warps", executions), t.add, "i64", ran)
            by = t.load("i64", self._ran_by(at)) if self.masked else t.mul("i64", whole, self._threads)
            place, threads = t.field(S.Executions, "threads", executions), by
            if at in self.partial_exits.counted:
                threads = t.add("i64", threads, t.load("i64", self.partial_exits.threads(at)))
            t.bump(place, t.add, "i64", threads)
            spent = t.add("i64", spent, t.mul("i64", ran, block.last - block.first))
        t.bump(t.field(S.Context, "quantum"), t.sub, "i64", spent)
