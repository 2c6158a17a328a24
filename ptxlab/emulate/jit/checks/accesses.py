"""The checks in compiled code: what is emitted around loads, stores and atomics.

Loads from one base (an `AccessGroup`) are checked with the first of them, up to a store or an instruction that may
order threads. Lanes in one allocation are checked at once, by `rules.race_accesses` and `rules.initcheck` (`_near`).
Lanes in several allocations, and atomic operations, are checked by `lane_by_lane.each` (`_scattered`, `atomic`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument, Checks, Members
from ptxlab.emulate.jit.emitter.access_groups import AccessGroup, Seen, access_shape, place_of
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.instrument import After
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules import initcheck, race_accesses, races
from ptxlab.emulate.rules import instructions as rules
from ptxlab.emulate.rules.records import ANYWHERE, CHANGES, WRITES
from ptxlab.emulate.runtime import state as S


@dataclass(eq=False, repr=False)
class Located:
    """The place of a group of accesses: of its allocation the records of accesses, their stride, its address, written
    bytes, its memory; the code indices that have been checked."""

    records: str
    stride: str
    start: str
    written: str
    memory: str
    checked: set[int]


class CheckedAccesses(CheckInstrument):
    def __init__(self, e: Emitter, checks: Checks, memory: Memory) -> None:
        super().__init__(e, checks)
        self.memory = memory
        self._located: dict[int, Located] = {}

    def enters(self) -> None:
        self.e.held(S.Cta, "init_shared", "ptr")
        self.e.held(S.Cta, "race_shared", "ptr")
        self.e.held(S.Cta, "race_shared_stride", "i64", "race.stride")

    def begins(self) -> None:
        self._located = {}

    # -- accesses ------------------------------------------------------------------------------------------------------

    def located(self, group: AccessGroup, uniform: bool) -> None:
        """Keeps the checks' records of a group's allocation."""
        if self.e.code.space == "shared":
            start = str(self.program.shared_start)
            found = Located("%race.shared", "%race.stride", start, "%init.shared", "%shared", set())
        else:
            site, (start, _, memory, _) = self.memory.sites.site(group)
            records, stride, written = (self.t.get(S.Site, name, site) for name in ("accesses", "stride", "written"))
            found = Located(records, stride, start, written, memory, set())
        self._located[id(group)] = found

    def accesses(self, seen: Seen) -> None:
        group = seen.group
        if seen.code.space == "const":
            return
        if self.checks.more and seen.code.properties.releases:
            self.checks.if_any([self.checks.fence(seen.code)])
        self._observe(seen)
        if self.checks.ordering and seen.code.properties.strong:
            at = Value(self.memory.sites.addresses(group), "i64", False)
            self._strong(seen.code, self.m.add(at, self.m.const("i64", seen.offset)), seen.size)

    def _strong(self, code: Code, at: Value, size: int) -> None:
        """A strong access of the active lanes has been made."""
        self.t.store(f"<{W} x i64>", self.m.vector(at), "%addrs", align=64)
        self.checks.strong(code, size)

    @contextmanager
    def _stores(
        self, seen: Seen, memory: str, memory_start: str, start: str, narrow: str = "null", wide: str = "null"
    ) -> Iterator[None]:
        """For a store: copies its values into the buffer for data, for the race rules that this block calls."""
        if not seen.write:
            yield
            return
        stored = seen.stored or ()
        for k, value in enumerate(stored):
            cell = self.t.offset("%data", k * W * (seen.size // len(stored)))
            self.t.store(f"<{W} x {LLVM[value.type]}>", self.m.vector(value), cell, align=32)
        if stored:
            size, count = sum(BITS[value.type] // 8 for value in stored), len(stored)
            given = str(size // count), str(count), memory, memory_start, start, narrow, wide
            self.t.do(call(races.storing, "%check.launch", "%data", *given))
        yield
        self.t.do(call(races.stored, "%check.launch"))

    def _observe(self, seen: Seen) -> None:
        """Checks an access, and others of its group that may be checked with it."""
        t, group = self.t, seen.group
        # where accesses are made lane by lane no group is ever located
        members = self._members(seen) if id(group) in self._located else []
        if seen.uniform or ANYWHERE not in group.patterns:
            if members:
                self._near(seen, members)
            return
        with t.if_else(t.eq("i32", group.pattern, ANYWHERE)) as (scattered, near):
            with scattered:
                self._scattered(seen)
            with near:
                if members:
                    self._near(seen, members)

    def _scattered(self, seen: Seen) -> None:
        """32 addresses anywhere."""
        self.memory.sites.put_addresses(seen.group)
        stores = self._stores(seen, "null", "0", str(seen.offset), wide="%addrs")
        with stores if self.checks.race else nullcontext():
            self.checks.each(seen.offset, seen.size, seen.code, int(seen.write))
        if self.checks.may_be_tile(seen.code):
            addresses = Value(self.memory.sites.addresses(seen.group), "i64", False)
            self.checks.stored_anywhere(seen.code, self.m.add(addresses, self.m.const("i64", seen.offset)), seen.size)

    def _near(self, seen: Seen, members: Members) -> None:
        """Addresses in one allocation, or one address for all lanes."""
        t, code, at = self.t, seen.code, self._located[id(seen.group)]
        records, start, written, table = at.records, at.start, at.written, self.checks.members(members)
        lanes, first = self.active.bits, t.add("i64", start, seen.offset)
        if seen.uniform:
            assert seen.group.address is not None
            one = t.sub("i64", seen.group.address.text, start)
            first, offsets = t.add("i64", first, one), t.splat("i32", t.trunc("i64", one, "i32"))
            t.store(f"<{W} x i32>", offsets, "%addrs", align=64)
            if code.space != "shared":  # offsets of lanes have 32 bits
                far = t.and_("i64", one, -(1 << 32))
                start = t.add("i64", start, far)
                written = t.select(t.eq("ptr", written, "null"), "ptr", "null", t.offset(written, far))
                behind = t.offset(records, t.mul("i64", far, 8 // races.granule(self.program)))
                records = t.select(t.eq("ptr", records, "null"), "ptr", "null", behind)
        else:
            self.memory.sites.put_offsets(seen.group)
        if self.checks.race:
            where = records, at.stride, "%addrs", start, table
            with self._stores(seen, at.memory, at.start, first, narrow="null" if seen.uniform else "%addrs"):
                t.do(call(race_accesses.at_addresses, *THERE, lanes, *where, str(int(seen.write))))
        if seen.uniform:  # one lane is enough
            lanes = t.and_("i32", lanes, t.sub("i32", 0, lanes))
        if self.checks.may_be_tile(code):
            self.checks.tile_stored(self.checks.if_shared(code, start, lanes), table)
        if self.checks.init:
            self._initialised(seen, table, lanes, written, start)

    def _initialised(self, seen: Seen, table: str, lanes: str, written: str, start: str) -> None:
        """initcheck of lanes in one allocation, whose bytes are written as `written` says; %addrs holds offsets."""
        t, code = self.t, seen.code
        shared = code.space == "shared"
        if seen.write and shared:
            self.checks.stored(code, lanes, seen.offset, seen.size)
        elif seen.write and code.space == "generic" and self.program.shared_gap:
            inside = self.checks.if_shared(code, start, lanes)
            given = str(seen.offset), str(seen.size), str(self.checks.flags(code.index)), start
            t.let(call(initcheck.overruns, *THERE, inside, written, "%addrs", *given))
        elif not seen.write:
            with nullcontext() if shared else t.if_then(t.ne("ptr", written, "null")):
                self.checks.read(lanes, written, start, table)

    # -- atomics -------------------------------------------------------------------------------------------------------

    def atomic(self, address: Address) -> After | None:
        code = self.e.code
        if self.checks.more and code.properties.releases:
            self.checks.if_any([self.checks.fence(code)])
        at = self.m.vector(self.m.wide(address))
        size, kind = access_shape(code)[2], WRITES if rules.clears(code) else CHANGES
        self.t.store(f"<{W} x i64>", at, "%addrs", align=64)
        self.checks.each(0, size, code, kind)
        if self.checks.may_be_tile(code):
            self.checks.stored_anywhere(code, Value(at, "i64", False), size)
        if not self.checks.ordering:
            return None
        return lambda: self._strong(code, Value(at, "i64", False), size)

    # -- groups --------------------------------------------------------------------------------------------------------

    def _passes(self, code: Code) -> bool:
        """Whether initcheck may look at accesses behind this instruction before it: a whole warp does not wait
        there, so that nobody writes meanwhile."""
        whole = not self.e.diverged and not self.active.partly and code.guard is None
        return whole and code.properties.converges and not code.properties.stores and not self.checks.more

    def _members(self, seen: Seen) -> Members:
        """The accesses that are checked here: code index, offset from the group's address, bytes. None where this one
        was checked with an earlier one."""
        code, group = seen.code, seen.group
        checked = self._located[id(group)].checked
        if code.index in checked:
            return []
        found = [(code.index, seen.offset, seen.size)]
        if not seen.write and not code.properties.strong and code.guard is None:
            mine = {index for index, _, _ in group.members}
            for other in self.program.codes[code.index + 1 : self.program.blocks[code.block].last]:
                if other.index in mine and not other.properties.stores and not other.properties.strong:
                    found.append(
                        (other.index, place_of(self.program, other).offset - group.low, access_shape(other)[2])
                    )
                elif rules.cuts(other) and not self._passes(other):
                    break
        checked |= {index for index, _, _ in found}
        return found
