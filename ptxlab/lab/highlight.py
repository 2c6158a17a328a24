"""Source text as HTML lines with short class names: PTX by the words that `alignment` compares, the rest by Pygments.

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
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pygments.lexers import CudaLexer, PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from ptxlab.errors import Span
from ptxlab.isa.special_registers import NAMES
from ptxlab.lab.alignment import PTX_WORD
from ptxlab.lab.lexer import TYPES, UNDOTTED
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
_COLON = re.compile(r"\s*:(?!:)")
"""What follows a label."""


@functools.lru_cache(maxsize=32)
def _ptx_lines(text: str) -> tuple[str, ...]:
    out, at = [], 0
    for found in PTX_WORD.finditer(text):
        kind, word, start = str(found.lastgroup), found.group(), found.start()
        if kind == "punct":
            continue
        if start > at:
            out.append(span("", text[at:start]))
        at = found.end()
        if kind == "word" and start and text[start - 1] in "@!":
            kind = "register"  # whose name does not say so, in a guard
        label = kind in ("register", "label", "word") and _COLON.match(text, at)
        out.append(span("l", word) if label else _ptx_word(kind, word))
    out.append(span("", text[at:]))
    return tuple(line.rstrip() for line in "".join(out).split("\n"))


def ptx_lines(text: str) -> list[str]:
    """The lines of PTX as HTML, as many as `text.splitlines()`."""
    return list(_ptx_lines("\n".join(text.splitlines()))) if text else []


@functools.lru_cache(maxsize=1 << 13)
def _ptx_word(kind: str, word: str) -> str:
    """A word as HTML; a comment of several lines as an element in each."""
    css = _ptx_class(kind, word)
    return opcode_html(word) if css == "o" else "\n".join(span(css, line) for line in word.split("\n"))


def _ptx_class(kind: str, word: str) -> str:
    if kind == "register":
        return "x" if word[0] == "%" and word[1:].partition(".")[0] in NAMES else "r"
    if kind != "word":
        return {"comment": "c", "string": "s", "number": "n"}.get(kind, "")
    if word[0] == ".":
        return "t" if word[1:] in TYPES else "d"
    if word in ("_", "WARP_SZ"):
        return "x"
    if "." in word or word in UNDOTTED:
        return "o"
    return "y" if re.fullmatch(r"_Z.*|\w+_param_\d+", word) else ""


def opcode_html(word: str) -> str:
    """An opcode, of PTX or of machine code."""
    first, *modifiers = word.split(".")
    return f'<span class="o">{first}{"".join(span("m", f".{m}") for m in modifiers)}</span>'


@functools.lru_cache(maxsize=256)
def python_lines(text: str) -> tuple[str, ...]:
    """The lines of Python as HTML, as many as `text.splitlines()`."""
    return _source_lines(PythonLexer(stripnl=False, ensurenl=False), text)


def _source_lines(lexer: Any, text: str) -> tuple[str, ...]:
    """One HTML string a line; neighbours of one class share an element."""
    out, count = [""], len(text.splitlines())
    words = ((_css(kind), word) for kind, word in lexer.get_tokens(text))
    for css, group in groupby(words, key=lambda word: word[0]):
        for k, piece in enumerate("".join(word for _, word in group).split("\n")):
            if k:
                out.append("")
            out[-1] += span(css, piece)
    return tuple(line.rstrip() for line in (out + [""] * count)[:count])


@functools.cache
def _css(kind: Any) -> str:
    return next((css for parent, css in _PYTHON if kind in parent), "")


def span(css: str, text: str) -> str:
    """Words of a class, escaped."""
    words = html.escape(text, quote=False)
    return f'<span class="{css}">{words}</span>' if css and words else words


# -- the Python that wrote the PTX -------------------------------------------------------------------------------------


def python_pane(
    spans: Mapping[int, Span], texts: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, Any] | None, list[list[int]]]:
    """(the pane of a kernel's source, its links [PTX line, row]): the functions that emitted PTX, the file with most of
    them first. (None, []) where no line has a span that can be read."""
    if not texts and isinstance(spans, SourceLines) and spans.string is not None:
        texts = {spans.string.file: spans.string.text}
    used: dict[str, set[int]] = {}
    for place in spans.values():
        used.setdefault(place.file, set()).add(place.line)
    weight = Counter(place.file for place in spans.values())
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
            lines += ["", span("c", f"# {short_path(file)}")]
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
    return _source_lines(CudaLexer(stripnl=False, ensurenl=False), text)


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
