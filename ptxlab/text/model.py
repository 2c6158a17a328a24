"""PTX as a frozen tree: every node keeps the tokens it was read from, so printing gives the text back byte for byte."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Never, TypeVar, dataclass_transform

from ptxlab.errors import LaunchError, PtxError, Span
from ptxlab.isa.types import width
from ptxlab.module_variables import HasVariables, State
from ptxlab.text.lexer import Token

N = TypeVar("N")


def _printed(tokens: Sequence[Token]) -> str:
    """The text that tokens were read from."""
    return "".join(map(str, tokens))


class Node:
    """What holds for all nodes: those of a class with the same contents are equal, they print what they hold, and they
    do not change. These methods are written here, for Python takes 0.1 ms to make its own for a dataclass."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __setattr__(self, name: str, value: Any) -> None:
        write = "pl.parse(str(module).replace(...))"
        raise AttributeError(f"{type(self).__name__}.{name}: parsed PTX does not change\n  write:  {write}")

    def _contents(self) -> tuple[object, ...]:
        return tuple(getattr(self, each.name) for each in fields(self) if each.compare)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and type(other) is type(self) and self._contents() == other._contents()

    def __hash__(self) -> int:
        return hash(self._contents())

    def __repr__(self) -> str:
        told = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(told)})"


@dataclass_transform(eq_default=False, frozen_default=True)
def node(cls: type[N]) -> type[N]:
    """A class of nodes."""
    made = dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    del made.__setattr__, made.__delattr__  # Python 3.11's raise a TypeError for a name that is not a field
    return made


# -- operands ----------------------------------------------------------------------------------------------------------


@node
class Name(Node):
    """A register, special register (`%tid.x`), label, variable or function, by name; `_` is the sink."""

    text: str

    def __str__(self) -> str:
        return self.text


@node
class Number(Node):
    """A literal. `kind` is "int" (`value` an int, negative where a minus stood before it), "f32" (`0f3F800000`) or
    "f64" (`0d3FF0...`, `1.5`), where `value` is a float and `bits` its exact bit pattern."""

    text: str
    kind: str
    value: int | float
    bits: int = 0

    def __str__(self) -> str:
        return self.text


@node
class Address(Node):
    """`[base+offset]`: `base` a Name, a Number (absolute) or a Vector/Name for tensors; `offset` an int in bytes.
    `register_offset` is set for `[base+%r1]`; `extra` holds further comma-separated parts (tensor coordinates)."""

    base: Operand
    offset: int = 0
    register_offset: Name | None = None
    extra: tuple[Operand, ...] = ()

    def __str__(self) -> str:
        tail = f"+{self.register_offset}" if self.register_offset else ""
        tail += f"+{self.offset}" if self.offset else ""
        return "[" + ", ".join([f"{self.base}{tail}", *map(str, self.extra)]) + "]"


@node
class Vector(Node):
    """`{a, b, c, d}`."""

    elements: tuple[Operand, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.elements)) + "}"


@node
class Pair(Node):
    """`p|q`: two destinations, the second optional in the manual's syntax."""

    first: Operand
    second: Operand

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@node
class Not(Node):
    """`!p`: a predicate, inverted."""

    operand: Operand

    def __str__(self) -> str:
        return f"!{self.operand}"


@node
class Sum(Node):
    """`symbol+4` outside brackets (`mov.u64 %rd1, table+16`); `scale` is -1 for `-%r1` (video forms).

    In initialisers `generic` says that the generic address is meant, `generic(symbol)+4`, and `mask` picks one byte of
    the address, `0xFF00(symbol)`: the value is `(address & mask) >> (trailing zeros of mask)`; 0 where there is none.
    """

    base: Name
    offset: int = 0
    scale: int = 1
    generic: bool = False
    mask: int = 0

    def __str__(self) -> str:
        text = f"generic({self.base})" if self.generic else f"{'-' if self.scale < 0 else ''}{self.base}"
        text += f"+{self.offset}" if self.offset else ""
        return f"{self.mask:#x}({text})" if self.mask else text


