"""Splits PTX text into tokens that keep their white space and comments, with one compiled regular expression.

The initial values of a long array, `= {1, 2, 3, ...}`, are one token: of a million numbers each would otherwise be two.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxlab.errors import PtxSyntaxError, Span
from ptxlab.text.source_lines import SourceLines


class Token(NamedTuple):
    """One word of PTX. `before` is the white space and comments in front of it; `line` and `column` are 1-based.

    kind: "word" (identifiers and opcodes, `%r1`, `fma.rn.f32`, `$L__BB0_1`), "directive" (`.reg`, `.f32`), "number",
    "string", "punct" (one of `{}[]()<>,;:=+-*/%!|&^~@?` or a two-character operator), "end", "values" (the numbers of a
    long array between their braces).
    """

    kind: str
    text: str
    before: str
    line: int
    column: int

    def __str__(self) -> str:
        return self.before + self.text


# A token is the white space and comments in front of it, then one of: word, directive, number, string, operator.
# Something always matches (any character, or the end), so damaged text does not make it backtrack far. Possessive
# quantifiers would say so, but Python before 3.11.5 gets them wrong inside groups.
_TOKEN = r"""
    ( (?: [ \t\r\n\f\v]+ | //[^\n]* | /\* (?s:.*?) \*/ )* )
    ( (?: [A-Za-z_$] | %(?=[\w$]) ) [\w$]* (?: (?:\.|::) [\w$]+ )*       # %r1  fma.rn.f32  $L__BB0_1  %tid.x
    | \.source_begin \b (?s:.*?) \.source_end \b                         # any text: the source of another language
    | \.[A-Za-z_] [\w$]* (?: :: [\w$]+ )*                                # .reg (also in `.reg.b32`)  .L2::cache_hint
    | (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) [eE] [+-]? [0-9]+ | \.? [0-9] [\w.$]*  # 1.5e-3  .5  0x10U  0f3F800000
    | "[^"\\\n]* (?: \\. [^"\\\n]* )* "
    | VALUES
    | << | >> | <= | >= | == | != | && | \|\| | /\*
    | (?s:.)
    | \Z )
"""
_VALUES = r"(?: (?<==) | (?<==[ ]) ) \{ [0-9A-Fa-fxXU,.+\ \t\r\n-]{256,} \}"
_PLAIN = re.compile(_TOKEN.replace("VALUES", "(?!)"), re.VERBOSE | re.ASCII)
_WORDS = re.compile(_TOKEN.replace("VALUES", _VALUES), re.VERBOSE | re.ASCII)

_KIND = dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", "word")
_KIND |= dict.fromkeys("0123456789", "number") | dict.fromkeys("{}[]()<>,;:=+-*!|&^~@?", "punct")
"""The first character of a token -> its kind, where that settles it."""


class Source:
    """A PTX text with its name and spans: what an error message needs to show the place."""

    def __init__(self, text: object, file: str = "<ptx>", spans: Mapping[int, Span] | None = None) -> None:
        self._text, self.file = text, file
        self.spans: Mapping[int, Span] = SourceLines(self.text, file) if spans is None else spans

    @functools.cached_property
    def text(self) -> str:
        """The whole text, which of a module only an error needs."""
        return str(self._text)

    @functools.cached_property
    def lines(self) -> list[str]:
        """Its lines; the second one has index 1."""
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        return self.lines[number - 1].rstrip("\r") if 0 < number <= len(self.lines) else ""

    def place(self, line: int, column: int, length: int = 1, hint: str = "") -> dict[str, Any]:
        """What a `PtxError` takes besides its message: the line, and that of the source which it comes from."""
        where = {"line": line, "column": column, "length": max(1, length), "hint": hint}
        return where | {"source": self.line(line), "file": self.file, "span": self.spans.get(line)}

    def error(self, message: str, line: int, column: int, length: int = 1, hint: str = "") -> PtxSyntaxError:
        """A `PtxSyntaxError` at a place."""
        return PtxSyntaxError(message, **self.place(line, column, length, hint))

    def replaced(self, line: int, column: int, length: int, text: str) -> str:
        """A line with some of its characters exchanged, for a hint."""
        whole, start = self.line(line), column - 1
        return (whole[:start] + text + whole[start + length :]).partition("//")[0].strip()


def lex(source: Source, start: int = 0, line: int = 1, column: int = 1, *, values: bool = True) -> list[Token]:
    """All tokens of a text; the last one has kind "end" and carries what follows the last word.

    Joining `before + text` of every token gives the text back. Without `values`, the numbers of a long array are many
    tokens. `start` is the first character to be read, `line` and `column` are its position. Raises `PtxSyntaxError` for
    a character that PTX does not have, and for a comment or string that is not closed.
    """
    tokens: list[Token] = []
    append, new = tokens.append, tuple.__new__
    kinds: dict[str, str] = {}  # the same words come again and again
    for before, text in (_WORDS if values else _PLAIN).findall(source.text, start):
        if before:
            if "\n" in before:
                line += before.count("\n")
                column = len(before) - before.rfind("\n")
            else:
                column += len(before)
        kind = kinds.get(text)
        if kind is None:
            if not text:
                append(Token("end", "", before, line, column))
                break
            if text[0] == "{" and len(text) > 1:
                append(Token("values", text, before, line, column))
                line += text.count("\n")
                column = len(text) - text.rfind("\n") if "\n" in text else column + len(text)
                continue
            kind = kinds[text] = _KIND.get(text[0]) or _other(text, source, line, column)
        append(new(Token, (kind, text, before, line, column)))
        column += len(text)
    return tokens


def _other(text: str, source: Source, line: int, column: int) -> str:
    """The kind of a token whose first character does not settle it."""
    first = text[0]
    if first in ".%" and len(text) > 1:
        return "word" if first == "%" else "number" if text[1].isdigit() else "directive"
    if first in "/%" and text != "/*":
        return "punct"
    if text == "/*":
        raise source.error("this comment is never closed", line, column, 2, hint="*/")
    if first == '"':
        if len(text) > 1:
            return "string"
        rest = source.line(line)[column - 1 :]
        raise source.error("this string is not closed on its line", line, column, len(rest), hint=rest + '"')
    if first == "#":
        rest = source.line(line)[column:].strip()
        if not re.match(r"(include|define|undef|if|ifdef|ifndef|else|elif|endif|pragma|line|error)\b|\d", rest):
            raise source.error("a comment begins with //", line, column, hint=f"// {rest}")
        raise source.error("a preprocessor line; run the C preprocessor over the file first", line, column)
    if first == ".":
        raise source.error("a dot needs a name after it: a directive, a type or a modifier", line, column)
    if first == "`":
        raise source.error("this line is of Markdown, not of PTX; leave it out", line, column)
    plain = {"\u2212": "-", "\ufeff": ""}.get(first, unicodedata.normalize("NFKC", first))
    row, alike = source.line(line), plain == "" or (len(plain) == 1 and plain in " ,;:.-+[]{}()%@!")
    hint = (row[: column - 1] + plain + row[column:]).strip() if alike else ""
    raise source.error(f"PTX has no character {first!r}", line, column, hint=hint)
