"""Waits for an mbarrier that *spin*: once such a wait has failed, its thread can do nothing until the phase has ended.

Whatever the thread does then, as long as that phase of that mbarrier has not ended, it only computes, reads and waits
again: it stores nothing, arrives nowhere, and each way out leads past a wait for the same phase of the same mbarrier
that succeeds. The loop may compute the address again, count its attempts, sleep, read the clock, wait in several places
and ask for other mbarriers in between. A loop that also ends after a number of attempts, after some time, or when a
flag in memory is set does not spin.

One walk finds that (`_Walk`). It follows a thread from the head of a loop, with each register as a number, or as a term
of what registers held at that head: so it is known which waits ask for the same, however they compute the address.
It goes on from the failed wait, into functions and back, on all ways that are left when such waits fail, too.

Other loops *only wait* (`waiting_codes`): no round of them changes anything, or learns anything from the round before.
Whether a thread leaves such a loop depends on memory alone. So once it has made a round in vain, it makes every further
one in vain until another thread has stored something. A loop that gives up after some attempts, or after some time, is
none; one that sleeps longer each time is.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.graphs import reachable
from ptxlab.emulate.program.liveness import live_in, numbers, reads, registers_of, writers_of, writes
from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.program.reconvergence import POLLING
from ptxlab.isa.actions import Action

WAITS = (Action.MBARRIER_TEST, Action.MBARRIER_WAIT)
HARMLESS = frozenset({*WAITS, Action.SLEEP, Action.NOTHING, Action.FENCE, Action.PREFETCH, Action.LOAD})
"""What a thread may do between two attempts besides jumps and arithmetic; no exchanges, whose other lanes may wait."""
MOST_BLOCKS = 256
"""Basic blocks that are followed from a wait."""

MOST_PLACES = 1 << 14
"""Basic blocks of a program, those of a function once for each way to call it, that are looked at; calls in calls."""
DEEPEST = 32

Place = tuple[tuple[int, ...], int]
"""A basic block, and before it the blocks with the calls that led to its function."""
State = dict[int, Any]
"""By register, if it may have changed: a number, a bool for a predicate, a `_Term`, or None where it is not known."""


def spins(program: Program, wait: Code) -> bool:
    """Whether a wait for an mbarrier spins, wherever the function is called that has it."""
    return wait.index in _spinning(program)


@once
def _spinning(program: Program) -> set[int]:
    """The code indices of the waits that spin."""
    if not any(code.action in WAITS for code in program.codes):
        return set()
    ways = _Ways(program)
    waits = [(place, code) for place in ways.before for code in ways.codes(place) if code.action in WAITS]
    free = {
        code.index
        for place, code in waits
        if not any(_Walk(ways, head).spins(place, code) for head in ways.heads(place))
    }
    return {code.index for _, code in waits} - free


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
        ends = [(block.index, program.codes[block.last - 1]) for block in program.blocks]
        self._loops = [range(to, at + 1) for at, code in ends for to in code.targets if to <= at]
        self.before: dict[Place, list[Place]] = {}
        """The places that can be reached, and those from which each is; none if they are too many."""
        self.start: Place = (), program.entry
        todo: list[Place] = [self.start]
        while todo:
            at = todo.pop()
            if at not in self.before:
                self.before[at] = []
                todo += self.onward(at)
                if len(self.before) > MOST_PLACES or len(at[0]) > DEEPEST:
                    self.before = {}  # no wait is known to spin
                    return
        for at in self.before:
            for following in self.onward(at):
                self.before[following].append(at)

    def passed(self, code: Code) -> list[int]:
        """The registers that stand for the words that an instruction passes; what it reads comes first."""
        return self._passed.get(code.index, [])

    def writes(self, code: Code) -> list[int]:
        return [*writes(code), *(self.passed(code)[-1:] if code.action is not Action.LOAD else [])]

    def codes(self, place: Place) -> list[Code]:
        block = self.program.blocks[place[1]]
        return self.program.codes[block.first : block.last]

    def onward(self, place: Place) -> list[Place]:
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
            return [((*calls, at), code.target)]
        if code.action is Action.RETURN:
            return self.falls((calls[:-1], calls[-1])) if calls else []
        return [(calls, target) for target in code.targets]

    def heads(self, place: Place) -> Iterator[Place]:
        """The places from which a walk may begin: this one, and the heads of the loops around it, inner ones first."""
        yield place
        path = (*place[0], place[1])
        for depth in reversed(range(len(path))):
            for loop in sorted((loop for loop in self._loops if path[depth] in loop), key=len):
                yield path[:depth], loop.start


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
    return _computes(code) and code.form.cc is None and not reads_clock(code)


def reads_clock(code: Code) -> bool:
    """Whether an instruction reads a register that changes by itself."""
    return any(isinstance(s, Special) and s.name.startswith(("%clock", "%globaltimer")) for s in code.sources)


class _Term:
    """A value that is not known as a number. Equal terms are one object."""


class _Walk:
    """The ways of a thread from a place on. What it computes is named by what registers held there at that moment, so
    equal values on its ways are equal whenever it comes by."""

    def __init__(self, ways: _Ways, head: Place) -> None:
        self.ways, self.head = ways, head
        self._terms: dict[tuple[Any, ...], _Term] = {}
        self._asked: tuple[Any, ...] | None = None
        """The mbarrier and phase for which a wait has failed."""

    def spins(self, place: Place, wait: Code) -> bool:
        """Whether a wait spins at a place to which all ways lead through the head."""
        (answer,) = wait.dests or (None,)
        between = reachable([place], lambda at: self.ways.before[at] if at != self.head else ())
        if not isinstance(answer, Reg) or (self.ways.start in between and self.ways.start != self.head):
            return False
        found = self._follow([(self.head, State())], between)
        if found is None or place not in found:
            return False
        state = dict(found[place])
        for code in self.ways.codes(place):
            if code is wait:
                break
            self._executes(code, state, sure=code.guard is None)
        state = {r: self._term("now", r) if value is None else value for r, value in state.items()}
        self._asked = self._asks(wait, state)
        return self._follow(list(self._onward(place, state | {answer.index: False}, wait.index + 1))) is not None

    def _follow(
        self, todo: list[tuple[Place | None, State]], within: set[Place] | None = None
    ) -> dict[Place, State] | None:
        """Where the ways lead, and what registers hold there. within: no further than that, and not back to the head.
        None where the thread may do anything else than wait, or comes to too many places."""
        found: dict[Place, State] = {}
        while todo:
            at, state = todo.pop()
            if within is not None and (at not in within or (at == self.head and found)):
                continue
            if at is None or len(found) > MOST_BLOCKS:
                return None
            before = found.get(at)
            if before is not None:
                both = {r: (self._held(before, r), self._held(state, r)) for r in before.keys() | state.keys()}
                state = {r: one if one == other else None for r, (one, other) in both.items()}
            if state != before:
                found[at] = state
                todo += self._onward(at, dict(state))
        return found

    def _onward(self, place: Place, state: State, first: int = 0) -> Iterator[tuple[Place | None, State]]:
        """The places after one, left from an index on, with the registers' values; None if the thread may do more."""
        for code in self.ways.codes(place):
            if code.index < first:
                continue
            runs: bool | None = True
            if code.guard is not None:
                runs = _truth(_number(self._held(state, code.guard[0])), negated=code.guard[1])
            returns = code.action is Action.RETURN and bool(place[0])
            if returns or code.action in (Action.BRANCH, Action.INDEXED_BRANCH, Action.CALL):
                if runs is not False:
                    yield from ((each, state) for each in self.ways.jumps(place, code))
                if runs is True:
                    return
            elif runs is not False and not self._executes(code, state, sure=runs is True):
                yield None, state
                return
        falls = self.ways.falls(place)
        yield falls[0] if falls else None, state

    def _executes(self, code: Code, state: State, *, sure: bool) -> bool:
        """Notes the registers after an instruction. False if, after a failed wait, it does more than wait."""
        written, passed = self.ways.writes(code), self.ways.passed(code)
        new: list[Any] = [None] * len(written)
        if code.action in WAITS and written:
            new[0] = False if self._asks(code, state) == self._asked else None
        elif _repeats(code, passed):
            new = self._results(code, state, passed, len(written))
        elif self._asked is not None and code.action not in (*HARMLESS, Action.ACTIVE_MASK) and not _computes(code):
            return False
        for r, value in zip(written, new, strict=True):
            state[r] = value if sure or value == self._held(state, r) else None
        return True

    def _results(self, code: Code, state: State, passed: list[int], count: int) -> list[Any]:
        """What an instruction puts into so many registers, of one that always gives the same for the same operands."""
        given = [self._operand(source, state) for source in code.sources]
        if passed:  # wherever the frame lies
            given = [given[1] if code.action is Action.STORE else self._held(state, passed[0])]
        plain = code.action is Action.MOVE and len(given) == 1 and isinstance(code.sources[0], Reg | Literal | Symbol)
        if code.copy is not None or (plain and isinstance(code.dests[0], Reg)):
            return given
        known = _number(given[0]) if passed else _result(code, [_number(value) for value in given])
        terms = [self._term(k, code.form.opcode, *given) for k in range(count)]
        return terms if known is None else [known, *terms[1:]]

    def _asks(self, wait: Code, state: State) -> tuple[Any, ...]:
        """The mbarrier and the phase for which a wait asks."""
        source, _ = wait.named.get("parity") or wait.named["state"]
        of = [self._operand(each, state) for each in (wait.named["a"][0], source)]
        return str(wait.space), "parity" in wait.named, *of

    def _held(self, state: State, r: int) -> Any:
        return state[r] if r in state else self._term("held", r)

    def _term(self, *key: Any) -> _Term | None:
        """The term of something, None where a part of it is not known."""
        return None if None in key else self._terms.setdefault(key, _Term())

    def _operand(self, source: Source | None, state: State) -> Any:
        if isinstance(source, Reg):
            return self._held(state, source.index)
        if isinstance(source, Mem):
            return self._term("+", source.offset, self._operand(source.base, state))
        if isinstance(source, Inverted):
            value = self._held(state, source.operand.index)
            known = _truth(_number(value), negated=True)
            return self._term("!", value) if known is None else known
        if isinstance(source, Group):
            return self._term("{}", *(self._operand(each, state) for each in source.elements))
        if isinstance(source, Literal):
            return source.value if source.kind == "int" else self._term("is", source.value, source.kind, source.bits)
        if isinstance(source, Symbol):
            return self._term("is", source.space, source.value)
        return self._term("is", "" if source is None else source.name)


