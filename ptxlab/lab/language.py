"""What an editor asks about PTX as it is typed: what a word means, what may come next, what is wrong."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ptxlab import gpu, isa
from ptxlab.errors import AssemblyError, PtxError, PtxlabError, PtxWarning, UnavailableError
from ptxlab.garbage_collection import uncollected
from ptxlab.isa.actions import BRANCHES
from ptxlab.isa.entries import Op
from ptxlab.lab import descriptors, hover
from ptxlab.lab.cell import assembly_line
from ptxlab.text import parse
from ptxlab.text.lint import lint
from ptxlab.text.validate import validate

MOST = 200
"""Suggestions that are offered at once."""
_WORD = re.compile(r"(?:%|\.)?[\w$:]*(?:\.[\w$:]*)*$")
_REGISTERS = re.compile(r"\.reg\s+(?:\.v[248]\s+)?\.(\w+)\s+([^;]+);")
_VARIABLES = re.compile(r"\.(param|shared|global|const|local)\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([A-Za-z_$][\w$]*)")
_LABELS = re.compile(r"^\s*([A-Za-z_$][\w$]*)\s*:(?!:)", re.MULTILINE)


# -- what a word means -------------------------------------------------------------------------------------------------


def explain(word: str, text: str = "") -> dict[str, Any] | None:
    """The docs of an opcode, directive, register or special register: {word, says, ...} as `hover.opcode` has them.

    text: the PTX around it, where registers are declared. None where there is nothing to say.
    """
    if word in hover.DIRECTIVES:
        return {"word": word, "says": hover.DIRECTIVES[word]}
    if word in isa.SPECIAL:
        return {"word": word, "says": isa.SPECIAL[word].says}
    if word.startswith("%"):
        types = declared(text)
        if word not in types:
            return None
        says = f"A register of type .{types[word]}."
        role = descriptors.roles(text, types).get(word)
        if role is None:
            return {"word": word, "says": says}
        return {"word": word, "says": f"{says} It holds: {role}.", "terms": descriptors.ROLES[role]}
    name = word.partition(".")[0]
    known = isa.known_form(word)
    if known is not None and not known.op.executed:
        says = f"{known.op.says} The emulator does not execute it yet: it runs on a GPU only."
        return {"word": word, "says": says, "syntax": known.op.syntax}
    if name not in isa.TABLE:
        return None
    try:
        return {"word": word, **hover.opcode(word)}
    except isa.FormError:
        lines = list(dict.fromkeys(entry.syntax for entry in isa.TABLE[name]))
        syntax = "\n".join(lines[:6] + ["..."] * (len(lines) > 6))
        return {"word": name, "says": isa.TABLE[name][0].says, "syntax": syntax}


def declared(text: str) -> dict[str, str]:
    """Register -> type, of all `.reg` declarations of a text that may be unfinished; `%f<3>` gives %f0 to %f2."""
    out: dict[str, str] = {}
    for type_, names in _REGISTERS.findall(text):
        for name in re.split(r"\s*,\s*", names.strip()):
            several = re.fullmatch(r"(%?[\w$]+)<(\d+)>", name)
            if several:
                out |= {f"{several[1]}{k}": type_ for k in range(min(int(several[2]), 10_000))}
            elif re.fullmatch(r"%?[\w$]+", name):
                out[name] = type_
    return out


# -- what may come next ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suggestion:
    """A word that fits: what it is ("opcode", "modifier", "register" ...), and a few words about it."""

    word: str
    kind: str
    says: str = ""


def complete(before: str, text: str) -> tuple[str, list[Suggestion]]:
    """(the unfinished word at the end of `before`, what it may become, whole words). text: all of the PTX."""
    found = _WORD.search(before)
    word = found[0] if found else ""
    line = before[: len(before) - len(word)].rpartition("\n")[2]
    options = list(_options(word, _is_start(line), line, text))
    return word, [o for o in options if o.word.startswith(word) and o.word != word][:MOST]


def _is_start(line: str) -> bool:
    """Whether an instruction may begin here: at the start of a line, after a semicolon, a brace, a label, a guard."""
    return re.search(r"(?:^|[;{}]|:)\s*(?:@!?%?[\w$]+\s+)?$", line) is not None


def _options(word: str, start: bool, line: str, text: str) -> Iterator[Suggestion]:
    if word.startswith("%"):
        yield from (Suggestion(name, "register", f".{type_}") for name, type_ in declared(text).items())
        yield from (Suggestion(name, "special", s.says) for name, s in isa.SPECIAL.items())
    elif word.startswith("."):
        yield from (Suggestion(name, "directive", says) for name, says in hover.DIRECTIVES.items())
    elif start and "." in word:
        stem, _, _ = word.rpartition(".")
        for modifier, says in following(stem).items():
            yield Suggestion(f"{stem}.{modifier}", "modifier", says)
    elif start:
        for name, entries in isa.TABLE.items():
            yield Suggestion(name, "opcode", entries[0].says)
    else:
        if any(isa.action_of(word) in BRANCHES for word in re.findall(r"[a-z][\w.]*", line)):
            yield from (Suggestion(name, "label", "label") for name in dict.fromkeys(_LABELS.findall(text)))
        for space, type_, name in dict.fromkeys(_VARIABLES.findall(text)):
            yield Suggestion(name, "variable", f".{space} .{type_}")
        yield from (Suggestion(name, "register", f".{type_}") for name, type_ in declared(text).items())


@functools.lru_cache(maxsize=512)
def following(stem: str) -> dict[str, str]:
    """The modifiers that may come after an opcode so far, `fma.rn`, with what each one means ("" where unsaid)."""
    name, *words = stem.split(".")
    out: dict[str, str] = {}
    for entry in isa.TABLE.get(name, ()):
        for slot in _after(entry, words):
            for choice in slot.choices:
                out.setdefault(choice, entry.notes.get(choice, ""))
    return out


def _after(entry: Op, words: list[str]) -> list[Any]:
    """The slots of an entry in which the next word may stand, once `words` are placed."""

    def reached(places: list[int]) -> Iterator[int]:
        for place in places:
            for k in range(place, len(entry.slots)):
                yield k
                if not entry.slots[k].optional:
                    break

    places = [0]
    for word in words:
        places = [k + 1 for k in reached(places) if word in entry.slots[k].choices]
    return [entry.slots[k] for k in reached(places)]


# -- what is wrong -----------------------------------------------------------------------------------------------------


def problem(error: PtxlabError) -> dict[str, Any]:
    """An error as an editor marks it: {line, column, length, severity, message, more, whole}; line and column from 1.
    What is missing from the whole text is marked at its first line."""
    place: dict[str, Any] = {name: getattr(error, name, 0) for name in ("line", "column", "length")}
    place["line"] = max(place["line"], 1)
    parts = [getattr(error, "message", None) or str(error)]
    for label, what in (("syntax", "syntax"), ("write", "hint"), ("reason", "reason"), ("off", "off")):
        if getattr(error, what, ""):
            parts.append(f"{label}:  {getattr(error, what)}")
    place["severity"] = "warning" if isinstance(error, PtxWarning) else "error"
    return {**place, "message": parts[0], "more": parts[1:], "whole": str(error)}


MARKED, COUNTED = 100, 1000
"""Errors that are marked, and those that are counted at most. A text with more of them has few causes."""


@uncollected
def marks(errors: list[PtxlabError]) -> list[dict[str, Any]]:
    """What an editor marks: the first of the errors."""
    return [problem(error) for error in errors[:MARKED]]


@uncollected
def read(text: str) -> tuple[list[PtxlabError], Any]:
    """(what the parser and the instruction table object to, or else the warnings; the module or None)."""
    try:
        module = parse(text)
    except PtxError as error:
        return [error], None
    return list(validate(module, COUNTED)) or list(lint(module)), module


def assembled(module: Any, arch: str | None = None) -> tuple[list[PtxlabError], str]:
    """(what NVIDIA's assembler objects to, one line with what it made of the module or why it is not there)."""
    try:
        return [], assembly_line(gpu.assemble(module, arch))
    except UnavailableError as missing:
        return [], str(missing).splitlines()[0]
    except AssemblyError as error:
        return list(error.errors), ""
    except PtxlabError as error:
        return [error], ""
