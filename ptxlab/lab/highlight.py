"""Source text as HTML lines with short class names: PTX with our own Pygments lexer, Python with Pygments' own.

Classes: `o` opcode (with each modifier in an `m` inside), `d` directive, `t` type, `r` register, `x` special register
or builtin, `l` label, `n` number, `s` string, `c` comment, `k` Python keyword, `f` Python function, `g` decorator.
"""

from __future__ import annotations

import ast
import functools
import html
import linecache
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pygments.lexers import CudaLexer, PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from ptxlab.errors import Span
from ptxlab.lab.lexer import PtxLexer
from ptxlab.text import SourceLines

_PYTHON = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Name.Decorator, "g"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Builtin, "x"),
    (Operator.Word, "k"),
    (Keyword, "k"),
)
_OPCODE = Name.Function.Magic
"""Our own token: a whole opcode, `fma.rn.f32`; its text holds the modifiers."""

_PTX = (
    (_OPCODE, "o"),
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Name.Label, "l"),
    (Name.Builtin, "x"),
    (Name.Constant, "x"),
    (Name.Variable, "r"),
    (Keyword.Type, "t"),
    (Keyword, "d"),
    (Name.Decorator, "d"),
    (Name.Other, "y"),
)


def ptx_lines(text: str) -> list[str]:
    """The lines of PTX as HTML, as many as `text.splitlines()`."""
    return list(_ptx_lines(text))


@functools.lru_cache(maxsize=32)
def _ptx_lines(text: str) -> tuple[str, ...]:
    if "/*" not in text:  # no comment reaches over a line's end, so each line stands for itself
        return tuple(map(_ptx_line, text.splitlines()))
    return _ptx_text(text)


_SLOT = re.compile(
    r"(?<=%)(?!clock|pm[0-7]|envreg|reserved)[A-Za-z_$][\w$]*?\d+(?![\w$.])"  # the name of a numbered register
    r"|(?<![\w$%.])(?:[1-9]\d*|0[fF][0-9a-fA-F]{8})(?![\w$.])",  # a whole number, a float
    re.ASCII,
)
_STANDS_FOR = "7777777"


def _ptx_line(line: str) -> str:
    """One line. Most lines of a kernel differ in numbers only, and numbers have no say in what a word is: the lexer
    reads each pattern of a line once, with one number standing for all, and the line's own are put back."""
    if _STANDS_FOR in line:
        return "".join(_ptx_text(line))
    numbers: list[str] = []

    def take(found: re.Match[str]) -> str:
        word = found.group()
        if word[0] == "0":
            numbers.append(word[2:])
            return word[:2] + _STANDS_FOR + "A"
        name = word.rstrip("0123456789")
        numbers.append(word[len(name) :])
        return name + _STANDS_FOR

    pieces = _pattern(_SLOT.sub(take, line))
    return pieces[0] + "".join(number + piece for number, piece in zip(numbers, pieces[1:], strict=True))


@functools.lru_cache(maxsize=1 << 13)
def _pattern(line: str) -> tuple[str, ...]:
    """The HTML of a line, cut where a number stood."""
    return tuple(re.split(f"{_STANDS_FOR}A?", "".join(_ptx_text(line))))


def _ptx_text(text: str) -> tuple[str, ...]:
    tokens = _with_opcodes(PtxLexer(stripnl=False, ensurenl=False).get_tokens(text))
    return tuple(_lines(tokens, _PTX, len(text.splitlines())))


