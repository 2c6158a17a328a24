"""Matrix instructions as the compiling engine sees them: a call of a function that the form's instructions share.

The functions find registers in the warp's state. So what is about to be read is stored there, and what was written is
read from there when it is next needed: sums that go from one `mma` into the next never leave their place. All 32 lanes
must be there; where the warp has split, the slow function brings them together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit import tiles
from ptxlab.emulate.jit.access import COLD, Accesses
from ptxlab.emulate.jit.fields import offset
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.products import has_dots, product_function
from ptxlab.emulate.jit.values import LLVM, Value
from ptxlab.emulate.program.matrix_operands import Elements, bits_of, elements, metadata
from ptxlab.emulate.program.model import Code, Literal, Mem, Reg, Source
from ptxlab.emulate.runtime.memory import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import fragments, types
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form

SPARE = tuple(offset(S.Warp, row) for row in ("offered.0", "offered.1", "offered.2", "given.0", "given.1"))
"""Where literal operands go: what lanes bring to an exchange lies there, and while all lanes are here there is none."""
SINK = offset(S.Warp, "given.2")
"""Where the sink `_` is written to."""


class Matrices(Accesses):
    """The matrix half of a block's emitter."""

    slow: bool
    uniform: list[bool]
    values: dict[int, Value]
    dirty: set[int]
    file: S.RegisterFile
    guard: Value | None
    tables: list[str]
    helpers_needed: dict[str, str]
    features = ""
    """The CPU's, as LLVM writes them; set by who makes the emitter."""
    _whole = ""
    _stretch = ""
    """The lanes' mask where the products began that these two are about: registers that they left, the last one's A."""
    _left: frozenset[int] = frozenset()
    _last_a: Elements = ()

    def matrix(self, code: Code) -> None:
        """An instruction of kind "warp"."""
        form = code.form
        assert form is not None
        held = elements(self.program, code)
        sources, dests = ([n for n in held if (n == "d") == is_dest] for is_dest in (False, True))
        literals: dict[int, int] = {}
        for name in sources:
            self._settle(held[name], literals, fragments.operands(form)[name].width)
        written = [e.index for name in dests for e in held[name] if isinstance(e, Reg)]
        table = self._table(
            [self._offset(e, literals, fragments.operands(form)[n].width) for n in dests + sources for e in held[n]]
        )
        prepared = self._prepare(code, form)
        skip = self._all_here(code, written)
        prepared(table)
        for r in written:
            self.values.pop(r, None)
            self.dirty.discard(r)
            self._changed(r)
        if "a" in held and "c" in held and has_dots(fragments.product(form), self.features):
            self._left = self._left.union(written)
            overwritten = any(isinstance(e, Reg) and e.index in written for e in held["a"])
            self._last_a = () if overwritten else held["a"]
        if skip:
            self.t.do(f"br label %{skip}")
            self.t.at(skip)
            self.thaw_splats()

    # -- operands ------------------------------------------------------------------------------------------------------

    def _settle(self, operands: Elements, literals: dict[int, int], width: int) -> None:
        """The state holds what these registers hold."""
        for e in operands:
            if isinstance(e, Reg):
                self._settle_register(e.index)
            elif isinstance(e, Literal) and bits_of(e, width) not in literals:
                if len(literals) == len(SPARE):
                    raise UnsupportedInstruction(
                        f"the compiled CPU machine takes {len(SPARE)} different numbers in one matrix instruction; "
                        "put more of them into registers", line=self.code.line,
                        source=self.program.source(self.code.line), file=self.program.file,
                    )  # fmt: skip
                at = literals[bits_of(e, width)] = SPARE[len(literals)]
                p = self.t.let(f"getelementptr i8, ptr %ws, i64 {at}")
                self.t.do(f"store <{W} x i{width}> splat (i{width} {bits_of(e, width)}), ptr {p}, align 64")

    def _settle_register(self, r: int) -> None:
        lane = self.program.registers[r].lane
        scalar = self.uniform[r] and not self.slow
        if r in self.dirty or scalar:
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.vector[r]}")
            value = self.vector(self.read_register(r))
            self.t.do(f"store <{W} x {LLVM[lane]}> {value}, ptr {p}, align 64")
            self._changed(r)
            if not scalar:
                self.dirty.discard(r)

    def _changed(self, r: int) -> None:
        """A register holds something else than an earlier product had as its A or left as its sum."""
        self._left = self._left - {r}
        if any(isinstance(e, Reg) and e.index == r for e in self._last_a):
            self._last_a = ()

    def _known(self, held: dict[str, Elements]) -> int:
        """What a bf16 product is told about its operands (see `products`), which lie in the warp's state by now."""
        if self._stretch != self._block_bits or self.code.guard is not None:
            self._stretch = self._block_bits if self.code.guard is None else ""
            self._left, self._last_a = frozenset(), ()
            return 4
        same_a = self._last_a == held["a"]
        left_c = all(isinstance(e, Reg) and e.index in self._left for e in held["c"])
        return int(same_a) | int(left_c) << 1

    def _offset(self, e: Source | None, literals: dict[int, int], width: int) -> int:
        if isinstance(e, Reg):
            return self.file.vector[e.index]
        return literals[bits_of(e, width)] if isinstance(e, Literal) else SINK

    def _table(self, offsets: Iterable[int]) -> str:
        """A constant table, shared by all instructions with the same registers."""
        listed = [f"i32 {x}" for x in offsets]
        text = f"internal constant [{len(listed)} x i32] [{', '.join(listed)}]"
        name = f"@registers.{'slow' if self.slow else 'fast'}."
        for known in self.tables:
            if known.startswith(name) and known.endswith(f" = {text}"):
                return known.partition(" ")[0]
        name += str(len(self.tables))
        self.tables.append(f"{name} = {text}")
        return name

    # -- who is here ---------------------------------------------------------------------------------------------------

    def _all_here(self, code: Code, written: list[int]) -> str:
        """Goes on when all 32 lanes execute this; else it is a fault, but for a guard that holds nowhere: then to the
        label that is returned."""
        t = self.t
        if code.guard is None:
            if self._whole != self.mask_bits:
                self.all_or_fault(code, "")
                self._whole = self.mask_bits
            return ""
        for r in written:  # where this is skipped they stay what they are
            if r in self.dirty:
                self._settle_register(r)
        skip, some = t.label("skip"), t.label("some")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{skip}, label %{some}")
        t.at(some)
        self.freeze_splats()
        self.all_or_fault(code, self._block_bits)
        return skip

    def all_or_fault(self, code: Code, without_guard: str) -> None:
        """A fault unless all lanes are in the mask; `without_guard` are the lanes that came here."""
        t = self.t
        fine, wrong = t.label("fine"), t.label("wrong")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, -1')}, label %{fine}, label %{wrong}, {COLD}")
        t.at(wrong)
        wide = t.let(f"zext i32 {self.mask_bits} to i64")
        if without_guard:
            by_guard = t.let(f"icmp ne i32 {self.mask_bits}, {without_guard}")
            flag = t.let(f"select i1 {by_guard}, i64 {1 << 32}, i64 0")
            wide = t.let(f"or i64 {wide}, {flag}")
        self.record(S.INCOMPLETE, str(code.index), "0", wide)
        t.do("br label %fault")
        t.at(fine)

    # -- the calls -----------------------------------------------------------------------------------------------------

    def _prepare(self, code: Code, form: Form) -> Callable[[str], None]:
        """Reads what else the instruction needs; gives what makes the call, once it is known that it is to be made."""
        name = "_".join(w.replace("::", "_") for w in form.opcode.split(".") if w not in ("sync", "aligned"))
        if code.action is Action.TRANSPOSE:
            self.helpers_needed.setdefault(name, tiles.movmatrix(name))
            return lambda table: self.t.do(f"call void @{name}(ptr %ws, ptr {table})")
        if code.properties.rows:
            return self._rows(form, name)
        if code.properties.touches:
            return self._wmma_access(code, form, name)
        packed = metadata(self.program, code)
        if packed is not None:
            name += f"_{packed.selector}"
        if name not in self.helpers_needed:
            self.helpers_needed[name] = product_function(
                name, fragments.product(form), self.t.declared, bool(form.satfinite), self.features, packed
            )
        more = ""
        if has_dots(fragments.product(form), self.features):
            more = f", i32 {self._known(elements(self.program, code))}"
        return lambda table: self.t.do(f"call void @{name}(ptr %ws, ptr {table}{more})")

    def _source(self, code: Code, name: str) -> int:
        assert code.form is not None
        return [s.name for s in code.form.op.operands if s.role != "dst"].index(name)

    def _rows(self, form: Form, name: str) -> Callable[[str], None]:
        t, stores = self.t, form.properties.stores
        if name not in self.helpers_needed:
            f = next(iter(fragments.operands(form).values()))
            self.helpers_needed[name] = tiles.rows(name, f, t.declared, stores=stores)
        code = self.code
        mem = code.sources[self._source(code, "a")]
        assert isinstance(mem, Mem)
        offset, held = -self.program.shared_start, -1
        if isinstance(mem.base, Reg) and code.space == "shared" and (self.slow or not self.uniform[mem.base.index]):
            held = mem.base.index if self.program.registers[mem.base.index].lane == "i32" else -1
        at: Value | None = None
        if held >= 0:  # the addresses are taken from where the register lies
            self._settle_register(held)
            where = t.let(f"getelementptr i8, ptr %ws, i64 {self.file.vector[held]}")
            offset += mem.offset
        else:
            where, base = "%addrs", self._base(mem)
            at = self.add(base, self.const(base.type, mem.offset))
            t.do(f"store <{W} x i32> {self.vector(self._in_shared(at))}, ptr %addrs, align 64")

        def call(table: str) -> None:
            bad = t.let(
                f"call i32 @{name}(ptr %ws, ptr {table}, ptr {where}, i32 {offset}, ptr %shared, i64 %shared.size)"
            )
            if at is not None:
                self._branch_to_fault(bad, at)
                return
            fine, wrong = t.label("fine"), t.label("wrong")
            t.do(f"br i1 {t.let(f'icmp eq i32 {bad}, 0')}, label %{fine}, label %{wrong}, {COLD}")
            t.at(wrong)
            lane = t.call("i32", "llvm.cttz.i32", [("i32", bad), ("i1", "false")])
            p = t.let(f"getelementptr i32, ptr {where}, i32 {lane}")
            address = t.let(f"add i32 {t.let(f'load i32, ptr {p}')}, {mem.offset}")
            self.record(S.OUT_OF_MEMORY_RANGE, str(code.index), lane, t.let(f"zext i32 {address} to i64"))
            t.do("br label %fault")
            t.at(fine)

        return call

    def _in_shared(self, at: Value) -> Value:
        """An address as one in shared memory; the last of them where it is elsewhere, which no row fits into."""
        if at.type == "i32":
            return at
        return self.trunc("i32", self.select(self._in_reach(at), self._offset_in(at), self.const("i64", 0xFFFFFFFF)))

    def _offset_in(self, at: Value) -> Value:
        """How far a 64-bit address lies behind where shared memory begins, whichever way it is written."""
        if self.code.space != "generic":
            return at
        above = self.sub(at, self.const("i64", SHARED_WINDOW))
        return self.select(self.ult(above, self.const("i64", WINDOW_SIZE)), above, at)

    def _in_reach(self, at: Value) -> Value:
        """i1: whether a 64-bit address can be one of shared memory."""
        return self.ult(self._offset_in(at), self.const("i64", 1 << 31))

    def _wmma_access(self, code: Code, form: Form, name: str) -> Callable[[str], None]:
        t, stores = self.t, form.matrix == "d"
        ((_, f),) = fragments.operands(form).items()
        layout = str(form.layout)
        if name not in self.helpers_needed:
            self.helpers_needed[name] = tiles.wmma(name, f, layout, stores=stores)
        address = self._read(code.sources[self._source(code, "a")], "addr")
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.add(base, self.const("i64", address.offset))
        k = self._source(code, "stride")
        given = self._read(code.sources[k], "u32")
        stride = self.zext("i64", given) if given is not None else None
        each = self.const("i64", types.width(form.type))
        default = f.columns if layout == "row" else f.rows

        def call(table: str) -> None:
            for value in (at, stride):
                self._same(code, value)
            step = str(default * f.bits // 8)
            if stride is not None:
                step = self.lshr(self.mul(self._lane_0(stride), each), self.const("i64", 3)).text
            result = t.let(
                f"call i32 @{name}(ptr %ws, ptr {table}, ptr %ctx, ptr %cta, i64 {self._lane_0(at).text}, i64 {step}, "
                f"i32 {S.SPACES[code.space]}, i32 {code.index})"
            )
            fine = t.label("fine")
            t.do(f"br i1 {t.let(f'icmp eq i32 {result}, 0')}, label %{fine}, label %fault")
            t.at(fine)

        return call

    def _lane_0(self, value: Value) -> Value:
        if value.uniform:
            return value
        return Value(self.t.let(f"extractelement {value.llvm} {value.text}, i64 0"), value.type, True)

    def _same(self, code: Code, value: Value | None) -> None:
        """A fault where a lane has another value than lane 0."""
        if value is None or value.uniform:
            return
        t = self.t
        first = self.vector(self._lane_0(value))
        other = t.let(f"icmp ne {value.llvm} {value.text}, {first}")
        bits = t.let(f"bitcast <{W} x i1> {other} to i32")
        fine, wrong = t.label("fine"), t.label("wrong")
        t.do(f"br i1 {t.let(f'icmp eq i32 {bits}, 0')}, label %{fine}, label %{wrong}, {COLD}")
        t.at(wrong)
        lane = t.call("i32", "llvm.cttz.i32", [("i32", bits), ("i1", "false")])
        self.record(S.DISAGREE, str(code.index), lane, "0")
        t.do("br label %fault")
        t.at(fine)

    # -- provided by the block's emitter -------------------------------------------------------------------------------

    _block_bits: str

    def read_register(self, r: int) -> Value:
        """The value of a register."""
        raise NotImplementedError

    def _base(self, mem: Mem) -> Value:
        raise NotImplementedError

    def _read(self, source: Source | None, type_: str) -> Any:
        raise NotImplementedError
