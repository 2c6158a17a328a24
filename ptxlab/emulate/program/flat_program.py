"""A kernel and all functions that it calls as one flat program: registers numbered, symbols placed, blocks in order.

Both engines run this. Lowering resolves names once: which register a name means in its scope, where each variable lies,
which block a label stands for. Blocks are ordered so that diverged lanes reconverge when the smallest program counter
goes first: a loop's body comes before what follows the loop, both sides of an `if` before their join, and a function
before those that call it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ptxlab.isa import types
from ptxlab.isa.accesses import Access
from ptxlab.isa.actions import Action
from ptxlab.isa.entries import Op
from ptxlab.isa.properties import Properties
from ptxlab.isa.table import Form
from ptxlab.text.model import Instruction, Node


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reg(Node):
    """A register, by number."""

    index: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal(Node):
    """An immediate. `value` is an int, or a float for `0f`/`0d` literals, whose type is `kind` and pattern `bits`."""

    value: int | float
    kind: str = "int"
    bits: int = 0

    def as_type(self, type: str) -> int | float:
        """The value as an operand of a PTX type: an int for integer and bit types, a float for f32 and f64."""
        if types.lane(type) in ("f32", "f64"):
            return float(self.value)
        if self.kind == "int":
            return int(self.value) & ((1 << types.width(type)) - 1)
        return self.bits  # `mov.b32 %r1, 0f3F800000`


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Special(Node):
    """A special register such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Symbol(Node):
    """The address of a variable, known when the program is loaded: an offset in its space, or a device address for
    global and const. space: shared, global, const, local, param (the kernel's parameters), frame (a function's)."""

    name: str
    space: str
    value: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inverted(Node):
    """`!p` as a source."""

    operand: Reg


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group(Node):
    """`{a, b}`: a vector of sources or destinations; None is the sink `_`."""

    elements: tuple[Source | None, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Wide(Group):
    """A 128-bit register: its lower half, its upper half."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mem(Node):
    """An address operand: `base + offset` bytes."""

    base: Reg | Symbol | Literal
    offset: int


Source = Reg | Literal | Special | Symbol | Inverted | Group | Mem


@dataclass(eq=False, repr=False, slots=True)
class Code:
    """One instruction, resolved. `dests` and `sources` follow the table entry's operands, an absent optional one is
    None; `dest_types` and `source_types` are their PTX types (`addr` for a Mem).

    target: the block a branch or call goes to. targets: all of `brx.idx`. register: the i32 register that holds where a
    function returns to, on its `call` (with `callee`) and `ret` (-1: `ret` of the kernel). rounds: how many loop rounds
    a back edge counts as, 0 for all other branches; leaves: on a branch with a guard to a block that only ends the
    thread, its number in `Program.exits` (see `ptxlab.emulate.program.reconvergence`). space: the resolved space of a
    memory access. copy: (from, to, bytes) within the lane's frame, on the pseudo-instruction `%copy` that passes
    arguments; another, `%reduced`, follows `bar.red`. polls: whether a loop repeats it that may wait for another
    thread. instruction: the one that this counts as, None if lowering has added it; part_of: the one whose bytes its
    own bytes are then, if any. `properties` says what it does; `name` is for messages.
    """

    index: int
    name: str
    form: Form
    line: int
    guard: tuple[int, bool] | None = None
    dests: tuple[Reg | Group | None, ...] = ()
    sources: tuple[Source | None, ...] = ()
    dest_types: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    callee: str = ""
    target: int = -1
    targets: tuple[int, ...] = ()
    register: int = -1
    copy: tuple[int, int, int] | None = None
    space: str = ""
    instruction: Instruction | None = None
    part_of: Instruction | None = None
    block: int = -1
    reason: str = ""
    rounds: int = 0
    leaves: int = -1
    polls: bool = False
    properties: Properties = field(init=False)
    action: Action = field(init=False)

    def __post_init__(self) -> None:
        self.properties = _PSEUDO.get(self.name) or self.form.properties
        self.action = self.properties.action

    @property
    def named(self) -> dict[str, tuple[Source | None, str]]:
        """The sources and their types, by the operands' names in the table."""
        names = [spec.name for spec in self.form.op.operands if spec.role != "dst"]
        return dict(zip(names, zip(self.sources, self.source_types, strict=True), strict=False))

    def number(self, name: str) -> int:
        """The immediate that a source is, by its name in the table."""
        source, _ = self.named[name]
        assert isinstance(source, Literal)
        return int(source.value)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """What lanes do at its addresses, with the bytes and the spaces that its operands and its opcode give."""
        return tuple(
            replace(access, size=access.size or self.number("size"), space=access.space or self.space)
            for access in self.properties.accesses
        )

    def element_type(self, type_: str, count: int) -> str:
        """The type of one of `count` elements of an operand: `.v4.f32` holds f32, `{a, b}` of a b64 holds b32."""
        if self.form.op.kind == "warp" or type_ == "any":
            return "any"
        if type_ == "vec" or self.form.vec:
            return str(self.form.type)
        return f"b{types.width(type_) // count}"

    @property
    def ends_thread(self) -> bool:
        """Whether threads exit here, and do not return to a caller."""
        return self.action in (Action.RETURN, Action.EXIT) and self.register < 0


COPY = Form(Op("%copy", "%copy", {}, "", None, Action.PASS_ARGUMENTS, (1, 0), 0), "%copy", {})
"""The form of the pseudo-instruction that passes arguments."""
_PSEUDO = {"%copy": Properties(Action.PASS_ARGUMENTS), "%reduced": Properties(Action.TAKE_REDUCED, orders=True)}


@dataclass(eq=False, repr=False, slots=True)
class Block:
    """Instructions `first` to `last - 1`, left only at its end. `next` is the block it falls through to, -1 after the
    last; `targets` are the blocks that its last instruction may jump to."""

    index: int
    first: int
    last: int
    next: int
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Register(Node):
    """A PTX register: its name, declared type and lane type, and the function that declared it."""

    index: int
    name: str
    type: str
    lane: str
    function: str


class Param(NamedTuple):
    """One kernel parameter in the parameter block. `pointer`: declared `.ptr`, or 64 bits wide and so possibly one."""

    name: str
    type: str
    offset: int
    size: int
    align: int
    array: bool
    attributes: tuple[str, ...] = ()
