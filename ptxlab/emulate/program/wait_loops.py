"""Waits for an mbarrier that *spin*: once such a wait has failed, its thread can do nothing until the phase has ended.

Whatever the thread does then, as long as that phase of that mbarrier has not ended, it only computes, reads and waits
again: it stores nothing, arrives nowhere, and each way out leads past a wait for the same phase of the same mbarrier
that succeeds. The loop may compute the address again, count its attempts, sleep, read the clock, wait in several places
and ask for other mbarriers beside. A loop that is also left after so many attempts, after some time, or when a flag in
memory is set does not spin.

Two analyses find that. `_Values` tells which waits ask for the same: it gives each value that an operand is computed
from a number, so that equal numbers mean equal values. `_Attempt` follows a thread whose wait has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import body, onward
from ptxlab.isa.actions import Action

WAITS = (Action.MBARRIER_TEST, Action.MBARRIER_WAIT)
HARMLESS = frozenset({Action.SLEEP, Action.NOTHING, Action.FENCE, Action.PREFETCH, Action.LOAD, Action.ACTIVE_MASK})
"""What a thread may do between two attempts, beside waiting, jumping and computing. Exchanges with other lanes are not
among it: they may wait for that."""
MOST_BLOCKS = 256
"""Basic blocks that are followed from a wait."""

State = dict[int, int]
"""Of registers the numbers of their values."""
Known = dict[int, Any]
"""Values of registers that are known, a bool for a predicate."""


def spins(program: Program, wait: Code) -> bool:
    """Whether a wait for an mbarrier spins."""
    found: Any = program.found.get(spins)
    if found is None:
        waits = [code for code in program.codes if code.action in WAITS]
        values = _Values(program, waits)
        found = program.found[spins] = {code.index for code in waits if _Attempt(program, values, code).spins()}
    return wait.index in found


def _computes(code: Code) -> bool:
    """Whether an instruction only computes; the results of those with a carry bit also depend on the one before."""
    return code.form.op.kind == "pure" and code.form.op.sem is not None


def _repeats(code: Code) -> bool:
    """Whether an instruction gives the same result each time that it has the same operands."""
    if code.action is Action.LOAD:
        return code.space in ("param", "const") and not code.properties.strong
    carries = "cc" in code.form.opcode.split(".") or code.form.op.name in ("addc", "subc", "madc")
    changing = any(isinstance(s, Special) and s.name.startswith(("%clock", "%globaltimer")) for s in code.sources)
    return _computes(code) and not carries and not changing


class _Values:
    """The values that the operands of some waits are computed from, by numbers. Equal numbers are equal values, unless
    they change in between (`changes`)."""

    def __init__(self, program: Program, waits: list[Code]) -> None:
        self.program = program
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._keys: list[tuple[Any, ...]] = []
        self._asked: dict[int, int] = {}
        needed, before = {r for code in waits for r in reads(code)}, -1
        while len(needed) != before:  # registers that these are computed from
            before = len(needed)
            for code in program.codes:
                if not needed.isdisjoint(writes(code)) and _repeats(code):
                    needed.update(reads(code))
        self._needed = needed
        starts = {program.entry, *(code.target for code in program.codes if code.action is Action.CALL)}
        for start in starts if waits else ():
            self._follow(start)

    def asked(self, wait: Code) -> int:
        """The number of the mbarrier and the phase that a wait asks for."""
        return self._asked.get(wait.index, -1)

    def changes(self, number: int, blocks: set[int]) -> bool:
        """Whether a value may be another one after a way through some blocks."""
        todo, seen = [number], set[int]()
        while todo:
            what, *of = self._keys[todo.pop()]
            if what in ("at", "join") and of[0] in blocks:
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

    def _follow(self, start: int) -> None:
        """Computes with numbers through a function. Where ways join of which one writes a register, its value has a
        number of its own (`_joins`); elsewhere it is that of the block that dominates this one."""
        codes, blocks, written = self.program.codes, self.program.blocks, dict[int, list[int]]()
        onwards = {block: onward(codes, blocks[block]) for block in body(codes, blocks, start)}
        over = dominators(start, onwards)
        for block in over:
            for code in codes[blocks[block].first : blocks[block].last]:
                for r in self._written(code):
                    written.setdefault(r, []).append(block)
        joins = _joins(over, onwards, written)
        behind: dict[int, State] = {}
        for at, above in over.items():
            state = dict(behind[above]) if at != start else {r: self._number("start", r) for r in self._needed}
            state |= {r: self._number("join", at, r) for r in joins.get(at, ())}
            for code in codes[blocks[at].first : blocks[at].last]:
                if code.action in WAITS:
                    named = code.named
                    source, _ = named.get("parity") or named["state"]
                    of = self._operand(named["a"][0], code, state), self._operand(source, code, state)
                    self._asked[code.index] = self._number("of", (code.space, "parity" in named), *of)
                self._executes(code, state)
            behind[at] = state

    def _written(self, code: Code) -> list[int]:
        """The needed registers that an instruction writes; a call those that all functions share."""
        shared = (r for r in self._needed if not self.program.registers[r].function)
        return [*self._needed.intersection(writes(code)), *(shared if code.action is Action.CALL else ())]

    def _executes(self, code: Code, state: State) -> None:
        new: State = {}
        for k, r in enumerate(self._written(code)):
            if not _repeats(code):
                new[r] = self._number("at", code.block, code.index, k)
            elif len(writes(code)) == 1:
                new[r] = self._of(code, state)
            else:
                new[r] = self._number("of", writes(code).index(r), self._of(code, state))
            if code.guard is not None:
                register, negated = code.guard
                new[r] = self._number("of", negated, state.get(register, self._unknown(code)), new[r], state[r])
        state |= new

    def _of(self, code: Code, state: State) -> int:
        """The number of what an instruction computes; of a plain move that of its operand."""
        of = [self._operand(source, code, state) for source in code.sources]
        plain = code.action is Action.MOVE and len(of) == 1 and isinstance(code.sources[0], Reg | Literal | Symbol)
        return of[0] if plain and isinstance(code.dests[0], Reg) else self._number("of", code.form.opcode, *of)

    def _operand(self, source: Source | None, code: Code, state: State) -> int:
        if isinstance(source, Reg):
            return state.get(source.index, self._unknown(code))
        if isinstance(source, Mem):
            return self._number("of", ("+", source.offset), self._operand(source.base, code, state))
        if isinstance(source, Inverted):
            return self._number("of", "!", self._operand(source.operand, code, state))
        if isinstance(source, Group):
            return self._number("of", "{}", *(self._operand(each, code, state) for each in source.elements))
        if isinstance(source, Literal):
            return self._number("is", source.value, source.kind, source.bits)
        if isinstance(source, Symbol):
            return self._number("is", source.space, source.value)
        return self._number("is", "" if source is None else source.name)

    def _unknown(self, code: Code) -> int:
        return self._number("at", code.block, code.index)


def dominators(start: int, onwards: dict[int, list[int]]) -> dict[int, int]:
    """For each block that can be reached the last one that all ways to it lead through, in an order in which that one
    comes first (Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm")."""
    order, path = list[int](), [(start, iter(onwards[start]))]
    begun = {start}
    while path:
        at, left = path[-1]
        following = next((block for block in left if block not in begun), None)
        if following is None:
            order.append(at)
            path.pop()
        else:
            begun.add(following)
            path.append((following, iter(onwards[following])))
    number = {block: k for k, block in enumerate(order)}
    over = {start: start}
    changed = True
    while changed:
        changed = False
        for at in reversed(order):
            for following in onwards[at]:
                one, other = over.get(following, at), at
                while one != other:
                    if number[one] < number[other]:
                        one = over[one]
                    else:
                        other = over[other]
                if over.get(following) != one and following != start:
                    over[following], changed = one, True
    return {block: over[block] for block in reversed(order)}


def _joins(over: dict[int, int], onwards: dict[int, list[int]], written: dict[int, list[int]]) -> dict[int, set[int]]:
    """For each block the registers that ways bring there with different values: those on which the block is where the
    dominance of one that writes the register ends, or brings several values itself."""
    ends: dict[int, set[int]] = {}
    for block in over:
        for following in onwards[block]:
            at, last = block, over[following] if over[following] != following else -1
            while at not in (last, -1):
                ends.setdefault(at, set()).add(following)
                at = over[at] if over[at] != at else -1
    found: dict[int, set[int]] = {}
    for r, blocks in written.items():
        todo = list(blocks)
        while todo:
            for end in ends.get(todo.pop(), ()):
                if r not in found.setdefault(end, set()):
                    found[end].add(r)
                    todo.append(end)
    return found


class _Attempt:
    """A thread whose wait has failed, on all its ways as long as waits for the same fail, too."""

    def __init__(self, program: Program, values: _Values, wait: Code) -> None:
        self.program, self.values, self.wait = program, values, wait
        self.asked = values.asked(wait)
        self.blocks: set[int] = set()
        """Those that it comes to from their starts."""

    def spins(self) -> bool:
        """Whether these ways never lead to anything but such waits, for what does not change on them."""
        (answer,) = self.wait.dests or (None,)
        if not isinstance(answer, Reg) or self.asked < 0:
            return False
        blocks = self.program.blocks
        befores: dict[int, Known] = {}
        todo = list(self._ways(self.wait.index + 1, blocks[self.wait.block].last, {answer.index: False}))
        while todo:
            at, known = todo.pop()
            if at < 0 or len(befores) > MOST_BLOCKS:
                return False
            before = befores.get(at)
            if before is not None:
                known = {r: value for r, value in before.items() if r in known and known[r] == value}
            if known != before:
                befores[at] = known
                self.blocks.add(at)
                todo += self._ways(blocks[at].first, blocks[at].last, dict(known))
        return not self.values.changes(self.asked, self.blocks)

    def _ways(self, first: int, last: int, known: Known) -> Iterator[tuple[int, Known]]:
        """The blocks that follow a block from an index on, with what is known there; -1 where the thread may do
        anything else."""
        for code in self.program.codes[first:last]:
            runs = True if code.guard is None else _truth(known.get(code.guard[0]), negated=code.guard[1])
            if code.action in (Action.BRANCH, Action.INDEXED_BRANCH):
                if runs is not False:
                    yield from ((target, known) for target in code.targets)
                if runs is True:
                    return
            elif runs is not False and not self._executes(code, known, sure=runs is True):
                yield -1, known
                return
        yield self.program.blocks[self.program.codes[last - 1].block].next, known

    def _executes(self, code: Code, known: Known, *, sure: bool) -> bool:
        """Notes what is known behind an instruction. False if it does what a thread that only waits does not."""
        result: Any = None
        if code.action in WAITS:
            result = False if self.values.asked(code) == self.asked else None
        elif _computes(code):
            result = _result(code, [_value(source, known) for source in code.sources])
        elif code.action not in HARMLESS:
            return False
        written = writes(code)
        for k, r in enumerate(written):
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


COMPARISONS = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


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
    if action is Action.COMPARE and form.op.name == "setp" and code.dest_types[0] == "pred":
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
