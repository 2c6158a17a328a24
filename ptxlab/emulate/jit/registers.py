"""Masks, registers, operands and results: what the semantics of one instruction work on and where they leave it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Accesses, Address
from ptxlab.emulate.jit.analysis import successors
from ptxlab.emulate.jit.atomics import Atomics
from ptxlab.emulate.jit.fields import offset
from ptxlab.emulate.jit.irtext import HELD, W
from ptxlab.emulate.jit.mbarriers import Mbarriers
from ptxlab.emulate.jit.specials import Specials
from ptxlab.emulate.jit.values import BITS, LLVM, Value, constant
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.model import Block, Code, Inverted, Literal, Mem, Program, Reg, Source, Symbol
from ptxlab.emulate.program.model import Group as Elements
from ptxlab.emulate.runtime.faults import unsupported
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import unpack


class Registers(Specials, Atomics, Mbarriers, Accesses):
    """The state of emission within one stretch of code: which lanes run, and which register is which value."""

    slow = False

    def __init__(self, program: Program, uniform: list[bool], alive: list[int], file: S.RegisterFile) -> None:
        super().__init__()
        self.program, self.uniform, self.alive, self.file = program, uniform, alive, file
        self.code = program.codes[0]
        self.guard: Value | None = None
        self.values: dict[int, Value] = {}
        self.dirty: set[int] = set()
        self.mask_bits, self._mask = "", ""

    # -- at the start of the function

    def _fields(self) -> None:
        """Buffers, and what the function keeps at hand of the context, the CTA and the warp."""
        t = self.t
        for buffer, kind in (("addrs", f"<{W} x i64>"), ("data", f"[{W * 8} x i64]"), ("out", f"[{W * 8} x i64]")):
            t.do(f"%{buffer} = alloca {kind}, align 64")
        t.do("%mask.p = alloca i32")
        for record, field, kind in (
            (S.Context, "params", "ptr"), (S.Context, "sites", "ptr"), (S.Context, "counts", "ptr"),
            (S.Context, "warps", "i64"), (S.Cta, "shared", "ptr"), (S.Cta, "shared_size", "i64"),
            (S.Warp, "local", "ptr"),
        ):  # fmt: skip
            self._held(record, field, kind)
        for name, record, field in (
            ("live", S.Warp, "live"), ("wait", S.Warp, "wait"), ("fast.pc", S.Warp, "fast_pc"),
            ("quantum", S.Context, "quantum"), ("carry", S.Warp, "carry"),
            ("pcs", S.Warp, "pc"),
        ):  # fmt: skip
            t.do(f"%{name}.at = getelementptr i8, ptr {HELD[record]}, i64 {offset(record, field)}")

    def _held(self, record: type[Record], field: str, kind: str, name: str = "") -> None:
        """Loads a field when the function begins, as `%field`; underscores become dots."""
        name = name or field.replace("_", ".")
        self.t.do(f"%{name}.p = getelementptr i8, ptr {HELD[record]}, i64 {offset(record, field)}")
        self.t.do(f"%{name} = load {kind}, ptr %{name}.p")

    # -- which lanes run

    def begin(self, block: Block, last: int, bits: str) -> None:
        """At a label: nothing is known but the lanes that run, up to the code index `last`."""
        self.values, self.dirty, self._mixed_addresses = {}, set(), {}
        self.forget_splats()
        self._block_bits = bits
        self._block_mask = self.t.let(f"bitcast i32 {bits} to <{W} x i1>")
        self.mask_bits, self._mask = bits, self._block_mask

    def executions(self, block: int) -> str:
        """A pointer to how often a block has run."""
        return self.t.let(f"getelementptr i8, ptr %counts, i64 {S.Executions.size * block}")

    def count(self, block: Block, bits: str) -> None:
        """Executions of this block, by warps and by threads; and the quantum."""
        t = self.t
        executions = self.executions(block.index)
        t.bump(t.field(S.Executions, "warps", executions), "add i64", "1")
        lanes = t.let(f"zext i32 {t.call('i32', 'llvm.ctpop.i32', [('i32', bits)])} to i64")
        t.bump(t.field(S.Executions, "threads", executions), "add i64", lanes)
        t.bump("%quantum.at", "sub i64", str(block.last - block.first))

    def mask_vector(self) -> str:
        return self._mask

    def apply_guard(self, code: Code) -> None:
        """Narrows the mask to the lanes whose guard holds."""
        self.guard = None
        self.mask_bits, self._mask = self._block_bits, self._block_mask
        if code.guard is None:
            return
        held = self.read_register(code.guard[0])
        if code.guard[1]:
            held = self.not_(held)
        self.guard = held
        if held.uniform:
            self.mask_bits = self.t.let(f"select i1 {held.text}, i32 {self._block_bits}, i32 0")
        else:
            bits = self.t.let(f"bitcast <{W} x i1> {held.text} to i32")
            self.mask_bits = self.t.let(f"and i32 {bits}, {self._block_bits}")
        self._mask = self.t.let(f"bitcast i32 {self.mask_bits} to <{W} x i1>")

    def active(self) -> Value:
        return Value(self._mask, "i1", False)

    # -- registers -----------------------------------------------------------------------------------------------------

    def read_register(self, r: int) -> Value:
        found = self.values.get(r)
        if found is None:
            lane = self.program.registers[r].lane
            scalar = self.uniform[r] and not self.slow
            at = self.file.scalar[r] if scalar else self.file.vector[r]
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {at}")
            if lane == "i1":
                if scalar:
                    text = self.t.let(f"icmp ne i8 {self.t.let(f'load i8, ptr {p}')}, 0")
                else:
                    text = self.t.let(f"bitcast i32 {self.t.let(f'load i32, ptr {p}')} to <{W} x i1>")
            else:
                ty = LLVM[lane] if scalar else f"<{W} x {LLVM[lane]}>"
                text = self.t.let(f"load {ty}, ptr {p}, align {8 if scalar else 64}")
            found = self.values[r] = Value(text, lane, scalar)
        return found

    def write_register(self, r: int, value: Value) -> None:
        """A write: in lanes that do not execute, the old value stays."""
        if self.slow:
            value = self.select(Value(self._mask, "i1", False), value, self.read_register(r))
        elif self.guard is not None:
            value = self.select(self.guard, value, self.read_register(r))
        self.values[r] = value
        self.dirty.add(r)

    def flush(self, alive: int) -> None:
        """Stores those changed registers that are alive later, a bit set."""
        for r in sorted(self.dirty):
            if not alive >> r & 1:
                continue
            value, lane = self.values[r], self.program.registers[r].lane
            if self.uniform[r] and not self.slow:
                assert value.uniform, (self.program.registers[r], value)
                p = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.scalar[r]}")
                text = self.t.let(f"zext i1 {value.text} to i8") if lane == "i1" else value.text
                self.t.do(f"store {'i8' if lane == 'i1' else value.llvm} {text}, ptr {p}, align 8")
                continue
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.vector[r]}")
            vector = self.vector(value)
            if lane == "i1":
                self.t.do(f"store i32 {self.t.let(f'bitcast <{W} x i1> {vector} to i32')}, ptr {p}")
            else:
                self.t.do(f"store <{W} x {LLVM[lane]}> {vector}, ptr {p}, align 64")
        self.dirty.clear()

    # -- operands and results ------------------------------------------------------------------------------------------

    def _read(self, source: Source | None, type_: str) -> Any:
        if source is None:
            return None
        if isinstance(source, Mem):
            return Address(self._base(source), source.offset)
        if isinstance(source, Elements):
            element = self._element_type(type_, len(source.elements))
            return tuple(self._read(e, element) for e in source.elements)
        if isinstance(source, Literal):
            if type_ == "int":
                return source.value
            if type_ == "any":
                type_ = "b64" if source.kind == "int" else source.kind
            return self._immediate(source, types.lane(type_), type_)
        if isinstance(source, Inverted):
            return self.not_(self.read_register(source.operand.index))
        if isinstance(source, Symbol):
            return self.const(types.lane(type_), source.value)
        value = self.read_register(source.index) if isinstance(source, Reg) else self.special(source.name)
        if type_ == "vec":
            assert self.code.form is not None
            type_ = str(self.code.form.type)
        return value if type_ in ("any", "int") else self._resize(value, types.lane(type_), signed=False)

    def _immediate(self, source: Literal, lane: str, type_: str) -> Value:
        """An immediate as an operand; `0f` literals keep every bit, NaN payloads included."""
        if source.kind == lane:
            bits = np.uint32(source.bits) if lane == "f32" else np.uint64(source.bits)
            return constant(np.full(W, bits).view(np.float32 if lane == "f32" else np.float64), lane)
        return self.const(lane, source.as_type(type_))

    def _element_type(self, type_: str, count: int) -> str:
        """The type of one of `count` elements: `.v4.f32` holds f32, `{a, b}` of a b64 holds b32."""
        form = self.code.form
        assert form is not None
        if form.op.kind == "warp" or type_ == "any":
            return "any"
        if type_ == "vec" or form.vec:
            return str(form.type)
        return f"b{types.width(type_) // count}"

    def _base(self, mem: Mem) -> Value:
        if isinstance(mem.base, Reg):
            return self.read_register(mem.base.index)
        return self.const("i32" if self.code.space == "shared" else "i64", int(mem.base.value))

    def _resize(self, value: Value, lane: str, *, signed: bool) -> Value:
        """A value as another lane type: reinterpreted at the same width, cut or extended otherwise."""
        have, want = BITS[value.type], BITS[lane]
        if value.type == lane:
            return value
        if have == want:
            return self.bitcast(lane, value)
        as_int = value if value.type[0] == "i" else self.bitcast(f"i{have}", value)
        target = f"i{want}"
        if have > want:
            cut = self.trunc(target, as_int)
        else:
            cut = self.sext(target, as_int) if signed else self.zext(target, as_int)
        return cut if lane == target else self.bitcast(lane, cut)

    def _write(self, dest: Reg | Elements | None, type_: str, result: Any) -> None:
        if dest is None or result is None:
            return
        if isinstance(dest, Elements):
            if not isinstance(result, tuple):  # `mov.b64 {a, b}, c`
                result = unpack(self, type_, len(dest.elements), result)
            element_type = self._element_type(type_, len(dest.elements))
            for element, part in zip(dest.elements, result, strict=True):
                if isinstance(element, Reg):
                    self._write(element, element_type, part)
            return
        lane = self.program.registers[dest.index].lane
        if type_ == "vec":
            assert self.code.form is not None
            type_ = str(self.code.form.type)
        signed = type_ in types.WIDTH and types.is_signed(type_)
        self.write_register(dest.index, self._resize(result, lane, signed=signed))

    def plain(self, code: Code) -> None:
        if code.copy is not None:
            self._copy(*code.copy)
            return
        if code.action is Action.TAKE_REDUCED:
            self.reduced(code)
            return
        assert code.form is not None
        sem = code.form.op.sem
        if code.form.op.kind in ("none", "flow"):  # no effect on results; `bar.warp.sync` of a warp that is together
            return
        if code.form.op.kind == "warp":
            self.matrix(code)
            return
        if code.form.op.kind == "async":
            (self.mbarrier if code.properties.mbarrier else self.asynchronous)(code)
            return
        if sem is None:
            raise unsupported(self.program, code)
        sources = [self._read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        result = sem(self, code.form, *sources)
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self._write(dest, type_, r)

    def reduced(self, code: Code) -> None:
        """Behind `bar.red`: what the barrier found goes into the destination."""
        form = code.form
        assert form is not None
        yes, asked = self._field(S.Warp, "yes", "i32"), self._field(S.Warp, "asked", "i32")
        if form.operation == "popc":
            result = yes
        elif form.operation == "and":
            result = self.eq(yes, asked)
        else:
            result = self.ne(yes, self.const("i32", 0))
        self._write(code.dests[0], code.dest_types[0], result)

    def _copy(self, source: int, dest: int, size: int) -> None:
        """Arguments and results of a call, from frame to frame in every lane."""
        each = self.program.local_stride
        lanes = "<" + ", ".join(f"i64 {k * each}" for k in range(W)) + ">"
        at = 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            pointers = []
            for frame in (source, dest):
                base = self.t.let(f"getelementptr i8, ptr %local, i64 {frame + at}")
                pointers.append(self.t.let(f"getelementptr i8, ptr {base}, <{W} x i64> {lanes}"))
            value = self._gather(f"i{8 * step}", pointers[0])
            self._scatter(f"i{8 * step}", pointers[1], value.text)
            at += step

    def alive_after(self, block: Block) -> int:
        """The registers that any block after this one may read."""
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.alive[successor]
        return alive

    def pc(self, block: int) -> int:
        """The program counter of a block's start."""
        return 2 * self.program.blocks[block].first if block >= 0 else 0
