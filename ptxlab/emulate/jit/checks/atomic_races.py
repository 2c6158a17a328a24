"""racecheck in compiled code on atomic operations on global memory at one address, or on a row known when it is built.

Where the site knows the allocation, nothing is asked of it but the records of the words; most often none is a hazard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.atomics.rows import are_neighbours
from ptxlab.emulate.jit.checks.check_instrument import Checks
from ptxlab.emulate.jit.checks.scattered_races import one_place, whole_row
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules import races
from ptxlab.emulate.runtime import state as S


class RecordedAtomics(Part):
    """What records them."""

    def __init__(self, e: Emitter, checks: Checks, memory: Memory) -> None:
        super().__init__(e)
        self.checks, self.memory = checks, memory

    @contextmanager
    def unless_recorded(self, code: Code, address: Address, size: int) -> Iterator[None]:
        """Around what checks an operation of any kind: where it has been recorded, this is not run."""
        e, one = self.e, address.base.uniform
        row = not one and size == races.granule(self.program) and are_neighbours(address, size)
        if not self.checks.race or e.small or e.diverged or code.space != "global" or not (one or row):
            yield
            return
        t, m, site = self.t, self.m, e.own_site()
        at = m.wide(address)
        base, places, written, stride = (t.get(S.Site, name, site) for name in ("base", "places", "written", "stride"))
        if isinstance(at, Affine) and row:
            first, good = m.reached(at, 0).text, m.straight(at).text
            limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", str(W - 1))])
            good = t.and_("i1", good, t.eq("i32", self.active.bits, -1))
        else:
            first, good, limit = at.text, self.active.any(), places
        off = t.sub("i64", first, base)
        near = t.ult("i64", self.memory.sites.rotate("i64", off, size.bit_length() - 1), limit)
        good = t.and_("i1", t.and_("i1", good, near), t.eq("ptr", written, "null"))
        other, done, known = (t.label(name) for name in ("unrecorded", "recorded", "known"))
        t.branch(good, known, other)
        t.at(known)
        records = t.get(S.Site, "accesses", site)
        access = str(self.checks.flags(code.index))
        if row:
            fine = t.let(call(whole_row, *THERE, records, stride, off, access))
        else:
            fine = t.let(call(one_place, *THERE, self.active.bits, records, stride, off, str(size), access))
        t.branch(fine, done, other)
        t.at(other)
        with t.not_dominating():
            yield
        t.go(done)
        t.at(done)
