"""Waits for an mbarrier that *spin*: once such a wait has failed, its thread can do nothing until the phase has ended.

Whatever the thread does then, as long as that phase of that mbarrier has not ended, it only computes, reads and waits
again: it stores nothing, arrives nowhere, and each way out leads past a wait for the same phase of the same mbarrier
that succeeds. The loop may compute the address again, count its attempts, sleep, read the clock, wait in several places
and ask for other mbarriers in between. A loop that also ends after a number of attempts, after some time, or when a
flag in memory is set does not spin.

Two analyses find that; both follow calls into functions. `_Values` tells which waits ask for the same: it gives each
value that an operand is computed from a number, so that equal numbers mean equal values. `_Attempt` follows a thread
whose wait has failed.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.graphs import dominators, reachable
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.program import Program, once
from ptxlab.isa.actions import Action

WAITS = (Action.MBARRIER_TEST, Action.MBARRIER_WAIT)
HARMLESS = frozenset({Action.SLEEP, Action.NOTHING, Action.FENCE, Action.PREFETCH, Action.LOAD, Action.ACTIVE_MASK})
"""What a thread may do between two attempts, beside waiting, jumping and computing. Exchanges with other lanes are not
among it: they may wait for that."""
MOST_BLOCKS = 256
"""Basic blocks that are followed from a wait."""

MOST_PLACES = 1 << 14
"""Basic blocks of a program, those of a function once for each way to call it, that are looked at; calls in calls."""
DEEPEST = 32

Place = tuple[tuple[int, ...], int]
"""A basic block, and before it the blocks to which the calls return that led to its function."""
State = dict[int, int]
"""Numbers of values, by register."""
Known = dict[int, Any]
"""Values of registers that are known, a bool for a predicate."""


def spins(program: Program, wait: Code) -> bool:
    """Whether a wait for an mbarrier spins, wherever the function is called that has it."""
    return wait.index in _spinning(program)


@once
def _spinning(program: Program) -> set[int]:
    """The code indices of the waits that spin."""
    if not any(code.action in WAITS for code in program.codes):
        return set()
    values = _Values(_Ways(program))
    free = {wait for (place, wait), asked in values.asked.items() if not _Attempt(values, place, wait, asked).spins()}
    return {wait for _, wait in values.asked} - free


class _Ways:
    """A program as a graph of places. Words of frames by which functions pass arguments are registers like others here,
    with negative numbers, if they are accessed as wholes only."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._passed: dict[int, list[int]] = {}
        passing = {code.index: _passes(code) for code in program.codes if code.space == "frame"}
        reached = sorted({word for words in passing.values() for word in words})
        disjoint = all(at + size <= following for (at, size), (following, _) in itertools.pairwise(reached))
        if (
            disjoint
            and reached
            and not any(_names_frame(code) for code in program.codes if not passing.get(code.index))
        ):
            number = {word: -1 - k for k, word in enumerate(reached)}
            self._passed = {index: [number[word] for word in words] for index, words in passing.items()}

    def passed(self, code: Code) -> list[int]:
        """The registers that stand for the words that an instruction passes; what it reads comes first."""
        return self._passed.get(code.index, [])

    def reads(self, code: Code) -> list[int]:
        """The registers that an instruction reads."""
        return [*reads(code), *(self.passed(code)[:1] if code.action is not Action.STORE else [])]

    def writes(self, code: Code) -> list[int]:
        """The registers that it writes."""
        return [*writes(code), *(self.passed(code)[-1:] if code.action is not Action.LOAD else [])]

    def codes(self, place: Place) -> list[Code]:
        """The instructions there."""
        block = self.program.blocks[place[1]]
        return self.program.codes[block.first : block.last]

    def onward(self, place: Place) -> list[Place]:
        """The places that may follow."""
        last = self.codes(place)[-1]
        passes = last.action not in (Action.CALL, Action.RETURN, Action.BRANCH, Action.INDEXED_BRANCH)
        found = [] if passes else self.jumps(place, last)
        return found + (self.falls(place) if passes or last.guard is not None else [])

    def falls(self, place: Place) -> list[Place]:
        """The one behind it, if there is any."""
        following = self.program.blocks[place[1]].next
        return [(place[0], following)] if following >= 0 else []

    def jumps(self, place: Place, code: Code) -> list[Place]:
        """The places to which a branch, a call or a return leads."""
        calls, at = place
        if code.action is Action.CALL:
            return [((*calls, self.program.blocks[at].next), code.target)]
        if code.action is Action.RETURN:
            return [(calls[:-1], calls[-1])] if calls and calls[-1] >= 0 else []
        return [(calls, target) for target in code.targets]


