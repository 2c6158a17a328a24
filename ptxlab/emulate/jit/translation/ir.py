"""LLVM IR as text, written instruction by instruction: types, values, blocks, and a builder.

It is what the translator of rules needs. llvmlite's own builder keeps an object for each value, with its users and its
name, and prints them at the end, which took most of the time that rules took to be translated. Here an instruction is a
line of text at once. Types are not compared: LLVM does that when it reads the module.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(eq=False, repr=False)
class Type:
    """A type. There is one object for each: the functions below make them."""

    text: str
    bits: int = 0
    """Of a number."""
    element: Type | None = None
    """Of a vector, as is `count`."""
    count: int = 0


@functools.cache
def number(bits: int) -> Type:
    """The integers of so many bits."""
    return Type(f"i{bits}", bits)


@functools.cache
def vector(element: Type, count: int) -> Type:
    """So many elements, which LLVM computes with at once."""
    return Type(f"<{count} x {element.text}>", element=element, count=count)


@functools.cache
def array(element: Type, count: int) -> Type:
    """So many elements in memory."""
    return Type(f"[{count} x {element.text}]")


@functools.cache
def struct(*parts: Type) -> Type:
    """Several values in one."""
    return Type(f"{{{', '.join(part.text for part in parts)}}}")


VOID, PTR = Type("void"), Type("ptr")


class Value:
    """What an instruction gives, or an argument: its type, and how it is written where it is used."""

    __slots__ = ("text", "type")

    def __init__(self, type_: Type, text: str) -> None:
        self.type, self.text = type_, text

    @property
    def typed(self) -> str:
        """The value after its type."""
        return f"{self.type.text} {self.text}"


class Constant(Value):
    """A number; of a vector also a list of numbers."""

    __slots__ = ("number",)

    def __init__(self, type_: Type, given: int | Sequence[int]) -> None:
        self.number = given
        super().__init__(type_, _number(type_, given))


def _number(type_: Type, given: int | Sequence[int]) -> str:
    """The text of a constant."""
    if isinstance(given, int):
        return f"{given:d}" if type_.element is None else f"splat ({type_.element.text} {given:d})"
    assert type_.element is not None
    return f"<{', '.join(f'{type_.element.text} {one:d}' for one in given)}>"


NULL = Value(PTR, "null")


def undefined(type_: Type) -> Value:
    """Any value."""
    return Value(type_, "undef")


class Block:
    """A basic block: its label and its lines. `ended`: whether its last instruction leaves it."""

    __slots__ = ("ended", "label", "lines")

    def __init__(self, label: str) -> None:
        self.label, self.ended = label, False
        self.lines: list[str | Phi] = []

    def __str__(self) -> str:
        return "\n".join([f"{self.label}:", *map(str, self.lines)])


class Phi(Value):
    """A value that depends on the block that led here."""

    __slots__ = ("ways",)

    def __init__(self, type_: Type, text: str) -> None:
        super().__init__(type_, text)
        self.ways: list[str] = []

    def comes(self, value: Value, block: Block) -> None:
        """The value that it has after a jump from a block."""
        self.ways.append(f"[{value.text}, %{block.label}]")

    def __str__(self) -> str:
        return f"  {self.text} = phi {self.type.text} {', '.join(self.ways)}"


class Called(Value):
    """A function, by name or by a pointer to it: what it takes and gives."""

    __slots__ = ("parameters", "result")

    def __init__(self, result: Type, parameters: Sequence[Type], text: str) -> None:
        super().__init__(PTR, text)
        self.result, self.parameters = result, parameters

    @property
    def declared(self) -> str:
        """The line that declares it."""
        return f"declare {self.result.text} {self.text}({', '.join(kind.text for kind in self.parameters)})"


class Function(Called):
    """A function that is written here: its arguments, and its blocks in order. external: other code may call it."""

    __slots__ = ("arguments", "attributes", "blocks", "count", "external")

    def __init__(self, result: Type, parameters: Sequence[Type], name: str, arguments: Sequence[str]) -> None:
        super().__init__(result, parameters, f'@"{name}"')
        self.arguments = [Value(t, f"%{n}.given") for t, n in zip(parameters, arguments, strict=True)]
        self.blocks: list[Block] = []
        self.attributes: tuple[str, ...] = ()
        self.external = False
        self.count = 0

    def fresh(self, hint: str = "") -> str:
        """A name that is new here, without its sign."""
        self.count += 1
        return f"{hint}.{self.count}"

    def block(self, hint: str) -> Block:
        """A new block, after all others."""
        self.blocks.append(made := Block(self.fresh(hint)))
        return made

    def __str__(self) -> str:
        """The definition; the declaration where nothing was written."""
        if not self.blocks:
            return self.declared
        given = ", ".join(one.typed for one in self.arguments)
        head = f"define {'' if self.external else 'internal '}{self.result.text} {self.text}({given})"
        return "\n".join([f"{head} {' '.join(self.attributes)} {{", *map(str, self.blocks), "}"])


_SIGNED = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_UNSIGNED = {"==": "eq", "!=": "ne", "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}
_I1 = number(1)


class Builder:
    """Writes instructions at the end of the block `here` of a function."""

    def __init__(self, function: Function, here: Block) -> None:
        self.function = function
        self.at(here)

    def at(self, block: Block) -> None:
        """Goes on in a block."""
        self.here = block

    def block(self, hint: str) -> Block:
        """A new block of the function."""
        return self.function.block(hint)

    def _let(self, type_: Type, text: str) -> Value:
        made = Value(type_, f"%{self.function.fresh()}")
        self.here.lines.append(f"  {made.text} = {text}")
        return made

    def _end(self, text: str) -> None:
        """The instruction that leaves the block."""
        self.here.lines.append(f"  {text}")
        self.here.ended = True

    # -- arithmetic

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        """`add`, `lshr` and the like."""
        return self._let(a.type, f"{operation} {a.type.text} {a.text}, {b.text}")

    def invert(self, a: Value) -> Value:
        """All bits the other way round."""
        return self.binary("xor", a, Constant(a.type, -1))

    def negate(self, a: Value) -> Value:
        """0 - a."""
        return self.binary("sub", Constant(a.type, 0), a)

    def compare(self, sign: str, a: Value, b: Value, *, signed: bool = False) -> Value:
        """`<` and the like."""
        kind = a.type
        result = _I1 if kind.element is None else vector(_I1, kind.count)
        return self._let(result, f"icmp {(_SIGNED if signed else _UNSIGNED)[sign]} {kind.text} {a.text}, {b.text}")

    def convert(self, how: str, a: Value, to: Type) -> Value:
        """`zext`, `sext`, `trunc`, `bitcast`; nothing where the type stays."""
        return a if a.type is to else self._let(to, f"{how} {a.typed} to {to.text}")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """One of two values."""
        return self._let(a.type, f"select {condition.typed}, {a.typed}, {b.typed}")

    # -- vectors and structs

    def extract(self, a: Value, at: Value) -> Value:
        """An element of a vector."""
        assert a.type.element is not None
        return self._let(a.type.element, f"extractelement {a.typed}, {at.typed}")

    def insert(self, a: Value, new: Value, at: Value) -> Value:
        """A vector with another element."""
        return self._let(a.type, f"insertelement {a.typed}, {new.typed}, {at.typed}")

    def shuffle(self, a: Value, order: Sequence[int]) -> Value:
        """A vector's elements in this order."""
        chosen = Constant(vector(number(32), len(order)), order)
        return self._let(a.type, f"shufflevector {a.typed}, {undefined(a.type).typed}, {chosen.typed}")

    def part(self, a: Value, at: int, type_: Type) -> Value:
        """A part of a struct."""
        return self._let(type_, f"extractvalue {a.typed}, {at}")

    def with_part(self, a: Value, new: Value, at: int) -> Value:
        """A struct with another part."""
        return self._let(a.type, f"insertvalue {a.typed}, {new.typed}, {at}")

    # -- memory

    def room(self, type_: Type, name: str = "", align: int = 0) -> Value:
        """Room on the stack, for a name that no other has."""
        made = Value(PTR, f"%{name or self.function.fresh()}")
        self.here.lines.append(f"  {made.text} = alloca {type_.text}{f', align {align}' if align else ''}")
        return made

    def load(self, type_: Type, at: Value, align: int = 0) -> Value:
        """What lies somewhere."""
        return self._let(type_, f"load {type_.text}, ptr {at.text}{f', align {align}' if align else ''}")

    def store(self, value: Value, at: Value, align: int = 0) -> None:
        """Puts a value somewhere."""
        self.here.lines.append(f"  store {value.typed}, ptr {at.text}{f', align {align}' if align else ''}")

    def address(self, base: Value, index: Value, element: Type) -> Value:
        """So many elements on; of a vector of indexes a vector of addresses."""
        result = PTR if index.type.element is None else vector(PTR, index.type.count)
        return self._let(result, f"getelementptr {element.text}, {base.typed}, {index.typed}")

    def atomic(self, operation: str, at: Value, value: Value) -> Value:
        """Read, change, write at once; gives what was there."""
        return self._let(value.type, f"atomicrmw {operation} ptr {at.text}, {value.typed} monotonic")

    # -- control flow

    def phi(self, type_: Type) -> Phi:
        """A value that depends on the block that led here."""
        made = Phi(type_, f"%{self.function.fresh()}")
        self.here.lines.append(made)
        return made

    def call(self, function: Called, given: Sequence[Value]) -> Value:
        """What a function gives."""
        text = f"call {function.result.text} {function.text}({', '.join(one.typed for one in given)})"
        if function.result is not VOID:
            return self._let(function.result, text)
        self.here.lines.append(f"  {text}")
        return Value(VOID, "")

    def go(self, block: Block) -> None:
        """To another block."""
        self._end(f"br label %{block.label}")

    def branch(self, condition: Value, yes: Block, no: Block) -> None:
        """To one of two blocks."""
        self._end(f"br i1 {condition.text}, label %{yes.label}, label %{no.label}")

    def give(self, value: Value | None) -> None:
        """The function's result."""
        self._end("ret void" if value is None else f"ret {value.typed}")

    def never(self) -> None:
        """Nobody comes here."""
        self._end("unreachable")
