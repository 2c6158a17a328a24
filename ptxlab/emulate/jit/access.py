"""Loads and stores as LLVM IR: checked once for each run of offsets from one base, then as wide as the addresses allow.

Every access is checked against the allocation that its site (a place in the code) found last; only when the address is
not in there does it ask `@resolve`. Accesses of one basic block that differ only in their immediate offset share a site
and a check. After it, an address that is the same in all lanes becomes one scalar access, consecutive addresses become
one vector access, and anything else a gather or scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.analysis import writes
from ptxlab.emulate.jit.values import BITS, LLVM, Ops, Value, W, constant
from ptxlab.emulate.memory import GUARD
from ptxlab.emulate.program import Code, Literal, Mem, Program, Reg, Symbol
from ptxlab.isa import types

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

COLD = "!prof !0"


@dataclass(frozen=True)
class Address:
    """What `sem` passes to `load`, `store` and `atom`: a base value and a constant byte offset."""

    base: Value
    offset: int


@dataclass
class Group:
    """Accesses of one block that share a check: members (code index, offset, bytes), the lowest offset, the bytes
    spanned, and log2 of the strictest alignment. The rest is filled in where the first member is emitted."""

    site: int
    low: int
    span: int
    log2: int
    write: bool
    members: list[tuple[int, int, int]] = field(default_factory=list)
    pointer: str = ""
    offsets: str = ""
    pattern: str = ""
    shadow: str = ""


def access_shape(code: Code) -> tuple[str, int, int]:
    """The lane type, the number of elements and the bytes of a plain load or store."""
    form = code.form
    assert form is not None
    lane = types.lane(form.type)
    count = int(form.vec[1:]) if form.vec else 1
    return lane, count, count * BITS[lane] // 8


def plan_groups(program: Program, first: int, last: int, next_site: int) -> tuple[dict[int, Group], int]:
    """Sorts the plain accesses of a block into groups; gives the group of each code index and the next free site."""
    versions: dict[int, int] = {}
    found: dict[tuple[object, ...], list[Code]] = {}
    for code in program.codes[first:last]:
        if code.name in ("ld", "st", "ldu") and code.space not in ("param", "local", "frame"):
            mem = next(s for s in code.sources if isinstance(s, Mem))
            base: object = (mem.base.index, versions.get(mem.base.index, 0)) if isinstance(mem.base, Reg) else "constant"
            own = code.index if code.guard is not None else -1
            found.setdefault((base, code.space, access_shape(code)[2], own), []).append(code)
        for r in writes(code):
            versions[r] = versions.get(r, 0) + 1
    groups: dict[int, Group] = {}
    for codes in found.values():
        for run in _runs(codes):
            low = min(o for _, o, _ in run)
            span = max(o + n for _, o, n in run) - low
            size = run[0][2]
            write = any(program.codes[c].name == "st" for c, _, _ in run)
            group = Group(next_site, low, span, (size & -size).bit_length() - 1, write, run)
            next_site += 1
            groups.update(dict.fromkeys((c for c, _, _ in run), group))
    return groups, next_site


def offset_of(code: Code) -> int:
    """The constant part of an access's address; the whole of it where the base is a symbol or a number."""
    mem = next(s for s in code.sources if isinstance(s, Mem))
    base = mem.base.value if isinstance(mem.base, Symbol | Literal) else 0
    return mem.offset + int(base)


def _runs(codes: Sequence[Code]) -> list[list[tuple[int, int, int]]]:
    """Splits accesses of one base and size so that each run spans less than a guard gap and keeps one alignment."""
    runs: list[list[tuple[int, int, int]]] = []
    for code in codes:
        offset, size = offset_of(code), access_shape(code)[2]
        for run in runs:
            lows, highs = min(o for _, o, _ in run), max(o for _, o, _ in run)
            close = max(highs, offset) + size - min(lows, offset) < GUARD
            if close and (offset - run[0][1]) % size == 0:
                run.append((code.index, offset, size))
                break
        else:
            runs.append([(code.index, offset, size)])
    return runs


