"""Deferred products of f16 and bf16 matrices: computed together when one of their registers is needed.

Programs multiply a row of tiles by a column of tiles step by step along k, and each step has many sums: `mma`s that add
to one sum stand apart. Deferred, they are computed at once: sums stay in the CPU's registers from one `mma` to the
next, and two sums beside each other are multiplied at once. Numbers are the same, since each sum gets its products in
order.

What products take is brought into memory when their instructions are met (`wide_operands`), so that A and B may change.
An instruction that reads or writes a register of the sums, or the end of the block, has them computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.matrices.half_forms import PAIRS, Unit, is_half_product
from ptxlab.emulate.jit.matrices.wide_operands import WideOperands
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.isa import fragments

STEPS = 16
"""Instructions that add to one sum, at most."""
Sum = tuple[int, ...]
"""The offsets of a sum's registers in the warp's state."""


@dataclass
class DeferredProduct:
    """A unit of deferred products. d, c: where its sums go to and come from; written, read: their registers;
    known: see `dot_products`; steps: pointers to A and B for each instruction."""

    unit: Unit
    d: Sum
    c: Sum
    written: frozenset[int]
    read: frozenset[int]
    known: int
    steps: list[tuple[str, str]] = field(default_factory=list)

    def goes_with(self, other: DeferredProduct) -> bool:
        """Whether both are multiplied at once."""
        same = self.unit == other.unit and [a for a, _ in self.steps] == [a for a, _ in other.steps]
        return same and bool(self.known & 1) == bool(other.known & 1)


class DeferredProducts(Part):
    """What is deferred, in the order of the program."""

    def __init__(self, e: Emitter, wide: WideOperands) -> None:
        super().__init__(e)
        self.wide = wide
        self.units: list[DeferredProduct] = []
        self.written: set[int] = set()
        self.read: set[int] = set()
        self._pointers = 0
        """Pointers that a call takes, at most."""

    def may(self, code: Code) -> bool:
        """Whether an instruction's products can be deferred."""
        e = self.e
        return not (e.diverged or e.instruments or e.file.products or self.active.partly or code.guard)

    def before(self, code: Code) -> None:
        """An instruction is next. What a product needs its own body says."""
        if not self.units or (code.properties.product and is_half_product(fragments.product(code.form))):
            return
        if code.properties.ends_block:
            self.finish()
        self.needs(reads(code), writes(code))

    def needs(self, read: Iterable[int], written: Iterable[int] = ()) -> None:
        """Registers are read and written next."""
        if self.units and not (
            self.written.isdisjoint(read) and self.written.isdisjoint(written) and self.read.isdisjoint(written)
        ):
            self.finish()

    def add(self, late: DeferredProduct, a: str, b: str) -> None:
        """Puts a unit of an instruction off, or one more step of a unit."""
        for each in self.units:
            same = each.d == late.d == late.c and late.unit.goes_on(each.unit)
            if same and len(each.steps) < STEPS:
                each.steps.append((a, b))
                return
        self.needs(late.read, late.written)
        late.steps.append((a, b))
        self.units.append(late)
        self.written |= late.written
        self.read |= late.read

    def finish(self) -> None:
        """Computes what is deferred."""
        units, self.units = self.units, []
        self.written.clear()
        self.read.clear()
        while units:
            first = units.pop(0)
            second = None
            if self.wide.units == 2:
                second = next((k for k, each in enumerate(units) if first.goes_with(each)), None)
            self.multiply([first] if second is None else [first, units.pop(second)])
        self.wide.done()

    def multiply(self, units: list[DeferredProduct], c: str = "") -> None:
        """The call that multiplies a unit or two. c: a pointer to C's registers, if they do not lie where they do."""
        t, wide, unit = self.t, self.wide, units[0].unit
        pointers = [x for k, (a, _) in enumerate(units[0].steps) for x in (a, *(each.steps[k][1] for each in units))]
        self._pointers = max(self._pointers, len(pointers))
        for k, pointer in enumerate(pointers):
            place = t.element("ptr", "%factors", k)
            t.store("ptr", pointer, place)
        offsets = [x for each in units for x in each.d] + [x for each in units for x in each.c]
        table = self.e.constant("registers", "i32", offsets, shared=True)
        name = wide.product(unit, len(units), apart=bool(c))
        given = ["ptr %ws", f"ptr {table}", "ptr %factors", f"i64 {len(units[0].steps)}"]
        if c:
            given.append(f"ptr {c}")
        if wide.cpu.form(unit.type) == PAIRS:
            given.append(f"i32 {units[0].known}")
        t.call_function("void", name, *given)

    def room(self) -> None:
        """At the function's entry: the pointers of a call."""
        if self._pointers:
            self.t.alloca(f"[{8 * self._pointers} x i8]", align=64, name="%factors")
