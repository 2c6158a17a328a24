"""Reads operands, addresses, literals and constant expressions: everything after an opcode or an `=`."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from ptxlab.errors import PtxSyntaxError
from ptxlab.text.lexer import Source, Token, lex
from ptxlab.text.model import Address, Element, Name, Not, Number, Operand, Pair, Parens, Sum, Vector

_LITERAL = re.compile(
    r"0[xX]([0-9a-fA-F]+)(U?)|0[bB]([01]+)(U?)|(0[0-7]*|[1-9][0-9]*)(U?)"
    r"|0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})|((?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
)
_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_MULTIPLICATIVE = 10
_ENDS = frozenset({",", ";"})
_MASK = (1 << 64) - 1
_DEEPEST = 100  # nesting of braces and parentheses: far above any compiler's output, far below Python's stack

E = TypeVar("E")
Constant = tuple[int | float, str]  # a value and its type: "s64", "u64" or "f64"


class Operands:
    """A cursor over the tokens of one text, and the part of the grammar below the statement."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = lex(source)
        self.at = 0
        self.depth = 0
        self.names: dict[str, Name] = {}

    # -- the cursor

    def text(self, ahead: int = 0) -> str:
        """The text of the current token, or of one further on."""
        if not ahead:
            return self.tokens[self.at].text
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].text

    def take(self, text: str) -> bool:
        """Steps over the token if it is this one."""
        if self.tokens[self.at].text == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str, where: str) -> Token:
        """Steps over this token; an error if it is missing `where`."""
        token = self.tokens[self.at]
        if token.text != text:
            raise self.missing(f"{text!r} {where}", text)
        self.at += 1
        return token

    def word(self, what: str) -> str:
        """Steps over a word (a name) and returns it; `what` says what it names."""
        token = self.tokens[self.at]
        if token.kind != "word":
            raise self.error(f"expected {what}; found {found(token)}")
        self.at += 1
        return token.text

    def enter(self) -> None:
        """Counts one level of nesting."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"nested more than {_DEEPEST} levels deep")

    def place(self, token: Token) -> str:
        """Where a token is, for a message about another one: its column if it is on the last line read, or its line."""
        same = self.at > 0 and self.tokens[self.at - 1].line == token.line
        return f"column {token.column}" if same else f"line {token.line}"

    def error(self, message: str, token: Token | None = None, hint: str = "") -> PtxSyntaxError:
        """An error under a token (the current one by default)."""
        token = token or self.tokens[self.at]
        return self.source.error(message, token.line, token.column, len(token.text), hint)

    def missing(self, expected: str, insert: str) -> PtxSyntaxError:
        """An error for something missing between the last token and the current one; the hint inserts it."""
        token = self.tokens[self.at]
        message = f"expected {expected}; found {found(token)}"
        if self.at == 0:
            return self.error(message)
        last = self.tokens[self.at - 1]
        column = last.column + len(last.text)
        line = self.source.line(last.line)
        hint = (line[: column - 1] + insert + line[column - 1 :]).strip()
        if token.line == last.line and token.kind != "end":
            return self.error(message, hint=hint)
        return self.source.error(message, last.line, column, 1, hint)

    def instead(self, token: Token, text: str) -> str:
        """The line of a token with another text in its place, for a hint."""
        return self.source.replaced(token.line, token.column, len(token.text), text)

    # -- operands

    def operand(self, call: bool = False) -> Operand:
        """One operand; in a call, parentheses hold a list, elsewhere they belong to a constant expression."""
        token = self.tokens[self.at]
        if token.kind == "word" and self.tokens[self.at + 1].text in _ENDS and token.text != "WARP_SZ":
            self.at += 1
            return self.name(token.text)
        first = self._single(call)
        if self.tokens[self.at].text == "|" and isinstance(first, (Name, Vector)):
            self.at += 1
            return Pair(first, self._single(call))
        return first

    def name(self, text: str) -> Name:
        """The one `Name` object of this text."""
        known = self.names.get(text)
        if known is None:
            known = self.names[text] = Name(text)
        return known

    def _single(self, call: bool) -> Operand:
        token, following = self.tokens[self.at], self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        text = token.text
        if token.kind == "word" and text != "WARP_SZ":
            if following.text == "[":
                return self._element()
            if following.text in ("+", "-") or (text == "generic" and following.text == "("):
                return self.symbol()
            self.at += 1
            return self.name(text)
        if text == "[":
            return self._address()
        if text == "{":
            return Vector(self.listed("}", lambda: self.operand(call)))
        if text == "(" and call:
            return Parens(self.listed(")", lambda: self.operand(call)))
        if text in ("!", "-") and following.kind == "word" and following.text != "WARP_SZ":
            self.at += 2
            name = self.name(following.text)
            return Not(name) if text == "!" else Sum(name, 0, -1)
        if token.kind == "number" or text in ("-", "+", "!", "~", "(", "WARP_SZ"):
            return self.number()
        raise self.error(f"expected an operand; found {found(token)}")

    def listed(self, closing: str, read: Callable[[], E]) -> tuple[E, ...]:
        """What is between two brackets, commas in between: the current token is the opening one."""
        opening = self.tokens[self.at]
        self.at += 1
        self.enter()
        elements: list[E] = []
        if self.text() != closing:
            elements.append(read())
            while self.take(","):
                elements.append(read())
        if self.text() != closing:
            token, last = self.tokens[self.at], self.tokens[self.at - 1]
            more = token.text in (".param", ".reg") or (token.line == last.line and token.kind in ("word", "number"))
            what = f"',' or {closing!r} for the {opening.text!r} of {self.place(opening)}"
            if token.text == ";" and self.text(1) in (".param", ".reg"):
                raise self.error(f"expected {what}; found ';'", hint=self.instead(token, ","))
            raise self.missing(what, "," if more else closing)
        self.at += 1
        self.depth -= 1
        return tuple(elements)

    def _element(self) -> Element:
        base = self.name(self.word("an array"))
        self.at += 1
        self.enter()
        index = self.operand()
        self.expect("]", f"after the index of {base}")
        self.depth -= 1
        return Element(base, index)

    def symbol(self) -> Name | Sum:
        """`name`, `name+4`, `generic(name)+4`."""
        generic = self.text() == "generic" and self.text(1) == "("
        if generic:
            self.at += 2
        name = self.name(self.word("the name of a variable or function"))
        if generic:
            self.expect(")", f"after generic({name}")
        offset = self._offset()
        return Sum(name, offset, generic=generic) if generic or offset else name

    def _offset(self) -> int:
        """`+4-8*2`, or nothing."""
        if self.text() == "-":
            minus, following = self.tokens[self.at : self.at + 2]
            hint = self.instead(minus, "+-").replace("+- ", "+-")
            if following.kind == "word":
                hint = f"sub.u64 %address, {self.text(-1)}, {following.text};  // both of the same width"
            raise self.error("an offset is added to a name; found '-'", hint=hint)
        offset = 0
        while self.text() in ("+", "-"):
            sign = 1 if self.text() == "+" else -1
            self.at += 1
            offset += sign * self.integer(_MULTIPLICATIVE)
        return offset

    def _address(self) -> Address:
        opening = self.tokens[self.at]
        self.at += 1
        self.enter()
        base: Operand
        register: Name | None = None
        offset = 0
        token = self.tokens[self.at]
        if token.kind == "word" and token.text != "WARP_SZ":
            self.at += 1
            base = self.name(token.text)
            if self.text() == "[":
                self.at -= 1
                base = self._element()
            following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if self.text() == "+" and following.kind == "word" and following.text != "WARP_SZ":
                self.at += 2
                register = self.name(following.text)
            if register is not None and self.text() == "*":
                write = f"mad.wide.u32 %address, {register}, {self.text(1)}, {base};"
                raise self.error("an address is a register and a constant; found '*'", hint=write)
            offset = self._offset()
        else:
            base = self._single(False)
        extra: list[Operand] = []
        while self.take(","):
            extra.append(self.operand())
        if self.text() != "]":
            raise self.missing(f"']' for the '[' of {self.place(opening)}", "]")
        self.at += 1
        self.depth -= 1
        return Address(base, offset, register, tuple(extra))

    # -- constants

    def number(self) -> Number:
        """A literal or a constant expression, as a Number; its text is as written, without white space."""
        negative = self.text() == "-"
        token = self.tokens[min(self.at + negative, len(self.tokens) - 1)]
        following = self.text(1 + negative)
        if token.kind == "number" and following not in _PRECEDENCE and following != "?":
            kind, value, bits = literal(self, token)
            self.at += 1 + negative
            if not negative:
                return Number(token.text, kind, value, bits)
            flipped = bits ^ (1 << 31 if kind == "f32" else 1 << 63)
            return Number("-" + token.text, kind, -value, -bits & _MASK if kind == "int" else flipped)
        start = self.at
        value, type_ = self.expression()
        text = "".join(t.text for t in self.tokens[start : self.at])
        if type_ == "f64":
            return Number(text, "f64", float(value), struct.unpack("<Q", struct.pack("<d", value))[0])
        return Number(text, "int", value, int(value) & _MASK)

    def integer(self, lowest: int = 0) -> int:
        """A constant integer expression; operators binding weaker than `lowest` are left alone."""
        token = self.tokens[self.at]
        value, _ = self.expression(lowest)
        if isinstance(value, float):
            raise self.error(f"expected an integer; found {found(token)}", token)
        return value

    def expression(self, lowest: int = 0) -> Constant:
        """A constant expression with C's precedences, in 64 bits."""
        self.enter()
        left = self._unary()
        while True:
            token = self.tokens[self.at]
            rank = _PRECEDENCE.get(token.text, -1)
            if token.kind != "punct" or rank < max(lowest, 1):
                break
            self.at += 1
            right = self.expression(rank + 1)
            left = self._binary(token, left, right)
        if lowest == 0 and self.take("?"):
            yes = self.expression()
            self.expect(":", "between the two values of '?'")
            no = self.expression()
            left = yes if left[0] else no
        self.depth -= 1
        return left

    def _unary(self) -> Constant:
        token = self.tokens[self.at]
        self.at += 1
        if token.text == "WARP_SZ":
            return 32, "s64"
        if token.kind == "number":
            kind, value, _ = literal(self, token)
            return value, "f64" if kind != "int" else "u64" if value > _MASK >> 1 or token.text[-1] == "U" else "s64"
        if token.text == "(":
            cast = self.text()
            if cast in (".s64", ".u64"):
                self.at += 1
                self.expect(")", f"after the cast {cast}")
                value, _ = self._nested()
                return _wrap(int(value) if value == value and abs(value) < 2.0**65 else 0, cast[1:])
            value_and_type = self.expression()
            self.expect(")", f"for the '(' of {self.place(token)}")
            return value_and_type
        if token.text in ("+", "-", "!", "~") and token.kind == "punct":
            value, type_ = self._nested()
            if token.text == "!":
                return int(not value), "s64"
            if token.text == "~":
                if isinstance(value, float):
                    raise self.error("~ needs an integer", token)
                return ~value & _MASK, "u64"
            return _wrap(-value, type_) if token.text == "-" else (value, type_)
        self.at -= 1
        raise self.error(f"expected a constant; found {found(token)}", token)

    def _nested(self) -> Constant:
        self.enter()
        result = self._unary()
        self.depth -= 1
        return result

    def _binary(self, token: Token, left: Constant, right: Constant) -> Constant:
        a, b = left[0], right[0]
        op = token.text
        if op in ("&&", "||"):
            return int(bool(a) and bool(b) if op == "&&" else bool(a) or bool(b)), "s64"
        floating = isinstance(a, float) or isinstance(b, float)
        if op in ("/", "%") and b == 0 and (op == "%" or not floating):
            raise self.error("division by zero", token)
        if isinstance(a, float) or isinstance(b, float):
            if op in ("%", "<<", ">>", "&", "|", "^"):
                raise self.error(f"{op} needs integers", token)
            a, b = float(a), float(b)
            if op == "/":
                return (a / b if b else float("nan") if a == 0 or a != a else a * float("inf")), "f64"
            return _typed(_EXACT[op](a, b), "f64")
        unsigned = "u64" in ((left[1],) if op in ("<<", ">>") else (left[1], right[1]))
        return _integral(op, a, b, "u64" if unsigned or op in ("&", "|", "^") else "s64")


