"""Lint: right PTX that is hardly meant. A rule speaks only where it is sure: a false alarm is worse than a miss.

A comment, `// ptxlab: ignore[same-operands]`, turns a rule off on its line: of PTX, or of the CUDA C++ or Python that
the instruction comes from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from ptxlab.errors import PtxWarning
from ptxlab.isa import Action, action_of, known_form
from ptxlab.isa.types import width
from ptxlab.text.lexer import Source
from ptxlab.text.model import Address, Function, Instruction, Label, Module, Name, Number, Operand, Sum
from ptxlab.text.statement_parts import names_in, opcode_tokens

_IGNORED = re.compile(r"ptxlab:\s*ignore\[([^\]]*)\]")
_SAME = {
    Action.SUBTRACT: "{} minus itself is 0",
    Action.DIVIDE: "{} divided by itself is 1",
    Action.MAXIMUM: "the larger one of {0} and itself is {0}",
    Action.MINIMUM: "the smaller one of {0} and itself is {0}",
}
_SUMS = (Action.MOVE, Action.CONVERT_ADDRESS, Action.ADD, Action.SUBTRACT, Action.MULTIPLY_ADD)
_OF_VALUES = (Action.COMPARE, Action.CONVERT, Action.MULTIPLY, Action.DIVIDE, Action.MINIMUM, Action.MAXIMUM)
_ACCESSES = (Action.LOAD, Action.STORE, Action.ATOMIC, Action.REDUCTION)
_LOCKS = (Action.ATOMIC, Action.CALL, Action.INDEXED_BRANCH, Action.ELECT)
"""By these threads may take turns, or one of them is chosen."""
_PARAM, _FIXED = re.compile(r"\.param\b"), re.compile(r"\.(?:param|const)\b")
_THREAD = re.compile(r"%(?:tid\b|laneid)")
_OF_THE_BLOCK = re.compile(r"%(?:n?ctaid|ntid|n?clusterid|cluster_n?cta(?:id|rank))\b|[^%]")
_BELOW, _ABOVE = ("lt", "le", "lo", "ls"), ("gt", "ge", "hi", "hs")


class _Found(NamedTuple):
    """An instruction that is hardly meant, why, and the line to write. others: lines of its kind that are right: where
    one is from the same line of the source, a loop was unrolled, and nothing is wrong."""

    at: Instruction
    says: str
    write: str = ""
    others: Iterable[int] = ()


class _Code:
    """The code of a function, and which instructions read and write each register."""

    def __init__(self, function: Function) -> None:
        self.parameters = {each.name: each for each in function.params} if function.kind == "entry" else {}
        body = function.body.walk() if function.body is not None else ()
        self.statements = [each for each in body if isinstance(each, Instruction | Label)]
        self.instructions = [each for each in self.statements if isinstance(each, Instruction)]
        self.labels = {each.name: k for k, each in enumerate(self.statements) if isinstance(each, Label)}
        self.writers: dict[str, list[Instruction]] = defaultdict(list)
        self.readers: dict[str, list[Instruction]] = defaultdict(list)
        for each in self.instructions:
            known = known_form(each.opcode)
            roles = [spec.role for spec in known.op.operands if not spec.second] if known is not None else []
            for k, operand in enumerate(each.operands):
                for name in names_in(operand):
                    if k >= len(roles) or roles[k] == "dst":
                        self.writers[name].append(each)
                    if k >= len(roles) or roles[k] != "dst":
                        self.readers[name].append(each)

    def writer(self, name: str) -> Instruction | None:
        """The only instruction that writes a register, for all threads; None where there are others."""
        writers = self.writers.get(name, ())
        return writers[0] if len(writers) == 1 and writers[0].guard is None else None

    def behind(self, operand: Operand) -> tuple[list[Instruction], set[str]]:
        """The instructions that an operand's value may come from, and all names in them."""
        found, names, waiting = list[Instruction](), set[str](), set(names_in(operand))
        while waiting:
            names.add(name := waiting.pop())
            for each in self.writers.get(name, ()):
                found.append(each)
                waiting |= {each.guard.name} if each.guard is not None else set()
                waiting.update(other for source in each.operands[1:] for other in names_in(source))
            waiting -= names
        return found, names

    def fixed(self, operand: Operand) -> bool:
        """Whether all threads of a block have the same value here, at all times, and no address of local memory."""
        found, names = self.behind(operand)
        return all(_computes(each) and "local" not in each.opcode.split(".") for each in found) and all(
            self.writer(name) is not None if name in self.writers else _OF_THE_BLOCK.match(name) for name in names
        )

    def steady(self, name: str) -> bool:
        """Whether a name is a register that one instruction sets, or one and others that count from it; or a special
        register that is known here, or a variable. What branches set may be for one thread alone."""
        writers = self.writers.get(name, ())
        begin = [each for each in writers if not any(name in self.behind(source)[1] for source in each.operands[1:])]
        return len(begin) == 1 if writers else bool(_THREAD.match(name) or _OF_THE_BLOCK.match(name))

    def several(self, predicate: str, holds: bool) -> bool | None:
        """Whether several threads have this value of a predicate: those below a bound, say. False: it does not tell
        threads of a block apart. None: perhaps only one has it."""
        found, names = self.behind(Name(predicate))
        if not all(map(self.steady, names)):
            return None
        if not any(map(_THREAD.match, names)):
            return False if all(map(_computes, found)) else None
        for each in found:
            if action_of(each.opcode) is Action.COMPARE:
                _, comparison, *_, type_ = each.opcode.split(".")
                varies = [any(map(_THREAD.match, self.behind(source)[1])) for source in each.operands[1:]]
                below = (comparison in _BELOW) == holds
                few = any(isinstance(source, Number) and source.value < 2 for source in each.operands[1:])
                bound = comparison in _BELOW + _ABOVE and varies == [below, not below] and not few
                if comparison[:2] in ("eq", "ne") or not (bound or type_[0] == "f"):
                    return None
            elif not _computes(each) and action_of(each.opcode) is not Action.LOAD:
                return None
        return True

    def met_by_several(self, k: int) -> bool:
        """Whether a statement is under a condition that several threads meet, and under none that may be for one."""
        conditions = list[bool | None]()
        for j, each in enumerate(self.statements):
            if isinstance(each, Label) or each.guard is None:
                continue
            true, false = (self.several(each.guard.name, holds != each.guard.negated) for holds in (True, False))
            action = action_of(each.opcode)
            if j == k:
                conditions.append(true)
            elif action in (Action.BRANCH, Action.RETURN, Action.EXIT):
                to = self.labels.get(str(each.operands[0]), j) if action is Action.BRANCH else len(self.statements)
                if j < k < to:
                    conditions.append(false)
                elif j < k or to <= k:  # what it skips is not this: it may be another part of the code
                    conditions.append(None if true is false is None else False)
        return None not in conditions and any(conditions)


