"""Counters of the JIT: what counted code does in addition, and its tally.

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

from ptxlab.emulate.jit.emitter.access_groups import STRIDED, Seen, access_shape
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.instruments.execution_counts import leaders
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.language import ALL_LANES
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules import memory_model as model
from ptxlab.emulate.rules.records import CONTIGUOUS, HALVES_CONTIGUOUS, HALVES_UNIFORM, UNIFORM
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.counters import moves_pairs
from ptxlab.emulate.runtime.state import SPACES

_KNOWN: dict[str, tuple[int, ...]] = {"span": (CONTIGUOUS,), "one": (UNIFORM,), "any": ()}
_HALVES = {"spans": HALVES_CONTIGUOUS, "ones": HALVES_UNIFORM}
"""Counts of a full warp whose halves are contiguous, or at one address each, wherever that is."""


class Counting(Part, Instrument):
    by_warpgroup = True

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory
        self.leader = leaders(self.program)

    def enters(self) -> None:
        self.e.held(S.Context, "tally", "ptr")

    def _record(self, index: int, field: str) -> str:
        """A pointer to a field of an instruction's record, which is a `Counted`."""
        return self.t.offset("%tally", index * model.Counted.size + model.Counted.offset(field))

    def _add(self, index: int, field: str, pair: str) -> None:
        p = self._record(index, field)
        old = self.t.load("<2 x i64>", p, align=16)
        self.t.store("<2 x i64>", self.t.add("<2 x i64>", old, pair), p, align=16)

    def _pair(self, a: str, b: str) -> str:
        first = self.t.insert("<2 x i64>", "poison", "i64", a, 0)
        return self.t.insert("<2 x i64>", first, "i64", b, 1)

    def _need(self, function: Callable[..., Any], *arguments: str | int) -> str:
        """The result of a rule of the memory model, as a pair of i64."""
        found = self.t.let(call(function, *arguments))
        return self._pair(*(self.t.extract_value("{i64, i64}", found, k) for k in range(2)))

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
            spread = t.zext("i1", t.let(call(model.lanes_differ, target.text, self.active.bits)), "i64")
            diverged = t.or_("i64", diverged, spread) if diverged else spread
        if diverged:
            t.bump(self._record(self.e.code.index, "diverged"), t.add, "i64", diverged)

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
        code, at = self.program.codes[index], self._moved("i64", addresses, offset)
        record = self.t.offset("%tally", index * model.Counted.size)
        how = mask or self.active.bits, size, SPACES[space or code.space], moves_pairs(code)
        self.t.do(call(model.count_access, record, at, *how))

    def _moved(self, type_: str, addresses: str, offset: int) -> str:
        if not offset:
            return addresses
        step = self.t.splat(type_, self.t.add(type_, offset, 0))
        return self.t.add(f"<{W} x {type_}>", addresses, step)

    def _sectors(self, seen: Seen) -> str:
        """The pair of sectors needed and sectors at best, for a vector of addresses."""
        t, group, size = self.t, seen.group, seen.size
        halves = {} if self.e.small else {name: (n,) for name, n in _HALVES.items() if n in group.patterns}
        strided = {"strided": (STRIDED,)} if STRIDED in group.patterns else {}
        switch = t.switch(group.pattern, _KNOWN | halves | strided)
        with switch.arm("span") as results:
            straight, best = model.sectors(np.arange(W, dtype=np.uint64) * np.uint64(size), ALL_LANES, size)
            first = t.extract(f"<{W} x i64>", self.memory.sites.addresses(group), 0)
            low = t.and_("i64", t.add("i64", first, seen.offset), model.SECTOR - 1)
            askew = t.zext("i1", t.ne("i64", low, 0), "i64")  # then they take one more sector
            results.append(self._pair(t.add("i64", straight, askew), str(best)))
        with switch.arm("one") as results:
            results.append("splat (i64 1)")
        with switch.arm("any") as results:
            at = self._moved("i64", self.memory.sites.addresses(group), seen.offset)
            results.append(self._need(model.sectors, at, self.active.bits, size))
        for name in halves:
            with switch.arm(name) as results:
                results.append(self._in_halves(seen, size * (W // 2 if name == "spans" else 1)))
        if strided:
            with switch.arm("strided") as results:
                results.append(self._of_stride(seen))
        switch.end()
        return switch.phi("<2 x i64>")

    def _in_halves(self, seen: Seen, span: int) -> str:
        """The pair of sectors where each half of a full warp touches all of so many bytes from its first lane on."""
        t, group = self.t, seen.group
        if group.lanes is not None:
            firsts = [t.add("i64", group.start, half) for half in group.halves]
        else:
            addresses = self.memory.sites.addresses(group)
            firsts = [t.extract(f"<{W} x i64>", addresses, lane) for lane in (0, W // 2)]
        begins, ends = (
            [t.lshr("i64", t.add("i64", first, seen.offset + last), model.LOG_SECTOR) for first in firsts]
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
        """The pair of sectors of a full warp with a constant stride: one per lane, or all from lowest to highest."""
        t, group, size = self.t, seen.group, seen.size
        far = t.call("i64", "llvm.abs.i64", [("i64", group.stride), ("i1", "false")])
        first = t.add("i64", group.start, t.add("i64", group.halves[0], seen.offset))
        last = t.add("i64", first, t.mul("i64", group.stride, W - 1))
        numbers = [t.lshr("i64", at, model.LOG_SECTOR) for at in (first, last)]
        between = t.sub("i64", numbers[1], numbers[0])
        between = t.call("i64", "llvm.abs.i64", [("i64", between), ("i1", "false")])
        near, distinct = t.add("i64", between, 1), t.uge("i64", far, model.SECTOR)
        needed = t.select(distinct, "i64", W, near)
        best = (W * size + model.SECTOR - 1) // model.SECTOR
        return self._pair(needed, t.call("i64", "llvm.umin.i64", [("i64", needed), ("i64", str(best))]))

    def _banks(self, seen: Seen) -> str:
        """The pair of wavefronts needed and wavefronts at best; nothing where both are 1."""
        t, group, size, pairs = self.t, seen.group, seen.size, moves_pairs(seen.code)

        def full(places: np.ndarray) -> tuple[int, int]:
            """The wavefronts of a full warp whose lanes have these distances, wherever they begin."""
            found = model.wavefronts(places.astype(np.uint32), ALL_LANES, size, pairs)
            return int(found[0]), int(found[1])

        one = full(np.zeros(W))
        if seen.uniform:
            if one == (1, 1):
                return ""
            same = t.let(call(model.lane_groups, self.active.bits, W // one[0]))
            return self._pair(same, same)
        arms = {"span": full(np.arange(W) * size), "one": one}
        cases, lanes = _KNOWN, group.lanes
        if lanes is not None and not lanes.form.times and size >= model.WORD and group.patterns & {*_HALVES.values()}:
            # to move all lanes by whole words exchanges the banks
            arms["halves"] = full(np.array(lanes.form.lane_offsets) % (1 << 32))
            cases = _KNOWN | {"halves": tuple(group.patterns & {*_HALVES.values()})}
        switch = t.switch(group.pattern, cases)
        for name, (needed, best) in arms.items():
            with switch.arm(name) as results:
                results.append(f"<i64 {needed}, i64 {best}>")
        with switch.arm("any") as results:
            offset = seen.offset if size < model.WORD else 0  # whole words change nothing
            at = self._moved("i32", self.memory.sites.offsets(group), offset)
            memo = self._record(seen.code.index, "memo")
            results.append(self._need(model.remembered_wavefronts, memo, at, self.active.bits, size, pairs))
        switch.end()
        return switch.phi("<2 x i64>")

    def tile(self, code: Code, address: Value, stride: Value | None) -> None:
        for places, lanes, size in self.memory.rows.pieces(code, address, stride):
            self.anywhere(code.index, self.m.vector(places), 0, size, mask=str(lanes))

    def atomic(self, address: Address) -> None:
        at = self.m.vector(self.m.wide(address))
        self.anywhere(self.e.code.index, at, 0, access_shape(self.e.code)[2])
