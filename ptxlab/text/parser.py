"""Reads PTX: the whole grammar of directives, declarations, functions and statements, known instruction or not."""

from __future__ import annotations

from collections.abc import Mapping

from ptxlab.errors import PtxSyntaxError, Span
from ptxlab.garbage_collection import uncollected
from ptxlab.isa import Action, action_of
from ptxlab.text.declarations import LINKAGES, SPACES
from ptxlab.text.directives import LABELLED, STARTS_ITEM, WITHOUT_SEMICOLON, Directives
from ptxlab.text.lexer import Source, Token, lex
from ptxlab.text.lines import Lines
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
from ptxlab.text.operands import found

BEHIND_PROTOTYPE = (*STARTS_ITEM, ".global", ".const", ".shared", ".tex", *WITHOUT_SEMICOLON)
"""What may follow the prototype of a function whose semicolon is left out, which early compilers did."""
ONCE = ("version", "target", "address_size")


@uncollected
def parse(text: str, file: str = "<ptx>", spans: Mapping[int, Span] | None = None) -> Module:
    """Parses a PTX text into a module; `str()` of it is the text again, byte for byte.

    `file` names the text in error messages; `spans` maps a 1-based PTX line to the Python expression that emitted it.
    Whether instructions and registers exist is not checked here (see `validate`). Raises `PtxSyntaxError`.
    """
    if not isinstance(text, str):
        raise PtxSyntaxError(f"PTX is text; found {type(text).__name__}")
    return _Parser(Source(text, file, spans), lines=True).module()


class _Parser(Directives):
    """The part of the grammar from the statement upward.

    A statement that fills a line comes as one token, which `Lines` reads. Where that fails, or a line is not expected,
    `words_from` splits what is ahead, and the same place is read again, word by word.
    """

    def __init__(self, source: Source, lines: bool) -> None:
        super().__init__(source, lines)
        self.lines = lines
        self.whole = Lines()

    def words_from(self, start: int, depth: int) -> None:
        """Goes back to the token `start` and splits all lines from there on, at this depth of nesting."""
        self.lines = False
        read = self.tokens[:start]
        line, column = (read[-1].line, read[-1].column + len(read[-1].text)) if read else (1, 1)
        self.tokens[start:] = lex(self.source, False, sum(len(t.before) + len(t.text) for t in read), line, column)
        self.at, self.depth = start, depth

    def module(self) -> Module:
        items: list[Function | Declaration | Directive] = []
        version, target, size = (0, 0), "", 64
        seen: dict[str, Directive] = {}
        while self.tokens[self.at].kind != "end":
            start = self.at
            try:
                item = self._item()
            except PtxSyntaxError:
                if not self.lines:
                    raise
                item = None
            if item is None:
                self.words_from(start, 0)
                continue
            items.append(item)
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
            raise self.error(
                f"expected .entry, .func or a state space after {self.text()}; found {found(token)}", token
            )
        if token.kind == "directive":
            return self.directive()
        if token.text == "}":
            raise self.error("this '}' closes nothing")
        if token.kind == "word":
            raise self.error(
                f"{token.text!r} stands outside of any function; statements belong between its '{{' and '}}'"
            )
        raise self.error(f"expected a directive; found {found(token)}")

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
        name = self.word(f"the name of the {opening.text[1:]}")
        params = self.parameters() if self.text() == "(" else ()
        while self.tokens[self.at].kind == "directive" and not self._prototype_ends(opening):
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
            start, depth = self.at, self.depth
            try:
                statements.append(self._line(token) if token.kind == "line" else self._statement(token, opening))
            except PtxSyntaxError:
                if not self.lines:
                    raise
            else:
                continue
            self.words_from(start, depth)
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
            raise self.source.error(
                "this '{' is never closed; found the end of the file", opening.line, opening.column, hint="}"
            )
        raise self.error(f"expected a statement; found {found(token)}")

    def _line(self, line: Token) -> Statement:
        """A statement that fills a line."""
        self.at += 1
        if line.text[-1] != ";" and self.text() in (",", *LABELLED):  # a `.loc` that goes on; `t: .branchtargets a, b;`
            raise self.error("more than a line")
        return self.whole.statement(line)

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
            guard = Guard(self.word("a predicate register after '@'"), negated)
        token = tokens[self.at]
        opcode = self.word("an instruction")
        behind = self.at  # `ld .global .f32` is one opcode too
        while (more := tokens[self.at]).kind == "directive" and more.line == token.line:
            opcode += more.text
            self.at += 1
            behind = self.at
        operands: list[Operand] = []
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
        self.at += 1
        return Instruction(guard, opcode, tuple(operands), tuple(tokens[start : self.at]), token.line, token.column)

    def _unfinished(self, opcode: str, behind: int) -> PtxSyntaxError:
        """The error for an instruction that goes on where it should end; `behind` is the token after its opcode."""
        token, last = self.tokens[self.at], self.tokens[self.at - 1]
        if self.at == behind + 1 and last.line > self.tokens[behind - 1].line and "." in last.text:
            self.at = behind  # what looked like an operand is the next line's opcode
            return self.missing(f"operands or ';' after {opcode}", ";")
        if token.line == last.line and (token.kind in ("word", "number") or token.text in ("[", "{")):
            return self.missing(f"',' or ';' after {last.text!r}", ",")
        return self.missing(f"';' after the operands of {opcode}", ";")
