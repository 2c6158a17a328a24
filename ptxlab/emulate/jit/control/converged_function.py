"""The function for a converged warp: all its live lanes are at the same program counter.

Uniform registers are scalars, and so are affine ones; writes need no mask, branches are plain branches. Where the warp
diverges, the scalars are spread over all lanes and the function for diverged warps goes on.
"""

from __future__ import annotations

from ptxlab.emulate.jit.analysis.if_conversion import Sides, sides_of
from ptxlab.emulate.jit.analysis.thread_index_branches import ThreadIndexBranch
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.control_flow import ControlFlow
from ptxlab.emulate.jit.control.converged_flow import ConvergedFlow
from ptxlab.emulate.jit.control.regions import Regions
from ptxlab.emulate.jit.control.segments import Segments
from ptxlab.emulate.jit.control.warp_loop import ELSEWHERE, ENDED
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, USUAL, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.program.basic_blocks import waits_for_others
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.rules.scheduling_rounds import NONE, UNKNOWN
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class ConvergedFunction(Part):
    """Writes `@converged`."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks.e)
        self.blocks = blocks
        self.control, self.converged = ControlFlow(blocks, self), ConvergedFlow(self.e)
        self.regions = Regions(blocks, self.control, self.converged)
        self.segments = Segments(
            blocks, self.converged, self.regions, self.block, self.partial_block, self.thread_index_branch
        )
        self.partial_exits = self.segments.partial_exits

    def function(self) -> str:
        """Its LLVM text."""
        self.segments.find()
        text = self.blocks.function(self.block, self.dispatch, self.converged.loop, self._more)
        return "\n".join([text, *self.segments.texts])

    def _more(self) -> None:
        """What other code is needed besides the blocks."""
        self.regions.emit()
        self.segments.emit()

    def dispatch(self) -> None:
        """The jump from the function's entry to the warp's block."""
        t, first, loops = self.t, self.program.entry, self.e.loops
        loops.begin(0)
        labels = {b.index: loops.label(b.index) for b in self.program.blocks}
        cases = [(self.e.pc(at), label) for at, label in labels.items()] + list(self.regions.resumed.items())
        before, t.lines = t.lines, []
        loops.ways()
        ways, t.lines = t.lines, before
        loops.declare()
        if self.converged.loop is None:
            t.load("i32", "%converged.pc.at", name="%start")
        begins = t.eq("i32", "%start", self.e.pc(first))
        t.branch(begins, labels[first], "within")
        t.at("within")
        t.branch_by("%start", "fault", cases)
        t.lines += ways

    def block(self, block: Block) -> None:
        """A basic block."""
        t = self.t
        t.at(f"b{block.index}")
        self.e.loops.begin(self.e.loops.of[block.index])
        in_segment = self.converged.segment is not None
        bits = self.segments.lanes if in_segment else t.load("i32", "%live.at")
        if waits_for_others(self.program.codes[block.first]):
            self._wait_for_others(block, bits)
        self.blocks.begin(bits, thinned=in_segment and bits != "-1")
        if not in_segment:
            self.blocks.count(block, bits)
        else:
            self.segments.count(block)
        self._instructions(block)

    def partial_block(self, block: Block, bits: str) -> None:
        """A basic block for the lanes of a warp that are left."""
        self.blocks.begin(bits, partly=True, thinned=True)
        self.partial_exits.count(block, bits)
        self._instructions(block)

    def _instructions(self, block: Block) -> None:
        """Those of a block, and its end."""
        for code in self.program.codes[block.first : block.last]:
            self.blocks.instruction(code)
            if ControlFlow.is_control(code):
                self.control.emit(block, code)
                return
            if code.properties.converges:
                for instrument in self.e.instruments:
                    instrument.arrives(code)
                    instrument.synced(code, None)
            self.blocks.execution.emit(code)
        self.e.registers.flush(self.e.alive_after(block))
        if self.e.code.action is Action.WARPGROUP_WAIT:
            with self.t.ends_unless(self.t.eq("i32", self.t.load("i32", "%wait.at"), 0)):
                self.pause(block)
        self.go(block.next)

    def _wait_for_others(self, block: Block, bits: str) -> None:
        """If lanes of a converged warp have to wait at the start of a block for others that do not take part, the warp
        diverges."""
        waiting = self.control.waiting(block, bits)
        with self.t.ends_unless(self.t.eq("i32", waiting, 0)):
            self.converged.split(f"splat (i32 {self.e.pc(block.index)})", self.e.alive[block.index])

    def go(self, block: int) -> None:
        if self.partial_exits.lanes:
            self.partial_exits.goes_to(block, self.partial_exits.lanes)
        else:
            self.converged.go(block)

    def jump(self, block: Block, target: Value) -> None:
        t = self.t
        if target.uniform and (self.active.guard is None or self.active.guard.uniform):
            self._uniform_jump(block, target)
            return
        if target.lanes is not None and target.uniform:
            there = self._only_target()
            with t.ends_if(self.active.none(), USUAL):
                self.go(block.next)
            with t.ends_if(self.active.whole_block()):
                self.go(there)
        sides = sides_of(self.program, self.e.scalars, self.e.alive, block, self.e.code)
        if sides is not None:
            self._run_sides(sides)
            return
        if self.converged.segment is not None:
            self.regions.goes_on(block)
        elif self.regions.enter(block, target):
            return
        self.converged.part(block, target)

    def _run_sides(self, sides: Sides) -> None:
        """The lanes disagree at a branch with short sides: each side for its lanes, that of the smaller program counter
        first, as lanes of a diverged warp would go."""
        jumps = self.active.bits
        falls = self.t.xor("i32", jumps, self.active.block_bits)
        ways = (sides.falls, falls, sides.jumps), (sides.jumps, jumps, sides.falls)
        for side, bits, other in sorted(ways, key=lambda way: [block.index for block in way[0]]):
            self.e.registers.own = self.e.registers.not_needed([sides.join, *(block.index for block in other)])
            for block in side:
                self._side(block, bits)
        self.e.registers.own = 0
        self.go(sides.join)

    def _side(self, block: Block, bits: str) -> None:
        """A block for some of the lanes."""
        self.blocks.plan(block)
        self.blocks.begin(bits, partly=True)
        self.blocks.count(block, bits)
        self._within(block)

    def thread_index_branch(self, known: ThreadIndexBranch) -> None:
        """A side for lanes that are known when the kernel is built, which is counted elsewhere."""
        block, lanes = known.side, known.lanes
        self.blocks.begin("-1")
        for code in known.first:
            self.blocks.instruction(code)
            self.blocks.execution.emit(code)
        self.e.registers.flush(self.e.alive[block.index])
        self.blocks.plan(block)
        self.blocks.begin(str(lanes - (lanes >> W - 1 << W)), partly=lanes != (1 << W) - 1)
        self.e.registers.own = self.e.registers.not_needed([known.join.index]) if self.active.partly else 0
        self._within(block)
        self.e.registers.own = 0

    def _within(self, block: Block) -> None:
        """The instructions of a side."""
        for code in self.program.codes[block.first : block.last]:
            self.blocks.instruction(code)
            if ControlFlow.is_control(code):
                self.control.passes(code)
            else:
                self.blocks.execution.emit(code)
        self.e.registers.flush(self.e.alive_after(block))

    def _only_target(self) -> int:
        """The block of a jump with a single target."""
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
        ways = sorted(set(block.targets))
        t.store("i32", target.text, "%converged.pc.at")
        stop, look = t.label("stop"), t.label("look")
        goes_on = t.sge("i64", t.load("i64", "%quantum.at"), 0)
        t.branch(goes_on, look, stop, COLD)
        t.at(stop)
        self.e.loops.settle(self.e.alive_after(block))
        t.ret("i32", S.SUSPENDED)
        t.at(look)
        t.branch_by(target.text, "fault", [(self.e.pc(w), self.e.loops.label(w)) for w in ways])

    def leave(self, block: Block) -> None:
        t, code, in_segment = self.t, self.e.code, self.converged.segment is not None
        if self.partial_exits.lanes:
            self._thins_again(block)
            return
        if code.guard is None or block.next < 0:
            self.control.end_by_branch(code)
            self.converged.exited()
            return
        thins = in_segment and self.partial_exits.thins(block)
        if not thins:
            with t.ends_if(self.active.none(), USUAL):
                self.go(block.next)
        if in_segment:
            with t.ends_if(self.active.whole_block()):
                self.segments.leaves(code)
                self.converged.exited()
        if thins or (in_segment and self.partial_exits.parts(block)):
            self._end_by_branch(code)
            self.partial_exits.goes_to(block.next, t.xor("i32", self.active.bits, self.active.block_bits))
            return
        self.control.end_by_branch(code)
        if not in_segment:
            with t.ends_if(self.active.whole_block()):
                self.converged.exited()
        left = t.xor("i32", self.active.bits, self.active.block_bits)
        t.store("i32", left, "%live.at")
        t.put(S.Cta, "partly_exited", 1)
        if in_segment:
            t.store("i32", self.e.pc(block.next), "%converged.pc.at")
            t.ret("i32", ELSEWHERE)
            return
        self.go(block.next)

    def _thins_again(self, block: Block) -> None:
        """Some of the lanes that are left exit, or all of them."""
        t = self.t
        self._end_by_branch(self.e.code)
        if self.e.code.guard is not None and block.next >= 0:
            left = t.xor("i32", self.active.bits, self.active.block_bits)
            with t.ends_unless(t.eq("i32", left, 0)):
                self.partial_exits.goes_to(block.next, left)
        t.go(ENDED)

    def _end_by_branch(self, code: Code) -> None:
        """Counts the last block for lanes that exit by branching there before the others of their warp."""
        counted = code.target in self.partial_exits.counted
        (self.partial_exits.exits if counted else self.control.end_by_branch)(code)

    def pause(self, block: Block) -> None:
        self._goes_on_at(block)
        self.converged.done(NONE)

    def _goes_on_at(self, block: Block) -> None:
        """The next turn begins behind this block."""
        self.e.loops.settle(self.e.alive[block.next])
        segment = self.converged.segment
        if segment is not None and segment.behind != UNKNOWN:
            return  # it is noted for all warps
        self.t.store("i32", self.e.pc(block.next), "%converged.pc.at")

    def wait(self, block: Block) -> None:
        t = self.t
        self._goes_on_at(block)
        if self.e.code.guard is None:
            self.converged.done(self.converged.barrier(self.e.code))
            return
        # If all lanes wait or none does, the warp stays converged; if only some wait, it has diverged.
        with t.ends_if(self.active.whole_block()):
            self.converged.done(self.converged.barrier(self.e.code))
        self.converged.split(f"splat (i32 {self.e.pc(block.next)})", self.e.alive[block.next])

    def notes_later(self, code: Code) -> bool:
        return self.converged.loop is not None and self.converged.loop.lazy and self.converged.barrier(code) != NONE
