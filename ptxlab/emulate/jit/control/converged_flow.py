"""Control flow of a converged warp: it continues at another block, ends its turn, exits or diverges."""

from __future__ import annotations

from ptxlab.emulate.jit.control.warp_loop import WarpLoop
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.flat_program import Block, Code, Literal
from ptxlab.emulate.rules.diverging import spread
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class ConvergedFlow(Part):
    """The ways from one block to the next, and out of the function."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.loop = WarpLoop(e) if all(each.in_loop for each in e.instruments) else None
        """The loop over warps, unless an instrument needs each to have its turn from the scheduler."""

    def go(self, block: int) -> None:
        """A plain branch; a backward one also checks the quantum, so that an endless loop can be stopped."""
        if block > self.e.code.block:
            self.t.go(f"b{block}")
            return
        left = self.t.load("i64", "%quantum.at")
        goes_on, stop = self.t.sge("i64", left, 0), self.t.label("stop")
        self.t.branch(goes_on, f"b{block}", stop, COLD)
        self.t.at(stop)
        self.t.store("i32", self.e.pc(block), "%converged.pc.at")
        self.t.ret("i32", S.SUSPENDED)

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

    def diverge(self, pcs: str, alive: int, changed: int) -> None:
        """To the function for diverged warps. alive: the registers that lanes may read, a bit set; changed: the bits of
        those of which lanes have their own values already."""
        self.t.store(f"<{W} x i32>", pcs, "%pcs.at", align=64)
        self.t.put(S.Warp, "changed", changed)
        name, count = self.e.scalar_table(alive)
        self.t.do(call(spread, "%ws", name, str(count)))
        self.t.ret("i32", S.DIVERGED)

    def exited(self) -> None:
        """All lanes of the warp have exited."""
        self.t.store("i32", 0, "%live.at")
        if self.loop is None:
            self.t.ret("i32", S.DONE)
        else:
            self.loop.next_warp(exited=True)

    def waits(self, code: Code) -> None:
        """All lanes wait: the next warp's turn begins at once, where the barrier's number is known and it asks for
        nothing more."""
        if self.loop is not None and code.action is Action.BARRIER:
            number, *others = (source for source in code.sources if source is not None)
            others = others[: len(others) - bool(code.form.red)]  # the predicate, which comes last
            if isinstance(number, Literal) and not others:
                self.loop.next_warp(exited=False)
                return
        self.t.ret("i32", S.DONE)
