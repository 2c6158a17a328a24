"""Loads and stores as LLVM IR: checked once for each run of offsets from one base, then as wide as the addresses allow.

Every access is checked against the allocation that its site (a place in the code) found last; only when the address is
not in there does it ask `@resolve`. Accesses of one basic block that differ only in their immediate offset share a site
and a check. After it, an address that is the same in all lanes becomes one scalar access, consecutive addresses become
one vector access, and anything else a gather or scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.groups import Group, access_shape, offset_of
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.transfer import Seen, Transfers
from ptxlab.emulate.jit.values import LLVM, Value, constant
from ptxlab.emulate.program.model import Code, Program

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

COLD = "!prof !0"


@dataclass(frozen=True)
class Address:
    """What `sem` passes to `load`, `store` and `atom`: a base value and a constant byte offset."""

    base: Value
    offset: int


class Accesses(Transfers):
    """The memory half of the Machine. The block's emitter sets `code`, `mask` and `groups` before it runs a `sem`."""

    code: Code
    groups: dict[int, Group]
    program: Program

    # -- what the Machine offers ---------------------------------------------------------------------------------------

    def load(self, i: Form, address: Address) -> Value | tuple[Value, ...]:
        lane, count, size = access_shape(self.code)
        if self.code.space == "param" and address.base.lanes is not None:
            values = self._load_param(address, lane, count, size)
        elif self.code.space in ("local", "frame"):
            values = self._local(address, lane, count, size, None)
        else:
            values = self._grouped(address, lane, count, size, None)
        return values[0] if count == 1 else values

    def store(self, i: Form, address: Address, value: Value | tuple[Value, ...]) -> None:
        lane, count, size = access_shape(self.code)
        values = value if isinstance(value, tuple) else (value,)
        if self.code.space in ("local", "frame"):
            self._local(address, lane, count, size, values)
        elif self.code.space == "param" and address.base.lanes is not None:
            self._fault_now(address.offset + int(address.base.text))  # a kernel's parameters are only read
        else:
            self._grouped(address, lane, count, size, values)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def _load_param(self, address: Address, lane: str, count: int, size: int) -> tuple[Value, ...]:
        at = address.offset + int(address.base.text)
        if at < 0 or at + size > self.program.param_size or at % size:
            self._fault_now(at)
            return tuple(self.const(lane, 0) for _ in range(count))
        out = []
        for k in range(count):
            p = self.t.let(f"getelementptr i8, ptr %params, i64 {at + k * size // count}")
            out.append(Value(self.t.let(f"load {LLVM[lane]}, ptr {p}"), lane, True))
        return tuple(out)

    def _fault_now(self, address: int) -> None:
        """This access is wrong whenever it runs."""
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        self.record(S.OUT_OF_MEMORY_RANGE, f"{self.code.index}", lane, str(address))
        after = self.t.label()
        some = self.t.let(f"icmp ne i32 {self.mask_bits}, 0")
        self.t.do(f"br i1 {some}, label %fault, label %{after}")
        self.t.at(after)

    # -- local memory: 32 separate stretches ---------------------------------------------------------------------------

    def _local(
        self, address: Address, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        each, limit = self.program.local_stride, self.program.local_size - size
        step = size // count
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.add(base, self.const("i64", address.offset))
        if at.lanes is not None and at.uniform:
            where = int(at.lanes[0])
            if where > limit or where % size:
                self._fault_now(where)
                return tuple(self.const(lane, 0) for _ in range(count)) if values is None else ()
        else:
            inside = self.ule(at, self.const("i64", max(limit, 0)))
            low = self.and_(at, self.const("i64", size - 1))
            good = self.and_(inside, self.eq(low, self.const("i64", 0)))
            bad = self._lanes_where_not(good) if limit >= 0 else self.mask_bits
            self._branch_to_fault(bad, at)
        offsets = self.add(constant(np.arange(W, dtype=np.uint64) * np.uint64(each), "i64"), at)
        out = []
        for k in range(count):
            spot = self.add(offsets, self.const("i64", k * step))
            pointers = self.t.let(f"getelementptr i8, ptr %local, <{W} x i64> {self.vector(spot)}")
            if values is None:
                out.append(self._gather(lane, pointers))
            else:
                self._scatter(lane, pointers, self.vector(values[k]))
        return tuple(out)

    def _lanes_where_not(self, good: Value) -> str:
        """i32: the executing lanes for which a condition fails."""
        if good.uniform:
            word = self.t.let(f"select i1 {good.text}, i32 0, i32 {self.mask_bits}")
            return word
        bits = self.t.let(f"bitcast <{W} x i1> {self.vector(good)} to i32")
        return self.t.let(f"and i32 {self.t.let(f'xor i32 {bits}, -1')}, {self.mask_bits}")

    def record(self, kind: int, code: str, lane: str, address: str) -> None:
        """Notes a fault for the runner to explain."""
        self.t.do(f"call void @record(ptr %ctx, ptr %ws, i32 {kind}, i32 {code}, i32 {lane}, i64 {address})")

    def _branch_to_fault(self, bad: str, address: Value, flag: int = 0, kind: int = S.OUT_OF_MEMORY_RANGE) -> None:
        """Where any lane is bad, the first is recorded and the warp stops."""
        fine, wrong = self.t.label("fine"), self.t.label("wrong")
        ok = self.t.let(f"icmp eq i32 {bad}, 0")
        self.t.do(f"br i1 {ok}, label %{fine}, label %{wrong}, {COLD}")
        self.t.at(wrong)
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", bad), ("i1", "false")])
        if address.uniform:
            at = address.text if address.type == "i64" else self.t.let(f"zext i32 {address.text} to i64")
        else:
            at = self.t.let(f"extractelement {address.llvm} {address.text}, i32 {lane}")
            at = at if address.type == "i64" else self.t.let(f"zext i32 {at} to i64")
        self.record(kind, f"{self.code.index | flag}", lane, at)
        self.t.do("br label %fault")
        self.t.at(fine)

    # -- shared, global, const, generic --------------------------------------------------------------------------------

    def _grouped(
        self, address: Address, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        group = self.groups[self.code.index]
        base = address.base
        if base.type == "i32" and self.code.space != "shared":
            base = self.zext("i64", base)
        skip = ""
        if self.code.guard is not None:  # with no lane to run it there is no address to look at
            run, skip = self.t.label("run"), self.t.label("skip")
            before = self.t.label("before")
            self.t.do(f"br label %{before}")
            self.t.at(before)
            some = self.t.let(f"icmp ne i32 {self.mask_bits}, 0")
            self.t.do(f"br i1 {some}, label %{run}, label %{skip}")
            self.t.at(run)
            self.freeze_splats()
        uniform = base.uniform and self.code.space not in ("generic", "param")
        if not group.pointer:
            if uniform:
                self._check_uniform(group, base, address.offset)
            elif self._lane_by_lane():
                self._note_lanes(group, base, address.offset)
            else:
                self._check_lanes(group, base, address.offset)
        offset = offset_of(self.code) - group.low
        self.observe(Seen(self.code, group, offset, size, uniform, values is not None))
        if uniform:
            out = self._scalar_access(group, offset, lane, count, size, values)
        elif self._lane_by_lane():
            stored = None if values is None else [self.vector(v) for v in values]
            out = tuple(
                Value(text, lane, False) for text in self._each_lane(group, offset, lane, count, size // count, stored)
            )
        else:
            out = self._lanes_access(group, offset, lane, count, size, values)
        if self.code.guard is not None:
            end = self.t.label("ran")
            self.t.do(f"br label %{end}")
            self.t.at(end)
            self.t.do(f"br label %{skip}")
            self.t.at(skip)
            self.thaw_splats()
            merged = []
            for v in out:
                zero = "zeroinitializer" if not v.uniform else "0" if v.type[0] == "i" else "0.0"
                merged.append(
                    Value(self.t.let(f"phi {v.llvm} [{v.text}, %{end}], [{zero}, %{before}]"), v.type, v.uniform)
                )
            out = tuple(merged)
        return out

    def _lane_by_lane(self) -> bool:
        """Whether generic accesses go straight to the slow function: code compiled for a debugger has hundreds of them,
        and the fast ways would take most of the time to build and find little to be fast with."""
        return self.code.space == "generic" and self.program.generic_accesses > 150

    def _note_lanes(self, group: Group, base: Value, offset: int) -> None:
        """32 addresses that nothing is known about: what the slow function and instruments need of them."""
        low = group.low - (offset_of(self.code) - offset)
        group.address = self.vector(self.add(base, self.const("i64", low)))
        group.pointer, group.offsets, group.pattern, group.shadow = "null", "zeroinitializer", "3", "0"
        self._mixed_addresses[group.site] = group.address

    def _check_uniform(self, group: Group, base: Value, offset: int) -> None:
        """One address for all lanes: leaves `group.pointer` at the group's lowest byte."""
        low = group.low - (offset_of(self.code) - offset)
        at = self.add(base, self.const(base.type, low))
        space = self.code.space
        wide = at.text if at.type == "i64" else self.t.let(f"zext i32 {at.text} to i64")
        group.address = wide
        good, miss = self.t.label("ok"), self.t.label("miss")
        if space == "shared":
            off = self.t.let(f"sub i64 {wide}, {self.program.shared_start}")
            rot = self._rotate("i64", off, group.log2)
            last = self.t.let(f"sub i64 %shared.size, {group.span}")
            limit = self.t.let(f"ashr i64 {last}, {group.log2}")
            low_ok = self.t.let(f"icmp ule i64 {rot}, {limit}")
            fits = self.t.let(f"icmp sge i64 {last}, 0")
            ok = self.t.let(f"and i1 {low_ok}, {fits}")
            self.t.do(f"br i1 {ok}, label %{good}, label %{miss}, {COLD}")
            self.t.at(miss)
            first = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
            self.record(S.OUT_OF_MEMORY_RANGE, f"{self.code.index | S.GROUP_FLAG}", first, wide)
            self.t.do("br label %fault")
            self.t.at(good)
            group.pointer = self.t.let(f"getelementptr i8, ptr %shared, i64 {off}")
            return
        check = self.t.label("check")
        self.t.do(f"br label %{check}")
        self.t.at(check)
        site, (known, limit, host, shadow) = self._site(group)
        off = self.t.let(f"sub i64 {wide}, {known}")
        rot = self._rotate("i64", off, group.log2)
        ok = self.t.let(f"icmp ult i64 {rot}, {limit}")
        self.t.do(f"br i1 {ok}, label %{good}, label %{miss}, {COLD}")
        self.t.at(miss)
        code = self.t.let(
            f"call i32 @miss(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, i64 {wide}, i64 {group.span}, "
            f"i64 {group.log2}, i32 {S.SPACES[space]}, i32 {int(group.write)}, ptr {site}, "
            f"i32 {self.code.index | S.GROUP_FLAG})"
        )
        again = self.t.let(f"icmp eq i32 {code}, 0")
        self.t.do(f"br i1 {again}, label %{check}, label %fault, {COLD}")
        self.t.at(good)
        group.pointer = self.t.let(f"getelementptr i8, ptr {host}, i64 {off}")
        group.shadow = shadow
        if group.write:
            has = self.t.let(f"icmp ne i64 {shadow}, 0")
            moved = self.t.let(f"add i64 {shadow}, {off}")
            group.shadow = self.t.let(f"select i1 {has}, i64 {moved}, i64 0")

    def _check_lanes(self, group: Group, base: Value, offset: int) -> None:
        """32 addresses: leaves the host pointer, the 32 offsets from it, and how they lie to each other.

        the pattern is that of `Seen`."""
        low = group.low - (offset_of(self.code) - offset)
        at = self.add(base, self.const(base.type, low))
        space, size = self.code.space, access_shape(self.code)[2]
        vector = self.vector(at)
        group.address = vector if at.type == "i64" else self.t.let(f"zext <{W} x i32> {vector} to <{W} x i64>")
        good, miss = self.t.label("ok"), self.t.label("miss")
        if space == "shared":
            above = self.sub(at, self.const(at.type, self.program.shared_start))
            if above.type == "i64":  # a generic address by mistake, say: what 32 bits cannot hold is out of range
                near = self.ult(above, self.const("i64", 1 << 32))
                above = self.select(near, self.trunc("i32", above), self.const("i32", -1))
            off32 = self.vector(above)
            last = self.t.let(f"sub i64 %shared.size, {group.span}")
            limit = self.t.let(f"trunc i64 {self.t.let(f'ashr i64 {last}, {group.log2}')} to i32")
            rot = self._rotate(f"<{W} x i32>", off32, group.log2)
            inside = self.t.let(f"icmp ule <{W} x i32> {rot}, {self.t.splat('i32', limit)}")
            bits = self.t.let(f"bitcast <{W} x i1> {inside} to i32")
            fits = self.t.let(f"icmp sge i64 {last}, 0")
            bits = self.t.let(f"select i1 {fits}, i32 {bits}, i32 0")
            bad = self.t.let(f"and i32 {self.t.let(f'xor i32 {bits}, -1')}, {self.mask_bits}")
            self._branch_to_fault(bad, at, S.GROUP_FLAG)
            group.pointer, group.offsets = "%shared", off32
            group.pattern = self._pattern(off32, size)
            return
        check, done, mixed = self.t.label("check"), self.t.label("done"), self.t.label("mixed")
        self.t.do(f"br label %{check}")
        self.t.at(check)
        site, (known, limit, host, shadow) = self._site(group)
        off = self.t.let(f"sub <{W} x i64> {vector}, {self.t.splat('i64', known)}")
        rot = self._rotate(f"<{W} x i64>", off, group.log2)
        inside = self.t.let(f"icmp ult <{W} x i64> {rot}, {self.t.splat('i64', limit)}")
        bits = self.t.let(f"bitcast <{W} x i1> {inside} to i32")
        bad = self.t.let(f"and i32 {self.t.let(f'xor i32 {bits}, -1')}, {self.mask_bits}")
        ok = self.t.let(f"icmp eq i32 {bad}, 0")
        self.t.do(f"br i1 {ok}, label %{good}, label %{miss}, {COLD}")
        self.t.at(miss)
        self.t.do(f"store <{W} x i64> {vector}, ptr %addrs, align 64")
        code = self.t.let(
            f"call i32 @miss.lanes(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, i64 {group.span}, "
            f"i64 {group.log2}, i32 {S.SPACES[space]}, i32 {int(group.write)}, ptr {site}, "
            f"i32 {self.code.index | S.GROUP_FLAG})"
        )
        self.t.do(f"switch i32 {code}, label %fault [i32 0, label %{check} i32 2, label %{mixed}]")
        self.t.at(good)
        off32 = self.t.let(f"trunc <{W} x i64> {off} to <{W} x i32>")
        pattern = self._pattern(off32, size)
        good_end = self.t.label("got")
        self.t.do(f"br label %{good_end}")
        self.t.at(good_end)
        self.t.do(f"br label %{done}")
        self.t.at(mixed)
        self.t.do(f"br label %{done}")
        self.t.at(done)
        group.pattern = self.t.let(f"phi i32 [{pattern}, %{good_end}], [3, %{mixed}]")
        group.offsets = self.t.let(f"phi <{W} x i32> [{off32}, %{good_end}], [zeroinitializer, %{mixed}]")
        group.pointer, group.shadow = host, shadow
        group.members.append((-1, 0, 0))
        self._mixed_addresses[group.site] = vector

    def _pattern(self, off32: str, size: int) -> str:
        """How 32 offsets lie (see `Seen`). Half-warps are looked at as well, since blocks are often 16 threads wide.
        Only a full warp is looked at; a partial one gathers."""
        t, half = self.t, W // 2
        ends = "<" + ", ".join(f"i32 {k // half * half}" for k in range(W)) + ">"
        firsts = t.let(f"shufflevector <{W} x i32> {off32}, <{W} x i32> poison, <{W} x i32> {ends}")
        steps = "<" + ", ".join(f"i32 {k % half * size}" for k in range(W)) + ">"
        straight = t.let(f"add <{W} x i32> {firsts}, {steps}")
        rows = t.let(f"bitcast <{W} x i1> {t.let(f'icmp eq <{W} x i32> {off32}, {straight}')} to i32")
        ones = t.let(f"bitcast <{W} x i1> {t.let(f'icmp eq <{W} x i32> {off32}, {firsts}')} to i32")
        low = t.let(f"extractelement <{W} x i32> {off32}, i64 0")
        high = t.let(f"extractelement <{W} x i32> {off32}, i64 {half}")
        gap = t.let(f"sub i32 {high}, {low}")
        row = t.let(f"select i1 {t.let(f'icmp eq i32 {gap}, {half * size}')}, i32 0, i32 4")
        one = t.let(f"select i1 {t.let(f'icmp eq i32 {gap}, 0')}, i32 1, i32 5")
        some = t.let(f"select i1 {t.let(f'icmp eq i32 {ones}, -1')}, i32 {one}, i32 2")
        some = t.let(f"select i1 {t.let(f'icmp eq i32 {rows}, -1')}, i32 {row}, i32 {some}")
        return t.let(f"select i1 {t.let(f'icmp eq i32 {self.mask_bits}, -1')}, i32 {some}, i32 2")

    def _rotate(self, type_: str, value: str, log2: int) -> str:
        """Rotated right so that a misaligned offset becomes a huge one: one comparison checks range and alignment."""
        if log2 == 0:
            return value
        suffix = {"i64": "i64", f"<{W} x i64>": f"v{W}i64", f"<{W} x i32>": f"v{W}i32"}[type_]
        amount = str(log2) if type_ == "i64" else f"splat ({type_.split()[-1][:-1]} {log2})"
        return self.t.call(type_, f"llvm.fshr.{suffix}", [(type_, value), (type_, value), (type_, amount)])

    def _site(self, group: Group) -> tuple[str, tuple[str, str, str, str]]:
        site = self.t.let(f"getelementptr i8, ptr %sites, i64 {group.site * S.Site.size}")
        base, places, host, written = (
            self.t.let(f"load {ty}, ptr {self.t.field(S.Site, name, site)}")
            for name, ty in (("base", "i64"), ("places", "i64"), ("host", "ptr"), ("written", "i64"))
        )
        return site, (base, places, host, written)
