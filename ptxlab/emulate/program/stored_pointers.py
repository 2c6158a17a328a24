"""Which pointers a kernel stores through: the parameters and variables that the addresses of its stores come from.

That is a guess at what a launch writes to: indices may lead elsewhere. Who relies on it has to watch each store.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Code, Group, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.liveness import registers_of, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa import types
from ptxlab.isa.actions import Action

ELSEWHERE = "elsewhere"


class Pointer(NamedTuple):
    """Where an address comes from. space: "param", and `value` is the offset in the parameter block; "global", and it
    is a variable's address; `ELSEWHERE`: no global memory."""

    space: str
    value: int


def stored_through(program: Program) -> frozenset[Pointer] | None:
    """The pointers; None where the address of a store comes from none that is known, as from one in memory."""
    if stored_through not in program.found:
        program.found[stored_through] = _stored_through(program)
    found = program.found[stored_through]
    return found if isinstance(found, frozenset) else None


def _stored_through(program: Program) -> frozenset[Pointer] | None:
    addresses = _addresses(program)
    if addresses is None:
        return None
    origins = _origins(program)
    found = set[Pointer]()
    for address in addresses:
        came = _come_from(address, origins)
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


def _origins(program: Program) -> dict[int, set[Pointer]]:
    """What each register may be computed from."""
    origins: dict[int, set[Pointer]] = {}
    changed = True
    while changed:
        changed = False
        for code in program.codes:
            for register, came in _results(code, origins):
                held = origins.setdefault(register, set())
                changed = changed or not came <= held
                held |= came
    return origins


def _results(code: Code, origins: dict[int, set[Pointer]]) -> list[tuple[int, set[Pointer]]]:
    """What an instruction's results come from."""
    if code.action is Action.LOAD and code.space == "param":
        return _parameters(code)
    if code.properties.loads:  # pointers in memory are not followed
        return []
    came = set[Pointer]().union(*(_come_from(source, origins) for source in code.sources))
    return [(register, came) for register in writes(code)] if came else []


def _parameters(code: Code) -> list[tuple[int, set[Pointer]]]:
    (address,) = (source for source in code.sources if isinstance(source, Mem))
    if not isinstance(address.base, Symbol):
        return []
    (dest,) = code.dests
    first, size = address.base.value + address.offset, types.width(str(code.form.type)) // 8
    elements = dest.elements if isinstance(dest, Group) else (dest,)
    return [
        (element.index, {Pointer("param", first + k * size)})
        for k, element in enumerate(elements)
        if isinstance(element, Reg)
    ]


def _come_from(source: Source | None, origins: dict[int, set[Pointer]]) -> set[Pointer]:
    """What an operand may be computed from."""
    base = source.base if isinstance(source, Mem) else source
    if isinstance(base, Symbol):
        return {Pointer("global", base.value) if base.space == "global" else Pointer(ELSEWHERE, 0)}
    return set[Pointer]().union(*(origins.get(register, ()) for register in registers_of(source)))