def _number(value: Any) -> Any:
    """A value if it is known as a number."""
    return None if isinstance(value, _Term) else value


def _truth(value: Any, *, negated: bool) -> bool | None:
    return None if value is None else bool(value) != negated


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
    if operation in ("and", "or"):
        decides = operation == "or"
        if decides in (compared, more):
            return decides
    if compared is None or more is None:
        return None
    return compared != more if operation == "xor" else compared


LOOKS = (Action.LOAD, Action.ATOMIC)


def waiting_codes(program: Program) -> tuple[int, ...]:
    """The indices of instructions in loops that only wait for others."""
    loops = [
        range(code.target, code.block + 1)
        for code in program.codes
        if code.action is Action.BRANCH and code.rounds == POLLING
    ]
    loops = [loop for loop in loops if all(map(_changes_nothing, _codes(program, loop)))]
    alive = live_in(program) if loops else []
    found = [_codes(program, loop) for loop in loops if _forgets(_codes(program, loop), alive[loop.start])]
    return tuple(sorted({code.index for loop in found for code in loop}))


def may_wait_for_blocks(program: Program) -> bool:
    """Whether a loop that only waits looks at memory that other blocks can change."""
    looks = [code for code in map(program.codes.__getitem__, program.waiting) if code.action in LOOKS]
    return any(code.space != "shared" for code in looks)


