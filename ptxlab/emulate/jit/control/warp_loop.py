"""The loop of the function for converged warps over the warps of a CTA, and over CTAs.

    for each warp from the one that the function was called with:
        run it from its program counter until it has exited or waits at a barrier
        if it was the last, and all turns of the round ended alike: end the round (`rules.scheduling_rounds.end_alike`)

If they did, there is another loop for the rounds that follow (`_rounds`), as long as they do so: there the warps are
known to be able to run, and their states need not say how their turns have ended.

A turn is a function of its own: in one function with the loop, LLVM's register allocator and scheduler take 1.3 times
as long for the same code. The scheduler gives turns in the same order. It has the turn again, by a return, where a warp
diverges, faults or is suspended, where the next warp waits, has exited or has diverged, at the end of a round that
ended in more than one way, and after each turn where the order is random.
"""

from __future__ import annotations

import os
import platform
from typing import NamedTuple

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.instructions import Operand
from ptxlab.emulate.jit.llvm.ir_text import COLD, SIGNATURE
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.rules.instructions import scheduled
from ptxlab.emulate.rules.lane_scheduling import count_ends
from ptxlab.emulate.rules.scheduling_rounds import (
    ANY,
    AT_BARRIER,
    EXITED,
    NONE,
    UNKNOWN,
    YIELDED,
    end_alike,
    leave_round,
)
from ptxlab.emulate.runtime import state as S

FIRST = "%first"
"""The warp that the function is called with; `%ws` is the one that has its turn."""
TURN = "turn"
"""The function that runs a warp for a turn."""
TURN_SIGNATURE = f"{SIGNATURE}%ws, i32 %start"
"""Its parameters: the last is the program counter at which the warp goes on."""
_SAVES_NONE = os.name != "nt" and platform.machine().lower() in ("x86_64", "amd64", "aarch64", "arm64")
CONVENTION = "preserve_nonecc " if _SAVES_NONE else ""
"""How it is called. The loop has fewer registers to keep than the function, and a turn may be short: so the loop saves
them, where LLVM has a calling convention for that."""
OVER = 16
"""The smallest result of a turn after which the next warp may have its own: how it ended is added (see
`rules.scheduling_rounds`), others are those of the function."""
ELSEWHERE = OVER - 1
"""The result of a segment where a warp has to go on from its program counter elsewhere."""
ENDED = "partial.end"
"""The label in a segment of what is left to do for a warp of which some lanes have exited before the others."""
FEW = 3
"""Warps of a CTA from which on segments are worth their beginning and their end, if no other CTA follows in them."""
PREDICTED = '"no-jump-tables"="true"'
"""The attribute of functions that go on where a warp's program counter says. After a barrier all warps go on at one
place, then at another one: CPUs predict such comparisons well, and jumps through a table badly (11 cycles for each turn
of a warp on Zen 4)."""


class Segment(NamedTuple):
    """What warps run from the start of a turn to its end (see `segments`): its blocks, the one where it starts first,
    and how it ends (see `rules.scheduling_rounds`). goes_back: whether it has a branch backwards. whole: whether it is
    all that the warps of a CTA run, so that the next CTA may follow in its function. sure: whether only CTAs of which
    all is known before run in it. behind: the program counter at which all warps go on, `UNKNOWN` where they exit, or
    where their states have to say it. left: blocks behind the ends of loops, at which warps go on elsewhere."""

    blocks: tuple[int, ...]
    ended: int
    goes_back: bool
    whole: bool
    sure: bool
    behind: int
    left: tuple[int, ...]

    @property
    def start(self) -> int:
        """The block where it starts."""
        return self.blocks[0]

    @property
    def function(self) -> str:
        """The name of its function."""
        return f"segment{self.start}"


_OF_SEGMENTS = frozenset({"segment.through", "segment.stopped", "round.resumed", "segment.again"})
"""Labels of the loop over rounds that are there if the program has segments."""


