"""Instructions that compute: how the semantics of the table get their operands, and run on the operations of lanes."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, cast

import numpy as np

from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.emitter.lane_operations import LaneOps
from ptxlab.emulate.jit.emitter.registers import Registers
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value, constant
from ptxlab.emulate.jit.llvm.wide_operations import WideOps
from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import unpack
from ptxlab.isa.machine import Machine

LONG = frozenset(
    {Action.MINIMUM, Action.MAXIMUM, Action.CONVERT, Action.DIVIDE, Action.EXPONENTIAL, Action.SPECIAL_FUNCTION}
)
"""Actions that may take many instructions of LLVM and need their operands only. In tier 0 each is a call of a
function: maxima, conversions and powers of two made up half of the code of `pipelined`, and half of its build time."""
OFTEN, LARGE = 4, 8
"""Such an instruction is a call if a program has at least `OFTEN` of it and it takes `LARGE` instructions of LLVM."""
OUTLINED = 64
"""Powers of two, forty instructions of LLVM each, from which on they are calls in tier 1 too."""


def resized(m: Ops, value: Value, lane: str, *, signed: bool) -> Value:
    """A value as another lane type: reinterpreted at the same width, else truncated or extended."""
    have, want = BITS[value.type], BITS[lane]
    if value.type == lane:
        return value
    if have == want:
        return m.bitcast(lane, value)
    as_int = value if value.type[0] == "i" else m.bitcast(f"i{have}", value)
    target = f"i{want}"
    if have > want:
        cut = m.trunc(target, as_int)
    else:
        cut = m.sext(target, as_int) if signed else m.zext(target, as_int)
    return cut if lane == target else m.bitcast(lane, cut)


class Operands:
    """Operands of the instruction that is being emitted."""

    def __init__(self, f: Function, m: LaneOps, registers: Registers) -> None:
        self.f, self.m, self.registers, self.program = f, m, registers, f.program

    def read(self, source: Source | None, type_: str) -> Any:
        """A source as an argument of semantics: a value, a tuple of them, an `Address`, an int or None."""
        if source is None:
            return None
        if isinstance(source, Mem):
            return Address(self.base(source), source.offset)
        if isinstance(source, Group):
            element = self.f.code.element_type(type_, len(source.elements))
            return tuple(self.read(e, element) for e in source.elements)
        if isinstance(source, Literal):
            if type_ == "int":
                return source.value
            if type_ == "any":
                type_ = "b64" if source.kind == "int" else source.kind
            return self._immediate(source, types.lane(type_), type_)
        if isinstance(source, Inverted):
            return self.m.not_(self.registers.read(source.operand.index))
        if isinstance(source, Symbol):
            return self.m.const(types.lane(type_), source.value)
        value = self.registers.read(source.index) if isinstance(source, Reg) else self.m.special(source.name)
        if type_ == "vec":
            type_ = str(self.f.code.form.type)
        return value if type_ in ("any", "int") else resized(self.m, value, types.lane(type_), signed=False)

    def _immediate(self, source: Literal, lane: str, type_: str) -> Value:
        """An immediate as an operand; `0f` literals keep every bit, NaN payloads included."""
        if source.kind == lane:
            bits = np.uint32(source.bits) if lane == "f32" else np.uint64(source.bits)
            return constant(np.full(W, bits).view(np.float32 if lane == "f32" else np.float64), lane)
        return self.m.const(lane, source.as_type(type_))

    def base(self, mem: Mem) -> Value:
        """The base of an address: a register's value, or a constant."""
        if isinstance(mem.base, Reg):
            return self.registers.read(mem.base.index)
        return self.m.const("i32" if self.f.code.space == "shared" else "i64", int(mem.base.value))

    def write(self, dest: Reg | Group | None, type_: str, result: Any) -> None:
        if dest is None or result is None:
            return
        if isinstance(dest, Group):
            if not isinstance(result, tuple):  # `mov.b64 {a, b}, c`
                result = unpack(self.m, type_, len(dest.elements), result)
            element_type = self.f.code.element_type(type_, len(dest.elements))
            for element, part in zip(dest.elements, result, strict=True):
                if isinstance(element, Reg):
                    self.write(element, element_type, part)
            return
        lane = self.program.registers[dest.index].lane
        if type_ == "vec":
            type_ = str(self.f.code.form.type)
        signed = type_ in types.WIDTH and types.is_signed(type_)
        self.registers.write(dest.index, resized(self.m, result, lane, signed=signed))

    def read_named(self, code: Code, name: str, type_: str = "") -> Any:
        """The value of a source, by its name in the instruction's syntax."""
        source, given = code.named[name]
        return self.read(source, type_ or given)

    def address(self, code: Code, name: str) -> Value:
        """The address in a source, as wide as its register."""
        mem, _ = code.named[name]
        assert isinstance(mem, Mem)
        base = self.base(mem)
        return self.m.add(base, self.m.const(base.type, mem.offset))


