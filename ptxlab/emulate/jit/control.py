"""Where control goes, as far as both functions agree: branches, calls, exits, traps and barriers of the CTA."""

from __future__ import annotations

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.registers import Registers
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.model import Block, Code
from ptxlab.emulate.rules.instructions import ends_thread
from ptxlab.isa.actions import Action


class Control(Registers):
    """What ends a basic block. `jump`, `go`, `leave` and `wait` are the fast or the slow function's own."""

    def jump(self, block: Block, target: Value) -> None:
        """Lanes whose guard holds go to `target` (a program counter, perhaps each its own), the others on."""
        raise NotImplementedError

    def go(self, block: int) -> None:
        """All executing lanes go on at a block."""
        raise NotImplementedError

    def leave(self, block: Block) -> None:
        """Lanes whose guard holds end."""
        raise NotImplementedError

    def wait(self, block: Block) -> None:
        """Lanes whose guard holds wait, `barrier` having noted where."""
        raise NotImplementedError

    # -- control -------------------------------------------------------------------------------------------------------

    @staticmethod
    def is_control(code: Code) -> bool:
        """Whether an instruction ends a block here; lanes that meet at `bar.warp.sync` do so within one."""
        return code.properties.ends_block and code.action is not Action.WARP_BARRIER

    def control(self, block: Block, code: Code) -> None:
        """A branch, call, return, exit, trap or barrier: the end of a block."""
        action = code.action
        if ends_thread(code):
            self.flush(self.alive_after(block))
            self.leave(block)
            return
        if action is Action.TRAP:
            self._trap(block)
            return
        if action is Action.BARRIER:
            self.flush(self.alive_after(block))
            self._barrier(block, code)
            return
        if action is Action.CALL:
            self.write_register(code.register, self.const("i32", self.pc(block.next)))
            target: Value = self.const("i32", self.pc(code.target))
        elif action is Action.RETURN:
            target = self.read_register(code.register)
        elif action is Action.INDEXED_BRANCH:
            target = self._brx_target(code)
        else:
            if code.leaves >= 0:
                self._end_by_branch(code)
                self.flush(self.alive_after(block))
                self.leave(block)
                return
            target = self.const("i32", self.pc(code.target))
        self.flush(self.alive_after(block))
        self.jump(block, target)

    # -- ends of threads -----------------------------------------------------------------------------------------------

    def _end_by_branch(self, code: Code) -> None:
        """Counts the last block for the lanes that end by branching there. The warp is counted for it with the last
        that come: when it goes there, or when it has ended (`turns.count_ends`)."""
        t = self.t
        lanes = t.let(f"zext i32 {t.call('i32', 'llvm.ctpop.i32', [('i32', self.mask_bits)])} to i64")
        t.bump(t.field(S.Executions, "threads", self.executions(code.target)), "add i64", lanes)
        some = t.let(f"icmp ne i32 {self.mask_bits}, 0")
        ended = t.let(f"select i1 {some}, i32 {1 << code.leaves}, i32 0")
        t.bump(t.field(S.Warp, "ended"), "or i32", ended)

    def come_to_end(self, block: Block) -> None:
        """Where a block is an end of threads: the warp has just been counted for it."""
        if block.index in self.program.exits:
            others = ~(1 << self.program.exits.index(block.index))
            self.t.bump(self.t.field(S.Warp, "ended"), "and i32", str(others))

    def _brx_target(self, code: Code) -> Value:
        """The program counter chosen by `brx.idx`; an index past the list stops the kernel."""
        index = self._read(code.sources[0], "u32")
        inside = self.ult(index, self.const("i32", len(code.targets)))
        bad = self._lanes_where_not(inside)
        fine, wrong = self.t.label("fine"), self.t.label("wrong")
        self.t.do(f"br i1 {self.t.let(f'icmp eq i32 {bad}, 0')}, label %{fine}, label %{wrong}, !prof !0")
        self.t.at(wrong)
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", bad), ("i1", "false")])
        at = self.t.let(f"zext i32 {self.t.let(f'extractelement <{W} x i32> {self.vector(index)}, i32 {lane}')} to i64")
        self.record(S.BAD_INDEX, str(code.index), lane, at)
        self.t.do("br label %fault")
        self.t.at(fine)
        self.forget_splats()
        chosen = self.const("i32", self.pc(code.targets[-1]))
        for k in range(len(code.targets) - 1):
            chosen = self.select(
                self.eq(index, self.const("i32", k)), self.const("i32", self.pc(code.targets[k])), chosen
            )
        return chosen

    def _trap(self, block: Block) -> None:
        t = self.t
        hit, on = t.label("trap"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{on}, label %{hit}")
        t.at(hit)
        lane = t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        self.record(S.TRAP, str(self.code.index), lane, "0")
        t.do("br label %fault")
        t.at(on)
        if block.next >= 0:
            self.flush(self.alive_after(block))
            self.go(block.next)
        else:
            t.do("br label %fault")

    def _barrier(self, block: Block, code: Code) -> None:
        """`bar.sync a{, b}`, `.arrive` and `.red`: notes who has come; the scheduler of the CTA opens the barrier."""
        t, form = self.t, code.form
        assert form is not None
        given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
        asked = self._read(*given.pop()) if form.red else None
        numbers = [self._first(self._read(s, "u32")) for s, _ in given]
        count = numbers[1] if len(numbers) > 1 else ""
        slot = t.let(f"zext i32 {t.let(f'and i32 {numbers[0]}, 15')} to i64")
        offset = t.let(f"shl i64 {slot}, 2")
        self._check_barrier(numbers[0], count)
        if count:
            t.do(f"store i32 {count}, ptr {self._of_barrier(S.Cta, 'bar_count', offset)}")
        if asked is not None:
            yes = t.let(f"and i32 {t.let(f'bitcast <{W} x i1> {self.vector(asked)} to i32')}, {self.mask_bits}")
            for where, bits in (("bar_yes", yes), ("bar_asked", self.mask_bits)):
                number = t.call("i32", "llvm.ctpop.i32", [("i32", bits)])
                t.bump(self._of_barrier(S.Cta, where, offset), "add i32", number)
        if form.arrive:
            self._arrive(offset)
            self.go(block.next)
            return
        t.bump(self._of_barrier(S.Warp, "bar", offset), "or i32", self.mask_bits)
        t.bump("%wait.at", "or i32", self.mask_bits)
        self.wait(block)

    def _of_barrier(self, record: type[Record], name: str, offset: str) -> str:
        """The address of what an array of a record holds of one barrier."""
        return self.t.let(f"getelementptr i8, ptr {self.t.field(record, name)}, i64 {offset}")

    def _check_barrier(self, number: str, count: str) -> None:
        """A block has barriers 0 to 15, and counts whole warps."""
        for bad, what in ((f"icmp ugt i32 {number}, 15", number), (f"and i32 {count}, 31", count)):
            if not what or (what.isdigit() and (int(what) <= 15 if what is number else int(what) % 32 == 0)):
                continue
            test = self.t.let(bad) if what is number else self.t.let(f"icmp ne i32 {self.t.let(bad)}, 0")
            fine, wrong = self.t.label("fine"), self.t.label("wrong")
            self.t.do(f"br i1 {test}, label %{wrong}, label %{fine}")
            self.t.at(wrong)
            lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
            wide = self.t.let(f"zext i32 {number} to i64")
            high = self.t.let(f"shl i64 {self.t.let(f'zext i32 {count or 0} to i64')}, 32")
            both = self.t.let(f"or i64 {wide}, {high}")
            self.record(S.BAD_BARRIER, str(self.code.index), lane, both)
            self.t.do("br label %fault")
            self.t.at(fine)

    def _arrive(self, offset: str) -> None:
        """The lanes go on; once the whole warp has arrived it counts."""
        t = self.t
        p = self._of_barrier(S.Warp, "arrived", offset)
        t.bump(p, "or i32", self.mask_bits)
        live = t.let("load i32, ptr %live.at")
        have = t.let(f"load i32, ptr {p}")
        whole = t.let(f"icmp eq i32 {t.let(f'and i32 {have}, {live}')}, {live}")
        t.bump(self._of_barrier(S.Cta, "bar_arrived", offset), "add i32", t.let(f"zext i1 {whole} to i32"))
        t.do(f"store i32 {t.let(f'select i1 {whole}, i32 0, i32 {have}')}, ptr {p}")

    def _first(self, value: Value) -> str:
        """The scalar of the first executing lane."""
        if value.uniform:
            return value.text
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {self.t.let(f'and i32 {lane}, 31')}")
