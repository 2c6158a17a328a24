"""The function for a warp that is together: all its live lanes stand at the same place.

Registers that are uniform are scalars, writes need no mask, branches are plain branches. Where lanes disagree, the
scalars are spread over the lanes and the warp is given to the slow function.
"""

from __future__ import annotations

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.emit import Emitter
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.basic_blocks import waits_for_others
from ptxlab.emulate.program.model import Block
from ptxlab.emulate.rules.instructions import is_members
from ptxlab.isa.actions import Action


class Fast(Emitter):
    """Writes `@fast`."""

    def dispatch(self) -> None:
        cases = " ".join(f"i32 {self.pc(b.index)}, label %b{b.index}" for b in self.program.blocks)
        self.t.do("%start = load i32, ptr %fast.pc.at")
        self.t.do(f"switch i32 %start, label %fault [{cases}]")

    def block(self, block: Block) -> None:
        t = self.t
        t.at(f"b{block.index}")
        bits = t.let("load i32, ptr %live.at")
        if waits_for_others(self.program.codes[block.first]):
            self._wait_for_others(block, bits)
        self.begin(block, block.last, bits)
        self.count(block, bits)
        self.come_to_end(block)
        for code in self.program.codes[block.first : block.last]:
            self.code = code
            t.do(f"; {code.line}: {code.form.opcode if code.form else code.name}")
            self.apply_guard(code)
            if self.is_control(code):
                self.control(block, code)
                return
            self.plain(code)
        self.flush(self.alive_after(block))
        self.go(block.next)

    def _wait_for_others(self, block: Block, bits: str) -> None:
        """A block that begins with an exchange under a guard: lanes that take part may name others that do not. Then
        the warp is apart."""
        t, code = self.t, self.program.codes[block.first]
        assert code.guard is not None
        self.code = code
        self.begin(block, block.last, bits)
        held = self.read_register(code.guard[0])
        if held.uniform:
            return
        lanes = t.let(f"bitcast <{W} x i1> {self.vector(self.not_(held) if code.guard[1] else held)} to i32")
        mask, out = t.let(f"and i32 {lanes}, {bits}"), t.let(f"xor i32 {lanes}, -1")
        absent = Value(t.let(f"and i32 {out}, {bits}"), "i32", True)
        at = next(k for k in range(len(code.sources)) if is_members(code, k))
        named = self.and_(self._read(code.sources[at], "b32"), absent)
        missing = t.let(f"bitcast <{W} x i1> {self.vector(self.ne(named, self.const('i32', 0)))} to i32")
        split, stay = t.label("split"), t.label("stay")
        waits = t.let(f"icmp ne i32 {t.let(f'and i32 {missing}, {mask}')}, 0")
        t.do(f"br i1 {waits}, label %{split}, label %{stay}")
        t.at(split)
        self._split(f"splat (i32 {self.pc(block.index)})", self.alive[block.index])
        t.at(stay)

    def go(self, block: int) -> None:
        """A plain branch; a backward one is where an endless loop is noticed."""
        if block > self.code.block:
            self.t.do(f"br label %b{block}")
            return
        left = self.t.let("load i64, ptr %quantum.at")
        spent, stop = self.t.let(f"icmp slt i64 {left}, 0"), self.t.label("stop")
        self.t.do(f"br i1 {spent}, label %{stop}, label %b{block}, !prof !0")
        self.t.at(stop)
        self.t.do(f"store i32 {self.pc(block)}, ptr %fast.pc.at")
        self.t.do(f"ret i32 {S.SUSPENDED}")

    def jump(self, block: Block, target: Value) -> None:
        t = self.t
        if target.uniform and (self.guard is None or self.guard.uniform):
            self._uniform_jump(block, target)
            return
        if target.lanes is not None and target.uniform:
            there = self._only_target()
            none, all_, some, split = t.label("none"), t.label("all"), t.label("some"), t.label("split")
            t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{none}, label %{some}")
            t.at(some)
            t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, {self._block_bits}')}, label %{all_}, label %{split}")
            t.at(none)
            self.go(block.next)
            t.at(all_)
            self.go(there)
            t.at(split)
        others = f"splat (i32 {self.pc(block.next)})"
        pcs = t.let(f"select <{W} x i1> {self._mask}, <{W} x i32> {self.vector(target)}, <{W} x i32> {others}")
        self._split(pcs, self.alive_after(block))

    def _only_target(self) -> int:
        """The block that a jump goes to which has one only."""
        return self.code.targets[0] if self.code.action is Action.INDEXED_BRANCH else self.code.target

    def _split(self, pcs: str, alive: int) -> None:
        """The lanes part: each gets its own program counter and its own copy of the uniform registers."""
        self.t.do(f"store <{W} x i32> {pcs}, ptr %pcs.at, align 64")
        if self.code.rounds:
            self.t.do(f"store i32 {self.code.rounds}, ptr {self.t.field(S.Warp, 'turns.rounds')}")
        name, count = self.table(alive)
        self.t.do(f"call void @spread(ptr %ws, ptr {name}, i32 {count})")
        self.t.do(f"ret i32 {S.DIVERGED}")

    def _uniform_jump(self, block: Block, target: Value) -> None:
        t = self.t
        if self.guard is not None:
            go, stay = t.label("go"), t.label("stay")
            t.do(f"br i1 {self.guard.text}, label %{go}, label %{stay}")
            t.at(stay)
            self.go(block.next)
            t.at(go)
        if target.lanes is not None:
            self.go(self._only_target())
            return
        ways = sorted(set(block.targets))
        t.do(f"store i32 {target.text}, ptr %fast.pc.at")
        stop, look = t.label("stop"), t.label("look")
        spent = t.let(f"icmp slt i64 {t.let('load i64, ptr %quantum.at')}, 0")
        t.do(f"br i1 {spent}, label %{stop}, label %{look}, !prof !0")
        t.at(stop)
        t.do(f"ret i32 {S.SUSPENDED}")
        t.at(look)
        cases = " ".join(f"i32 {self.pc(w)}, label %b{w}" for w in ways)
        t.do(f"switch i32 {target.text}, label %fault [{cases}]")

    def leave(self, block: Block) -> None:
        t = self.t
        stays = block.next if self.code.guard is not None else -1
        others = t.let(f"xor i32 {self.mask_bits}, -1")
        rest = t.let(f"and i32 {t.let('load i32, ptr %live.at')}, {others}")
        t.do(f"store i32 {rest}, ptr %live.at")
        if stays < 0:
            t.do(f"ret i32 {S.DONE}")
            return
        gone, on = t.label("gone"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {rest}, 0')}, label %{gone}, label %{on}")
        t.at(gone)
        t.do(f"ret i32 {S.DONE}")
        t.at(on)
        self.go(stays)

    def wait(self, block: Block) -> None:
        t = self.t
        t.do(f"store i32 {self.pc(block.next)}, ptr %fast.pc.at")
        if self.code.guard is None:
            t.do(f"ret i32 {S.DONE}")
            return
        # All wait or none does, and the warp stays together; some wait and some do not, and it is apart.
        all_, some = t.label("all"), t.label("some")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, {self._block_bits}')}, label %{all_}, label %{some}")
        t.at(all_)
        t.do(f"ret i32 {S.DONE}")
        t.at(some)
        self._split(f"splat (i32 {self.pc(block.next)})", self.alive[block.next])
