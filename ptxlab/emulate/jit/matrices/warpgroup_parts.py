"""The parts of a product of `wgmma`: products of `mma.sync` of 8 columns of d, by a table of registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.llvm.fragments import store
from ptxlab.emulate.jit.llvm.ir_text import Text, W

GROUP = 8
"""Columns of d that one product of `mma.sync` computes."""


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
