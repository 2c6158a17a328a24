"""Control flow, as far as it is the same in both functions: branches, calls, exits, traps and barriers of the CTA."""

from __future__ import annotations

from typing import Protocol

from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.rules.clusters import wait
from ptxlab.emulate.rules.instructions import members_of
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action


class Flow(Protocol):
    """How control moves in the function for converged warps, or in that for diverged ones."""

    def jump(self, block: Block, target: Value) -> None:
        """Lanes whose guard holds go to `target` (one program counter, or one per lane); the others continue."""

    def go(self, block: int) -> None:
        """All executing lanes go on at a block."""

    def leave(self, block: Block) -> None:
        """Lanes whose guard holds exit."""

    def wait(self, block: Block) -> None:
        """Lanes whose guard holds wait at the barrier that has been noted."""

    def pause(self, block: Block) -> None:
        """The end of a turn; the warp goes on behind this block."""


class ControlFlow(Part):
    """The instructions that end a basic block, as far as they are the same in both functions; `flow` has the rest."""

    def __init__(self, blocks: Blocks, flow: Flow) -> None:
        super().__init__(blocks.e)
        self.blocks = blocks
        self.flow = flow

    # -- control -------------------------------------------------------------------------------------------------------

    @staticmethod
    def is_control(code: Code) -> bool:
        """Whether an instruction ends a block here; where lanes of a warp only wait for each other it does not."""
        return code.properties.ends_block and not code.properties.converges

    def emit(self, block: Block, code: Code) -> None:
        """A branch, call, return, exit, trap or barrier: the end of a block."""
        for instrument in self.e.instruments:
            instrument.ends(code)
        action = code.action
        if code.ends_thread:
            self.e.registers.flush(self.e.alive_after(block))
            self.flow.leave(block)
            return
        if action is Action.TRAP:
            self._trap(block)
            return
        if action is Action.CLUSTER_BARRIER:
            self.e.registers.flush(self.e.alive_after(block))
            for instrument in self.e.instruments:
                instrument.cluster_barrier(code)
            self.t.do(call(wait, "%ws", self.active.bits))
            self.flow.wait(block)
            return
        if action is Action.BARRIER:
            self.e.registers.flush(self.e.alive_after(block))
            self._barrier(block, code)
            return
        if code.leaves >= 0:
            self.branches(None)
            self.e.registers.flush(self.e.alive_after(block))
            self.flow.leave(block)
            return
        target = self._target(block, code)
        self.e.registers.flush(self.e.alive_after(block))
        self.branches(target)
        self.flow.jump(block, target)

    def target(self, block: Block, code: Code) -> Value:
        """The end of a block that is a branch, a call or a return: where it leads."""
        for instrument in self.e.instruments:
            instrument.ends(code)
        return self._target(block, code)

    def _target(self, block: Block, code: Code) -> Value:
        """The program counters that a branch, a call or a return leads to."""
        if code.action is Action.CALL:
            self.e.registers.write(code.register, self.m.const("i32", self.e.pc(block.next)))
        elif code.action is Action.RETURN:
            return self.e.registers.read(code.register)
        elif code.action is Action.INDEXED_BRANCH:
            return self._brx_target(code)
        return self.m.const("i32", self.e.pc(code.target))

    def branches(self, target: Value | None) -> None:
        """Tells the instruments where lanes go."""
        for instrument in self.e.instruments:
            instrument.branches(target)

    def waiting(self, block: Block, bits: str) -> str:
        """i32: at a block that begins with an exchange under a guard, which of these lanes take part and name others
        that do not."""
        code = self.e.code = self.program.codes[block.first]
        self.blocks.begin(bits)
        self.e.guarded(code)
        absent = Value(self.t.xor("i32", self.active.bits, bits), "i32", True)
        named = self.m.and_(self.e.operands.read(members_of(code), "b32"), absent)
        return self.active.where(self.m.ne(named, self.m.const("i32", 0)))

    # -- ends of threads -----------------------------------------------------------------------------------------------

    def end_by_branch(self, code: Code) -> None:
        """Counts the last block for the lanes that exit by branching there, if that is how they exit. The warp is
        counted for it with the last of its lanes: when they execute it, or when the warp has exited
        (`lane_scheduling.count_ends`)."""
        if code.leaves < 0:
            return
        t = self.t
        t.bump(t.field(S.Executions, "threads", self.e.executions(code.target)), t.add, "i64", self.active.count())
        ended = t.select(self.active.any(), "i32", 1 << code.leaves, 0)
        t.bump(t.field(S.Warp, "ended"), t.or_, "i32", ended)

    def _brx_target(self, code: Code) -> Value:
        """The program counter chosen by `brx.idx`; an index beyond the list stops the kernel."""
        index = self.e.operands.read(code.sources[0], "u32")
        inside = self.m.ult(index, self.m.const("i32", len(code.targets)))
        bad = self.active.where_not(inside)
        with self.t.unless(self.t.eq("i32", bad, 0), cold=True, to="fault"):
            lane = self.active.first(bad)
            chosen_by = self.t.extract(f"<{W} x i32>", self.m.vector(index), lane, by="i32")
            self.e.faults.record(S.BAD_INDEX, str(code.index), lane, self.t.zext("i32", chosen_by, "i64"))
        self.m.forget_splats()
        chosen = self.m.const("i32", self.e.pc(code.targets[-1]))
        for k in range(len(code.targets) - 1):
            chosen = self.m.select(
                self.m.eq(index, self.m.const("i32", k)), self.m.const("i32", self.e.pc(code.targets[k])), chosen
            )
        return chosen

    def trap(self) -> None:
        """Stops the kernel where a lane is active."""
        with self.t.unless(self.active.none(), to="fault"):
            self.e.faults.record(S.TRAP, str(self.e.code.index), self.active.first(), "0")

    def _trap(self, block: Block) -> None:
        self.trap()
        if block.next >= 0:
            self.e.registers.flush(self.e.alive_after(block))
            self.flow.go(block.next)
        else:
            self.t.go("fault")

    def _barrier(self, block: Block, code: Code) -> None:
        """`bar.sync a{, b}`, `.arrive` and `.red`: notes the arrivals; the CTA's scheduler completes the barrier."""
        t, form = self.t, code.form
        for instrument in self.e.instruments:
            instrument.barrier(block, code)
        given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
        asked = self.e.operands.read(*given.pop()) if form.red else None
        numbers = [self.active.first_value(self.e.operands.read(s, "u32")) for s, _ in given]
        count = numbers[1] if len(numbers) > 1 else ""
        slot = t.zext("i32", t.and_("i32", numbers[0], S.BARRIERS - 1), "i64")
        offset = t.shl("i64", slot, 2)
        self._check_barrier(numbers[0], count)
        if count:
            t.store("i32", count, self._of_barrier(S.Cta, "bar_count", offset))
        if asked is not None:
            yes = t.and_("i32", t.bitcast(f"<{W} x i1>", self.m.vector(asked), "i32"), self.active.bits)
            for where, bits in (("bar_yes", yes), ("bar_asked", self.active.bits)):
                number = t.call("i32", "llvm.ctpop.i32", [("i32", bits)])
                t.bump(self._of_barrier(S.Cta, where, offset), t.add, "i32", number)
        if form.arrive and not self.e.diverged:
            if code.guard is None:
                self._arrived(block, offset)
                return
            with t.ends_if(self.active.whole_block()):
                self._arrived(block, offset)
            with t.ends_if(self.active.none()):
                self.flow.go(block.next)
        if form.arrive:  # lanes wait for the rest of their warp; then the scheduler lets them go on
            t.bump(self._of_barrier(S.Warp, "arrived", offset), t.or_, "i32", self.active.bits)
        t.bump(self._of_barrier(S.Warp, "bar", offset), t.or_, "i32", self.active.bits)
        t.bump("%wait.at", t.or_, "i32", self.active.bits)
        self.flow.wait(block)

    def _of_barrier(self, record: type[Record], name: str, offset: str) -> str:
        """The address of one barrier's element in an array of a record."""
        return self.t.offset(self.t.field(record, name), offset)

    def _check_barrier(self, number: str, count: str) -> None:
        """A block has barriers 0 to 15, and counts whole warps."""
        if not (number.isdigit() and int(number) < S.BARRIERS):
            self._bad_barrier(self.t.ugt("i32", number, S.BARRIERS - 1), number, count)
        if count and not (count.isdigit() and int(count) % W == 0):
            self._bad_barrier(self.t.ne("i32", self.t.and_("i32", count, W - 1), 0), number, count)

    def _bad_barrier(self, bad: str, number: str, count: str) -> None:
        """Faults if an i1 holds."""
        with self.t.if_then(bad, to="fault"):
            lane = self.active.first()
            wide = self.t.zext("i32", number, "i64")
            high = self.t.shl("i64", self.t.zext("i32", count or 0, "i64"), 32)
            self.e.faults.record(S.BAD_BARRIER, str(self.e.code.index), lane, self.t.or_("i64", wide, high))

    def _arrived(self, block: Block, offset: str) -> None:
        """A whole warp has executed `bar.arrive`: it counts, and goes on when the barrier has been looked at."""
        for instrument in self.e.instruments:
            instrument.barrier_arrives(offset)
        self.t.bump(self._of_barrier(S.Cta, "bar_arrived", offset), self.t.add, "i32", 1)
        self.flow.pause(block)
