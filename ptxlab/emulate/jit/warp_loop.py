"""The loop of the function for converged warps over the warps of a CTA, and over CTAs.

    for each warp from the one that the function was called with:
        run it from its program counter until it has exited or waits at a barrier
        if it was the last, and all turns of the round ended alike: end the round (`rules.rounds.end_alike`)

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
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.irtext import COLD, SIGNATURE
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call, declaration
from ptxlab.emulate.rules.instructions import scheduled
from ptxlab.emulate.rules.rounds import ANY, AT_BARRIER, EXITED, NONE, end_alike, leave_round
from ptxlab.emulate.rules.turns import count_ends
from ptxlab.emulate.runtime import state as S

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter

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
"""The smallest result of a turn after which the next warp may have its own: how it ended is added (see `rules.rounds`),
others are those of the function."""


class WarpLoop(Part):
    """What the loop adds to the function: its beginning, the ends of turns, and what all of these lead to."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self._goes_on = False
        """Whether any turn ends so that the next warp may have its own."""
        self.lazy = not e.instruments and not any(scheduled(self.program.codes).values())
        """Whether a turn leaves it to the loop to note that all lanes have exited or wait, because no check and no
        other warp asks for that."""

    def next_warp(self, ended: int) -> None:
        """The end of a turn (see `rules.rounds`)."""
        if ended == EXITED and self.program.exits:
            bits = self.t.let(f"load i32, ptr {self.t.field(S.Warp, 'ended')}")
            with self.t.unless(self.t.let(f"icmp eq i32 {bits}, 0"), cold=True):
                self.t.do(call(count_ends, "%ctx", "%ws"))
                self.t.do(f"store i32 0, ptr {self.t.field(S.Warp, 'ended')}")
            self.t.declared.add(declaration(count_ends))
        self._goes_on = True
        self.t.do(f"ret i32 {OVER + ended}")

    def function(self) -> str:
        """The text of the function that has the loop."""
        around, self.t.lines = self.t.lines, []
        self._begin()
        self._end()
        lines, self.t.lines = self.t.lines, around
        head = f"define i32 @{self.e.name}({SIGNATURE}{FIRST}) nounwind {{"
        return "\n".join([head, "entry:", *lines, "}"]) + "\n"

    def _begin(self) -> None:
        """At the function's entry: the states of the first and the last warp; the head of the loop, and a turn."""
        t, size = self.t, self.e.file.size
        self.e.held(S.Context, "warps", "i64")
        t.do(f"%position.at = getelementptr i8, ptr %cta, i64 {S.Cta.offset('position')}")
        t.do("%position = load i64, ptr %position.at")
        t.do(f"%random = load i64, ptr {t.field(S.Context, 'random')}")
        t.do("%in.order = icmp eq i64 %random, 0")
        back = t.let(f"mul i64 %position, -{size}")
        t.do(f"%warp.0 = getelementptr i8, ptr {FIRST}, i64 {back}")
        behind = t.let(f"mul i64 {t.let('sub i64 %warps, 1')}, {size}")
        last = t.let(f"getelementptr i8, ptr %warp.0, i64 {behind}")
        t.do(f"%last = select i1 %in.order, ptr {last}, ptr {FIRST}")
        whole = t.let(f"and i1 %in.order, {t.let('icmp eq i64 %position, 0')}")
        before = t.let(f"select i1 {whole}, i32 {ANY}, i32 {NONE}")
        t.go("turn")
        t.at("turn")
        sources = [(FIRST, before, "entry")]
        if self._goes_on:
            sources += [("%next", "%so.far", "turn.step")]
            sources += [] if self.lazy else [("%warp.0", str(ANY), "turn.another")]
        for name, kind, k in (("ws", "ptr", 0), ("before", "i32", 1)):
            t.do(f"%{name} = phi {kind} " + ", ".join(f"[{source[k]}, %{source[2]}]" for source in sources))
        t.do(f"%result = {self._call('%ws', self._counter('%ws'))}")

    def _counter(self, warp: str) -> str:
        """The program counter of a converged warp."""
        return self.t.let(f"load i32, ptr {self.t.field(S.Warp, 'fast_pc', warp)}")

    @staticmethod
    def _call(warp: str, counter: str) -> str:
        """The call of a turn."""
        return f"call {CONVENTION}i32 @{TURN}(ptr %ctx, ptr %cta, ptr {warp}, i32 {counter})"

    def _end(self) -> None:
        """After a turn."""
        t = self.t
        if not self._goes_on:
            t.do("ret i32 %result")
            return
        t.declared.add(declaration(end_alike))
        t.do(f"br i1 {t.let(f'icmp uge i32 %result, {OVER}')}, label %turn.ended, label %turn.return{COLD}")
        t.at("turn.return")
        t.do("ret i32 %result")
        t.at("turn.ended")
        t.do(f"%ended = sub i32 %result, {OVER}")
        if self.lazy:
            self._settle()
        alike = t.let(f"or i1 {t.let(f'icmp eq i32 %before, {ANY}')}, {t.let('icmp eq i32 %before, %ended')}")
        t.do(f"%so.far = select i1 {alike}, i32 %ended, i32 {NONE}")
        t.do(f"br i1 {t.let('icmp eq ptr %ws, %last')}, label %turn.round, label %turn.look")
        t.at("turn.look")
        t.do(f"%next = getelementptr i8, ptr %ws, i64 {self.e.file.size}")
        live, wait, mode = (
            t.let(f"load i32, ptr {t.field(S.Warp, name, '%next')}") for name in ("live", "wait", "mode")
        )
        ready = t.let(f"and i32 {live}, {t.let(f'xor i32 {wait}, -1')}")
        can = t.let(f"and i1 {t.let(f'icmp ne i32 {ready}, 0')}, {t.let(f'icmp eq i32 {mode}, 0')}")
        t.do(f"br i1 {can}, label %turn.step, label %turn.done{COLD}")
        t.at("turn.step")
        t.bump("%position.at", "add i64", "1")
        t.go("turn")
        t.at("turn.round")
        t.do(f"br i1 {t.let(f'icmp ugt i32 %so.far, {NONE}')}, label %turn.alike, label %turn.done")
        t.at("turn.alike")
        begun = t.let(call(end_alike, "%ctx", "%cta", "%so.far", "true"))
        t.do(f"br i1 {begun}, label %turn.another, label %turn.done{COLD}")
        t.at("turn.another")
        if self.lazy:
            self._rounds()
        else:
            t.go("turn")
        t.at("turn.done")
        t.do(f"ret i32 {S.DONE}")

    def _settle(self) -> None:
        """The warp's state says how its turn has ended."""
        t = self.t
        live = t.let(f"load i32, ptr {t.field(S.Warp, 'live', '%ws')}")
        with t.if_else(t.let(f"icmp eq i32 %ended, {EXITED}")) as (exited, waits):
            with exited:
                t.do(f"store i32 0, ptr {t.field(S.Warp, 'live', '%ws')}")
            with waits:
                place = t.let(f"getelementptr i32, ptr {t.field(S.Warp, 'bar', '%ws')}, i32 %ended")
                place = t.let(f"getelementptr i32, ptr {place}, i32 {-AT_BARRIER}")
                t.do(f"store i32 {live}, ptr {place}")
                t.do(f"store i32 {live}, ptr {t.field(S.Warp, 'wait', '%ws')}")

    def _rounds(self) -> None:
        """Rounds in which all warps have their turns, in order, until turns of one round do not end alike. Warps of a
        CTA that has begun here have no program counter in their states yet."""
        t, entry = self.t, self.e.pc(self.program.entry)
        t.declared.add(declaration(leave_round))
        t.do(f"%begins = icmp eq i32 %so.far, {EXITED}")
        t.go("round")
        t.at("round")
        t.do("%new = phi i1 [%begins, %turn.another], [%begins.again, %round.end]")
        counter = t.let(f"select i1 %new, i32 {entry}, i32 {self._counter('%warp.0')}")
        t.do(f"%first.result = {self._call('%warp.0', counter)}")
        t.do(f"%first.ended = sub i32 %first.result, {OVER}")
        alike = t.let(f"icmp uge i32 %first.result, {OVER}")
        t.do(f"br i1 {alike}, label %round.next, label %round.left{COLD}")
        t.at("round.next")
        t.do("%rw = phi ptr [%warp.0, %round], [%rw.next, %round.step]")
        t.do(f"br i1 {t.let('icmp eq ptr %rw, %last')}, label %round.end, label %round.step")
        t.at("round.step")
        t.do(f"%rw.next = getelementptr i8, ptr %rw, i64 {self.e.file.size}")
        counter = t.let(f"select i1 %new, i32 {entry}, i32 {self._counter('%rw.next')}")
        t.do(f"%next.result = {self._call('%rw.next', counter)}")
        alike = t.let("icmp eq i32 %next.result, %first.result")
        t.do(f"br i1 {alike}, label %round.next, label %round.left{COLD}")
        t.at("round.end")
        t.do(f"%begins.again = icmp eq i32 %first.ended, {EXITED}")
        another = t.let(call(end_alike, "%ctx", "%cta", "%first.ended", "false"))
        t.do(f"br i1 {another}, label %round, label %round.left{COLD}")
        t.at("round.left")
        t.do("%left = phi ptr [%warp.0, %round], [%rw.next, %round.step], [%rw, %round.end]")
        t.do("%left.result = phi i32 [%first.result, %round], [%next.result, %round.step], [%first.result, %round.end]")
        over = t.let(f"icmp uge i32 %left.result, {OVER}")
        ended = t.let(f"select i1 {over}, i32 {t.let(f'sub i32 %left.result, {OVER}')}, i32 {NONE}")
        t.do(call(leave_round, "%ctx", "%cta", "%left", "%first.ended", ended, "%new"))
        t.do(f"ret i32 {t.let(f'select i1 {over}, i32 {S.DONE}, i32 %left.result')}")
