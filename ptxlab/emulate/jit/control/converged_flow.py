"""Control flow of a converged warp: it continues at another block, ends its turn, exits or diverges."""

from __future__ import annotations

from ptxlab.emulate.jit.control.warp_loop import Segment, WarpLoop
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Block, Code, Literal
from ptxlab.emulate.rules.diverging import spread
from ptxlab.emulate.rules.scheduling_rounds import AT_BARRIER, EXITED, NONE, YIELDED
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class ConvergedFlow(Part):
    """The ways from one block to the next, and out of the function. segment: the one that is being written, if any."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.loop = WarpLoop(e) if all(each.in_loop for each in e.instruments) else None
        """The loop over warps, unless an instrument needs each to have its turn from the scheduler."""
        self.segment: Segment | None = None

    def go(self, block: int) -> None:
        """A plain branch; a backward one also checks the quantum, so that an endless loop can be stopped."""
        if self.segment is not None and self.e.code.ends_turn and block == self.e.code.target:
            self.done(YIELDED)
            return
        if block > self.e.code.block or self.segment is not None:
            self.t.go(self.e.loops.label(block))
            return
        left = self.t.load("i64", "%quantum.at")
        goes_on, stop = self.t.sge("i64", left, 0), self.t.label("stop")
        on = self.t.label("on") if self.e.code.ends_turn else self.e.loops.label(block)
        self.t.branch(goes_on, on, stop, COLD)
        self.t.at(stop)
        self._goes_on_at(block)
        self.t.ret("i32", S.SUSPENDED)
        if self.e.code.ends_turn:
            self.t.at(on)
            self._goes_on_at(block)
            self.done(YIELDED)

    def _goes_on_at(self, block: int) -> None:
        """The next turn begins at this block."""
        self.e.loops.settle(self.e.alive[block])
        self.t.store("i32", self.e.pc(block), "%converged.pc.at")

    def part(self, block: Block, target: Value) -> None:
        """The warp diverges at the end of a block: lanes whose guard holds go to `target`."""
        t = self.t
        others = f"splat (i32 {self.e.pc(block.next)})"
        pcs = t.select(self.active.vector, f"<{W} x i32>", self.m.vector(target), others, of=f"<{W} x i1>")
        self.split(pcs, self.e.alive_after(block))

    def split(self, pcs: str, alive: int) -> None:
        """The warp diverges: each lane gets its own program counter and its own copy of what was kept as scalars."""
        if self.e.code.rounds:
            self.t.put(S.Warp, "turns.rounds", self.e.code.rounds)
        self.diverge(pcs, alive, 0)

    def diverge(self, pcs: str, alive: int, changed: int, result: int = S.DIVERGED) -> None:
        """To the function for diverged warps. alive: the registers that lanes may read, a bit set; changed: the bits of
        those of which lanes have their own values already."""
        self.e.loops.settle(alive)
        self.t.store(f"<{W} x i32>", pcs, "%pcs.at", align=64)
        self.t.put(S.Warp, "changed", changed)
        name, count = self.e.scalar_table(alive)
        self.t.do(call(spread, "%ws", name, str(count)))
        self.t.ret("i32", result)

    def exited(self) -> None:
        """All lanes of the warp have exited."""
        if self.loop is None or not self.loop.lazy:
            self.t.store("i32", 0, "%live.at")
        self.done(EXITED)

    def barrier(self, code: Code) -> int:
        """How a turn ends where all lanes wait: at a barrier whose number is known and which asks for nothing more, or
        otherwise."""
        if self.loop is not None and self.loop.lazy and code.guard is not None:
            return NONE
        if code.action is not Action.BARRIER:
            return NONE
        number, *others = (source for source in code.sources if source is not None)
        others = others[: len(others) - bool(code.form.red)]  # the predicate, which comes last
        return AT_BARRIER + int(number.value) if isinstance(number, Literal) and not others else NONE

    def done(self, ended: int) -> None:
        """The warp's turn is over (see `rules.scheduling_rounds` for `ended`): it is the next warp's, in the loop if it
        can be."""
        if self.loop is None or ended == NONE:
            self.t.ret("i32", S.DONE)
        else:
            self.loop.next_warp(ended, in_segment=self.segment is not None)
