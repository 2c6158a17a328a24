"""The data of a load or store, once its addresses are known to be good: scalar, in a row, gathered, or lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.groups import Group
from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.values import BITS, LLVM, Ops, Value
from ptxlab.emulate.program.model import Code, Program

LARGE = 1500
"""PTX instructions from which on code is made small rather than fast: a debug build, or a library's."""


@dataclass(frozen=True)
class Seen:
    """An access as the code around it sees it, its addresses known to be good.

    The lanes of `mask_bits` access `size` bytes each at `group.address + offset`: an i64 where `uniform` (all lanes the
    same address), else a vector of 32 i64. Addresses are device addresses, offsets for shared. `group.pattern` (an i32,
    lanes only) says how they lie: 0 in a row, 1 all the same, 2 anywhere in one allocation, 3 anywhere at all, 4 each
    half of the warp in a row, 5 each half the same.
    """

    code: Code
    group: Group
    offset: int
    size: int
    uniform: bool
    write: bool


class Transfers(Ops):
    """Moves data between registers and checked memory. The block's emitter sets `code` and `mask_bits`."""

    code: Code
    wide: bool
    """Whether the CPU has 512-bit vectors, with gathers and scatters of their own."""
    helpers_needed: dict[str, str]
    program: Program
    mask_bits: str
    """i32: the lanes that execute this instruction."""

    # -- the access itself ---------------------------------------------------------------------------------------------

    def _scalar_access(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        out, step, ty = [], size // count, LLVM[lane]
        for k in range(count):
            p = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
            if values is None:
                out.append(Value(self.t.let(f"load {self._volatile()}{ty}, ptr {p}, align {step}"), lane, True))
            else:
                self.t.do(f"store {self._volatile()}{ty} {self._last_lane(values[k])}, ptr {p}, align {step}")
        if values is not None and self.code.space != "shared":
            mark, after = self.t.label("mark"), self.t.label()
            has = self.t.let(f"icmp ne i64 {group.shadow}, 0")
            self.t.do(f"br i1 {has}, label %{mark}, label %{after}")
            self.t.at(mark)
            spot = self.t.let(f"inttoptr i64 {self.t.let(f'add i64 {group.shadow}, {offset}')} to ptr")
            self.t.do(f"call void @llvm.memset.p0.i64(ptr {spot}, i8 -1, i64 {size}, i1 false)")
            self.t.do(f"br label %{after}")
            self.t.at(after)
        return tuple(out)

    def _last_lane(self, value: Value) -> str:
        """The value of the last executing lane: the one whose store to a common address stays."""
        if value.uniform:
            return value.text
        zeros = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.mask_bits), ("i1", "false")])
        lane = self.t.let(f"and i32 {self.t.let(f'sub i32 31, {zeros}')}, 31")
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {lane}")

    def _volatile(self) -> str:
        return "volatile " if self.code.properties.strong else ""

    def _lanes_access(
        self, group: Group, offset: int, lane: str, count: int, size: int, values: tuple[Value, ...] | None
    ) -> tuple[Value, ...]:
        step, ty, store = size // count, LLVM[lane], values is not None
        vec = f"<{W} x {ty}>"
        names = {k: self.t.label(k) for k in ("row", "one", "any", "each", "end")}
        may_mix = group.site in self._mixed_addresses
        cases = f"i32 0, label %{names['row']} i32 4, label %{names['row']}"
        cases += "" if store else f" i32 1, label %{names['one']} i32 5, label %{names['one']}"
        cases += f" i32 3, label %{names['each']}" if may_mix else ""
        stored = [self.vector(v) for v in values] if values is not None else []
        mask = self.mask_vector()
        self.t.do(f"switch i32 {group.pattern}, label %{names['any']} [{cases}]")
        arms: list[tuple[str, list[str]]] = []
        # in a row: each half of the warp has one stretch of memory, elements of a vector access interleaved
        self.t.at(names["row"])
        halves = self._halves(group, offset)
        half, wide = f"<{W * count // 2} x {ty}>", f"<{W * count} x {ty}>"
        if store:
            block = self._interleave(ty, stored)
            for k, spot in enumerate(halves):
                part = ", ".join(f"i32 {k * W * count // 2 + n}" for n in range(W * count // 2))
                cut = self.t.let(f"shufflevector {wide} {block}, {wide} poison, <{W * count // 2} x i32> <{part}>")
                self.t.do(f"store {half} {cut}, ptr {spot}, align {step}")
            arms.append(("row", []))
        else:
            parts = [self.t.let(f"load {half}, ptr {spot}, align {step}") for spot in halves]
            both = ", ".join(f"i32 {n}" for n in range(W * count))
            block = self.t.let(f"shufflevector {half} {parts[0]}, {half} {parts[1]}, <{W * count} x i32> <{both}>")
            arms.append(("row", self._deinterleave(ty, block, count)))
        self.t.do(f"br label %{names['end']}")
        if not store:
            self.t.at(names["one"])
            halves, row = self._halves(group, offset), []
            order = ", ".join(f"i32 {n // (W // 2)}" for n in range(W))
            for k in range(count):
                two = "poison"
                for n, spot in enumerate(halves):
                    p = self.t.let(f"getelementptr i8, ptr {spot}, i64 {k * step}")
                    one = self.t.let(f"load {ty}, ptr {p}, align {step}")
                    two = self.t.let(f"insertelement <2 x {ty}> {two}, {ty} {one}, i64 {n}")
                row.append(self.t.let(f"shufflevector <2 x {ty}> {two}, <2 x {ty}> poison, <{W} x i32> <{order}>"))
            arms.append(("one", row))
            self.t.do(f"br label %{names['end']}")
        self.t.at(names["any"])
        row = []
        for k in range(count):
            base = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {offset + k * step}")
            pointers = self.t.let(f"getelementptr i8, ptr {base}, <{W} x i32> {group.offsets}")
            if store:
                self._scatter(lane, pointers, stored[k], mask)
            else:
                row.append(self._gather(lane, pointers, mask).text)
        arms.append(("any", row))
        self.t.do(f"br label %{names['end']}")
        if may_mix:
            self.t.at(names["each"])
            arms.append(("each", self._each_lane(group, offset, lane, count, step, stored if store else None)))
            self.t.do(f"br label %{names['end']}")
        # every arm may have made further blocks; what comes in is whatever block ended it
        self._close_arms(names, arms)
        self.t.at(names["end"])
        if store:
            if self.code.space != "shared":
                self._mark_lanes(group, offset, size)
            return ()
        results = []
        for k in range(count):
            incoming = ", ".join(f"[{values_[k]}, %{self._arm_end[names[arm]]}]" for arm, values_ in arms)
            results.append(Value(self.t.let(f"phi {vec} {incoming}"), lane, False))
        return tuple(results)

    def _halves(self, group: Group, offset: int) -> list[str]:
        """Where the first lane of each half-warp points."""
        spots = []
        for lane in (0, W // 2):
            at = self.t.let(f"extractelement <{W} x i32> {group.offsets}, i64 {lane}")
            spot = self.t.let(f"getelementptr i8, ptr {group.pointer}, i64 {self.t.let(f'zext i32 {at} to i64')}")
            spots.append(self.t.let(f"getelementptr i8, ptr {spot}, i64 {offset}"))
        return spots

    def _close_arms(self, names: dict[str, str], arms: list[tuple[str, list[str]]]) -> None:
        self._arm_end = {}
        for arm, _ in arms:
            self._arm_end[names[arm]] = self._each_end if arm == "each" else names[arm]

    def _each_lane(
        self, group: Group, offset: int, lane: str, count: int, step: int, stored: list[str] | None
    ) -> list[str]:
        """Lane by lane through `@slow.access`, the data passed in the function's buffer."""
        ty = LLVM[lane]
        vec = f"<{W} x {ty}>"
        self.t.do(f"store <{W} x i64> {self._mixed_addresses[group.site]}, ptr %addrs, align 64")
        cells = [self.t.let(f"getelementptr i8, ptr %data, i64 {k * W * step}") for k in range(count)]
        for k, text in enumerate(stored or []):
            self.t.do(f"store {vec} {text}, ptr {cells[k]}, align 32")
        size = step * count
        code = self.t.let(
            f"call i32 @slow.access(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, i64 {offset}, "
            f"ptr %data, i64 {step}, i64 {count}, i64 {(size & -size).bit_length() - 1}, "
            f"i32 {S.SPACES[self.code.space]}, i32 {int(stored is not None)}, i32 {self.code.index})"
        )
        fine = self.t.label("fine")
        ok = self.t.let(f"icmp eq i32 {code}, 0")
        self.t.do(f"br i1 {ok}, label %{fine}, label %fault")
        self.t.at(fine)
        self._each_end = fine
        return [] if stored is not None else [self.t.let(f"load {vec}, ptr {c}, align 32") for c in cells]

    def _mark_lanes(self, group: Group, offset: int, size: int) -> None:
        mark, after = self.t.label("mark"), self.t.label()
        has = self.t.let(f"icmp ne i64 {group.shadow}, 0")
        whole = self.t.let(f"icmp ne i32 {group.pattern}, 3")
        self.t.do(f"br i1 {self.t.let(f'and i1 {has}, {whole}')}, label %{mark}, label %{after}")
        self.t.at(mark)
        self.t.do(f"store <{W} x i32> {group.offsets}, ptr %addrs, align 64")
        self.t.do(
            f"call void @mark.lanes(i64 {group.shadow}, ptr %addrs, i64 {offset}, i32 {self.mask_bits}, i64 {size})"
        )
        self.t.do(f"br label %{after}")
        self.t.at(after)

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

    def _gather(self, lane: str, pointers: str, mask: str | None = None) -> Value:
        ty = LLVM[lane]
        if self._inline(lane):
            text = self.t.gather(ty, BITS[lane] // 8, pointers, mask or self.mask_vector(), "zeroinitializer")
        else:
            text = self.t.let(f"call <{W} x {ty}> @{self._out_of_line('gather', lane)}(<{W} x ptr> {pointers}, "
                              f"i32 {self.mask_bits})")  # fmt: skip
        return Value(text, lane, False)

    def _scatter(self, lane: str, pointers: str, value: str, mask: str | None = None) -> None:
        ty = LLVM[lane]
        if self._inline(lane):
            self.t.scatter(ty, BITS[lane] // 8, value, pointers, mask or self.mask_vector())
            return
        name = self._out_of_line("scatter", lane)
        self.t.do(f"call void @{name}(<{W} x {ty}> {value}, <{W} x ptr> {pointers}, i32 {self.mask_bits})")

    def _inline(self, lane: str) -> bool:
        """Whether a gather is made in place: the CPU has an instruction for it, and the program is not so large that
        building it matters more than running it."""
        return self.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE

    def _out_of_line(self, what: str, lane: str) -> str:
        """The name of a function that gathers or scatters. Without 512-bit vectors, LLVM takes such an access apart
        into one for each lane: done at every place it would be most of the code, and of the time to build it."""
        name, t = f"{what}.{lane}", Text()
        if name not in self.helpers_needed:
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
            self.helpers_needed[name] = f"{head} noinline nounwind {{\n{lines}\n{tail}\n}}\n"
        return name

    def observe(self, seen: Seen) -> None:
        """Called before every checked access. A plain build looks away; see `ptxlab.emulate.jit.instruments`."""

    # -- provided by the block's emitter -------------------------------------------------------------------------------

    _mixed_addresses: dict[int, str]
    _arm_end: dict[str, str]
    _each_end: str

    def mask_vector(self) -> str:
        """<32 x i1>: the lanes that execute this instruction."""
        raise NotImplementedError

    def freeze_splats(self) -> None:
        """Splats made from here on are forgotten at `thaw_splats`: their block does not dominate what follows."""
        self._kept = dict(self._splats)

    def thaw_splats(self) -> None:
        self._splats = self._kept