class Semantics:
    """Instructions that only compute, and what else has semantics in the table."""

    def __init__(self, f: Function, m: LaneOps, operands: Operands) -> None:
        self.f, self.t, self.m, self.operands, self.program = f, f.t, m, operands, f.program
        self.called: dict[str, str | None] = {}
        """The type that the function of an instruction returns, by its name; None where it has none."""

    def emit(self, code: Code) -> None:
        sem, operands = code.form.op.sem, self.operands
        if sem is None:
            raise unsupported(self.program, code)
        sources = [operands.read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        called = self._called(code, sources) if self._outlined(code) else None
        self.results(code, sem(self.m, code.form, *sources) if called is None else called)

    @functools.cached_property
    def _uses(self) -> Counter[str]:
        """How often the program has each instruction that may be a call."""
        return Counter(code.form.opcode for code in self.program.codes if code.action in LONG)

    def _outlined(self, code: Code) -> bool:
        """Whether an instruction is a call, if its function is large enough."""
        if self.f.small:
            return code.action in LONG and self._uses[code.form.opcode] >= OFTEN
        return code.action is Action.EXPONENTIAL and self._uses[code.form.opcode] > OUTLINED

    def _called(self, code: Code, sources: list[Any]) -> Value | None:
        """The result of an instruction by a call of a function that computes it for all lanes; None where it is the
        same in all lanes, or shorter than the call."""
        given = [s for s in sources if s is not None]
        if not all(isinstance(s, Value) for s in given) or all(s.uniform for s in given):
            return None
        name = ".".join(["lanes", code.form.opcode.replace("::", "."), *("" if s is None else s.type for s in sources)])
        if name not in self.called:
            self.called[name] = self._function(name, code, sources)
        returned = self.called[name]
        if returned is None:
            return None
        vectors = (f"<{W} x {LLVM[s.type]}> {self.m.vector(s)}" for s in given)
        return Value(self.t.call_function(f"<{W} x {LLVM[returned]}>", name, *vectors), returned, False)

    def _function(self, name: str, code: Code, sources: list[Any]) -> str | None:
        """Writes such a function and gives the type of what it returns; None where that is not worth it."""
        sem, t = code.form.op.sem, Text()
        operations = WideOps(t)
        operations.features, operations.functions = self.m.features, self.f.helpers
        assert sem is not None, f"{code.form.opcode} has no semantics to call"
        values = [None if s is None else Value(f"%a{k}", s.type, False) for k, s in enumerate(sources)]
        result = sem(cast(Machine, operations), code.form, *values)
        if not isinstance(result, Value) or len(t.lines) < LARGE:
            return None
        listed = ", ".join(f"{v.llvm} {v.text}" for v in values if v is not None)
        t.ret(result.llvm, result.text)
        self.t.declared |= t.declared
        self.f.helpers[name] = t.function(f"{result.llvm} @{name}({listed})", "noinline nounwind")
        return result.type

    def results(self, code: Code, result: Any) -> None:
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self.operands.write(dest, type_, r)