def _computes(instruction: Instruction) -> bool:
    """Whether an instruction's result follows from its operands, or from parameters and constants."""
    action = action_of(instruction.opcode)
    fixed = action is Action.LOAD and _FIXED.search(instruction.opcode) is not None
    return fixed or (action is not None and action.kind == "pure")


def _same_operands(code: _Code) -> Iterator[_Found]:
    """A register minus itself, divided by itself, or the larger one of a register and itself."""
    same: list[Instruction] = []
    others: dict[Action | None, set[int]] = defaultdict(set)
    for each in code.instructions:
        if action_of(each.opcode) in _SAME and {"cc", "xorsign"}.isdisjoint(each.opcode.split(".")):
            if any(a == b and isinstance(a, Name) for a, b in combinations(each.operands[1:], 2)):
                same.append(each)
            else:
                others[action_of(each.opcode)].add(each.line)
    for each in same:
        result, source = map(str, each.operands[:2])
        action, users = action_of(each.opcode), {action_of(user.opcode) for user in code.readers.get(result, ())}
        zero = action is Action.SUBTRACT and (result == source or not users.isdisjoint((Action.COMPARE, Action.DIVIDE)))
        nan = action is Action.DIVIDE and code.writer(source) in same  # (x - x) / (x - x); x - x == 0: x is finite
        if action is not None and not zero and not nan:
            yield _Found(each, _SAME[action].format(source), "", others[action])


def _parameter_address(code: _Code) -> Iterator[_Found]:
    """The address of a parameter where its value is meant."""
    for move in code.instructions:
        source = move.operands[-1] if action_of(move.opcode) is Action.MOVE and move.operands else None
        variable = code.parameters.get(source.base.text if isinstance(source, Sum) else str(source))
        if variable is None:
            continue
        uses, registers = list[tuple[Instruction, bool | None]](), [str(move.operands[0])]
        for register in registers:
            new = [(user, _as_value(user, register, not variable.shape)) for user in code.readers.get(register, ())]
            uses += new if code.writer(register) is not None else [(move, False)]
            registers += {str(user.operands[0]) for user, value in new if value is None} - set(registers)
        wrong = next((user for user, value in uses if value), None)
        if wrong is not None and all(value is not False for _, value in uses):
            type_ = move.opcode.rpartition(".")[2]
            if not variable.shape and width(variable.type) < width(type_):
                type_ = variable.type.replace("f", "b")
            says = f"this is the address of the parameter {variable.name}; {wrong.name} uses it in line {wrong.line}"
            yield _Found(move, says, f"ld.param.{type_} {move.operands[0]}, [{source}];")


