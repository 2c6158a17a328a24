"""How steps of the interpreter reach their operands: functions that read and write them, conversions chosen.

Constants and addresses of variables get registers of their own after the program's, so that most operands are a plain
`regs[n]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.step.lanes import SIGNED, constant
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa import types
from ptxlab.isa.convert import unpack
from ptxlab.isa.machine import Value

Step = Callable[[Warp], int | None]
Read = Callable[[Warp], Any]
Write = Callable[[Warp, Any], None]
Product = Callable[[Warp, int, int, bool], None]


class Translator:
    """The base of the steps of one program, and what they share: exchanges of data between lanes, products."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants: list[Value] = []
        self.exchanges: dict[int, tuple[list[Read], Write]] = {}
        self.synced: dict[int, Callable[[Warp, np.ndarray], None]] = {}  # checks of lanes that have synchronized
        self.products: dict[int, Product] = {}
        self.instrument: Callable[..., Step] = lambda code, step, *others: step  # what initcheck follows
        self._known: dict[tuple[str, Any], int] = {}
        self.following = [k + 1 for k in range(len(program.codes))]
        for block in program.blocks:
            self.following[block.last - 1] = program.blocks[block.next].first if block.next >= 0 else -1

    def named(self, code: Code) -> dict[str, Read]:
        return {name: self.read(source, type_, code) for name, (source, type_) in code.named.items()}

    def readers(self, code: Code) -> list[Read]:
        return [self.read(s, t, code) for s, t in zip(code.sources, code.source_types, strict=True)]

    def members(self, code: Code) -> Read | None:
        """Reads the member mask of a `.sync` instruction that exchanges data between lanes."""
        source, type_ = code.named.get("membermask", (None, ""))
        return None if source is None else self.read(source, type_, code)

    def constant(self, lane: str, value: int | float, bits: int | None = None) -> int:
        """The register that holds a constant; a float may be given by its bits, which keeps the payload of a NaN."""
        key = (lane, repr(value) if bits is None else bits)
        if key not in self._known:
            self._known[key] = len(self.program.registers) + len(self.constants)
            array = constant(lane, value) if bits is None else constant(f"i{lane[1:]}", bits).view(DTYPE[lane])
            self.constants.append(array)
        return self._known[key]

    def direct(self, source: Source | None, type_: str) -> int | None:
        """The register that an operand is read from without a conversion, if there is one."""
        if type_ == "int" or type_ == "vec":
            return None
        if isinstance(source, Reg):
            lane = self.program.registers[source.index].lane
            return source.index if type_ == "any" or lane == types.lane(type_) else None
        if isinstance(source, Literal) and type_ != "any":
            exact = source.bits if source.kind == types.lane(type_) else None
            return self.constant(types.lane(type_), source.as_type(type_), exact)
        if isinstance(source, Symbol) and type_ != "any" and types.lane(type_) in ("i32", "i64"):
            return self.constant(types.lane(type_), source.value)
        return None

    def read(self, source: Source | None, type_: str, code: Code) -> Read:
        """A function that reads a source operand as the lane type of a PTX type."""
        if source is None:
            return lambda w: None
        if isinstance(source, Mem):
            return self._address(source)
        if isinstance(source, Group):
            return self._group(source, type_, code)
        if type_ == "int" and isinstance(source, Literal):
            number = int(source.value)
            return lambda w: number
        if type_ == "vec":
            type_ = code.form.type
        direct = self.direct(source, type_)
        if direct is not None:
            return lambda w: w.regs[direct]
        if isinstance(source, Reg):
            change = conversion(self.program.registers[source.index].lane, types.lane(type_), signed=False)
            index = source.index
            return lambda w: change(w.regs[index])
        if isinstance(source, Special):
            return self._special(source.name, type_)
        if isinstance(source, Inverted):
            index = source.operand.index
            return lambda w: ~w.regs[index]
        if isinstance(source, Literal):
            number = self.constant("i64" if source.kind == "int" else source.kind, source.value)
            return lambda w: w.regs[number]
        raise TypeError(f"cannot read {source} as {type_} in line {code.line}")

    def _special(self, name: str, type_: str) -> Read:
        lane = None if type_ == "any" else types.lane(type_)

        def read(w: Warp) -> Value:
            value = w.special(name)
            return value if lane is None or value.dtype == DTYPE[lane] else value.astype(DTYPE[lane])

        return read

    def _group(self, group: Group, type_: str, code: Code) -> Read:
        element = code.element_type(type_, len(group.elements))
        readers = [self.read(e, element, code) for e in group.elements]
        return lambda w: tuple([r(w) for r in readers])

    def _address(self, mem: Mem) -> Read:
        if not isinstance(mem.base, Reg):
            start = mem.base.value
            number = self.constant("i64", int(start) + mem.offset)
            return lambda w: w.regs[number]
        index = mem.base.index
        if not mem.offset:
            return lambda w: w.regs[index]
        lane = self.program.registers[index].lane
        offset = self.constants[self.constant(lane, mem.offset) - len(self.program.registers)]
        return lambda w: w.regs[index] + offset

    def direct_dest(self, code: Code) -> int | None:
        if len(code.dests) != 1 or not isinstance(code.dests[0], Reg):
            return None
        index, type_ = code.dests[0].index, code.dest_types[0]
        if type_ == "vec":
            type_ = code.form.type
        return index if type_ == "any" or self.program.registers[index].lane == types.lane(type_) else None

    def write(self, code: Code) -> Write:
        """A function that writes the results of the semantics to the destination registers of the active lanes."""
        writers: list[Write | None] = []
        for dest, type_ in zip(code.dests, code.dest_types, strict=True):
            if isinstance(dest, Group):
                element = code.element_type(type_, len(dest.elements))
                inner = [e if e is None else self._register_writer(e, element, code) for e in dest.elements]
                writers.append(_each(inner) if element in ("any", type_) or type_ == "vec" else _taken(inner, type_))
            elif dest is None:
                writers.append(None)
            else:
                writers.append(self._register_writer(dest, type_, code))
        if not writers:
            return lambda w, value: None
        if len(writers) == 1:
            return writers[0] or (lambda w, value: None)
        pair = _each(writers)
        first = writers[0]

        def write(w: Warp, value: Any) -> None:
            if isinstance(value, tuple):
                pair(w, value)
            elif first is not None:
                first(w, value)

        return write

    def _register_writer(self, dest: Source, type_: str, code: Code) -> Write:
        assert isinstance(dest, Reg)
        index, lane = dest.index, self.program.registers[dest.index].lane
        if type_ == "vec":
            type_ = code.form.type
        change = None
        if type_ != "any" and types.lane(type_) != lane:
            change = conversion(types.lane(type_), lane, signed=types.is_signed(type_))

        def write(w: Warp, value: Value) -> None:
            if change is not None:
                value = change(value)
            regs = w.regs
            regs[index] = value if w.full else np.where(w.mask, value, regs[index])

        return write


