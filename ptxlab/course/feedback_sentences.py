"""Sentences of the feedback: `told` makes those of a check, `thrown` those of an exception."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence

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
