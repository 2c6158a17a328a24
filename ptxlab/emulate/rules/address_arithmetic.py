"""What an address is computed from, and the integer arithmetic on the way to it, done again for one thread: as the
kernel does it, and exactly.

A register has a value here if one instruction has written it, whichever way the thread came, from arguments, special
registers and constants by integer arithmetic. Sums, products and shifts to the left are exact besides; of all other
operations the result that the kernel has counts as exact, since hashes and the like are meant to wrap.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.liveness import successors, writes
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.rules.warp_positions import StoppedThread
from ptxlab.emulate.runtime.report import unravel
from ptxlab.isa import types

DEEPEST = 200
"""Instructions in a row that are followed."""
MOST = 8
"""Numbers that a value may exactly be; ways in which it may be computed."""
MOST_LOOKED = 100_000
"""Instructions that are looked at for who has written a register."""
WIDTHS = {f"i{width}": width for width in (8, 16, 32, 64)}
"""Bits of the lane types that are integers."""


class Wrapped(NamedTuple):
    """The first instruction that has another number than the exact one: it reads it from a source with another sign,
    or its result has no room for it."""

    code: Code
    exact: int
    kept: int
    reads: bool


@dataclass(frozen=True, slots=True)
class Value:
    """A register's bits as an unsigned number, their count, the exact value (numbers from outside may be signed or
    not), and what went wrong if it is neither, or will have if the number is read with a sign."""

    bits: int
    width: int
    exact: frozenset[int]
    wrong: Wrapped | None = None

    @property
    def signed(self) -> int:
        """The number that the bits are with a sign."""
        return self.bits - (1 << self.width) if self.bits >> (self.width - 1) else self.bits


def meant(number: int, width: int) -> Value:
    """A number from outside, whose type does not say whether its first bit is a sign."""
    value = Value(number % (1 << width), width, frozenset())
    return replace(value, exact=frozenset({value.bits, value.signed}))


class UnknownResultError(Exception):
    """An operation that is not done here."""


class Exact:
    """The semantics of the table on values (`isa.machine.Machine`). Sums, products and shifts to the left are exact; of
    all other operations what the kernel has counts as exact. A predicate is a bool."""

    def __init__(self, code: Code) -> None:
        self.code = code

    if not TYPE_CHECKING:  # or no misspelt attribute would be noticed

        def __getattr__(self, name: str) -> Any:
            """What has no exact result."""
            raise UnknownResultError(name)

    def const(self, type: str, value: int | float) -> Value:
        if type not in WIDTHS:
            raise UnknownResultError(type)
        return Value(int(value) % (1 << WIDTHS[type]), WIDTHS[type], frozenset({int(value)}))

    def kept(self, number: int, width: int, exact: Iterable[int], wrong: Wrapped | None) -> Value:
        """A result as a register keeps it."""
        value = Value(number % (1 << width), width, frozenset(sorted(exact, key=abs)[:MOST]))
        if value.signed in value.exact or (value.bits in value.exact and width == 64):
            return value
        with_sign = value.bits in value.exact or types.is_signed(str(self.code.form.type))
        shown = value.signed if with_sign else value.bits  # where the bits are right: as a reader with sign has it
        return replace(value, wrong=wrong or Wrapped(self.code, min(value.exact, key=abs), shown, reads=False))

    def add(self, a: Value, b: Value) -> Value:
        exact = {x + y for x in a.exact for y in b.exact}
        return self.kept(a.bits + b.bits, a.width, exact, a.wrong or b.wrong)

    def sub(self, a: Value, b: Value) -> Value:
        exact = {x - y for x in a.exact for y in b.exact}
        return self.kept(a.bits - b.bits, a.width, exact, a.wrong or b.wrong)

    def mul(self, a: Value, b: Value) -> Value:
        exact = {x * y for x in a.exact for y in b.exact}
        return self.kept(a.bits * b.bits, a.width, exact, a.wrong or b.wrong)

    def shl(self, a: Value, b: Value) -> Value:
        return self.kept(a.bits << b.bits, a.width, {x << b.bits for x in a.exact}, a.wrong)

    def trunc(self, type: str, a: Value) -> Value:
        return a if WIDTHS[type] == a.width else self.kept(a.bits, WIDTHS[type], a.exact, a.wrong)

    def zext(self, type: str, a: Value) -> Value:
        return self._read(WIDTHS[type], a, a.bits)

    def sext(self, type: str, a: Value) -> Value:
        return self._read(WIDTHS[type], a, a.signed)

    def _read(self, width: int, a: Value, number: int) -> Value:
        if number in a.exact:
            return Value(number % (1 << width), width, frozenset({number}))
        wrong = a.wrong or Wrapped(self.code, min(a.exact, key=abs), number, reads=True)
        return Value(number % (1 << width), width, a.exact, wrong)

    def select(self, condition: bool, a: Value, b: Value) -> Value:
        return a if condition else b


def _other(of: str, operation: Callable[[Any, Any], Any]) -> Callable[[Exact, Any, Any], Any]:
    """An operation on the numbers that `of` gives."""

    def run(self: Exact, a: Any, b: Any) -> Any:
        if not isinstance(a, Value):
            return bool(operation(a, b))
        number = operation(getattr(a, of), getattr(b, of))
        return number if isinstance(number, bool) else meant(number, a.width)

    return run


def _quotient(a: int, b: int) -> int:
    if not b:
        raise UnknownResultError("a division by 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - _quotient(a, b) * b


_OTHERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "and_": ("bits", operator.and_), "or_": ("bits", operator.or_), "xor": ("bits", operator.xor),
    "eq": ("bits", operator.eq), "ne": ("bits", operator.ne), "lshr": ("bits", operator.rshift),
    "udiv": ("bits", _quotient), "urem": ("bits", _remainder), "umin": ("bits", min), "umax": ("bits", max),
    "ult": ("bits", operator.lt), "ule": ("bits", operator.le), "sdiv": ("signed", _quotient),
    "srem": ("signed", _remainder), "smin": ("signed", min), "smax": ("signed", max), "slt": ("signed", operator.lt),
    "sle": ("signed", operator.le),
}  # fmt: skip
for _name, (_of, _operation) in _OTHERS.items():
    setattr(Exact, _name, _other(_of, _operation))


def wrapped(at: StoppedThread, register: Reg, address: int) -> Wrapped | None:
    """What went wrong on the way to an address; None where nothing did, where the way is not known, or where the thread
    has another number in this register."""
    value = _Thread(at).register(register, at.code.index, 0)
    if not isinstance(value, Value) or value.bits != address % (1 << 64):
        return None
    return None if value.bits in {x % (1 << 64) for x in value.exact} else value.wrong


class Origin(NamedTuple):
    """space: "argument", and it is what the parameter holds that begins at this offset of the parameter block; else it
    is the address of a variable in this space, "param" for a parameter's own."""

    space: str
    value: int


