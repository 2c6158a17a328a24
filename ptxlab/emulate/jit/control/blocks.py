"""Basic blocks and their instructions as LLVM IR: what both functions of a program have in common.

A function runs one warp until it must stop: at a barrier, its end, or a fault. `@converged` runs a converged warp
(`converged_function`), `@diverged` a diverged one (`diverged_function`). They differ in control flow, in where
registers are kept and in whether writes are masked. `Blocks` gives both the code of instructions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.bodies.body import Bodies
from ptxlab.emulate.jit.emitter.access_groups import plan_groups
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.emitter.semantics import Semantics
from ptxlab.emulate.jit.llvm.ir_text import HELD, W
from ptxlab.emulate.jit.llvm.values import Address
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.rules.clusters import arrive
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import BODIED, Action
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.jit.atomics.atomics import Atomics

CUT = 16
"""PTX instructions in a basic block of tier 0. LLVM's instruction selection and its fast register allocator take
longer per instruction the longer the block is: 16,000 dependent lines in one block take 2.5 times as long."""


class Blocks(Part):
    """Emits the blocks of a function, with all that their instructions need. instruments: makes the build's."""

    def __init__(self, e: Emitter, instruments: Callable[[Blocks], list[Instrument]]) -> None:
        super().__init__(e)
        self.memory = Memory(e)
        e.ops.accesses = self
        self.bodies = Bodies(e, self.memory)
        self.semantics = Semantics(e, e.ops, e.operands)
        e.instruments = instruments(self)
        self.by_warpgroup = any(each.by_warpgroup for each in e.instruments)
        """Whether executions are counted for each warpgroup."""
        self.words: list[str] = []
        """Names of words of 32 bits that the function needs."""
        self.uncut = 0
        """PTX instructions in the LLVM basic block so far."""

    def enter(self) -> None:
        """The function's entry: buffers, and fields of the context, the thread block and the warp."""
        t = self.t
        for buffer, size in (("addrs", 8 * W), ("data", 64 * W), ("out", 64 * W)):
            t.alloca(f"[{size} x i8]", align=64, name=f"%{buffer}")
        for word in ("%mask.p", *self.words):
            t.alloca("i32", name=word)
        for record, field, kind in (
            (S.Context, "params", "ptr"),
            (S.Context, "sites", "ptr"),
            (S.Context, "warps", "i64"),
            (S.Cta, "shared", "ptr"),
            (S.Cta, "shared_size", "i64"),
        ):
            self.e.held(record, field, kind)
        self.e.held(S.Context, "counts", "ptr", "all.counts" if self.by_warpgroup else "")
        self.e.held(S.Warp, "local", "ptr")
        places: tuple[tuple[str, type[Record], str], ...] = (
            ("live", S.Warp, "live"),
            ("wait", S.Warp, "wait"),
            ("converged.pc", S.Warp, "converged_pc"),
            ("slice", S.Context, "slice"),
            ("carry", S.Warp, "carry"),
            ("pcs", S.Warp, "pc"),
        )
        for name, of, field in places:
            t.offset(HELD[of], of.offset(field), f"%{name}.at")
        if self.by_warpgroup:
            t.do(f"%counts = {self.of_warpgroup('%all.counts', len(self.program.blocks))}")
        for instrument in reversed(self.e.instruments):
            instrument.enters()

    def plan(self, block: Block) -> None:
        """Finds out which accesses of the next block share checks."""
        self.e.groups = plan_groups(self.program, block.first, block.last)

    def begin(self, bits: str, *, partly: bool = False) -> None:
        """At a label: only the lanes that run are known. partly: not all lanes of a converged warp."""
        self.uncut = 0
        self.e.registers.begin()
        self.m.forget_splats()
        self.active.begin(bits, partly=partly or self.e.diverged)
        for instrument in reversed(self.e.instruments):
            instrument.begins()

    # -- counts --------------------------------------------------------------------------------------------------------

    def count(self, block: Block, bits: str, *, undone: bool = False) -> None:
        """Executions of this block, by warps and by threads; and the slice. undone: it has not run after all."""
        t = self.t
        more, less = (t.sub, t.add) if undone else (t.add, t.sub)
        executions = self.executions(block.index)
        t.bump(t.field(S.Executions, "warps", executions), more, "i64", 1)
        lanes = self.active.count(bits)
        t.bump(t.field(S.Executions, "threads", executions), more, "i64", lanes)
        t.bump("%slice.at", less, "i64", block.last - block.first)
        if block.index in self.program.exits:  # a block that only ends threads: the warp has now been counted for it
            others = ~(1 << self.program.exits.index(block.index))
            t.bump(t.field(S.Warp, "ended"), t.and_, "i32", others)

    def executions(self, block: int) -> str:
        """A pointer to how often a block has run."""
        return self.t.offset("%counts", S.Executions.size * block)

    def of_warpgroup(self, all_: str, each: int) -> str:
        """A pointer to the part of the warp's warpgroup of `Executions`, of which each has so many."""
        group = self.t.zext("i32", self.t.lshr("i32", self.t.get(S.Warp, "warp_id"), S.LOG_WARPGROUP), "i64")
        return f"getelementptr [{each * S.Executions.size} x i8], ptr {all_}, i64 {group}"

    # -- instructions --------------------------------------------------------------------------------------------------

    def instruction(self, code: Code) -> None:
        """An instruction is next: its line as a comment, its guard applied."""
        self.e.code = code
        if self.e.small and self.uncut == CUT:
            self.uncut = 0
            label = self.t.label("cut")
            self.t.go(label)
            self.t.at(label)
        self.uncut += 1
        self.t.do(f"; {code.line}: {code.form.opcode}")
        self.e.guarded(code)
        for instrument in reversed(self.e.instruments):
            instrument.guarded(code)

    def execute(self, code: Code) -> None:
        """An instruction that does not end a block, and what instruments add before and after it."""
        after = [then for instrument in self.e.instruments if (then := instrument.before(code))]
        self._execute(code)
        for then in reversed(after):
            then()

    def _execute(self, code: Code) -> None:
        if code.copy is not None:  # arguments and results of a call, from frame to frame in every lane
            self.memory.local.copy(*code.copy)
            for instrument in reversed(self.e.instruments):
                instrument.copied_frame(*code.copy)
        elif code.action is Action.TAKE_REDUCED:
            self._take_reduced(code)
        elif code.action is Action.CLUSTER_BARRIER:  # its arrival; the wait ends a block
            for instrument in self.e.instruments:
                instrument.cluster_barrier(code)
            self.t.do(call(arrive, "%ws", self.active.bits))
        elif code.form.op.kind in ("none", "flow"):  # without effect, as `bar.warp.sync` of a warp that has converged
            return
        elif code.form.op.kind in BODIED and (body := self.bodies.of(code)) is not None:
            body.emit(code)
        else:
            self.semantics.emit(code)

    def _take_reduced(self, code: Code) -> None:
        """After `bar.red`: the barrier's result goes into the destination."""
        m = self.m
        yes, asked = m.field(S.Warp, "yes", "i32"), m.field(S.Warp, "asked", "i32")
        if code.form.operation == "popc":
            result = yes
        elif code.form.operation == "and":
            result = m.eq(yes, asked)
        else:
            result = m.ne(yes, m.const("i32", 0))
        self.e.operands.write(code.dests[0], code.dest_types[0], result)

    # -- memory, for the operations of lanes (`LaneOps.accesses`) ------------------------------------------------------

    @functools.cached_property
    def atomics(self) -> Atomics:
        from ptxlab.emulate.jit.atomics.atomics import Atomics

        return Atomics(self.e)

    def load(self, address: Address) -> Any:
        return self.memory.load(address)

    def store(self, address: Address, value: Any) -> None:
        self.memory.store(address, value)

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        return self.atomics.atom(i, address, *values)
