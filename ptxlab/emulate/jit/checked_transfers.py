"""The checks in compiled code, second part: `cp.async`, matrices and mbarriers, which go to memory by themselves."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.checked_accesses import COLD, CheckedAccesses
from ptxlab.emulate.jit.checked_registers import THERE
from ptxlab.emulate.jit.copies import copies
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.rulecode import Function, call
from ptxlab.emulate.jit.values import Value, constant
from ptxlab.emulate.program.model import Code, Literal, Mem
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules import initcheck, race_accesses
from ptxlab.emulate.rules.accesses import IN_ONE_ALLOCATION
from ptxlab.isa import fragments
from ptxlab.isa.actions import Action

ANYWHERE = str(IN_ONE_ALLOCATION)


class CheckedTransfers(CheckedAccesses):
    """Asynchronous copies, mbarriers, ldmatrix, stmatrix, wmma."""

    def asynchronous(self, code: Code) -> None:
        if copies(code):
            self._copy_checked(code)
            return
        elif self.sync:
            if code.action is Action.COMMIT:
                self._of_copies(in_flight.commit)
            elif code.action is Action.WAIT_ALL:
                self._of_copies(in_flight.wait_all)
            else:
                left = next(int(s.value) for s in code.sources if isinstance(s, Literal))
                self._of_copies(in_flight.wait_group, str(left))
        super().asynchronous(code)

    def mbarrier(self, code: Code) -> None:
        self._wide_addresses(code, "a")
        self._each(0, 8, code, 1 if code.action is Action.MBARRIER_INIT else 2)
        if code.action is Action.COPIES_ARRIVE and self.sync:
            self._of_copies(in_flight.commit)  # who waits for the mbarrier waits for these copies
        super().mbarrier(code)

    def checks_of_block(self) -> str:
        return self.t.let(f"load ptr, ptr {self.t.field(S.Cta, 'checks')}")

    def _of_copies(self, rule: Function, *arguments: str) -> None:
        """A rule about the copies in flight that these lanes have asked for."""
        self.t.do(call(rule, "%check.block", "%check.warp", self.mask_bits, *arguments))

    def _address_of(self, code: Code, name: str) -> Value:
        assert code.form is not None
        names = [s.name for s in code.form.op.operands if s.role != "dst"]
        mem = code.sources[names.index(name)]
        assert isinstance(mem, Mem)
        base = self._base(mem)
        return self.add(base, self.const(base.type, mem.offset))

    def _wide_addresses(self, code: Code, name: str) -> None:
        """The 32 addresses of an operand into %addrs."""
        at = self._address_of(code, name)
        wide = at if at.type == "i64" else self.zext("i64", at)
        self.t.do(f"store <{W} x i64> {self.vector(wide)}, ptr %addrs, align 64")

    def _copy_checked(self, code: Code) -> None:
        """A cp.async: where it reads, and after it (so that its addresses are known to be good) where it writes."""
        t = self.t
        size = next(int(s.value) for s in code.sources if isinstance(s, Literal))
        to = self._in_shared(self._address_of(code, "a"))
        offsets = self.vector(self.sub(to, self.const("i32", self.program.shared_start)))
        source = self._address_of(code, "b")
        wide = self.vector(source if source.type == "i64" else self.zext("i64", source))
        all_lanes = self.mask_bits
        whole = self._complete(code, size)
        super().asynchronous(code)
        if self.race or self.init:
            self.mask_bits = whole
            t.do(f"store <{W} x i64> {wide}, ptr %addrs, align 64")
            self._each(0, size, code, 0, "global")
            self.mask_bits = all_lanes
        t.do(f"store <{W} x i32> {offsets}, ptr %addrs, align 64")
        members = [(code.index, 0, size)]
        if self.race:
            t.do(
                call(race_accesses.at_addresses, *THERE, all_lanes, "%race.shared", "%race.stride", "%addrs",
                     self._pattern(offsets, size), str(self.program.shared_start), self._pieces(members),
                     self._members(members), "true")
            )  # fmt: skip
        if self.init:
            self._stored(code, all_lanes, ANYWHERE, 0, size)
        if self.sync:
            self._of_copies(in_flight.start, "%addrs", str(size), str(code.index))

    def _complete(self, code: Code, size: int) -> str:
        """i32: the lanes that copy all their bytes, and not zeros."""
        assert code.form is not None
        names = [s.name for s in code.form.op.operands if s.role != "dst"]
        k = names.index("src_size")
        given = self._read(code.sources[k], code.source_types[k])
        if given is None:
            return self.mask_bits
        full = self.not_(given) if given.type == "i1" else self.ule(self.const(given.type, size), given)
        bits = self.t.let(f"bitcast <{W} x i1> {self.vector(full)} to i32")
        return self.t.let(f"and i32 {bits}, {self.mask_bits}")

    def matrix(self, code: Code) -> None:
        form = code.form
        assert form is not None
        if code.properties.rows:
            f = next(iter(fragments.operands(form).values()))
            to = self._in_shared(self._address_of(code, "a"))
            offsets = self.vector(self.sub(to, self.const("i32", self.program.shared_start)))
            super().matrix(code)
            self._rows_checked(code, offsets, (1 << f.rows) - 1)
        elif code.properties.touches:
            self._tile_checked(code)
            super().matrix(code)
        else:
            super().matrix(code)

    def _rows_checked(self, code: Code, offsets: str, lanes: int) -> None:
        """Rows of 16 bytes in shared memory, one for each of the first lanes."""
        t, write = self.t, code.properties.stores
        mask = t.let(f"and i32 {self.mask_bits}, {lanes - (1 << 32) if lanes >> 31 else lanes}")
        t.do(f"store <{W} x i32> {offsets}, ptr %addrs, align 64")
        members = [(code.index, 0, 16)]
        start, rows = self.program.shared_start, self._members(members)
        if self.race:
            pattern = self._pattern(offsets, 16) if lanes >> 31 else str(IN_ONE_ALLOCATION)
            t.do(
                call(race_accesses.at_addresses, *THERE, mask, "%race.shared", "%race.stride", "%addrs", pattern,
                     str(start), self._pieces(members), rows, str(int(write)))
            )  # fmt: skip
        if self.init and write:
            self._stored(code, mask, ANYWHERE, 0, 16)
        elif self.init:
            good = t.let(call(initcheck.group_written, mask, "%init.shared", "%addrs", ANYWHERE, rows, rows))
            bad, on = t.label("bad"), t.label("on")
            t.do(f"br i1 {good}, label %{on}, label %{bad}, {COLD}")
            t.at(bad)
            self._unwritten(mask, "%init.shared", str(start), rows)
            t.do(f"br label %{on}")
            t.at(on)
        if self.sync and any(copies(c) for c in self.program.codes):
            self._reads(mask, rows)

    def _tile_checked(self, code: Code) -> None:
        """The pieces of a matrix that wmma loads or stores."""
        t, form = self.t, code.form
        assert form is not None
        ((_, f),) = fragments.operands(form).items()
        layout = str(form.layout)
        at = self._lane_0(self._address_of(code, "a"))
        wide = at if at.type == "i64" else self.zext("i64", at)
        names = [s.name for s in form.op.operands if s.role != "dst"]
        k = names.index("stride")
        given = self._read(code.sources[k], "u32")
        if given is None:
            step = self.const("i64", (f.columns if layout == "row" else f.rows) * f.bits // 8)
        else:
            step = self.mul(self.zext("i64", self._lane_0(given)), self.const("i64", f.bits // 8))
        pieces, mask = fragments.pieces(f, layout), self.mask_bits
        for first in range(0, len(pieces), W):
            some = pieces[first : first + W]
            some_and_none = [*some, *[some[0]] * (W - len(some))]
            line = constant(np.array([p.line for p in some_and_none], np.uint64), "i64")
            start = constant(np.array([p.start for p in some_and_none], np.uint64), "i64")
            places = self.add(self.add(self.mul(line, step), start), wide)
            t.do(f"store <{W} x i64> {self.vector(places)}, ptr %addrs, align 64")
            there = t.let(f"icmp ne i32 {mask}, 0")
            lanes = -1 if len(some) == W else (1 << len(some)) - 1
            self.mask_bits = t.let(f"select i1 {there}, i32 {lanes}, i32 0")
            self._each(0, some[0].size, code, int(code.properties.stores))
            if self._may_be_copied(code):
                self._copied(code, places, some[0].size)
        self.mask_bits = mask
