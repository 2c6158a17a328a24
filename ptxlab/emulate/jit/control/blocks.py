"""The blocks of an LLVM function, which runs one warp until it must stop: at a barrier, its end, or a fault.

A program has two of them, made from the same blocks by the same semantics: `@converged` for a converged warp
(`converged_function`) and `@diverged` for a diverged one (`diverged_function`). They differ in control flow, in where
registers are kept and in whether writes are masked. Each is written by a driver, to which `Blocks` gives the code of
blocks and instructions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.bodies.table import Bodies
from ptxlab.emulate.jit.control.execution import Execution
from ptxlab.emulate.jit.control.warp_loop import CONVENTION, PREDICTED, TURN, TURN_SIGNATURE, WarpLoop
from ptxlab.emulate.jit.emitter.access_groups import plan_groups
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.emitter.machine import Accesses
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import HELD, SIGNATURE, W
from ptxlab.emulate.jit.llvm.values import Address
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.jit.atomics.atomics import Atomics

CUT = 16
"""PTX instructions in a basic block of QUICK code. LLVM's instruction selection and its fast register allocator take
longer per instruction the longer the block is: 16,000 dependent lines in one block take 2.5 times as long."""


class AllAccesses(Accesses):
    """Loads, stores and atomic operations."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        self._e, self.memory = e, memory

    @functools.cached_property
    def atomics(self) -> Atomics:
        """What most programs do without."""
        from ptxlab.emulate.jit.atomics.atomics import Atomics

        return Atomics(self._e)

    def load(self, address: Address) -> Any:
        return self.memory.load(address)

    def store(self, address: Address, value: Any) -> None:
        self.memory.store(address, value)

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        return self.atomics.atom(i, address, *values)


class Blocks(Part):
    """What emits the blocks of a function, with all that their instructions need. instruments: makes the build's."""

    def __init__(self, e: Emitter, instruments: Callable[[Blocks], list[Instrument]]) -> None:
        super().__init__(e)
        self.memory = Memory(e)
        e.machine.accesses = AllAccesses(e, self.memory)
        self.bodies = Bodies(e, self.memory)
        e.instruments = instruments(self)
        e.by_warpgroup = any(each.by_warpgroup for each in e.instruments)
        self.execution = Execution(e, self.memory, self.bodies)
        self.uncut = 0
        """PTX instructions in the LLVM basic block so far."""

    # -- the function --------------------------------------------------------------------------------------------------

    def function(
        self,
        block: Callable[[Block], None],
        dispatch: Callable[[], None],
        loop: WarpLoop | None = None,
        more: Callable[[], None] | None = None,
    ) -> str:
        """The LLVM text of the function, with its constants. `block` emits a basic block, `dispatch` the jump from the
        function's entry to the warp's program counter. loop: that over the warps, if it has one; more: writes what
        other code is needed besides."""
        for each in self.program.blocks:
            self.plan(each)
            block(each)
        if more is not None:
            more()
        body, self.t.lines = self.t.lines, []
        self.enter()
        self.enter_warp()
        dispatch()
        name = f"i32 @{self.e.name}" if loop is None else f"internal {CONVENTION}i32 @{TURN}"
        given = f"{SIGNATURE}%ws" if loop is None else TURN_SIGNATURE
        lines = [f"define {name}({given}) nounwind alignstack(64) {PREDICTED} {{", "entry:"]
        lines += [*self.t.lines, *body, "fault:", f"  ret i32 {S.FAULT}", "}"]
        looping = "" if loop is None else loop.function()
        return "\n".join(self.e.constants) + "\n" + "\n".join(lines) + "\n" + looping

    def plan(self, block: Block) -> None:
        """The accesses of a block that is next share checks."""
        self.e.groups = plan_groups(self.program, block.first, block.last)

    def enter(self) -> None:
        """The function's entry: buffers, and fields of the context and the CTA."""
        t = self.t
        for buffer, size in (("addrs", 8 * W), ("data", 64 * W), ("out", 64 * W)):
            t.alloca(f"[{size} x i8]", align=64, name=f"%{buffer}")
        t.alloca("i32", name="%mask.p")
        for word in self.e.words:
            t.alloca("i32", name=word)
        for record, field, kind in (
            (S.Context, "params", "ptr"),
            (S.Context, "sites", "ptr"),
            (S.Context, "warps", "i64"),
            (S.Cta, "shared", "ptr"),
            (S.Cta, "shared_size", "i64"),
        ):
            self.e.held(record, field, kind)
        self.e.held(S.Context, "counts", "ptr", "all.counts" if self.e.by_warpgroup else "")

    def enter_warp(self) -> None:
        """The entry of a warp: fields of its state."""
        t = self.t
        self.e.held(S.Warp, "local", "ptr")
        for name, record, field in (
            ("live", S.Warp, "live"),
            ("wait", S.Warp, "wait"),
            ("converged.pc", S.Warp, "converged_pc"),
            ("quantum", S.Context, "quantum"),
            ("carry", S.Warp, "carry"),
            ("pcs", S.Warp, "pc"),
        ):
            t.offset(HELD[record], record.offset(field), f"%{name}.at")
        if self.e.by_warpgroup:
            t.do(f"%counts = {self.e.of_warpgroup('%all.counts', len(self.program.blocks))}")
        for instrument in reversed(self.e.instruments):
            instrument.enters()

    # -- blocks and instructions ---------------------------------------------------------------------------------------

    def begin(self, bits: str, *, partly: bool = False) -> None:
        """At a label: only the lanes that run are known. partly: not all lanes of a converged warp."""
        self.uncut = 0
        self.e.registers.begin()
        self.m.forget_splats()
        self.active.begin(bits, partly=partly or self.e.diverged)
        for instrument in reversed(self.e.instruments):
            instrument.begins()

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

    def count(self, block: Block, bits: str, *, undone: bool = False) -> None:
        """Executions of this block, by warps and by threads; and the quantum. undone: it has not run after all."""
        t = self.t
        more, less = (t.sub, t.add) if undone else (t.add, t.sub)
        executions = self.e.executions(block.index)
        t.bump(t.field(S.Executions, "warps", executions), more, "i64", 1)
        lanes = self.active.count(bits)
        t.bump(t.field(S.Executions, "threads", executions), more, "i64", lanes)
        t.bump("%quantum.at", less, "i64", block.last - block.first)
        if block.index in self.program.exits:  # a block that only ends threads: the warp has now been counted for it
            others = ~(1 << self.program.exits.index(block.index))
            t.bump(t.field(S.Warp, "ended"), t.and_, "i32", others)
