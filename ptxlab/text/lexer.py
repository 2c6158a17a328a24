"""Splits PTX text into tokens that keep their white space and comments, with one compiled regular expression.

Most statements of a file fill one line each: `add.s32 %r1, %r2, 4;`, `$L__BB0_1:`, `.loc 1 20 3`. `lex` can leave such
a line whole, as one token of kind "line"; `model.Words` splits it when its words are needed. The first values of a long
array, `= {1, 2, 3, ...}`, are one token, too: of a million numbers each would otherwise be two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ptxlab.errors import PtxSyntaxError, Span


class Token(NamedTuple):
    """One word of PTX. `before` is the white space and comments in front of it; `line` and `column` are 1-based.

    kind: "word" (identifiers and opcodes, `%r1`, `fma.rn.f32`, `$L__BB0_1`), "directive" (`.reg`, `.f32`), "number",
    "string", "punct" (one of `{}[]()<>,;:=+-*/%!|&^~@?` or a two-character operator), "end", "values" (the numbers of a
    long array between their braces); while a file is read also "line", a statement that fills a line and has not been
    split (see `Words`).
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
    (?: ( LINE ) |
    ( (?: [A-Za-z_$] | %(?=[\w$]) ) [\w$]* (?: (?:\.|::) [\w$]+ )*       # %r1  fma.rn.f32  $L__BB0_1  %tid.x
    | \.source_begin \b (?s:.*?) \.source_end \b                         # any text: the source of another language
    | \.[A-Za-z_] [\w$]* (?: :: [\w$]+ )*                                # .reg (also in `.reg.b32`)  .L2::cache_hint
    | (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) [eE] [+-]? [0-9]+ | \.? [0-9] [\w.$]*  # 1.5e-3  .5  0x10U  0f3F800000
    | "[^"\\\n]* (?: \\. [^"\\\n]* )* "
    | VALUES
    | << | >> | <= | >= | == | != | && | \|\| | /\*
    | (?s:.)
    | \Z ) )
"""
# A whole line: an instruction, a label or a place in the source. Its operands hold commas in braces only, and blanks in
# braces and brackets only, and nothing that is no token: a dot stands in a word. A word alone is not a line: it may be
# the end of `.reg .b32 a, x;`.
_LINE = r"""
      (?: @!?NAME [ \t]+ )? [a-z]\w* (?: (?:\.|::) \w+ )* [ \t]+ OPERAND (?: ,[ \t]* OPERAND )* [ \t]* ;
    | (?: @!?NAME [ \t]+ )? (?: ret | exit | trap | [a-z]\w* (?: \.\w+ )+ ) ;
    | [A-Za-z_$] [\w$]* : (?!:)
    | \. (?: reg | param ) [ \t]+ \.\w+ [ \t]+ NAME (?: < [1-9][0-9]{0,6} > )? ;
    | \.loc PLACE (?: ,[ \t]* function_name [ \t]+ [A-Za-z_$][\w$]* ,[ \t]* inlined_at PLACE )? (?! [\w.$] | [ \t]* , )
"""
_OPERAND = r"""(?:
      [\w$%!|+-]+ (?: (?<=[\w$]) \. (?=\w) [\w$%!|+-]+ )*
    | \[ [\w$%+ \t-]+ \] | \{ [\w$%,+ \t-]+ \} )"""
_PLACE = r"[ \t]+ [0-9]+ [ \t]+ [0-9]+ [ \t]+ [0-9]+"
_NAME = r"(?: %[\w$] | [A-Za-z_$] ) [\w$]*"
_VALUES = r"(?: (?<==) | (?<==[ ]) ) \{ [0-9A-Fa-fxXU,.+\ \t\r\n-]{256,} \}"
_NOTHING = "(?!)"
_PLAIN = re.compile(_TOKEN.replace("LINE", _NOTHING).replace("VALUES", _NOTHING), re.VERBOSE | re.ASCII)
_TOKEN = _TOKEN.replace("VALUES", _VALUES)
_WORDS = re.compile(_TOKEN.replace("LINE", _NOTHING), re.VERBOSE | re.ASCII)
_LINE = _LINE.replace("OPERAND", _OPERAND).replace("PLACE", _PLACE).replace("NAME", _NAME)
_LINES = re.compile(_TOKEN.replace("LINE", _LINE), re.VERBOSE | re.ASCII)

_KIND = dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", "word")
_KIND |= dict.fromkeys("0123456789", "number") | dict.fromkeys("{}[]()<>,;:=+-*!|&^~@?", "punct")
"""The first character of a token -> its kind, where that settles it."""


class Source:
    """A PTX text with its name and spans: what an error message needs to show the place."""

    def __init__(self, text: str, file: str = "<ptx>", spans: Mapping[int, Span] | None = None) -> None:
        self.text, self.file, self.spans = text, file, dict(spans or {})

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""

    def error(self, message: str, line: int, column: int, length: int = 1, hint: str = "") -> PtxSyntaxError:
        """A `PtxSyntaxError` at a place, with the line's text and the Python span that emitted it."""
        return PtxSyntaxError(
            message,
            line=line,
            column=column,
            length=max(1, length),
            source=self.line(line),
            file=self.file,
            hint=hint,
            span=self.spans.get(line),
        )


def lex(
    source: Source, lines: bool = False, start: int = 0, line: int = 1, column: int = 1, *, values: bool = True
) -> list[Token]:
    """All tokens of a text; the last one has kind "end" and carries what follows the last word.

    Joining `before + text` of every token gives the text back. With `lines`, a statement that fills a line is one
    token; without `values`, the numbers of a long array are many. `start` is the first character to be read, `line` and
    `column` are its position. Raises `PtxSyntaxError` for a character that PTX does not have, and for a comment or
    string that is not closed.
    """
    tokens: list[Token] = []
    append, new = tokens.append, tuple.__new__
    kinds: dict[str, str] = {}  # the same words come again and again
    for before, whole, text in (_LINES if lines else _WORDS if values else _PLAIN).findall(source.text, start):
        if before:
            if "\n" in before:
                line += before.count("\n")
                column = len(before) - before.rfind("\n")
            else:
                column += len(before)
        if whole:
            append(new(Token, ("line", whole, before, line, column)))
            column += len(whole)
            continue
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


def split(line: Token) -> tuple[Token, ...]:
    """The tokens of a statement that `lex` left whole."""
    first, *others, _ = lex(Source(line.text), line=line.line, column=line.column)
    return first._replace(before=line.before), *others


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
        raise source.error("a preprocessor line; run the C preprocessor over the file first", line, column)
    if first == ".":
        raise source.error("a dot needs a name after it: a directive, a type or a modifier", line, column)
    raise source.error(f"PTX has no character {first!r}", line, column)
