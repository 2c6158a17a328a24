"""Reads declarations: `.reg`, `.shared`, `.param` lists, initialised `.const` and `.global`, attributes and all."""

from __future__ import annotations

import difflib

from ptxlab.errors import PtxSyntaxError
from ptxlab.isa.types import WIDTH
from ptxlab.text.model import Declaration, Initial, Name, Sum, Token, Variable
from ptxlab.text.operands import Operands, found

LINKAGES = (".extern", ".visible", ".weak", ".common")
SPACES = (".reg", ".sreg", ".shared", ".global", ".const", ".local", ".param", ".tex")
TYPES = (*WIDTH, "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "texref", "samplerref", "surfref")


class Declarations(Operands):
    """The part of the grammar that declares variables."""

    def attribute(self) -> str:
        """`(.managed)`, `(.unified(1, 2))`: as text."""
        start = self.at
        opening = self.expect("(", "after .attribute")
        depth = 1
        while depth:
            token = self.tokens[self.at]
            if token.kind == "end" or token.text in (";", "{", "}"):
                raise self.missing(f"')' for the '(' of {self.place(opening)}", ")")
            depth += (token.text == "(") - (token.text == ")")
            self.at += 1
        return "".join(t.text for t in self.tokens[start + 1 : self.at - 1])

    def parameters(self) -> tuple[Variable, ...]:
        """`(.param .u64 x, .param .align 4 .b8 y[12])`."""
        opening = self.tokens[self.at]
        self.at += 1
        params: list[Variable] = []
        if self.text() != ")":
            params.append(self._parameter())
            while self.take(","):
                params.append(self._parameter())
        if self.text() != ")":
            raise self.missing(f"',' or ')' for the '(' of {self.place(opening)}", ")")
        self.at += 1
        return tuple(params)

    def _parameter(self) -> Variable:
        token = self.tokens[self.at]
        if token.text not in (".param", ".reg"):
            raise self.error(f"expected .param (or .reg); found {found(token)}")
        return self._declarator(*self._header(), "")

    def declaration(self) -> Declaration:
        """A whole statement, `.shared .align 16 .b8 a[4], b;`, its linkage included."""
        start = self.at
        linkage = ""
        while self.text() in LINKAGES:
            linkage = self.text()[1:]
            self.at += 1
        header = self._header()
        variables = [self._declarator(*header, linkage)]
        while self.take(","):
            variables.append(self._declarator(*header, linkage))
        if self.text() != ";":
            raise self.missing(f"',' or ';' after {variables[-1].name}", ";")
        self.at += 1
        return Declaration(tuple(variables), tuple(self.tokens[start : self.at]), self.tokens[start].line)

    def _header(self) -> tuple[str, str, int, int, tuple[str, ...]]:
        """The space, type, vector length, alignment and other attributes in front of the names."""
        attributes: list[str] = []
        space = self.tokens[self.at].text[1:]
        if f".{space}" not in SPACES:
            raise self.error(f"expected a state space, one of {' '.join(SPACES)}; found {found(self.tokens[self.at])}")
        self.at += 1
        if self.take("["):  # the banks of early PTX: .const[2]
            attributes.append(f"[{self.integer()}]")
            self.expect("]", "after the bank")
        type_, vector, align, pointer = "", 1, 0, False
        while (token := self.tokens[self.at]).kind == "directive":
            self.at += 1
            word = token.text[1:]
            if word == "attribute":
                attributes.append(f".attribute({self.attribute()})")
            elif word == "align":
                value = self.integer()
                align = align if pointer else value
                attributes += [f".align {value}"] if pointer else []
            elif pointer or word == "ptr":
                pointer = True
                attributes.append(token.text)
            elif word in ("v2", "v4", "v8"):
                vector = int(word[1:])
            elif word in TYPES:
                type_ = word
            else:
                raise self.unknown("type", token, [f".{t}" for t in TYPES])
        if not type_:
            raise self.error(f"expected a type such as .b32 after .{space}; found {found(self.tokens[self.at])}")
        return space, type_, vector, align, tuple(attributes)

    def _declarator(
        self, space: str, type_: str, vector: int, align: int, attributes: tuple[str, ...], linkage: str
    ) -> Variable:
        line = self.tokens[self.at].line
        name = self.word(f"the name of the .{space} variable")
        count = 0
        shape: list[int] = []
        initial: Initial | None = None
        if self.take("<"):
            count = self.integer(9)
            self.expect(">", "after the number of registers")
        while self.take("["):
            shape.append(0 if self.text() == "]" else self.integer())
            self.expect("]", "after the length")
        if self.take("="):
            initial = self._initial()
            if shape and shape[0] == 0 and isinstance(initial, tuple):
                shape[0] = len(initial)
        return Variable(space, type_, name, vector, count, tuple(shape), align, initial, linkage, attributes, line)

    def _initial(self) -> Initial:
        """A value, or nested braces of values."""
        token = self.tokens[self.at]
        if token.text == "{":
            self.at += 1
            self.enter()
            values: list[Initial] = []
            if self.text() != "}":
                values.append(self._initial())
                while self.take(","):
                    values.append(self._initial())
            if self.text() != "}":
                raise self.missing(f"',' or '}}' for the '{{' of {self.place(token)}", "}")
            self.at += 1
            self.depth -= 1
            return tuple(values)
        if token.kind == "word" and token.text != "WARP_SZ":
            if self.text(1) == "=":  # a sampler's property: filter_mode = nearest
                self.at += 2
                value = self.tokens[self.at]
                if value.kind not in ("word", "number"):
                    raise self.error(f"expected a value for {token.text}; found {found(value)}")
                self.at += 1
                return Name(f"{token.text} = {value.text}")
            return self.symbol()
        if token.kind == "number" and self.text(1) == "(":  # one byte of an address: 0xFF00(symbol)
            mask = self.integer(11)
            self.at += 1
            symbol = self.symbol()
            self.expect(")", f"after {token.text}({symbol}")
            if isinstance(symbol, Name):
                return Sum(symbol, mask=mask)
            return Sum(symbol.base, symbol.offset, generic=symbol.generic, mask=mask)
        return self.number()

    def unknown(self, what: str, token: Token, known: tuple[str, ...] | list[str]) -> PtxSyntaxError:
        """The error for a directive or type that PTX does not have."""
        close = difflib.get_close_matches(token.text, known, 1, 0.75)
        return self.error(f"unknown {what} {token.text!r}", token, close[0] if close else "")