def _integral(op: str, a: int, b: int, type_: str) -> Constant:
    if type_ == "u64":
        a, b = a & _MASK, b & _MASK
    if op == "/":
        return _wrap(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), type_)
    if op == "%":
        return _wrap(abs(a) % abs(b) * (-1 if a < 0 else 1), type_)
    if op in ("<<", ">>"):
        shift = min(b & _MASK, 64)
        return _wrap(a << shift if op == "<<" else a >> shift, type_)
    return _typed(_EXACT[op](a, b), type_)


def _typed(result: bool | int | float, type_: str) -> Constant:
    """A result in the type of its operands; what is true or false is an integer."""
    return (int(result), "s64") if isinstance(result, bool) else _wrap(result, type_)


def _wrap(value: int | float, type_: str) -> Constant:
    """The value in its type: 64 bits, two's complement."""
    if isinstance(value, float):
        return value, "f64"
    value &= _MASK
    return (value - (1 << 64) if type_ == "s64" and value >> 63 else value), type_


def literal(at: Operands, token: Token) -> tuple[str, int | float, int]:
    """The kind ("int", "f32", "f64"), value and bits of a number token."""
    match = _LITERAL.fullmatch(token.text)
    if match is None:
        from ptxlab.text.written_in_c import number  # here, as only mistakes need it

        plain = number(token.text)
        raise at.error(_why_not(token.text), token, at.instead(token, plain) if plain else "")
    group = match.lastindex or 0
    digits = match[group] if group > 6 else match[group - 1]
    if group == 7:
        return "f32", struct.unpack("<f", struct.pack("<I", int(digits, 16)))[0], int(digits, 16)
    if group == 8:
        return "f64", struct.unpack("<d", struct.pack("<Q", int(digits, 16)))[0], int(digits, 16)
    if group == 9:
        if float(digits) == float("inf"):
            raise at.error("this number does not fit in 64 bits", token)
        return "f64", float(digits), struct.unpack("<Q", struct.pack("<d", float(digits)))[0]
    base = {2: 16, 4: 2}.get(group) or (8 if digits[0] == "0" else 10)
    value = int(digits, base) if len(digits) <= 80 else _MASK + 1
    if value > _MASK:
        raise at.error("this integer does not fit in 64 bits", token)
    return "int", value, value


def _why_not(text: str) -> str:
    prefix = text[:2].lower()
    if prefix in ("0f", "0d"):
        want = 8 if prefix == "0f" else 16
        return f"{text[:2]} needs exactly {want} hexadecimal digits, the bits of an f{want * 4}; found {text[2:]!r}"
    if text[:1] == "0" and text.rstrip("U").isdigit():
        return f"a leading 0 makes this octal, which has digits 0 to 7; found {text!r}"
    return f"this is not a number: {text!r}"


def found(token: Token) -> str:
    """A token as a message shows it."""
    return "the end of the file" if token.kind == "end" else repr(token.text)
