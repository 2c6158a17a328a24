"""Reads declarations: `.reg`, `.shared`, `.param` lists, initialised `.const` and `.global`, attributes and all."""

from __future__ import annotations

import re

from ptxlab.errors import PtxSyntaxError
from ptxlab.isa.types import OPAQUE, PAIRS, WIDTH
from ptxlab.text.lexer import Source, Token, lex
from ptxlab.text.model import Declaration, Initial, Name, Number, Sum, Variable
from ptxlab.text.operands import Operands, found

LINKAGES = (".extern", ".visible", ".weak", ".common")
SPACES = (".reg", ".sreg", ".shared", ".global", ".const", ".local", ".param", ".tex")
LARGEST_ALIGNMENT = 1 << 30
"""The largest alignment that NVIDIA's assembler takes."""
MOST_REGISTERS = 10_000_000
"""Registers in one declaration; from some number above on the assembler runs out of memory."""
TYPES = (*WIDTH, *PAIRS, *OPAQUE)


_VALUE = re.compile(r"[^{},\s][^{},]*")


class Numbers(dict[str, Number]):
    """Constants by how they are written."""

    def __missing__(self, text: str) -> Number:
        reader = Operands(Source(text))
        self[text] = found = reader.number()
        if reader.tokens[reader.at].kind != "end":
            raise reader.error("more than a number")
        return found


