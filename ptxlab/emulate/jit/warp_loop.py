"""The loop of the function for converged warps over the warps of a CTA, and over CTAs.

    for each warp from the one that the function was called with:
        run it from its program counter until it has exited or waits at a barrier
        if it was the last, and all turns of the round ended alike: end the round (`rules.rounds.end_alike`)

The scheduler gives turns in the same order. It has the turn again, by a return, where a warp diverges, faults or is
suspended, where the next warp waits, has exited or has diverged, at the end of a round that ended in more than one way,
and after each turn where the order is random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.irtext import COLD
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call, declaration
from ptxlab.emulate.rules.rounds import ANY, EXITED, NONE, end_alike
from ptxlab.emulate.rules.turns import count_ends
from ptxlab.emulate.runtime import state as S

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter

FIRST = "%first"
"""The warp that the function is called with; `%ws` is the one that has its turn."""


class WarpLoop(Part):
    """What the loop adds to the function: its beginning, the ends of turns, and what all of these lead to."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.ends: list[tuple[int, str]] = []
        """How turns end, and the labels at which they do."""

    def begin(self) -> None:
        """At the function's entry: the states of the first and the last warp, and the head of the loop."""
        t, size = self.t, self.e.file.size
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
        if self.ends:
            sources += [("%next", "%so.far", "turn.step"), ("%warp.0", str(ANY), "turn.another")]
        for name, kind, k in (("ws", "ptr", 0), ("before", "i32", 1)):
            t.do(f"%{name} = phi {kind} " + ", ".join(f"[{source[k]}, %{source[2]}]" for source in sources))

    def next_warp(self, ended: int) -> None:
        """The end of a turn (see `rules.rounds`)."""
        label = self.t.label("over")
        self.t.go(label)
        self.t.at(label)
        if ended == EXITED and self.program.exits:
            bits = self.t.let(f"load i32, ptr {self.t.field(S.Warp, 'ended')}")
            with self.t.unless(self.t.let(f"icmp eq i32 {bits}, 0"), cold=True):
                self.t.do(call(count_ends, "%ctx", "%ws"))
                self.t.do(f"store i32 0, ptr {self.t.field(S.Warp, 'ended')}")
            label = self.t.here
        self.ends.append((ended, label))
        self.t.go("turn.ended")

    def end(self) -> None:
        """After all blocks: where turns end."""
        t = self.t
        if not self.ends:
            return
        t.declared |= {declaration(end_alike), declaration(count_ends)}
        t.at("turn.ended")
        t.do("%ended = phi i32 " + ", ".join(f"[{ended}, %{label}]" for ended, label in self.ends))
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
        begun = t.let(call(end_alike, "%ctx", "%cta", "%warp.0", "%so.far"))
        t.do(f"br i1 {begun}, label %turn.another, label %turn.done{COLD}")
        t.at("turn.another")
        t.go("turn")
        t.at("turn.done")
        t.do(f"ret i32 {S.DONE}")