def _passes(code: Code) -> list[tuple[int, int]]:
    """The words of frames that an instruction accesses and no other memory: where, and how many bytes."""
    if code.copy is not None:
        source, to, size = code.copy
        return [(source, size), (to, size)]
    if code.action in (Action.LOAD, Action.STORE) and not any(
        isinstance(s, Group) for s in (*code.dests, *code.sources)
    ):
        (memory,) = (source for source in code.sources if isinstance(source, Mem))
        if isinstance(memory.base, Symbol):
            return [(memory.base.value + memory.offset, code.accesses[0].size)]
    return []


def _names_frame(code: Code) -> bool:
    """Whether an instruction uses the address of a word of a frame."""
    sources = [source.base if isinstance(source, Mem) else source for source in code.sources]
    return any(isinstance(source, Symbol) and source.space == "frame" for source in sources)


def _computes(code: Code) -> bool:
    """Whether an instruction only computes; the results of those with a carry bit also depend on the one before."""
    return code.form.op.kind == "pure" and code.form.op.sem is not None


def _repeats(code: Code, passed: list[int]) -> bool:
    """Whether an instruction gives the same result each time that it has the same operands. passed: the words by which
    it passes arguments or takes them."""
    if code.action in (Action.LOAD, Action.STORE, Action.PASS_ARGUMENTS):
        constant = code.action is Action.LOAD and code.space in ("param", "const") and not code.properties.strong
        return constant or bool(passed)
    carries = code.form.cc is not None
    changing = any(isinstance(s, Special) and s.name.startswith(("%clock", "%globaltimer")) for s in code.sources)
    return _computes(code) and not carries and not changing


