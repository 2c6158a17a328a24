"""The targets of a program's pointers: what a kernel stores through, and which local array an access is meant for.

The parameters and variables that the addresses of stores come from are a guess at what a launch writes to: indices may
lead elsewhere. Users of it must watch each store.

nvcc puts all arrays and structures of a function into one variable, `__local_depot0`, and a pointer to one of them
begins as a sum: `add.u64 %rd7, %SPL, 48;`. These sums, and only they, say where objects begin: pointers to elements and
fields are computed from that of their object, or their place is in the offset of an access (so it is with NVVM 7 and
23, for sm_75 to sm_120, optimized or not). So each register is followed that is computed from one such pointer and from
numbers. What is computed from two of them, or from one in a way that is not understood, is not.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeVar

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.liveness import registers_of, writes
from ptxlab.emulate.program.program import Program, once
from ptxlab.isa import types
from ptxlab.isa.actions import Action

T = TypeVar("T")


def settled(
    program: Program, value: Callable[[Code, dict[int, T], int], T | None], joined: Callable[[T, T], T]
) -> dict[int, T]:
    """What each register may hold anywhere in a program. value: what an instruction puts into a register, None while
    that is not known; joined: what a register may hold that two instructions write."""
    held: dict[int, T] = {}
    changed = True
    while changed:
        changed = False
        for code in program.codes:
            for register in writes(code):
                if (now := value(code, held, register)) is not None:
                    now = joined(held[register], now) if register in held else now
                    changed = changed or held.get(register) != now
                    held[register] = now
    return held


ELSEWHERE = "elsewhere"


class Pointer(NamedTuple):
    """The origin of an address. space: "param", and `value` is the offset in the parameter block; "global", and it
    is a variable's address; `ELSEWHERE`: no global memory."""

    space: str
    value: int


@once
def stored_through(program: Program) -> frozenset[Pointer] | None:
    """The pointers; None where the address of a store comes from none that is known, as from one in memory."""
    addresses = _addresses(program)
    if addresses is None:
        return None
    came_from = origins(program)
    found = set[Pointer]()
    for address in addresses:
        came = come_from(address, came_from)
        if not came:
            return None
        found |= came
    return frozenset(found)


def _addresses(program: Program) -> list[Source] | None:
    """The addresses of stores and atomic operations in global memory; None where some have no operand that says it."""
    found = list[Source]()
    for code in program.codes:
        writing = [access for access in code.accesses if access.what != "load"]
        if code.properties.stores and not writing:
            return None
        for access in writing:
            address = code.named[access.operand][0]
            if access.space in ("global", "generic") and address is not None:
                found.append(address)
    return found


@once
def origins(program: Program) -> dict[int, set[Pointer]]:
    """What each register may be computed from."""
    return settled(program, _came_from, set.union)


def _came_from(code: Code, held_in: dict[int, set[Pointer]], register: int) -> set[Pointer] | None:
    """What an instruction's result comes from."""
    if code.action is Action.LOAD and code.space == "param":
        return _parameter(code, register)
    if code.properties.loads:  # pointers in memory are not followed
        return None
    return set[Pointer]().union(*(come_from(source, held_in) for source in code.sources)) or None


def _parameter(code: Code, register: int) -> set[Pointer] | None:
    (address,) = (source for source in code.sources if isinstance(source, Mem))
    if not isinstance(address.base, Symbol):
        return None
    (dest,) = code.dests
    elements = dest.elements if isinstance(dest, Group) else (dest,)
    before = next(k for k, element in enumerate(elements) if register in registers_of(element))
    size = types.width(str(code.form.type)) // 8
    return {Pointer("param", address.base.value + address.offset + before * size)}


def come_from(source: Source | None, held_in: dict[int, set[Pointer]]) -> set[Pointer]:
    """What an operand may be computed from."""
    base = source.base if isinstance(source, Mem) else source
    if isinstance(base, Symbol):
        return {Pointer("global", base.value) if base.space == "global" else Pointer(ELSEWHERE, 0)}
    return set[Pointer]().union(*(held_in.get(register, ()) for register in registers_of(source)))


DEPOT = "__local_depot"
"""What the names of such variables begin with."""
_NUMBER, _MIXED = -1, -2
"""Instead of where an object begins: the register holds no such pointer; it is not known what it holds."""
_WHOLE = 1 << 40
"""Added to where a variable begins: of a pointer from which those to its objects are computed."""


@once
def local_bounds(program: Program) -> dict[int, tuple[int, int]]:
    """For accesses, by code index, the bytes of local memory in which their object lies: its first, and that behind."""
    depots = [(at, size) for name, at, size in program.local_names if name.startswith(DEPOT)]
    if not depots:
        return {}
    held = _followed(program)
    ends: dict[int, int] = {}
    for at, size in depots:
        begins = sorted({x for x in held.values() if at <= x < at + size})
        ends |= dict(pairwise([*begins, at + size]))
    return {
        code.index: (begin, ends[begin])
        for code in program.codes
        if (code.properties.plain or code.properties.atomic) and code.instruction is not None
        for source in code.sources
        if isinstance(source, Mem) and isinstance(source.base, Reg)
        if (begin := held.get(source.base.index, _NUMBER)) in ends
    }


def _followed(program: Program) -> dict[int, int]:
    """For each register the object that it points into, by where that begins."""
    return settled(program, _value, lambda a, b: a if a == b else _MIXED)


def _value(code: Code, held: dict[int, int], _: int) -> int | None:
    """What an instruction computes; None if that of no source is known yet."""
    if code.form.op.kind != "pure":
        return _NUMBER
    given = [_source(source, held) for source in code.sources]
    known = [x for x in given if x is not None]
    pointers = [x for x in known if x != _NUMBER]
    if given and not known:
        return None
    if not pointers:
        return _NUMBER
    first = pointers[0]
    if len(pointers) > 1:
        same = code.action is Action.SELECT and pointers.count(first) == len(pointers)
        return first if same else _MIXED
    if code.action in (Action.MOVE, Action.CONVERT_ADDRESS):
        return first
    if code.action is Action.ADD and first >= _WHOLE:
        numbers = [source.value for source in code.sources if isinstance(source, Literal)]
        return first - _WHOLE + int(numbers[0]) if numbers else _MIXED
    adds = code.action in (Action.ADD, Action.OR)
    adds = adds or (code.action is Action.SUBTRACT and given[0] == first)
    adds = adds or (code.action is Action.MULTIPLY_ADD and given[2] == first)
    return first if adds and first < _WHOLE else _MIXED


def _source(source: Source | None, held: dict[int, int]) -> int | None:
    """What an operand points into; None if that is not known yet."""
    if isinstance(source, Reg):
        return held.get(source.index)
    if isinstance(source, Symbol) and source.space == "local" and source.name.startswith(DEPOT):
        return source.value + _WHOLE
    if isinstance(source, Group):
        pointing = [held.get(r, _NUMBER) for r in registers_of(source)]
        return _NUMBER if all(x == _NUMBER for x in pointing) else _MIXED
    return _NUMBER
