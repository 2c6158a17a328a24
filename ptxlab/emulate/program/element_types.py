"""The types by which a kernel loads and stores what its parameters point to, as far as its code tells.

A load's own type says little: compilers load floats by `.b32`, and bytes are copied by any type. What counts is what
is computed with the value: `add.f32` takes it for a float, `mul.wide.s32` for an integer; shifts, masks, carries and
parts of a register take it for bits, which may be those of anything. So values are followed through blocks, from each
load to the instructions that read it, and from what computes a value to each store.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.liveness import registers_of, writes
from ptxlab.emulate.program.pointers import come_from, origins, settled
from ptxlab.emulate.program.program import Program
from ptxlab.isa import types
from ptxlab.isa.actions import Action as A

FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "f16x2": "f16", "bf16x2": "bf16", "tf32": "f32"}
"""The type of an element by that of a floating-point operand."""
_NUMBERS = {A.ADD, A.SUBTRACT, A.MULTIPLY, A.MULTIPLY_ADD, A.DIVIDE, A.MINIMUM, A.MAXIMUM, A.CHANGE_SIGN, A.CONVERT}
ANY = "*"
_PASSED = {A.MOVE, A.SELECT, A.SHUFFLE}


class Use(NamedTuple):
    """Accesses of one line. params: offsets of the parameters that the address is computed from. stores: whether it is
    a store and no load or atomic operation. type: the instruction's; bits: the width of an element; vector: elements.
    taken: the types of floats and integers that loaded values are taken for, or that stored ones were computed as, each
    with a line. as_bits: whether loaded values, or what is computed of them, are taken for bits. step: all addresses
    are this many bytes apart, or multiples of it."""

    line: int
    params: tuple[int, ...]
    stores: bool
    type: str
    bits: int
    vector: int
    taken: tuple[tuple[str, int], ...]
    as_bits: bool
    step: int


def element_uses(program: Program) -> tuple[Use, ...]:
    """The accesses to global memory whose addresses come from parameters; found once, and cached with the program."""
    if "uses" not in program.__dict__:
        program.__dict__["uses"] = tuple(map(tuple, _Followed(program).found()))
    return tuple(Use(*use) for use in program.__dict__["uses"])


def _joined(a: str, b: str) -> str:
    """The type of a value that is of one of two: a number in the text (`ANY`) is of each."""
    return a if b in (a, ANY) else b if a == ANY else ""


def kinds(program: Program) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """What needs no following: the bytes of all elements that are accessed in global memory, and all types of floats
    that are computed with; found once, and cached with the program."""
    if "kinds" not in program.__dict__:
        reaching = (code for code in program.codes if code.space in ("global", "generic"))
        widths = {types.width(kind) // 8 for code in reaching if (kind := _element(code))}
        floats = {
            FLOATS[kind] for code in program.codes for kind in (*code.source_types, *code.dest_types) if kind in FLOATS
        }
        program.__dict__["kinds"] = tuple(sorted(widths)), tuple(sorted(floats))
    found: tuple[tuple[int, ...], tuple[str, ...]] = program.__dict__["kinds"]
    return found


class _Held(NamedTuple):
    """What a register may hold at a point: values as loaded, and what is computed of them, as bit sets of loads; and
    the type that the value was computed as."""

    loaded: int = 0
    derived: int = 0
    made: str = ""


_State = dict[int, _Held]


def _join(state: _State, other: _State) -> bool:
    """Takes in what another way to a point brings; whether that is new."""
    before = dict(state)
    for register, held in other.items():
        old = state.get(register, held)
        state[register] = _Held(old.loaded | held.loaded, old.derived | held.derived, _joined(old.made, held.made))
    return state != before


class _Followed:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.taken: dict[int, dict[str, int]] = {}  # by the load or store: the types, and in which line
        self.as_bits = 0
        self.accesses = [code for code in program.codes if _element(code) and code.space in ("global", "generic")]
        self.number = {code.index: k for k, code in enumerate(self.accesses)}

    def found(self) -> Iterator[Use]:
        came_from, steps = origins(self.program), settled(self.program, _divisor, math.gcd)
        program = self.program
        before = [_State() for _ in program.blocks]
        todo, seen = [program.entry], set[int]()
        while todo:
            block = program.blocks[at := todo.pop()]
            seen.add(at)
            state = dict(before[at])
            for code in program.codes[block.first : block.last]:
                self._step(code, state)
            for following in (*block.targets, block.next):
                if following >= 0 and (_join(before[following], state) or following not in seen):
                    todo.append(following)
        for k, code in enumerate(self.accesses):
            address = next(source for source in code.sources if isinstance(source, Mem))
            came = come_from(address, came_from)
            params = tuple(sorted(pointer.value for pointer in came if pointer.space == "param"))
            if params:
                type_, taken = _element(code), tuple(self.taken.get(k, {}).items())
                yield Use(
                    code.line, params, code.action is A.STORE, type_, types.width(type_),
                    int(str(getattr(code.form, "vec", None) or "v1")[1:]), taken, bool(self.as_bits >> k & 1),
                    steps.get(address.base.index, 1) if isinstance(address.base, Reg) else 0,
                )  # fmt: skip

    def _step(self, code: Code, state: _State) -> None:
        sources = [(source, kind) for source, kind in zip(code.sources, code.source_types, strict=False) if source]
        masks = [_in(source, state) for source, _ in sources]
        loaded, derived, made = 0, 0, ""
        if code.index in self.number:
            self._access(code, state)
            loaded = 1 << self.number[code.index] if code.action is A.LOAD else 0
        elif code.action in _PASSED:
            parts = any(isinstance(operand, Group) for operand in (*code.sources, *code.dests))
            data = [k for k, (_, kind) in enumerate(sources) if kind != "pred"][: 1 if code.action is A.SHUFFLE else 2]
            for k in data:
                loaded, derived = loaded | masks[k][0], derived | masks[k][1]
            self.as_bits |= loaded | derived if parts else 0
            kinds = [_made(*sources[k], state) for k in data]
            made = "" if parts or not kinds else functools.reduce(_joined, kinds)
        elif code.form.op.kind == "pure":
            for (_, kind), (value, more) in zip(sources, masks, strict=True):
                derived |= value | more
                self._take(code, kind, value, more)
            if code.dest_types and (_is_number(code, code.dest_types[0]) or code.dest_types[0] in FLOATS):
                made = code.dest_types[0]
        now = _Held(loaded, derived, made)
        for register in writes(code):
            if code.guard is None:
                state[register] = now
            else:
                _join(state, {register: now})

    def _take(self, code: Code, kind: str, value: int, more: int) -> None:
        """An instruction reads loaded values, and others that are computed of some, by an operand of a type."""
        if kind in FLOATS:
            self._note(value, FLOATS[kind], code.line)
        elif _is_number(code, kind):
            self._note(value, kind, code.line)
        elif code.action is not A.COMPARE and kind != "pred":
            self.as_bits |= value | more

    def _note(self, value: int, kind: str, line: int) -> None:
        for k in range(value.bit_length()):
            if value >> k & 1:
                self.taken.setdefault(k, {}).setdefault(kind, line)

    def _access(self, code: Code, state: _State) -> None:
        """A store, or an atomic operation, of a type of its own."""
        k, kind = self.number[code.index], _element(code)
        if code.properties.atomic:
            words = code.form.opcode.split(".")
            if kind in FLOATS or (kind[0] in "us" and {"add", "min", "max", "inc", "dec"} & set(words)):
                self._note(1 << k, FLOATS.get(kind, kind), code.line)
        elif code.action is A.STORE:
            (value,) = (source for source in code.sources[1:2])
            parts = value.elements if isinstance(value, Group) else (value,)
            made = functools.reduce(_joined, [_made(part, kind, state) for part in parts])
            if made and made != ANY:
                self._note(1 << k, FLOATS.get(made, made), code.line)


def _element(code: Code) -> str:
    """The type of the elements that an instruction loads, stores or changes; empty for all others."""
    scalar = code.properties.scalar_memory and code.instruction is not None
    kind = str(code.form.type) if scalar else ""
    return kind if kind[:1] in ("b", "f", "u", "s") else ""


def _is_number(code: Code, kind: str) -> bool:
    """Whether an instruction takes an operand of an integer type for a number, not for bits."""
    words = code.form.opcode.split(".")
    if kind[:1] not in ("u", "s") or not kind[1:].isdigit() or {"cc", "hi"} & set(words):
        return False
    ordered = code.action is A.COMPARE and not {"eq", "ne"} & set(words)
    return code.action in _NUMBERS or ordered


def _made(source: Source | None, kind: str, state: _State) -> str:
    """The type that a value was computed as; that of the operand for a number or a special register."""
    if isinstance(source, Literal):
        return ANY if source.kind == "int" else source.kind
    if isinstance(source, Special):
        return kind
    return state.get(source.index, _Held()).made if isinstance(source, Reg) else ""


def _in(source: Source | None, state: _State) -> tuple[int, int]:
    """The loaded values, and those computed of some, that an operand may hold; of an address nothing counts."""
    loaded = derived = 0
    for register in () if isinstance(source, Mem) else registers_of(source):
        held = state.get(register, _Held())
        loaded, derived = loaded | held.loaded, derived | held.derived
    return loaded, derived


def _divisor(code: Code, steps: dict[int, int], _: int) -> int:
    """What divides an instruction's result, apart from the address in a parameter; 0 where nothing is added to it."""

    def of(source: Source | None) -> int:
        if isinstance(source, Literal):
            return abs(int(source.value)) if source.kind == "int" else 1
        if isinstance(source, Reg):
            return steps.get(source.index, 0)
        return 0 if isinstance(source, Symbol) else 1

    if code.action is A.LOAD:
        wide = types.width(str(code.form.type)) == 64
        return 0 if code.space == "param" and wide else 1
    given = [of(source) for source in code.sources if source is not None]
    if code.action in (A.ADD, A.SUBTRACT, A.OR, A.MOVE, A.CONVERT, A.CONVERT_ADDRESS):
        return math.gcd(*given)
    if code.action is A.AND and isinstance(code.sources[1], Literal):
        mask = int(code.sources[1].value)
        return mask & -mask
    if code.action is A.SELECT:
        return math.gcd(*given[:2])
    if code.action in (A.MULTIPLY, A.MULTIPLY_ADD) and "hi" not in code.form.opcode.split("."):
        return math.gcd(given[0] * given[1], *given[2:])
    if code.action is A.SHIFT_LEFT and isinstance(code.sources[1], Literal):
        return given[0] << min(int(code.sources[1].value), 31)
    return 1