def _codes(program: Program, loop: range) -> list[Code]:
    return program.codes[program.blocks[loop[0]].first : program.blocks[loop[-1]].last]


def _changes_nothing(code: Code) -> bool:
    """Whether an instruction leaves memory as it is, whoever executes it how often. Lanes of a warp may meet there."""
    if code.action is Action.ATOMIC:  # a load in other words
        given = [code.named[name][0] for name in ("b", "c") if name in code.named]
        none = given == [Literal(0)] and code.form.operation in ("add", "or", "xor")
        return none or (code.form.operation == "cas" and given[0] == given[1])
    return code.action in (*HARMLESS, Action.BRANCH) or code.form.op.kind == "pure" or code.properties.converges


def _forgets(codes: list[Code], alive: int) -> bool:
    """Whether what decides where lanes of a loop go depends on nothing that an earlier round has left. alive: the
    registers that may be read before a round has written to them."""
    writers = writers_of(codes)
    decide = [r for code in codes for r in (*_address(code), *([code.guard[0]] if code.guard else ()))]
    decide = list(reachable(decide, lambda r: [each for code in writers.get(r, ()) for each in reads(code)]))
    timed = any(reads_clock(code) for r in decide for code in writers.get(r, ()))
    return not timed and not any(r in writers for r in set(decide).intersection(numbers(alive)))


def _address(code: Code) -> list[int]:
    if code.action in (*WAITS, Action.ATOMIC):
        return reads(code)
    return [r for source in code.sources if isinstance(source, Mem) for r in registers_of(source)]
