"""Operands: how the semantics of an instruction get their sources, and where their results go."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.emitter.registers import Registers
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, Address, Value, constant
from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Symbol
from ptxlab.isa import types
from ptxlab.isa.convert import unpack


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

    def __init__(self, f: Function, m: LaneMachine, registers: Registers) -> None:
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
        """Writes a result to its destination."""
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
        source, own = code.named[name]
        return self.read(source, type_ or own)

    def address(self, code: Code, name: str) -> Value:
        """The address in a source, as wide as its register."""
        mem, _ = code.named[name]
        assert isinstance(mem, Mem)
        return self.address_in(mem)

    def address_in(self, mem: Mem) -> Value:
        """An address operand."""
        base = self.base(mem)
        return self.m.add(base, self.m.const(base.type, mem.offset))
