"""Registers: where they lie after a warp's state, what each holds while code is emitted, what must be stored."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.function import Function, RegisterFacts
from ptxlab.emulate.jit.emitter.lane_operations import LaneOps
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.program.liveness import bit_set, numbers
from ptxlab.emulate.program.matrix_operands import warpgroup_registers
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.warpgroup_products import Products
from ptxlab.emulate.rules.warpgroup_tiles import REGISTER
from ptxlab.emulate.runtime.state import ScalarRegister, Warp
from ptxlab.isa.actions import Action

FRAGMENTS = (4 + 4 * 256 // 8) * REGISTER
"""Room for the fragments of one product: A, and B with up to 64 bytes along k and 256 columns."""


class RegisterFile:
    """The offsets of each register in a warp's state: `vector[r]`, `scalar[r]` (0 where neither uniform nor affine),
    `inner[r]` and `stride[r]` (of affine values that have them), and its size. Where the program has `wgmma`: those of
    the products in flight, and of the fragments of the one that is computed."""

    def __init__(self, program: Program, facts: RegisterFacts) -> None:
        at = Warp.size
        self.vector, self.scalar = [], []
        for register in program.registers:
            self.vector.append(at)
            size = 4 if register.lane == "i1" else 4 * BITS[register.lane]
            at += -(-size // 64) * 64
        for register in program.registers:
            scalar = facts.uniform[register.index] or register.index in facts.affine
            self.scalar.append(at if scalar else 0)
            at += 8 if scalar else 0
        self.inner, self.stride = dict[int, int](), dict[int, int]()
        for r, form in facts.affine.items():
            for needed, places in ((form.extension, self.inner), (form.times, self.stride)):
                if needed:
                    places[r] = at
                    at += 8
        self.products = self.fragments = 0
        if any(code.action is Action.WARPGROUP_PRODUCT for code in program.codes):
            self.products = -(-at // 64) * 64
            self.fragments = self.products + -(-Products.size // 128) * 128
            at = self.fragments + FRAGMENTS
        self.size = -(-at // 128) * 128


class Registers:
    """Since the last label: `values` of registers that were read or written; `dirty`: those still to be stored."""

    def __init__(self, f: Function, m: LaneOps) -> None:
        self.f, self.t, self.m, self.active, self.program = f, f.t, m, m.mask, f.program
        self.affine = f.facts.affine
        self.file = RegisterFile(f.program, f.facts)
        self.scalars = bit_set([r for r, at in enumerate(self.file.scalar) if at])
        """Those that the function for converged warps keeps as scalars."""
        self.per_lane: frozenset[int] = frozenset()
        """Registers that are scalars elsewhere and of which all lanes are kept here (in `regions`)."""
        self.of_products = warpgroup_registers(f.program)
        """Registers of products of `wgmma`: they are kept in the warp's state, where waits for products change them."""
        self.values: dict[int, Value] = {}
        self.dirty: set[int] = set()
        self.keeps_all = False
        """Whether registers are stored even if they are not alive."""
        self.private = 0
        """Registers (a bit set) that only the lanes which run here read again: the others' values need not be kept."""
        self._tables: dict[int, tuple[str, int]] = {0: ("null", 0)}

    def begin(self) -> None:
        """A label: no values are known."""
        self.values, self.dirty = {}, set()

    def scalar(self, r: int) -> bool:
        return bool(self.scalars >> r & 1) and not self.f.diverged and r not in self.per_lane

    def _form(self, r: int) -> Form | None:
        """The form of a register that is kept as an affine value."""
        return self.affine.get(r) if self.scalar(r) else None

    # -- reads ---------------------------------------------------------------------------------------------------------

    def read(self, r: int) -> Value:
        if r not in self.values:
            load = self._scalar if self.scalar(r) else self._lanes
            self.values[r] = self._numbers(r) or load(r)
        return self.values[r]

    def _scalar(self, r: int) -> Value:
        file, form, lane = self.file, self.affine.get(r), self.program.registers[r].lane
        if form is None:
            p = self.t.offset("%ws", file.scalar[r])
            if lane == "i1":
                text = self.t.ne("i8", self.t.load("i8", p), 0)
            else:
                text = self.t.load(LLVM[lane], p, align=8)
            return Value(text, lane, True)
        inner = self._part(file.inner[r], "i32") if form.extension else None
        stride = self._part(file.stride[r], form.stride_type) if form.times else None
        base = self._part(file.scalar[r], form.type)
        return base if form.level else Affine(self.m, form, base, inner, stride)

    def _part(self, at: int, type_: str) -> Value:
        """One scalar of an affine value, which has this place in the warp's state."""
        return Value(self.t.load(type_, self.t.offset("%ws", at), align=8), type_, True)

    def _lanes(self, r: int) -> Value:
        lane, p = self.program.registers[r].lane, self.t.offset("%ws", self.file.vector[r])
        if lane == "i1":
            return self.m.of_bits(self.t.load("i32", p))
        return Value(self.t.load(f"<{W} x {LLVM[lane]}>", p, align=64), lane, False)

    def _numbers(self, r: int) -> Value | None:
        """What an affine register holds, if 0 is the base of all that is ever written to it."""
        form = self._form(r)
        return self.m.numbers(form.type, form.steps) if form is not None and form.known else None

    # -- writes --------------------------------------------------------------------------------------------------------

    def write(self, r: int, value: Value) -> None:
        """A write: inactive lanes keep the old value."""
        if self.program.registers[r].lane == "i1" and not self.scalar(r):
            value = self.m.short(value)
        if self.active.partly and not self.scalar(r) and not self.private >> r & 1:
            value = self.m.select(self.active.mask, value, self.read(r))
            value.raw = None  # both would be needed: all lanes are stored
        elif self.active.guard is not None:
            value = self.m.select(self.active.guard, value, self.read(r))
        if (number := self._numbers(r)) is not None:  # as the analysis has found
            value = number
        elif (form := self._form(r)) is not None:
            value = self._of_form(r, form, value)
        elif self.scalar(r) and value.lanes is not None and value.type in ("i32", "i64"):
            # A name hides the number, which the analysis did not know: times a number, an affine value would have
            # another form than times a scalar.
            value = Value(self.t.add(value.type, value.text, "0"), value.type, True)
        self.values[r] = value
        self.dirty.add(r)

    def _of_form(self, r: int, form: Form, value: Value) -> Value:
        """A value of an affine register in the register's form, though it may be a constant here."""
        affine = self.m.as_affine(value)
        assert affine is not None
        assert affine.form == form, (self.program.registers[r], affine.form, form)
        return value if form.level else Affine(self.m, form, affine.base, affine.inner, affine.stride)

    def flush(self, alive: int) -> None:
        """Stores the changed registers that are in `alive`, a bit set."""
        changed = 0
        for r in sorted(self.dirty):
            if self.keeps_all or alive >> r & 1 or r in self.of_products:
                if self.scalar(r):
                    self._store_scalar(r)
                else:
                    changed |= (self.scalars >> r & 1) << r % 64
                    self.keep_lanes(r)
        if changed and self.f.diverged:
            self.t.bump(self.t.field(Warp, "changed"), self.t.or_, "i64", changed)
        self.dirty.clear()

    def _store_scalar(self, r: int) -> None:
        file, value = self.file, self.values[r]
        if r not in self.affine:
            assert value.uniform, (self.program.registers[r], value)
            p, type_, text = self.t.offset("%ws", file.scalar[r]), value.llvm, value.text
            if type_ == "i1":
                type_, text = "i8", self.t.zext("i1", text, "i8")
            self.t.store(type_, text, p, align=8)
            return
        affine = self.m.as_affine(value)
        assert affine is not None, self.program.registers[r]
        parts = ((file.scalar[r], affine.base), (file.inner.get(r), affine.inner), (file.stride.get(r), affine.stride))
        for at, part in parts:
            if at is not None and part is not None:
                self.t.store(part.llvm, part.text, self.t.offset("%ws", at), align=8)

    def keep_lanes(self, r: int) -> None:
        """Stores all lanes of a register, beside the scalar if it is one."""
        value, lane = self.read(r), self.program.registers[r].lane
        p = self.t.offset("%ws", self.file.vector[r])
        if lane == "i1":
            self.t.store("i32", self.m.all_bits(value), p)
        else:
            self.t.store(f"<{W} x {LLVM[lane]}>", self.m.vector(value), p, align=64)

    def settle(self, r: int) -> None:
        """Stores all lanes of a register unless they lie in the warp's state already."""
        if r in self.dirty or self.scalar(r):
            self.keep_lanes(r)
            if not self.scalars >> r & 1:  # of those `flush` notes that they have changed
                self.dirty.discard(r)

    def forget(self, r: int) -> None:
        """A function has written a register in the warp's state."""
        self.values.pop(r, None)
        self.dirty.discard(r)

    # -- warps that diverge --------------------------------------------------------------------------------------------

    def not_needed(self, blocks: Iterable[int]) -> int:
        """The registers (a bit set) that are not read after the start of any of these blocks; none where there are
        instruments, which may show registers."""
        if self.f.instruments:
            return 0
        needed = bit_set(self.of_products)
        for block in blocks:
            needed |= self.f.alive_at(block)
        return ~needed

    def scalar_table(self, registers: int) -> tuple[str, int]:
        """A constant table of the uniform and affine registers among a bit set, and how many these are; after it the
        constants of the affine ones."""
        wanted = registers & self.scalars
        if wanted in self._tables:
            return self._tables[wanted]
        listed = numbers(wanted)
        rows, constants, begin = [], dict[tuple[int, ...], int](), ScalarRegister.size * len(listed)

        def at(steps: tuple[int, ...]) -> int:
            return begin + 8 * W * constants.setdefault(steps, len(constants)) if steps else 0

        for r in listed:
            form, file = self.affine.get(r), self.file
            places = file.vector[r], file.scalar[r], BITS[self.program.registers[r].lane] // 8, r % 64
            if form is None:
                rows.append((*places, 0, 0, 0, 0, 0, 0, 0, 1))
                continue
            scale, signed = form.scale % (1 << 64), form.extension == "sext"
            times, beyond = at(form.times), at(form.beyond)
            scalars = file.inner.get(r, 0), signed, times, file.stride.get(r, 0), beyond
            rows.append((*places, at(form.lane_offsets), at(form.steps), *scalars, scale))
        table = np.zeros(len(rows), ScalarRegister.dtype)  # the bytes between its fields too
        table[:] = rows
        words = [*table.view(np.int64).tolist(), *itertools.chain.from_iterable(constants)]
        self._tables[wanted] = found = self.f.constant("table", "i64", words), len(listed)
        return found
