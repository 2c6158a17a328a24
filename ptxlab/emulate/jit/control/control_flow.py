"""Control flow, as far as it is the same in both functions: branches, calls, exits, traps, barriers."""

from __future__ import annotations

from contextlib import nullcontext

from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.rules.clusters import wait
from ptxlab.emulate.rules.instructions import members_of
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action

PREDICTED = '"no-jump-tables"="true"'
"""The attribute of functions that go on where a warp's program counter says. After a barrier all warps go on at one
place: CPUs predict such comparisons well, and jumps through a table badly (11 cycles per turn of a warp on Zen 4)."""


class ControlFlow(Part):
    """A function that runs a warp: instructions that end its basic blocks. The two functions say how it goes on."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks.e)
        self.blocks = blocks

    # -- what differs --------------------------------------------------------------------------------------------------

    def dispatch(self) -> None:
        """The jump from the function's entry to the warp's program counter."""
        raise NotImplementedError

    def block(self, block: Block) -> None:
        raise NotImplementedError

    def jump(self, block: Block, target: Value) -> None:
        """Lanes whose guard holds go to `target` (one program counter, or one per lane); the others continue."""
        raise NotImplementedError

    def go(self, block: int) -> None:
        """All executing lanes go on at a block."""
        raise NotImplementedError

    def leave(self, block: Block) -> None:
        """Lanes whose guard holds exit."""
        raise NotImplementedError

    def wait(self, block: Block) -> None:
        """Lanes whose guard holds wait at the barrier that has been noted."""
        raise NotImplementedError

    def pause(self, block: Block) -> None:
        """The warp goes on behind this block, in its next turn if it is converged."""
        raise NotImplementedError

    # -- the function --------------------------------------------------------------------------------------------------

    def text(self, head: str) -> str:
        """The LLVM text of the function with this head, after its constants."""
        self.all_blocks()
        body, self.t.lines = self.t.lines, []
        self.blocks.enter()
        self.dispatch()
        constants = [f"{name} = {definition}" for (_, definition), name in self.e.constants.items()]
        first = [f"define {head} nounwind alignstack(64) {PREDICTED} {{", "entry:"]
        last = ["fault:", f"  ret i32 {S.FAULT}", "}"]
        return "\n".join(["\n".join(constants), *first, *self.t.lines, *body, *last]) + "\n"

    def all_blocks(self) -> None:
        for block in self.program.blocks:
            self.blocks.plan(block)
            self.block(block)

    @staticmethod
    def is_control(code: Code) -> bool:
        """Whether an instruction ends a block here; where lanes of a warp only wait for each other it does not."""
        return code.properties.ends_block and not code.properties.converges

    def end(self, block: Block, code: Code) -> None:
        """A branch, call, return, exit, trap or barrier: the end of a block."""
        self.ends(code)
        if code.action is Action.TRAP:
            self._trap(block)
            return
        waits = code.action in (Action.BARRIER, Action.CLUSTER_BARRIER)
        exits = code.ends_thread or code.leaves >= 0
        target = None if waits or exits else self.target(block, code)
        self.e.registers.flush(self.e.alive_after(block))
        if not waits and not code.ends_thread:
            self.branches(target)
        if target is not None:
            self.jump(block, target)
        elif exits:
            self.leave(block)
        elif code.action is Action.BARRIER:
            self._barrier(block, code)
        else:
            for instrument in self.e.instruments:
                instrument.cluster_barrier(code)
            self.t.do(call(wait, "%ws", self.active.bits))
            self.wait(block)

    def ends(self, code: Code) -> None:
        """Tells the instruments that an instruction ends a block."""
        for instrument in self.e.instruments:
            instrument.ends(code)

    def branches(self, target: Value | None) -> None:
        """Tells the instruments where lanes go."""
        for instrument in self.e.instruments:
            instrument.branches(target)

    def target(self, block: Block, code: Code) -> Value:
        """The program counters that a branch, a call or a return leads to."""
        if code.action is Action.CALL:
            self.e.registers.write(code.register, self.m.const("i32", self.e.pc(block.next)))
        elif code.action is Action.RETURN:
            return self.e.registers.read(code.register)
        elif code.action is Action.INDEXED_BRANCH:
            return self._indexed_target(code)
        return self.m.const("i32", self.e.pc(code.target))

    def _indexed_target(self, code: Code) -> Value:
        """The program counter chosen by `brx.idx`; an index beyond the list stops the kernel."""
        index = self.e.operands.read(code.sources[0], "u32")
        inside = self.m.ult(index, self.m.const("i32", len(code.targets)))
        bad = self.active.where_not(inside)
        with self.t.unless(self.t.eq("i32", bad, 0), cold=True, to="fault"):
            lane = self.active.first(bad)
            chosen_by = self.t.extract(f"<{W} x i32>", self.m.vector(index), lane, by="i32")
            self.e.faults.record(S.BAD_INDEX, code.index, lane, self.t.zext("i32", chosen_by, "i64"))
        self.m.forget_splats()
        counters = [self.m.const("i32", self.e.pc(target)) for target in code.targets]
        chosen = counters.pop()
        for k, counter in enumerate(counters):
            chosen = self.m.select(self.m.eq(index, self.m.const("i32", k)), counter, chosen)
        return chosen

    def waiting(self, block: Block, bits: str) -> str:
        """i32: at a block that begins with a guarded exchange, which of these lanes take part and name absent ones."""
        code = self.e.code = self.program.codes[block.first]
        self.blocks.begin(bits)
        self.e.guarded(code)
        return self.named_of(code, self.t.xor("i32", self.active.bits, bits))

    def named_of(self, code: Code, absent: str) -> str:
        """i32: the active lanes that name some of the absent ones in an exchange."""
        named = self.m.and_(self.e.operands.read(members_of(code), "b32"), Value(absent, "i32", True))
        return self.active.where(self.m.ne(named, self.m.const("i32", 0)))

    # -- ends of threads -----------------------------------------------------------------------------------------------

    def end_by_branch(self, code: Code) -> None:
        """Counts the last block for the lanes that exit by branching there, if that is how they exit. The warp is
        counted for it with the last of its lanes: when they execute it, or when the warp has exited
        (`lane_scheduling.count_ends`)."""
        if code.leaves < 0:
            return
        t = self.t
        executions = self.blocks.executions(code.target)
        t.bump(t.field(S.Executions, "threads", executions), t.add, "i64", self.active.count())
        ended = t.select(self.active.any(), "i32", 1 << code.leaves, 0)
        t.bump(t.field(S.Warp, "ended"), t.or_, "i32", ended)

    def trap(self) -> None:
        """Stops the kernel where a lane is active."""
        with self.t.unless(self.active.none(), to="fault"):
            self.e.faults.record(S.TRAP, self.e.code.index, self.active.first(), "0")

    def _trap(self, block: Block) -> None:
        self.trap()
        if block.next >= 0:
            self.e.registers.flush(self.e.alive_after(block))
            self.go(block.next)
        else:
            self.t.go("fault")

    # -- barriers ------------------------------------------------------------------------------------------------------

    def _barrier(self, block: Block, code: Code) -> None:
        """`bar.sync a{, b}`, `.arrive` and `.red`: notes in the records of the warp and its block which lanes have
        arrived. A converged warp's turn ends; in a diverged warp other lanes go on. The scheduler completes the
        barrier (`rules.scheduling.try_to_open`)."""
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
            at = self._of_barrier(S.Cta, "bar_count", offset)
            with nullcontext() if code.guard is None else t.unless(self.active.none()):  # nobody may have come
                t.store("i32", count, at)
        if asked is not None:
            yes = t.and_("i32", t.bitcast(f"<{W} x i1>", self.m.vector(asked), "i32"), self.active.bits)
            for where, bits in (("bar_yes", yes), ("bar_asked", self.active.bits)):
                number = t.call("i32", "llvm.ctpop.i32", [("i32", bits)])
                t.bump(self._of_barrier(S.Cta, where, offset), t.add, "i32", number)
        if form.arrive and not self.e.diverged:
            if code.guard is None:
                self._arrived(block, offset)
                return
            with t.ends_if(self.active.all_active()):
                self._arrived(block, offset)
            with t.ends_if(self.active.none()):
                self.go(block.next)
        if form.arrive:  # lanes wait for the rest of their warp; then the scheduler lets them go on
            t.bump(self._of_barrier(S.Warp, "arrived", offset), t.or_, "i32", self.active.bits)
        t.bump(self._of_barrier(S.Warp, "bar", offset), t.or_, "i32", self.active.bits)
        t.bump("%wait.at", t.or_, "i32", self.active.bits)
        self.wait(block)

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
            self.e.faults.record(S.BAD_BARRIER, self.e.code.index, lane, self.t.or_("i64", wide, high))

    def _arrived(self, block: Block, offset: str) -> None:
        """A converged warp passes `bar.arrive`: it counts as arrived, and its turn ends, so that the scheduler can
        complete the barrier; it goes on in its next turn. (Diverged warps: `rules.scheduling.pass_arrivals`.)"""
        for instrument in self.e.instruments:
            instrument.barrier_arrives(offset)
        self.t.bump(self._of_barrier(S.Cta, "bar_arrived", offset), self.t.add, "i32", 1)
        self.pause(block)
