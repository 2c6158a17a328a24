"""Every line that messages about PTX tell a reader to write, put in the place that they name.

`collected` runs the tests of a module, whatever they assert, and keeps each error that they show with the text that it
is about; `left` is what is wrong with a text in which the advice has been followed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from ptxlab.errors import PtxError, PtxSyntaxError
from ptxlab.text import parse
from ptxlab.text.lexer import Source
from ptxlab.text.validate import validate


@dataclass(frozen=True)
class Advice:
    """What an error in a text tells the reader to write."""

    text: str
    line: int
    column: int
    length: int
    message: str
    write: str

    @property
    def edits(self) -> Iterator[str]:
        """The text with the advice followed, in each way that a reader may take it: in place of the line, of the word
        that is marked, before the line, or after it."""
        lines = self.text.split("\n")
        here = lines[self.line - 1]
        before, after = here[: self.column - 1], here[self.column - 1 + self.length :]
        for mended in ([self.write], [before + self.write + after], [self.write, here], [here, self.write]):
            yield "\n".join([*lines[: self.line - 1], *mended, *lines[self.line :]])
        directive = self.write.split()[0]
        if directive in (".version", ".target"):
            yield "\n".join([self.write if line.startswith(directive) else line for line in lines])
        if more := re.fullmatch(r"\.reg \.\w+ (\S+)<(\d+)>;", self.write):  # a declaration that goes farther
            yield re.sub(rf"{more[1]}<\d+>", f"{more[1]}<{more[2]}>", self.text)
        if first := re.fullmatch(r"mov\.(\w+) (%\w+), (.+);", self.write):  # a register to read in place of something
            wider = here.replace("mov.u64", "cvt.u64.u32") if first[1] == "u32" else here
            mended = f".reg .{first[1]} {first[2]}; {self.write}", wider.replace(first[3], first[2])
            yield "\n".join([*lines[: self.line - 1], *mended, *lines[self.line :]])


def wrong(text: str) -> list[str] | int:
    """What is wrong with a text, or the line at which it is no PTX any more."""
    try:
        return sorted(error.message for error in validate(parse(text)))
    except PtxSyntaxError as error:
        return error.line


def repairs(advice: Advice) -> bool:
    """Whether one who follows an advice has one error less, and no other one: where the text could not be read at all,
    it can be read further."""
    before = wrong(advice.text)
    for edit in advice.edits:
        after = wrong(edit)
        if isinstance(before, int):
            if not isinstance(after, int) or after > before + 1:
                return True
        elif isinstance(after, list) and len(after) < len(before) and set(after) <= set(before):
            return True
    return False


def collected(module: ModuleType) -> list[Advice]:
    """The advice in all messages that the tests of a module read; those that want fixtures are left out."""
    found: list[Advice] = []
    texts: list[str] = []
    render, begun = PtxError.render, Source.__init__

    def read(source: Source, text: object, *args: Any) -> None:
        texts.append(str(text))
        begun(source, text, *args)

    def rendered(error: PtxError) -> str:
        of = (text for text in reversed(texts) if error.source in text.split("\n")[error.line - 1 : error.line])
        if error.hint and (text := next(of, "")):
            found.append(Advice(text, error.line, error.column, error.length, error.message, error.hint))
        return render(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source, "__init__", read)
        patch.setattr(PtxError, "render", rendered)
        for name, test in vars(module).items():
            if name.startswith("test_") and callable(test):
                for case in cases(test):
                    with contextlib.suppress(pytest.skip.Exception):
                        case()
    return list(dict.fromkeys(found))


def cases(test: Callable[..., None]) -> Iterator[Callable[[], None]]:
    """The calls of a test, one for each of its parameters."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    if not marks and not wanted:
        yield test
    if len(marks) == 1:
        names = marks[0].args[0]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        if set(wanted) == set(names):
            for case in marks[0].args[1]:
                values = getattr(case, "values", case if len(names) > 1 else (case,))
                yield lambda values=values: test(**dict(zip(names, values, strict=True)))
