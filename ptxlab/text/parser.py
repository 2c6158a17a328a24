"""Reads PTX: the whole grammar of directives, declarations, functions and statements, known instruction or not."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from ptxlab.errors import LaunchError, PtxSyntaxError, Span
from ptxlab.garbage_collection import uncollected
from ptxlab.isa import TABLE, Action, action_of
from ptxlab.text.declarations import LINKAGES, SPACES
from ptxlab.text.directives import DIRECTIVES, LABELLED, STARTS_ITEM, WITHOUT_SEMICOLON, Directives
from ptxlab.text.given import given, given_text
from ptxlab.text.lexer import Source, Token
from ptxlab.text.model import (
    Block,
    Declaration,
    Directive,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Operand,
    Statement,
)
from ptxlab.text.operands import found as shown

BEHIND_PROTOTYPE = (*STARTS_ITEM, ".global", ".const", ".shared", ".tex", *WITHOUT_SEMICOLON)
"""What may follow the prototype of a function whose semicolon is left out, which early compilers did."""
ONCE = ("version", "target", "address_size")


@uncollected
def parse(text: str, file: str = "<ptx>", spans: Mapping[int, Span] | None = None) -> Module:
    """Parses a PTX text into a module; `str()` of it is the text again, byte for byte.

    `file` names the text in error messages; `spans` maps a 1-based PTX line to the Python expression that emitted it;
    without, `.loc` says where a line comes from, and `file`, where it is a path, where the source is looked for.
    Whether instructions and registers exist is not checked here (see `validate`). Raises `PtxSyntaxError`.
    """
    if not isinstance(text, str):
        found = given(text)
        raise PtxSyntaxError(f"PTX is text; found {found.says}", hint=found.write)
    try:
        return _Parser(Source(text, file, spans)).module()
    except PtxSyntaxError as error:
        if (other := given_text(text)) is None:
            raise
        what = f"this is {other.says}, not PTX"
        raise Source(text, file).error(what, error.line, error.column, error.length, other.write) from None


def module_of(kernel: object) -> Module:
    """The module of PTX text, of a module or of an object with `.module`; that of a text is cached."""
    module = _cached(kernel) if isinstance(kernel, str) else getattr(kernel, "module", kernel)
    if isinstance(module, Module):
        return module
    raise LaunchError(f"kernel: expected PTX text, a parsed module or a builder's kernel, got {given(kernel)}")


@functools.lru_cache(maxsize=64)
def _cached(ptx: str) -> Module:
    return parse(ptx)


class _Parser(Directives):
    """The part of the grammar from the statement upward."""

    def module(self) -> Module:
        items: list[Function | Declaration | Directive] = []
        version, target, size = (0, 0), "", 64
        seen: dict[str, Directive] = {}
        while self.tokens[self.at].kind != "end":
            items.append(item := self._item())
            if isinstance(item, Directive):
                if item.name in ONCE and (before := seen.setdefault(item.name, item)) is not item:
                    raise self.error(f".{item.name} is already on line {before.line}", item.tokens[0])
                if item.name == "version":
                    major, _, minor = item.words[0].partition(".")
                    version = (int(major), int(minor))
                elif item.name == "target":
                    target = item.words[0]
                elif item.name == "address_size":
                    size = int(item.words[0])
        return Module(tuple(items), self.tokens[-1].before, self.source.file, version, target, size, self.source.spans)

    def _item(self) -> Function | Declaration | Directive:
        token = self._behind_linkage()
        if token.text in (".entry", ".func"):
            return self._function()
        if token.text in SPACES:
            return self.declaration()
        if token is not self.tokens[self.at]:
            said = f"expected .entry, .func or a state space after {self.text()}; found {shown(token)}"
            entry = ".entry" if token.kind == "directive" else f".entry {token.text}"
            raise self.error(said, token, self.instead(token, entry) if "(" in self.source.line(token.line) else "")
        if token.kind == "directive":
            return self.directive()
        if token.text == "}":
            raise self.error("this '}' closes nothing")
        if f".{token.text}" in (*DIRECTIVES, *SPACES):
            words = "|".join(word[1:] for word in STARTS_ITEM)
            hint = re.sub(rf"(?<![\w.%])({words})(?=\s)", r".\1", self.instead(token, f".{token.text}"))
            raise self.error("directives begin with a dot", hint=hint)
        line = self.source.line(token.line).strip()
        if line != (entry := re.sub(r'(extern "C" )?__global__ +(void +)?', ".visible .entry ", line)):
            raise self.error("__global__ is CUDA C++", hint=entry)
        if token.kind == "word":
            raise self.error(f"{token.text!r} is outside of any function; statements belong between its '{{' and '}}'")
        raise self.error(f"expected a directive; found {shown(token)}")

    def _behind_linkage(self) -> Token:
        """The token that says what is declared, `.entry` in `.visible .entry`; the current one without linkage."""
        ahead = 0
        while self.text(ahead) in LINKAGES:
            ahead += 1
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    # -- functions

    def _function(self) -> Function:
        start = self.at
        linkage = ""
        while self.text() in LINKAGES:
            linkage = self.text()[1:]
            self.at += 1
        opening = self.tokens[self.at]
        self.at += 1
        directives: dict[str, tuple[str, ...]] = {}
        while self.text() == ".attribute":
            self.performance(directives)
        returns = self.parameters() if self.text() == "(" and opening.text == ".func" else ()
        if (wrong := self.text()) in LINKAGES:
            line = self.source.line(opening.line).replace(f" {wrong}", "", 1)
            hint = line.replace(opening.text, f"{wrong} {opening.text}").strip()
            raise self.error(f"{wrong} comes before {opening.text}", hint=hint)
        if wrong == "(":
            hint = self.instead(self.tokens[self.at], " f(")
            raise self.error(f"expected the name of the {opening.text[1:]}; found '('", hint=hint)
        name = self.word(f"the name of the {opening.text[1:]}")
        params = self.parameters() if self.text() == "(" else ()
        while self.tokens[self.at].kind == "directive" and not self._prototype_ends(opening):
            if self.text() in SPACES:
                raise self.missing(f"'{{' to open the body of {name}", " {")
            self.performance(directives)
        if self.take(";") or self._prototype_ends(opening):
            body, head = None, tuple(self.tokens[start : self.at])
        elif self.text() == "{":
            head = tuple(self.tokens[start : self.at])
            body = self._block()
        else:
            raise self.missing(f"'{{' to open the body of {name}, or ';'", " {")
        kind = opening.text[1:]
        return Function(kind, name, linkage, params, returns, directives, body, head, opening.line)

    def _prototype_ends(self, opening: Token) -> bool:
        """Whether a .func ends before the current token, without a semicolon."""
        token = self.tokens[self.at]
        return opening.text == ".func" and (token.kind == "end" or token.text in BEHIND_PROTOTYPE)

    # -- statements

    def _block(self) -> Block:
        opening = self.tokens[self.at]
        self.at += 1
        self.enter()
        statements: list[Statement] = []
        while (token := self.tokens[self.at]).text != "}":
            try:
                statements.append(self._statement(token, opening))
            except PtxSyntaxError:
                self._refuse_c(token)
                raise
        self.at += 1
        self.depth -= 1
        return Block(tuple(statements), (opening, token), opening.line)

    def _statement(self, token: Token, opening: Token) -> Statement:
        """The statement that starts with `token`, in the block that starts with `opening`."""
        if token.kind == "word":
            return self._label() if self.text(1) == ":" else self._instruction()
        if token.text == "@":
            return self._instruction()
        if token.text == "{":
            return self._block()
        if token.text in SPACES:
            return self.declaration()
        if token.text in STARTS_ITEM:
            declared = self._behind_linkage()
            if declared.text in (".entry", ".func"):
                message = f"{declared.text} starts inside another function"
                message += f"; the '{{' of {self.place(opening)} is still open"
                raise self.error(message, declared, hint="}")
            return self.declaration()
        if token.kind == "directive":
            return self.directive()
        if token.kind == "end":
            raise self.error("this '{' is never closed; found the end of the file", opening, "}")
        raise self.error(f"expected a statement; found {shown(token)}")

    def _refuse_c(self, token: Token) -> None:
        """Raises what there is to say of a statement that is C."""
        from ptxlab.text.written_in_c import in_c  # here, as only mistakes need it

        if (token.kind == "word" or token.text == "*") and (
            other := in_c(self.source.line(token.line)[token.column - 1 :], self._type_of)
        ):
            raise self.error(other.says, token, other.write) from None

    def _type_of(self, name: str) -> str:
        """The type that a line of the text declares a register with."""
        for type_, names in re.findall(r"\.reg\s*\.(\w+)\s+([^;]*);", self.source.text):
            for declared in names.split(","):
                stem, _, count = declared.strip().partition("<")
                if name == stem or (count and name.rstrip("0123456789") == stem):
                    return str(type_)
        return ""

    def _label(self) -> Label | Directive:
        start = self.at
        token = self.tokens[start]
        self.at += 2
        if self.text() in LABELLED:
            return self.directive(token.text, start)
        return Label(token.text, tuple(self.tokens[start : self.at]), token.line)

    def _instruction(self) -> Instruction:
        start, tokens = self.at, self.tokens
        guard = None
        if self.take("@"):
            negated = self.take("!")
            if self.text() == "(":
                bare = re.sub(r"@\s*(!?)\s*\(\s*(!?[%\w]+)\s*\)", r"@\1\2", self.source.line(self.tokens[self.at].line))
                raise self.error("a predicate is written without parentheses", hint=bare.strip())
            guard = Guard(self.word("a predicate register after '@'"), negated)
        token = tokens[self.at]
        opcode = self.word("an instruction")
        behind = self.at  # `ld .global .f32` is one opcode too
        while (more := tokens[self.at]).kind == "directive" and more.line == token.line:
            opcode += more.text
            self.at += 1
            behind = self.at
        operands: list[Operand] = []
        if opcode[0] == "%" or more.line > token.line:
            self._refuse_guard_and_label(opcode, token, more, guard)
        if more.text != ";":
            if more.text in ("}", "@", "") or more.kind == "directive":
                raise self.missing(f"operands or ';' after {opcode}", ";")
            call = action_of(opcode) is Action.CALL
            operands.append(self.operand(call))
            while tokens[self.at].text == ",":
                self.at += 1
                operands.append(self.operand(call))
            if tokens[self.at].text != ";":
                raise self._unfinished(opcode, behind)
            if more.line > token.line and more.text in TABLE:  # `ret` on two lines, the first without its semicolon
                self.at = behind
                raise self.missing(f"operands or ';' after {opcode}", ";")
        self.at += 1
        return Instruction(guard, opcode, tuple(operands), tuple(tokens[start : self.at]), token.line, token.column)

    def _refuse_guard_and_label(self, opcode: str, token: Token, more: Token, guard: Guard | None) -> None:
        """Raises what there is to say of a predicate without its `@`, and of a label without its colon; `more` is what
        follows."""
        follows = more.text.partition(".")[0] in TABLE
        if opcode[0] == "%" and follows and more.line == token.line:
            said = "a predicate before an instruction begins with '@'"
            raise self.error(said, token, self.instead(token, f"@{opcode}"))
        ends = follows or more.text in ("}", "@") or more.kind == "directive"
        if more.line > token.line and ends and guard is None and "." not in opcode and opcode not in TABLE:
            raise self.error(f"expected ':' after the label {opcode}; found {shown(more)}", token, f"{opcode}:")

    def _unfinished(self, opcode: str, behind: int) -> PtxSyntaxError:
        """The error for an instruction that goes on where it should end; `behind` is the token after its opcode."""
        token, last = self.tokens[self.at], self.tokens[self.at - 1]
        if self.at == behind + 1 and last.line > self.tokens[behind - 1].line and "." in last.text:
            self.at = behind  # what looked like an operand is the next line's opcode
            return self.missing(f"operands or ';' after {opcode}", ";")
        if token.text == ":":
            return self.error(f"expected ';' after the operands of {opcode}; found ':'", hint=self.instead(token, ";"))
        first, line = last.text.partition(".")[0], self.source.line(last.line)
        if self.at == behind + 1 and last.line == token.line and first in TABLE:
            return self.error(f"expected ':' after the label {opcode}; found {shown(last)}", last, f"{opcode}:")
        if self.at == behind + 1 and any(first in slot.choices for e in TABLE.get(opcode, ()) for slot in e.slots):
            joined = line[: last.column - 1].rstrip() + "." + line[last.column - 1 :]
            return self.error(f"dots join the words of an opcode: {opcode}.{last.text}", last, joined.strip())
        if token.line == last.line and (token.kind in ("word", "number") or token.text in ("[", "{")):
            return self.missing(f"',' or ';' after {last.text!r}", ",")
        return self.missing(f"';' after the operands of {opcode}", ";")
