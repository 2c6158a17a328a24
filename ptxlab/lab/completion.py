"""Completion in notebook cells: options of the magics, kernels and their parameters, PTX and words of CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from IPython.core.completer import SimpleCompletion, context_matcher

from ptxlab import kernels, targets
from ptxlab.lab import language, library_subjects
from ptxlab.lab.hover import CUDA
from ptxlab.lab.named_kernels import KEPT
from ptxlab.launch.run import ALL_CHECKS

CELL_MAGICS = ("%%ptx", "%%cuda")
LINE_MAGICS = ("%ptx_explore", "%ptx_debug")
_MORE = {"%ptx_explore": ("seq_len", "row", "device", "sass"), "%ptx_debug": ("seq_len", "warps", "blocks", "steps")}
"""Parameters beside those of the kernel and its problem."""

_ENTRY = re.compile(r"\.entry\s+([\w$]+)|__global__[^;{(]*?(\w+)\s*\(")
_NAME = re.compile(r"[A-Za-z_]\w*$")
"""An unfinished name of C++ before the cursor."""


def install(shell: Any, magics: Any) -> None:
    """Teaches the completer of an IPython shell; a second call replaces what the first one did."""

    @context_matcher()
    def ptxlab_matcher(context: Any) -> dict[str, Any]:
        found = suggest(context.full_text, context.cursor_line, context.text_until_cursor, magics)
        if found is None:
            return {"completions": [], "suppress": False}
        fragment, words = found
        options = [SimpleCompletion(text=word, type=kind) for word, kind in words if word.startswith(fragment)]
        return {"completions": options, "matched_fragment": fragment, "suppress": bool(options)}

    matchers = shell.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "__name__", "") != "ptxlab_matcher"] + [ptxlab_matcher]


def suggest(cell: str, row: int, line: str, magics: Any) -> tuple[str, list[tuple[str, str]]] | None:
    """(the unfinished word, [(whole word, what it is)]) at the end of `line`, row `row` of a cell as far as the cursor;
    None outside the magics. `magics` is the `PtxMagics`, which knows the notebook's names."""
    first = cell.lstrip().partition("\n")[0].split()[:1]
    magic = first[0] if first else ""
    if magic in CELL_MAGICS and row == 0:
        return _option(magic, cell, line, magics)
    if magic == "%%ptx":
        text = cell.partition("\n")[2]
        above = "\n".join(cell.split("\n")[1:row])
        word, options = language.complete(f"{above}\n{line}", text)
        return word, [(o.word, o.kind) for o in options]
    if magic == "%%cuda":
        fragment = _NAME.search(line)
        return (fragment[0], [(w, x.kind) for w, x in CUDA.items() if w.startswith(fragment[0])]) if fragment else None
    word = line.lstrip().partition(" ")[0]
    if word in LINE_MAGICS and " " in line.lstrip():
        return _line(word, line, magics)
    return None


def _option(magic: str, cell: str, line: str, magics: Any) -> tuple[str, list[tuple[str, str]]]:
    """In the first line of `%%ptx` or `%%cuda`: an option, or a value of the option before."""
    words = line.split(" ")
    fragment, before = words[-1], [w for w in words[1:-1] if w]
    actions = {name: a for a in magics.ptx.parser._actions for name in a.option_strings}
    name, equals, rest = fragment.partition("=")
    if equals and name in actions:
        before, fragment = [*before, name], rest
    last = actions.get(before[-1]) if before else None
    if last is not None and last.nargs != 0:
        part = fragment.rpartition(",")[2]
        return part, [(value, "value") for value in _values(last.dest, cell, magics)]
    long = [a.option_strings[-1] for a in magics.ptx.parser._actions if a.dest != "help"]
    used = set(before)
    return fragment, [(o, "option") for o in (*long, *(["--option"] if magic == "%%cuda" else [])) if o not in used]


def _values(option: str, cell: str, magics: Any) -> Iterable[str]:
    names = [name for name, value in magics.names.items() if name[0] != "_"]
    if option == "args":
        kinds = (np.ndarray, np.generic, int, float)
        return [n for n in names if isinstance(magics.names[n], kinds) and not isinstance(magics.names[n], bool)]
    if option == "diff":
        return [*KEPT, *(n for n in names if hasattr(magics.names[n], "ptx"))]
    if option == "entry":
        return [ptx or cuda for ptx, cuda in _ENTRY.findall(cell)]
    given = {"arch": targets.TARGETS, "device": ("auto", "gpu", "cpu", "step"), "checks": ALL_CHECKS}
    return list(given.get(option, ()))


def _line(magic: str, line: str, magics: Any) -> tuple[str, list[tuple[str, str]]]:
    """After `%ptx_explore` or `%ptx_debug`: a kernel (or a variable), then its parameters and their values."""
    words = line.lstrip().split(" ")
    fragment, before = words[-1], [w for w in words[1:-1] if w]
    known = (*kernels.names("prefill"), *kernels.names("decode"))
    if not before:
        return fragment, [(w, "kernel") for w in known] + [(w, "instance") for w in _subjects(magic, magics)]
    if before[0] not in known:
        return fragment, []
    return fragment, [(w, "parameter") for w in _parameters(magic, before[0], fragment)]


def _subjects(magic: str, magics: Any) -> Iterator[str]:
    """Variables that the magic can open, and texts that were kept."""
    yield from KEPT
    wanted = "ptx" if magic == "%ptx_explore" else "trace"
    for name, value in magics.names.items():
        held = getattr(value, wanted, None) or getattr(getattr(value, "run", None), wanted, None)
        if name[0] != "_" and not isinstance(value, type) and held is not None:
            yield name


def _parameters(magic: str, kernel: str, fragment: str) -> Iterator[str]:
    takes = {p.name: p.choices for p in library_subjects.named(kernel).parameters}
    name, equals, _ = fragment.partition("=")
    if not equals:
        return (f"{key}=" for key in (*takes, *_MORE[magic]))
    return (f"{name}={choice}" for choice in takes.get(name, ()))