class _Values:
    """The values that the operands of some waits are computed from, by numbers. Equal numbers are equal values, unless
    they change in between (`changes`)."""

    def __init__(self, ways: _Ways) -> None:
        self.ways, codes = ways, ways.program.codes
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._keys: list[tuple[Any, ...]] = []
        self.asked: dict[tuple[Place, int], int] = {}
        """By place and code index of a wait: the number of the mbarrier and the phase that it asks for."""
        writers: dict[int, list[Code]] = {}
        for code in codes:
            for r in ways.writes(code):
                writers.setdefault(r, []).append(code)
        self._needed = reachable(
            (r for code in codes if code.action in WAITS for r in reads(code)),
            lambda r: [each for code in writers.get(r, ()) for each in self._from(code)],
        )
        """The registers that the operands are computed from."""
        self._follow()

    def _from(self, code: Code) -> list[int]:
        """The registers on which the results of an instruction depend."""
        guard = [] if code.guard is None else [code.guard[0]]
        return self.ways.reads(code) if _repeats(code, self.ways.passed(code)) else guard

    def changes(self, number: int, places: set[Place]) -> bool:
        """Whether a value may be another one after a way through some places."""
        todo, seen = [number], set[int]()
        while todo:
            what, *of = self._keys[todo.pop()]
            if what in ("at", "join") and of[0] in places:
                return True
            if what == "of":
                todo += [each for each in of[1:] if each not in seen]
                seen.update(of[1:])
        return False

    def _number(self, *key: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return self._numbers[key]

    def _follow(self) -> None:
        """Computes with numbers through the program. A register has a new number where ways with different values join
        (`_joins`), elsewhere the number that it has in the place that dominates this one."""
        start: Place = (), self.ways.program.entry
        onwards: dict[Place, list[Place]] = {}
        todo = [start]
        while todo:
            at = todo.pop()
            if at not in onwards:
                onwards[at] = self.ways.onward(at)
                todo += onwards[at]
                if len(onwards) > MOST_PLACES or len(at[0]) > DEEPEST:
                    return  # no wait is known to spin
        over, written = dominators(start, onwards.__getitem__), dict[int, list[Place]]()
        for at in over:
            for code in self.ways.codes(at):
                for r in self._needed.intersection(self.ways.writes(code)):
                    written.setdefault(r, []).append(at)
        joins = _joins(over, onwards, written)
        behind: dict[Place, State] = {}
        for at, above in over.items():
            state = dict(behind[above]) if at != start else {r: self._number("start", r) for r in self._needed}
            state |= {r: self._number("join", at, r) for r in joins.get(at, ())}
            for code in self.ways.codes(at):
                if code.action in WAITS:
                    named = code.named
                    source, _ = named.get("parity") or named["state"]
                    of = self._operand(named["a"][0], state), self._operand(source, state)
                    self.asked[at, code.index] = self._number("of", (code.space, "parity" in named), *of)
                self._executes(code, at, state)
            behind[at] = state

    def _executes(self, code: Code, at: Place, state: State) -> None:
        written, new = self.ways.writes(code), State()
        for k, r in enumerate(written):
            if r not in self._needed:
                continue
            if not _repeats(code, self.ways.passed(code)):
                new[r] = self._number("at", at, code.index, k)
            elif passed := self.ways.passed(code):  # wherever the frame lies
                given = self._operand(code.sources[1], state) if code.action is Action.STORE else state[passed[0]]
                new[r] = given if code.copy is not None else self._number("of", code.form.opcode, given)
            elif len(written) == 1:
                new[r] = self._of(code, state)
            else:
                new[r] = self._number("of", k, self._of(code, state))
            if code.guard is not None:
                new[r] = self._number("of", code.guard[1], state[code.guard[0]], new[r], state[r])
        state |= new

    def _of(self, code: Code, state: State) -> int:
        """The number of what an instruction computes; of a plain move that of its operand."""
        of = [self._operand(source, state) for source in code.sources]
        plain = code.action is Action.MOVE and len(of) == 1 and isinstance(code.sources[0], Reg | Literal | Symbol)
        return of[0] if plain and isinstance(code.dests[0], Reg) else self._number("of", code.form.opcode, *of)

    def _operand(self, source: Source | None, state: State) -> int:
        if isinstance(source, Reg):
            return state[source.index]
        if isinstance(source, Mem):
            return self._number("of", ("+", source.offset), self._operand(source.base, state))
        if isinstance(source, Inverted):
            return self._number("of", "!", self._operand(source.operand, state))
        if isinstance(source, Group):
            return self._number("of", "{}", *(self._operand(each, state) for each in source.elements))
        if isinstance(source, Literal):
            return self._number("is", source.value, source.kind, source.bits)
        if isinstance(source, Symbol):
            return self._number("is", source.space, source.value)
        return self._number("is", "" if source is None else source.name)


def _joins(
    over: dict[Place, Place], onwards: dict[Place, list[Place]], written: dict[int, list[Place]]
) -> dict[Place, set[int]]:
    """For each place the registers that may have different values on the ways to it: the dominance of a place that
    writes them ends there, or that of one where such ways join."""
    ends: dict[Place, set[Place]] = {}
    for place in over:
        for following in onwards[place]:
            at: Place | None = place
            last = over[following] if over[following] != following else None
            while at is not None and at != last:
                ends.setdefault(at, set()).add(following)
                at = over[at] if over[at] != at else None
    found: dict[Place, set[int]] = {}
    for r, places in written.items():
        todo = list(places)
        while todo:
            for end in ends.get(todo.pop(), ()):
                if r not in found.setdefault(end, set()):
                    found[end].add(r)
                    todo.append(end)
    return found


class _Attempt:
    """A thread whose wait has failed, on all its ways as long as waits for the same fail, too."""

    def __init__(self, values: _Values, place: Place, wait: int, asked: int) -> None:
        self.values, self.ways, self.place, self.asked = values, values.ways, place, asked
        self.wait = self.ways.program.codes[wait]

    def spins(self) -> bool:
        """Whether these ways never lead to anything but such waits, for what does not change on them."""
        (answer,) = self.wait.dests or (None,)
        if not isinstance(answer, Reg):
            return False
        found: dict[Place, Known] = {}
        todo = list(self._from(self.place, self.wait.index + 1, {answer.index: False}))
        while todo:
            at, known = todo.pop()
            if at is None or len(found) > MOST_BLOCKS:
                return False
            before = found.get(at)
            if before is not None:
                known = {r: value for r, value in before.items() if r in known and known[r] == value}
            if known != before:
                found[at] = known
                todo += self._from(at, 0, dict(known))
        return not self.values.changes(self.asked, set(found))

    def _from(self, place: Place, first: int, known: Known) -> Iterator[tuple[Place | None, Known]]:
        """The places that follow one, left from an index on, with what is known there; None where the thread may do
        anything else."""
        for code in self.ways.codes(place):
            if code.index < first:
                continue
            runs = True if code.guard is None else _truth(known.get(code.guard[0]), negated=code.guard[1])
            returns = code.action is Action.RETURN and bool(place[0])
            if returns or code.action in (Action.BRANCH, Action.INDEXED_BRANCH, Action.CALL):
                if runs is not False:
                    yield from ((each, known) for each in self.ways.jumps(place, code))
                if runs is True:
                    return
            elif runs is not False and not self._executes(code, place, known, sure=runs is True):
                yield None, known
                return
        falls = self.ways.falls(place)
        yield falls[0] if falls else None, known

    def _executes(self, code: Code, at: Place, known: Known, *, sure: bool) -> bool:
        """Notes what is known behind an instruction. False if it does what a thread that only waits does not."""
        result: Any = None
        if code.action in WAITS:
            result = False if self.values.asked[at, code.index] == self.asked else None
        elif _computes(code):
            result = _result(code, [_value(source, known) for source in code.sources])
        elif passed := self.ways.passed(code):
            source = code.sources[1] if code.action is Action.STORE else None
            result = known.get(passed[0]) if source is None else _value(source, known)
        elif code.action not in HARMLESS:
            return False
        for k, r in enumerate(self.ways.writes(code)):
            value = result if k == 0 else None
            if value is None or not (sure or known.get(r) == value):
                known.pop(r, None)
            else:
                known[r] = value
        return True


def _truth(value: Any, *, negated: bool) -> bool | None:
    return None if value is None else bool(value) != negated


def _value(source: Source | None, known: Known) -> Any:
    """The value of an operand, None where it is not known."""
    if isinstance(source, Literal):
        return source.value if source.kind == "int" else None
    if isinstance(source, Inverted):
        return _truth(known.get(source.operand.index), negated=True)
    return known.get(source.index) if isinstance(source, Reg) else None


COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def _result(code: Code, given: list[Any]) -> Any:
    """What an instruction computes from a wait's answer or from what was computed from it: truth values, 0, 1, and
    other small numbers. None where it is not known."""
    action, form = code.action, code.form
    if action is Action.SELECT:
        side = given[:2] if given[2] is None else [given[0 if given[2] else 1]]
        return side[0] if side[0] == side[-1] else None
    if action is Action.AND and any(value is not None and not value for value in given):
        return False if form.type == "pred" else 0
    if action is Action.OR and form.type == "pred" and True in given:
        return True
    if action is Action.COMPARE and code.dest_types[0] == "pred":
        small = all(isinstance(value, int) and 0 <= value < 128 for value in given[:2])
        compared = COMPARISONS[form.cmp](*given[:2]) if small and form.cmp in COMPARISONS else None
        return _combined(form.bool, compared, *given[2:])
    if None in given or not all(isinstance(value, int) and 0 <= value < 128 for value in given):
        return None
    if action in (Action.MOVE, Action.CONVERT) and len(given) == 1 and not isinstance(code.dests[0], Group):
        return given[0]
    if action is Action.NOT and form.type == "pred":
        return not given[0]
    if action in (Action.AND, Action.OR, Action.EXCLUSIVE_OR):
        a, b = given
        return a & b if action is Action.AND else a | b if action is Action.OR else a ^ b
    return None


def _combined(operation: Any, compared: Any, more: Any = None) -> Any:
    """The result of `setp.cmp` or of `setp.cmp.and p, a, b, c`."""
    if not operation:
        return compared
    decides = {"and": False, "or": True}.get(operation)
    if decides is not None and decides in (compared, more):
        return decides
    if compared is None or more is None:
        return None
    return compared != more if operation == "xor" else compared
