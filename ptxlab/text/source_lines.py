"""The line of the source that each line of PTX comes from: `.file` and `.loc`, as compilers write them, read once.

Whoever names a line of a kernel asks `Module.spans`; of a text that no builder has made, those are `SourceLines`.
"""

from __future__ import annotations

import functools
import linecache
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from ptxlab.errors import Span

Place = tuple[int, int, int]
"""The number of a file, a line and a column, as `.loc` has them."""
_LOC = re.compile(
    r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\b[^,]*)?(?:\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:\\.|[^"\\\n])*)"', re.MULTILINE)
_ESCAPED = re.compile(rb'\\(?:(["\\])|([0-3][0-7]{2}))')  # bytes that are not of ASCII are octal numbers
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_BEGINS = re.compile(r"(?:\s*(?:[\w$]+:(?!:)|[{}]|\.(?:reg|local|shared|param)\b[^;]*;))*\s*(?![\w$]+:(?!:))[@a-z]")
"""An instruction, behind labels, braces and declarations if there are any."""
_HEAD = re.compile(r"\.(entry|func)\b\s*(?:\([^()]*\)\s*)?([\w$]*)")
_CALL = re.compile(r"\bcall\b[^;]*;")
_WORD = re.compile(r"[\w$]+")
_OTHERS = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|triton/language|cutlass|warp/native)/|^/usr/|/cuda[^/]*/(?:[^/]+/)*include/"
)
"""Paths of what a language or a library brings."""
_BUILTIN = "__nv_nvrtc_builtin_header.h"
"""What NVRTC calls its own header, which is in no file: nobody can look at its lines."""


class String(NamedTuple):
    """A text that was compiled: `file` is what the compiler calls it. Where it is in Python as a string: `python`,
    the name of that file, and for each of the text's lines the line there."""

    file: str
    text: str
    python: str = ""
    rows: tuple[int, ...] = ()

    def span(self, line: int, column: int = 1) -> Span:
        """A place in the text; line and column count from 1."""
        written = (self.python, self.rows[line - 1]) if 0 < line <= len(self.rows) else None
        lines = self.text.split("\n")
        text = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
        return _to_end(self.file, line, column, lines)._replace(string=written, text=text)


class SourceLines(Mapping[int, Span]):
    """PTX line -> the place in the source, of each line in which an instruction begins; found out when it is asked for.

    text: the PTX. file: its name; sources are looked for where `.file` says, and beside it. string: the source, where
    it is in no file. language: what that is written in, such as "numba"; "" where nobody has said it. An instruction
    that was inlined belongs to the line of the user's file that calls, at last, what it is inlined from.
    """

    def __init__(self, text: str, file: str = "", string: String | None = None, language: str = "") -> None:
        self.text, self.file, self.string, self.language = text, file, string, language

    def __getitem__(self, line: int) -> Span:
        return self._found[line]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return repr(self._found)

    @functools.cached_property
    def _found(self) -> dict[int, Span]:
        if ".loc" not in self.text:
            return {}
        lines = _COMMENT.sub(_blank, self.text).split("\n")
        named = ((int(number), name) for number, name in _FILE.findall(self.text) if _BUILTIN not in name)
        files = {number: self._path(name) for number, name in named}
        located = dict(locations(lines))
        callers: dict[Place, Place] = {}
        known: dict[tuple[Place, ...], Span | None] = {}
        found: dict[int, Span] = {}
        functions: dict[tuple[str, str], list[int]] = {}  # ("entry" or "func", name) -> lines of instructions
        inside: list[int] = []
        now: Span | None = None
        begun = False  # whether the line goes on with a statement: NVRTC writes a call in several
        for number, line in enumerate(lines, 1):
            code = line.partition("//")[0].rstrip(" \t\r}")
            if number in located:
                place, caller = located[number]
                callers.pop(place, None)
                if caller is not None:
                    callers[place] = caller
                if place[1]:  # else the compiler knows no line
                    frames = tuple(_frames(place, callers))
                    if frames not in known:
                        known[frames] = self._span(frames, files)
                    now = known[frames]
                code = _LOC.sub("", code)
            elif head := _HEAD.search(code):
                now, inside = None, functions.setdefault((head[1], head[2]), [])
            if begun or _BEGINS.match(code):
                if not begun:
                    inside.append(number)
                    found |= {number: now} if now is not None else {}
                begun = not code.endswith(";")
        _follow_calls(found, functions, _sites(lines))
        return found

    def _path(self, name: str) -> str:
        """Where a file is, from the current folder if it lies in there; its name if it is not found."""
        name = _ESCAPED.sub(lambda m: m[1] if m[1] else bytes([int(m[2], 8)]), name.encode()).decode(errors="replace")
        if self.string is not None and _last(name) == _last(self.string.file):
            return self.string.file
        if Path(name).is_absolute() and Path(name).is_file():
            return _from_here(name)
        parts = PureWindowsPath(name).parts
        beside = Path(self.file).parent
        tails = [beside.joinpath(*parts[k:]) for k in range(bool(PureWindowsPath(name).anchor), len(parts))]
        return next((_from_here(str(path)) for path in tails if path.is_file()), name)

    def _span(self, frames: tuple[Place, ...], files: Mapping[int, str]) -> Span | None:
        """The user's line among those that lead to an instruction, from the innermost to the kernel's."""
        named = [(files[number], line, column) for number, line, column in frames if number in files]
        if not named:
            return None
        string, kernels = self.string, [file for file, *_ in reversed(named)]
        theirs = next((file for file in kernels if not _OTHERS.search(file.replace("\\", "/"))), kernels[0])
        if string is not None and string.file in kernels:
            theirs = string.file
        at = next(k for k, (file, *_) in enumerate(named) if file == theirs)
        spans = [
            string.span(line, column)
            if string is not None and file == string.file
            else _to_end(file, line, column, linecache.getlines(file))
            for file, line, column in named
        ]
        return spans[at]._replace(inlined=tuple(reversed(spans[:at])), callers=tuple(spans[at + 1 :]))


