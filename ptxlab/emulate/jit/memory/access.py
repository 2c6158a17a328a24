"""Loads and stores as LLVM IR: checked once per group of offsets from one base, then as wide as the addresses allow.

Every access is checked against the allocation that its site (a place in the code) caches; only when the address is not
in there is `@resolve` called. Accesses of one basic block that differ only in their immediate offset share a site and a
check. After it, an address that is the same in all lanes becomes one scalar access, consecutive addresses become one
vector access, and anything else a gather or scatter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import Group, Seen, access_shape, place_of
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import COLD, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value, constant
from ptxlab.emulate.jit.memory.address_buffers import AddressBuffers
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution, Placed
from ptxlab.emulate.jit.memory.affine_access import AffineAccesses
from ptxlab.emulate.jit.memory.data_transfer import Transfers
from ptxlab.emulate.jit.memory.local_memory import LocalMemory
from ptxlab.emulate.jit.memory.row_addresses import RowAddresses
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.records import ANYWHERE, IN_A_ROW
from ptxlab.emulate.runtime import state as S

_PLACED = ("ptr", "i64", "i32", f"<{W} x i32>", "i64", "i64")
"""The types of what a `Placed` has."""


class _Row(NamedTuple):
    """Code for addresses in a row: it ends in the block `end` and continues at `label`, with `placed`."""

    label: str
    end: str
    placed: Placed


class Memory(Part):
    """Loads and stores of all spaces."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.sites, self.rows = AddressResolution(e), RowAddresses(e)
        self.laid = AddressBuffers(e, self.sites)
        self.transfers = Transfers(e, self.sites, self.laid)
        self.affine = AffineAccesses(e, self.sites)
        self.local = LocalMemory(e, self.transfers.scattered)

    # -- what the Machine offers ---------------------------------------------------------------------------------------

    def load(self, address: Address) -> Value | tuple[Value, ...]:
        values = self._moved(address, None)
        return values[0] if len(values) == 1 else values

    def store(self, address: Address, value: Value | tuple[Value, ...]) -> None:
        self._moved(address, value if isinstance(value, tuple) else (value,))

    def _moved(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """The access of the instruction; `stored`: the values of a store, None for a load, which gives its own."""
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
        uniform = base.uniform and code.space not in ("generic", "param")
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
            return self.transfers.each_lane(seen)
        return self.transfers.lanes(seen)

    def _lane_by_lane(self) -> bool:
        """Whether generic accesses are made lane by lane at once: debug builds have hundreds of them, for which the
        other ways would take most of the time to build and rarely apply."""
        return self.e.code.space == "generic" and self.program.generic_accesses > 150

    def _note_lanes(self, group: Group, base: Value, offset: int) -> None:
        """32 arbitrary addresses: stores them where the lane-by-lane function and instruments find them."""
        low = self._lowest(group, offset)
        group.address = self.m.vector(self.m.wide(Address(base, low)))
        group.pointer, group.offsets, group.pattern, group.shadow = "null", "zeroinitializer", str(ANYWHERE), "0"
        self.sites.mixed.add(group.site)

    def _lowest(self, group: Group, offset: int) -> int:
        """The lowest byte of a group from the base of the access that is emitted, which has this offset. Others of the
        group may be at other registers."""
        return group.low - place_of(self.program, self.e.code).offset + offset

    def _check_uniform(self, group: Group, base: Value, offset: int) -> None:
        """One address for all lanes: leaves `group.pointer` at the group's lowest byte."""
        low = self._lowest(group, offset)
        at = self.m.add(base, self.m.const(base.type, low))
        space = self.e.code.space
        wide = at.text if at.type == "i64" else self.t.zext("i32", at.text, "i64")
        group.address = wide
        if space == "shared":
            off = self.t.sub("i64", wide, self.program.shared_start)
            rot = self.sites.rotate("i64", off, group.log2)
            last = self.t.sub("i64", "%shared.size", group.span)
            limit = self.t.ashr("i64", last, group.log2)
            low_ok = self.t.ule("i64", rot, limit)
            fits = self.t.sge("i64", last, 0)
            ok = self.t.and_("i1", low_ok, fits)
            with self.t.unless(ok, cold=True, to="fault"):
                self.e.faults.record(
                    S.OUT_OF_MEMORY_RANGE, f"{self.e.code.index | S.GROUP_FLAG}", self.active.first(), wide
                )
            group.pointer = self.t.offset("%shared", off)
            return
        check, good, miss = (self.t.label(name) for name in ("check", "good", "miss"))
        self.t.go(check)
        self.t.at(check)
        site, (known, limit, host, shadow) = self.sites.site(group)
        off = self.t.sub("i64", wide, known)
        rot = self.sites.rotate("i64", off, group.log2)
        ok = self.t.ult("i64", rot, limit)
        self.t.branch(ok, good, miss, COLD)
        self.t.at(miss)
        result = self.t.let(
            call(
                memcheck.miss,
                "%ctx",
                "%cta",
                "%ws",
                self.active.bits,
                wide,
                str(group.span),
                str(group.log2),
                str(S.SPACES[space]),
                str(int(group.write)),
                site,
                str(self.e.code.index | S.GROUP_FLAG),
            )
        )
        again = self.t.eq("i32", result, memcheck.REMEMBERED)
        self.t.branch(again, check, "fault", COLD)
        self.t.at(good)
        group.pointer = self.t.offset(host, off)
        group.reach = "0", "0"
        group.shadow = shadow
        if group.write:
            has = self.t.ne("i64", shadow, 0)
            moved = self.t.add("i64", shadow, off)
            group.shadow = self.t.select(has, "i64", moved, 0)

    def _check_lanes(self, group: Group, base: Value, offset: int) -> None:
        """32 addresses: leaves the host pointer, the 32 offsets from it, and their pattern (see `Seen`)."""
        low = self._lowest(group, offset)
        at = self.m.add(base, self.m.const(base.type, low)) if low else base
        size = access_shape(self.e.code)[2]
        shared = self.e.code.space == "shared"
        if isinstance(at, Affine) and not self.e.small and (shared or at.type == "i64"):
            if self.affine.locate(group, at, size):
                return
        vector = self.m.vector(at)
        group.address = vector if at.type == "i64" else self.t.zext(f"<{W} x i32>", vector, f"<{W} x i64>")
        lie_so = (at.type == "i32") == shared and not at.uniform
        rows = lie_so and not self.e.small and not self.sites.patterns.with_gaps()
        found = self._if_row(group, at, size) if rows else None
        with self.t.not_dominating():
            if shared:
                other = self._anywhere_in_shared(group, at, size)
            else:
                other = self.sites.anywhere(group, group.address, size)
        end = self.t.here
        if found is not None:
            self.t.go(found.label)
            self.t.at(found.label)
            joined = [
                self.t.phi(kind, (row, found.end), (general, end))
                for kind, row, general in zip(_PLACED, found.placed, other, strict=True)
            ]
            other = (joined[0], joined[1], joined[2], joined[3], joined[4], joined[5])
        group.pointer, group.shadow, group.pattern, group.offsets, *halves = other
        group.halves = halves[0], halves[1]
        if not shared:
            group.members.append((-1, 0, 0))
            self.sites.mixed.add(group.site)

    def _if_row(self, group: Group, at: Value, size: int) -> _Row:
        """The way of full warps whose addresses follow each other, by far the most: one comparison shows that they do,
        then the first address and the last are checked as scalars. Leaves open the label for all others."""
        t, space = self.t, self.e.code.space
        kind, vector = at.type, f"<{W} x {at.type}>"
        likely, row, fits, other, end = (t.label(name) for name in ("likely", "line", "fits", "other", "placed"))
        first, middle = (t.extract(vector, at.text, lane) for lane in (0, W // 2))
        apart = t.sub(kind, middle, first)  # two lanes tell most of the other patterns, for less
        t.branch(t.eq(kind, apart, W // 2 * size), likely, other)
        t.at(likely)
        steps = constant(np.arange(W, dtype=np.uint64).astype(f"u{BITS[kind] // 8}") * size, kind).text
        straight = t.add(vector, t.splat(kind, first), steps)
        equal = t.bitcast(f"<{W} x i1>", t.eq(vector, at.text, straight), "i32")
        both = t.and_("i32", equal, self.active.bits)
        t.branch(t.eq("i32", both, -1), row, other)
        t.at(row)
        beyond = (W - 1) * size  # bytes from the first address to the last
        if space == "shared":
            off = t.zext("i32", t.sub("i32", first, self.program.shared_start), "i64")
            host, shadow = "%shared", "0"
            last = t.sub("i64", "%shared.size", group.span + beyond)
            some = t.sge("i64", last, 0)
            limit = t.ashr("i64", last, group.log2)
            near = t.ule("i64", self.sites.rotate("i64", off, group.log2), limit)
            good = t.and_("i1", some, near)
        else:
            _, (known, places, host, shadow) = self.sites.site(group)
            off = t.sub("i64", first, known)
            limit = t.call("i64", "llvm.usub.sat.i64", [("i64", places), ("i64", str(beyond >> group.log2))])
            good = t.ult("i64", self.sites.rotate("i64", off, group.log2), limit)
        t.branch(good, fits, other, COLD)
        t.at(fits)
        narrow = constant(np.arange(W, dtype=np.uint32) * size, "i32").text
        near32 = t.splat("i32", t.trunc("i64", off, "i32"))
        offsets = t.add(f"<{W} x i32>", near32, narrow)
        second = t.add("i64", off, W // 2 * size)
        t.go(end)
        t.at(other)
        return _Row(end, fits, (host, shadow, str(IN_A_ROW), offsets, off, second))

    def _anywhere_in_shared(self, group: Group, at: Value, size: int) -> Placed:
        """32 offsets in shared memory, checked one by one."""
        off32 = self.sites.inside_shared(group, at)
        return "%shared", "0", self.sites.patterns.of(off32, size), off32, *self.sites.patterns.halves(off32)