def conversion(source: str, target: str, *, signed: bool) -> Callable[[Value], Value]:
    """From one lane type to another: the same bits where the widths agree, else extended or truncated."""
    a, b = DTYPE[source], DTYPE[target]
    if a.itemsize == b.itemsize and "b" not in (a.kind, b.kind):
        return lambda value: value.view(b)
    bits = DTYPE[f"i{8 * a.itemsize}"]
    wide = DTYPE[f"i{8 * b.itemsize}"]
    if a.kind == "b":
        return lambda value: value.astype(wide).view(b)
    if b.kind == "b":
        return lambda value: (value.view(bits) & bits.type(1)).astype(b)
    if signed:
        return lambda value: value.view(SIGNED[a.itemsize]).astype(wide).view(b)
    return lambda value: value.view(bits).astype(wide).view(b)


def _each(writers: list[Write | None]) -> Write:
    def write(w: Warp, value: Any) -> None:
        for one, part in zip(writers, value, strict=True):
            if one is not None:
                one(w, part)

    return write


def _taken(writers: list[Write | None], type_: str) -> Write:
    """`mov.b64 {d, e}, a`: one value unpacked."""
    each, count = _each(writers), len(writers)
    return lambda w, value: each(w, value if isinstance(value, tuple) else unpack(w, type_, count, value))
