"""Finds what is wrong in PTX that parses: modifiers, operand counts, names without a declaration, labels."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain

from ptxlab.errors import PtxError
from ptxlab.garbage_collection import uncollected
from ptxlab.isa import TABLE, Action, Form, FormError, action_of, find_form, form
from ptxlab.isa.actions import BRANCHES
from ptxlab.isa.missing_instructions import LEFT_OUT
from ptxlab.isa.special_registers import SPECIAL_REGISTERS
from ptxlab.text.declaration_rules import misdeclared
from ptxlab.text.directives import DIRECTIVES
from ptxlab.text.lexer import Token
from ptxlab.text.model import (
    Address,
    Block,
    Declaration,
    Directive,
    Function,
    Instruction,
    Module,
    Name,
    Not,
    Pair,
    Variable,
    Words,
)
from ptxlab.text.operand_messages import NOWHERE, Find, Misfit, Place
from ptxlab.text.operand_rules import agreeing, guard_misfit, misfit
from ptxlab.text.operand_shape import shape_of
from ptxlab.text.scope import Names, Scope
from ptxlab.text.spelling import corrected, counts, nearest, operand_count
from ptxlab.text.statement_parts import all_labels, inside, labels_in, names_in, opcode_tokens, operand_starts
from ptxlab.text.version_rules import CONFLICTS, Since, mistakes_of_head

_OPCODES = tuple(sorted({*TABLE, *LEFT_OUT}))
"""The first word of every instruction of PTX ISA 9.0."""
_SPECIALS = frozenset(name.partition(".")[0] for name in SPECIAL_REGISTERS if name[-1].isalpha())


@uncollected
def validate(module: Module) -> list[PtxError]:
    """Everything that is wrong with a module's instructions, in the order of the text; empty where all is well.

    An instruction that PTX has and the instruction table does not is not judged, except for its names.
    """
    return _found(module, sure=False)


def _found(module: Module, *, sure: bool) -> list[PtxError]:
    """The mistakes of a module. sure: without forms and instructions that the table may merely lack."""
    declared, found = list(misdeclared(module)), list(_Validator(module, sure=sure).findings())
    if not declared:
        return found  # in the order of the text
    both = {error.line for error in declared} & {error.line for error in found}
    return sorted(declared + found, key=lambda error: (error.line, error.column if error.line in both else 0))


_judged: deque[Module] = deque(maxlen=32)
"""The last modules in which `check` found no mistake. Modules never change."""


@uncollected
def check(module: Module) -> None:
    """The gate before every run: raises the first mistake in a module that it has not yet judged. What the instruction
    table may merely lack it lets pass: only loading a kernel that has it is refused."""
    if any(module is judged for judged in tuple(_judged)):  # other threads append
        return
    for mistake in _found(module, sure=True):
        raise mistake
    _judged.append(module)


def _place(error: PtxError) -> tuple[int, int]:
    return error.line, error.column


class _Validator:
    """Judges every statement of a module. sure: not those that the instruction table may merely lack.

    Few of many errors in a file are read, so an error is made only when it is read (`PtxError.later`), if its line is
    known.
    """

    def __init__(self, module: Module, *, sure: bool = False) -> None:
        self.module = module
        self.since = Since.of(module)
        self.complete = not (sure and self.since.later_than_table)
        self.labels: set[str] = set()
        self.place = NOWHERE
        self.shapes: dict[tuple[Hashable, ...] | None, int] = {}  # how many errors an instruction of a shape has

    @functools.cached_property
    def lines(self) -> list[str]:
        """The text, which only an error needs."""
        return str(self.module).split("\n")

    def error(
        self,
        message: str | Callable[[], str],
        token: Token,
        hint: str | Callable[[], str] = "",
        syntax: str = "",
        at: int = 0,
        length: int = 0,
    ) -> PtxError:
        """An error under a token, or under `length` of its characters from `at` on."""
        source = self.lines[token.line - 1].rstrip("\r")
        return PtxError(message, line=token.line, column=token.column + at, length=length or len(token.text),
                        source=source, file=self.module.file, syntax=syntax, hint=hint,
                        span=self.module.spans.get(token.line))  # fmt: skip

    def replaced(self, token: Token, at: int, length: int, text: str) -> str:
        """The token's line with some of its characters exchanged."""
        line, start = self.lines[token.line - 1], token.column - 1 + at
        return (line[:start] + text + line[start + length :]).partition("//")[0].strip()

    def findings(self) -> Iterator[PtxError]:
        """The errors of the head and of every function."""
        for token, wrong in mistakes_of_head(self.module):
            yield self.error(wrong.message, token, wrong.directive)
        outermost = Scope()
        for function in self.module.functions:
            outermost.names[function.name] = None
        for item in self.module.items:
            if isinstance(item, Declaration):
                for variable in item.variables:
                    outermost.declare(variable)
            elif isinstance(item, Directive):
                outermost.names.update(dict.fromkeys(labels_in(item)))
                if self.complete and f".{item.name}" not in DIRECTIVES:
                    yield self.error(f"unknown directive '.{item.name}'", item.tokens[0])
            elif isinstance(item, Function) and item.body is not None:
                yield from self.head(item)
                scope = Scope(outermost)
                for variable in chain(item.params, item.returns):
                    scope.declare(variable)
                self.labels = set(all_labels(item.body))
                parameters = {variable.name for variable in item.params}
                self.place = Place(self.labels, parameters, item.kind == "entry", self.since.number)
                yield from self.block(item.body, scope, item)

    def head(self, function: Function) -> Iterator[PtxError]:
        """Directives of a function that its version or target does not have, or that exclude each other."""
        directives = {token.text: token for token in function.head if token.kind == "directive"}
        for word, token in directives.items():
            lack = self.since.lack_of(word)
            if lack is not None:
                yield self.error(lack.message, token, lack.directive)
        for one, other in CONFLICTS:
            if one in directives and other in directives:
                yield self.error(f"{function.name} has {one} as well as {other}: write one of them", directives[other])

    def block(self, block: Block, outer: Scope, function: Function) -> Iterator[PtxError]:
        """The errors of one pair of braces."""
        scope = Scope(outer)
        for statement in block.statements:
            if isinstance(statement, Instruction):
                yield from self.instruction(statement, scope, function)
            elif isinstance(statement, Declaration):
                for variable in statement.variables:
                    scope.declare(variable)
            elif isinstance(statement, Block):
                yield from self.block(statement, scope, function)
            elif isinstance(statement, Directive):
                yield from self.targets(statement, function)

    def instruction(self, instruction: Instruction, scope: Scope, function: Function) -> list[PtxError]:
        """The errors of one instruction, in the order of its words."""
        shape, known = shape_of(instruction, scope, self.labels)
        if known and self.shapes.get(shape) == 0:
            return []
        if shape in self.shapes:  # as many errors as before; `shape_of` has found all names
            again = [functools.partial(self.again, instruction, scope.found.get, k) for k in range(self.shapes[shape])]
            errors = [self.later(instruction, made) for made in again]
        else:
            errors = list(self.modifiers_and_count(instruction, scope.find))
            if shape is not None:
                self.shapes[shape] = len(errors)
        if known:
            return errors
        names = list(self.names(instruction, scope, function))
        return sorted(errors + names, key=_place) if errors and names else errors + names

    def targets(self, statement: Directive, function: Function) -> Iterator[PtxError]:
        """A branch target that is not there."""
        if statement.name == "branchtargets":
            for token in statement.tokens:
                if token.kind == "word" and token.text != statement.label and token.text not in self.labels:
                    yield self.no_label(function, self.labels, token)

    # -- opcodes

    def later(self, instruction: Instruction, made: Callable[[], PtxError]) -> PtxError:
        """The error that `made` gives somewhere in an instruction."""
        return PtxError.later(instruction.line, made) if isinstance(instruction.tokens, Words) else made()

    def again(self, instruction: Instruction, find: Find, which: int) -> PtxError:
        """One of the errors of an instruction."""
        return list(self.modifiers_and_count(instruction, find))[which]

    def modifiers_and_count(self, instruction: Instruction, find: Find) -> Iterator[PtxError]:
        """An unknown opcode, modifiers that no table entry has, a number of operands that none takes."""
        if instruction.name not in TABLE:
            if self.complete and instruction.name not in LEFT_OUT:
                error = functools.partial(self.unknown, instruction, _as_now(instruction, find))
                yield PtxError.later(instruction.line, error)
        elif (used := find_form(instruction.opcode)) is None:
            if self.complete:
                error = functools.partial(self.refused, instruction, _as_now(instruction, find))
                yield PtxError.later(instruction.line, error)
        elif (lack := self.since.lack(used)) is not None:
            opcode = opcode_tokens(instruction)[0]
            reworded = functools.partial(
                self.reworded, instruction, filter(None, [lack.opcode]), _as_now(instruction, find)
            )
            yield self.error(lack.message, opcode, lack.directive or reworded, length=len(opcode.text))
        elif action_of(instruction.opcode) is not Action.CALL:
            yield from self.count(instruction, find)

    def refused(self, instruction: Instruction, find: Find) -> PtxError:
        """The error for modifiers that no table entry has."""
        try:
            form(instruction.opcode)
        except FormError as problem:
            tokens = opcode_tokens(instruction)
            token, at = inside(tokens, problem.at)
            length = max(1, min(problem.length, len(token.text) - at))
            close = copy.copy(corrected(instruction.opcode, problem.at, problem.length))
            hint = functools.partial(self.reworded, instruction, close, find)
            return self.error(problem.what, token, hint, problem.syntax, at, length)
        raise AssertionError(f"{instruction.opcode} is in the table")

    def reworded(self, instruction: Instruction, opcodes: Iterable[str], find: Find) -> str:
        """The line with the first of some opcodes that makes it right; empty where none does."""
        tokens = opcode_tokens(instruction)
        written = tokens[-1].column + len(tokens[-1].text) - tokens[0].column
        for opcode in opcodes:
            if self.right(dataclasses.replace(instruction, opcode=opcode), find):
                return self.replaced(tokens[0], 0, written, opcode)
        return ""

    def right(self, instruction: Instruction, find: Find) -> bool:
        """Whether nothing but names can be wrong with an instruction."""
        used = find_form(instruction.opcode)
        if used is None or self.since.lack(used) is not None:
            return False
        return used.op.does is Action.CALL or next(self.count(instruction, find), None) is None

    def unknown(self, instruction: Instruction, find: Find) -> PtxError:
        """The error for a word that no PTX instruction starts with."""
        name, opcode = instruction.name, opcode_tokens(instruction)[0]

        def close() -> list[str]:
            found = nearest(name, _OPCODES, 8, 0.6)
            return sorted(found, key=lambda other: other[:2] != name[:2])[:3]

        def message() -> str:
            said = f"unknown instruction {name!r}"
            return said + (f"; close to it: {', '.join(close())}" if close() else "")

        def hint() -> str:
            return self.reworded(instruction, (other + instruction.opcode[len(name) :] for other in close()), find)

        return self.error(message, opcode, hint, length=len(name))

    def count(self, instruction: Instruction, find: Find) -> Iterator[PtxError]:
        """The error for too many or too few operands, or for the first that is of another type."""
        entries = counts(instruction.opcode)
        given = len(instruction.operands)
        if any(least <= given <= most for _, least, most in entries):
            yield from self.types(instruction, find)
            return
        entry, least, most = entries[0]
        takes = f"{least}" if least == most else f"{least} to {most}"
        names = ", ".join(spec.name for spec in entry.operands if not spec.second)
        message = f"{instruction.opcode} takes {takes} operand{'s' * (takes != '1')} ({names}); found {given}"
        if not names:
            message = f"{instruction.opcode} takes no operands; found {given}"
        starts = operand_starts(instruction)
        token = starts[most] if given > most else instruction.tokens[-1]
        yield self.error(message, token, syntax=entry.syntax)

    def types(self, instruction: Instruction, find: Find) -> Iterator[PtxError]:
        """The errors for a guard that is no predicate and for the first operand of a type that cannot be there."""
        guard = guard_misfit(instruction, find)
        if guard and instruction.guard is not None:
            error = functools.partial(self.error, guard)
            yield self.later(instruction, functools.partial(self.under, instruction, instruction.guard.name, error))
        used = form(instruction.opcode)
        least, most = operand_count(used.op)
        wrong = misfit(instruction, used, find, self.place) if least <= len(instruction.operands) <= most else None
        if wrong is not None:
            known = _as_now(instruction, find)
            yield self.later(instruction, functools.partial(self.mistyped, instruction, used, wrong, known))

    def mistyped(self, instruction: Instruction, used: Form, wrong: Misfit, find: Find) -> PtxError:
        """The error for an operand of a type that cannot be there."""
        token, hint = operand_starts(instruction)[wrong.index], wrong.before
        if wrong.literal:
            number = str(instruction.operands[wrong.index])
            at = self.lines[token.line - 1].find(number, token.column - 1)
            hint = self.replaced(token, 0, len(number), wrong.literal) if at == token.column - 1 else ""
        elif wrong.type:
            hint = self.reworded(instruction, filter(None, [agreeing(instruction, wrong.type, find)]), find)
        return self.error(wrong.message, token, hint, used.op.syntax)

    # -- names

    def names(self, instruction: Instruction, scope: Scope, function: Function) -> Iterator[PtxError]:
        """Registers and variables without a declaration, branch targets without a label."""
        branch = action_of(instruction.opcode) in BRANCHES
        used = chain.from_iterable(map(names_in, instruction.operands))
        parted = action_of(instruction.opcode) is Action.VIDEO  # `%r1.h0`, a part of a word
        reported: set[str] = set()
        for name in chain([instruction.guard.name] if instruction.guard else [], used):
            base = name.partition(".")[0]
            if name in reported:
                continue
            elements = "" if base == name or parted else self.elements(name, base, scope)
            known = name == "_" or name in SPECIAL_REGISTERS or name in self.labels or scope.has(base)
            lack = None if scope.has(base) else self.since.lack_of(base)
            if known and not elements and lack is None:
                continue
            reported.add(name)
            error: Callable[[Token], PtxError]
            if lack is not None:
                error = functools.partial(self.error, lack.message, hint=lack.directive)
            elif elements:
                error = functools.partial(self.error, elements)
            elif branch and not name.startswith("%"):
                error = functools.partial(self.no_label, function, self.labels)
            else:
                error = functools.partial(self.undeclared, instruction, scope.range_of(base), scope.names_by_now())
            yield self.later(instruction, functools.partial(self.under, instruction, name, error))

    def under(self, instruction: Instruction, name: str, error: Callable[[Token], PtxError]) -> PtxError:
        """An error under a name in an instruction."""
        token = next(t for t in instruction.tokens if t.text == name)
        return PtxError.later(token.line, functools.partial(error, token))

    def elements(self, name: str, base: str, scope: Scope) -> str:
        """Why a declared register has no such element; empty where it has one, or where it is not declared."""
        variable = scope.find(base)
        if variable is None or variable.space != "reg":
            return ""
        element = name[len(base) :]
        has = [f".{letter}" for letter in "xyzw"[: variable.vector]] if variable.vector > 1 else []
        if element in has or element in [f".{letter}" for letter in "rgba"[: len(has)]]:
            return ""
        hidden = f", which hides the special register {name}" if name in SPECIAL_REGISTERS else ""
        type_ = f".v{variable.vector} .{variable.type}" if has else f".{variable.type}"
        takes = f"only {' '.join(has)}" if has else "no elements"
        return f"{base} has no {element}: line {variable.line} declares it as {type_}{hidden}; it has {takes}"

    def no_label(self, function: Function, labels: set[str], token: Token) -> PtxError:
        """The error for a branch to nowhere."""

        def hint() -> str:
            close = nearest(token.text, tuple(sorted(labels)), 1, 0.6)
            return self.replaced(token, 0, len(token.text), close[0]) if close else f"{token.text}:"

        return self.error(f"no label {token.text} in {function.name}", token, hint)

    def undeclared(self, instruction: Instruction, range_: Variable | None, names: Names, token: Token) -> PtxError:
        """The error for a register, variable or function that nothing declares: it may belong to a range that does not
        go so far. `names` lists what could be meant."""
        base = token.text.partition(".")[0]
        if base in SPECIAL_REGISTERS:
            wrong = token.text[len(base) :]
            return self.error(
                f"{base} has no {wrong}, only .x .y .z", token, self.replaced(token, 0, len(token.text), f"{base}.x")
            )
        if range_ is not None:
            last = range_.count - 1
            message = f"{base} is not declared; line {range_.line} declares {range_.name}0 to {range_.name}{last}"
            number = int(base[len(range_.name) :])
            return self.error(message, token, f".reg .{range_.type} {range_.name}<{number + 1}>;")
        if base.startswith("%"):
            return self.misspelt(
                f"{base} is not declared",
                token,
                base,
                lambda: nearest(base, names(_SPECIALS)),
                lambda: f".reg .{_type_of(instruction, token.text)} {base};",
            )
        called = action_of(instruction.opcode) is Action.CALL and Name(base) in instruction.operands
        what = "function or register" if called else "variable or register"
        return self.misspelt(f"no {what} {base} is declared", token, base, lambda: nearest(base, names(frozenset())))

    def misspelt(
        self,
        message: str,
        token: Token,
        word: str,
        close: Callable[[], list[str]],
        otherwise: Callable[[], str] = str,
        length: int = 0,
    ) -> PtxError:
        """The error for a word at the start of a token, with the words close to it; `otherwise` is the hint where there
        are none."""

        def whole() -> str:
            return message + (f"; close to it: {', '.join(close())}" if close() else "")

        def hint() -> str:
            return self.replaced(token, 0, len(word), close()[0]) if close() else otherwise()

        return self.error(whole, token, hint, length=length)


# -- what the table says


def _as_now(instruction: Instruction, find: Find) -> Find:
    """What gives the declarations of an instruction's names as they are now: an error is made when it is read."""
    names = chain([instruction.guard.name] if instruction.guard else [], *map(names_in, instruction.operands))
    return {name: find(name) for name in names}.get


def _type_of(instruction: Instruction, name: str) -> str:
    """The type that a register needs where an instruction uses it; `b32` where the table does not say."""
    if instruction.guard is not None and instruction.guard.name == name:
        return "pred"
    used = find_form(instruction.opcode)
    if used is None:
        return "b32"
    specs = [s for s in used.op.operands if not s.second]
    for spec, operand in zip(specs, instruction.operands, strict=False):
        if name in names_in(operand):
            if isinstance(operand, Address):
                return "b32" if ".shared" in instruction.opcode else "b64"
            if isinstance(operand, Not) or (isinstance(operand, Pair) and name in names_in(operand.second)):
                return "pred"
            type_ = used.operand_type(spec)
            return type_ if type_ in _DECLARABLE else "b32"
    return "b32"


_DECLARABLE = ("pred", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
