"""A program as launches know it: its sizes, parameters and variables; what instructions are is in `flat_program`.

Nothing here imports the instruction table: a launch whose code is cached does not need it, and a process that has just
begun is ready in a third of the time without it. See `Recalled`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ptxlab import forks
from ptxlab.errors import LaunchError, PtxError, place_in_words
from ptxlab.names import source_name

try:
    from _blake2 import blake2b  # `hashlib` has it, too, but loads OpenSSL for the others: 4 ms of a first launch
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from ptxlab.emulate.program.flat_program import Block, Code, Param, Register
    from ptxlab.errors import Span

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*\.(?:loc|file)\b[^\n]*", re.S | re.M)
DIGEST = 32
"""Bytes of a digest."""
digest_of = functools.partial(blake2b, digest_size=DIGEST)
"""The hash function that names and seals entries of the cache."""


class Global(NamedTuple):
    """A module-scope variable with its device address and first contents."""

    name: str
    space: str
    address: int
    initial: np.ndarray
    valued: bool = True  # whether the text gives any of it

    def contents(self, kept: np.ndarray | None = None) -> np.ndarray:
        """A copy to run with, of what a launch has left if there is such; zeros that the text does not give take no
        memory until they are touched."""
        try:
            if kept is not None and kept.size == self.initial.size:
                return kept.copy()
            return self.initial.copy() if self.valued else np.zeros(self.initial.size, np.uint8)
        except MemoryError:
            says = f"{source_name(self.name)} has {self.initial.size:,} bytes; the machine does not have so many left"
            raise LaunchError(says) from None


class System(NamedTuple):
    """Additions of lowering to a program for the system: where `printf` leaves its records (0:
    nowhere) and the words of arguments in each, the line and the record of each `assert`; the bytes of local memory
    that are a stack; where the program calls `free`, the start of the heap, the table of what `malloc` has given from
    it, and the lines of the calls."""

    printf: int = 0
    words: int = 0
    asserts: tuple[tuple[int, int], ...] = ()
    stack: int = 0
    heap: int = 0
    given: int = 0
    frees: tuple[int, ...] = ()


@dataclass(eq=False, repr=False)
class Program:
    """Everything an engine needs to run one kernel.

    title: its name in the source; shared_names and dynamic_names, those of dynamic shared memory, are such names, too.
    shared_start: the first offset that belongs to the kernel (below lies the target's reserved window); shared_static:
    bytes of static shared memory from there; dynamic shared memory begins at `dynamic_start`. local_size: bytes of
    local memory and function frames a thread. entry: the block where the kernel begins; exits: the blocks
    that do nothing but end threads and that branches with a guard go to. exact_threads, most_threads: the `.reqntid`
    and `.maxntid` of the kernel, empty where it has none; cluster, explicit_cluster, most_rank: its
    `.reqnctapercluster`, `.explicitcluster` and `.maxclusterrank`.
    """

    name: str
    title: str
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
    exact_threads: tuple[int, ...]
    most_threads: tuple[int, ...]
    lines: list[str]
    spans: Mapping[int, Span]
    entry: int
    exits: tuple[int, ...]
    file: str
    shared_names: tuple[tuple[str, int, int], ...]
    dynamic_names: tuple[str, ...]
    local_names: tuple[tuple[str, int, int], ...]
    shared_gap: int  # bytes between two arrays of shared memory that belong to neither
    system: System
    cluster: tuple[int, ...]
    explicit_cluster: bool
    most_rank: int
    waiting: tuple[int, ...] = ()
    """The instructions in loops that only wait for others (`wait_loops.waiting_codes`)."""
    may_wait_for_blocks: bool = False
    """Whether one of these looks at memory that other blocks can change."""
    found: dict[object, Any] = field(default_factory=dict, init=False)
    """What an engine has found out about it: see `once`."""

    @functools.cached_property
    def digest(self) -> str:
        """The digest of what a build depends on: the PTX without comments and line information."""
        return digest_of(_COMMENT.sub("", "\n".join(self.lines)).encode()).hexdigest()

    @property
    def local_stride(self) -> int:
        """Bytes from one thread's local memory to that of the next lane."""
        return -(-self.local_size // 16) * 16

    @functools.cached_property
    def may_wait(self) -> bool:
        """Whether a loop may wait for another thread: it reads flags, or memory that other threads change."""
        return any(code.polls for code in self.codes)

    @functools.cached_property
    def generic_accesses(self) -> int:
        """How many of its accesses go through generic addresses."""
        return sum(code.space == "generic" for code in self.codes)

    @functools.cached_property
    def block_of(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.blocks)), [block.last - block.first for block in self.blocks])

    def error(self, code: Code, message: str, kind: type[PtxError] = PtxError) -> PtxError:
        """An error, when the kernel is loaded, at the opcode of an instruction."""
        return kind(
            message,
            line=code.line,
            column=code.instruction.column if code.instruction is not None else 0,
            length=len(code.form.opcode),
            source=self.source(code.line),
            file=self.file,
            span=self.spans.get(code.line),
            syntax=code.form.op.syntax,
        )

    def place(self, line: int) -> str:
        """A PTX line in a sentence, after the line of the source that it comes from."""
        return place_in_words(line, self.spans.get(line))

    def source(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


Found = TypeVar("Found")


def once(find: Callable[[Program], Found]) -> Callable[[Program], Found]:
    """A function that finds something out about a program; the program keeps the answer."""

    @functools.wraps(find)
    def found(program: Program) -> Found:
        if find not in program.found:
            program.found[find] = find(program)
        answer: Found = program.found[find]
        return answer

    return found


_FACTS = (
    "name", "title", "arch", "digest", "param_size", "shared_start", "shared_static", "shared_gap", "dynamic_start",
    "local_size", "exact_threads", "most_threads", "entry", "exits", "cluster",
    "explicit_cluster", "most_rank", "may_wait", "waiting", "may_wait_for_blocks",
)  # fmt: skip
"""Facts about a program that launches ask for."""
_ASKED = ("kinds", "uses")
"""Others, which are cached if a launch has asked for them: see `element_types`."""
_lowering = forks.recursive_lock()


class Recalled(Program):
    """A program known only by the facts that `facts_to_cache` gives. It is lowered when somebody asks for
    more: for the line of a fault, counters, a trace, better code."""

    def __init__(self, notes: dict[str, Any], contents: bytes, lowered: Callable[[], Program]) -> None:
        facts = {name: _frozen(value) for name, value in notes["facts"].items()}
        system = System(*map(_frozen, notes["system"]))
        placed, at = [], 0
        for name, space, address, size, valued in notes["globals"]:
            initial = np.frombuffer(contents, np.uint8, size, at) if valued else np.zeros(size, np.uint8)
            placed.append(Global(name, space, address, initial, valued))
            at += size if valued else 0
        self.__dict__.update(facts, system=system, globals=tuple(placed), _make=lowered)

    if not TYPE_CHECKING:  # or no misspelt attribute would be noticed

        def __getattr__(self, name: str) -> Any:
            """What is not known yet."""
            with _lowering:
                if "_make" in self.__dict__ and not name.startswith("__"):
                    self.__dict__.update(self._make().__dict__)
                    del self._make
            if name not in self.__dict__:
                raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)
            return self.__dict__[name]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def facts_to_cache(program: Program) -> tuple[dict[str, Any], bytes]:
    """What `Recalled` makes a program of: notes that JSON can hold, and the first contents of its variables."""
    valued = [v for v in program.globals if v.valued]
    notes = {
        "facts": {name: getattr(program, name) for name in _FACTS}
        | {k: program.__dict__[k] for k in _ASKED if k in program.__dict__},
        "system": program.system,
        "globals": [(v.name, v.space, v.address, v.initial.size, v.valued) for v in program.globals],
    }
    return notes, b"".join(v.initial.tobytes() for v in valued)
