"""The checks in compiled code, first part: what is emitted around loads, stores and atomics.

All work is done out of line, by the rules of `ptxlab.emulate.rules`, and for many accesses at once: a run of loads
from one base (a `Group`) is looked at where its first member is emitted, by tables of what each covers, up to whatever
may order threads or go the other way. Addresses that lie in a row, or are all the same, are looked at as one stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit import lane_by_lane
from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Address
from ptxlab.emulate.jit.checked_registers import THERE, CheckedRegisters
from ptxlab.emulate.jit.copies import copies
from ptxlab.emulate.jit.groups import Group, access_shape, offset_of
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.transfer import Seen
from ptxlab.emulate.jit.values import BITS, LLVM, Value
from ptxlab.emulate.program.model import Block, Code
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules import initcheck, local_memory, race_accesses, races, records
from ptxlab.emulate.rules import instructions as rules
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, READS
from ptxlab.emulate.runtime.memory import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.isa import types

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

COLD = "!prof !0"
_DECLARED = (
    "declare i32 @llvm.ctlz.i32(i32, i1)", "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i32 @llvm.bitreverse.i32(i32)",
    *(f"declare <{W} x i{n}> @llvm.masked.gather.v{W}i{n}.v{W}p0(<{W} x ptr>, <{W} x i1>, <{W} x i{n}>)"
      for n in (32, 64)),
    f"declare void @llvm.masked.scatter.v{W}i64.v{W}p0(<{W} x i64>, <{W} x ptr>, <{W} x i1>)",
)  # fmt: skip


class CheckedAccesses(CheckedRegisters):
    """Loads, stores and atomics. `init`, `race`, `sync`: what is checked."""

    race = sync = False

    def _fields(self) -> None:
        super()._fields()
        self.t.declared.update(_DECLARED)
        self._held(S.Cta, "init_shared", "ptr")
        self._held(S.Cta, "race_shared", "ptr")
        self._held(S.Cta, "race_shared_stride", "i64", "race.stride")

    def begin(self, block: Block, last: int, bits: str) -> None:
        super().begin(block, last, bits)
        self._covered: dict[int, set[int]] = {}
        self._roots: dict[int, tuple[str, str, str, str, str]] = {}
        self._bytes_in: dict[int, str] = {}

    # -- accesses ------------------------------------------------------------------------------------------------------

    def store(self, i: Form, address: Address, value: Value | tuple[Value, ...]) -> None:
        self._storing = value if isinstance(value, tuple) else (value,)
        super().store(i, address, value)

    def _check_uniform(self, group: Group, base: Value, offset: int) -> None:
        super()._check_uniform(group, base, offset)
        self._root(group)
        self._bytes_in[id(group)] = self.t.let(f"sub i64 {group.address}, {self._roots[id(group)][2]}")

    def _check_lanes(self, group: Group, base: Value, offset: int) -> None:
        super()._check_lanes(group, base, offset)
        self._root(group)

    def _root(self, group: Group) -> None:
        """Of a group's allocation: the records of accesses, their stride, its address, written bytes, its memory."""
        self._covered[id(group)] = set()
        if self.code.space == "shared":
            root = "%race.shared", "%race.stride", str(self.program.shared_start), "%init.shared", "%shared"
        else:
            site, (known, _, memory, _) = self._site(group)
            fields = [
                self.t.let(f"load {kind}, ptr {self.t.field(S.Site, name, site)}")
                for name, kind in (("accesses", "ptr"), ("stride", "i64"), ("written", "ptr"))
            ]
            root = fields[0], fields[1], known, fields[2], memory
        self._roots[id(group)] = root

    def observe(self, seen: Seen) -> None:
        super().observe(seen)
        if seen.code.space == "const":
            return
        if self.race and rules.releases(seen.code):
            self._if_any([call(races.fence, *THERE[1:])])
        if self.race and seen.write:
            self._spill(seen)
        if seen.uniform:
            self._observe_one(seen)
        else:
            self._observe_lanes(seen)
        if self.race and seen.write:
            self.t.do(call(races.stored, "%check.launch"))
        if self.race and rules.strong(seen.code):
            self._if_any([call(races.publish, *THERE)] * seen.write + [call(races.acquire, *THERE)])

    def _spill(self, seen: Seen) -> None:
        """What a store stores, into the buffer for data."""
        step = seen.size // len(self._storing)
        for k, value in enumerate(self._storing):
            cell = self.t.let(f"getelementptr i8, ptr %data, i64 {k * W * step}")
            self.t.do(f"store <{W} x {LLVM[value.type]}> {self.vector(value)}, ptr {cell}, align 32")

    def _tell(self, memory: str, memory_start: str, start: str, narrow: str = "null", wide: str = "null") -> None:
        """What a store does, for the rules of races; %data holds what it stores."""
        count = len(self._storing)
        size = sum(BITS[value.type] // 8 for value in self._storing)
        self.t.do(
            call(races.storing, "%check.launch", "%data", str(size // count), str(count), memory, memory_start, start,
                 narrow, wide)
        )  # fmt: skip

    def _observe_one(self, seen: Seen) -> None:
        """All lanes at one address."""
        t, group, write = self.t, seen.group, seen.write
        members = self._segment(seen)
        if not members:
            return
        race, stride, start, written, memory = self._roots[id(group)]
        off = self._bytes_in[id(group)]
        if self.race:
            if write:
                first = t.let(f"add i64 {t.let(f'add i64 {start}, {seen.offset}')}, {off}")
                self._tell(memory, start, first)
            t.do(
                call(race_accesses.at_one_address, *THERE, self.mask_bits, race, stride, off, start,
                     self._pieces(members), self._members(members), str(int(write)))
            )  # fmt: skip
        if self._may_be_copied(code := seen.code):
            self._spread(off)
            lane = t.let(f"and i32 {self.mask_bits}, {t.let(f'sub i32 0, {self.mask_bits}')}")  # one is enough
            self._reads(self._if_shared(code, start, lane), self._members(members))
        if self.init and not write:
            look, bad, on = t.label("look"), t.label("bad"), t.label("on")
            t.do(f"br i1 {t.let(f'icmp ne ptr {written}, null')}, label %{look}, label %{on}")
            t.at(look)
            good = t.let(call(initcheck.all_written, written, off, self._ranges(members)))
            t.do(f"br i1 {good}, label %{on}, label %{bad}, {COLD}")
            t.at(bad)
            self._spread(off)
            self._report(written, start, members)
            t.do(f"br label %{on}")
            t.at(on)
        elif self.init and seen.code.space == "shared" and self.program.shared_gap:
            self._spread(off)
            lane = t.let(f"and i32 {self.mask_bits}, {t.let(f'sub i32 0, {self.mask_bits}')}")  # one is enough
            self._stored(seen.code, lane, str(ALL_THE_SAME), seen.offset, seen.size)
        elif self.init and seen.code.space == "shared":
            p = t.let(f"getelementptr i8, ptr %init.shared, i64 {off}")
            p = t.let(f"getelementptr i8, ptr {p}, i64 {seen.offset}")
            t.do(f"call void @llvm.memset.p0.i64(ptr {p}, i8 -1, i64 {seen.size}, i1 false)")

    def _spread(self, off: str) -> None:
        """One offset for all lanes into the buffer for offsets."""
        vector = self.t.splat("i32", self.t.let(f"trunc i64 {off} to i32"))
        self.t.do(f"store <{W} x i32> {vector}, ptr %addrs, align 64")

    def _observe_lanes(self, seen: Seen) -> None:
        """32 addresses."""
        t, group, code = self.t, seen.group, seen.code
        # a program so large that it is built small has each access by itself, and no group is ever looked up
        members = self._segment(seen) if id(group) in self._roots else []
        mixed = group.site in self._mixed_addresses
        if not members and not mixed:
            return
        end = t.label("end")
        if mixed:
            each, near = t.label("each"), t.label("near")
            t.do(f"br i1 {t.let(f'icmp eq i32 {group.pattern}, 3')}, label %{each}, label %{near}, {COLD}")
            t.at(each)
            t.do(f"store <{W} x i64> {self._mixed_addresses[group.site]}, ptr %addrs, align 64")
            if self.race and seen.write:
                self._tell("null", "0", str(seen.offset), wide="%addrs")
            self._each(seen.offset, seen.size, code, int(seen.write))
            if self._may_be_copied(code):
                places = Value(self._mixed_addresses[group.site], "i64", False)
                self._copied(code, self.add(places, self.const("i64", seen.offset)), seen.size)
            t.do(f"br label %{end}")
            t.at(near)
        if members:
            self._near(seen, members)
        t.do(f"br label %{end}")
        t.at(end)

    def _near(self, seen: Seen, members: list[tuple[int, int, int]]) -> None:
        """32 addresses in one allocation."""
        t, group = self.t, seen.group
        race, stride, start, written, memory = self._roots[id(group)]
        t.do(f"store <{W} x i32> {group.offsets}, ptr %addrs, align 64")
        if self.race:
            if seen.write:
                self._tell(memory, start, t.let(f"add i64 {start}, {seen.offset}"), narrow="%addrs")
            t.do(
                call(race_accesses.at_addresses, *THERE, self.mask_bits, race, stride, "%addrs", group.pattern, start,
                     self._pieces(members), self._members(members), str(int(seen.write)))
            )  # fmt: skip
        if self._may_be_copied(seen.code):
            self._reads(self._if_shared(seen.code, start, self.mask_bits), self._members(members))
        if self.init and not seen.write:
            look, bad, on = t.label("look"), t.label("bad"), t.label("on")
            t.do(f"br i1 {t.let(f'icmp ne ptr {written}, null')}, label %{look}, label %{on}")
            t.at(look)
            tables = self._ranges(members), self._members(members)
            good = t.let(call(initcheck.group_written, self.mask_bits, written, "%addrs", group.pattern, *tables))
            t.do(f"br i1 {good}, label %{on}, label %{bad}, {COLD}")
            t.at(bad)
            self._report(written, start, members)
            t.do(f"br label %{on}")
            t.at(on)
        elif self.init and seen.code.space == "shared":
            self._stored(seen.code, self.mask_bits, group.pattern, seen.offset, seen.size)
        elif self.init and seen.code.space == "generic" and self.program.shared_gap:
            lanes = self._if_shared(seen.code, start, self.mask_bits)
            given = str(seen.offset), str(seen.size), str(self._flags(seen.code.index)), start
            t.let(call(initcheck.overruns, *THERE, lanes, written, "%addrs", *given))

    def _stored(self, code: Code, mask: str, pattern: str, offset: int, size: int) -> None:
        """Lanes store to shared memory; %addrs holds their offsets."""
        given = str(offset), str(size), str(self._flags(code.index)), str(self.program.shared_start)
        self.t.do(call(initcheck.stored, *THERE, mask, "%init.shared", "%addrs", pattern, *given))

    def _report(self, written: str, start: str, members: list[tuple[int, int, int]]) -> None:
        self._unwritten(self.mask_bits, written, start, self._members(members))

    def _unwritten(self, mask: str, written: str, start: str, members: str) -> None:
        """Notes what lanes read that was not written; %addrs holds their offsets."""
        self.t.do(call(initcheck.report, *THERE, mask, written, "%addrs", start, members))

    def _each(self, extra: int, size: int, code: Code, kind: int, space: str = "") -> None:
        """The addresses in %addrs, lane by lane. kind: READS, WRITES or CHANGES."""
        looks = kind != READS or code.index not in self.flow.carried
        if self.init and looks and code.space == "generic" and self.program.local_size:
            given = *THERE, self.mask_bits, "%addrs", str(extra), str(size), str(code.index), str(kind)
            self.t.do(call(local_memory.accessed_anywhere, *given))
        flags = rules.strong(code) << records.STRONG
        places = "%addrs", str(extra), str(size), str(size.bit_length() - 1), str(S.SPACES[space or code.space])
        access = str(code.index << records.CODE | flags)
        self.t.do(call(lane_by_lane.each, "%ctx", "%cta", "%ws", self.mask_bits, *places, str(kind), access))

    def _local(
        self, address: Address, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        out = super()._local(address, lane, count, size, values)
        if self.init and (values is not None or self.code.index not in self.flow.carried):
            base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
            at = self.trunc("i32", self.add(base, self.const("i64", address.offset)))
            self.t.do(f"store <{W} x i32> {self.vector(at)}, ptr %addrs, align 64")
            if values is None:
                given = *THERE, self.mask_bits, "%addrs", str(size), str(self.code.index), "0"
                self.t.do(call(local_memory.loaded, *given))
            else:
                self.t.do(call(local_memory.stored, *THERE[1:], self.mask_bits, "%addrs", str(size)))
        return out

    def _copy(self, source: int, dest: int, size: int) -> None:
        super()._copy(source, dest, size)
        if self.init:
            self.t.do(call(local_memory.copied, *THERE[1:], self.mask_bits, str(source), str(dest), str(size)))

    def atom(self, i: Form, address: Address, *values: Any) -> Value:
        if self.race and rules.releases(self.code):
            self._if_any([call(races.fence, *THERE[1:])])
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.vector(self.add(base, self.const("i64", address.offset)))
        self.t.do(f"store <{W} x i64> {at}, ptr %addrs, align 64")
        self._each(0, types.width(i.type) // 8 * (int(i.vec[1:]) if i.vec else 1), self.code, 2)
        old: Value = super().atom(i, address, *values)
        if self.race:
            self._if_any([call(races.publish, *THERE), call(races.acquire, *THERE)])
        return old

    def _may_be_copied(self, code: Code) -> bool:
        """Whether an access may touch what a cp.async is still copying."""
        return self.sync and code.space in ("shared", "generic") and any(map(copies, self.program.codes))

    def _if_shared(self, code: Code, start: str, lanes: str) -> str:
        """These lanes; none of them where the accesses lie elsewhere: their allocation begins at `start`."""
        if code.space == "shared":
            return lanes
        inside = self.t.let(f"icmp eq i64 {start}, {SHARED_WINDOW + self.program.shared_start}")
        return self.t.let(f"select i1 {inside}, i32 {lanes}, i32 0")

    def _reads(self, mask: str, members: str) -> None:
        """Accesses to shared memory may touch what a cp.async is still copying; %addrs holds the offsets."""
        start = self.program.shared_start + (SHARED_WINDOW if self.code.space == "generic" else 0)
        self.t.do(call(in_flight.touched, *THERE, mask, "%addrs", members, str(start)))

    def _copied(self, code: Code, places: Value, size: int) -> None:
        """Accesses anywhere: those that lie in shared memory may touch what a cp.async is still copying."""
        inside = self.mask_bits
        if code.space == "generic":
            places = self.sub(places, self.const("i64", SHARED_WINDOW))
            within = self.vector(self.ult(places, self.const("i64", WINDOW_SIZE)))
            inside = self.t.let(f"and i32 {inside}, {self.t.let(f'bitcast <{W} x i1> {within} to i32')}")
        offsets = self.vector(self.trunc("i32", self.sub(places, self.const("i64", self.program.shared_start))))
        self.t.do(f"store <{W} x i32> {offsets}, ptr %addrs, align 64")
        self._reads(inside, self._members([(code.index, 0, size)]))

    def _if_any(self, lines: list[str]) -> None:
        """Instructions to be run if any lane executes this one."""
        t = self.t
        if self.code.guard is None:
            for line in lines:
                t.do(line)
            return
        some, on = t.label("some"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{on}, label %{some}")
        t.at(some)
        for line in lines:
            t.do(line)
        t.do(f"br label %{on}")
        t.at(on)

    # -- segments ------------------------------------------------------------------------------------------------------

    def _segment(self, seen: Seen) -> list[tuple[int, int, int]]:
        """The accesses that are looked at here: code index, offset from the group's address, bytes. None where an
        earlier one has been looked at for this one as well."""
        code, group = seen.code, seen.group
        covered = self._covered[id(group)]
        if code.index in covered:
            return []
        found = [(code.index, seen.offset, seen.size)]
        if not seen.write and not rules.strong(code) and code.guard is None:
            mine = {index for index, _, _ in group.members}
            for other in self.program.codes[code.index + 1 : self.program.blocks[code.block].last]:
                if other.index in mine and not other.properties.stores and not rules.strong(other):
                    found.append((other.index, offset_of(other) - group.low, access_shape(other)[2]))
                elif rules.cuts(other):
                    break
        covered |= {index for index, _, _ in found}
        return found

    def _listed(self, rows: list[int]) -> str:
        name = f"@checked.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        listed = ", ".join(f"i64 {x}" for x in rows)
        self.tables.append(f"{name} = internal constant [{len(rows)} x i64] [{listed}], align 64")
        return name

    def _flags(self, index: int) -> int:
        return index << records.CODE | rules.strong(self.program.codes[index]) << records.STRONG

    def _members(self, members: list[tuple[int, int, int]]) -> str:
        rows = [len(members)]
        for index, offset, size in members:
            rows += [offset, size, self._flags(index)]
        return self._listed(rows)

    def _pieces(self, members: list[tuple[int, int, int]]) -> str:
        grain = races.granule(self.program)
        words: dict[int, int] = {}
        for index, offset, size in members:
            for word in range(offset // grain, -(-(offset + size) // grain)):
                words.setdefault(word, self._flags(index))
        runs = _runs(sorted(words))
        rows = [len(runs)]
        for first, last in runs:
            codes = [words[k] for k in range(first, last)]
            rows += [first * grain, last - first, *codes, *[0] * (-len(codes) % 16)]
        return self._listed(rows)

    def _ranges(self, members: list[tuple[int, int, int]]) -> str:
        covered = {byte for _, offset, size in members for byte in range(offset, offset + size)}
        runs = _runs(sorted(covered))
        return self._listed([len(runs), *[x for first, last in runs for x in (first, last - first)]])


def _runs(sorted_numbers: list[int]) -> list[tuple[int, int]]:
    """Stretches (first, behind the last) of numbers that follow each other."""
    runs: list[tuple[int, int]] = []
    for n in sorted_numbers:
        if runs and runs[-1][1] == n:
            runs[-1] = runs[-1][0], n + 1
        else:
            runs.append((n, n + 1))
    return runs
