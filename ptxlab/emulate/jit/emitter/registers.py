"""Registers while code is emitted: which value each holds, and what of it must still be stored in the warp's state."""

from __future__ import annotations

from collections.abc import Iterable

from ptxlab.emulate.jit.affine.forms import ANY, Form, Known
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.program.liveness import bit_set
from ptxlab.emulate.program.matrix_operands import warpgroup_registers
from ptxlab.emulate.runtime.state import Warp


class Registers:
    """Since the last label: `values` of registers that were read or written; `dirty`: those still to be stored."""

    def __init__(self, f: Function, m: LaneMachine) -> None:
        self.f, self.t, self.m, self.active, self.program = f, f.t, m, m.mask, f.program
        self.spread: frozenset[int] = frozenset()
        """Registers that are scalars elsewhere and of which all lanes are kept here (in `regions`)."""
        self.held = warpgroup_registers(f.program)
        """Registers of products of `wgmma`: they are kept in the warp's state, where products find them late."""
        self.values: dict[int, Value] = {}
        self.dirty: set[int] = set()
        self.keeps_all = False
        """Whether registers are stored even if they are not alive."""
        self.own = 0
        """Registers (a bit set) that only the lanes which run here will read again: what the others hold is lost."""

    def begin(self) -> None:
        """A label: no values are known."""
        self.values, self.dirty = {}, set()

    def scalar(self, r: int) -> bool:
        """Whether a register is kept as a scalar, or as two."""
        return self.f.scalars[r] and not self.f.diverged and r not in self.spread

    def _form(self, r: int) -> Form | None:
        """The form of a register that is kept as an affine value."""
        return self.f.affine.get(r) if self.scalar(r) else None

    def _affine(self, r: int, form: Form) -> Value:
        """An affine register."""
        file = self.f.file
        inner = self._loaded(file.inner[r], "i32") if form.extension else None
        stride = self._loaded(file.stride[r], form.stride_type) if form.times else None
        base = self._loaded(file.scalar[r], form.type)
        if form.level:
            self.m.note(base, Known(form.zeros, form.most))
            return base
        return Affine(self.m, form, base, inner, stride)

    def _loaded(self, at: int, type_: str) -> Value:
        """A scalar of a register, which has this place in the warp's state."""
        return Value(self.t.load(type_, self.t.offset("%ws", at), align=8), type_, True)

    def read(self, r: int) -> Value:
        found = self.values.get(r)
        form = self._form(r)
        if found is None and (number := self._numbers(r)) is not None:
            found = self.values[r] = number
        if found is None and form is not None:
            found = self.values[r] = self._affine(r, form)
        if found is None:
            lane = self.program.registers[r].lane
            scalar = self.scalar(r)
            p = self._place(r, scalar=scalar)
            if lane == "i1" and not scalar:
                found = self.values[r] = self.m.of_bits(self.t.load("i32", p))
                return found
            if lane == "i1":
                text = self.t.ne("i8", self.t.load("i8", p), 0)
            else:
                ty = LLVM[lane] if scalar else f"<{W} x {LLVM[lane]}>"
                text = self.t.load(ty, p, align=8 if scalar else 64)
            found = self.values[r] = Value(text, lane, scalar)
            if scalar:
                self.m.note(found, self.f.known.get(r, ANY))
        return found

    def _numbers(self, r: int) -> Value | None:
        """What a scalar holds, if 0 is all that is ever written to it, or the base of all that is."""
        form, lane = self.f.affine.get(r), self.program.registers[r].lane
        zeros = self.f.known.get(r, ANY).zeros if form is None else form.zeros
        if zeros < BITS[lane] or not self.scalar(r):
            return None
        return self.m.const(lane, 0) if form is None else self.m.numbers(lane, form.steps)

    def _place(self, r: int, *, scalar: bool) -> str:
        """A pointer to a register: to the scalar that stands for all lanes, or to all lanes."""
        return self.t.offset("%ws", (self.f.file.scalar if scalar else self.f.file.vector)[r])

    def write(self, r: int, value: Value) -> None:
        """A write: inactive lanes keep the old value."""
        if self.program.registers[r].lane == "i1" and not self.scalar(r):
            value = self.m.short(value)
        if self.active.partly and not self.scalar(r) and not self.own >> r & 1:
            value = self.m.select(self.active.mask, value, self.read(r))
            value.raw = None  # both would be needed: all lanes are stored
        elif self.active.guard is not None:
            value = self.m.select(self.active.guard, value, self.read(r))
        if (number := self._numbers(r)) is not None:  # the analysis has taken it for that
            value = number
        elif self._form(r) is not None:
            value = self._of_form(r, value)
        elif self.scalar(r):
            if value.lanes is not None and value.type in ("i32", "i64"):
                # A name hides the number, which the analysis did not know: times a number, an affine value would have
                # another form than times a scalar.
                value = Value(self.t.add(value.type, value.text, "0"), value.type, True)
            self.m.note(value, self.f.known.get(r, ANY))
        self.values[r] = value
        self.dirty.add(r)

    def flush(self, alive: int) -> None:
        """Stores the changed registers that are in `alive`, a bit set."""
        changed = 0
        for r in sorted(self.dirty):
            if not (self.keeps_all or alive >> r & 1 or r in self.held):
                continue
            value, lane = self.values[r], self.program.registers[r].lane
            if self._form(r) is not None:
                self._store_affine(r, value)
                continue
            if self.scalar(r):
                assert value.uniform, (self.program.registers[r], value)
                p = self._place(r, scalar=True)
                text = self.t.zext("i1", value.text, "i8") if lane == "i1" else value.text
                self.t.store("i8" if lane == "i1" else value.llvm, text, p, align=8)
                continue
            changed |= self.f.scalars[r] << r % 64
            p = self._place(r, scalar=False)
            if lane == "i1":
                self.t.store("i32", self.m.bits_of(value), p)
            else:
                self.t.store(f"<{W} x {LLVM[lane]}>", self.m.vector(value), p, align=64)
        if changed and self.f.diverged:
            self.t.bump(self.t.field(Warp, "changed"), self.t.or_, "i64", changed)
        self.dirty.clear()

    def _of_form(self, r: int, value: Value) -> Value:
        """A value of an affine register in the register's form, though it may be a constant here."""
        affine, form = self.m.as_affine(value), self.f.affine[r]
        assert affine is not None
        assert affine.form == form, (self.program.registers[r], affine.form, form)
        if form.level:
            self.m.note(value, Known(form.zeros, form.most))
            return value
        return Affine(self.m, form, affine.base, affine.inner, affine.stride)

    def _store_affine(self, r: int, value: Value) -> None:
        """Stores the scalars of an affine register."""
        file, affine = self.f.file, self.m.as_affine(value)
        assert affine is not None, self.program.registers[r]
        parts = ((file.scalar[r], affine.base), (file.inner.get(r), affine.inner), (file.stride.get(r), affine.stride))
        for at, part in parts:
            if at is not None and part is not None:
                self.t.store(part.llvm, part.text, self.t.offset("%ws", at), align=8)

    def put(self, r: int) -> None:
        """Stores a register, if it has changed, where it is kept."""
        others, self.dirty = self.dirty - {r}, self.dirty & {r}
        self.flush(-1)
        self.dirty = others

    def keep_lanes(self, r: int) -> None:
        """Stores a register for all lanes, beside the scalar that it is."""
        value, lane = self.read(r), self.program.registers[r].lane
        p = self._place(r, scalar=False)
        if lane == "i1":
            self.t.store("i32", self.t.sext("i1", value.text, "i32"), p)
        else:
            self.t.store(f"<{W} x {LLVM[lane]}>", self.m.vector(value), p, align=64)

    def settle(self, r: int) -> None:
        """Stores a register in the warp's state, for all lanes."""
        scalar = self.scalar(r)
        if r in self.dirty or scalar:
            p = self.t.offset("%ws", self.f.file.vector[r])
            value = self.m.vector(self.read(r))
            self.t.store(f"<{W} x {LLVM[self.program.registers[r].lane]}>", value, p, align=64)
            if not self.f.scalars[r]:  # of those `flush` notes that they have changed
                self.dirty.discard(r)

    def not_needed(self, blocks: Iterable[int]) -> int:
        """The registers (a bit set) that nobody reads who is at the start of one of these blocks. None where somebody
        watches."""
        if self.f.instruments:
            return 0
        needed = bit_set(self.held)
        for block in blocks:
            needed |= self.f.alive[block]
        return ~needed

    def forget(self, r: int) -> None:
        """A function has written a register in the warp's state."""
        self.values.pop(r, None)
        self.dirty.discard(r)