@once
def _before(program: Program) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in program.blocks]
    for block in program.blocks:
        for following in successors(program, block.index):
            found[following].append(block.index)
    return found


def _writers(program: Program, register: int, at: int) -> list[Code]:
    """The instructions of which one has written a register before the instruction `at`; [] where that takes long."""
    found: dict[int, Code] = {}
    todo, seen, looked = [(program.codes[at].block, at)], set[int](), 0
    while todo and looked < MOST_LOOKED:
        block, end = todo.pop()
        for index in range(end - 1, program.blocks[block].first - 1, -1):
            looked += 1
            code = program.codes[index]
            if register in writes(code):
                found[index] = code
                if code.guard is None:
                    break
        else:
            for other in _before(program)[block]:
                if other not in seen:
                    seen.add(other)
                    todo.append((other, program.blocks[other].last))
    return [] if todo else list(found.values())


def origins(program: Program, source: Source | None, at: int) -> set[frozenset[Origin]]:
    """The variables and arguments that an operand of the instruction `at` is computed from, for each way in which it
    may have been computed. What has been loaded from memory is none of them."""
    return _origins(program, source, at, {}, 0)


def _origins(
    program: Program, source: Source | None, at: int, known: dict[int, set[frozenset[Origin]]], depth: int
) -> set[frozenset[Origin]]:
    """known: what is known of results, by code index; nothing yet of those that are followed."""
    if isinstance(source, Mem):
        return _origins(program, source.base, at, known, depth)
    if isinstance(source, Symbol):
        return {frozenset({Origin(source.space, source.value)})}
    if not isinstance(source, Reg) or depth == DEEPEST:
        return {frozenset()}
    found = set[frozenset[Origin]]()
    for code in _writers(program, source.index, at):
        if code.index not in known:
            known[code.index] = set()  # of a round before
            argument = _argument(code)
            ways = {frozenset[Origin]() if argument is None else frozenset({Origin("argument", argument)})}
            for given in () if code.properties.loads else code.sources:
                more = _origins(program, given, code.index, known, depth + 1)
                ways = {way | other for way in ways for other in more}
            known[code.index] = ways if len(ways) <= MOST else {frozenset()}
        found |= known[code.index]
    return found if 0 < len(found) <= MOST else {frozenset()}


