"""Address resolution: where 32 addresses lie, looked at one by one, in shared memory or in the allocation of a site.

A site is a place in the code that caches the allocation which it found last (see `runtime.state.Site`).
"""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.address_patterns import Patterns
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.records import ANYWHERE
from ptxlab.emulate.runtime import state as S

Placed = tuple[str, str, str, str, str, str]
"""Where 32 addresses lie: the host's pointer, the record of writes, the pattern, the offsets from the pointer, and the
offset of the first lane of each half-warp."""


class AddressResolution(Part):
    """What looks at addresses. `mixed`: the sites whose addresses may lie in several allocations."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.patterns = Patterns(e)
        self.mixed: set[int] = set()

    def inside_shared(self, group: Group, at: Value) -> str:
        """The offsets of 32 addresses in shared memory, checked one by one."""
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
        return off32

    def anywhere(self, group: Group, vector: str, size: int) -> Placed:
        """32 addresses, checked one by one against the allocation that the site caches."""
        t, done, mixed = self.t, self.t.label("done"), self.t.label("mixed")
        (_, _, host, shadow), off32 = self.inside_site(group, vector, mixed)
        pattern, good = self.patterns.of(off32, size), t.here
        t.go(done)
        t.at(mixed)
        t.go(done)
        t.at(done)
        pattern = t.phi("i32", (pattern, good), (ANYWHERE, mixed))
        offsets = t.phi(f"<{W} x i32>", (off32, good), ("zeroinitializer", mixed))
        return host, shadow, pattern, offsets, *self.patterns.halves(offsets)

    def inside_site(self, group: Group, vector: str, mixed: str) -> tuple[tuple[str, str, str, str], str]:
        """What the site knows of the allocation, and the offsets in it of 32 addresses, checked one by one. Where they
        lie in several allocations, the code continues at the label `mixed`."""
        check, good, miss = (self.t.label(name) for name in ("check", "good", "miss"))
        self.t.go(check)
        self.t.at(check)
        site, known = self.site(group)
        off = self.t.sub(f"<{W} x i64>", vector, self.t.splat("i64", known[0]))
        off32 = self.t.trunc(f"<{W} x i64>", off, f"<{W} x i32>")
        bad = self._outside(Value(off, "i64", False), Value(known[1], "i64", True), group.log2)
        ok = self.t.eq("i32", bad, 0)
        self.t.branch(ok, good, miss, COLD)
        self.t.at(miss)
        self.t.store(f"<{W} x i64>", vector, "%addrs", align=64)
        result = self.t.let(
            call(
                memcheck.miss_lanes,
                "%ctx",
                "%cta",
                "%ws",
                self.active.bits,
                "%addrs",
                str(group.span),
                str(group.log2),
                str(S.SPACES[self.e.code.space]),
                str(int(group.write)),
                site,
                str(self.e.code.index | S.GROUP_FLAG),
            )
        )
        self.t.branch_by(result, "fault", [(memcheck.REMEMBERED, check), (memcheck.SCATTERED, mixed)])
        self.t.at(good)
        return known, off32

    def addresses(self, group: Group) -> str:
        """The lowest addresses of the lanes, a vector of i64."""
        if group.lanes is None:
            return group.address
        wide = group.lanes.type == "i64"
        return group.lanes.text if wide else self.t.zext(f"<{W} x i32>", group.lanes.text, f"<{W} x i64>")

    def offsets(self, group: Group) -> str:
        """The offsets of the lanes from the pointer, a vector of i32."""
        if group.offsets or group.lanes is None:
            return group.offsets
        kind, lanes = group.lanes.type, group.lanes.text
        off = self.t.sub(f"<{W} x {kind}>", lanes, self.t.splat(kind, group.start))
        return off if kind == "i32" else self.t.trunc(f"<{W} x i64>", off, f"<{W} x i32>")

    def _outside(self, offsets: Value, end: Value, log2: int) -> str:
        """i32: the active lanes whose offset is misaligned, or whose element begins at the end or after it."""
        if not self.e.small:
            return self._beyond(offsets, end, log2).text
        name, kind = f"outside.{offsets.type}.{log2}", offsets.type
        at, limit = Value("%at", kind, False), Value("%end", kind, True)
        self.e.calls.write(name, f"{offsets.llvm} %at, {kind} %end, i32 %bits", lambda: self._beyond(at, limit, log2))
        given = f"{offsets.llvm} {offsets.text}", f"{kind} {end.text}", f"i32 {self.active.bits}"
        return self.t.call_function("i32", name, *given)

    def _beyond(self, offsets: Value, end: Value, log2: int) -> Value:
        places = Value(self.rotate(offsets.llvm, offsets.text, log2), offsets.type, False)
        return Value(self.active.where_not(self.m.ult(places, end)), "i32", True)

    def rotate(self, type_: str, value: str, log2: int) -> str:
        """Rotated right so that a misaligned offset becomes a huge one: one comparison checks range and alignment."""
        if log2 == 0:
            return value
        suffix = {"i64": "i64", f"<{W} x i64>": f"v{W}i64", f"<{W} x i32>": f"v{W}i32"}[type_]
        amount = str(log2) if type_ == "i64" else f"splat ({type_.split()[-1][:-1]} {log2})"
        return self.t.call(type_, f"llvm.fshr.{suffix}", [(type_, value), (type_, value), (type_, amount)])

    def site(self, group: Group) -> tuple[str, tuple[str, str, str, str]]:
        site = self.t.offset("%sites", group.site * S.Site.size)
        base, places, host = (self.t.get(S.Site, name, site) for name in ("base", "places", "host"))
        written = self.t.load("i64", self.t.field(S.Site, "written", site))  # as a number
        return site, (base, places, host, written)
