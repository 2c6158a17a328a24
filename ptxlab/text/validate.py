"""Finds what is wrong in PTX that parses: modifiers, operand counts, names without a declaration, labels."""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice

from ptxlab.errors import PtxError
from ptxlab.garbage_collection import uncollected
from ptxlab.isa import TABLE, Action, Form, FormError, action_of, find_form, form, known_form
from ptxlab.isa.actions import BRANCHES
from ptxlab.isa.meanings import INSTRUCTIONS
from ptxlab.isa.missing_instructions import NOT_EXECUTED
from ptxlab.isa.special_registers import SPECIAL_REGISTERS, VECTORS
from ptxlab.text.declaration_rules import misdeclared
from ptxlab.text.directives import DIRECTIVES
from ptxlab.text.lexer import Source, Token
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
    Number,
    Operand,
    Pair,
    Vector,
)
from ptxlab.text.operand_messages import NOWHERE, Find, Misfit, Place
from ptxlab.text.operand_rules import agreeing, misfit
from ptxlab.text.scope import Scope
from ptxlab.text.spelling import corrected, counts, nearest, operand_count
from ptxlab.text.statement_parts import all_labels, inside, labels_in, names_in, opcode_tokens, operand_starts
from ptxlab.text.values import converted
from ptxlab.text.version_rules import CONFLICTS, Since, mistakes_of_head
from ptxlab.text.written_in_c import assigned, in_c, value_in_ptx

MOST = 100
"""Mistakes of a text that are reported: one with more has few causes."""
_OPCODES = tuple(sorted({*TABLE, *NOT_EXECUTED}))
"""The first word of every instruction of PTX ISA 9.0."""
_ALL_LANES = Number("0xffffffff", "int", 0xFFFFFFFF)
_SPECIALS = frozenset(name.partition(".")[0] for name in SPECIAL_REGISTERS if name[-1].isalpha())


@uncollected
def validate(module: Module, most: int = MOST) -> list[PtxError]:
    """The first mistakes in a module, in the order of the text; empty where all is well.

    Of the operands of a form that PTX has and the instruction table does not only the names are judged.
    """
    return _found(module, most, sure=False)


def _found(module: Module, most: int, *, sure: bool) -> list[PtxError]:
    """The first mistakes of a module. sure: without forms and instructions that the table may merely lack."""
    declared = list(islice(misdeclared(module), most))
    found = list(islice(_Validator(module, sure=sure).findings(), most))
    if not declared:
        return found  # in the order of the text
    both = {error.line for error in declared} & {error.line for error in found}
    return sorted(declared + found, key=lambda error: (error.line, error.column if error.line in both else 0))[:most]


_judged: deque[Module] = deque(maxlen=32)
"""The last modules in which `check` found no mistake. Modules never change."""


@uncollected
def check(module: Module) -> None:
    """The gate before every run: raises the first mistake in a module that it has not yet judged. What the instruction
    table may merely lack it lets pass: only loading a kernel that has it is refused."""
    if any(module is judged for judged in tuple(_judged)):  # other threads append
        return
    for mistake in _found(module, 1, sure=True):
        raise mistake
    _judged.append(module)


