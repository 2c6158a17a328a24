"""The data of a load or store, once its addresses have been checked: scalar, in a row, gathered, or lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ptxlab.emulate.jit.emitter.access_groups import AT_A_STRIDE, ROWS, SAME, Group, Seen
from ptxlab.emulate.jit.emitter.affine_calls import Given
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.jit.memory.address_buffers import AddressBuffers
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.jit.memory.scattered import Offsets, Scattered, Stride, Where
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules import memcheck
from ptxlab.emulate.rules.records import ANYWHERE, HALVES_IN_A_ROW, IN_ONE_ALLOCATION, PARTS_OF_ROWS
from ptxlab.emulate.runtime import state as S


class Transfers(Part):
    """Moves data between registers and checked memory."""

    def __init__(self, e: Emitter, sites: AddressResolution, laid: AddressBuffers) -> None:
        super().__init__(e)
        self.sites, self.laid, self.scattered = sites, laid, Scattered(e, sites.patterns)

    # -- the access itself ---------------------------------------------------------------------------------------------

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
            with self.t.if_then(self.t.ne("i64", group.shadow, 0)):
                spot = self.t.inttoptr("i64", self.t.add("i64", group.shadow, offset), "ptr")
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
        """32 addresses."""
        moved = self._by_call(seen) if self.e.small else self._by_pattern(seen)
        if seen.write and seen.code.space != "shared":
            self._mark_lanes(seen)
        return moved

    def _by_pattern(self, seen: Seen) -> tuple[Value, ...]:
        """An arm of code for each pattern."""
        t, group, lane = self.t, seen.group, seen.lane
        stored = self._vectors(seen)
        arms: dict[str, tuple[int, ...]] = {}
        if group.patterns.intersection(ROWS):
            # One test less; in shared memory `matmul_tiled` took 1.25 of the time, which nobody has explained.
            known = group.patterns if seen.code.space != "shared" else ROWS
            arms["row"] = tuple(n for n in ROWS if n in known)
        if not seen.write and group.patterns.intersection(SAME):
            arms["one"] = SAME
        gathered = IN_ONE_ALLOCATION in group.patterns
        if PARTS_OF_ROWS in group.patterns and (
            self.sites.patterns.with_gaps() or not gathered or group.lanes is not None
        ):
            arms["gaps"] = (PARTS_OF_ROWS,) if gathered else ()
        if gathered:
            arms["any"] = ()
        if group.way:
            arms["strided"] = (AT_A_STRIDE,)
        if group.site in self.sites.mixed:
            arms["each"] = (ANYWHERE,)
        switch = t.switch(group.way or group.pattern, arms)
        if "row" in arms:
            with switch.arm("row") as results:
                results += self._store_rows(seen, stored) if seen.write else self._load_rows(seen)
        if "one" in arms:
            with switch.arm("one") as results:
                results += self._load_ones(seen)
        if "gaps" in arms:
            with switch.arm("gaps") as results:
                results += self._row_with_gaps(seen, stored)
        if "any" in arms:
            with switch.arm("any") as results:
                results += self._any(seen, stored)
        if "strided" in arms:
            with switch.arm("strided") as results:
                results += self._strided(seen, stored)
        if "each" in arms:
            with switch.arm("each") as results:
                results += [value.text for value in self.each_lane(seen)]
        switch.end()
        if seen.write:
            return ()
        return tuple(Value(switch.phi(f"<{W} x {LLVM[lane]}>"), lane, False) for _ in range(seen.count))

    def _any(self, seen: Seen, stored: list[str]) -> list[str]:
        """Anywhere in one allocation, in this arm of code."""
        group = seen.group

        def offsets() -> Where:
            if group.offsets or not group.way:
                return Offsets(self.sites.offsets(group))
            laid = self.laid.offsets(group)  # lanes are `strided` as a rule
            return Offsets(self.t.load(f"<{W} x i32>", laid, align=64))

        return self._scattered(seen, stored, group.pointer, offsets)

    def _strided(self, seen: Seen, stored: list[str]) -> list[str]:
        """Each lane so many bytes behind the one before."""
        first = self.t.offset(seen.group.pointer, seen.group.halves[0])
        return self._scattered(seen, stored, first, lambda: Stride(seen.group.stride))

    def _scattered(self, seen: Seen, stored: list[str], pointer: str, place: Callable[[], Where]) -> list[str]:
        """Lanes at a distance, from a pointer on. `place` says where."""
        results: list[str] = []
        where = place()
        for k in range(seen.count):
            base = self.t.offset(pointer, seen.offset + k * seen.step)
            if seen.write:
                self.scattered.store(seen.lane, base, where, stored[k])
            else:
                results.append(self.scattered.load(seen.lane, base, where).text)
        return results

    def _by_call(self, seen: Seen) -> tuple[Value, ...]:
        """The same by a call of one function for all accesses of that size, the data passed in the buffer `%data`."""
        t, group, row = self.t, seen.group, f"<{W} x i32>"
        name = f"{'store' if seen.write else 'load'}.{seen.lane}.{seen.count}"
        if not self.e.wide and seen.code.space == "shared":
            name += ".shared"

        def body() -> None:
            there = Group(-1, 0, 0, 0, seen.write, pointer="%place", offsets="%offsets", pattern="%pattern")
            there.halves = self.sites.patterns.halves("%offsets")
            given = self._passed(seen, self._cells(seen)) if seen.write else None
            self._pass(seen, self._cells(seen), self._by_pattern(replace(seen, group=there, offset=0, stored=given)))

        self.e.calls.write(name, f"ptr %place, {row} %offsets, i32 %pattern, i32 %bits, ptr %data", body)
        cells = self._cells(seen)
        self._pass(seen, cells, seen.stored or ())
        if group.site in self.sites.mixed:
            with t.if_else(t.eq("i32", group.pattern, ANYWHERE)) as (anywhere, known):
                with anywhere:
                    self._access_lanes(seen)
                with known:
                    self._call(name, seen)
        else:
            self._call(name, seen)
        return () if seen.write else self._passed(seen, cells)

    def _call(self, name: str, seen: Seen) -> None:
        group = seen.group
        place = self.t.offset(group.pointer, seen.offset)
        offsets, bits = self.sites.offsets(group), self.active.bits
        given = f"ptr {place}", f"<{W} x i32> {offsets}", f"i32 {group.pattern}", f"i32 {bits}", "ptr %data"
        self.t.call_function("void", name, *given)

    def _cells(self, seen: Seen) -> list[str]:
        """Where the elements lie in the buffer `%data`, 32 lanes each."""
        return [self.t.offset("%data", k * W * seen.step) for k in range(seen.count)]

    def _pass(self, seen: Seen, cells: list[str], values: Sequence[Value]) -> None:
        """Puts elements into the buffer."""
        for cell, value in zip(cells, values, strict=False):
            self.t.store(f"<{W} x {LLVM[seen.lane]}>", self.m.vector(value), cell, align=32)

    def _passed(self, seen: Seen, cells: list[str]) -> tuple[Value, ...]:
        """Elements from the buffer."""
        vector = f"<{W} x {LLVM[seen.lane]}>"
        return tuple(Value(self.t.load(vector, c, align=32), seen.lane, False) for c in cells)

    def _vectors(self, seen: Seen) -> list[str]:
        """What is stored, as vectors."""
        return [self.m.vector(v) for v in seen.stored or ()]

    def _store_rows(self, seen: Seen, stored: list[str]) -> list[str]:
        """Each half of the warp has one range of memory, elements of a vector access interleaved."""
        t, ty, count = self.t, LLVM[seen.lane], seen.count
        halves = self._halves(seen)
        half, wide = f"<{W * count // 2} x {ty}>", f"<{W * count} x {ty}>"
        block = t.interleave(ty, stored)
        if HALVES_IN_A_ROW not in seen.group.patterns:
            t.store(wide, block, halves[0], align=seen.step)
            return []
        width = W * count // 2
        for k, spot in enumerate(halves):
            t.store(half, t.shuffle(wide, block, range(k * width, (k + 1) * width)), spot, align=seen.step)
        return []

    def _load_rows(self, seen: Seen) -> list[str]:
        t, ty, count = self.t, LLVM[seen.lane], seen.count
        if HALVES_IN_A_ROW not in seen.group.patterns:
            whole = f"<{W * count} x {ty}>"
            row = t.load(whole, self._halves(seen)[0], align=seen.step)
            return t.deinterleave(ty, row, count)
        half = f"<{W * count // 2} x {ty}>"
        parts = [t.load(half, spot, align=seen.step) for spot in self._halves(seen)]
        return t.deinterleave(ty, t.joined(ty, W * count // 2, parts), count)

    def _row_with_gaps(self, seen: Seen, stored: list[str]) -> list[str]:
        """As a row, under the mask: what inactive lanes would access may lie outside the allocation."""
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
        own = ", ".join(f"i32 {1 << lane}" for lane in lanes)
        return t.ne(words, t.and_(words, every, f"<{own}>"), "zeroinitializer")

    def _load_ones(self, seen: Seen) -> list[str]:
        """Each half of the warp has one address."""
        t, ty = self.t, LLVM[seen.lane]
        halves, row = self._halves(seen), []
        order = [n // (W // 2) for n in range(W)]
        for k in range(seen.count):
            two = "poison"
            for n, spot in enumerate(halves):
                p = t.offset(spot, k * seen.step)
                one = t.load(ty, p, align=seen.step)
                two = t.insert(f"<2 x {ty}>", two, ty, one, n)
            row.append(t.shuffle(f"<2 x {ty}>", two, order))
        return row

    def _halves(self, seen: Seen) -> list[str]:
        """The address of the first lane of each half-warp."""
        starts = [self.t.offset(seen.group.pointer, at) for at in seen.group.halves]
        return [self.t.offset(start, seen.offset) for start in starts]

    def each_lane(self, seen: Seen) -> tuple[Value, ...]:
        """Lane by lane through `@access.lanes`, the data passed in the buffer `%data`."""
        cells = self._cells(seen)
        self._pass(seen, cells, seen.stored or ())
        self._access_lanes(seen)
        return () if seen.write else self._passed(seen, cells)

    def _access_lanes(self, seen: Seen) -> None:
        """By a function that instructions of one kind share: `@access.lanes` takes twice as many arguments."""
        given = Given(key=(seen.size, seen.count, seen.code.space, seen.write))
        for name, pointer in (("ctx", "%ctx"), ("cta", "%cta"), ("ws", "%ws"), ("data", "%data")):
            given.arguments[name] = "ptr", pointer
        given.arguments["at"] = "ptr", self.laid.addresses(seen.group)
        given.arguments["offset"], given.arguments["code"] = ("i64", str(seen.offset)), ("i32", str(seen.code.index))

        def body() -> Value:
            aligned = (seen.size & -seen.size).bit_length() - 1
            result = self.t.let(call(
                memcheck.access_lanes, "%ctx", "%cta", "%ws", "%bits", "%at", "%offset", "%data", str(seen.step),
                str(seen.count), str(aligned), str(S.SPACES[seen.code.space]), str(int(seen.write)), "%code",
            ))  # fmt: skip
            return Value(result, "i32", True)

        self.e.faults.if_called(self.e.calls.call("each", given, body))

    def _mark_lanes(self, seen: Seen) -> None:
        if not (group := seen.group).marks:
            has = self.t.ne("i64", group.shadow, 0)
            whole = self.t.ne("i32", group.pattern, ANYWHERE)
            group.marks = self.t.and_("i1", has, whole)
        with self.t.if_then(group.marks):
            shadow = self.t.inttoptr("i64", group.shadow, "ptr")
            given = shadow, self.laid.offsets(group), str(seen.offset), self.active.bits, str(seen.size)
            self.t.do(call(memcheck.mark_lanes, *given))
