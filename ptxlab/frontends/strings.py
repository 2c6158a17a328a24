"""Where the text of a kernel is in a Python file: as a string, or as strings that were put together."""

from __future__ import annotations

import ast
import difflib
import itertools
import linecache
import os
import re
import sys
from collections.abc import Iterator

Written = list[tuple[str, int]]
"""The lines of a string, each with the line of the file where it is."""


def standing(source: str, file: str, python: str, call: int) -> tuple[str, tuple[int, ...]]:
    """The Python file that a text is written in, and for each line of the text the line there.

    python, call: the file and line that gave the text to a compiler; the string is looked for there, then in the
    modules that have it as a variable. Where it is in neither, all lines are at the call; nowhere, if there is a file
    of the name that the compiler is told, or Python has no text of the other."""
    modules = (
        str(getattr(module, "__file__", ""))
        for module in list(sys.modules.values())
        if any(value is source for value in list(getattr(module, "__dict__", {}).values()))
    )
    for name in itertools.chain([python], modules):
        if found := _rows(source, name, call if name == python else 0):
            return name, found
    known = linecache.getlines(python) and not os.path.isfile(file)
    return python, (call,) * (source.count("\n") + 1) if known else ()


def _rows(source: str, python: str, call: int) -> tuple[int, ...]:
    """For each line of a text the line of a Python file; nothing where the file does not hold it."""
    wanted = source.split("\n")
    lines = linecache.getlines(python)
    if lines and lines[0].startswith("get_ipython().run_cell_magic("):  # the text begins below the magic
        return tuple(range(2, len(wanted) + 2))
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:  # a notebook cell with magics in it
        return ()
    strings = list(_strings(tree, source, lines))
    strings.sort(key=lambda written: abs(written[0][1] - call))  # of several that fit, the one beside the call
    found = _sum_of(wanted, strings) or _changed(wanted, strings)
    return tuple(row or call or next(filter(None, found)) for row in found)


def _sum_of(wanted: list[str], strings: list[Written]) -> list[int]:
    """The rows of a text that is one of the strings, or several, one after the other; else nothing."""
    source, found = "\n".join(wanted), [0] * len(wanted)
    for written in sorted(strings, key=len, reverse=True):
        text = "\n".join(line for line, _ in written)
        at = source.find(text) if len(written) > 1 or text == source else -1
        first = source.count("\n", 0, at) if at >= 0 else 0
        if at >= 0 and not any(found[first + 1 : first + len(written) - 1]):
            for k, (line, row) in enumerate(written, first):
                found[k] = found[k] or (row if line.strip() else 0)
    return found if sum(map(bool, found)) > len(wanted) / 2 else []


def _changed(wanted: list[str], strings: list[Written]) -> list[int]:
    """The rows of a text that is one of the strings after `dedent`, `strip` or `.replace(...)`: it has as many lines,
    and most of them are the same; else nothing."""
    texts = [text.strip() for text in wanted]
    start, end = _ends(texts)
    best, found = 0.0, list[int]()
    for written in strings:
        given = [text.strip() for text, _ in written]
        first, last = _ends(given)
        same = sum(a == b for a, b in zip(texts[start:end], given[first:last], strict=False))
        if last - first == end - start and same > (end - start) / 2:
            like = difflib.SequenceMatcher(None, "\n".join(texts), "\n".join(given), False).ratio()
            if like > best:
                rows = [row for _, row in written[first:last]]
                best, found = like, [0] * start + rows + [0] * (len(wanted) - end)
    return found


def _ends(texts: list[str]) -> tuple[int, int]:
    """Where a text begins and ends without the blank lines around it."""
    full = [k for k, text in enumerate(texts) if text]
    return (full[0], full[-1] + 1) if full else (0, 0)


def _strings(node: ast.AST, source: str, lines: list[str]) -> Iterator[Written]:
    """The strings in a syntax tree; of f-strings those that give the text."""
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else None for part in node.values]
        pattern = "".join("(.*?)" if part is None else f"({re.escape(part)})" for part in parts)
        if match := re.fullmatch(pattern, source, re.S):
            counts = [(text.count("\n"), part is not None) for text, part in zip(match.groups(), parts, strict=True)]
            steps = [0, *(int(written) for count, written in counts for _ in range(count))]
            yield _placed(node, source.split("\n"), [sum(steps[: k + 1]) for k in range(len(steps))], lines)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        texts = node.value.split("\n")
        yield _placed(node, texts, list(range(len(texts))), lines)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child, source, lines)


def _placed(node: ast.expr, texts: list[str], steps: list[int], lines: list[str]) -> Written:
    """The lines of a string, each with its row. steps: how many ends of lines are written before each of them."""
    first, last = node.lineno, node.end_lineno or node.lineno
    if lines[first - 1].rstrip("\n").endswith("\\") and last > first:  # the text begins in the next line
        first += 1
    spread = last - first in (steps[-1], steps[-1] - 1)  # or several lines are written in one, with "\n"
    return [(text, min(first + k, last) if spread else first) for text, k in zip(texts, steps, strict=True)]
