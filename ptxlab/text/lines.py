"""Reads a statement that fills one line, as most statements of a file do: `add.s32 %r1, %r2, 4;`, from its text alone.

Equal operands are read once and cached: a file uses the same few hundred registers again and again.
"""

from __future__ import annotations

import re

from ptxlab.errors import PtxSyntaxError
from ptxlab.text.declarations import TYPES
from ptxlab.text.lexer import Source, Token
from ptxlab.text.model import (
    Address,
    Declaration,
    Directive,
    Guard,
    Instruction,
    Label,
    Name,
    Number,
    Operand,
    Variable,
    Vector,
    Words,
)
from ptxlab.text.operands import Operands

_COMMA = re.compile(r",(?![^{]*\})")
"""A comma that is not in braces."""
_SIMPLE = re.compile(
    r"""\s* (?:
      (?!WARP_SZ\b) ( (?: %[\w$] | [A-Za-z_$] ) [\w$]* )                                     # 1: %r12
    | (0 | [1-9][0-9]{0,17})                                                                 # 2: 64
    | \[ \s* (?!WARP_SZ\b) ( (?: %[\w$] | [A-Za-z_$] ) [\w$]* ) \s* (?: \+ \s* (0 | [1-9][0-9]{0,17}) )? \s* \]
    | \{ ( [^{}]* ) \}                                                                       # 3, 4: [%rd1+16]
    ) \s*""",
    re.VERBOSE | re.ASCII,
)
_DECLARED = re.compile(r"\.(\w+)[ \t]+\.(\w+)[ \t]+([^\s<]+?)(?:<([0-9]+)>)?;", re.ASCII)


class Lines:
    """The statements of one text that fill a line each."""

    def __init__(self) -> None:
        self.operands = _Operands()
        self.guards = _Guards()

    def statement(self, line: Token) -> Instruction | Label | Directive | Declaration:
        """The statement of a token of kind "line". Raises `PtxSyntaxError` where something is wrong, or unusual: a
        parser that reads word by word then says what."""
        text = line.text
        if text[-1] == ":":
            return Label(text[:-1], Words(line), line.line)
        if text[0] == ".":
            if text[-1] == ";":
                return self._declaration(line)
            return Directive("loc", tuple(text.replace(",", " ").split()[1:]), "", Words(line), line.line)
        guard, column = None, line.column
        opcode, *rest = text[:-1].split(None, 1)
        if text[0] == "@":
            guard = self.guards[opcode]
            column += len(text) - 1 - len(rest[0])
            opcode, *rest = rest[0].split(None, 1)
        operands: tuple[Operand, ...] = ()
        if rest:
            written = _COMMA.split(rest[0]) if "{" in text else rest[0].split(",")
            operands = tuple(map(self.operands.__getitem__, written))
        return Instruction(guard, opcode, operands, Words(line), line.line, column)

    def _declaration(self, line: Token) -> Declaration:
        """`.reg .b32 %r<12>;`, `.param .b64 x;`."""
        found = _DECLARED.fullmatch(line.text)
        if found is None or found[2] not in TYPES:
            raise PtxSyntaxError("a declaration of another form")
        space, type_, name, count = found.groups()
        column = line.column + found.start(3)
        variable = Variable(space, type_, name, count=int(count or 0), line=line.line, column=column)
        return Declaration((variable,), Words(line), line.line)


class _Operands(dict[str, Operand]):
    """The operands of a text by how they are written there."""

    def __missing__(self, written: str) -> Operand:
        self[written] = operand = self._read(written)
        return operand

    def _read(self, written: str) -> Operand:
        simple = _SIMPLE.fullmatch(written)
        if simple is None:
            words = Operands(Source(written))
            operand = words.operand()
            if words.tokens[words.at].kind != "end":
                raise PtxSyntaxError("more than one operand")
            return operand
        name, number, base, offset, elements = simple.groups()
        if name:
            return Name(name)
        if number:
            return Number(number, "int", int(number), int(number))
        if base:
            return Address(self[base], int(offset or 0))
        return Vector(tuple(map(self.__getitem__, elements.split(","))))


class _Guards(dict[str, Guard]):
    """The guards of a text by how they are written there: `@!%p1`."""

    def __missing__(self, written: str) -> Guard:
        negated = written[1] == "!"
        self[written] = guard = Guard(written[1 + negated :], negated)
        return guard
