"""Which array or structure of a thread's local memory an access is meant for.

nvcc puts all arrays and structures of a function into one variable, `__local_depot0`, and a pointer to one of them
begins as a sum: `add.u64 %rd7, %SPL, 48;`. These sums, and only they, say where objects begin: pointers to elements and
fields are computed from that of their object, or their place is in the offset of an access (so it is with NVVM 7 and
23, for sm_75 to sm_120, optimized or not). So each register is followed that is computed from one such pointer and from
numbers. What is computed from two of them, or from one in a way that is not understood, is not.
"""

from __future__ import annotations

from itertools import pairwise

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action

DEPOT = "__local_depot"
"""What the names of such variables begin with."""
_NUMBER, _MIXED = -1, -2
"""In place of where an object begins: of a register that holds no such pointer; of one of which it is not known."""
_WHOLE = 1 << 40
"""Added to where a variable begins: of a pointer from which those to its objects are computed."""


def local_bounds(program: Program) -> dict[int, tuple[int, int]]:
    """For accesses, by code index, the bytes of local memory in which their object lies: its first, and that behind."""
    found = program.found.get(local_bounds)
    if not isinstance(found, dict):
        program.found[local_bounds] = found = _bounds(program)
    return found


def _bounds(program: Program) -> dict[int, tuple[int, int]]:
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
    held: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for code in program.codes:
            value = _value(code, held)
            if value is None:
                continue
            for register in (r for dest in code.dests for r in registers_of(dest)):
                now = value if held.get(register, value) == value else _MIXED
                if held.get(register) != now:
                    held[register], changed = now, True
    return held


def _value(code: Code, held: dict[int, int]) -> int | None:
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
