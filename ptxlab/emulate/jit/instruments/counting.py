"""Counters of the compiling engine: what counted code does in addition, and its tally.

How often a block runs is always counted. Counted code adds, for each instruction with a guard, the lanes for which it
held; for each branch that can diverge, whether the warp did; and for accesses the sectors or wavefronts beyond one.
These are known beforehand where all lanes have one address, and simple where their addresses are consecutive; only for
others is a function called. Accesses of a block that differ in their immediate offset, and so by the same amount in all
lanes, share one count (see `execution_counts.leaders`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.jit.emitter.access_groups import AT_A_STRIDE, Seen, access_shape
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.instruments.execution_counts import leaders
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.language import ALL_LANES
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW, PARTS_OF_ROWS
from ptxlab.emulate.rules.memory_model import (
    LOG_SECTOR,
    SECTOR,
    WORD,
    Counted,
    count_access,
    lane_groups,
    lanes_differ,
    remembered_wavefronts,
    sectors,
    wavefronts,
)
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.counters import moves_pairs
from ptxlab.emulate.runtime.state import SPACES

_KNOWN: dict[str, tuple[int, ...]] = {"row": (IN_A_ROW,), "one": (ALL_THE_SAME,), "any": ()}
_TWO = {"rows": HALVES_IN_A_ROW, "ones": HALVES_THE_SAME}
"""Arms of a full warp whose halves are rows, or at one address each, wherever that is."""
FAR = 1 << 31
"""A multiple of all sizes that keeps the addresses of lanes before the first from being negative."""


class Counting(Part, Instrument):
    """Emits what counted code does in addition."""

    in_loop = by_warpgroup = True

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory
        self.leader = leaders(self.program)

    def enters(self) -> None:
        self.e.held(S.Context, "tally", "ptr")

    def _record(self, index: int, field: str) -> str:
        """A pointer to a field of an instruction's record, which is a `Counted`."""
        return self.t.offset("%tally", index * Counted.size + Counted.offset(field))

    def _add(self, index: int, field: str, pair: str) -> None:
        """Adds a pair of i64 to a record."""
        p = self._record(index, field)
        old = self.t.load("<2 x i64>", p, align=16)
        self.t.store("<2 x i64>", self.t.add("<2 x i64>", old, pair), p, align=16)

    def _pair(self, a: str, b: str) -> str:
        first = self.t.insert("<2 x i64>", "poison", "i64", a, 0)
        return self.t.insert("<2 x i64>", first, "i64", b, 1)

    def _need(self, function: Callable[..., Any], *arguments: str) -> str:
        """The result of a rule of the memory model, as a pair of i64."""
        found = self.t.let(call(function, *arguments))
        return self._pair(*(self.t.part("{i64, i64}", found, k) for k in range(2)))

    # -- guards and branches -------------------------------------------------------------------------------------------

    def guarded(self, code: Code) -> None:
        if code.guard is not None:
            some = self.t.zext("i1", self.active.any(), "i64")
            self._add(code.index, "on", self._pair(some, self.active.count()))

    def branches(self, target: Value | None) -> None:
        """Counts a branch at which the warp diverges."""
        t = self.t
        diverged = ""
        if self.active.guard is not None and not self.active.guard.uniform:
            some = self.active.any()
            all_ = t.ne("i32", self.active.bits, self.active.block_bits)
            diverged = t.zext("i1", t.and_("i1", some, all_), "i64")
        if target is not None and not target.uniform:
            spread = t.zext("i1", t.let(call(lanes_differ, target.text, self.active.bits)), "i64")
            diverged = t.or_("i64", diverged, spread) if diverged else spread
        if diverged:
            t.bump(self._record(self.e.code.index, "diverged"), t.add, "i64", diverged)

    # -- memory --------------------------------------------------------------------------------------------------------

    def accesses(self, seen: Seen) -> None:
        code, space = seen.code, seen.code.space
        if space in ("generic", "cluster"):
            self.anywhere(code.index, self.memory.sites.addresses(seen.group), seen.offset, seen.size)
        elif space in ("global", "shared"):
            if not self.e.diverged and self.leader[code.index] != code.index:
                return
            if space == "shared":
                need = self._banks(seen)
            else:
                need = "" if seen.uniform else self._sectors(seen)
            if need:
                beyond = self.t.sub("<2 x i64>", need, "splat (i64 1)")
                self._add(code.index, f"beyond_{self.e.name}", beyond)

    def anywhere(self, index: int, addresses: str, offset: int, size: int, space: str = "", mask: str = "") -> None:
        """Counts an access in full, out of line."""
        code = self.program.codes[index]
        pairs = str(moves_pairs(code)).lower()
        at = self._moved("i64", addresses, offset)
        space = str(SPACES[space or code.space])
        record = self.t.offset("%tally", index * Counted.size)
        self.t.do(call(count_access, record, at, mask or self.active.bits, str(size), space, pairs))

    def _moved(self, type_: str, addresses: str, offset: int) -> str:
        """A vector of addresses and an offset."""
        if not offset:
            return addresses
        step = self.t.splat(type_, self.t.add(type_, offset, 0))
        return self.t.add(f"<{W} x {type_}>", addresses, step)

    def _sectors(self, seen: Seen) -> str:
        """The pair of sectors needed and sectors at best, for a vector of addresses."""
        t, group, size = self.t, seen.group, seen.size
        halves = self._halves(seen)
        two = {} if halves or self.e.small else {name: (n,) for name, n in _TWO.items() if n in group.patterns}
        strided = {"strided": (AT_A_STRIDE,)} if AT_A_STRIDE in group.patterns else {}
        gaps = {"gaps": (PARTS_OF_ROWS,)} if self._row_with_gaps(seen) else {}
        switch = t.switch(group.pattern, _KNOWN | halves | two | strided | gaps)
        with switch.arm("row") as results:
            straight, best = sectors(np.arange(W, dtype=np.uint64) * np.uint64(size), ALL_LANES, size)
            first = t.extract(f"<{W} x i64>", self.memory.sites.addresses(group), 0)
            low = t.and_("i64", t.add("i64", first, seen.offset), SECTOR - 1)
            askew = t.zext("i1", t.ne("i64", low, 0), "i64")  # then the row takes one more sector
            results.append(self._pair(t.add("i64", straight, askew), str(best)))
        with switch.arm("one") as results:
            results.append("splat (i64 1)")
        with switch.arm("any") as results:
            at = self._moved("i64", self.memory.sites.addresses(group), seen.offset)
            results.append(self._need(sectors, at, self.active.bits, str(size)))
        for name in two:
            with switch.arm(name) as results:
                results.append(self._two(seen, size * (W // 2 if name == "rows" else 1)))
        if strided:
            with switch.arm("strided") as results:
                results.append(self._of_stride(seen))
        if gaps:
            with switch.arm("gaps") as results:
                results.append(self._of_some(seen))
        if halves:
            assert group.lanes is not None, "halves are known of affine addresses"
            found = [
                sectors(self._from(seen, low).astype(np.uint64), ALL_LANES, size) for low in range(0, SECTOR, size)
            ]
            with switch.arm("halves") as results:
                first = t.add("i64", self.m.reached(group.lanes, 0).text, seen.offset)
                results.append(self._listed(found, first, size))
        switch.end()
        return switch.phi("<2 x i64>")

    def _row_with_gaps(self, seen: Seen) -> bool:
        """Whether the active lanes, where not all are, access elements of one row that are no larger than a sector."""
        return seen.size <= SECTOR and seen.group.part_of_a_row(seen.size)

    def _of_some(self, seen: Seen) -> str:
        """The pair of sectors where active lanes are in a row, of which others are missing."""
        t, size, lanes = self.t, seen.size, seen.group.lanes
        assert lanes is not None, "gaps are known of affine addresses"
        each = SECTOR // size  # lanes of a sector
        first = t.add("i64", self.m.reached(lanes, 0).text, seen.offset)
        before = t.lshr("i64", t.and_("i64", first, SECTOR - 1), size.bit_length() - 1)
        there, step = t.shl("i64", t.zext("i32", self.active.bits, "i64"), before), 1
        while step < each:  # in the lowest bit of each sector in the end: whether one of its lanes is active
            there = t.or_("i64", there, t.lshr("i64", there, step))
            step *= 2
        there = t.and_("i64", there, sum(1 << k for k in range(0, 2 * W, each)))
        needed = t.call("i64", "llvm.ctpop.i64", [("i64", there)])
        best = t.lshr("i64", t.add("i64", t.mul("i64", self.active.count(), size), SECTOR - 1), LOG_SECTOR)
        return self._pair(needed, t.call("i64", "llvm.umin.i64", [("i64", needed), ("i64", best)]))

    def _halves(self, seen: Seen) -> dict[str, tuple[int, ...]]:
        """The arm of affine addresses whose lanes all lie as they were built to: their count follows from the first."""
        lanes = seen.group.lanes
        known = () if lanes is None or lanes.form.times else seen.group.patterns & {HALVES_IN_A_ROW, HALVES_THE_SAME}
        return {"halves": tuple(known)} if known else {}

    def _two(self, seen: Seen, span: int) -> str:
        """The pair of sectors where each half of a full warp touches all of so many bytes from its first lane on."""
        t, group = self.t, seen.group
        if group.lanes is not None:
            firsts = [t.add("i64", group.start, half) for half in group.halves]
        else:
            addresses = self.memory.sites.addresses(group)
            firsts = [t.extract(f"<{W} x i64>", addresses, lane) for lane in (0, W // 2)]
        begins, ends = (
            [t.lshr("i64", t.add("i64", first, seen.offset + last), LOG_SECTOR) for first in firsts]
            for last in (0, span - 1)
        )
        more = [t.sub("i64", end, begin) for begin, end in zip(begins, ends, strict=True)]
        begin = t.call("i64", "llvm.umax.i64", [("i64", each) for each in begins])
        end = t.call("i64", "llvm.umin.i64", [("i64", each) for each in ends])
        both = t.sub("i64", t.add("i64", end, 1), begin)  # sectors of both halves, if above 0
        both = t.call("i64", "llvm.smax.i64", [("i64", both), ("i64", "0")])
        needed = t.sub("i64", t.add("i64", more[0], more[1]), t.sub("i64", both, 2))
        return self._pair(needed, t.call("i64", "llvm.umin.i64", [("i64", needed), ("i64", str(seen.size))]))

    def _of_stride(self, seen: Seen) -> str:
        """The pair of sectors of a full warp whose lanes are equally far apart: a sector for each lane, or all from the
        lowest to the highest."""
        t, group, size = self.t, seen.group, seen.size
        far = t.call("i64", "llvm.abs.i64", [("i64", group.stride), ("i1", "false")])
        first = t.add("i64", group.start, t.add("i64", group.halves[0], seen.offset))
        last = t.add("i64", first, t.mul("i64", group.stride, W - 1))
        numbers = [t.lshr("i64", at, LOG_SECTOR) for at in (first, last)]
        between = t.sub("i64", numbers[1], numbers[0])
        between = t.call("i64", "llvm.abs.i64", [("i64", between), ("i1", "false")])
        near, distinct = t.add("i64", between, 1), t.uge("i64", far, SECTOR)
        needed = t.select(distinct, "i64", W, near)
        best = (W * size + SECTOR - 1) // SECTOR
        return self._pair(needed, t.call("i64", "llvm.umin.i64", [("i64", needed), ("i64", str(best))]))

    def _from(self, seen: Seen, low: int) -> np.ndarray:
        """The addresses of all lanes, up to a multiple of `FAR`, where the first has these low bits."""
        assert seen.group.lanes is not None, "halves are known of affine addresses"
        return np.array(seen.group.lanes.form.lane_offsets) + low + FAR

    def _listed(self, found: list[tuple[int, int]], first: str, size: int) -> str:
        """The pair for a first address, an i64, among those for each multiple of the size from 0 on."""
        if len(set(found)) == 1:
            return "<i64 {}, i64 {}>".format(*found[0])
        table = self.e.constant("sectors", "i64", (n for pair in found for n in pair), align=", align 16", shared=True)
        index = self.t.and_("i64", first, SECTOR - 1)
        p = self.t.offset(table, self.t.mul("i64", index, 16 // size))
        return self.t.load("<2 x i64>", p, align=16)

    def _banks(self, seen: Seen) -> str:
        """The pair of wavefronts needed and wavefronts at best; nothing where both are 1."""
        t, group, size, pairs = self.t, seen.group, seen.size, moves_pairs(seen.code)
        # of all lanes, at addresses that follow each other, and at one address
        row, one = (
            wavefronts(np.arange(W, dtype=np.uint32) * np.uint32(step), ALL_LANES, size, pairs) for step in (size, 0)
        )
        if seen.uniform:
            if one == (1, 1):
                return ""
            same = t.let(call(lane_groups, self.active.bits, str(W // one[0])))
            return self._pair(same, same)
        halves = self._halves(seen) if size >= WORD else {}
        known = [("row", row), ("one", one)]
        if halves:  # wherever they begin: to move all lanes by whole words exchanges the banks
            known.append(("halves", wavefronts(self._from(seen, 0).astype(np.uint32), ALL_LANES, size, pairs)))
        switch = t.switch(group.pattern, _KNOWN | halves)
        for name, (needed, best) in known:  # for full warps only
            with switch.arm(name) as results:
                results.append(f"<i64 {needed}, i64 {best}>")
        with switch.arm("any") as results:
            at = self._moved(
                "i32", self.memory.sites.offsets(group), seen.offset if size < WORD else 0
            )  # whole words change nothing
            memo = self._record(seen.code.index, "memo")
            results.append(self._need(remembered_wavefronts, memo, at, self.active.bits, str(size), str(pairs).lower()))
        switch.end()
        return switch.phi("<2 x i64>")

    def tile(self, code: Code, address: Value, stride: Value | None) -> None:
        for places, lanes, size in self.memory.rows.pieces(code, address, stride):
            self.anywhere(code.index, self.m.vector(places), 0, size, mask=str(lanes))

    def atomic(self, address: Address) -> None:
        if address.base.uniform and self.e.code.space == "global" and not self.e.small:
            self._one_sector(access_shape(self.e.code)[2])
            return
        at = self.m.vector(self.m.wide(address))
        self.anywhere(self.e.code.index, at, 0, access_shape(self.e.code)[2])

    def _one_sector(self, size: int) -> None:
        """Counts a request of all active lanes, if there are any, at one address of global memory."""
        t, kind = self.t, "<4 x i64>"
        some = t.zext("i1", self.active.any(), "i64")
        octets = t.mul("i64", self.active.count(), size)
        more = "poison"
        for k, amount in enumerate((some, octets, some, some)):  # as the fields of a `Traffic` are
            more = t.insert(kind, more, "i64", amount, k)
        p = self._record(self.e.code.index, "in_global")
        old = t.load(kind, p, align=16)
        t.store(kind, t.add(kind, old, more), p, align=16)
