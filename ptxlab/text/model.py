"""PTX as a frozen tree: every node keeps the tokens it was read from, so printing gives the text back byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, overload

from ptxlab.errors import Span
from ptxlab.text.lexer import Token, split


class Words(Sequence[Token]):
    """The tokens of a statement that was read as one line, split when they are first used, which is rare."""

    __slots__ = ("_line", "_tokens")

    def __init__(self, line: Token) -> None:
        self._line = line
        self._tokens: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """The tokens."""
        if not self._tokens:
            self._tokens = split(self._line)
        return self._tokens

    def __str__(self) -> str:
        return str(self._line)

    def __repr__(self) -> str:
        return repr(self.all())

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.all())

    def __iter__(self) -> Iterator[Token]:
        return iter(self.all())

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Token, ...]: ...

    def __getitem__(self, index: int | slice) -> Token | tuple[Token, ...]:
        return self.all()[index]

    def __eq__(self, other: object) -> bool:
        return self.all() == (other.all() if isinstance(other, Words) else other)

    def __hash__(self) -> int:
        return hash(self.all())


def _printed(tokens: Sequence[Token]) -> str:
    """The text that tokens were read from."""
    return str(tokens) if isinstance(tokens, Words) else "".join(map(str, tokens))


class Node:
    """What holds for all nodes: those of a class with the same contents are equal, and they print what they hold. These
    methods are written here, for Python takes 0.1 ms to make its own for a dataclass."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def _contents(self) -> tuple[object, ...]:
        return tuple(getattr(self, each.name) for each in fields(self) if each.compare)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and type(other) is type(self) and self._contents() == other._contents()

    def __hash__(self) -> int:
        return hash(self._contents())

    def __repr__(self) -> str:
        told = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(told)})"


# -- operands ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Node):
    """A register, special register (`%tid.x`), label, variable or function, by name; `_` is the sink."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(Node):
    """A literal. `kind` is "int" (`value` an int, negative where a minus stood before it), "f32" (`0f3F800000`) or
    "f64" (`0d3FF0...`, `1.5`), where `value` is a float and `bits` its exact bit pattern."""

    text: str
    kind: str
    value: int | float
    bits: int = 0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vector(Node):
    """`{a, b, c, d}`."""

    elements: tuple[Operand, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.elements)) + "}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pair(Node):
    """`p|q`: two destinations, the second optional in the manual's syntax."""

    first: Operand
    second: Operand

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Node):
    """`!p`: a predicate, inverted."""

    operand: Operand

    def __str__(self) -> str:
        return f"!{self.operand}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Element(Node):
    """`table[4]`: an element of a declared array, `index` counted in elements (a Number, a register or a Sum)."""

    base: Name
    index: Operand

    def __str__(self) -> str:
        return f"{self.base}[{self.index}]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parens(Node):
    """`(a, b)`: the results or arguments of a call."""

    elements: tuple[Operand, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.elements)) + ")"


Operand = Name | Number | Address | Vector | Pair | Not | Sum | Element | Parens

# -- statements --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Guard(Node):
    """`@p` or `@!p` before an instruction."""

    name: str
    negated: bool = False

    def __str__(self) -> str:
        return f"@{'!' if self.negated else ''}{self.name}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Label(Node):
    """`name:`."""

    name: str
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return _printed(self.tokens) if self.tokens else f"{self.name}:"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variable(Node):
    """A declared name: `.reg .f32 %f<4>;`, `.shared .align 16 .b8 tile[4096];`, `.const .f32 c = 1.0;`.

    space: "reg", "shared", "global", "const", "local", "param", "tex"...; type: without the dot; vector: 1, 2, 4 or 8;
    count: n of `%f<n>` (0 when it names one register); shape: array dimensions, () for a scalar; a first dimension left
    out, `[]`, is the length of the initialiser, or 0 without one (extern). initial: nested tuples of Numbers, Names and
    Sums, or None. linkage: "", "extern", "visible", "weak" or "common". align: in bytes, 0 where none is given.
    attributes: the other directives in order, an argument with its directive (`.ptr`, `.global`, `.align 16`).
    line, column: where the name stands.
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


Initial = Operand | tuple["Initial", ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Declaration(Node):
    """One statement that declares variables: `.reg .f32 %a, %b<3>;` declares two."""

    variables: tuple[Variable, ...]
    tokens: Sequence[Token] = field(default=(), repr=False)
    line: int = 0

    def __str__(self) -> str:
        return _printed(self.tokens)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Module(Node):
    """A whole PTX file. `str(module)` is the text it was read from.

    `spans` maps a 1-based PTX line to the Python expression that emitted it (builder kernels; empty otherwise).
    """

    items: tuple[Function | Declaration | Directive, ...]
    trailing: str = ""
    file: str = "<ptx>"
    version: tuple[int, int] = (0, 0)
    target: str = ""
    address_size: int = 64
    spans: Mapping[int, Span] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "".join(map(str, self.items)) + self.trailing

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