@node
class Element(Node):
    """`table[4]`: an element of a declared array, `index` counted in elements (a Number, a register or a Sum)."""

    base: Name
    index: Operand

    def __str__(self) -> str:
        return f"{self.base}[{self.index}]"


@node
class Parens(Node):
    """`(a, b)`: the results or arguments of a call."""

    elements: tuple[Operand, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.elements)) + ")"


Operand = Name | Number | Address | Vector | Pair | Not | Sum | Element | Parens

# -- statements --------------------------------------------------------------------------------------------------------


@node
class Guard(Node):
    """`@p` or `@!p` before an instruction."""

    name: str
    negated: bool = False

    def __str__(self) -> str:
        return f"@{'!' if self.negated else ''}{self.name}"


@node
class Instruction(Node):
    """One instruction. `opcode` is the whole dotted word (`ld.global.v4.f32`); `line` and `column` are the opcode's."""

    guard: Guard | None
    opcode: str
    operands: tuple[Operand, ...]
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0
    column: int = 0

    @property
    def name(self) -> str:
        """The opcode's first word: `ld`."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        if self.tokens:
            return _printed(self.tokens)
        guard = f"{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(map(str, self.operands))}".rstrip() + ";"


@node
class Label(Node):
    """`name:`."""

    name: str
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return _printed(self.tokens) if self.tokens else f"{self.name}:"


@node
class Variable(Node):
    """A declared name: `.reg .f32 %f<4>;`, `.shared .align 16 .b8 tile[4096];`, `.const .f32 c = 1.0;`.

    space: "reg", "shared", "global", "const", "local", "param", "tex"...; type: without the dot; vector: 1, 2, 4 or 8;
    count: n of `%f<n>` (0 when it names one register); shape: array dimensions, () for a scalar; a first dimension left
    out, `[]`, is the length of the initialiser, or 0 without one (extern). initial: nested tuples of Numbers, Names and
    Sums, or None. linkage: "", "extern", "visible", "weak" or "common". align: in bytes, 0 where none is given.
    attributes: the other directives in order, an argument with its directive (`.ptr`, `.global`, `.align 16`).
    line, column: where the name is.
    """

    space: str
    type: str
    name: str
    vector: int = 1
    count: int = 0
    shape: tuple[int, ...] = ()
    align: int = 0
    initial: Initial | None = None
    linkage: str = ""
    attributes: tuple[str, ...] = ()
    line: int = 0
    column: int = field(default=0, compare=False, repr=False)

    def packed(self, resolve: Callable[[Sum], int]) -> bytes:
        """The first contents, without the zeros that may follow. resolve: the address of what a sum names."""
        return b"".join(self._elements(self.initial, self.shape, resolve))

    def _elements(self, initial: Initial | None, shape: tuple[int, ...], resolve: Callable[[Sum], int]) -> list[bytes]:
        """The bytes of each element in order; missing ones are zeros."""
        if not isinstance(initial, tuple):
            return [self._scalar(initial, resolve)]
        each = max(1, width(self.type) // 8) * (math.prod(shape[1:]) if shape[1:] else self.vector)
        known = dict[int, bytes]()  # of a long array many elements are one object
        for item in initial:
            if id(item) not in known:
                packed = b"".join(self._elements(item, shape[1:], resolve))
                known[id(item)] = packed.ljust(each, b"\0") if isinstance(item, tuple) else packed
        return [known[id(item)] for item in initial]

    def _scalar(self, value: Initial | None, resolve: Callable[[Sum], int]) -> bytes:
        size = max(1, width(self.type) // 8)
        if isinstance(value, Number):
            if self.type in ("f32", "f64"):
                try:
                    return struct.pack("<f" if size == 4 else "<d", value.value)
                except OverflowError:  # beyond the largest .f32 it is infinite, as in the assembler
                    return struct.pack("<f", math.copysign(math.inf, value.value))
            bits = int(value.value) if value.kind == "int" else value.bits
            return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        if isinstance(value, Name):
            value = Sum(value)
        if not isinstance(value, Sum):
            raise PtxError(f"cannot read the initialiser {value} of {self.name!r}", line=self.line)
        address = resolve(value) + value.offset
        if value.mask:  # 0xFF00(symbol): one byte of an address
            address = (address & value.mask) >> ((value.mask & -value.mask).bit_length() - 1)
        return (address & ((1 << 8 * size) - 1)).to_bytes(size, "little")


Initial = Operand | tuple["Initial", ...]


@node
class Declaration(Node):
    """One statement that declares variables: `.reg .f32 %a, %b<3>;` declares two."""

    variables: tuple[Variable, ...]
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return _printed(self.tokens)


@node
class Directive(Node):
    """Any other directive, kept as words: `.version`, `.target`, `.loc`, `.file`, `.pragma`, `.section {..}`, `.alias`,
    `.branchtargets`, `.callprototype`. `name` has no dot, `words` no commas; `label` is the name before the colon in
    `prototype_0 : .callprototype ...`."""

    name: str
    words: tuple[str, ...]
    label: str = ""
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return _printed(self.tokens)


@node
class Block(Node):
    """`{ ... }`: a scope of its own; nvcc wraps calls and inline assembly in them. `tokens` holds the two braces."""

    statements: tuple[Statement, ...]
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def walk(self) -> Iterator[Statement]:
        """Every statement in order; a block inside is walked through in its place."""
        for statement in self.statements:
            if isinstance(statement, Block):
                yield from statement.walk()
            else:
                yield statement

    def __str__(self) -> str:
        opening, closing = self.tokens if self.tokens else ("{", "\n}")
        return f"{opening}{''.join(map(str, self.statements))}{closing}"


Statement = Instruction | Label | Declaration | Directive | Block


@node
class Function(Node):
    """An `.entry` (a kernel) or a `.func`. `body` is None for a declaration without one (`.extern .func vprintf`).

    directives: performance directives between the parameter list and the body, as name -> words
    (`{"maxntid": ("128", "1", "1")}`). `head` are the tokens before the body (or all of them when there is none).
    """

    kind: str
    name: str
    linkage: str
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    directives: Mapping[str, tuple[str, ...]]
    body: Block | None
    head: tuple[Token, ...] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return "".join(map(str, self.head)) + (str(self.body) if self.body else "")

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of the body in order, nested blocks included."""
        if self.body is not None:
            yield from (statement for statement in self.body.walk() if isinstance(statement, Instruction))