def locations(lines: Iterable[str]) -> Iterator[tuple[int, tuple[Place, Place | None]]]:
    """(PTX line, (place, that of the call if it was inlined)) of each `.loc`, but of those in inline assembly: there
    LLVM counts lines from where the statement begins in the source."""
    inline = False
    for number, line in enumerate(lines, 1):
        if "inline asm" in line:
            inline = line.rstrip().endswith("// begin inline asm")
        elif not inline and (match := _LOC.match(line)):
            a, b, c, *inlined = (int(n) for n in match.groups() if n is not None)
            yield number, ((a, b, c), (inlined[0], inlined[1], inlined[2]) if inlined else None)


def _to_end(file: str, line: int, column: int, lines: Sequence[str]) -> Span:
    """From a place to the end of its line. lines: of the file, as far as they are known."""
    end = len(lines[line - 1].rstrip()) if 0 < line <= len(lines) else 0
    return Span(file, line, max(column - 1, 0), line, max(end, column - 1, 0))


def _frames(place: Place, callers: Mapping[Place, Place]) -> Iterator[Place]:
    """The place of an instruction, then those of the calls that it was inlined through."""
    seen: set[Place] = set()
    while place not in seen:
        yield place
        seen.add(place)
        place = callers.get(place, place)


def _sites(lines: Sequence[str]) -> dict[str, list[int]]:
    """For each word of a call the lines of the calls that have it; the function's name is among them."""
    sites: dict[str, list[int]] = {}
    text, at, line = "\n".join(lines), 0, 1
    for call in _CALL.finditer(text):
        line, at = line + text.count("\n", at, call.start()), call.start()
        for word in _WORD.findall(call[0]):
            sites.setdefault(word, []).append(line)
    return sites


def _follow_calls(
    found: dict[int, Span], functions: Mapping[tuple[str, str], list[int]], sites: Mapping[str, list[int]]
) -> None:
    """Gives functions that are in none of the kernels' files, as compilers leave them without optimization, the line
    that calls them, where there is only one."""
    own = {
        found[line].file
        for (kind, _), inside in functions.items()
        if kind == "entry"
        for line in inside
        if line in found
    }
    left = {
        name: inside
        for (_, name), inside in functions.items()
        if not any(line in found and found[line].file in own for line in inside)
    }
    while left:
        called = {name: {found[line] for line in sites.get(name, ()) if line in found} for name in left}
        known = {name: next(iter(spans)) for name, spans in called.items() if len(spans) == 1}
        known = {name: span for name, span in known.items() if span.file in own}
        if not known:
            return
        for name, span in known.items():
            for line in left.pop(name):
                inner = found.get(line)
                below = () if inner is None else (inner._replace(inlined=(), callers=()), *inner.inlined)
                found[line] = span._replace(inlined=(*span.inlined, *below))


def _blank(comment: re.Match[str]) -> str:
    """A comment as it is, or where it may reach over lines the ends of those."""
    return comment[0] if comment[0].startswith("//") else "\n" * comment[0].count("\n")


def _from_here(file: str) -> str:
    whole = os.path.abspath(file)
    return os.path.relpath(whole) if Path(whole).is_relative_to(os.getcwd()) else whole


def _last(name: str) -> str:
    return PureWindowsPath(name).name
