"""`wgmma` in compiled code: a product is noted when it begins, and computed by a function when it is waited for.

That function brings the tiles of A and B into registers after the warp's state, in the form that `mma.sync` wants, and
calls the product of `mma.sync` for each 8 columns of d. So the numbers are those of `mma.sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.jit.bodies.body import Body
from ptxlab.emulate.jit.bodies.matrices import SINK
from ptxlab.emulate.jit.emitter.instrument import After
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.matrices.products import product_function, store
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import THERE, Function, call
from ptxlab.emulate.program.flat_program import Code, Reg, Source
from ptxlab.emulate.program.matrix_operands import Elements, elements, metadata
from ptxlab.emulate.program.warpgroup_flow import follows_layouts
from ptxlab.emulate.rules import warpgroup_products as products
from ptxlab.emulate.rules.warpgroup_faults import SIGNS, Tile, product_operands, tile_a, tile_b
from ptxlab.emulate.rules.warpgroup_tiles import REGISTER, first_outside, fragment_a, fragment_b, piece_offsets
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.report import WARPGROUP
from ptxlab.isa import fragments
from ptxlab.isa.actions import Action
from ptxlab.isa.fragments import Product, accumulator, operand_b

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.check_instrument import Checks
    from ptxlab.emulate.jit.emitter.emitter import Emitter

COLUMNS = 8
"""Columns of d that one product of `mma.sync` computes."""


class Warpgroups(Body):
    rules = (
        products.is_full, products.begin, products.commit, products.completing_product, products.complete,
        products.waited_for, products.asked_for, products.wait_for_warpgroup,
        first_outside, fragment_a, fragment_b,
    )  # fmt: skip

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        from ptxlab.emulate.rules import async_proxy, tile_layouts

        return piece_offsets, async_proxy.product_reads, async_proxy.waited, tile_layouts.product_begins

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e, memory)
        self.of_products = sorted(e.registers.of_products)
        self.start = self.program.shared_start
        self._layouts = follows_layouts(self.program)
        self._computed: dict[tuple[object, ...], str] = {}
        """The functions that compute products, by all that their code depends on."""

    def emit(self, code: Code) -> None:
        """An instruction of `wgmma`, executed by all 32 lanes, or, where its guard holds nowhere, by none."""
        registers = self.e.registers
        fence, commit = code.action is Action.WARPGROUP_FENCE, code.action is Action.WARPGROUP_COMMIT
        for r in () if fence else self.of_products:
            if r in registers.dirty or (registers.scalar(r) and code.action is Action.WARPGROUP_PRODUCT):
                registers.settle(r)
        if code.guard is None:
            self.e.faults.unless_all_lanes(code, "")
            self._execute(code)
        else:
            with self.t.unless(self.active.none()):
                self.e.faults.unless_all_lanes(code, self.active.block_bits)
                self._execute(code)
        for r in () if fence or commit else self.of_products:
            if not registers.scalar(r):
                registers.forget(r)

    def _execute(self, code: Code) -> None:
        t, queue = self.t, self._queue(self.t)
        if code.action is Action.WARPGROUP_COMMIT:
            t.do(call(products.commit, queue))
        elif code.action is Action.WARPGROUP_WAIT:
            count = t.let(call(products.waited_for, queue, code.number("n")))
            self._complete_of_all(count)
            t.do(call(products.wait_for_warpgroup, "%ctx", "%cta", "%ws", count))
        elif code.action is Action.WARPGROUP_PRODUCT:
            self._begin(code, queue)

    def _queue(self, t: Text) -> str:
        return t.offset("%ws", self.e.registers.file.products)

    def _whole_warpgroup(self, number: str) -> str:
        """i1: whether the block has all warps of this warp's warpgroup."""
        t = self.t
        behind = t.add("i32", t.and_("i32", number, -WARPGROUP), WARPGROUP)
        return t.ule("i64", t.zext("i32", behind, "i64"), "%warps")

    # -- a product begins ----------------------------------------------------------------------------------------------

    def _begin(self, code: Code, queue: str) -> None:
        t, of = self.t, product_operands(code)
        number = t.get(S.Warp, "warp_id")
        with t.unless(self._whole_warpgroup(number), cold=True, to="fault"):
            self.e.faults.record(S.NO_WARPGROUP, code.index, "0", "0")
        a = "0"
        if of.a is not None:  # the tile of the first warp of four, moved to that of this warp
            warp, tile = t.and_("i32", number, WARPGROUP - 1), tile_a(code, 0, of.a_mn)
            a = self._descriptor(code, of.a)
            self._reaches(code, a, tile, of.a_mn, t.mul("i32", warp, 2 if of.a_mn else 16))
        b = self._descriptor(code, of.b)
        self._reaches(code, b, tile_b(code, of.b_mn), of.b_mn)
        full = t.let(call(products.is_full, queue))
        with t.if_then(full):
            self._complete("%ws", t.get(products.Products, "begun", queue))
        adds = self.m.lane_0(self.e.operands.read(of.adds, "pred")).text
        t.do(call(products.begin, queue, t.field(S.Warp, "products"), code.index, a, b, adds))
        self._complete("%ws", t.let(call(products.asked_for, "%ctx", "%cta", "%ws")))

    def _descriptor(self, code: Code, source: Source) -> str:
        """The descriptor of a tile. It is a fault unless all lanes have the same."""
        value = self.e.operands.read(source, "b64")
        self.e.faults.unless_same(code, value)
        return self.m.lane_0(value).text

    def _reaches(self, code: Code, descriptor: str, tile: Tile, mn_major: bool, moved: str = "") -> None:
        """A fault where shared memory does not have all of a tile. moved: where the tile of A begins in this warp."""
        t, line, piece = self.t, str(tile.first_line), str(tile.first_piece)
        if moved:
            line, piece = (line, moved) if mn_major else (moved, piece)
        size = t.trunc("i64", "%shared.size", "i32")
        places = line, tile.lines, piece, tile.pieces, mn_major, self.start, size
        bad = t.let(call(first_outside, descriptor, *places))
        with t.unless(t.eq("i64", bad, 0), cold=True, to="fault"):
            at = t.add("i64", bad, (0 if moved else S.DESCRIPTOR_B) - 1)
            self.e.faults.record(S.BAD_DESCRIPTOR, code.index, "0", at)

    # -- products are computed -----------------------------------------------------------------------------------------

    def _complete_of_all(self, count: str) -> None:
        """Computes the first `count` products of each warp of the warpgroup, as far as it has begun them."""
        t, size = self.t, self.e.registers.file.size
        number = t.get(S.Warp, "warp_id")
        with t.if_then(self._whole_warpgroup(number)):
            back = t.zext("i32", t.and_("i32", number, WARPGROUP - 1), "i64")
            start = t.offset("%ws", t.mul("i64", back, -size))
            for k in range(WARPGROUP):
                self._complete(t.offset(start, k * size), count)

    def _complete(self, warp: str, count: str) -> None:
        """Computes the first `count` products of a warp, as far as it has begun them."""
        name = "wgmma_complete"
        if name not in self.e.helpers:
            self.e.helpers[name] = ""
            self.e.helpers[name] = self._completing(name)
        self.t.call_function("void", name, "ptr %ctx", "ptr %cta", f"ptr {warp}", f"i32 {count}")

    def _text(self) -> Text:
        """A function that is called, from which rules are called."""
        t = Text()
        t.declared = self.t.declared
        return t

    def _completing(self, name: str) -> str:
        """The function that computes products in the order in which they have begun."""
        t, codes = self._text(), [c for c in self.program.codes if c.action is Action.WARPGROUP_PRODUCT]
        queue = self._queue(t)
        t.go("next")
        t.at("next")
        code = t.let(call(products.completing_product, queue, "%count"))
        t.branch_by(code, "end", [(c.index, f"code{c.index}") for c in codes])
        for c in codes:
            t.at(f"code{c.index}")
            t.do(f"call void @{self._compute(c)}")
            t.go("done")
        t.at("done")
        t.do(call(products.complete, queue))
        t.go("next")
        t.at("end")
        t.ret()
        return t.function(f"void @{name}(ptr %ctx, ptr %cta, ptr %ws, i32 %count)", "noinline nounwind")

    def _compute(self, code: Code) -> str:
        """What computes the oldest product in flight, which is one of this instruction: a function, which those that
        differ in their registers share, and its arguments."""
        of, whole, packed = product_operands(code), fragments.product(code.form), metadata(self.program, code)
        part = whole._replace(
            b=operand_b(whole.b.rows, COLUMNS, whole.b.type),
            c=accumulator(16, COLUMNS, whole.c.type),
            d=accumulator(16, COLUMNS, whole.d.type),
        )
        each, table, of_a = self._tables(elements(self.program, code), whole, part)
        key = code.form, of.a is None, of.a_mn, of.b_mn, of.negative, None if packed is None else packed.selector
        if key not in self._computed:
            self._computed[key] = name = f"wgmma_compute_{len(self._computed)}"
            self.e.helpers[name] = self._computing(name, code, whole, part, each)
        return f"{self._computed[key]}(ptr %ctx, ptr %cta, ptr %ws, ptr {table}, ptr {of_a})"

    def _computing(self, name: str, code: Code, whole: Product, part: Product, each: int) -> str:
        """Such a function. each: how many registers each product of 8 columns has; `%table`, `%a`: see `_tables`."""
        of, t = product_operands(code), self._text()
        queue = self._queue(t)
        at = t.zext("i32", t.urem("i32", t.get(products.Products, "done", queue), products.IN_FLIGHT), "i64")
        entries = t.field(products.Products, "entries", queue)
        entry = t.offset(entries, t.mul("i64", at, products.Begun.size))
        shared = t.get(S.Cta, "shared")
        room, behind = (t.offset("%ws", self.e.registers.file.fragments + k * REGISTER) for k in (0, 4))
        tile, of_b = tile_b(code, of.b_mn), t.get(products.Begun, "b", entry)
        columns, pieces = (8 * tile.pieces, tile.lines // 8) if of.b_mn else (tile.lines, tile.pieces)
        t.do(call(fragment_b, shared, self.start, of_b, of.b_mn, columns, pieces, behind))
        if of.a is not None:
            warp = t.and_("i32", t.get(S.Warp, "warp_id"), WARPGROUP - 1)
            of_a, row = t.get(products.Begun, "a", entry), t.mul("i32", warp, 16)
            t.do(call(fragment_a, shared, self.start, of_a, of.a_mn, row, whole.a.columns, room))
        sign = SIGNS[whole.a.type] if of.negative else 0
        for k in range(whole.a.registers if of.a is None or sign else 0):
            source = to = t.offset(room, k * REGISTER)
            if of.a is None:
                source = t.element("i8", "%ws", t.load("i32", t.element("i32", "%a", k)), by="i32")
            value = t.load(f"<{W} x i32>", source, align=64)
            if sign:
                value = t.xor(f"<{W} x i32>", value, f"splat (i32 {sign - (1 << 32)})")
            t.store(f"<{W} x i32>", value, to, align=64)
        adds = t.ne("i32", t.get(products.Begun, "adds", entry), 0)
        self._multiply(t, code, part, adds, each, whole.d.columns // COLUMNS)
        t.ret()
        return t.function(f"void @{name}(ptr %ctx, ptr %cta, ptr %ws, ptr %table, ptr %a)")

    def _multiply(self, t: Text, code: Code, part: Product, adds: str, each: int, count: int) -> None:
        """Computes `count` products of 8 columns, for each of which `%table` has a row of registers. adds: whether they
        are added to what the registers of d hold, or to zeros."""
        form, packed, registers = code.form, metadata(self.program, code), part.d.registers
        name = f"wgmma_part_{form.atype}_{form.btype}_{form.dtype}_{part.b.rows}"
        name += "_satfinite" if form.satfinite else ""
        name += f"_sparse{packed.selector}" if packed is not None else ""
        if name not in self.e.helpers:
            self.e.helpers[name] = product_function(name, part, t.declared, bool(form.satfinite), packed)
        zero = f"wgmma_zero_{registers}"
        self.e.helpers.setdefault(zero, _zero(zero, registers))
        before, again, last, end = (t.label(word) for word in ("rows", "next", "last", "end"))
        i, following = t.name(), t.name()
        t.go(before)
        t.at(before)
        t.go(again)
        t.at(again)
        t.phi("i64", (0, before), (following, last), name=i)
        row = t.element(f"[{each} x i32]", "%table", i)
        with t.unless(adds):
            t.call_function("void", zero, "ptr %ws", f"ptr {row}")
        t.call_function("void", name, "ptr %ws", f"ptr {row}")
        t.go(last)
        t.at(last)
        t.add("i64", i, 1, following)
        t.branch(t.ult("i64", following, count), again, end)
        t.at(end)

    def _tables(self, held: dict[str, Elements], whole: Product, part: Product) -> tuple[int, str, str]:
        """How many registers each product of 8 columns has, the table of their offsets for all of them, and that of
        the registers of A, where these hold it."""
        vector, room = self.e.registers.file.vector, self.e.registers.file.fragments
        d = [vector[e.index] if isinstance(e, Reg) else SINK for e in held["d"]]
        e = [vector[r.index] for r in held.get("e", ()) if isinstance(r, Reg)]
        a = [room + k * REGISTER for k in range(part.a.registers)]
        rows: list[int] = []
        for group in range(whole.d.columns // COLUMNS):
            sums = d[group * part.d.registers : (group + 1) * part.d.registers]
            first = 4 + group * part.b.registers
            b = [room + (first + k) * REGISTER for k in range(part.b.registers)]
            rows += [*sums, *a, *b, *sums, *e]
        each = 2 * part.d.registers + part.a.registers + part.b.registers + len(e)
        of_a = [vector[r.index] for r in held.get("a", ()) if isinstance(r, Reg)]
        table, sources = (self.e.constant("registers", "i32", listed) for listed in (rows, of_a or [0]))
        return each, table, sources

    # -- the checks ----------------------------------------------------------------------------------------------------

    def check(self, code: Code, checks: Checks) -> After | None:
        if code.action is Action.WARPGROUP_WAIT:
            return lambda: self._waited(code, checks)
        return self._tiles_of_product(code, checks) if code.action is Action.WARPGROUP_PRODUCT else None

    def _waited(self, code: Code, checks: Checks) -> None:
        if checks.sync and self.e.registers.file.products:
            from ptxlab.emulate.rules import async_proxy

            self.t.do(call(async_proxy.waited, *THERE[1:], code.index, self._queue(self.t), code.number("n")))

    def _tiles_of_product(self, code: Code, checks: Checks) -> After:
        """The tiles that a product of `wgmma` reads; looked at after it, when they are known to be in memory."""
        given = product_operands(code)
        operands, warp = self.e.operands, self.t.and_("i32", "%check.warp", 3)
        tiles = []
        if given.a is not None:
            tile = tile_a(code, 0, given.a_mn)
            first = self.t.mul("i32", warp, 2 if given.a_mn else 16)
            lines = ("0", first) if given.a_mn else (first, "0")
            tiles.append((self.m.lane_0(operands.read(given.a, "b64")).text, *lines, tile, given.a_mn))
        tile = tile_b(code, given.b_mn)
        tiles.append((self.m.lane_0(operands.read(given.b, "b64")).text, "0", "0", tile, given.b_mn))

        def look() -> None:
            for each in tiles:
                self._tile_of_product(code, checks, *each)

        return look

    def _tile_of_product(
        self, code: Code, checks: Checks, descriptor: str, line: str, piece: str, tile: Tile, mn_major: bool
    ) -> None:
        """The product reads rows of 16 bytes, up to 32 at once, one for each of the first lanes."""
        from ptxlab.emulate.rules import async_proxy, tile_layouts

        queue = self._queue(self.t)
        pieces, layout = tile.lines * tile.pieces, (mn_major, self.start)
        for first in range(0, pieces, W):
            count = min(W, pieces - first)
            self.t.do(call(piece_offsets, descriptor, line, piece, tile.pieces, *layout, first, count, "%addrs"))
            mask, rows = checks.placed(code, (1 << count) - 1, 16)
            if checks.sync:
                self.t.do(call(async_proxy.product_reads, *THERE, mask, "%addrs", rows, self.start, queue))
        if checks.sync and self._layouts:
            places = descriptor, line, tile.lines, piece, tile.pieces, *layout
            self.t.do(call(tile_layouts.product_begins, *THERE, self.active.bits, code.index, *places))


def _zero(name: str, registers: int) -> str:
    t = Text()
    for k in range(registers):
        store(t, k, "i32", W, "zeroinitializer")
    t.ret()
    return t.function(f"void @{name}(ptr %ws, ptr %table)", "nounwind")
