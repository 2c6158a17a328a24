"""Address resolution: where 32 addresses lie, one by one, in shared memory or in the allocation of a site, and their
pattern, which tells whether they can be loaded and stored as one vector; and the addresses of instructions that move
rows: pieces of a matrix for `wmma`, rows for `ldmatrix`, bytes of a copy.

A site is a place in the code that caches the allocation which it found last (see `runtime.state.Site`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ptxlab.emulate.jit.emitter.access_groups import ALL_CONTIGUOUS, ALL_UNIFORM, AccessGroup
from ptxlab.emulate.jit.emitter.emitter import Outline, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W, listed
from ptxlab.emulate.jit.llvm.values import Value, constant
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.addresses import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules import memcheck, records
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import fragments, types

Known = tuple[str, str, str, str]
"""What a site knows of an allocation: its first address, how many places an element may begin at, the host's pointer,
the record of writes (an i64)."""


class AddressResolution(Part):
    """Finds the allocation and the pattern of the addresses of an access."""

    def in_shared(self, group: AccessGroup, at: Value, size: int) -> None:
        """Checks 32 addresses in shared memory one by one; leaves where they lie in the group."""
        group.pattern = self.inside_shared(group, at, size)
        group.pointer, group.written, group.start = "%shared", "0", str(self.program.shared_start)
        group.patterns = self._patterns()
        group.halves = self._halves(group)

    def anywhere(self, group: AccessGroup, size: int) -> None:
        """Checks 32 addresses one by one against the site's allocation; leaves where they lie in the group."""
        (group.start, _, group.pointer, group.written), group.pattern = self.inside_site(group, size)
        group.patterns = self._patterns() | {records.ANYWHERE}
        group.halves = self._halves(group)

    def range_in_shared(self, group: AccessGroup, lowest: Value, beyond: Value) -> tuple[str, str]:
        """The offset in shared memory of the lowest of some addresses, an i64, and an i1: whether they lie there.
        beyond: bytes from there to the highest, an i64."""
        t, kind = self.t, lowest.type
        off = t.sub(kind, lowest.text, self.program.shared_start)
        off = off if kind == "i64" else t.zext("i32", off, "i64")
        last = t.sub("i64", "%shared.size", self.m.add(beyond, self.m.const("i64", group.span)).text)
        near = t.ule("i64", self.rotate("i64", off, group.log2), t.ashr("i64", last, group.log2))
        return off, t.and_("i1", t.sge("i64", last, 0), near)

    def inside_shared(self, group: AccessGroup, at: Value, size: int = 0) -> str:
        """Checks 32 addresses in shared memory one by one; an i32, the pattern of accesses of this size, if any."""
        if not self.e.small:
            return self._inside_shared(group, at, size)
        kind = group.span, group.log2, size, self.with_gaps()
        outline = Outline(self.e, *kind, held=["i64 %shared.size"], flag=S.GROUP_FLAG)
        given = outline.value(at)
        pattern = outline.call("shared", lambda: self._inside_shared(group, given, size))
        self.t.fault_if(self.t.eq("i32", pattern, -1))
        return pattern

    def _inside_shared(self, group: AccessGroup, at: Value, size: int) -> str:
        above = self.m.sub(at, self.m.const(at.type, self.program.shared_start))
        if above.type == "i64":  # a generic address by mistake, say: what 32 bits cannot hold is out of range
            near = self.m.ult(above, self.m.const("i64", 1 << 32))
            above = self.m.select(near, self.m.trunc("i32", above), self.m.const("i32", -1))
        off32 = self.m.vector(above)
        last = self.t.sub("i64", "%shared.size", group.span)
        limit = self.t.trunc("i64", self.t.ashr("i64", last, group.log2), "i32")
        above = Value(off32, "i32", False)
        beyond = self._outside(above, self.m.add(Value(limit, "i32", True), self.m.const("i32", 1)), group.log2)
        fits = self.t.sge("i64", last, 0)
        bad = self.t.select(fits, "i32", beyond, self.active.bits)
        self.e.faults.if_any(bad, at, S.GROUP_FLAG)
        return self._pattern(off32, size) if size else "0"

    def inside_site(self, group: AccessGroup, size: int = 0) -> tuple[Known, str]:
        """Checks 32 addresses one by one against the allocation that the site caches; what the site knows of it then,
        and an i32: the pattern of accesses of this size, if any; `ANYWHERE` where they lie in several allocations."""
        site = self.t.offset("%sites", group.site * S.Site.size)
        if not self.e.small:
            return self._inside_site(group, site, size)
        assert group.address is not None
        kind = self.e.code.space, group.span, group.log2, group.write, size, self.with_gaps()
        outline = Outline(self.e, *kind, flag=S.GROUP_FLAG)
        inside, there = replace(group, address=outline.value(group.address)), outline.text("ptr", site)
        pattern = outline.call("anywhere", lambda: self._inside_site(inside, there, size)[1])
        self.t.fault_if(self.t.eq("i32", pattern, -1))
        return self._known(site), pattern

    def _inside_site(self, group: AccessGroup, site: str, size: int) -> tuple[Known, str]:
        t = self.t
        check, good, miss, mixed, done = (t.label(name) for name in ("check", "good", "miss", "mixed", "done"))
        vector = self.addresses(group)
        t.go(check)
        t.at(check)
        known = self._known(site)
        off = t.sub(f"<{W} x i64>", vector, t.splat("i64", known[0]))
        bad = self._outside(Value(off, "i64", False), Value(known[1], "i64", True), group.log2)
        ok = t.eq("i32", bad, 0)
        t.branch(ok, good, miss, COLD)
        t.at(miss)
        t.store(f"<{W} x i64>", vector, "%addrs", align=64)
        result = t.let(call(memcheck.miss_lanes, *self.missed(group, "%addrs", site)))
        t.branch_by(result, "fault", [(memcheck.REMEMBERED, check), (memcheck.SCATTERED, mixed)])
        t.at(good)
        pattern = self._pattern(t.trunc(f"<{W} x i64>", off, f"<{W} x i32>"), size) if size else "0"
        fits = t.here
        t.go(done)
        t.at(mixed)
        t.go(done)
        t.at(done)
        return known, t.phi("i32", (pattern, fits), (records.ANYWHERE, mixed))

    def missed(self, group: AccessGroup, address: str, site: str) -> tuple[str, ...]:
        """The arguments of `memcheck.miss` or `miss_lanes`, which look for the allocation of an address, or of 32."""
        space, code = S.SPACES[self.e.code.space], self.e.faults.code(S.GROUP_FLAG)
        size = str(group.span), str(group.log2), str(space), str(int(group.write))
        return "%ctx", "%cta", "%ws", self.active.bits, address, *size, site, code

    def _outside(self, offsets: Value, end: Value, log2: int) -> str:
        """i32: the active lanes whose offset is misaligned, or whose element begins at the end or after it."""
        places = Value(self.rotate(offsets.llvm, offsets.text, log2), offsets.type, False)
        return self.active.where_not(self.m.ult(places, end))

    def rotate(self, type_: str, value: str, log2: int) -> str:
        """Rotated right so that a misaligned offset becomes a huge one: one comparison checks range and alignment."""
        if log2 == 0:
            return value
        suffix = {"i64": "i64", f"<{W} x i64>": f"v{W}i64", f"<{W} x i32>": f"v{W}i32"}[type_]
        amount = str(log2) if type_ == "i64" else f"splat ({type_.split()[-1][:-1]} {log2})"
        return self.t.call(type_, f"llvm.fshr.{suffix}", [(type_, value), (type_, value), (type_, amount)])

    def site(self, group: AccessGroup) -> tuple[str, Known]:
        """A pointer to the group's site, and what it knows."""
        site = self.t.offset("%sites", group.site * S.Site.size)
        return site, self._known(site)

    def _known(self, site: str) -> Known:
        base, places, host = (self.t.get(S.Site, name, site) for name in ("base", "places", "host"))
        written = self.t.load("i64", self.t.field(S.Site, "written", site))  # as a number
        return base, places, host, written

    def addresses(self, group: AccessGroup) -> str:
        """The lowest addresses of the lanes, a vector of i64."""
        at = group.address
        assert at is not None
        lanes = self.m.vector(at)
        return lanes if at.type == "i64" else self.t.zext(f"<{W} x i32>", lanes, f"<{W} x i64>")

    def offsets(self, group: AccessGroup) -> str:
        """The offsets of the lanes from the pointer, a vector of i32."""
        at = group.address
        assert at is not None
        off = self.t.sub(f"<{W} x {at.type}>", self.m.vector(at), self.t.splat(at.type, group.start))
        return off if at.type == "i32" else self.t.trunc(f"<{W} x i64>", off, f"<{W} x i32>")

    def put_addresses(self, group: AccessGroup) -> str:
        """Stores the lowest addresses of the lanes, 32 of i64; where they lie."""
        self.t.store(f"<{W} x i64>", self.addresses(group), "%addrs", align=64)
        return "%addrs"

    def put_offsets(self, group: AccessGroup) -> str:
        """Stores the offsets of the lanes from the pointer, 32 of i32; where they lie."""
        self.t.store(f"<{W} x i32>", self.offsets(group), "%addrs", align=64)
        return "%addrs"

    def _halves(self, group: AccessGroup) -> tuple[str, str]:
        """The first lane's offset in each half-warp, i64: below 2^31 if the lane is active, else maybe negative."""
        offsets = self.offsets(group)
        lanes = [self.t.extract(f"<{W} x i32>", offsets, lane) for lane in (0, W // 2)]
        first, second = (self.t.sext("i32", at, "i64") for at in lanes)
        return first, second

    def _patterns(self) -> frozenset[int]:
        found = {*ALL_CONTIGUOUS, *ALL_UNIFORM, records.IN_ONE_ALLOCATION}
        return frozenset(found | {records.WITH_GAPS} if self.with_gaps() else found)

    def _pattern(self, off32: str, size: int) -> str:
        """The pattern of 32 offsets; half-warps count, since blocks are often 16 threads wide. Where lanes are
        inactive, contiguous with gaps is one pattern, all others are gathered."""
        t, half = self.t, W // 2
        vector = f"<{W} x i32>"
        firsts = t.shuffle(vector, off32, [k // half * half for k in range(W)])
        straight = t.add(vector, firsts, listed(tuple(k % half * size for k in range(W))))
        contiguous = t.bitcast(f"<{W} x i1>", t.eq(vector, off32, straight), "i32")
        ones = t.bitcast(f"<{W} x i1>", t.eq(vector, off32, firsts), "i32")
        low, high = (t.extract(vector, off32, lane) for lane in (0, half))
        gap = t.sub("i32", high, low)
        row = t.select(t.eq("i32", gap, half * size), "i32", records.CONTIGUOUS, records.HALVES_CONTIGUOUS)
        one = t.select(t.eq("i32", gap, 0), "i32", records.UNIFORM, records.HALVES_UNIFORM)
        some = t.select(t.eq("i32", ones, -1), "i32", one, records.IN_ONE_ALLOCATION)
        some = t.select(t.eq("i32", contiguous, -1), "i32", row, some)
        others = str(records.IN_ONE_ALLOCATION)
        if self.with_gaps():  # the addresses of inactive lanes count too: registers keep what the lanes had there
            others = t.select(t.eq("i32", contiguous, -1), "i32", records.WITH_GAPS, records.IN_ONE_ALLOCATION)
        whole = t.eq("i32", self.active.bits, -1)
        return t.select(whole, "i32", some, others)

    def with_gaps(self) -> bool:
        """Whether contiguous with gaps is a pattern: where some lanes are likely to be inactive."""
        return self.active.partly or self.e.code.guard is not None


class RowAddresses(Part):
    """Computes them from the operands."""

    def pieces(self, code: Code, address: Value, stride: Value | None) -> Iterator[tuple[Value, int, int]]:
        """The addresses of the pieces of a matrix that wmma loads or stores, 32 at a time, the mask of the lanes that
        have one, and the bytes of each. stride: elements from one row or column to the next, if given."""
        ((_, f),) = fragments.operands(code.form).items()
        layout, first = str(code.form.layout), self.m.lane_0(address)
        if stride is None:
            step = self.m.const("i64", (f.columns if layout == "row" else f.rows) * f.bits // 8)
        else:  # of elements, of which a fragment may hold several as one
            bits = self.m.mul(self.m.lane_0(stride), self.m.const("i64", types.width(code.form.type)))
            step = self.m.lshr(bits, self.m.const("i64", 3))
        pieces = fragments.pieces(f, layout)
        for k in range(0, len(pieces), W):
            some = pieces[k : k + W]
            none = [some[0]] * (W - len(some))
            lines = constant(np.array([p.line for p in some + none], np.uint64), "i64")
            starts = constant(np.array([p.start for p in some + none], np.uint64), "i64")
            places = self.m.add(self.m.add(self.m.mul(lines, step), starts), first)
            yield places, -1 if len(some) == W else (1 << len(some)) - 1, some[0].size

    def in_shared(self, at: Value) -> Value:
        """The address as one of shared memory; for one elsewhere the last address, where no row fits."""
        if at.type == "i32":
            return at
        offset = self._offset_in(at)
        reaches = self.m.ult(offset, self.m.const("i64", 1 << 31))
        return self.m.trunc("i32", self.m.select(reaches, offset, self.m.const("i64", 0xFFFFFFFF)))

    def offsets_in_shared(self, code: Code) -> str:
        """The 32 addresses of an instruction as offsets in the block's shared memory, a vector of i32."""
        at = self.in_shared(self.e.operands.address(code, "a"))
        return self.m.vector(self.m.sub(at, self.m.const("i32", self.program.shared_start)))

    def _offset_in(self, at: Value) -> Value:
        """The distance of a 64-bit address, generic or not, from the start of shared memory."""
        if self.e.code.space != "generic":
            return at
        above = self.m.sub(at, self.m.const("i64", SHARED_WINDOW))
        return self.m.select(self.m.ult(above, self.m.const("i64", WINDOW_SIZE)), above, at)