class WarpLoop(Part):
    """What the loop adds to the function: its beginning, the ends of turns, and what all of these lead to."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.segments: list[Segment] = []
        """The pieces of code that have functions of their own for all warps in turn."""
        self.barriers_pass = False
        """Whether nothing is to be done where all warps wait at a barrier: they go on at once."""
        self._goes_on = False
        """Whether any turn ends so that the next warp may have its own."""
        self.lazy = all(each.lazy for each in e.instruments) and not any(scheduled(self.program.codes).values())
        """Whether a turn leaves it to the loop to note that all lanes have exited or wait, because no check and no
        other warp asks for that."""

    def next_warp(self, ended: int, *, in_segment: bool) -> None:
        """The end of a turn (see `rules.scheduling_rounds`). in_segment: its function goes on with the next warp
        itself."""
        if ended == EXITED and self.program.exits and not in_segment:
            bits = self.t.get(S.Warp, "ended")
            with self.t.unless(self.t.eq("i32", bits, 0), cold=True):
                self.t.do(call(count_ends, "%ctx", "%ws"))
                self.t.put(S.Warp, "ended", 0)
            self.t.declared.add(declaration(count_ends))
        if in_segment:
            self.t.go("warp.done")
            return
        self._goes_on = True
        self.t.ret("i32", OVER + ended)

    def function(self) -> str:
        """The text of the function that has the loop."""
        around, self.t.lines = self.t.lines, []
        self._begin()
        self._end()
        lines, self.t.lines = self.t.lines, around
        head = f"define i32 @{self.e.name}({SIGNATURE}{FIRST}) nounwind {PREDICTED} {{"
        return "\n".join([head, "entry:", *lines, "}"]) + "\n"

    def _begin(self) -> None:
        """At the function's entry: the states of the first and the last warp; the head of the loop, and a turn."""
        t, size = self.t, self.e.file.size
        if self.segments:
            t.alloca("ptr", name="%stopped.at")
        self.e.held(S.Context, "warps", "i64")
        t.offset("%cta", S.Cta.offset("position"), "%position.at")
        t.load("i64", "%position.at", name="%position")
        t.get(S.Context, "random", name="%random")
        t.eq("i64", "%random", 0, "%in.order")
        back = t.mul("i64", "%position", f"-{size}")
        t.offset(FIRST, back, "%warp.0")
        behind = t.mul("i64", t.sub("i64", "%warps", 1), size)
        last = t.offset("%warp.0", behind)
        t.select("%in.order", "ptr", last, FIRST, "%last")
        whole = t.and_("i1", "%in.order", t.eq("i64", "%position", 0))
        before = t.select(whole, "i32", ANY, NONE)
        t.go("turn")
        t.at("turn")
        sources = [(FIRST, before, "entry")]
        if self._goes_on:
            sources += [("%next", "%so.far", "turn.step")]
            sources += [] if self.lazy else [("%warp.0", str(ANY), "turn.another")]
        for name, kind, k in (("ws", "ptr", 0), ("before", "i32", 1)):
            t.phi(kind, *((source[k], source[2]) for source in sources), name=f"%{name}")
        t.do(f"%result = {self._call('%ws', self._counter('%ws'))}")

    def _counter(self, warp: str) -> str:
        """The program counter of a converged warp."""
        return self.t.get(S.Warp, "converged_pc", warp)

    @staticmethod
    def _call(warp: str, counter: str) -> str:
        """The call of a turn."""
        return f"call {CONVENTION}i32 @{TURN}(ptr %ctx, ptr %cta, ptr {warp}, i32 {counter})"

    def _end(self) -> None:
        """After a turn."""
        t = self.t
        if not self._goes_on:
            t.ret("i32", "%result")
            return
        t.declared.add(declaration(end_alike))
        t.branch(t.uge("i32", "%result", OVER), "turn.ended", "turn.return", COLD)
        t.at("turn.return")
        t.ret("i32", "%result")
        t.at("turn.ended")
        t.sub("i32", "%result", OVER, "%ended")
        if self.lazy and any(code.ends_turn for code in self.program.codes):
            with t.unless(t.eq("i32", "%ended", YIELDED)):
                self._settle()
        elif self.lazy:
            self._settle()
        alike = t.or_("i1", t.eq("i32", "%before", ANY), t.eq("i32", "%before", "%ended"))
        t.select(alike, "i32", "%ended", NONE, "%so.far")
        t.branch(t.eq("ptr", "%ws", "%last"), "turn.round", "turn.look")
        t.at("turn.look")
        t.offset("%ws", self.e.file.size, "%next")
        live, wait, diverged = (t.get(S.Warp, name, "%next") for name in ("live", "wait", "diverged"))
        ready = t.and_("i32", live, t.xor("i32", wait, -1))
        can = t.and_("i1", t.ne("i32", ready, 0), t.eq("i32", diverged, 0))
        t.branch(can, "turn.step", "turn.done", COLD)
        t.at("turn.step")
        t.bump("%position.at", t.add, "i64", 1)
        t.go("turn")
        t.at("turn.round")
        t.branch(t.ugt("i32", "%so.far", NONE), "turn.alike", "turn.done")
        t.at("turn.alike")
        begun = t.let(call(end_alike, "%ctx", "%cta", "%so.far", "true"))
        t.branch(begun, "turn.another", "turn.done", COLD)
        t.at("turn.another")
        if self.lazy:
            self._rounds()
        else:
            t.go("turn")
        t.at("turn.done")
        t.ret("i32", S.DONE)

    def _settle(self) -> None:
        """The warp's state says how its turn has ended."""
        t = self.t
        live = t.get(S.Warp, "live", "%ws")
        with t.if_else(t.eq("i32", "%ended", EXITED)) as (exited, waits):
            with exited:
                t.put(S.Warp, "live", 0, "%ws")
            with waits:
                place = t.element("i32", t.field(S.Warp, "bar", "%ws"), "%ended", by="i32")
                place = t.element("i32", place, -AT_BARRIER, by="i32")
                t.store("i32", live, place)
                t.put(S.Warp, "wait", live, "%ws")

    def _rounds(self) -> None:
        """Rounds in which all warps have their turns, in order, until turns of one round do not end alike. `%at` is the
        program counter of all warps, or `UNKNOWN`: their states do not say it where a CTA has begun here, nor behind a
        segment."""
        t, entry = self.t, self.e.pc(self.program.entry)
        t.declared.add(declaration(leave_round))
        t.eq("i32", "%so.far", EXITED, "%begins")
        t.select("%begins", "i32", entry, UNKNOWN, "%at.first")
        t.go("round")
        t.at("round")
        onward = [("%segment.behind", "segment.through")] if self.barriers_pass else []
        self._phi("at", "i32", ("%at.first", "turn.another"), ("%at.again", "round.end"), *onward)
        t.ne("i32", "%at", UNKNOWN, "%known")
        counter = t.select("%known", "i32", "%at", self._counter("%warp.0"))
        self._choose(counter)
        t.at("round.first")
        t.do(f"%first.result = {self._call('%warp.0', counter)}")
        alike = t.uge("i32", "%first.result", OVER)
        t.branch(alike, "round.next", "round.left", COLD)
        t.at("round.next")
        self._phi("rw", "ptr", ("%warp.0", "round.first"), ("%rw.next", "round.step"), ("%stopped", "segment.again"))
        self._phi(
            "alike", "i32", ("%first.result", "round.first"), ("%alike", "round.step"), ("%expected", "segment.again")
        )
        t.branch(t.eq("ptr", "%rw", "%last"), "round.end", "round.step")
        t.at("round.step")
        t.offset("%rw", self.e.file.size, "%rw.next")
        counter = t.select("%known", "i32", "%at", self._counter("%rw.next"))
        t.do(f"%next.result = {self._call('%rw.next', counter)}")
        alike = t.eq("i32", "%next.result", "%alike")
        t.branch(alike, "round.next", "round.left", COLD)
        t.at("round.end")
        self._phi("all.alike", "i32", ("%alike", "round.next"), ("%segment.result", "segment.through"))
        self._phi("all.at", "i32", (UNKNOWN, "round.next"), ("%segment.behind", "segment.through"))
        t.sub("i32", "%all.alike", OVER, "%all.ended")
        t.eq("i32", "%all.ended", EXITED, "%begins.again")
        t.select("%begins.again", "i32", entry, "%all.at", "%at.again")
        another = t.let(call(end_alike, "%ctx", "%cta", "%all.ended", "false"))
        t.branch(another, "round", "round.left", COLD)
        t.at("round.left")
        for name, kind, end, *others in (
            ("warp", "ptr", "%last", "%warp.0", "%rw.next", "%stopped", "%stopped"),
            ("result", "i32", "%all.alike", "%first.result", "%next.result", "%segment.result", "%resumed.result"),
            ("before", "i32", "%all.alike", "%first.result", "%alike", "%segment.alike", "%expected"),
        ):
            first, step, stopped, resumed = others
            ways = [(first, "round.first"), (step, "round.step"), (end, "round.end")]
            ways += [(stopped, "segment.stopped"), (resumed, "round.resumed")]
            self._phi(f"leaving.{name}", kind, *ways)
        over = t.uge("i32", "%leaving.result", OVER)
        ended = t.select(over, "i32", t.sub("i32", "%leaving.result", OVER), NONE)
        before = t.sub("i32", "%leaving.before", OVER)
        t.do(call(leave_round, "%ctx", "%cta", "%leaving.warp", before, ended, "%at"))
        t.ret("i32", t.select(over, "i32", S.DONE, "%leaving.result"))

    def _phi(self, name: str, kind: str, *ways: tuple[Operand, str]) -> None:
        """A value that several ways bring; those of segments, if there are any."""
        there = [way for way in ways if self.segments or way[1] not in _OF_SEGMENTS]
        self.t.phi(kind, *there, name=f"%{name}")

    def _choose(self, counter: str) -> None:
        """The segment at which a round begins, if it is one, for all warps. It may leave the round to turns of single
        warps, from any of them on."""
        t = self.t
        if not self.segments:
            t.go("round.first")
            return
        few = 1 if self.segments[0].whole else FEW
        few = 1 if any(each.ended == YIELDED for each in self.segments) else few
        t.branch(t.uge("i64", "%warps", few), "round.choose", "round.first")
        t.at("round.choose")
        begins = [(self.e.pc(each.start), f"begin.{each.function}") for each in self.segments]
        t.branch_by(counter, "round.first", begins)
        results, alike, starts, behind, again = (list[tuple[Operand, str]]() for _ in range(5))
        for each in self.segments:
            name, pc = each.function, self.e.pc(each.start)
            t.at(f"begin.{name}")
            if each.goes_back:  # a turn of a single warp then ends there
                left = t.get(S.Context, "quantum")
                goes_on = t.sge("i64", left, 0)
                t.branch(goes_on, f"call.{name}", "round.first", COLD)
            else:
                t.go(f"call.{name}")
            t.at(f"call.{name}")
            first = t.phi("ptr", ("%warp.0", f"begin.{name}"), ("%behind", "segment.again"))
            known = t.phi("i1", ("%known", f"begin.{name}"), ("false", "segment.again"))
            given = "ptr %ctx", "ptr %cta", f"ptr {first}", "ptr %last", f"i1 {known}", "ptr %stopped.at"
            result = t.call_function("i32", name, *given, convention=CONVENTION)
            results.append((result, f"call.{name}"))
            alike.append((OVER + each.ended, f"call.{name}"))
            starts.append((pc, f"call.{name}"))
            all_there = t.eq("ptr", first, "%warp.0")
            there = t.select(all_there, "i32", each.behind, UNKNOWN)
            behind.append((there, f"call.{name}"))
            again.append((pc, f"call.{name}"))
            t.go("segment.over")
        t.at("segment.over")
        self._phi("segment.result", "i32", *results)
        self._phi("segment.alike", "i32", *alike)
        self._phi("segment.start", "i32", *starts)
        self._phi("segment.behind", "i32", *behind)
        alike_all = t.eq("i32", "%segment.result", "%segment.alike")
        t.branch(alike_all, "segment.through", "segment.stopped")
        t.at("segment.through")
        if self.barriers_pass:
            goes_on = t.ne("i32", "%segment.behind", UNKNOWN)
            t.branch(goes_on, "round", "round.end")
        else:
            t.go("round.end")
        t.at("segment.stopped")
        t.load("ptr", "%stopped.at", name="%stopped")
        goes_on = t.eq("i32", "%segment.result", ELSEWHERE)
        t.branch(goes_on, "round.resumed", "round.left")
        t.at("round.resumed")
        t.do(f"%resumed.result = {self._call('%stopped', self._counter('%stopped'))}")
        is_first = t.eq("ptr", "%stopped", "%warp.0")
        t.select(is_first, "i32", "%resumed.result", "%segment.alike", "%expected")
        over = t.uge("i32", "%resumed.result", OVER)
        alike_too = t.and_("i1", over, t.eq("i32", "%resumed.result", "%expected"))
        t.branch(alike_too, "segment.again", "round.left", COLD)
        t.at("segment.again")  # if all is as it was, for the warps behind that one
        there = t.eq("ptr", "%stopped", "%last")
        t.offset("%stopped", self.e.file.size, "%behind")
        t.select(there, "ptr", "%stopped", "%behind", "%looked.at")
        counter = self._counter("%looked.at")
        kind = t.eq("i32", "%expected", "%segment.alike")
        place = t.eq("i32", counter, "%segment.start")
        as_before = t.and_("i1", t.and_("i1", kind, place), t.xor("i1", there, "true"))
        chosen = t.select(as_before, "i32", "%segment.start", -1)
        t.branch_by(chosen, "round.next", again)
