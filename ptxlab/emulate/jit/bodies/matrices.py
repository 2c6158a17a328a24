"""Matrix instructions in the JIT: calls of functions, one for all instructions of a form.

The functions read and write registers in the warp's state. So sources are stored there before a call, and results are
loaded from there when they are next needed: sums that go from one `mma` into the next stay there. All 32 lanes must
take part; where the warp has diverged, the function for diverged warps synchronizes them first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.emitter.instrument import After
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.matrices import tiles
from ptxlab.emulate.jit.matrices.products import product_function
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg, Source
from ptxlab.emulate.program.matrix_operands import Elements, bits_of, elements, metadata
from ptxlab.emulate.rules import matrix_access
from ptxlab.emulate.runtime import state as S
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import fragments, types
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks
    from ptxlab.emulate.jit.emitter.emitter import Emitter
    from ptxlab.emulate.jit.instruments.counting import Counting

SPARE = tuple(S.Warp.offset(row) for row in ("offered.0", "offered.1", "offered.2", "given.0", "given.1"))
"""Where literal operands go. In an exchange the operands of waiting lanes lie there; here no lane waits."""
SINK = S.Warp.offset("given.2")
"""The destination of the sink `_`."""


class Matrices(Body):
    rules = (matrix_access.find, matrix_access.mark)

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e, memory)
        self._whole = ""
        """The active mask that is known to be of all 32 lanes."""
        self._keeps = False  # whether rows that are overwritten are kept, for racecheck

    def emit(self, code: Code) -> None:
        """All 32 lanes must execute it, or, where its guard holds nowhere, none."""
        registers, held = self.e.registers, elements(self.program, code)
        widths = {name: fragment.width for name, fragment in fragments.operands(code.form).items()}
        sources = [name for name in held if name != "d"]
        literals: dict[int, int] = {}
        for name in sources:
            self._settle(held[name], literals, widths[name])
        written = [e.index for e in held.get("d", ()) if isinstance(e, Reg)]
        offsets = [
            self._offset(e, literals, widths[name]) for name in ("d", *sources) if name in held for e in held[name]
        ]
        table = self.e.constant("registers", "i32", offsets)  # all instructions with the same registers share it
        call = self._prepare(code, code.form)
        if code.guard is None:
            if self._whole != self.active.bits:
                self.e.faults.unless_all_lanes(code, "")
                self._whole = self.active.bits
            call(table)
        else:
            for r in written:  # they keep their values where this is skipped
                if r in registers.dirty:
                    registers.settle(r)
            with self.t.unless(self.active.none()):
                self.e.faults.unless_all_lanes(code, self.active.block_bits)
                call(table)
        for r in written:
            registers.forget(r)

    # -- operands ------------------------------------------------------------------------------------------------------

    def _settle(self, operands: Elements, literals: dict[int, int], width: int) -> None:
        """Stores these registers in the warp's state."""
        for e in operands:
            if isinstance(e, Reg):
                self.e.registers.settle(e.index)
            elif isinstance(e, Literal) and bits_of(e, width) not in literals:
                if len(literals) == len(SPARE):
                    raise UnsupportedInstruction(
                        f"the compiled emulator takes {len(SPARE)} different numbers in one matrix instruction; "
                        "put more of them into registers",
                        line=self.e.code.line,
                        source=self.program.source(self.e.code.line),
                        file=self.program.file,
                    )
                at = literals[bits_of(e, width)] = SPARE[len(literals)]
                p = self.t.offset("%ws", at)
                self.t.store(f"<{W} x i{width}>", f"splat (i{width} {bits_of(e, width)})", p, align=64)

    def _offset(self, e: Source | None, literals: dict[int, int], width: int) -> int:
        if isinstance(e, Reg):
            return self.e.registers.file.vector[e.index]
        return literals[bits_of(e, width)] if isinstance(e, Literal) else SINK

    # -- the calls -----------------------------------------------------------------------------------------------------

    def _prepare(self, code: Code, form: Form) -> Callable[[str], None]:
        """Reads the other operands; returns what emits the call, for the place where it is known to be made."""
        helpers, declared = self.e.helpers, self.t.declared
        name = "_".join(w.replace("::", "_") for w in form.opcode.split(".") if w not in ("sync", "aligned"))
        if code.properties.rows:
            return self._rows(form, name)
        if code.properties.touches:
            return self._wmma_access(code, form, name)
        if code.action is Action.TRANSPOSE:
            helpers.setdefault(name, tiles.movmatrix(name))
        else:
            packed = metadata(self.program, code)
            name += f"_{packed.selector}" if packed is not None else ""
            if name not in helpers:
                product = fragments.product(form)
                helpers[name] = product_function(name, product, declared, bool(form.satfinite), packed)

        def call(table: str) -> None:  # of a function that needs to know no more than where the registers lie
            self.t.call_function("void", name, "ptr %ws", f"ptr {table}")

        return call

    def _rows(self, form: Form, name: str) -> Callable[[str], None]:
        t, code = self.t, self.e.code
        (f,) = fragments.operands(form).values()
        if name not in self.e.helpers:
            self.e.helpers[name] = tiles.rows(name, f, t.declared, stores=form.properties.stores, keeps=self._keeps)
        mem, _ = code.named["a"]
        assert isinstance(mem, Mem)
        offset, held = -self.program.shared_start, -1
        if isinstance(mem.base, Reg) and code.space == "shared" and not self.e.registers.scalar(mem.base.index):
            held = mem.base.index if self.program.registers[mem.base.index].lane == "i32" else -1
        at: Value | None = None
        if held >= 0:  # the addresses are taken from where the register lies
            self.e.registers.settle(held)
            where = t.offset("%ws", self.e.registers.file.vector[held])
            offset += mem.offset
        else:
            where, at = "%addrs", self.e.operands.address(code, "a")
            rows = self.m.vector(self.memory.rows.in_shared(at))
            t.store(f"<{W} x i32>", rows, "%addrs", align=64)

        def call(table: str) -> None:
            given = f"ptr {where}", f"i32 {offset}", "ptr %shared", "i64 %shared.size", "ptr %data"
            bad = t.call_function("i32", name, "ptr %ws", f"ptr {table}", *given)
            if at is not None and at.type != "i32":
                self.e.faults.if_any(bad, at)
                return
            with t.unless(t.eq("i32", bad, 0), cold=True, to="fault"):
                lane = self.active.first(bad)
                row = t.load("i32", t.element("i32", where, lane, by="i32"))
                address = t.add("i32", row, "0" if at is not None else mem.offset)
                self.e.faults.record(S.OUT_OF_MEMORY_RANGE, str(code.index), lane, t.zext("i32", address, "i64"))

        return call

    def _wmma_access(self, code: Code, form: Form, name: str) -> Callable[[str], None]:
        t, stores = self.t, form.matrix == "d"
        ((_, f),) = fragments.operands(form).items()
        layout = str(form.layout)
        if name not in self.e.helpers:
            self.e.helpers[name] = tiles.wmma(name, f, layout, t.declared, stores=stores)
        at = self.m.wide(self.e.operands.read_named(code, "a", "addr"))
        given = self.e.operands.read_named(code, "stride", "u32")
        stride = self.m.zext("i64", given) if given is not None else None
        each = self.m.const("i64", types.width(form.type))
        default = f.columns if layout == "row" else f.rows

        def call(table: str) -> None:
            for value in (at, stride):
                self.e.faults.unless_same(code, value)
            step = str(default * f.bits // 8)
            if stride is not None:
                step = self.m.lshr(self.m.mul(self.m.lane_0(stride), each), self.m.const("i64", 3)).text
            place = f"i64 {self.m.lane_0(at).text}", f"i64 {step}", f"i32 {S.SPACES[code.space]}", f"i32 {code.index}"
            given = f"ptr {table}", "ptr %ctx", "ptr %cta", *place
            self.e.faults.if_failed(t.call_function("i32", name, "ptr %ws", *given))
            for instrument in reversed(self.e.instruments):
                instrument.tile(code, at, stride)

        return call

    # -- counters and checks -------------------------------------------------------------------------------------------

    def count(self, code: Code, counting: Counting) -> None:
        if not code.properties.rows:  # of wmma: see `Instrument.tile`
            return
        (access,) = code.accesses
        lanes = access.lanes - (1 << 32) if access.lanes >> 31 else access.lanes
        rows = self.t.select(self.active.any(), "i32", lanes, 0)
        counting.anywhere(code.index, self.places(code, access), 0, access.size, mask=rows)

    def check(self, code: Code, checks: Checks) -> After | None:
        if code.properties.rows:
            (access,), self._keeps = code.accesses, checks.race
            offsets = self.memory.rows.offsets_in_shared(code)
            return lambda: checks.placed(code, access.lanes, access.size, offsets)
        if code.properties.fragment and code.accesses:
            self._tile(code, checks)
        return None

    def _tile(self, code: Code, checks: Checks) -> None:
        """The pieces of a matrix that wmma loads or stores."""
        address = self.m.zext("i64", self.e.operands.address(code, "a"))
        given = self.e.operands.read_named(code, "stride", "u32")
        stride = None if given is None else self.m.zext("i64", given)
        for places, lanes, size in self.memory.rows.pieces(code, address, stride):
            self.t.store(f"<{W} x i64>", self.m.vector(places), "%addrs", align=64)
            there = self.active.any()
            with self.active.only(self.t.select(there, "i32", lanes, 0)):
                checks.each(0, size, code, int(code.properties.stores))
                if checks.may_be_tile(code):
                    checks.stored_anywhere(code, places, size)
