"""Registers that may be used before anything is written to them: what initcheck follows while a program runs.

A register that some path reads before it is written (it is live-in at the entry block) has no value at first. To read
one is no error: a guarded load leaves such registers in the lanes that the guard excludes, and arithmetic on them does
no harm as long as its result is not used. So initcheck follows these registers and what is computed from them, lane by
lane, and looks for a use: an address, a guard, the value of a store to global or shared memory or of an atomic
operation, an operand of a barrier. In a program without such registers nothing is followed.

Correct programs must never be reported, so some wrong ones are not:

- A result that combines bits of its sources (`mov` of a pair, `selp`, `prmt`, `bfi`, `and`, `or`) has a value if one of
  them has one; so does a vector that is stored. Any other result has a value if all its sources have one.
- Instructions that read other lanes (votes, matrix instructions) use a register only if no lane has a value. A shuffle
  does so, too, unless it is plain which lanes it reads; then a lane gets a value from one that has a value.
- What is stored to local memory or in a single byte, or passed to a function, is not followed further.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source
from ptxlab.emulate.program.liveness import live_in, registers_of
from ptxlab.emulate.program.program import Program, once
from ptxlab.isa import Action, types
from ptxlab.isa.lanes import MODES

FOLLOWED, USED, USED_BY_WARP, SHUFFLED = range(4)
"""How an instruction uses its sources: its result depends on them; each lane uses them; the warp does; the result of a
lane depends on the source of another one."""

_BITWISE = frozenset({Action.AND, Action.OR, Action.EXCLUSIVE_OR, Action.NOT, Action.REARRANGE})
_CHOICES = frozenset({Action.SELECT, Action.SELECT_BY_SIGN})
_ZEROED = frozenset({Action.AND, Action.MULTIPLY})
_CANCELLED = frozenset({Action.EXCLUSIVE_OR, Action.SUBTRACT})


class Flow(NamedTuple):
    """What an instruction does to the registers that are followed, which have numbers of their own here: it needs a
    value in one register of each group, and its results have a value where all groups have one. shuffle: the mode of
    one, by how many lanes, and the clamp operand."""

    how: int
    groups: tuple[tuple[int, ...], ...]
    results: tuple[int, ...]
    shuffle: tuple[int, ...] = ()

    def table(self) -> list[int]:
        """The flow in numbers, as `rules.register_checks` takes it."""
        groups = [x for group in self.groups for x in (len(group), *group)]
        return [self.how, 3 + len(groups), len(self.groups), *groups, len(self.results), *self.results, *self.shuffle]


class RegisterFlow(NamedTuple):
    """Registers followed in a program. registers: their indices, in the order of their numbers here. guards, flows: by
    code index, the flow of the guard and of the other operands. origins: for each index the registers without a value
    at the entry that it may be computed from. carried: the loads, by code index, whose results are only passed on:
    copies of structures include unwritten padding and empty objects; setting a bit-field keeps the rest of its word;
    calls save registers. copied: the loads whose results are only passed on to memory of any kind."""

    registers: tuple[int, ...]
    guards: dict[int, Flow]
    flows: dict[int, Flow]
    origins: dict[int, tuple[int, ...]]
    carried: frozenset[int]
    copied: frozenset[int]


@once
def register_flow(program: Program) -> RegisterFlow:
    """The registers that initcheck follows in a program."""
    shuffles = _shuffles(program)
    origins = _origins(program, shuffles)
    registers = tuple(sorted(origins))
    numbers = {r: n for n, r in enumerate(registers)}
    guards: dict[int, Flow] = {}
    flows: dict[int, Flow] = {}
    for code in program.codes if registers else ():
        if code.guard is not None and code.guard[0] in numbers:
            guards[code.index] = Flow(USED, ((numbers[code.guard[0]],),), ())
        groups = tuple(tuple(numbers[r] for r in group) for group in _groups(code) if origins.keys() >= {*group})
        results = tuple(numbers[r] for r in _results(code) if r in numbers)
        if code.index in shuffles and len(groups) == len(results) == 1:
            moved = [registers[x] for x in (*groups[0], *results)]
            if moved == [*registers_of(code.sources[0]), *registers_of(code.dests[0])]:
                flows[code.index] = Flow(SHUFFLED, groups, results, shuffles[code.index])
                continue
        if results or (groups and _how(code) != FOLLOWED):
            flows[code.index] = Flow(_how(code), groups, results)
    stores = _passed_on(program, lambda code: code.action is Action.STORE)
    passed = _passed_on(program, _stores_on), stores
    return RegisterFlow(registers, guards, flows, {r: tuple(sorted(found)) for r, found in origins.items()}, *passed)


def _shuffles(program: Program) -> dict[int, tuple[int, ...]]:
    """The shuffles whose mode and operands are known, by code index: see `Flow.shuffle`."""
    numbers = _constants(program)
    found = {}
    for code in program.codes:
        if code.action is Action.SHUFFLE:
            given = [numbers.get(s.index) if isinstance(s, Reg) else s for s in code.sources[1:3]]
            plain = [int(s.value) & 0xFFFFFFFF for s in given if isinstance(s, Literal)]
            if len(plain) == 2:
                found[code.index] = MODES.index(str(code.form.mode)), *plain
    return found


def _constants(program: Program) -> dict[int, Literal]:
    """Registers that are written once, with a number: compilers keep the operands of shuffles in some."""
    found: dict[int, Literal] = {}
    written: set[int] = set()
    for code in program.codes:
        source = code.sources[0] if code.action is Action.MOVE and code.guard is None else None
        for register in _results(code):
            if isinstance(source, Literal) and register not in written:
                found[register] = source
            else:
                found.pop(register, None)
            written.add(register)
    return found


def _origins(program: Program, shuffles: Container[int]) -> dict[int, set[int]]:
    """For each register that may have no value, the registers at the entry that cause it."""
    entry = live_in(program)[0] if program.blocks else 0
    read = {r for code in program.codes for group in _groups(code) for r in group}
    read |= {code.guard[0] for code in program.codes if code.guard is not None}
    # one without a function is lowering's own, and begins as zero
    origins = {r: {r} for r in read if entry >> r & 1 and program.registers[r].function}
    changed = bool(origins)
    while changed:
        changed = False
        for code in program.codes:
            if _how(code) != FOLLOWED and code.index not in shuffles:
                continue
            groups = [group for group in _groups(code) if origins.keys() >= {*group}]
            came = {origin for group in groups for r in group for origin in origins[r]}
            results = registers_of(code.dests[0]) if code.index in shuffles else _results(code)
            for dest in results if came else ():
                held = origins.setdefault(dest, set())
                changed = changed or not came <= held
                held |= came
    return origins


def _results(code: Code) -> list[int]:
    return [r for dest in code.dests for r in registers_of(dest)]


def _how(code: Code) -> int:
    form = code.form
    if form.op.kind in ("pure", "none") or code.instruction is None:  # None: added by lowering
        return FOLLOWED
    return USED_BY_WARP if form.op.kind in ("lane", "warp") else USED


def _groups(code: Code) -> list[tuple[int, ...]]:
    """Groups of registers: an instruction needs a value in one register of each group."""
    form = code.form
    sources = [s for s in code.sources if s is not None]
    if form.op.kind == "none":
        return []
    action = code.action
    if action in _CANCELLED and len(sources) == 2 and sources[0] == sources[1]:
        return []  # zero, whatever the register holds
    if action in _ZEROED and any(isinstance(s, Literal) and s.value == 0 for s in sources):
        return []  # zero as well
    if action is Action.STORE and (code.space in ("local", "frame") or _is_byte(code)):
        sources = [s for s in sources if isinstance(s, Mem)]
    if action in _CHOICES:
        return [*_one_of(sources[:2]), *_one_of(sources[2:])]
    if action is Action.CONVERT and len(sources) > 1:
        return _one_of(sources)
    if action in _BITWISE or (action is Action.COMPARE and len(sources) > 2):
        together = tuple(r for s in sources for r in registers_of(s))
        return [together] if together else []
    return [group for s in sources for group in _one_of([s])]


def _one_of(sources: list[Source]) -> list[tuple[int, ...]]:
    """Some sources as one group; no group if a number or the like is among them."""
    parts = [e for s in sources for e in (s.elements if isinstance(s, Group) else (s,)) if e is not None]
    if not parts or not all(isinstance(e, Reg | Inverted) or (isinstance(e, Mem) and registers_of(e)) for e in parts):
        return []
    return [tuple(r for e in parts for r in registers_of(e))]


def _passed_on(program: Program, passes: Callable[[Code], bool]) -> frozenset[int]:
    """The loads whose results are only passed on, by stores that `passes` names: see `RegisterFlow`."""
    used: set[int] = set()
    passing: list[tuple[list[int], set[int]]] = []  # sources and results of instructions that only pass bits on
    for code in program.codes:
        if code.guard is not None:
            used.add(code.guard[0])
        addresses = {r for s in code.sources if isinstance(s, Mem) for r in registers_of(s)}
        sources = {r for s in code.sources for r in registers_of(s)}
        if passes(code):
            used |= addresses
        elif code.action is Action.MOVE or code.action in _BITWISE:
            passing.append((_results(code), sources))
        else:
            used |= sources
    changed = True
    while changed:
        changed = False
        for results, sources in passing:
            if not used.isdisjoint(results) and not sources <= used:
                used |= sources
                changed = True
    return frozenset(
        code.index
        for code in program.codes
        if code.action is Action.LOAD and (code.instruction is None or used.isdisjoint(_results(code)))
    )


def _stores_on(code: Code) -> bool:
    """Whether a store may be part of a copy that includes unwritten bytes: of a word to other memory of the thread, or
    anywhere; of a byte, as in padding and empty objects, to memory that other threads see as well."""
    if code.action is not Action.STORE:
        return False
    return code.space in ("local", "frame", "generic") or _is_byte(code)


def _is_byte(code: Code) -> bool:
    """Whether an access is to a single byte: debug builds store empty objects, from registers without a value."""
    return types.width(code.form.type) == 8 and not code.form.vec
