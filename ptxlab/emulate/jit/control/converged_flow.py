"""Control flow of a converged warp, and the loop over the warps of a thread block.

    for each warp from the one that the function was called with:
        run it from its program counter until it has exited or waits at a barrier

A turn is a function of its own: in one function with the loop, LLVM's register allocator and scheduler take 1.3 times
as long for the same code. The loop gives turns in the order of the scheduler, `rules.scheduling.take_turns`. It returns
to the scheduler where a warp diverges, faults or is suspended, where the next warp waits, has exited or has diverged,
after the last warp, and after each turn where the order is random.
"""

from __future__ import annotations

import os
import platform

from ptxlab.emulate.jit.control.control_flow import PREDICTED, ControlFlow
from ptxlab.emulate.jit.llvm.ir_text import COLD, SIGNATURE, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Block, Code, Literal
from ptxlab.emulate.rules.diverging import spread
from ptxlab.emulate.rules.lane_scheduling import count_ends
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action

FIRST = "%first"
"""The warp that the function is called with; `%ws` is the one that has its turn."""
_SAVES_NONE = os.name != "nt" and platform.machine().lower() in ("x86_64", "amd64", "aarch64", "arm64")
CONVENTION = "preserve_nonecc " if _SAVES_NONE else ""
"""How a turn is called. The loop has fewer registers to keep than a turn, which may be short: so the loop saves them,
where LLVM has a calling convention for that."""
TURN = f"internal {CONVENTION}i32 @turn({SIGNATURE}%ws, i32 %start)"
"""The function that runs a warp for a turn, from the program counter `%start` on."""
NEXT = 16
"""The result of a turn after which the next warp may have its own; others are those of the function."""


class ConvergedFlow(ControlFlow):
    """The ways from one block to the next, and out of the function."""

    def go(self, block: int) -> None:
        """A plain branch; a backward one also checks the slice, so that an endless loop can be stopped."""
        if block > self.e.code.block:
            self.t.go(f"b{block}")
            return
        left = self.t.load("i64", "%slice.at")
        goes_on, stop = self.t.sge("i64", left, 0), self.t.label("stop")
        self.t.branch(goes_on, f"b{block}", stop, COLD)
        self.t.at(stop)
        self.t.store("i32", self.e.pc(block), "%converged.pc.at")
        self.t.ret("i32", S.SUSPENDED)

    def split_at(self, block: Block, target: Value) -> None:
        """At the end of a block: lanes whose guard holds go to `target`."""
        t = self.t
        others = self.e.pcs(block.next)
        pcs = t.select(self.active.vector, f"<{W} x i32>", self.m.vector(target), others, of=f"<{W} x i1>")
        self.split(pcs, self.e.alive_after(block))

    def split(self, pcs: str, alive: int) -> None:
        """Each lane gets its own program counter and its own copy of what was kept as scalars."""
        if self.e.code.rounds:
            self.t.put(S.Warp, "turns.rounds", self.e.code.rounds)
        self.diverge(pcs, alive, 0)

    def diverge(self, pcs: str, alive: int, changed: int) -> None:
        """Goes on in the function for diverged warps. alive: the registers that lanes may read, a bit set; changed: the
        bits of those of which lanes have their own values already."""
        self.t.store(f"<{W} x i32>", pcs, "%pcs.at", align=64)
        self.t.put(S.Warp, "changed", changed)
        name, count = self.e.registers.scalar_table(alive)
        self.t.do(call(spread, "%ws", name, count))
        self.t.ret("i32", S.DIVERGED)

    def exited(self) -> None:
        t = self.t
        t.store("i32", 0, "%live.at")
        if self.program.exits:
            bits = t.get(S.Warp, "ended")
            with t.unless(t.eq("i32", bits, 0), cold=True):
                t.do(call(count_ends, "%ctx", "%ws"))
                t.put(S.Warp, "ended", 0)
        t.ret("i32", NEXT)

    def waits(self, code: Code) -> None:
        """All lanes wait: the next warp's turn begins at once if the barrier's number is known and that is all."""
        at_once = False
        if code.action is Action.BARRIER:
            number, *others = (source for source in code.sources if source is not None)
            others = others[: len(others) - bool(code.form.red)]  # the predicate, which comes last
            at_once = isinstance(number, Literal) and not others
        self.t.ret("i32", NEXT if at_once else S.DONE)

    def loop(self) -> str:
        """The text of the function that gives warps their turns."""
        t = self.t
        t.lines = []
        self.e.held(S.Context, "warps", "i64")
        t.offset("%cta", S.Cta.offset("position"), "%position.at")
        t.load("i64", "%position.at", name="%position")
        in_order = t.eq("i64", t.get(S.Context, "random"), 0)
        left = t.sub("i64", t.sub("i64", "%warps", 1), "%position")
        last = t.offset(FIRST, t.mul("i64", left, self.e.registers.file.size))
        t.select(in_order, "ptr", last, FIRST, "%last")
        t.go("turn")
        t.at("turn")
        t.phi("ptr", (FIRST, "entry"), ("%next", "turn.step"), name="%ws")
        counter = t.get(S.Warp, "converged_pc", "%ws")
        t.do(f"%result = call {CONVENTION}i32 @turn(ptr %ctx, ptr %cta, ptr %ws, i32 {counter})")
        t.branch(t.eq("i32", "%result", NEXT), "turn.ended", "turn.return", COLD)
        t.at("turn.return")
        t.ret("i32", "%result")
        t.at("turn.ended")
        t.branch(t.eq("ptr", "%ws", "%last"), "turn.done", "turn.look")
        t.at("turn.look")
        t.offset("%ws", self.e.registers.file.size, "%next")
        live, wait, diverged = (t.get(S.Warp, name, "%next") for name in ("live", "wait", "diverged"))
        ready = t.and_("i32", live, t.xor("i32", wait, -1))
        can = t.and_("i1", t.ne("i32", ready, 0), t.eq("i32", diverged, 0))
        t.branch(can, "turn.step", "turn.done", COLD)
        t.at("turn.step")
        t.bump("%position.at", t.add, "i64", 1)
        t.go("turn")
        t.at("turn.done")
        t.ret("i32", S.DONE)
        head = f"define i32 @{self.e.name}({SIGNATURE}{FIRST}) nounwind {PREDICTED} {{"
        return "\n".join([head, "entry:", *t.lines, "}"]) + "\n"
