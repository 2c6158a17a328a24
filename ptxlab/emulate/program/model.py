"""A kernel and all functions that it calls as one flat program: registers numbered, symbols placed, blocks in order.

Both engines run this. Lowering resolves names once: which register a name means in its scope, where each variable lies,
which block a label stands for. Blocks are ordered so that diverged lanes reconverge when the smallest program counter
goes first: a loop's body comes before what follows the loop, both sides of an `if` before their join, and a function
before those that call it.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.collection import uncollected
from ptxlab.errors import LaunchError
from ptxlab.isa import types
from ptxlab.isa.accesses import Access
from ptxlab.isa.actions import Action
from ptxlab.isa.properties import Properties
from ptxlab.isa.table import Form, Op

if TYPE_CHECKING:
    from ptxlab.errors import Span
from ptxlab.text.model import Instruction, Module

# -- operands ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reg:
    """A register, by number."""

    index: int


@dataclass(frozen=True, slots=True)
class Literal:
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


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, known when the program is loaded: an offset in its space, or a device address for
    global and const. space: shared, global, const, local, param (the kernel's parameters), frame (a function's)."""

    name: str
    space: str
    value: int


@dataclass(frozen=True, slots=True)
class Inverted:
    """`!p` as a source."""

    operand: Reg


@dataclass(frozen=True, slots=True)
class Group:
    """`{a, b}`: a vector of sources or destinations; None is the sink `_`."""

    elements: tuple[Source | None, ...]


@dataclass(frozen=True, slots=True)
class Mem:
    """An address operand: `base + offset` bytes."""

    base: Reg | Symbol | Literal
    offset: int


Source = Reg | Literal | Special | Symbol | Inverted | Group | Mem


# -- code --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Code:
    """One instruction, resolved. `dests` and `sources` follow the table entry's operands, an absent optional one is
    None; `dest_types` and `source_types` are their PTX types (`addr` for a Mem).

    target: the block a branch or call goes to. targets: all of `brx.idx`. register: the i32 register that holds where
    a function returns to, on its `call` (with `callee`) and `ret` (-1: `ret` of the kernel). rounds: how many loop
    rounds a back edge counts as, 0 for all other branches; leaves: on a branch with a guard to a block that only ends
    the thread, its number in `Program.exits` (see `ptxlab.emulate.program.reconvergence`). space: the resolved space of
    a memory access. copy: (from, to, bytes) within the lane's frame, on the pseudo-instruction `%copy` that passes
    arguments; another, `%reduced`, follows `bar.red`. saves, restores: the register that this saves before a call,
    or restores after it. instruction: the one that this counts as, None if lowering has
    added it; part_of: the one whose bytes its own bytes are then, if any. `properties` says what it does; `name` is for
    messages.
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
    saves: int = -1
    restores: int = -1
    space: str = ""
    instruction: Instruction | None = None
    part_of: Instruction | None = None
    block: int = -1
    reason: str = ""
    rounds: int = 0
    leaves: int = -1
    properties: Properties = field(init=False, repr=False)
    action: Action = field(init=False)
    known_reads: tuple[object, object, object, int, tuple[int, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    known_writes: tuple[object, int, tuple[int, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

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
"""Of the pseudo-instruction that passes arguments."""
FRAMES = 512
"""Bytes for frames of recursive functions that a block begins with; it gets more when it needs them."""
_LARGE_LOCAL = 1 << 25
"""Bytes of a thread's local memory of which 32 times as many would not fit the 32 bits of an offset."""
_PSEUDO = {"%copy": Properties(Action.PASS_ARGUMENTS), "%reduced": Properties(Action.TAKE_REDUCED, orders=True)}


@dataclass(slots=True)
class Block:
    """Instructions `first` to `last - 1`, left only at its end. `next` is the block it falls through to, -1 after the
    last; `targets` are the blocks that its last instruction may jump to."""

    index: int
    first: int
    last: int
    next: int
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Register:
    """A PTX register: its name, declared type and lane type, and the function that declared it."""

    index: int
    name: str
    type: str
    lane: str
    function: str


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*\.(?:loc|file)\b[^\n]*", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Param:
    """One kernel parameter in the parameter block. `pointer`: declared `.ptr`, or 64 bits wide and so possibly one."""

    name: str
    type: str
    offset: int
    size: int
    align: int
    array: bool
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Global:
    """A module-scope variable with its device address and first contents."""

    name: str
    space: str
    address: int
    initial: np.ndarray = field(repr=False)
    valued: bool = True  # whether the text gives any of it

    def contents(self) -> np.ndarray:
        """A copy to run with; zeros that the text does not give take no memory until they are touched."""
        try:
            return self.initial.copy() if self.valued else np.zeros(self.initial.size, np.uint8)
        except MemoryError:
            says = f"{self.name} has {self.initial.size:,} bytes; this machine has not as many left"
            raise LaunchError(says) from None


@dataclass(frozen=True, slots=True)
class System:
    """What `ptxlab.emulate.runtime.system` has put into a program: where `printf` leaves its records (0: nowhere) and
    the words of arguments in each, the line and the record of each `assert`; the bytes of local memory that are a
    stack; where the program calls `free`, the start of the heap, the table of what `malloc` has given from it, and the
    lines of the calls."""

    printf: int = 0
    words: int = 0
    asserts: tuple[tuple[int, int], ...] = ()
    stack: int = 0
    heap: int = 0
    given: int = 0
    frees: tuple[int, ...] = ()


