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
from ptxlab.emulate.jit.matrices.products import product_function
from ptxlab.emulate.jit.matrices.warpgroup_parts import GROUP, for_each_row, unless_added
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import THERE, Function, call
from ptxlab.emulate.program.flat_program import Code, Reg
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


class Warpgroups(Body):
    """The instructions of `wgmma`."""

    rules = (
        products.is_full, products.begin, products.commit, products.completing_product, products.complete,
        products.waited_for, products.asked_for, products.wait_for_warpgroup,
        first_outside, fragment_a, fragment_b,
    )  # fmt: skip

    @staticmethod
    def check_rules() -> tuple[Function, ...]:
        from ptxlab.emulate.rules import async_proxy, tile_layouts

        return (
            piece_offsets,
            async_proxy.product_reads,
            async_proxy.waited,
            tile_layouts.product_begins,
        )

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e, memory)
        self.held = e.registers.held
        self.codes = [c for c in self.program.codes if c.action is Action.WARPGROUP_PRODUCT]
        self._layouts = follows_layouts(e.program)
        self._computed: dict[tuple[object, ...], str] = {}
        """The functions that compute products, by all that their code depends on."""

    def emit(self, code: Code) -> None:
        """An instruction of `wgmma`, executed by all 32 lanes, or, where its guard holds nowhere, by none."""
        registers = self.e.registers
        if code.action is Action.WARPGROUP_FENCE:
            self._all_lanes(code, "" if code.guard is None else self.active.block_bits)
            return
        for r in sorted(self.held):
            if r in registers.dirty or (registers.scalar(r) and code.action is Action.WARPGROUP_PRODUCT):
                registers.settle(r)
        if code.guard is None:
            self._all_lanes(code, "")
            self._execute(code)
        else:
            with self.t.unless(self.active.none()):
                self._all_lanes(code, self.active.block_bits)
                self._execute(code)
        if code.action is not Action.WARPGROUP_COMMIT:
            for r in sorted(self.held):
                if not registers.scalar(r):
                    registers.forget(r)

    def _all_lanes(self, code: Code, came: str) -> None:
        with_guard = self.t.eq("i32", self.active.bits, 0) if came else ""
        if with_guard:
            with self.t.unless(with_guard):
                self.e.faults.unless_all_lanes(code, came)
        else:
            self.e.faults.unless_all_lanes(code, "")

    def _execute(self, code: Code) -> None:
        t, queue = self.t, self._queue(self.t)
        if code.action is Action.WARPGROUP_COMMIT:
            t.do(call(products.commit, queue))
        elif code.action is Action.WARPGROUP_WAIT:
            count = t.let(call(products.waited_for, queue, str(code.number("n"))))
            self._complete_of_all(count)
            t.do(call(products.wait_for_warpgroup, "%ctx", "%cta", "%ws", count))
        else:
            self._begin(code, queue)

    def _queue(self, t: Text) -> str:
        return t.offset("%ws", self.e.registers.file.products)

    # -- a product begins ----------------------------------------------------------------------------------------------

    def _begin(self, code: Code, queue: str) -> None:
        t, operands, of = self.t, self.e.operands, product_operands(code)
        number = t.get(S.Warp, "warp_id")
        first = t.and_("i32", number, -WARPGROUP)
        behind = t.zext("i32", t.add("i32", first, WARPGROUP), "i64")
        with t.unless(t.ule("i64", behind, "%warps"), cold=True, to="fault"):
            self.e.faults.record(S.NO_WARPGROUP, str(code.index), "0", "0")
        descriptors = {False: "0", True: "0"}
        for source, of_b, mn_major in ((of.a, False, of.a_mn), (of.b, True, of.b_mn)):
            if source is None:
                continue
            value = operands.read(source, "b64")
            self.e.faults.unless_same(code, value)
            descriptors[of_b] = self.m.lane_0(value).text
            tile = tile_b(code, mn_major) if of_b else tile_a(code, 0, mn_major)
            self._reaches(code, descriptors[of_b], tile, of_b, mn_major, number)
        full = t.let(call(products.is_full, queue))
        with t.if_then(full):
            self._complete("%ws", t.get(products.Products, "begun", queue))
        adds = self.m.lane_0(operands.read(of.adds, "pred")).text
        executed = t.field(S.Warp, "products")
        t.do(call(products.begin, queue, executed, str(code.index), descriptors[False], descriptors[True], adds))
        self._complete("%ws", t.let(call(products.asked_for, "%ctx", "%cta", "%ws")))

    def _reaches(self, code: Code, descriptor: str, tile: Tile, of_b: bool, mn_major: bool, number: str) -> None:
        """A fault where shared memory does not have all of a tile."""
        t, program = self.t, self.program
        line, piece = str(tile.first_line), str(tile.first_piece)
        if not of_b:  # the tile is that of the first warp of four
            warp = t.and_("i32", number, WARPGROUP - 1)
            if mn_major:
                piece = t.mul("i32", warp, 2)
            else:
                line = t.mul("i32", warp, 16)
        size = t.trunc("i64", "%shared.size", "i32")
        bad = t.let(
            call(
                first_outside,
                descriptor,
                line,
                str(tile.lines),
                piece,
                str(tile.pieces),
                _boolean(mn_major),
                str(program.shared_start),
                size,
            )
        )
        with t.unless(t.eq("i64", bad, 0), cold=True, to="fault"):
            at = t.add("i64", bad, (S.DESCRIPTOR_B if of_b else 0) - 1)
            self.e.faults.record(S.BAD_DESCRIPTOR, str(code.index), "0", at)

    # -- products are computed -----------------------------------------------------------------------------------------

    def _complete_of_all(self, count: str) -> None:
        """Computes the first `count` products of each warp of the warpgroup, as far as it has begun them."""
        t = self.t
        number = t.get(S.Warp, "warp_id")
        first = t.and_("i32", number, -WARPGROUP)
        behind = t.zext("i32", t.add("i32", first, WARPGROUP), "i64")
        with t.if_then(t.ule("i64", behind, "%warps")):
            back = t.zext("i32", t.and_("i32", number, WARPGROUP - 1), "i64")
            start = t.offset("%ws", t.mul("i64", back, -self.e.registers.file.size))
            for k in range(WARPGROUP):
                self._complete(t.offset(start, k * self.e.registers.file.size), count)

    def _complete(self, warp: str, count: str) -> None:
        """Computes the first `count` products of a warp, as far as it has begun them."""
        name = "wgmma_complete"
        if name not in self.e.helpers:
            self.e.helpers[name] = ""
            self.e.helpers[name] = self._completing(name)
        self.t.call_function("void", name, "ptr %ctx", "ptr %cta", f"ptr {warp}", f"i32 {count}")

    def _completing(self, name: str) -> str:
        """The function that does."""
        t = Text()
        t.declared = self.t.declared
        queue = self._queue(t)
        t.go("next")
        t.at("next")
        code = t.let(call(products.completing_product, queue, "%count"))
        t.branch_by(code, "end", [(c.index, f"code{c.index}") for c in self.codes])
        for c in self.codes:
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
        part = Product(
            whole.a,
            operand_b(whole.b.rows, GROUP, whole.b.type),
            accumulator(16, GROUP, whole.c.type),
            accumulator(16, GROUP, whole.d.type),
            whole.bits,
            whole.packed,
        )
        rows, table, of_a = self._tables(elements(self.program, code), whole, part)
        key = code.form, of.a is None, of.a_mn, of.b_mn, of.negative, None if packed is None else packed.selector
        if key not in self._computed:
            self._computed[key] = name = f"wgmma_compute_{len(self._computed)}"
            self.e.helpers[name] = self._computing(name, code, whole, part, rows)
        return f"{self._computed[key]}(ptr %ctx, ptr %cta, ptr %ws, ptr {table}, ptr {of_a})"

    def _computing(self, name: str, code: Code, whole: Product, part: Product, rows: int) -> str:
        """Such a function. rows: how many registers each product of 8 columns has; `%table`, `%a`: see `_tables`."""
        form, of, packed = code.form, product_operands(code), metadata(self.program, code)
        t = Text()
        t.declared = self.t.declared
        queue = self._queue(t)
        done = t.get(products.Products, "done", queue)
        at = t.zext("i32", t.urem("i32", done, products.IN_FLIGHT), "i64")
        entries = t.field(products.Products, "entries", queue)
        scaled = t.mul("i64", at, products.Begun.size)
        entry = t.offset(entries, scaled)
        shared = t.get(S.Cta, "shared")
        start = str(self.program.shared_start)
        room = t.offset("%ws", self.e.registers.file.fragments)
        behind = t.offset("%ws", self.e.registers.file.fragments + 4 * REGISTER)
        of_b = t.get(products.Begun, "b", entry)
        tile = tile_b(code, of.b_mn)
        columns, pieces = (8 * tile.pieces, tile.lines // 8) if of.b_mn else (tile.lines, tile.pieces)
        t.do(call(fragment_b, shared, start, of_b, _boolean(of.b_mn), str(columns), str(pieces), behind))
        if of.a is not None:
            number = t.get(S.Warp, "warp_id")
            warp = t.and_("i32", number, WARPGROUP - 1)
            row = t.mul("i32", warp, 16)
            of_a = t.get(products.Begun, "a", entry)
            t.do(call(fragment_a, shared, start, of_a, _boolean(of.a_mn), row, str(whole.a.columns), room))
        sign = SIGNS[whole.a.type] if of.negative else 0
        for k in range(whole.a.registers):
            if of.a is not None and not sign:
                break
            at_k = t.offset(room, k * REGISTER)
            if of.a is None:
                place = t.load("i32", t.element("i32", "%a", k))
                source = t.element("i8", "%ws", place, by="i32")
            else:
                source = at_k
            value = t.load(f"<{W} x i32>", source, align=64)
            if sign:
                value = t.xor(f"<{W} x i32>", value, f"splat (i32 {sign - (1 << 32)})")
            t.store(f"<{W} x i32>", value, at_k, align=64)
        scale = t.get(products.Begun, "adds", entry)
        adds = t.ne("i32", scale, 0)
        groups = whole.d.columns // GROUP
        multiply = f"wgmma_part_{form.atype}_{form.btype}_{form.dtype}_{part.b.rows}"
        multiply += "_satfinite" if form.satfinite else ""
        multiply += f"_sparse{packed.selector}" if packed is not None else ""
        if multiply not in self.e.helpers:
            made = product_function(multiply, part, self.t.declared, bool(form.satfinite), packed)
            self.e.helpers[multiply] = made
        with for_each_row(t, "%table", rows, groups) as row:
            unless_added(self.e, t, adds, row, part.d.registers)
            t.call_function("void", multiply, "ptr %ws", f"ptr {row}")
        t.ret()
        return t.function(f"void @{name}(ptr %ctx, ptr %cta, ptr %ws, ptr %table, ptr %a)")

    def _tables(self, held: dict[str, Elements], whole: Product, part: Product) -> tuple[int, str, str]:
        """How many registers each product of 8 columns has, the table of their offsets for all of them, and that of
        the registers of A, where these hold it."""
        vector, room = self.e.registers.file.vector, self.e.registers.file.fragments
        d = [vector[e.index] if isinstance(e, Reg) else SINK for e in held["d"]]
        e = [vector[r.index] for r in held.get("e", ()) if isinstance(r, Reg)]
        a = [room + k * REGISTER for k in range(part.a.registers)]
        rows: list[int] = []
        for group in range(whole.d.columns // GROUP):
            own = d[group * part.d.registers : (group + 1) * part.d.registers]
            first = 4 + group * part.b.registers
            b = [room + (first + k) * REGISTER for k in range(part.b.registers)]
            rows += [*own, *a, *b, *own, *e]
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
        """After a wait for products of `wgmma`."""
        if checks.sync and self.e.registers.file.products:
            from ptxlab.emulate.rules import async_proxy

            products = self.t.offset("%ws", self.e.registers.file.products)
            self.t.do(call(async_proxy.waited, *THERE[1:], str(code.index), products))

    def _tiles_of_product(self, code: Code, checks: Checks) -> After:
        """The tiles that a product of `wgmma` reads; looked at after it, when they are known to be in memory."""
        from ptxlab.emulate.rules import tile_layouts

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
            for descriptor, line, piece, tile, mn_major in tiles:
                for first in range(0, tile.lines * tile.pieces, W):
                    count = min(W, tile.lines * tile.pieces - first)
                    self.t.do(
                        call(
                            piece_offsets,
                            descriptor,
                            line,
                            piece,
                            str(tile.pieces),
                            "true" if mn_major else "false",
                            str(self.program.shared_start),
                            str(first),
                            str(count),
                            "%addrs",
                        )
                    )
                    self._read(code, checks, (1 << count) - 1)
                if checks.sync and self._layouts:
                    self.t.do(
                        call(
                            tile_layouts.product_begins,
                            *THERE,
                            self.active.bits,
                            str(code.index),
                            descriptor,
                            line,
                            str(tile.lines),
                            piece,
                            str(tile.pieces),
                            "true" if mn_major else "false",
                            str(self.program.shared_start),
                        )
                    )

        return look

    def _read(self, code: Code, checks: Checks, lanes: int) -> None:
        """The product reads rows of 16 bytes, one for each of the first lanes; %addrs holds their offsets."""
        mask, rows = checks.placed_rows(code, lanes)
        if checks.sync:
            from ptxlab.emulate.rules.async_proxy import product_reads

            products, start = self._queue(self.t), str(self.program.shared_start)
            self.t.do(call(product_reads, *THERE, mask, "%addrs", rows, start, products))


def _boolean(value: bool) -> str:
    return "true" if value else "false"
