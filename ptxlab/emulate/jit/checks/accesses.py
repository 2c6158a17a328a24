"""The checks in compiled code: what is emitted around loads, stores and atomics.

Loads from one base (a `Group`) are checked where the first of them is emitted, up to an instruction that may order
threads or a store. Consecutive addresses, or one address for all lanes, are checked as one range.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument, Checks, Members
from ptxlab.emulate.jit.emitter.access_groups import Group, Seen, access_shape, place_of
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

_DECLARED = (
    "declare i32 @llvm.ctlz.i32(i32, i1)",
    "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i32 @llvm.bitreverse.i32(i32)",
    *(
        f"declare <{W} x i{n}> @llvm.masked.gather.v{W}i{n}.v{W}p0(<{W} x ptr>, <{W} x i1>, <{W} x i{n}>)"
        for n in (32, 64)
    ),
    f"declare void @llvm.masked.scatter.v{W}i64.v{W}p0(<{W} x i64>, <{W} x ptr>, <{W} x i1>)",
)


Root = tuple[str, str, str, str, str]
"""Of an allocation: the records of accesses, their stride, its address, written bytes, its memory."""


class CheckedAccesses(CheckInstrument):
    """Loads, stores and atomics."""

    def __init__(self, e: Emitter, checks: Checks, memory: Memory) -> None:
        super().__init__(e, checks)
        self.memory = memory
        self._covered: dict[int, set[int]] = {}
        self._roots: dict[int, Root] = {}
        self._bytes_in: dict[int, str] = {}

    def enters(self) -> None:
        self.t.declared.update(_DECLARED)
        self.e.held(S.Cta, "init_shared", "ptr")
        self.e.held(S.Cta, "race_shared", "ptr")
        self.e.held(S.Cta, "race_shared_stride", "i64", "race.stride")

    def begins(self) -> None:
        self._covered, self._roots, self._bytes_in = {}, {}, {}

    # -- accesses ------------------------------------------------------------------------------------------------------

    def located(self, group: Group, uniform: bool) -> None:
        """Keeps the checks' records of a group's allocation."""
        self._covered[id(group)] = set()
        self._roots[id(group)] = self._root(group)
        if uniform:
            assert group.address is not None
            self._bytes_in[id(group)] = self.t.sub("i64", group.address.text, self._roots[id(group)][2])

    def _root(self, group: Group) -> Root:
        if self.e.code.space == "shared":
            return "%race.shared", "%race.stride", str(self.program.shared_start), "%init.shared", "%shared"
        site, (known, _, memory, _) = self.memory.sites.site(group)
        accesses, stride, written = (self.t.get(S.Site, name, site) for name in ("accesses", "stride", "written"))
        return accesses, stride, known, written, memory

    def accesses(self, seen: Seen) -> None:
        group = seen.group
        if seen.code.space == "const":
            return
        if self.checks.race and seen.code.properties.releases:
            self.checks.if_any([self.checks.fence(seen.code)])
        if seen.uniform:
            self._observe_one(seen)
        else:
            self._observe_lanes(seen)
        if self.checks.ordering and seen.code.properties.strong:
            at = Value(self.memory.sites.addresses(group), "i64", False)
            self._strong(seen.code, self.m.add(at, self.m.const("i64", seen.offset)), seen.size, write=seen.write)

    def _strong(self, code: Code, at: Value, size: int, *, write: bool) -> None:
        """A strong access of the active lanes has been made."""
        self.t.store(f"<{W} x i64>", self.m.vector(at), "%addrs", align=64)
        self.checks.strong(code, size, write=write)

    @contextmanager
    def _telling(
        self, seen: Seen, memory: str, memory_start: str, start: str, narrow: str = "null", wide: str = "null"
    ) -> Iterator[None]:
        """Describes a store, if it is one, to the rules of races that are called in this block: copies its values into
        the buffer for data."""
        if not seen.write:
            yield
            return
        stored = seen.stored or ()
        for k, value in enumerate(stored):
            cell = self.t.offset("%data", k * W * (seen.size // len(stored)))
            self.t.store(f"<{W} x {LLVM[value.type]}>", self.m.vector(value), cell, align=32)
        if stored:
            size, count = sum(BITS[value.type] // 8 for value in stored), len(stored)
            self.t.do(
                call(
                    races.storing,
                    "%check.launch",
                    "%data",
                    str(size // count),
                    str(count),
                    memory,
                    memory_start,
                    start,
                    narrow,
                    wide,
                )
            )
        yield
        self.t.do(call(races.stored, "%check.launch"))

    def _observe_one(self, seen: Seen) -> None:
        """All lanes at one address."""
        t, group, write = self.t, seen.group, seen.write
        members = self._members(seen)
        if not members:
            return
        race, stride, start, written, memory = self._roots[id(group)]
        off = self._bytes_in[id(group)]
        if self.checks.race:
            first = t.add("i64", t.add("i64", start, seen.offset), off) if write else ""
            with self._telling(seen, memory, start, first):
                where = race, stride, off, start, self.checks.members(members)
                t.do(call(race_accesses.at_one_address, *THERE, self.active.bits, *where, str(int(write))))
        if self.checks.may_be_copied(code := seen.code):
            self._spread(off)
            lane = t.and_("i32", self.active.bits, t.sub("i32", 0, self.active.bits))  # one is enough
            self.checks.touch_copied(self.checks.if_shared(code, start, lane), self.checks.members(members))
        if self.checks.init:
            self._spread(off)
            lane = t.and_("i32", self.active.bits, t.sub("i32", 0, self.active.bits))  # one is enough
            if code.space != "shared":  # offsets of lanes have 32 bits
                far = t.and_("i64", off, -(1 << 32))
                written = t.select(t.eq("ptr", written, "null"), "ptr", "null", t.offset(written, far))
                start = t.add("i64", start, far)
            self._initialised(seen, members, lane, written, start)

    def _spread(self, off: str) -> None:
        """One offset for all lanes into the buffer for offsets."""
        vector = self.t.splat("i32", self.t.trunc("i64", off, "i32"))
        self.t.store(f"<{W} x i32>", vector, "%addrs", align=64)

    def _observe_lanes(self, seen: Seen) -> None:
        """32 addresses."""
        t, group = self.t, seen.group
        # in a program built for size each access is checked by itself, and no group is ever located
        members = self._members(seen) if id(group) in self._roots else []
        mixed = ANYWHERE in group.patterns
        if not members and not mixed:
            return
        if not mixed:
            self._near(seen, members)
            return
        with t.if_else(t.eq("i32", group.pattern, ANYWHERE)) as (scattered, near):
            with scattered:
                self._scattered(seen, self.memory.sites.addresses(group))
            with near:
                if members:
                    self._near(seen, members)

    def _scattered(self, seen: Seen, addresses: str) -> None:
        """32 addresses anywhere."""
        self.t.store(f"<{W} x i64>", addresses, "%addrs", align=64)
        if self.checks.race:
            with self._telling(seen, "null", "0", str(seen.offset), wide="%addrs"):
                self.checks.each(seen.offset, seen.size, seen.code, int(seen.write))
        else:
            self.checks.each(seen.offset, seen.size, seen.code, int(seen.write))
        if self.checks.may_be_copied(seen.code):
            places = self.m.add(Value(addresses, "i64", False), self.m.const("i64", seen.offset))
            self.checks.copied(seen.code, places, seen.size)

    def _near(self, seen: Seen, members: Members) -> None:
        """32 addresses in one allocation."""
        t, group = self.t, seen.group
        race, stride, start, written, memory = self._roots[id(group)]
        if self.checks.race:
            self._offsets(group)
            first = t.add("i64", start, seen.offset)
            with self._telling(seen, memory, start, first, narrow="%addrs"):
                at = race, stride, "%addrs", start, self.checks.members(members), str(int(seen.write))
                t.do(call(race_accesses.at_addresses, *THERE, self.active.bits, *at))
        if self.checks.may_be_copied(seen.code):
            self._offsets(group)
            self.checks.touch_copied(
                self.checks.if_shared(seen.code, start, self.active.bits), self.checks.members(members)
            )
        if self.checks.init:
            self._offsets(group)
            self._initialised(seen, members, self.active.bits, written, start)

    def _initialised(self, seen: Seen, members: Members, lanes: str, written: str, start: str) -> None:
        """initcheck of lanes in one allocation, whose bytes are written as `written` says; %addrs holds their
        offsets."""
        t, code = self.t, seen.code
        shared = code.space == "shared"
        if seen.write and shared:
            self.checks.stored(code, lanes, seen.offset, seen.size)
        elif seen.write and code.space == "generic" and self.program.shared_gap:
            inside = self.checks.if_shared(code, start, lanes)
            given = str(seen.offset), str(seen.size), str(self.checks.flags(code.index)), start
            t.let(call(initcheck.overruns, *THERE, inside, written, "%addrs", *given))
        elif not seen.write:
            table = self.checks.members(members)
            with nullcontext() if shared else t.if_then(t.ne("ptr", written, "null")):
                good = t.let(call(initcheck.all_written, lanes, written, "%addrs", table))
                with t.unless(good, cold=True):
                    self.checks.unwritten(lanes, written, start, table)

    def _offsets(self, group: Group) -> str:
        """The offsets of a group into the buffer for them."""
        self.t.store(f"<{W} x i32>", self.memory.sites.offsets(group), "%addrs", align=64)
        return "%addrs"

    # -- atomics -------------------------------------------------------------------------------------------------------

    def atomic(self, address: Address) -> After | None:
        code = self.e.code
        if self.checks.race and code.properties.releases:
            self.checks.if_any([self.checks.fence(code)])
        at = self.m.vector(self.m.wide(address))
        size, kind = access_shape(code)[2], WRITES if rules.clears(code) else CHANGES
        self.t.store(f"<{W} x i64>", at, "%addrs", align=64)
        self.checks.each(0, size, code, kind)
        if self.checks.may_be_copied(code):
            self.checks.copied(code, Value(at, "i64", False), size)
        if not self.checks.ordering:
            return None
        return lambda: self._strong(code, Value(at, "i64", False), size, write=True)

    # -- groups --------------------------------------------------------------------------------------------------------

    def _passes(self, code: Code) -> bool:
        """Whether initcheck alone may look at accesses behind this instruction before it: a whole warp does not wait
        there, so that nobody writes meanwhile."""
        whole = not self.e.diverged and not self.active.partly and code.guard is None
        return whole and code.properties.converges and not code.properties.stores and not self.checks.more

    def _members(self, seen: Seen) -> Members:
        """The accesses that are checked here: code index, offset from the group's address, bytes. None where this one
        was checked with an earlier one."""
        code, group = seen.code, seen.group
        covered = self._covered[id(group)]
        if code.index in covered:
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
        covered |= {index for index, _, _ in found}
        return found