def _as_value(user: Instruction, register: str, scalar: bool) -> bool | None:
    """Whether an instruction takes a register for the value of a parameter; None: it computes another one from it.
    scalar: no compiler takes the address of such a parameter but to load from it."""
    action, words = action_of(user.opcode), set(user.opcode.split("."))
    if _PARAM.search(user.opcode):
        return False
    if action in _ACCESSES:
        accessed = any(isinstance(each, Address) and each.base == Name(register) for each in user.operands)
        return scalar or (accessed and not words.isdisjoint(("global", "shared", "shared::cta", "const", "local")))
    return None if action in _SUMS else scalar and action in _OF_VALUES


def _lost_update(code: _Code) -> Iterator[_Found]:
    """A load and a store of one word by several threads, with nothing between them that keeps the others away."""
    loads: dict[tuple[str, Operand], Instruction] = {}
    if any(action_of(each.opcode) in _LOCKS for each in code.instructions):
        return
    for k, each in enumerate(code.statements):
        known = known_form(each.opcode) if isinstance(each, Instruction) else None
        if known is None or isinstance(each, Label):
            continue
        done = known.properties
        if done.converges or done.waits or done.acquires or done.mbarrier:
            loads.clear()
        elif done.plain and not done.strong and done.space in ("global", "shared", "generic"):
            if done.loads:
                loads[done.space, each.operands[1]] = each
            elif load := loads.get((done.space, each.operands[0])):
                address, value = each.operands[:2]
                if isinstance(address, Address) and address.register_offset is None and code.fixed(address.base):
                    if load in code.behind(value)[0] and code.met_by_several(k):
                        says = f"threads that load {address} in line {load.line} and store it here lose updates"
                        yield _Found(each, says, _atomic(code, load, each))


def _atomic(code: _Code, load: Instruction, store: Instruction) -> str:
    """The atomic operation that does what a load, an update and a store do; "" where there is none."""
    (old, _), (address, new) = load.operands[:2], store.operands[:2]
    update = code.writer(str(new))
    others = [each for each in update.operands[1:] if each != old] if update is not None else []
    if update is None or len(others) != 1 or [*code.readers[str(old)], *code.readers[str(new)]] != [update, store]:
        return ""
    space = next((f".{word}" for word in store.opcode.split(".") if word.startswith(("global", "shared"))), "")
    opcode = f"red{space}.{update.name}.{update.opcode.rpartition('.')[2]}"
    return f"{opcode} {address}, {others[0]};" if known_form(opcode) is not None else ""


class _Rule(NamedTuple):
    name: str
    reason: str
    test: Callable[[_Code], Iterator[_Found]]


RULES = (
    _Rule("same-operands", "one register often holds an old and a new value: copy the old one", _same_operands),
    _Rule("parameter-address", "mov gives the address of a parameter; ld.param loads its value", _parameter_address),
    _Rule("lost-update", "another may store between the two; an atomic operation is one step", _lost_update),
)


def lint(module: Module) -> list[PtxWarning]:
    """What is hardly meant in a module that is right, in the order of the text. A line of the source has one warning of
    a rule, and none where a compiler wrote the text and not the line that it comes from."""
    found, text = list[PtxWarning](), Source(module, module.file, module.spans)
    compiled = any("Generated by" in line for line in text.lines[:8])
    for code, rule in ((code, rule) for code in map(_Code, module.functions) for rule in RULES):
        told = set[tuple[str, int]]()
        for at, says, write, others in rule.test(code):
            span = module.spans.get(at.line)
            right = {other.place for line in others if (other := module.spans.get(line)) is not None}
            if compiled if span is None else span.place in right | told:
                continue
            told |= {span.place} if span is not None else set()
            rows = f"{text.line(at.line)}\n{span.source if span is not None else ''}"
            ignored = (name.strip() for names in _IGNORED.findall(rows) for name in names.split(","))
            if rule.name not in ignored:
                place = text.place(at.line, at.column, len(opcode_tokens(at)[0].text), "" if compiled else write)
                found.append(PtxWarning(says, rule=rule.name, reason=rule.reason, **place))
    return sorted(found, key=lambda each: (each.line, each.column))
