"""The function for a converged warp: all its live lanes are at the same program counter.

Uniform registers are scalars, and so are affine ones; writes need no mask, branches are plain branches. Where the warp
diverges, the scalars are spread over all lanes and the function for diverged warps goes on.
"""

from __future__ import annotations

from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.converged_flow import TURN, ConvergedFlow
from ptxlab.emulate.jit.control.regions import Regions
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.program.flat_program import Block
from ptxlab.emulate.program.reconvergence import waits_for_others
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class ConvergedFunction(ConvergedFlow):
    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks)
        self.regions = Regions(self)

    def function(self) -> str:
        return self.text(TURN) + self.loop()

    def all_blocks(self) -> None:
        super().all_blocks()
        self.regions.emit()

    def dispatch(self) -> None:
        t, first = self.t, self.program.entry
        cases = [(self.e.pc(b.index), f"b{b.index}") for b in self.program.blocks]
        cases += self.regions.resumed.items()
        t.branch(t.eq("i32", "%start", self.e.pc(first)), f"b{first}", "within")
        t.at("within")
        t.branch_by("%start", "fault", cases)

    def block(self, block: Block) -> None:
        t = self.t
        t.at(f"b{block.index}")
        bits = t.load("i32", "%live.at")
        if waits_for_others(self.program.codes[block.first]):  # for others that do not take part: the warp diverges
            with t.ends_unless(t.eq("i32", self.waiting(block, bits), 0)):
                self.split(self.e.pcs(block.index), self.e.alive_at(block.index))
        self.blocks.begin(bits)
        self.blocks.count(block, bits)
        for code in self.program.codes[block.first : block.last]:
            self.blocks.instruction(code)
            if self.is_control(code):
                self.end(block, code)
                return
            if code.properties.converges:
                for instrument in self.e.instruments:
                    instrument.arrives(code)
                    instrument.synced(code, None)
            self.blocks.execute(code)
        self.e.registers.flush(self.e.alive_after(block))
        if self.e.code.action is Action.WARPGROUP_WAIT:
            with t.ends_unless(t.eq("i32", t.load("i32", "%wait.at"), 0)):
                self.pause(block)
        self.go(block.next)

    def jump(self, block: Block, target: Value) -> None:
        t = self.t
        if target.uniform and (self.active.guard is None or self.active.guard.uniform):
            self._uniform_jump(block, target)
            return
        if target.lanes is not None and target.uniform:
            there = self._only_target()
            with t.ends_if(self.active.none()):
                self.go(block.next)
            with t.ends_if(self.active.all_active()):
                self.go(there)
        if not self.regions.enter(block, target):
            self.split_at(block, target)

    def _only_target(self) -> int:
        code = self.e.code
        return code.targets[0] if code.action is Action.INDEXED_BRANCH else code.target

    def _uniform_jump(self, block: Block, target: Value) -> None:
        t = self.t
        if self.active.guard is not None:
            with t.ends_unless(self.active.guard.text):
                self.go(block.next)
        if target.lanes is not None:
            self.go(self._only_target())
            return
        t.store("i32", target.text, "%converged.pc.at")
        with t.ends_unless(t.sge("i64", t.load("i64", "%slice.at"), 0)):
            t.ret("i32", S.SUSPENDED)
        ways = sorted(set(block.targets))
        t.branch_by(target.text, "fault", [(self.e.pc(w), f"b{w}") for w in ways])

    def leave(self, block: Block) -> None:
        t, code = self.t, self.e.code
        if code.guard is None or block.next < 0:
            self.end_by_branch(code)
            self.exited()
            return
        with t.ends_if(self.active.none()):
            self.go(block.next)
        self.end_by_branch(code)
        with t.ends_if(self.active.all_active()):
            self.exited()
        t.store("i32", t.xor("i32", self.active.bits, self.active.block_bits), "%live.at")
        self.go(block.next)

    def pause(self, block: Block) -> None:
        self.t.store("i32", self.e.pc(block.next), "%converged.pc.at")
        self.t.ret("i32", S.DONE)

    def wait(self, block: Block) -> None:
        t = self.t
        t.store("i32", self.e.pc(block.next), "%converged.pc.at")
        if self.e.code.guard is None:
            self.waits(self.e.code)
            return
        # If all lanes wait or none does, the warp stays converged; if only some wait, it has diverged.
        with t.ends_if(self.active.all_active()):
            self.waits(self.e.code)
        self.split(self.e.pcs(block.next), self.e.alive_at(block.next))
