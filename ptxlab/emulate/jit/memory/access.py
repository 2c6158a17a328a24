"""Loads and stores as LLVM IR: checked once per group of offsets from one base, then as wide as the addresses allow.

`ld` and `st` of the instruction table call `LaneOps.load` and `store`; these call `Blocks`, which calls `Memory`.
Accesses of one basic block that differ only in their immediate offset form a group: one site, and one check, emitted
with the first of them. The check compares the addresses with the allocation that the site caches, or with the size of
shared memory. If the cached allocation is another one, the code calls `memcheck.miss` or `miss_lanes`. If the access is
invalid, a fault is noted and the code branches to `fault:`. After the check, one address for all lanes becomes a scalar
access, consecutive addresses become a vector access, and others a strided access, a gather or a scatter.
"""

from __future__ import annotations

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import AccessGroup, Seen, access_shape, judged_anew, place_of
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD
from ptxlab.emulate.jit.llvm.values import LLVM, Address, Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution, RowAddresses
from ptxlab.emulate.jit.memory.affine_access import AffineAccesses
from ptxlab.emulate.jit.memory.data_transfer import Transfers
from ptxlab.emulate.jit.memory.local_memory import LocalMemory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.records import ANYWHERE
from ptxlab.emulate.runtime import state as S


class Memory(Part):
    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.sites, self.rows = AddressResolution(e), RowAddresses(e)
        self.transfers = Transfers(e, self.sites)
        self.affine = AffineAccesses(e, self.sites)
        self.local = LocalMemory(e, self.transfers.scattered)

    # -- what semantics call -------------------------------------------------------------------------------------------

    def load(self, address: Address) -> Value | tuple[Value, ...]:
        values = self._moved(address, None)
        return values[0] if len(values) == 1 else values

    def store(self, address: Address, value: Value | tuple[Value, ...]) -> None:
        self._moved(address, value if isinstance(value, tuple) else (value,))

    def _moved(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """The access of the instruction; `stored`: the values of a store, None for a load."""
        space = self.e.code.space
        if space in ("local", "frame"):
            return self.local.access(address, stored)
        if space == "param" and address.base.lanes is not None:
            return self._param(address, stored)
        return self._grouped(address, stored)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def _param(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        lane, count, size = access_shape(self.e.code)
        at = address.offset + int(address.base.text)
        inside = at >= 0 and at + size <= self.program.param_size and at % size == 0
        if stored is not None or not inside:  # a kernel's parameters are only read
            self.e.faults.always(at)
            return tuple(self.m.const(lane, 0) for _ in range(count))
        out = []
        for k in range(count):
            p = self.t.offset("%params", at + k * size // count)
            out.append(Value(self.t.load(LLVM[lane], p), lane, True))
        return tuple(out)

    # -- shared, global, const, generic --------------------------------------------------------------------------------

    def _grouped(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        code, t = self.e.code, self.t
        base = address.base
        if code.guard is None:
            return self._access(base, address.offset, stored)
        run, skip = t.label("run"), t.label("skip")  # without an active lane there is no address to check
        before = t.here
        t.branch(self.active.any(), run, skip)
        t.at(run)
        with self.t.not_dominating():
            out = self._access(base, address.offset, stored)
            end = t.here
            t.go(skip)
            t.at(skip)
        merged = []
        for v in out:
            zero = "zeroinitializer" if not v.uniform else "0" if v.type[0] == "i" else "0.0"
            merged.append(Value(t.phi(v.llvm, (v.text, end), (zero, before)), v.type, v.uniform))
        return tuple(merged)

    def _access(self, base: Value, offset: int, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access by at least one lane: the check of its group, if it is the first of the group, and the data."""
        code, group = self.e.code, self.e.groups[self.e.code.index]
        uniform = base.uniform and code.space not in ("generic", "param") and not judged_anew(self.program, code)
        if not group.pointer and not uniform and self._lane_by_lane():
            self._note_lanes(group, base, offset)
        elif not group.pointer:
            (self._check_uniform if uniform else self._check_lanes)(group, base, offset)
            for i in reversed(self.e.instruments):
                i.located(group, uniform)
        seen = Seen(code, group, place_of(self.program, code).offset - group.low, *access_shape(code), uniform, stored)
        for i in reversed(self.e.instruments):
            i.accesses(seen)
        if uniform:
            return self.transfers.scalar(seen)
        if self._lane_by_lane():
            return self.transfers.each_lane(seen, str(seen.offset))
        return self.transfers.lanes(seen)

    def _lane_by_lane(self) -> bool:
        """Whether generic accesses are made lane by lane at once: debug builds have hundreds of them, for which the
        other ways would take most of the time to build and rarely apply."""
        return self.e.code.space == "generic" and self.program.generic_accesses > 150

    def _note_lanes(self, group: AccessGroup, base: Value, offset: int) -> None:
        """32 arbitrary addresses: notes them in the group. They are not checked here but one by one, by `each_lane`."""
        group.address = self.m.wide(Address(base, self._lowest(group, offset)))
        group.pointer, group.pattern, group.patterns, group.written = "null", str(ANYWHERE), frozenset({ANYWHERE}), "0"

    def _lowest(self, group: AccessGroup, offset: int) -> int:
        """The lowest byte of a group from the base of the access that is emitted, which has this offset. Others of the
        group may be at other registers."""
        return group.low - place_of(self.program, self.e.code).offset + offset

    def _check_uniform(self, group: AccessGroup, base: Value, offset: int) -> None:
        """One address for all lanes: leaves `group.pointer` at the group's lowest byte."""
        low = self._lowest(group, offset)
        at = self.m.add(base, self.m.const(base.type, low))
        space = self.e.code.space
        wide = at.text if at.type == "i64" else self.t.zext("i32", at.text, "i64")
        group.address = Value(wide, "i64", True)
        if space == "shared":
            off, good = self.sites.range_in_shared(group, at, self.m.const("i64", 0))
            with self.t.unless(good, cold=True, to="fault"):
                code = str(self.e.code.index | S.GROUP_FLAG)
                self.e.faults.record(S.OUT_OF_MEMORY_RANGE, code, self.active.first(), wide)
            group.pointer = self.t.offset("%shared", off)
            return
        check, good, miss = (self.t.label(name) for name in ("check", "good", "miss"))
        self.t.go(check)
        self.t.at(check)
        site, (known, limit, host, written) = self.sites.site(group)
        off = self.t.sub("i64", wide, known)
        fits = self.t.ult("i64", self.sites.rotate("i64", off, group.log2), limit)
        self.t.branch(fits, good, miss, COLD)
        self.t.at(miss)
        result = self.t.let(call(memcheck.miss, *self.sites.missed(group, wide, site)))
        again = self.t.eq("i32", result, memcheck.REMEMBERED)
        self.t.branch(again, check, "fault", COLD)
        self.t.at(good)
        group.pointer = self.t.offset(host, off)
        group.written = written
        if group.write:
            has = self.t.ne("i64", written, 0)
            moved = self.t.add("i64", written, off)
            group.written = self.t.select(has, "i64", moved, 0)

    def _check_lanes(self, group: AccessGroup, base: Value, offset: int) -> None:
        """32 addresses: leaves the host pointer, where it points to, and the pattern of the addresses."""
        low, size = self._lowest(group, offset), access_shape(self.e.code)[2]
        at = self.m.add(base, self.m.const(base.type, low)) if low else base
        shared = self.e.code.space == "shared"
        if isinstance(at, Affine) and (shared or at.type == "i64") and self.affine.locate(group, at, size):
            return
        at = at if shared else self.m.zext("i64", at)
        group.address = Value(self.m.vector(at), at.type, False)
        with self.t.not_dominating():
            if shared:
                self.sites.in_shared(group, at, size)
            else:
                self.sites.anywhere(group, size)
