"""The loop of the function for converged warps over the warps of a CTA.

    for each warp from the one that the function was called with:
        run it from its program counter until it has exited or waits at a barrier

A turn is a function of its own: in one function with the loop, LLVM's register allocator and scheduler take 1.3 times
as long for the same code. The scheduler gives turns in the same order. It has the turn again, by a return, where a warp
diverges, faults or is suspended, where the next warp waits, has exited or has diverged, after the last warp, and after
each turn where the order is random.
"""

from __future__ import annotations

import os
import platform

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, SIGNATURE
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules.lane_scheduling import count_ends
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
NEXT = 16
"""The result of a turn after which the next warp may have its own; others are those of the function."""
PREDICTED = '"no-jump-tables"="true"'
"""The attribute of functions that go on where a warp's program counter says. After a barrier all warps go on at one
place, then at another one: CPUs predict such comparisons well, and jumps through a table badly (11 cycles for each turn
of a warp on Zen 4)."""


class WarpLoop(Part):
    """What the loop adds to the function: its beginning, and the ends of turns."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self._goes_on = False
        """Whether any turn ends so that the next warp may have its own."""

    def next_warp(self, *, exited: bool) -> None:
        """The end of a turn: all lanes of the warp have exited, or wait at a barrier that asks for nothing more."""
        if exited and self.program.exits:
            bits = self.t.get(S.Warp, "ended")
            with self.t.unless(self.t.eq("i32", bits, 0), cold=True):
                self.t.do(call(count_ends, "%ctx", "%ws"))
                self.t.put(S.Warp, "ended", 0)
        self._goes_on = True
        self.t.ret("i32", NEXT)

    def function(self) -> str:
        """The text of the function that has the loop."""
        around, self.t.lines = self.t.lines, []
        self._loop()
        lines, self.t.lines = self.t.lines, around
        head = f"define i32 @{self.e.name}({SIGNATURE}{FIRST}) nounwind {PREDICTED} {{"
        return "\n".join([head, "entry:", *lines, "}"]) + "\n"

    def _loop(self) -> None:
        t, size = self.t, self.e.file.size
        self.e.held(S.Context, "warps", "i64")
        t.offset("%cta", S.Cta.offset("position"), "%position.at")
        t.load("i64", "%position.at", name="%position")
        in_order = t.eq("i64", t.get(S.Context, "random"), 0)
        left = t.sub("i64", t.sub("i64", "%warps", 1), "%position")
        last = t.offset(FIRST, t.mul("i64", left, size))
        t.select(in_order, "ptr", last, FIRST, "%last")
        t.go("turn")
        t.at("turn")
        ways = [(FIRST, "entry"), *([("%next", "turn.step")] if self._goes_on else [])]
        t.phi("ptr", *ways, name="%ws")
        counter = t.get(S.Warp, "converged_pc", "%ws")
        t.do(f"%result = call {CONVENTION}i32 @{TURN}(ptr %ctx, ptr %cta, ptr %ws, i32 {counter})")
        if not self._goes_on:
            t.ret("i32", "%result")
            return
        t.branch(t.eq("i32", "%result", NEXT), "turn.ended", "turn.return", COLD)
        t.at("turn.return")
        t.ret("i32", "%result")
        t.at("turn.ended")
        t.branch(t.eq("ptr", "%ws", "%last"), "turn.done", "turn.look")
        t.at("turn.look")
        t.offset("%ws", size, "%next")
        live, wait, diverged = (t.get(S.Warp, name, "%next") for name in ("live", "wait", "diverged"))
        ready = t.and_("i32", live, t.xor("i32", wait, -1))
        can = t.and_("i1", t.ne("i32", ready, 0), t.eq("i32", diverged, 0))
        t.branch(can, "turn.step", "turn.done", COLD)
        t.at("turn.step")
        t.bump("%position.at", t.add, "i64", 1)
        t.go("turn")
        t.at("turn.done")
        t.ret("i32", S.DONE)