def _argument(code: Code) -> int | None:
    """Where in the parameter block `ld.param` loads one number from; None for other instructions."""
    for address in code.sources:
        if (
            code.space == "param"
            and isinstance(address, Mem)
            and isinstance(address.base, Symbol)
            and not code.form.vec
        ):
            return address.base.value + address.offset
    return None


class _Thread:
    """The values of a thread's registers."""

    def __init__(self, at: StoppedThread) -> None:
        self.at, self.known = at, dict[int, Value | bool | None]()

    def register(self, register: Reg, at: int, depth: int) -> Value | bool | None:
        """Its value before the instruction `at`, if it has one."""
        writers = _writers(self.at.program, register.index, at)
        if len(writers) != 1 or writers[0].guard is not None or depth == DEEPEST:
            return None
        (code,) = writers
        if code.index not in self.known:
            self.known[code.index] = None  # what depends on itself has no value
            self.known[code.index] = self._result(code, depth + 1)
        return self.known[code.index]

    def _source(self, source: Source | None, type_: str, at: int, depth: int) -> Value | bool | None:
        if isinstance(source, Reg):
            return self.register(source, at, depth)
        number = source.value if isinstance(source, Literal | Symbol) else None
        number = self._special(source.name) if isinstance(source, Special) else number
        width = types.WIDTH.get(type_, 64)
        if not isinstance(number, int):
            return None
        value = meant(number, width)  # 4294967295 may be meant for -1, but not the other way round
        return replace(value, exact=frozenset({number})) if number < 0 else value

    def _special(self, name: str) -> int | None:
        launch, (kind, _, axis) = self.at.launch, name.partition(".")
        threads = unravel(self.at.thread, launch.block)
        sizes = {"%tid": threads, "%ntid": launch.block, "%nctaid": launch.grid}
        sizes["%ctaid"] = unravel(self.at.block, launch.grid)
        if kind in sizes and axis in ("x", "y", "z"):
            return int(sizes[kind]["xyz".index(axis)])
        return self.at.thread % LANES if name == "%laneid" else None

    def _result(self, code: Code, depth: int) -> Value | bool | None:
        if (at := _argument(code)) is not None:
            return self._held(code, at)
        sem = code.form.op.sem
        dests = [dest for dest in code.dests if dest is not None]
        if sem is None or code.form.op.kind != "pure" or len(dests) != 1 or not isinstance(dests[0], Reg):
            return None
        given = [self._source(s, t, code.index, depth) for s, t in zip(code.sources, code.source_types, strict=True)]
        if any(value is None for value in given):
            return None
        try:
            result = sem(Exact(code), code.form, *given)
        except UnknownResultError:
            return None
        if isinstance(result, Value) and result.wrong is not None and result.wrong[::3] == (code, False):
            return Exact(code).kept(result.bits, result.width, result.exact, None)  # not of a part of it
        return result if isinstance(result, Value | bool) else None

    def _held(self, code: Code, at: int) -> Value | None:
        """What `ld.param` loads from this offset of the parameter block."""
        type_, params = str(code.form.type), self.at.launch.params
        if types.is_float(type_):
            return None
        width = types.width(type_)
        number = int.from_bytes(params[at : at + width // 8], "little")
        wide = any(p.offset == at and p.size == 8 and not p.array for p in self.at.program.params)
        if wide and width < 64:
            whole = int.from_bytes(params[at : at + 8], "little")
            return Exact(code).kept(number, width, {whole}, None)
        value = meant(number, width)
        return value if types.width(code.dest_types[0]) == width else None
