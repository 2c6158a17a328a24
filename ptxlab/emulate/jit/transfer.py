"""The data of a load or store, once its addresses have been checked: scalar, in a row, gathered, or lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.jit.groups import Group
from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.values import BITS, LLVM, Value
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.runtime import state as S

LARGE = 1500
"""Programs with more PTX instructions (debug builds, libraries) are built for size, not for speed."""


@dataclass(frozen=True)
class Seen:
    """An access for instruments, its addresses checked.

    The active lanes access `size` bytes each at `group.address + offset`: an i64 where `uniform` (all lanes the same
    address), else a vector of 32 i64. Addresses are device addresses, offsets for shared. `group.pattern` (an i32,
    lanes only): 0 in a row, 1 all the same, 2 anywhere in one allocation, 3 anywhere at all, 4 each half of the warp in
    a row, 5 each half the same. `stored`: the values of a store.
    """

    code: Code
    group: Group
    offset: int
    size: int
    uniform: bool
    stored: tuple[Value, ...] | None

    @property
    def write(self) -> bool:
        """Whether this is a store."""
        return self.stored is not None


class Transfers(Part):
    """Moves data between registers and checked memory."""

    # -- the access itself ---------------------------------------------------------------------------------------------

    def scalar(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        out, step, ty = [], size // count, LLVM[lane]
        for k in range(count):
            p = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
            if values is None:
                out.append(Value(self.t.let(f"load {self._volatile()}{ty}, ptr {p}, align {step}"), lane, True))
            else:
                self.t.do(f"store {self._volatile()}{ty} {self._last_lane(values[k])}, ptr {p}, align {step}")
        if values is not None and self.e.code.space != "shared":
            with self.t.if_then(self.t.let(f"icmp ne i64 {group.shadow}, 0")):
                spot = self.t.let(f"inttoptr i64 {self.t.let(f'add i64 {group.shadow}, {offset}')} to ptr")
                self.t.do(f"call void @llvm.memset.p0.i64(ptr {spot}, i8 -1, i64 {size}, i1 false)")
        return tuple(out)

    def _last_lane(self, value: Value) -> str:
        """The value of the last active lane, whose store to a common address is the last."""
        if value.uniform:
            return value.text
        zeros = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.active.bits), ("i1", "false")])
        lane = self.t.let(f"and i32 {self.t.let(f'sub i32 31, {zeros}')}, 31")
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {lane}")

    def _volatile(self) -> str:
        return "volatile " if self.e.code.properties.strong else ""

    def lanes(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        """32 addresses; an arm of code for each pattern."""
        t, step, mask = self.t, size // count, self.active.vector
        stored = [self.m.vector(v) for v in values] if values is not None else None
        arms: dict[str, tuple[int, ...]] = {"row": (0, 4)}
        if stored is None:
            arms["one"] = (1, 5)
        arms["any"] = ()
        if group.site in self.e.memory.mixed:
            arms["each"] = (3,)
        switch = t.switch(group.pattern, arms)
        with switch.arm("row") as results:
            if stored is not None:
                self._store_rows(group, offset, lane, step, stored)
            else:
                results += self._load_rows(group, offset, lane, count, step)
        if stored is None:
            with switch.arm("one") as results:
                results += self._load_ones(group, offset, lane, count, step)
        with switch.arm("any") as results:
            for k in range(count):
                base = t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
                pointers = t.let(f"getelementptr i8, ptr {base}, <{W} x i32> {group.offsets}")
                if stored is not None:
                    self.scatter(lane, pointers, stored[k], mask)
                else:
                    results.append(self.gather(lane, pointers, mask).text)
        if "each" in arms:
            with switch.arm("each") as results:
                results += self.each_lane(group, offset, lane, count, step, stored)
        switch.end()
        if stored is not None:
            if self.e.code.space != "shared":
                self._mark_lanes(group, offset, size)
            return ()
        return tuple(Value(switch.phi(f"<{W} x {LLVM[lane]}>"), lane, False) for _ in range(count))

    def _store_rows(self, group: Group, offset: int, lane: str, step: int, stored: list[str]) -> None:
        """Each half of the warp has one range of memory, elements of a vector access interleaved."""
        t, ty, count = self.t, LLVM[lane], len(stored)
        halves = self._halves(group, offset)
        half, wide = f"<{W * count // 2} x {ty}>", f"<{W * count} x {ty}>"
        block = self._interleave(ty, stored)
        for k, spot in enumerate(halves):
            part = ", ".join(f"i32 {k * W * count // 2 + n}" for n in range(W * count // 2))
            cut = t.let(f"shufflevector {wide} {block}, {wide} poison, <{W * count // 2} x i32> <{part}>")
            t.do(f"store {half} {cut}, ptr {spot}, align {step}")

    def _load_rows(self, group: Group, offset: int, lane: str, count: int, step: int) -> list[str]:
        t, ty = self.t, LLVM[lane]
        half = f"<{W * count // 2} x {ty}>"
        parts = [t.let(f"load {half}, ptr {spot}, align {step}") for spot in self._halves(group, offset)]
        both = ", ".join(f"i32 {n}" for n in range(W * count))
        block = t.let(f"shufflevector {half} {parts[0]}, {half} {parts[1]}, <{W * count} x i32> <{both}>")
        return self._deinterleave(ty, block, count)

    def _load_ones(self, group: Group, offset: int, lane: str, count: int, step: int) -> list[str]:
        """Each half of the warp has one address."""
        t, ty = self.t, LLVM[lane]
        halves, row = self._halves(group, offset), []
        order = ", ".join(f"i32 {n // (W // 2)}" for n in range(W))
        for k in range(count):
            two = "poison"
            for n, spot in enumerate(halves):
                p = t.let(f"getelementptr i8, ptr {spot}, i64 {k * step}")
                one = t.let(f"load {ty}, ptr {p}, align {step}")
                two = t.let(f"insertelement <2 x {ty}> {two}, {ty} {one}, i64 {n}")
            row.append(t.let(f"shufflevector <2 x {ty}> {two}, <2 x {ty}> poison, <{W} x i32> <{order}>"))
        return row

    def _halves(self, group: Group, offset: int) -> list[str]:
        """The address of the first lane of each half-warp."""
        spots = []
        for lane in (0, W // 2):
            at = self.t.let(f"extractelement <{W} x i32> {group.offsets}, i64 {lane}")
            spot = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {self.t.let(f'zext i32 {at} to i64')}")
            spots.append(self.t.let(f"getelementptr i8, ptr {spot}, i64 {offset}"))
        return spots

    def each_lane(
        self, group: Group, offset: int, lane: str, count: int, step: int, stored: list[str] | None
    ) -> list[str]:
        """Lane by lane through `@slow.access`, the data passed in the function's buffer."""
        ty = LLVM[lane]
        vec = f"<{W} x {ty}>"
        self.t.do(f"store <{W} x i64> {self.e.memory.mixed[group.site]}, ptr %addrs, align 64")
        cells = [self.t.let(f"getelementptr i8, ptr %data, i64 {k * W * step}") for k in range(count)]
        for k, text in enumerate(stored or []):
            self.t.do(f"store {vec} {text}, ptr {cells[k]}, align 32")
        size = step * count
        code = self.t.let(
            f"call i32 @slow.access(ptr %ctx, ptr %cta, ptr %ws, i32 {self.active.bits}, ptr %addrs, i64 {offset}, "
            f"ptr %data, i64 {step}, i64 {count}, i64 {(size & -size).bit_length() - 1}, "
            f"i32 {S.SPACES[self.e.code.space]}, i32 {int(stored is not None)}, i32 {self.e.code.index})"
        )
        self.e.stops.if_called(code)
        return [] if stored is not None else [self.t.let(f"load {vec}, ptr {c}, align 32") for c in cells]

    def _mark_lanes(self, group: Group, offset: int, size: int) -> None:
        has = self.t.let(f"icmp ne i64 {group.shadow}, 0")
        whole = self.t.let(f"icmp ne i32 {group.pattern}, 3")
        with self.t.if_then(self.t.let(f"and i1 {has}, {whole}")):
            self.t.do(f"store <{W} x i32> {group.offsets}, ptr %addrs, align 64")
            self.t.do(
                f"call void @mark.lanes(i64 {group.shadow}, ptr %addrs, i64 {offset}, i32 {self.active.bits}, "
                f"i64 {size})"
            )

    def _interleave(self, ty: str, parts: list[str]) -> str:
        if len(parts) == 1:
            return parts[0]
        count, joined = len(parts), parts
        width = W
        while len(joined) > 1:  # concatenate pairwise, then one permutation
            both = "<" + ", ".join(f"i32 {k}" for k in range(2 * width)) + ">"
            joined = [
                self.t.let(f"shufflevector <{width} x {ty}> {a}, <{width} x {ty}> {b}, <{2 * width} x i32> {both}")
                for a, b in zip(joined[::2], joined[1::2], strict=True)
            ]
            width *= 2
        order = "<" + ", ".join(f"i32 {(k % count) * W + k // count}" for k in range(W * count)) + ">"
        return self.t.let(
            f"shufflevector <{width} x {ty}> {joined[0]}, <{width} x {ty}> poison, <{width} x i32> {order}"
        )

    def _deinterleave(self, ty: str, block: str, count: int) -> list[str]:
        if count == 1:
            return [block]
        out = []
        for k in range(count):
            order = "<" + ", ".join(f"i32 {j * count + k}" for j in range(W)) + ">"
            out.append(
                self.t.let(
                    f"shufflevector <{W * count} x {ty}> {block}, <{W * count} x {ty}> poison, <{W} x i32> {order}"
                )
            )
        return out

    def gather(self, lane: str, pointers: str, mask: str | None = None) -> Value:
        ty = LLVM[lane]
        if self._inline(lane):
            text = self.t.gather(ty, BITS[lane] // 8, pointers, mask or self.active.vector, "zeroinitializer")
        else:
            text = self.t.let(f"call <{W} x {ty}> @{self._out_of_line('gather', lane)}(<{W} x ptr> {pointers}, "
                              f"i32 {self.active.bits})")  # fmt: skip
        return Value(text, lane, False)

    def scatter(self, lane: str, pointers: str, value: str, mask: str | None = None) -> None:
        ty = LLVM[lane]
        if self._inline(lane):
            self.t.scatter(ty, BITS[lane] // 8, value, pointers, mask or self.active.vector)
            return
        name = self._out_of_line("scatter", lane)
        self.t.do(f"call void @{name}(<{W} x {ty}> {value}, <{W} x ptr> {pointers}, i32 {self.active.bits})")

    def _inline(self, lane: str) -> bool:
        """Whether gathers are inlined: the CPU has an instruction for them, and the program is not built for size."""
        return self.e.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE

    def _out_of_line(self, what: str, lane: str) -> str:
        """The name of a function that gathers or scatters. Without 512-bit vectors, LLVM splits such an access into one
        for each lane: inlined, that would be most of the code, and of the time to build it."""
        name, t = f"{what}.{lane}", Text()
        if name not in self.e.helpers:
            vec, size = f"<{W} x {LLVM[lane]}>", BITS[lane] // 8
            t.do(f"%mask = bitcast i32 %bits to <{W} x i1>")
            if what == "gather":
                got = t.gather(LLVM[lane], size, "%p", "%mask", "zeroinitializer")
                head, tail = f"define internal {vec} @{name}(<{W} x ptr> %p, i32 %bits)", f"  ret {vec} {got}"
            else:
                t.scatter(LLVM[lane], size, "%x", "%p", "%mask")
                head, tail = f"define internal void @{name}({vec} %x, <{W} x ptr> %p, i32 %bits)", "  ret void"
            self.t.declared |= t.declared
            lines = "\n".join(t.lines)
            self.e.helpers[name] = f"{head} noinline nounwind {{\n{lines}\n{tail}\n}}\n"
        return name
