"""The parts of a product of `wgmma`: products of `mma.sync` of 8 columns of d, or of 16, by a table of registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.llvm.fragments import store
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.matrices.half_forms import unit
from ptxlab.emulate.jit.matrices.half_operands import pointer_at
from ptxlab.emulate.jit.matrices.wide_operands import WideOperands
from ptxlab.emulate.rules.warpgroup_tiles import REGISTER
from ptxlab.isa.fragments import Product

GROUP = 8
"""Columns of d that one product of `mma.sync` computes."""


def rows_of_halves(wide: WideOperands, d: list[int], a: list[int], part: Product) -> list[int]:
    """The table of a product of halves: the registers of A, and then for each two parts, or for the last one, those of
    d, twice, and of B."""
    of_d, of_b = part.d.registers, part.b.registers
    groups, rows = len(d) // of_d, list(a)
    at_once = min(groups, wide.units)
    for first in range(0, groups, at_once):
        last = min(groups, first + at_once)
        own = d[first * of_d : last * of_d]
        b = [wide.e.file.fragments + (4 + k) * REGISTER for k in range(first * of_b, last * of_b)]
        rows += [*own, *own, *b]
    return rows


def multiply_halves(wide: WideOperands, t: Text, part: Product, groups: int, adds: str) -> None:
    """The products of so many parts, by the table of `rows_of_halves`. adds: an i1, whether they are added to d."""
    one = unit(part)
    of_a, of_b = (wide.function(which, f) for which, f in (("a", part.a), ("b", part.b)))
    at_once = min(groups, wide.units)
    size = wide.size("b", part.b)
    for name, room in (("wide.a", wide.size("a", part.a)), ("wide.b", at_once * size), ("factors", 8 + 8 * at_once)):
        t.alloca(f"[{room} x i8]", align=64, name=f"%{name}")
    b = [pointer_at(t, "%wide.b", n * size) for n in range(at_once)]
    for n, pointer in enumerate(["%wide.a", *b]):
        t.store("ptr", pointer, pointer_at(t, "%factors", 8 * n))
    t.call_function("void", of_a, "ptr %ws", "ptr %table", "ptr %wide.a")
    known = ["i32 0"] if wide.has_dots(part) else []
    first = 4 * part.a.registers
    for units, count in ((at_once, groups // at_once), (1, groups % at_once)):
        if not count:
            continue
        multiply, own = wide.product(one, units, apart=False), units * part.d.registers
        length = 2 * own + units * part.b.registers
        with for_each_row(t, pointer_at(t, "%table", first), length, count) as row:
            unless_added(wide.e, t, adds, row, own)
            for n in range(units):
                registers = pointer_at(t, row, 4 * (2 * own + n * part.b.registers))
                t.call_function("void", of_b, "ptr %ws", f"ptr {registers}", f"ptr {b[n]}")
            t.call_function("void", multiply, "ptr %ws", f"ptr {row}", "ptr %factors", "i64 1", *known)
        first += 4 * length * count


@contextmanager
def for_each_row(t: Text, table: str, length: int, count: int) -> Iterator[str]:
    """What is done for each row of a table of i32."""
    before, again, last, end = (t.label(name) for name in ("rows", "next", "last", "end"))
    i, following = t.name(), t.name()
    t.go(before)
    t.at(before)
    t.go(again)
    t.at(again)
    t.phi("i64", (0, before), (following, last), name=i)
    yield t.element(f"[{length} x i32]", table, i)
    t.go(last)
    t.at(last)
    t.add("i64", i, 1, following)
    t.branch(t.ult("i64", following, count), again, end)
    t.at(end)


def unless_added(e: Emitter, t: Text, adds: str, row: str, registers: int) -> None:
    """Begins with zeros in so many registers, unless the product is added to what they hold."""
    zero = f"wgmma_zero_{registers}"
    e.helpers.setdefault(zero, _zero(zero, registers))
    with t.unless(adds):
        t.call_function("void", zero, "ptr %ws", f"ptr {row}")


def _zero(name: str, registers: int) -> str:
    """A function that makes registers zero."""
    t = Text()
    for k in range(registers):
        store(t, k, "i32", W, "zeroinitializer")
    t.ret()
    return t.function(f"void @{name}(ptr %ws, ptr %table)", "nounwind")
