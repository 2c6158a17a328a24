"""The checks in compiled code: `cp.async`, matrices and mbarriers, whose accesses are not loads and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.checked import THERE, CheckInstrument, Checks
from ptxlab.emulate.jit.copies import copies
from ptxlab.emulate.jit.instrument import After
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.rulecode import Function, call
from ptxlab.emulate.program.model import Code, Literal
from ptxlab.emulate.program.warpgroup_flow import follows_layouts
from ptxlab.emulate.rules import async_proxy, initcheck, race_accesses, tile_layouts, warpgroup_faults, warpgroup_tiles
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules.accesses import CHANGES, IN_ONE_ALLOCATION, READS, WRITES
from ptxlab.emulate.rules.bulk_instructions import is_bulk
from ptxlab.isa import fragments
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter

ANYWHERE = str(IN_ONE_ALLOCATION)


class CheckedTransfers(CheckInstrument):
    """Asynchronous copies, mbarriers, ldmatrix, stmatrix, wmma."""

    def __init__(self, e: Emitter, checks: Checks) -> None:
        super().__init__(e, checks)
        e.mbarriers.checks = THERE[1]
        self._layouts = follows_layouts(e.program)

    def before(self, code: Code) -> After | None:
        form = code.form
        if code.copy is not None or code.action is Action.TAKE_REDUCED:
            return None
        if form.op.kind == "async" and code.properties.mbarrier:
            self._mbarrier(code)
        elif is_bulk(code):
            return None  # the rules of bulk copies call back
        elif copies(code):
            return self._copy(code)
        elif form.op.kind == "async":
            self._of_commit(code)
        elif form.op.kind == "warp" and code.properties.rows:
            f = next(iter(fragments.operands(form).values()))
            offsets = self._offsets(code)
            return lambda: self._rows(code, offsets, (1 << f.rows) - 1)
        elif form.op.kind == "warp" and code.properties.touches:
            self._tile(code)
        elif code.action is Action.WARPGROUP_WAIT:
            return lambda: self._waited(code)
        elif code.action is Action.WARPGROUP_PRODUCT:
            return self._tiles_of_product(code)
        return None

    def _of_commit(self, code: Code) -> None:
        """Commits to copies, and waits for them."""
        if not self.checks.sync:
            return
        if code.action is Action.COMMIT:
            self._of_copies(in_flight.commit)
        elif code.action is Action.WAIT_ALL:
            self._of_copies(in_flight.wait_all)
        else:
            left = next(int(s.value) for s in code.sources if isinstance(s, Literal))
            self._of_copies(in_flight.wait_group, str(left))

    def _mbarrier(self, code: Code) -> None:
        self._wide_addresses(code)
        self.checks.each(0, 8, code, WRITES if code.action is Action.MBARRIER_INIT else CHANGES)
        if code.action is Action.COPIES_ARRIVE and self.checks.sync:
            self._of_copies(in_flight.commit)  # a wait for the mbarrier waits for these copies, too

    def _of_copies(self, rule: Function, *arguments: str) -> None:
        """Calls a rule about the copies in flight that these lanes have issued."""
        self.t.do(call(rule, "%check.block", "%check.warp", self.active.bits, *arguments))

    def _wide_addresses(self, code: Code) -> None:
        """The 32 addresses of an operand into %addrs."""
        wide = self.m.zext("i64", self.e.operands.address(code, "a"))
        self.t.do(f"store <{W} x i64> {self.m.vector(wide)}, ptr %addrs, align 64")

    def _offsets(self, code: Code) -> str:
        """The offsets in shared memory of the 32 addresses of an operand."""
        at = self.e.memory.rows.in_shared(self.e.operands.address(code, "a"))
        return self.m.vector(self.m.sub(at, self.m.const("i32", self.program.shared_start)))

    def _copy(self, code: Code) -> After:
        """A cp.async: reads its operands before it."""
        size = next(int(s.value) for s in code.sources if isinstance(s, Literal))
        offsets = self._offsets(code)
        source = self.m.vector(self.m.zext("i64", self.e.operands.address(code, "b")))
        whole = self._complete(code, size)
        return lambda: self._copied(code, size, offsets, source, whole)

    def _copied(self, code: Code, size: int, offsets: str, source: str, whole: str) -> None:
        """After a cp.async, when its addresses have been checked: its reads and writes."""
        t = self.t
        if self.checks.race or self.checks.init:
            t.do(f"store <{W} x i64> {source}, ptr %addrs, align 64")
            with self.active.only(whole):
                self.checks.each(0, size, code, READS, "global")
        t.do(f"store <{W} x i32> {offsets}, ptr %addrs, align 64")
        members = [(code.index, 0, size)]
        if self.checks.race:
            t.do(
                call(race_accesses.at_addresses, *THERE, self.active.bits, "%race.shared", "%race.stride", "%addrs",
                     self.e.memory.patterns.of(offsets, size), str(self.program.shared_start),
                     self.checks.pieces(members), self.checks.members(members), "true")
            )  # fmt: skip
        if self.checks.init:
            self.checks.stored(code, self.active.bits, ANYWHERE, 0, size)
        if self.checks.sync:
            self._of_copies(in_flight.start, "%addrs", str(size), str(code.index))
            self.checks.tile_stored(self.active.bits, self.checks.members(members), self.program.shared_start)

    def _complete(self, code: Code, size: int) -> str:
        """i32: the lanes that copy all their bytes, and not zeros."""
        given = self.e.operands.read_named(code, "src_size")
        if given is None:
            return self.active.bits
        full = self.m.not_(given) if given.type == "i1" else self.m.ule(self.m.const(given.type, size), given)
        return self.active.where(full)

    def _waited(self, code: Code) -> None:
        """After a wait for products of `wgmma`."""
        if self.checks.sync and self.e.file.products:
            products = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.e.file.products}")
            self.t.do(call(async_proxy.waited, *THERE[1:], str(code.index), products))

    def _tiles_of_product(self, code: Code) -> After:
        """The tiles that a product of `wgmma` reads; looked at after it, when they are known to be in memory."""
        given = warpgroup_faults.given(code)
        operands, warp = self.e.operands, self.t.let("and i32 %check.warp, 3")
        tiles = []
        if given.a is not None:
            tile = warpgroup_faults.tile_a(code, 0, given.a_mn)
            first = self.t.let(f"mul i32 {warp}, {2 if given.a_mn else 16}")
            lines = ("0", first) if given.a_mn else (first, "0")
            tiles.append((self.m.lane_0(operands.read(given.a, "b64")).text, *lines, tile, given.a_mn))
        tile = warpgroup_faults.tile_b(code, given.b_mn)
        tiles.append((self.m.lane_0(operands.read(given.b, "b64")).text, "0", "0", tile, given.b_mn))

        def look() -> None:
            if self.checks.sync:
                products = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.e.file.products}")
                self.t.do(call(async_proxy.joined, *THERE, self.active.bits, str(code.index), products))
            for descriptor, line, piece, tile, mn_major in tiles:
                for first in range(0, tile.lines * tile.pieces, W):
                    count = min(W, tile.lines * tile.pieces - first)
                    self.t.do(call(
                        warpgroup_tiles.piece_offsets, descriptor, line, piece, str(tile.pieces),
                        "true" if mn_major else "false", str(self.program.shared_start), str(first), str(count),
                        "%addrs",
                    ))  # fmt: skip
                    self._placed_rows(code, (1 << count) - 1, str(IN_ONE_ALLOCATION))
                if self.checks.sync and self._layouts:
                    self.t.do(call(
                        tile_layouts.read, *THERE, self.active.bits, str(code.index), descriptor, line,
                        str(tile.lines), piece, str(tile.pieces), "true" if mn_major else "false",
                        str(self.program.shared_start),
                    ))  # fmt: skip

        return look

    def _rows(self, code: Code, offsets: str, lanes: int) -> None:
        """Rows of 16 bytes in shared memory, one for each of the first lanes."""
        self.t.do(f"store <{W} x i32> {offsets}, ptr %addrs, align 64")
        self._placed_rows(
            code, lanes, self.e.memory.patterns.of(offsets, 16) if lanes >> 31 else str(IN_ONE_ALLOCATION)
        )

    def _placed_rows(self, code: Code, lanes: int, pattern: str) -> None:
        """The same where %addrs holds the offsets."""
        t, write = self.t, code.properties.stores
        mask = t.let(f"and i32 {self.active.bits}, {lanes - (1 << 32) if lanes >> 31 else lanes}")
        members = [(code.index, 0, 16)]
        start, rows = self.program.shared_start, self.checks.members(members)
        if self.checks.race:
            t.do(
                call(race_accesses.at_addresses, *THERE, mask, "%race.shared", "%race.stride", "%addrs", pattern,
                     str(start), self.checks.pieces(members), rows, str(int(write)))
            )  # fmt: skip
        if self.checks.init and write:
            self.checks.stored(code, mask, ANYWHERE, 0, 16)
        elif self.checks.init:
            good = t.let(call(initcheck.group_written, mask, "%init.shared", "%addrs", ANYWHERE, rows, rows))
            with t.unless(good, cold=True):
                self.checks.unwritten(mask, "%init.shared", str(start), rows)
        if self.checks.sync:
            self.checks.touch_copied(mask, rows)
        if self.checks.sync and code.action is Action.WARPGROUP_PRODUCT:
            products = t.let(f"getelementptr i8, ptr %ws, i64 {self.e.file.products}")
            t.do(call(async_proxy.product_reads, *THERE, mask, "%addrs", rows, str(start), products))

    def _tile(self, code: Code) -> None:
        """The pieces of a matrix that wmma loads or stores."""
        address = self.m.zext("i64", self.e.operands.address(code, "a"))
        given = self.e.operands.read_named(code, "stride", "u32")
        stride = None if given is None else self.m.zext("i64", given)
        for places, lanes, size in self.e.memory.rows.pieces(code, address, stride):
            self.t.do(f"store <{W} x i64> {self.m.vector(places)}, ptr %addrs, align 64")
            there = self.active.any()
            with self.active.only(self.t.let(f"select i1 {there}, i32 {lanes}, i32 0")):
                self.checks.each(0, size, code, int(code.properties.stores))
                if self.checks.may_be_copied(code):
                    self.checks.copied(code, places, size)