class _Validator:
    """Judges every statement of a module. sure: not those that the instruction table may merely lack."""

    def __init__(self, module: Module, *, sure: bool = False) -> None:
        self.module, self.source = module, Source(module, module.file, module.spans)
        self.since = Since.of(module)
        self.complete = not sure or module.version <= (9, 0)  # all of which is known here
        self.labels: set[str] = set()
        self.place = NOWHERE

    def error(
        self, message: str, token: Token, hint: str = "", syntax: str = "", at: int = 0, length: int = 0
    ) -> PtxError:
        """An error under a token, or under `length` of its characters from `at` on."""
        place = self.source.place(token.line, token.column + at, length or len(token.text), hint)
        return PtxError(message, syntax=syntax, **place)

    def replaced(self, token: Token, at: int, length: int, text: str) -> str:
        """The token's line with some of its characters exchanged."""
        return self.source.replaced(token.line, token.column + at, length, text)

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
        errors = [*self.modifiers_and_count(instruction, scope.find), *self.names(instruction, scope, function)]
        return sorted(errors, key=lambda error: (error.line, error.column))

    def targets(self, statement: Directive, function: Function) -> Iterator[PtxError]:
        """A branch target that is not there."""
        if statement.name == "branchtargets":
            for token in statement.tokens:
                if token.kind == "word" and token.text != statement.label and token.text not in self.labels:
                    yield self.no_label(function, self.labels, token)

    # -- opcodes

    def modifiers_and_count(self, instruction: Instruction, find: Find) -> Iterator[PtxError]:
        """An unknown opcode, modifiers that no table entry has, a number of operands that none takes."""
        if instruction.name not in TABLE and instruction.name not in NOT_EXECUTED:
            if self.complete:
                yield self.unknown(instruction, find)
        elif (used := known_form(instruction.opcode)) is None:
            if self.complete:
                yield self.refused(instruction, find)
        elif (lack := self.since.lack(used)) is not None:
            opcode = opcode_tokens(instruction)[0]
            hint = lack.directive or self.reworded(instruction, filter(None, [lack.opcode]), find)
            if not hint and lack.opcode:
                masked = dataclasses.replace(instruction, opcode=lack.opcode)
                hint = self.rebuilt(masked, [(*masked.operands, _ALL_LANES)], find)
            yield self.error(lack.message, opcode, hint, length=len(opcode.text))
        elif used.op.executed and used.op.does is not Action.CALL:
            yield from self.count(instruction, find)

    def refused(self, instruction: Instruction, find: Find) -> PtxError:
        """The error for modifiers that no table entry has."""
        try:
            form(instruction.opcode)
        except FormError as problem:
            tokens = opcode_tokens(instruction)
            token, at = inside(tokens, problem.at)
            length = max(1, min(problem.length, len(token.text) - at))
            fused = re.sub(r"^mad\b.*\.(f\d+)$", r"fma.rn.\1", instruction.opcode)  # which `mad` is of integers
            close: Iterable[str] = [*corrected(instruction.opcode, problem.at, problem.length), fused]
            if problem.what.endswith("nothing"):  # the type of the registers first
                types = {getattr(find(name), "type", "") for each in instruction.operands for name in names_in(each)}
                close = sorted(close, key=lambda opcode: types.isdisjoint(opcode.split(".")))
            hint = self.reworded(instruction, close, find)
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
        used = known_form(instruction.opcode)
        if used is None or self.since.lack(used) is not None:
            return False
        if not used.op.executed or used.op.does is Action.CALL:
            return True
        given, (least, most) = len(instruction.operands), operand_count(used.op)
        if not any(least <= given <= most for _, least, most in counts(instruction.opcode)):
            return False
        return not least <= given <= most or misfit(instruction, used, find, self.place) is None

    def unknown(self, instruction: Instruction, find: Find) -> PtxError:
        """The error for a word that no PTX instruction starts with."""
        name, opcode = instruction.name, opcode_tokens(instruction)[0]
        text = self.source.line(opcode.line)[opcode.column - 1 :]
        if other := in_c(text, lambda name: getattr(find(name), "type", "")):
            before = self.source.line(opcode.line)[: opcode.column - 1].rpartition(";")[2].strip()
            guard = f"{before} " if before.startswith("@") and other.write.count(";") == 1 else ""
            return self.error(other.says, opcode, guard + other.write, length=len(name))

        found = nearest(name, _OPCODES, 8, 0.6)
        close = [INSTRUCTIONS[name]] if name in INSTRUCTIONS else sorted(found, key=lambda x: x[:2] != name[:2])[:3]
        hint = self.reworded(instruction, (other + instruction.opcode[len(name) :] for other in close), find)
        if not hint and len(instruction.operands) > 1 and "[" not in text:
            result, *given = map(str, instruction.operands)
            hint = assigned(result, f"{name}({', '.join(given)})", lambda name: getattr(find(name), "type", ""))
            hint = f".reg .f32 %t; {re.sub(' t(?=[,;])', ' %t', hint)}" if " t;" in hint else hint
        return self.error(f"unknown instruction {name!r}{_close(close)}", opcode, hint, length=len(name))

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
        hint = ""
        if entry.does in BRANCHES and (given, most) == (2, 1) and instruction.guard is None:
            predicate, target = instruction.operands
            hint = f"@{predicate} {instruction.opcode} {target};"
        elif entry.does is Action.BARRIER and (given, least) == (0, 1):
            hint = f"{instruction.opcode} 0;"
        elif entry.does is Action.ATOMIC and given == 2:
            hint = self.reworded(instruction, [instruction.opcode.replace("atom", "red", 1)], find)
        elif given == least - 1 and entry.operands[-1].name == "membermask":
            hint = self.rebuilt(instruction, [(*instruction.operands, _ALL_LANES)], find)
        elif not names:
            hint = f"{instruction.opcode};"
        yield self.error(message, token, hint, syntax=entry.syntax)

    def rebuilt(self, instruction: Instruction, ways: Iterable[Sequence[Operand]], find: Find) -> str:
        """The instruction with the first of some operands that make it right; empty where none do."""
        guard = instruction.guard
        before = f"@{'!' * guard.negated}{guard.name} " if guard is not None else ""
        for operands in ways:
            if self.right(dataclasses.replace(instruction, operands=tuple(operands)), find):
                return f"{before}{instruction.opcode} {', '.join(map(str, operands))};"
        return ""

    def types(self, instruction: Instruction, find: Find) -> Iterator[PtxError]:
        """The errors for a guard that is not a predicate and for the first operand of a type that cannot be there."""
        name = instruction.guard.name if instruction.guard is not None else ""
        variable = find(name) if name else None
        if variable is not None and (variable.space, variable.type) != ("reg", "pred"):
            token, hint = _token_of(instruction, name), ""
            if find(f"%{name}") is not None:  # `@p`, where a parameter is called p
                hint = self.replaced(token, 0, len(name), f"%{name}")
            elif variable.space == "reg" and (made := converted("pred", variable.type, name)):
                hint = self.by_another(instruction, made, name)
            yield self.error(f"the guard @{name} is not a predicate, it is .{variable.type}", token, hint)
        used = form(instruction.opcode)
        least, most = operand_count(used.op)
        wrong = misfit(instruction, used, find, self.place) if least <= len(instruction.operands) <= most else None
        if wrong is not None:
            yield self.mistyped(instruction, used, wrong, find)

    def mistyped(self, instruction: Instruction, used: Form, wrong: Misfit, find: Find) -> PtxError:
        """The error for an operand of a type that cannot be there."""
        token, hint = operand_starts(instruction)[wrong.index], wrong.before
        operands = instruction.operands
        mixed = len(operands) > 1 and isinstance(operands[0], Address) != isinstance(operands[1], Address)
        ways = [(*operands[1::-1], *operands[2:])] if mixed else []
        ways += [(operands[0], *operands[2:], operands[1])] if wrong.type == "pred" and len(operands) > 2 else []
        swapped = self.rebuilt(instruction, ways, find)
        if swapped:
            hint = swapped
        elif wrong.literal:
            number = str(instruction.operands[wrong.index])
            at = self.source.line(token.line).find(number, token.column - 1)
            hint = self.replaced(token, 0, len(number), wrong.literal) if at == token.column - 1 else ""
        elif wrong.type:
            opcodes = agreeing(instruction, wrong.type, find), instruction.opcode.replace(".lo.", ".wide.")
            hint = self.reworded(instruction, filter(None, opcodes), find)
            if wrong.before and not hint and not isinstance(instruction.operands[wrong.index], Vector):
                hint = self.by_another(instruction, wrong.before, wrong.name, token)
        else:
            hint = self.otherwise(instruction, wrong, find) or hint
            if wrong.name and wrong.before == hint != "":
                hint = self.by_another(instruction, hint, wrong.name, token)
        return self.error(wrong.message, token, hint, used.op.syntax)

    def by_another(self, instruction: Instruction, made: str, name: str, token: Token | None = None) -> str:
        """The line with a new register in place of another one, from a token on. made: what declares it, as %new, and
        gives it its value."""
        start = instruction.tokens[0]
        line, first = self.source.line(start.line), start.column - 1
        at = line.find(name, token.column - 1 if token is not None and token.line == start.line else first)
        new = next(name for name in chain(["%x"], (f"%x{n}" for n in count(1))) if name not in self.source.text)
        made = re.sub(r"%new\b", new, made)
        mended = f"{line[:first]}{made} {line[first:at]}{new}{line[at + len(name) :]}".partition("//")[0].strip()
        return mended if at >= 0 else ""

    def otherwise(self, instruction: Instruction, wrong: Misfit, find: Find) -> str:
        """The line with an operand less, or with as many elements as there are registers; empty where neither is
        right."""
        operands, opcode = instruction.operands, instruction.opcode
        if wrong.index == len(operands) - 1 > 1:
            return self.rebuilt(instruction, [operands[:-1], operands[1:]], find)
        operand = operands[wrong.index]
        plain = re.sub(r"\.v[248](?![\w:])", "", opcode)
        variable = find(str(operand.base)) if isinstance(operand, Address) else None
        if variable is not None and variable.space != "reg" and not wrong.before:  # it may be meant for another space
            bare = re.sub(r"\.(?:global|shared|local|const|param)(?:::\w+)?(?=\.)", "", opcode)
            name = instruction.name
            return self.reworded(instruction, [f"{name}.{variable.space}{bare.removeprefix(name)}"], find)
        if isinstance(operand, Name) and (variable := find(operand.text)) is not None and variable.space != "reg":
            load = dataclasses.replace(instruction, opcode=f"ld.{variable.space}.{variable.type}")
            return self.rebuilt(load, [(operands[0], Address(operand))], find)
        if isinstance(operand, Vector):
            head, _, type_ = plain.rpartition(".")
            plain = f"{head}.v{len(operand.elements)}.{type_}"
        return self.reworded(instruction, [plain], find) if plain != opcode else ""

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
            token = _token_of(instruction, name)
            if lack is not None:
                yield self.error(lack.message, token, lack.directive)
            elif elements:
                yield self.error(elements, token)
            elif branch and not name.startswith("%") and not (instruction.guard and name == instruction.guard.name):
                yield self.no_label(function, self.labels, token)
            else:
                yield self.undeclared(instruction, scope, token)

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
        known = sorted(labels)
        alike = [label for label in known if label.lower() == token.text.lower()]
        close = alike or nearest(token.text, tuple(known), 1, 0.6)
        hint = self.replaced(token, 0, len(token.text), close[0]) if close else f"{token.text}:"
        return self.error(f"no label {token.text} in {function.name}", token, hint)

    def undeclared(self, instruction: Instruction, scope: Scope, token: Token) -> PtxError:
        """The error for a register, variable or function that nothing declares: it may belong to a range that does not
        go so far."""
        base, names = token.text.partition(".")[0], scope.names_by_now()
        range_ = scope.range_of(base)
        if base in SPECIAL_REGISTERS:
            hint = self.replaced(token, 0, len(token.text), f"{base}.x")
            return self.error(f"{base} has no {token.text[len(base) :]}, only .x .y .z", token, hint)
        if range_ is not None:
            last = range_.count - 1
            message = f"{base} is not declared; line {range_.line} declares {range_.name}0 to {range_.name}{last}"
            number = int(base[len(range_.name) :])
            return self.error(message, token, f".reg .{range_.type} {range_.name}<{number + 1}>;")
        if special := self.special(token, base):
            return self.error(f"{base} is not declared", token, special)
        if base.startswith("%"):
            declared = f".reg .{_type_of(instruction, token.text)} {base};"
            return self.misspelt(f"{base} is not declared", token, base, names | _SPECIALS, declared)
        minus = self.source.line(token.line)[token.column - 2] == "-"
        other = value_in_ptx("-" * minus + token.text, instruction.opcode)
        if not other and f"%{base}" in names:
            other = f"{'-' * minus}%{token.text}"
        if other:
            hint = self.replaced(token, -minus, len(token.text) + minus, other)
            hint = re.sub(rf"(?<![\w$%.]){re.escape(base)}(?![\w$])", f"%{base}", hint) if f"%{base}" in names else hint
            return self.error(f"no variable or register {base} is declared", token, hint)
        if ".param" in instruction.opcode and self.place.parameters:
            listed = ", ".join(sorted(self.place.parameters, key=lambda name: (len(name), name))[:8])
            message = f"no parameter {base} is declared; those of this function are {listed}"
            return self.misspelt(message, token, base, self.place.parameters)
        called = action_of(instruction.opcode) is Action.CALL and Name(base) in instruction.operands
        what = "function or register" if called else "variable or register"
        return self.misspelt(f"no {what} {base} is declared", token, base, names)

    def special(self, token: Token, base: str) -> str:
        """The line with the special register that a word such as `%thread.x` means."""
        element = token.text[len(base) :]
        dotted = element and base[0] == "%"
        close = nearest(base[1:], ("threadIdx", "blockIdx", "blockDim", "gridDim"), 1, 0.6) if dotted else []
        return self.replaced(token, 0, len(token.text), value_in_ptx(close[0] + element, "")) if close else ""

    def misspelt(self, message: str, token: Token, word: str, names: Iterable[str], otherwise: str = "") -> PtxError:
        """The error for a word at the start of a token, with the name that is close to it, or else `otherwise` as its
        hint."""
        close, hint = nearest(word, tuple(sorted(names))), otherwise
        if close:
            vector = close[0] in VECTORS and token.text == word
            element = f".{word[-1] if word[-1] in 'xyz' else 'x'}" if vector else ""
            hint = self.replaced(token, 0, len(word), close[0] + element)
        return self.error(message + _close(close), token, hint)


def _close(words: Sequence[str]) -> str:
    return f"; close to it: {', '.join(words)}" if words else ""


def _token_of(instruction: Instruction, name: str) -> Token:
    """The token of a name in an instruction."""
    return next(t for t in instruction.tokens if t.text == name)


# -- what the table says


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