@node
class Module(HasVariables, Node):
    """A whole PTX file. `str(module)` is the text it was read from, `module["x"]` its variable (`module_variables`).

    `spans` maps a 1-based PTX line to the source that it comes from: the Python expression that emitted it, or what the
    compiler's `.loc` says.
    """

    items: tuple[Function | Declaration | Directive, ...]
    trailing: str = ""
    file: str = "<ptx>"
    version: tuple[int, int] = (0, 0)
    target: str = ""
    address_size: int = 64
    spans: Mapping[int, Span] = field(default_factory=dict, repr=False)
    state: State = field(default_factory=State, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return "".join(map(str, self.items)) + self.trailing

    def __call__(self, *args: object, **options: object) -> Never:
        """LaunchError with the line to write."""
        raise LaunchError("a module is not called\n  write:  pl.launch(module, grid, block, ...)")

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The `.entry` functions, in order."""
        return tuple(f for f in self.functions if f.kind == "entry")

    @property
    def functions(self) -> tuple[Function, ...]:
        """All functions, in order, declarations without a body included."""
        return tuple(item for item in self.items if isinstance(item, Function))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The module-scope variables (`.global`, `.const`, `.shared`), in order."""
        return tuple(v for item in self.items if isinstance(item, Declaration) for v in item.variables)