class Declarations(Operands):
    """The part of the grammar that declares variables."""

    def attribute(self) -> str:
        """`(.managed)`, `(.unified(1, 2))`: as text."""
        start, opening = self.at, self.expect("(", "after .attribute")
        self.skip(opening, ")", "')' for the '(' of {}", ")", (";", "{", "}"))
        return "".join(t.text for t in self.tokens[start + 1 : self.at - 1])

    def skip(self, opening: Token, closing: str, expected: str, insert: str, never: tuple[str, ...] = ()) -> None:
        """Steps behind the bracket that closes the one before, brackets inside included. never: what is not inside."""
        depth = 1
        while depth:
            token = self.tokens[self.at]
            if token.kind == "end" or token.text in never:
                raise self.missing(expected.format(self.place(opening)), insert)
            depth += (token.text == opening.text) - (token.text == closing)
            self.at += 1

    def parameters(self) -> tuple[Variable, ...]:
        """`(.param .u64 x, .param .align 4 .b8 y[12])`."""
        return self.listed(")", self._parameter)

    def _parameter(self) -> Variable:
        hidden = (".hidden",) if self.take(".hidden") else ()
        token = self.tokens[self.at]
        if token.text not in (".param", ".reg"):
            raise self.error(f"expected .param (or .reg); found {found(token)}", hint=self._as_parameter(token))
        match self.tokens[self.at + 1 : self.at + 4]:
            case type_, name, following if name.kind == "word" and following.text in (",", ")"):
                if type_.text[1:] in TYPES:  # `.param .u64 x`, as most are
                    self.at += 3
                    return Variable(
                        token.text[1:], type_.text[1:], name.text, attributes=hidden, line=name.line, column=name.column
                    )
        space, type_word, vector, align, attributes = self._header()
        return self._declarator(space, type_word, vector, align, (*hidden, *attributes), "")

    def _as_parameter(self, token: Token) -> str:
        """The line with a parameter as PTX declares it, of one as C does or without `.param`, or without a comma that
        nothing follows."""
        from ptxlab.text.written_in_c import ptx_type  # here, as only mistakes need it

        line = self.source.line(token.line)
        before, rest = line[: token.column - 1], line[token.column - 1 :]
        if token.text == ")":
            return re.sub(r",\s*$", "", before).strip() + rest
        if token.text[1:] in TYPES:
            return f"{before}.param {rest}".strip()
        given, closing, behind = rest.partition(")")
        made = []
        for each in given.split(","):
            c = re.fullmatch(r"\s*(?:const\s+)?(\w+(?: \w+)*?)\s*(?:(\*)\s*(?:__restrict__\s+)?|\s)(\w+)\s*", each)
            type_ = c and ("u64" if c[2] else ptx_type(c[1]))
            if (c is None or not type_) and not each.strip().startswith("."):
                return ""
            made.append(f".param .{type_} {c[3]}" if c and type_ else each.strip())
        return f"{before}{', '.join(made)}{closing}{behind}".strip()

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
            token = self.tokens[self.at]
            if token.text == "(":
                array = re.sub(r"\((\d*)\)", r"[\1]", self.source.line(token.line)).strip()
                raise self.error("the length of an array is written in brackets; found '('", hint=array)
            more = token.kind == "word" and token.line == self.tokens[self.at - 1].line
            raise self.missing(f"',' or ';' after {variables[-1].name}", "," if more else ";")
        self.at += 1
        declared = tuple(v for v in variables if v.count >= 0)
        return Declaration(declared, tuple(self.tokens[start : self.at]), self.tokens[start].line)

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
                value = self._alignment()
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
            from ptxlab.text.written_in_c import ptx_type  # here, as only mistakes need it

            token = self.tokens[self.at]
            meant = token.text if token.text in TYPES else ptx_type(token.text)
            hint = self.instead(token, f".{meant}") if meant else ""
            raise self.error(f"expected a type such as .b32 after .{space}; found {found(token)}", hint=hint)
        return space, type_, vector, align, tuple(attributes)

    def _declarator(
        self, space: str, type_: str, vector: int, align: int, attributes: tuple[str, ...], linkage: str
    ) -> Variable:
        place = self.tokens[self.at]
        if place.text == "*":
            line = re.sub(r"\.\w+\s*\*", ".u64", self.source.line(place.line)).strip()
            raise self.error("PTX has no pointer types: an address is a .u64", hint=line)
        name = self.word(f"the name of the .{space} variable")
        count = 0
        shape: list[int] = []
        initial: Initial | None = None
        if self.take("<"):
            count = self._count() or -1  # `%r<0>` declares nothing: `declaration` leaves it out
            self.expect(">", "after the number of registers")
        while self.take("["):
            shape.append(self._length(name, bool(shape)))
            self.expect("]", "after the length")
        if self.take("="):
            initial = self._initial()
            if shape and shape[0] == 0 and isinstance(initial, tuple):
                shape[0] = len(initial)
        at = place.line, place.column
        return Variable(space, type_, name, vector, count, tuple(shape), align, initial, linkage, attributes, *at)

    def _alignment(self) -> int:
        """The number of `.align`: a power of two."""
        start = self.at
        value = self.integer()
        if value & (value - 1) == 0 and 0 < value <= LARGEST_ALIGNMENT:
            return value
        token = self.tokens[start]
        near = min(1 << max(value - 1, 0).bit_length(), LARGEST_ALIGNMENT)
        hint = self.instead(token, str(near)) if self.at == start + 1 else ""
        message = f"an alignment is a power of two from 1 to {LARGEST_ALIGNMENT}; found {value}"
        raise self.error(message, token, hint)

    def _count(self) -> int:
        """The number of registers in `%r<4>`."""
        token = self.tokens[self.at]
        value = self.integer(9)
        if not 0 <= value <= MOST_REGISTERS:
            raise self.error(f"one declaration takes 0 to {MOST_REGISTERS:,} registers; found {value}", token)
        return value

    def _length(self, name: str, inner: bool) -> int:
        """A length of an array; 0 where it is left out, which only the first one may be."""
        token = self.tokens[self.at]
        value = 0 if token.text == "]" else self.integer()
        if value < 0 or (inner and value == 0):
            given = found(token) if token.text == "]" else value
            raise self.error(f"a length of the array {name} must be a number of at least 1; found {given}", token)
        return value

    def _initial(self) -> Initial:
        """A value, or nested braces of values."""
        token = self.tokens[self.at]
        if token.kind == "values":
            return self._values(token)
        if token.text == "{":
            return self.listed("}", self._initial)
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

    def _values(self, values: Token) -> Initial:
        """The numbers of a long array. Those that are written alike are one object."""
        try:
            found = tuple(map(Numbers().__getitem__, (each[0] for each in _VALUE.finditer(values.text))))
        except PtxSyntaxError:
            found = ()
        if len(found) == values.text.count(",") + 1:
            self.at += 1
            return found
        read = sum(len(t.before) + len(t.text) for t in self.tokens[: self.at]) + len(values.before)
        behind = lex(self.source, read, values.line, values.column, values=False)
        self.tokens[self.at :] = [behind[0]._replace(before=values.before), *behind[1:]]
        return self._initial()

    def unknown(self, what: str, token: Token, known: tuple[str, ...] | list[str]) -> PtxSyntaxError:
        """The error for a directive or type that PTX does not have."""
        import difflib

        from ptxlab.text.written_in_c import ptx_type  # here, as only mistakes need it

        meant = f".{ptx_type(token.text[1:])}"
        close = [meant] if meant in known else difflib.get_close_matches(token.text, known, 1, 0.75)
        hint = self.instead(token, close[0]) if close else ""
        return self.error(f"unknown {what} {token.text!r}", token, hint)
