"""The base of the checks' instruments: which checks there are, tables of accesses, calls of rules about accesses.

Rules do all work, out of line and for many accesses at once; tables describe what each access covers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ptxlab.emulate.jit.checks import lane_by_lane
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.liveness import RegisterFlow, register_flow
from ptxlab.emulate.program.pointers import local_bounds
from ptxlab.emulate.program.warpgroup_flow import WarpgroupFlow, follows_tiles, warpgroup_flow
from ptxlab.emulate.rules import (
    async_proxy,
    copies_in_flight,
    initcheck,
    initcheck_local,
    race_accesses,
    race_order,
    races,
    records,
)
from ptxlab.emulate.rules import instructions as rules
from ptxlab.emulate.rules.launches import followed
from ptxlab.emulate.rules.records import CHANGES, READS, WRITES
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.accesses import Access
from ptxlab.isa.convert import PEER

KINDS = {"load": READS, "store": WRITES, "atomic": CHANGES}
Members = list[tuple[int, int, int]]
"""Accesses that are checked at once: code index, offset from their lowest address, bytes."""


class Checks(Part):
    """`init`, `race`, `sync`: what is checked; `more`: whether that is more than initcheck."""

    def __init__(self, e: Emitter, checks: frozenset[str], memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory
        checks = followed(self.program, checks)
        self.init, self.race, self.sync = (f"{name}check" in checks for name in ("init", "race", "sync"))
        self.more = self.race or self.sync
        self._tiles = follows_tiles(self.program)

    @functools.cached_property
    def ordering(self) -> bool:
        """Whether it is followed what strong accesses order."""
        return self.more and rules.releases(self.program)

    @functools.cached_property
    def flow(self) -> RegisterFlow:
        """The registers that a path reads before they are written."""
        return register_flow(self.program)

    @functools.cached_property
    def bounds(self) -> dict[int, tuple[int, int]]:
        """The objects of local memory that accesses are meant for."""
        return local_bounds(self.program)

    @functools.cached_property
    def warpgroups(self) -> WarpgroupFlow:
        """What is followed of registers of `wgmma`, for synccheck."""
        return warpgroup_flow(self.program)

    def may_be_tile(self, code: Code) -> bool:
        """Whether an access may store to memory that the async proxy reads."""
        stores = self._tiles and code.properties.stores
        return self.sync and code.space in ("shared", "cluster", "generic") and stores

    def if_shared(self, code: Code, start: str, lanes: str) -> str:
        """These lanes; none of them where the accesses lie elsewhere: their allocation begins at `start`."""
        if code.space == "shared":
            return lanes
        window = SHARED_WINDOW if code.space == "generic" else 0
        inside = self.t.eq("i64", start, window + self.program.shared_start)
        return self.t.select(inside, "i32", lanes, 0)

    def tile_stored(self, mask: str, members: str) -> None:
        """Notes stores to shared memory that the async proxy may read; %addrs holds the offsets."""
        if self._tiles:
            start = self.program.shared_start + (SHARED_WINDOW if self.e.code.space == "generic" else 0)
            self.t.do(call(async_proxy.stored, *THERE, mask, "%addrs", members, str(start)))

    def stored_anywhere(self, code: Code, places: Value, size: int) -> None:
        """Notes stores to any addresses: those to shared memory."""
        inside = self.active.bits
        if code.space in ("generic", "cluster"):
            if code.space == "generic":
                places = self.m.sub(places, self.m.const("i64", SHARED_WINDOW))
            within = self.m.vector(self.m.ult(places, self.m.const("i64", PEER)))
            inside = self.t.and_("i32", inside, self.t.bitcast(f"<{W} x i1>", within, "i32"))
        offsets = self.m.vector(self.m.trunc("i32", self.m.sub(places, self.m.const("i64", self.program.shared_start))))
        self.t.store(f"<{W} x i32>", offsets, "%addrs", align=64)
        self.tile_stored(inside, self.members([(code.index, 0, size)]))

    def of_groups(self, code: Code) -> None:
        """Lanes commit copies that they have issued, or wait for them, if they do."""
        effect = copies_in_flight.followed(code)
        if self.race and effect is not None:
            self.t.do(call(effect[0], *THERE, self.active.bits, *map(str, effect[1])))

    def if_any(self, lines: Sequence[str]) -> None:
        """Emits lines that run if any lane executes this instruction."""
        t = self.t
        if self.e.code.guard is None:
            for line in lines:
                t.do(line)
            return
        with t.unless(self.active.none()):
            for line in lines:
                t.do(line)

    def fence(self, code: Code) -> str:
        return call(race_order.fence, *THERE, str(code.index), str(int(rules.wide(code))))

    def strong(self, code: Code, size: int) -> None:
        """Active lanes have made a strong access; %addrs holds their addresses."""
        self.if_any([call(race_order.strong, *THERE, str(code.index), self.active.bits, "%addrs", str(size))])

    def read(self, mask: str, written: str, start: str, members: str) -> None:
        """Notes unwritten bytes that lanes read; %addrs holds their offsets."""
        good = self.t.let(call(initcheck.all_written, mask, written, "%addrs", members))
        with self.t.unless(good, cold=True):
            self.t.do(call(initcheck.report, *THERE, mask, written, "%addrs", start, members))

    def stored(self, code: Code, mask: str, offset: int, size: int) -> None:
        """Lanes store to shared memory; %addrs holds their offsets."""
        given = str(offset), str(size), str(self.flags(code.index)), str(self.program.shared_start)
        self.t.do(call(initcheck.stored, *THERE, mask, "%init.shared", "%addrs", *given))

    def each(self, extra: int, size: int, code: Code, kind: int, space: str = "") -> None:
        """Checks accesses to the addresses in %addrs plus `extra`, lane by lane. kind: READS, WRITES or CHANGES."""
        if self.init and code.space == "generic" and code.index in self.bounds:
            bounds = map(str, self.bounds[code.index])
            given = *THERE, self.active.bits, "%addrs", str(extra), str(size), *bounds, str(code.index)
            self.t.do(call(initcheck_local.within_anywhere, *given))
        looks = kind != READS or code.instruction is not None
        if self.init and looks and code.space == "generic" and self.program.local_size:
            given = *THERE, self.active.bits, "%addrs", str(extra), str(size), str(code.index), str(kind)
            self.t.do(call(initcheck_local.accessed_anywhere, *given))
        flags = code.properties.strong << records.STRONG
        places = "%addrs", str(extra), str(size), str(size.bit_length() - 1), str(S.SPACES[space or code.space])
        access = str(code.index << records.CODE | flags)
        line = call(lane_by_lane.each, "%ctx", "%cta", "%ws", self.active.bits, *places, str(kind), access)
        if self.init and not self.race and (space or code.space) == "global":
            some = self.t.get(records.Launch, "unwritten", "%check.launch")
            with self.t.if_then(self.t.ne("i64", some, 0)):
                self.t.do(line)
        else:
            self.t.do(line)

    def access(self, code: Code, access: Access, kind: int | None = None) -> None:
        """Checks an access of an instruction with a body. kind: READS, WRITES or CHANGES, if not that of `access`."""
        places = self.m.zext("i64", self.e.operands.address(code, access.operand))
        self.t.store(f"<{W} x i64>", self.m.vector(places), "%addrs", align=64)
        self.each(0, access.size, code, KINDS[access.what] if kind is None else kind, access.space)
        if self.may_be_tile(code) and not code.properties.mbarrier:
            self.stored_anywhere(code, places, access.size)

    def placed(self, code: Code, lanes: int, size: int, offsets: str = "") -> tuple[str, str]:
        """Checks what the first lanes, those of a mask, have read or stored in shared memory; %addrs holds their
        offsets, if they are not given. What rows of `stmatrix` held before is in %data.
        Returns the active ones of these lanes, and the table of the access."""
        t, write = self.t, code.properties.stores
        mask = t.and_("i32", self.active.bits, lanes - (1 << 32) if lanes >> 31 else lanes)
        start, table = str(self.program.shared_start), self.members([(code.index, 0, size)])
        if offsets:
            t.store(f"<{W} x i32>", offsets, "%addrs", align=64)
        if self.race:
            if write and code.properties.rows:
                place = "%shared", start, start, "%addrs", "null"
                t.do(call(races.storing, "%check.launch", "%data", str(size), "1", *place))
            where = "%race.shared", "%race.stride", "%addrs", start, table
            t.do(call(race_accesses.at_addresses, *THERE, mask, *where, str(int(write))))
            t.do(call(races.stored, "%check.launch"))
        if self.init and write:
            self.stored(code, mask, 0, size)
        elif self.init:
            self.read(mask, "%init.shared", start, table)
        if self.sync and write:
            self.tile_stored(mask, table)
        return mask, table

    def listed(self, rows: list[int]) -> str:
        return self.e.constant("checked", "i64", rows, align=", align 64")

    def flags(self, index: int) -> int:
        return index << records.CODE | self.program.codes[index].properties.strong << records.STRONG

    def members(self, members: Members) -> str:
        rows = [len(members)]
        for index, offset, size in members:
            rows += [offset, size, self.flags(index)]
        return self.listed(rows)


class CheckInstrument(Part, Instrument):
    def __init__(self, e: Emitter, checks: Checks) -> None:
        super().__init__(e)
        self.checks = checks
