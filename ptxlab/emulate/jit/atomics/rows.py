"""Atomic operations of a full warp on neighbours whose row is known when the kernel is built: a gradient's row.

Where nobody reads the old values, no other worker sees the memory, and the first address and the last lie in the
allocation that the site knows, 32 operations are a load, a vector operation and a store, in place. To find the 32
addresses, to call the function for all cases and to look for the row there takes five times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.atomics.elements import in_a_row
from ptxlab.emulate.jit.atomics.sums import flushing
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import BITS, Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.table import Form

IN_A_ROW = ("add", "and", "or", "xor", "loop")
"""Operations that are one instruction for a vector, or a few."""


def are_neighbours(address: Address, size: int) -> bool:
    """Whether it is known that the lanes' addresses are so many bytes apart."""
    base = address.base
    if not isinstance(base, Affine) or base.type != "i64" or base.form.times:
        return False
    return base.form.apart == tuple(size * k for k in range(W))


class AtomicRows(Part):
    """Writes that way."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    def applies(self, word: str, lane: str, address: Address) -> bool:
        """Whether an operation whose old values nobody reads may go this way."""
        e = self.e
        if e.small or e.diverged or e.code.space != "global" or word not in IN_A_ROW:
            return False
        return are_neighbours(address, BITS[lane] // 8)

    @contextmanager
    def row(self, form: Form, word: str, lane: str, address: Address, given: Value, site: str) -> Iterator[None]:
        """The operations; in this context the code for all others is written."""
        t, m, size = self.t, self.m, BITS[lane] // 8
        at = m.wide(address)
        assert isinstance(at, Affine)
        base, places, host, written = (t.get(S.Site, name, site) for name in ("base", "places", "host", "written"))
        off = t.sub("i64", m.reached(at, 0).text, base)
        limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", str(W - 1))])
        alone = t.get(S.Context, "alone")
        near = self.memory.sites.rotate("i64", off, size.bit_length() - 1)
        good = t.and_("i1", m.straight(at).text, t.ult("i64", near, limit))
        good = t.and_("i1", good, t.ne("i8", alone, 0))
        good = t.and_("i1", good, t.eq("ptr", written, "null"))
        good = t.and_("i1", good, t.eq("i32", self.active.bits, -1))
        row, other, done = (t.label(name) for name in ("row", "other", "done"))
        t.branch(good, row, other, COLD)
        t.at(other)
        with t.not_dominating():
            yield
        t.go(done)
        t.at(row)
        with t.not_dominating():
            start = t.offset(host, off)
            in_a_row(t, form, word, lane, start, m.vector(given), flushing(form, "global"))
        t.go(done)
        t.at(done)
