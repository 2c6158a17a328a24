"""Sentences of the feedback: `met` makes those of a finding, `thrown` those of an exception."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from ptxlab.course.kernel_answers import parsed
from ptxlab.errors import PtxlabError, Span

Says = str | Sequence[str] | Callable[..., str | Sequence[str]]
"""A sentence, several, or a function that makes them when they are needed."""
LONGEST = 3000
"""Characters of a sentence of the feedback, which may have what an answer returned in it."""


def short(says: str) -> str:
    """A sentence of the feedback; the end of a very long one is left out."""
    return says if len(says) <= LONGEST else f"{says[:LONGEST]} ... ({len(says):,} characters)"


def sentences(says: Says) -> tuple[str, ...]:
    found = says() if callable(says) else says
    return (found,) if isinstance(found, str) else tuple(found)


def thrown(error: BaseException) -> str:
    """An exception of an answer: its type, its message, and the last line of the answer that it went through."""
    if isinstance(error, PtxlabError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "ptxlab" not in f.filename.replace("\\", "/").split("/")[:-1]]
    where = ""
    if own:
        last = own[-1]
        where = f"\n{Span(last.filename, last.lineno or 0, 0, 0, 0)}: {last.line}"
    return f"{type(error).__name__}: {error}{where}"


def met(found: Any, kernel: Any) -> str:
    """A finding or a fault in words. A lane has "exited" only where a program lets lanes leave before its end: else it
    has passed by a shuffle that stands in a branch."""
    says = str(found)
    if getattr(found, "kind", "") == "memcheck" and re.search(r"\b429496\d{4}\b|\b1717986\d{4}\b", says):
        return f"An index was below 0, as a u32 about 4 billion: what was subtracted, or read as -1?\n{says}"
    instructions = [i for f in parsed(kernel).module.kernels if f.body is not None for i in f.instructions()]
    if any(i.name in ("ret", "exit") for i in instructions[:-1]):
        return says
    if getattr(found, "kind", "") != "mask names exited lane":
        return says.replace("after some of them have exited", "and some of them have not entered the branch it is in")
    lane, _, rest = "A lane" if found.value is None else f"Lane {found.value}", *says.partition("\n")[1:]
    why = "did not enter the branch of this shuffle, and the mask names it. Which lanes must reach a shuffle?"
    return f"{lane} {why}\n{rest}"
