"""Python that somebody has typed on a page: it is executed under a name of its own, so that spans and messages show its
lines, and what goes wrong in it is an error with the line to mark."""

from __future__ import annotations

import ast
import itertools
import linecache
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ptxlab.builder import mistakes
from ptxlab.builder.source import Site
from ptxlab.errors import CompileError, PtxlabError, Span

_TEXTS = itertools.count(1)


def executed(
    text: str,
    name: str,
    names: dict[str, Any],
    write: str = "",
    changed: Callable[[ast.AST], Any] = lambda tree: tree,
    flags: int = 0,
) -> str:
    """Executes a text in the namespace `names`, and gives the file that its functions are from, which begins with
    `name`. write: the line of a text that works; changed: what to do to its tree before; flags: of its `__future__`."""
    file = f"{name} ({next(_TEXTS)})"  # spans of earlier texts stay readable
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    with explained(file, write):
        exec(compile(changed(ast.parse(text, file)), file, "exec", flags, True), names)
    return file


@contextmanager
def explained(file: str, write: str = "") -> Iterator[None]:
    """What Python objects to inside is a `BuildError`. Every error has in `text_line` the line of the file's text, 0
    where none is to blame."""
    try:
        yield
    except Exception as wrong:
        line, column = _place(wrong, file)
        told: Any = wrong
        if not isinstance(wrong, PtxlabError):
            what = f"run this: {type(wrong).__name__}: {wrong}"
            if isinstance(wrong, SyntaxError):
                what = f"read this: {wrong.msg}"
            site = Site(Span(file, line or 1, column, line or 1, column + isinstance(wrong, SyntaxError)))
            told = mistakes.error(site, f"Python cannot {what}", write)
        told.text_line = line
        raise told from wrong.__cause__ if told is wrong else wrong


def _place(wrong: BaseException | None, file: str) -> tuple[int, int]:
    """The line of a file at which an error, or what led to it, was raised, and where it is known the column."""
    while wrong is not None:
        if isinstance(wrong, SyntaxError) and wrong.filename == file:
            return wrong.lineno or 1, max(0, (wrong.offset or 1) - 1)
        if isinstance(wrong, CompileError):
            return wrong.line, 0
        lines = [at for frame, at in traceback.walk_tb(wrong.__traceback__) if frame.f_code.co_filename == file]
        if lines:
            return lines[-1], 0
        wrong = wrong.__cause__ or wrong.__context__
    return 0, 0