class Accesses(Ops):
    """The memory half of the Machine. The block's emitter sets `code`, `mask` and `groups` before it runs a `sem`."""

    code: Code
    groups: dict[int, Group]
    mask_bits: str
    """i32: the lanes that execute this instruction."""
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
        self._record(f"{self.code.index}", lane, str(address))
        after = self.t.label()
        some = self.t.let(f"icmp ne i32 {self.mask_bits}, 0")
        self.t.do(f"br i1 {some}, label %fault, label %{after}")
        self.t.at(after)

    # -- local memory: 32 separate stretches ---------------------------------------------------------------------------

    def _local(
        self, address: Address, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        each, limit = S.local_stride(self.program), self.program.local_size - size
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

    def _record(self, code: str, lane: str, address: str) -> None:
        self.t.do(
            f"call void @record(ptr %ctx, ptr %ws, i32 {S.OUT_OF_MEMORY_RANGE}, i32 {code}, i32 {lane}, i64 {address})"
        )

    def _branch_to_fault(self, bad: str, address: Value, flag: int = 0) -> None:
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
        self._record(f"{self.code.index | flag}", lane, at)
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
        elif base.type == "i64" and self.code.space == "shared":
            base = self.trunc("i32", base)
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
        uniform = base.uniform and self.code.space != "generic"
        if not group.pointer:
            if uniform:
                self._check_uniform(group, base, address.offset)
            else:
                self._check_lanes(group, base, address.offset)
        offset = offset_of(self.code) - group.low
        if uniform:
            out = self._scalar_access(group, offset, lane, count, size, values)
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

    def _check_uniform(self, group: Group, base: Value, offset: int) -> None:
        """One address for all lanes: leaves `group.pointer` at the group's lowest byte."""
        low = group.low - (offset_of(self.code) - offset)
        at = self.add(base, self.const(base.type, low))
        space = self.code.space
        wide = at.text if at.type == "i64" else self.t.let(f"zext i32 {at.text} to i64")
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
            self._record(f"{self.code.index | S.GROUP_FLAG}", first, wide)
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
        ok = self.t.let(f"icmp ule i64 {rot}, {limit}")
        self.t.do(f"br i1 {ok}, label %{good}, label %{miss}, {COLD}")
        self.t.at(miss)
        code = self.t.let(
            f"call i32 @miss(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, i64 {wide}, i64 {group.span}, "
            f"i64 {group.log2}, i32 {S.SPACES[space]}, i32 {int(group.write)}, ptr {site}, i32 {self.code.index | S.GROUP_FLAG})"
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

        pattern: 0 consecutive, 1 all the same, 2 anything, 3 not in one allocation (each lane by itself)."""
        low = group.low - (offset_of(self.code) - offset)
        at = self.add(base, self.const(base.type, low))
        space, size = self.code.space, access_shape(self.code)[2]
        vector = self.vector(at)
        good, miss = self.t.label("ok"), self.t.label("miss")
        if space == "shared":
            off32 = self.sub(at, self.const("i32", self.program.shared_start)).text
            off32 = self.vector(Value(off32, "i32", at.uniform))
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
        inside = self.t.let(f"icmp ule <{W} x i64> {rot}, {self.t.splat('i64', limit)}")
        bits = self.t.let(f"bitcast <{W} x i1> {inside} to i32")
        bad = self.t.let(f"and i32 {self.t.let(f'xor i32 {bits}, -1')}, {self.mask_bits}")
        ok = self.t.let(f"icmp eq i32 {bad}, 0")
        self.t.do(f"br i1 {ok}, label %{good}, label %{miss}, {COLD}")
        self.t.at(miss)
        self.t.do(f"store <{W} x i64> {vector}, ptr %addrs, align 64")
        code = self.t.let(
            f"call i32 @miss.lanes(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, i64 {group.span}, "
            f"i64 {group.log2}, i32 {S.SPACES[space]}, i32 {int(group.write)}, ptr {site}, i32 {self.code.index | S.GROUP_FLAG})"
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
        """How 32 offsets lie: only a full warp is looked at, a partial one gathers."""
        first = self.t.splat("i32", self.t.let(f"extractelement <{W} x i32> {off32}, i64 0"))
        steps = "<" + ", ".join(f"i32 {k * size}" for k in range(W)) + ">"
        straight = self.t.let(f"add <{W} x i32> {first}, {steps}")
        a = self.t.let(f"icmp eq <{W} x i32> {off32}, {straight}")
        b = self.t.let(f"icmp eq <{W} x i32> {off32}, {first}")
        full = self.t.let(f"icmp eq i32 {self.mask_bits}, -1")
        is_a = self.t.let(f"icmp eq i32 {self.t.let(f'bitcast <{W} x i1> {a} to i32')}, -1")
        is_b = self.t.let(f"icmp eq i32 {self.t.let(f'bitcast <{W} x i1> {b} to i32')}, -1")
        same = self.t.let(f"select i1 {is_b}, i32 1, i32 2")
        some = self.t.let(f"select i1 {is_a}, i32 0, i32 {same}")
        return self.t.let(f"select i1 {full}, i32 {some}, i32 2")

    def _rotate(self, type_: str, value: str, log2: int) -> str:
        """Rotated right so that a misaligned offset becomes a huge one: one comparison checks range and alignment."""
        if log2 == 0:
            return value
        suffix = {"i64": "i64", f"<{W} x i64>": f"v{W}i64", f"<{W} x i32>": f"v{W}i32"}[type_]
        amount = str(log2) if type_ == "i64" else f"splat ({type_.split()[-1][:-1]} {log2})"
        return self.t.call(type_, f"llvm.fshr.{suffix}", [(type_, value), (type_, value), (type_, amount)])

    def _site(self, group: Group) -> tuple[str, tuple[str, str, str, str]]:
        site = self.t.let(f"getelementptr i8, ptr %sites, i64 {group.site * S.SITE_SIZE}")
        fields = []
        for k, ty in enumerate(("i64", "i64", "ptr", "i64")):
            p = site if k == 0 else self.t.let(f"getelementptr i8, ptr {site}, i64 {8 * k}")
            fields.append(self.t.let(f"load {ty}, ptr {p}"))
        return site, (fields[0], fields[1], fields[2], fields[3])

    # -- the access itself ---------------------------------------------------------------------------------------------

    def _scalar_access(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        out, step, ty = [], size // count, LLVM[lane]
        for k in range(count):
            p = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
            if values is None:
                out.append(Value(self.t.let(f"load {self._volatile()}{ty}, ptr {p}, align {step}"), lane, True))
            else:
                self.t.do(f"store {self._volatile()}{ty} {self._last_lane(values[k])}, ptr {p}, align {step}")
        if values is not None and self.code.space != "shared":
            mark, after = self.t.label("mark"), self.t.label()
            has = self.t.let(f"icmp ne i64 {group.shadow}, 0")
            self.t.do(f"br i1 {has}, label %{mark}, label %{after}")
            self.t.at(mark)
            spot = self.t.let(f"inttoptr i64 {self.t.let(f'add i64 {group.shadow}, {offset}')} to ptr")
            self.t.do(f"call void @llvm.memset.p0.i64(ptr {spot}, i8 -1, i64 {size}, i1 false)")
            self.t.do(f"br label %{after}")
            self.t.at(after)
        return tuple(out)

    def _last_lane(self, value: Value) -> str:
        """The value of the last executing lane: the one whose store to a common address stays."""
        if value.uniform:
            return value.text
        zeros = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.mask_bits), ("i1", "false")])
        lane = self.t.let(f"and i32 {self.t.let(f'sub i32 31, {zeros}')}, 31")
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {lane}")

    def _volatile(self) -> str:
        form = self.code.form
        assert form is not None
        strong = ("volatile", "relaxed", "acquire", "release", "mmio")
        return "volatile " if any(word in form.opcode.split(".") for word in strong) else ""

    def _lanes_access(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        step, ty, store = size // count, LLVM[lane], values is not None
        vec = f"<{W} x {ty}>"
        names = {k: self.t.label(k) for k in ("row", "one", "any", "each", "end")}
        may_mix = group.site in self._mixed_addresses
        cases = f"i32 0, label %{names['row']}" + (f" i32 1, label %{names['one']}" if not store else "")
        cases += f" i32 3, label %{names['each']}" if may_mix else ""
        stored = [self.vector(v) for v in values] if values is not None else []
        mask = self.mask_vector()
        self.t.do(f"switch i32 {group.pattern}, label %{names['any']} [{cases}]")
        arms: list[tuple[str, list[str]]] = []
        # consecutive: one stretch of memory, elements of a vector access interleaved
        self.t.at(names["row"])
        first = self.t.let(f"zext i32 {self.t.let(f'extractelement <{W} x i32> {group.offsets}, i64 0')} to i64")
        spot = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {first}")
        spot = self.t.let(f"getelementptr i8, ptr {spot}, i64 {offset}")
        wide = f"<{W * count} x {ty}>"
        if store:
            self.t.do(f"store {wide} {self._interleave(ty, stored)}, ptr {spot}, align {step}")
            arms.append(("row", []))
        else:
            block = self.t.let(f"load {wide}, ptr {spot}, align {step}")
            arms.append(("row", self._deinterleave(ty, block, count)))
        self.t.do(f"br label %{names['end']}")
        if not store:
            self.t.at(names["one"])
            first = self.t.let(f"zext i32 {self.t.let(f'extractelement <{W} x i32> {group.offsets}, i64 0')} to i64")
            spot = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {first}")
            row = []
            for k in range(count):
                p = self.t.let(f"getelementptr i8, ptr {spot}, i64 {offset + k * step}")
                row.append(self.t.splat(ty, self.t.let(f"load {ty}, ptr {p}, align {step}")))
            arms.append(("one", row))
            self.t.do(f"br label %{names['end']}")
        self.t.at(names["any"])
        row = []
        for k in range(count):
            base = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
            pointers = self.t.let(f"getelementptr i8, ptr {base}, <{W} x i32> {group.offsets}")
            if store:
                self._scatter(lane, pointers, stored[k], mask)
            else:
                row.append(self._gather(lane, pointers, mask).text)
        arms.append(("any", row))
        self.t.do(f"br label %{names['end']}")
        if may_mix:
            self.t.at(names["each"])
            arms.append(("each", self._each_lane(group, offset, lane, count, step, stored if store else None)))
            self.t.do(f"br label %{names['end']}")
        # every arm may have made further blocks; what comes in is whatever block ended it
        self._close_arms(names, arms)
        self.t.at(names["end"])
        if store:
            if self.code.space != "shared":
                self._mark_lanes(group, offset, size)
            return ()
        results = []
        for k in range(count):
            incoming = ", ".join(f"[{values_[k]}, %{self._arm_end[names[arm]]}]" for arm, values_ in arms)
            results.append(Value(self.t.let(f"phi {vec} {incoming}"), lane, False))
        return tuple(results)

    def _close_arms(self, names: dict[str, str], arms: list[tuple[str, list[str]]]) -> None:
        self._arm_end = {}
        for arm, _ in arms:
            self._arm_end[names[arm]] = self._each_end if arm == "each" else names[arm]

    def _each_lane(
        self, group: Group, offset: int, lane: str, count: int, step: int, stored: list[str] | None
    ) -> list[str]:
        """Lane by lane through `@slow.access`, the data passed in the function's buffer."""
        ty = LLVM[lane]
        vec = f"<{W} x {ty}>"
        self.t.do(f"store <{W} x i64> {self._mixed_addresses[group.site]}, ptr %addrs, align 64")
        cells = [self.t.let(f"getelementptr i8, ptr %data, i64 {k * W * step}") for k in range(count)]
        for k, text in enumerate(stored or []):
            self.t.do(f"store {vec} {text}, ptr {cells[k]}, align 32")
        size = step * count
        code = self.t.let(
            f"call i32 @slow.access(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, i64 {offset}, ptr %data, "
            f"i64 {step}, i64 {count}, i64 {(size & -size).bit_length() - 1}, i32 {S.SPACES[self.code.space]}, "
            f"i32 {int(stored is not None)}, i32 {self.code.index})"
        )
        fine = self.t.label("fine")
        ok = self.t.let(f"icmp eq i32 {code}, 0")
        self.t.do(f"br i1 {ok}, label %{fine}, label %fault")
        self.t.at(fine)
        self._each_end = fine
        return [] if stored is not None else [self.t.let(f"load {vec}, ptr {c}, align 32") for c in cells]

    def _mark_lanes(self, group: Group, offset: int, size: int) -> None:
        mark, after = self.t.label("mark"), self.t.label()
        has = self.t.let(f"icmp ne i64 {group.shadow}, 0")
        whole = self.t.let(f"icmp ne i32 {group.pattern}, 3")
        self.t.do(f"br i1 {self.t.let(f'and i1 {has}, {whole}')}, label %{mark}, label %{after}")
        self.t.at(mark)
        self.t.do(f"store <{W} x i32> {group.offsets}, ptr %addrs, align 64")
        self.t.do(f"call void @mark.lanes(i64 {group.shadow}, ptr %addrs, i64 {offset}, i32 {self.mask_bits}, i64 {size})")
        self.t.do(f"br label %{after}")
        self.t.at(after)

    def _interleave(self, ty: str, parts: list[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        count, joined = len(parts), parts
        width = W
        while len(joined) > 1:  # concatenate pairwise, then one permutation
            both = "<" + ", ".join(f"i32 {k}" for k in range(2 * width)) + ">"
            joined = [
                self.t.let(f"shufflevector <{width} x {ty}> {a}, <{width} x {ty}> {b}, <{2 * width} x i32> {both}")
                for a, b in zip(joined[::2], joined[1::2], strict=True)
            ]
            width *= 2
        order = "<" + ", ".join(f"i32 {(k % count) * W + k // count}" for k in range(W * count)) + ">"
        return self.t.let(f"shufflevector <{width} x {ty}> {joined[0]}, <{width} x {ty}> poison, <{width} x i32> {order}")

    def _deinterleave(self, ty: str, block: str, count: int) -> list[str]:
        if count == 1:
            return [block]
        out = []
        for k in range(count):
            order = "<" + ", ".join(f"i32 {j * count + k}" for j in range(W)) + ">"
            out.append(self.t.let(f"shufflevector <{W * count} x {ty}> {block}, <{W * count} x {ty}> poison, <{W} x i32> {order}"))
        return out

    def _gather(self, lane: str, pointers: str, mask: str | None = None) -> Value:
        ty = LLVM[lane]
        suffix = ty.replace("float", "f32").replace("double", "f64")
        vec = f"<{W} x {ty}>"
        name = f"llvm.masked.gather.v{W}{suffix}.v{W}p0"
        self.t.declared.add(f"declare {vec} @{name}(<{W} x ptr>, <{W} x i1>, {vec})")
        text = self.t.let(
            f"call {vec} @{name}(<{W} x ptr> align {BITS[lane] // 8} {pointers}, <{W} x i1> {mask or self.mask_vector()}, "
            f"{vec} zeroinitializer)"
        )
        return Value(text, lane, False)

    def _scatter(self, lane: str, pointers: str, value: str, mask: str | None = None) -> None:
        ty = LLVM[lane]
        suffix = ty.replace("float", "f32").replace("double", "f64")
        vec = f"<{W} x {ty}>"
        name = f"llvm.masked.scatter.v{W}{suffix}.v{W}p0"
        self.t.declared.add(f"declare void @{name}({vec}, <{W} x ptr>, <{W} x i1>)")
        self.t.do(
            f"call void @{name}({vec} {value}, <{W} x ptr> align {BITS[lane] // 8} {pointers}, "
            f"<{W} x i1> {mask or self.mask_vector()})"
        )

    # -- provided by the block's emitter -------------------------------------------------------------------------------

    _mixed_addresses: dict[int, str]
    _arm_end: dict[str, str]
    _each_end: str

    def mask_vector(self) -> str:
        """<32 x i1>: the lanes that execute this instruction."""
        raise NotImplementedError

    def freeze_splats(self) -> None:
        """Splats made from here on are forgotten at `thaw_splats`: their block does not dominate what follows."""
        self._kept = dict(self._splats)

    def thaw_splats(self) -> None:
        self._splats = self._kept

