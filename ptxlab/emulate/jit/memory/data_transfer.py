"""The data of a load or store, once its addresses are checked: scalar, contiguous, strided, gathered, lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ptxlab.emulate.jit.emitter.access_groups import ALL_CONTIGUOUS, ALL_UNIFORM, STRIDED, Seen
from ptxlab.emulate.jit.emitter.emitter import Emitter, Outline, Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.jit.memory.scattered import Scattered
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.records import ANYWHERE, HALVES_CONTIGUOUS, IN_ONE_ALLOCATION, WITH_GAPS
from ptxlab.emulate.runtime import state as S


class Transfers(Part):
    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites, self.scattered = sites, Scattered(e)

    def scalar(self, seen: Seen) -> tuple[Value, ...]:
        """One address for all lanes."""
        group, offset, step, ty, out = seen.group, seen.offset, seen.step, LLVM[seen.lane], []
        for k in range(seen.count):
            p = self.t.offset(group.pointer, offset + k * step)
            if seen.stored is None:
                out.append(Value(self.t.load(f"{self._volatile()}{ty}", p, align=step), seen.lane, True))
            else:
                self.t.store(f"{self._volatile()}{ty}", self._last_lane(seen.stored[k]), p, align=step)
        if seen.write and seen.code.space != "shared":
            with self.t.if_then(self.t.ne("i64", group.written, 0)):
                spot = self.t.inttoptr("i64", self.t.add("i64", group.written, offset), "ptr")
                self.t.fill(spot, -1, seen.size)
        return tuple(out)

    def _last_lane(self, value: Value) -> str:
        """The value of the last active lane, whose store to a common address is the last."""
        if value.uniform:
            return value.text
        zeros = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.active.bits), ("i1", "false")])
        lane = self.t.and_("i32", self.t.sub("i32", 31, zeros), 31)
        return self.t.extract(value.llvm, value.text, lane, by="i32")

    def _volatile(self) -> str:
        return "volatile " if self.e.code.properties.strong else ""

    def lanes(self, seen: Seen) -> tuple[Value, ...]:
        return self._by_call(seen) if self.e.small else self._by_pattern(seen, str(seen.offset))

    def _by_call(self, seen: Seen) -> tuple[Value, ...]:
        """The same by a call. What is loaded or stored is passed in the buffer `%data`."""
        group, space = seen.group, seen.code.space
        assert group.address is not None
        outline = Outline(self.e, seen.lane, seen.count, space, group.patterns)
        place = self.t.offset(group.pointer, seen.offset) if seen.offset else group.pointer
        given = replace(
            group,
            address=outline.value(group.address),
            pointer=outline.text("ptr", place),
            start=outline.text(group.address.type, group.start),
            written=outline.text("i64", group.written),
            pattern=outline.text("i32", group.pattern),
            halves=(outline.text("i64", group.halves[0]), outline.text("i64", group.halves[1])),
            stride=outline.text("i64", group.stride) if group.stride else "",
        )
        offset = outline.text("i64", str(seen.offset))

        def body() -> str:
            stored = self._passed(seen) if seen.write else None
            self._pass(seen, self._by_pattern(replace(seen, group=given, offset=0, stored=stored), offset))
            return "0"

        self._pass(seen, seen.stored or ())
        failed = outline.call("store" if seen.write else "load", body)
        if ANYWHERE in group.patterns:
            self.e.faults.if_failed(failed)
        return () if seen.write else self._passed(seen)

    def _by_pattern(self, seen: Seen, offset: str) -> tuple[Value, ...]:
        """An arm of code for each pattern that the addresses may have. offset: of the access in its group, an i64."""
        found, stored = seen.group.patterns, [self.m.vector(value) for value in seen.stored or ()]
        arms: dict[str, tuple[tuple[int, ...], Callable[[], list[str]]]] = {
            "span": (ALL_CONTIGUOUS, lambda: self._store_range(seen, stored) if seen.write else self._load_range(seen)),
            "one": (() if seen.write else ALL_UNIFORM, lambda: self._load_ones(seen)),
            "gaps": ((WITH_GAPS,), lambda: self._with_gaps(seen, stored)),
            "any": ((IN_ONE_ALLOCATION,), lambda: self._any(seen, stored)),
            "strided": ((STRIDED,), lambda: self._any(seen, stored, strided=True)),
            "each": ((ANYWHERE,), lambda: [value.text for value in self.each_lane(seen, offset)]),
        }
        numbers = {name: tuple(n for n in given if n in found) for name, (given, _) in arms.items()}
        numbers = {name: given for name, given in numbers.items() if given}
        numbers["any" if IN_ONE_ALLOCATION in found else "gaps"] = ()
        switch = self.t.switch(seen.group.pattern, numbers)
        for name in numbers:
            with switch.arm(name) as results:
                results += arms[name][1]()
        switch.end()
        if seen.write and seen.code.space != "shared":
            self._mark_lanes(seen, offset)
        if seen.write:
            return ()
        lane = seen.lane
        return tuple(Value(switch.phi(f"<{W} x {LLVM[lane]}>"), lane, False) for _ in range(seen.count))

    def _any(self, seen: Seen, stored: list[str], *, strided: bool = False) -> list[str]:
        """Anywhere in one allocation, in this arm of code. strided: all lanes, each so many bytes after the last."""
        group, first = seen.group, seen.group.pointer
        if strided:
            first = self.t.offset(first, group.halves[0])
        access = self.scattered.strided if strided else self.scattered.access
        by = group.stride if strided else self.sites.offsets(group)
        bases = [self.t.offset(first, seen.offset + k * seen.step) for k in range(seen.count)]
        return [access(seen.lane, base, by, *stored[k : k + 1]) for k, base in enumerate(bases)]

    def _store_range(self, seen: Seen, stored: list[str]) -> list[str]:
        """Each half of the warp has one range of memory, elements of a vector access interleaved."""
        t, ty, count = self.t, LLVM[seen.lane], seen.count
        halves = self._halves(seen)
        half, wide = f"<{W * count // 2} x {ty}>", f"<{W * count} x {ty}>"
        block = t.interleave(ty, stored)
        if HALVES_CONTIGUOUS not in seen.group.patterns:
            t.store(wide, block, halves[0], align=seen.step)
            return []
        width = W * count // 2
        for k, spot in enumerate(halves):
            t.store(half, t.shuffle(wide, block, range(k * width, (k + 1) * width)), spot, align=seen.step)
        return []

    def _load_range(self, seen: Seen) -> list[str]:
        t, ty, count = self.t, LLVM[seen.lane], seen.count
        if HALVES_CONTIGUOUS not in seen.group.patterns:
            whole = f"<{W * count} x {ty}>"
            block = t.load(whole, self._halves(seen)[0], align=seen.step)
            return t.deinterleave(ty, block, count)
        half = f"<{W * count // 2} x {ty}>"
        parts = [t.load(half, spot, align=seen.step) for spot in self._halves(seen)]
        return t.deinterleave(ty, t.joined(ty, W * count // 2, parts), count)

    def _with_gaps(self, seen: Seen, stored: list[str]) -> list[str]:
        """Contiguous under the mask: what inactive lanes would access may lie outside the allocation."""
        t, ty, count = self.t, LLVM[seen.lane], seen.count
        width, block = W * count // 2, t.interleave(ty, stored) if seen.write else ""
        half, parts = f"<{width} x {ty}>", []
        shared = not self.e.wide and seen.code.space == "shared"
        if not self.e.wide and not shared and BITS[seen.lane] < 32:  # no CPU has an instruction for it
            return self._any(seen, stored)
        for k, spot in enumerate(self._halves(seen)):
            mask = self._mask_of_half(k, count)
            if seen.write:
                cut = t.shuffle(f"<{W * count} x {ty}>", block, range(k * width, (k + 1) * width))
                if shared:  # nobody else writes there, and there is room on both sides
                    # Volatile, or LLVM makes a store under a mask of it, which takes AMD's CPUs 12 cycles.
                    old = t.load(f"volatile {half}", spot, align=seen.step)
                    new = t.select(mask, half, cut, old, of=f"<{width} x i1>")
                    t.store(half, new, spot, align=seen.step)
                else:
                    t.store_masked(half, seen.step, cut, spot, mask)
            elif shared:
                parts.append(t.load(half, spot, align=seen.step))
            else:
                parts.append(t.load_masked(half, seen.step, spot, mask))
        if seen.write:
            return []
        return t.deinterleave(ty, t.joined(ty, width, parts), count)

    def _mask_of_half(self, k: int, count: int) -> str:
        """The active lanes of the first half of the warp or the second, each for `count` elements."""
        t, width = self.t, W * count // 2
        lanes = [k * W // 2 + n // count for n in range(width)]
        if self.e.wide:
            return t.shuffle(f"<{W} x i1>", self.active.vector, lanes)
        words, every = f"<{width} x i32>", t.splat("i32", self.active.bits, width)
        bits = ", ".join(f"i32 {1 << lane}" for lane in lanes)
        return t.ne(words, t.and_(words, every, f"<{bits}>"), "zeroinitializer")

    def _load_ones(self, seen: Seen) -> list[str]:
        """Each half of the warp has one address."""
        t, ty = self.t, LLVM[seen.lane]
        halves, results = self._halves(seen), []
        order = [n // (W // 2) for n in range(W)]
        for k in range(seen.count):
            two = "poison"
            for n, spot in enumerate(halves):
                p = t.offset(spot, k * seen.step)
                one = t.load(ty, p, align=seen.step)
                two = t.insert(f"<2 x {ty}>", two, ty, one, n)
            results.append(t.shuffle(f"<2 x {ty}>", two, order))
        return results

    def _halves(self, seen: Seen) -> list[str]:
        """The address of the first lane of each half-warp."""
        starts = [self.t.offset(seen.group.pointer, at) for at in seen.group.halves]
        return [self.t.offset(start, seen.offset) for start in starts]

    def each_lane(self, seen: Seen, offset: str) -> tuple[Value, ...]:
        """Lane by lane through `@access.lanes`, the data passed in the buffer `%data`."""
        self._pass(seen, seen.stored or ())
        aligned, space = (seen.size & -seen.size).bit_length() - 1, S.SPACES[seen.code.space]
        where = self.active.bits, self.sites.put_addresses(seen.group), offset, "%data"
        what = *map(str, (seen.step, seen.count, aligned, space, int(seen.write))), self.e.faults.code()
        self.e.faults.if_failed(self.t.let(call(memcheck.access_lanes, "%ctx", "%cta", "%ws", *where, *what)))
        return () if seen.write else self._passed(seen)

    def _pass(self, seen: Seen, values: Sequence[Value]) -> None:
        """Puts elements into the buffer, 32 lanes each."""
        for k, value in enumerate(values):
            cell = self.t.offset("%data", k * W * seen.step)
            self.t.store(f"<{W} x {LLVM[seen.lane]}>", self.m.vector(value), cell, align=32)

    def _passed(self, seen: Seen) -> tuple[Value, ...]:
        cells = [self.t.offset("%data", k * W * seen.step) for k in range(seen.count)]
        vector = f"<{W} x {LLVM[seen.lane]}>"
        return tuple(Value(self.t.load(vector, cell, align=32), seen.lane, False) for cell in cells)

    def _mark_lanes(self, seen: Seen, offset: str) -> None:
        """Notes what is written, unless `each_lane` has."""
        t, group = self.t, seen.group
        has, together = t.ne("i64", group.written, 0), t.ne("i32", group.pattern, ANYWHERE)
        with t.if_then(t.and_("i1", has, together)):
            written = t.inttoptr("i64", group.written, "ptr")
            given = written, self.sites.put_offsets(group), offset, self.active.bits, str(seen.size)
            t.do(call(memcheck.mark_lanes, *given))