def _with_opcodes(tokens: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """Joins the lexer's opcode and modifiers into one token each."""
    opcode = ""
    for kind, text in tokens:
        if opcode and kind in Keyword and text.startswith("."):
            opcode += text
            continue
        if opcode:
            yield _OPCODE, opcode
        opcode = text if kind is Keyword else ""
        if not opcode:
            yield kind, text
    if opcode:
        yield _OPCODE, opcode


def _opcode_html(word: str) -> str:
    first, *modifiers = word.split(".")
    return f'<span class="o">{first}{"".join(_span("m", f".{m}") for m in modifiers)}</span>'


@functools.lru_cache(maxsize=256)
def python_lines(text: str) -> tuple[str, ...]:
    """The lines of Python as HTML, as many as `text.splitlines()`."""
    return tuple(_lines(PythonLexer(stripnl=False, ensurenl=False).get_tokens(text), _PYTHON, len(text.splitlines())))


def _lines(tokens: Iterable[tuple[Any, str]], classes: Any, count: int) -> list[str]:
    """One HTML string a line; neighbours of one class share an element."""
    out: list[list[str]] = [[]]
    named = ((_css(kind, classes), text) for kind, text in tokens)
    for css, group in groupby(named, key=lambda word: word[0]):
        for k, piece in enumerate("".join(text for _, text in group).split("\n")):
            if k:
                out.append([])
            if piece:
                out[-1].append(_opcode_html(piece) if css == "o" else _span(css, piece))
    return ["".join(line).rstrip() for line in (*out, *[[]] * count)][:count]


@functools.cache
def _css(kind: Any, classes: Any) -> str:
    return next((css for parent, css in classes if kind in parent), "")


def _span(css: str, text: str) -> str:
    words = html.escape(text, quote=False)
    return f'<span class="{css}">{words}</span>' if css else words


# -- the Python that wrote the PTX -------------------------------------------------------------------------------------


def python_pane(
    spans: Mapping[int, Span], texts: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, Any] | None, list[list[int]]]:
    """({files, language, lines, numbers}, links) for a kernel's source; links are [PTX line, row of the pane], from 1,
    files [row, file]: where the lines of each file begin.

    The pane holds the functions that emitted PTX, the file with most of them first; a row without a number
    (`numbers` 0) names the file or stands for what is left out. (None, []) where no line has a span that can be read.
    """
    if not texts and isinstance(spans, SourceLines) and spans.string is not None:
        texts = {spans.string.file: spans.string.text}
    used: dict[str, set[int]] = {}
    for span in spans.values():
        used.setdefault(span.file, set()).add(span.line)
    weight = Counter(span.file for span in spans.values())
    lines: list[str] = []
    numbers: list[int] = []
    files: list[tuple[int, str]] = []
    row: dict[tuple[str, int], int] = {}
    for file, _ in weight.most_common():
        given = texts.get(file)
        source = linecache.getlines(file) if given is None else given.splitlines(keepends=True)
        if not source:
            continue
        shown = c_lines if _is_c(file) else python_lines
        if lines:
            lines += ["", _span("c", f"# {short_path(file)}")]
            numbers += [0, 0]
        files.append((len(lines) or 1, short_path(file)))
        before = 0
        parts = [_whole(source)] if _is_c(file) else _functions("".join(source), used[file])
        for first, last, indent in parts:
            if before and first > before + 1:
                lines.append("")
                numbers.append(0)
            section = "".join(_dedent(line, indent) for line in source[first - 1 : last])
            for n, line in enumerate(shown(section), first):
                lines.append(line)
                numbers.append(n)
                row[file, n] = len(lines)
            before = last
    links = [[line, row[s.file, s.line]] for line, s in sorted(spans.items()) if (s.file, s.line) in row]
    if not links:
        return None, []
    first_file = weight.most_common(1)[0][0]
    language = "CUDA C++" if _is_c(first_file) else "Python"
    return {"files": files, "language": language, "lines": lines, "numbers": numbers}, links


def _is_c(file: str) -> bool:
    return file.endswith((".cu", ".cuh", ".cpp", ".h", ".hpp"))


def _whole(source: list[str]) -> tuple[int, int, int]:
    """All of a text but the blank lines at both ends, as `_functions` describes its parts."""
    full = [n for n, line in enumerate(source, 1) if line.strip()] or [1]
    return full[0], full[-1], 0


@functools.lru_cache(maxsize=64)
def c_lines(text: str) -> tuple[str, ...]:
    """The lines of CUDA C++ as HTML, as many as `text.splitlines()`."""
    return tuple(_lines(CudaLexer(stripnl=False, ensurenl=False).get_tokens(text), _PYTHON, len(text.splitlines())))


def _dedent(line: str, indent: int) -> str:
    return line[indent:] if len(line) > indent and not line[:indent].strip() else line


@functools.lru_cache(maxsize=32)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:  # a notebook cell with magics in it
        return None


def _functions(source: str, lines: set[int]) -> list[tuple[int, int, int]]:
    """(first line, last line, indentation) of each top-level statement that holds any of these lines, decorators
    included; of a function whose lines are all in one inner function, that inner function."""
    tree = _parsed(source)
    if tree is None:
        return [(1, source.count("\n") + 1, 0)]
    out = []
    for node in tree.body:
        mine = {n for n in lines if _first(node) <= n <= (node.end_lineno or 0)}
        if not mine:
            continue
        inner: list[ast.stmt] = [node]
        while inner:
            node = inner[0]
            inner = [
                n
                for n in getattr(node, "body", ())
                if isinstance(n, ast.FunctionDef) and all(_first(n) <= line <= (n.end_lineno or 0) for line in mine)
            ]
        out.append((_first(node), node.end_lineno or _first(node), node.col_offset))
    return out


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def short_path(file: str) -> str:
    """A file as people call it: `kernels/scalar.py`, or `notebook cell`."""
    if file.startswith("<") or "ipykernel" in file:
        return "notebook cell"
    return "/".join(Path(file).parts[-2:])