@dataclass
class Program:
    """Everything an engine needs to run one kernel.

    shared_start: the first offset that belongs to the kernel (below lies the target's reserved window); shared_static:
    bytes of static shared memory from there; dynamic shared memory begins at `dynamic_start`. local_size: bytes of
    local memory and function frames a thread; local_fixed: those before the frames of recursive functions. entry: the
    block where the kernel begins; exits: the blocks that do nothing but end threads and that branches with a guard go
    to. exact_threads, most_threads: the `.reqntid` and
    `.maxntid` of the kernel, empty where it has none; cluster, explicit_cluster, most_rank: its `.reqnctapercluster`,
    `.explicitcluster` and `.maxclusterrank`.
    """

    name: str
    arch: str
    codes: list[Code]
    blocks: list[Block]
    registers: list[Register]
    params: tuple[Param, ...]
    param_size: int
    globals: tuple[Global, ...]
    shared_start: int
    shared_static: int
    dynamic_start: int
    local_size: int
    local_fixed: int
    exact_threads: tuple[int, ...]
    most_threads: tuple[int, ...]
    lines: list[str]
    spans: Mapping[int, Span]
    entry: int = 0
    exits: tuple[int, ...] = ()
    file: str = "<ptx>"
    shared_names: tuple[tuple[str, int, int], ...] = ()
    local_names: tuple[tuple[str, int, int], ...] = ()
    shared_gap: int = 0  # bytes between two arrays of shared memory that belong to neither
    system: System = System()
    cluster: tuple[int, ...] = ()
    explicit_cluster: bool = False
    most_rank: int = 0
    found: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What an engine has found out about it."""

    @functools.cached_property
    def text(self) -> str:
        """What a build depends on: the PTX without comments and line information."""
        return _COMMENT.sub("", "\n".join(self.lines))

    @property
    def local_stride(self) -> int:
        """Bytes from one thread's local memory to that of the next lane."""
        return -(-self.local_size // 16) * 16

    @functools.cached_property
    def local_first(self) -> int:
        """Bytes of each thread's local memory that are filled when a block begins: all of it, or, where frames of
        recursive functions lie behind, the beginning (see `rules.filling`)."""
        first = -(-(self.local_fixed + FRAMES) // 16) * 16
        return first if self.local_rows and first + FRAMES <= self.local_stride else self.local_stride

    @functools.cached_property
    def local_rows(self) -> bool:
        """Whether only loads and stores that name their space may reach local memory: no pointer to it is then needed,
        and code may lay it out word by word."""
        reaching = (code for code in self.codes if any(isinstance(source, Mem) for source in code.sources))
        named = (code.space != "generic" and (code.properties.plain or code.properties.atomic) for code in reaching)
        return 0 < self.local_size < _LARGE_LOCAL and all(named)

    @functools.cached_property
    def may_wait(self) -> bool:
        """Whether a loop may wait for another thread: it reads flags, or memory that other threads change."""
        return any(code.properties.polls for code in self.codes)

    @functools.cached_property
    def generic_accesses(self) -> int:
        """How many of its accesses go through generic addresses."""
        return sum(code.space == "generic" for code in self.codes)

    @functools.cached_property
    def block_of(self) -> np.ndarray:
        """The basic block of each instruction."""
        return np.repeat(np.arange(len(self.blocks)), [block.last - block.first for block in self.blocks])

    @functools.cached_property
    def by_line(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instructions that the text has (lowering adds others) in the order of their PTX lines; where those of each
        line begin among them; the lines."""
        own = np.array([k for k, code in enumerate(self.codes) if code.instruction is not None], np.int64)
        lines = np.array([self.codes[k].line for k in own.tolist()], np.int64)
        order = np.argsort(lines, kind="stable")
        numbers, starts = np.unique(lines[order], return_index=True)
        return own[order], starts, numbers

    def source(self, line: int) -> str:
        """The text of a PTX line."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


def lower(module: Module, entry: str | None = None, arch: str | None = None, *, shared_gaps: bool = False) -> Program:
    """The flat program of one kernel of a module. `entry` may be left out when there is one kernel only. shared_gaps:
    with gaps between the arrays of shared memory, where the program does not depend on their places (see the module
    `shared_gaps`).

    Raises `UnsupportedInstruction` naming the line of a form that the CPU machine does not execute, `PtxError` for an
    undeclared register or label, `LaunchError` for an unknown kernel.
    """
    key = (id(module), entry, arch, shared_gaps)
    with _lock:
        known = _recent.get(key)
        if known is not None:
            _recent.move_to_end(key)
            return known[1]
    program = _lowered(module, entry, arch, shared_gaps)
    with _lock:
        _recent[key] = (module, program)  # the module is cached too, so that no other gets its id
        while len(_recent) > 32:
            _recent.popitem(last=False)
    return program


@uncollected
def _lowered(module: Module, entry: str | None, arch: str | None, shared_gaps: bool) -> Program:
    from ptxlab.emulate.program.lowering import Lowering
    from ptxlab.emulate.program.shared_gaps import spread

    return spread(module, entry, arch) if shared_gaps else Lowering(module, entry, arch).program()


_lock = threading.Lock()
_recent: OrderedDict[tuple[int, str | None, str | None, bool], tuple[Module, Program]] = OrderedDict()
