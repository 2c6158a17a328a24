"""The gallery: 34 bugs that real kernels have had, each with what hides it, what shows it and its repair.

Those from 25 to 30 were found in the wild: each says in which public code it stands, or stood.

pl.gallery()         # the list
bug = pl.gallery(7)
bug.hunt()           # a kernel that passes here and fails there: what is wrong with it?
bug.guess(line=31)   # found, victim or innocent; three guesses
pl.gallery(7)        # one exhibit: the story, both kernels run, what the finder says, the repair as a diff
"""

from __future__ import annotations

import functools
import html
import importlib
from typing import Any, overload

from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.errors import PtxlabError

_HOMES = ("rows", "tiles", "blocks", "lanes", "texts", "wild", "waits")


class UnknownExhibit(PtxlabError, LookupError):
    """There is no exhibit of that number; the message lists those there are."""


class Gallery(tuple[Exhibit, ...]):
    """All exhibits in order; shows itself as a list. `pl.gallery(number)` is one of them."""

    def __repr__(self) -> str:
        width = max(len(exhibit.title) for exhibit in self)
        return "\n".join(f"{e.number:>2}  {e.title:<{width}}  {e.finder}" for e in self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rows = "".join(
            f'<tr><td>{e.number}</td><td style="text-align:left">{html.escape(e.title)}</td>'
            f'<td style="text-align:left">{html.escape(e.finder)}</td></tr>'
            for e in self
        )
        left = '<th style="text-align:left">'
        head = f"<tr><th></th>{left}bug</th>{left}found by</th></tr>"
        return {"text/plain": repr(self), "text/html": f"<table>{head}{rows}</table>"}


@overload
def gallery() -> Gallery: ...
@overload
def gallery(number: int) -> Exhibit: ...
def gallery(number: int | None = None) -> Gallery | Exhibit:
    """The gallery of bugs.

    Parameters
    ----------
    number
        Of one exhibit, which is then returned. `UnknownExhibit` names the numbers there are.
    """
    shown = _all()
    if number is None:
        return shown
    for exhibit in shown:
        if exhibit.number == number:
            return exhibit
    raise UnknownExhibit(f"there is no exhibit {number!r}; choose from {', '.join(str(e.number) for e in shown)}")


@functools.cache
def _all() -> Gallery:
    found = [e for home in _HOMES for e in importlib.import_module(f"ptxlab.course.gallery.{home}").EXHIBITS]
    return Gallery(sorted(found, key=lambda e: e.number))


__all__ = ["Case", "Exhibit", "Gallery", "Trial", "UnknownExhibit", "gallery"]
