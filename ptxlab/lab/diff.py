"""What changed between two PTX texts, as a value that shows itself: unified, and in colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import LaunchError
from ptxlab.lab.alignment import Kind, Row, compare
from ptxlab.lab.named_kernels import KEPT, kernel_of
from ptxlab.options import complete
from ptxlab.text import Module
from ptxlab.text.given import given, given_text


@dataclass(frozen=True, slots=True)
class Diff:
    """The rows from `old` to `new` (lists of lines); it shows itself as a unified diff and, in a notebook, as HTML."""

    old: list[str]
    new: list[str]
    rows: list[Row]
    old_name: str = "before"
    new_name: str = "after"

    @property
    def added(self) -> int:
        """How many lines the new text has that the old one has not."""
        return self.count("added")

    @property
    def removed(self) -> int:
        """How many lines the old text had that the new one has not."""
        return self.count("removed")

    @property
    def changed(self) -> int:
        """How many lines kept their place and changed."""
        return self.count("changed")

    def count(self, kind: Kind) -> int:
        """How many rows are of a kind."""
        return sum(row.kind == kind for row in self.rows)

    @property
    def summary(self) -> str:
        """`+3 -1 ~2`, or `no instruction changed`."""
        if not (self.added or self.removed or self.changed):
            return "no instruction changed"
        return f"+{self.added} -{self.removed} ~{self.changed}"

    def unified(self, context: int = 2) -> str:
        """A unified diff as text, with `context` unchanged lines around each change."""
        lines = [f"--- {self.old_name}", f"+++ {self.new_name}"]
        lines += [f"{sign} {text}" if sign else "  ..." for sign, text in self.signed(self.old, self.new, context)]
        return "\n".join(lines)

    def signed(self, old: list[str], new: list[str], context: int = 2) -> Iterator[tuple[str, str]]:
        """(sign, line) of a unified diff with `context` unchanged lines around each change, no sign where lines are
        left out; `old` and `new` are the lines, or what is shown of them."""
        changes = [k for k, row in enumerate(self.rows) if row.kind in ("changed", "added", "removed")]
        near = {k + d for k in changes for d in range(-context, context + 1)}
        before = -1
        for k in sorted(near & set(range(len(self.rows)))):
            row = self.rows[k]
            if k > before + 1:
                yield "", ""
            if row.kind in ("removed", "changed") and row.a is not None:
                yield "-", old[row.a]
            if row.kind in ("added", "changed") and row.b is not None:
                yield "+", new[row.b]
            if row.kind in ("same", "renamed", "note"):
                yield " ", new[row.b] if row.b is not None else old[row.a or 0]
            before = k

    def __repr__(self) -> str:
        return f"{self.summary}\n{self.unified()}" if self.summary[0] != "n" else self.summary

    def html(self) -> str:
        """Only the lines near a change, with signs as well as colours: a part of a page."""
        from ptxlab.lab import display, highlight

        css = {"-": "pl-del", "+": "pl-add"}
        old, new = (highlight.ptx_lines("\n".join(lines)) for lines in (self.old, self.new))
        out = [
            f'<span class="{css[sign]}">{sign} {line}</span>'
            if sign in css
            else f"  {line}"
            if sign
            else '<span class="c">  ⋯</span>'
            for sign, line in self.signed(old, new)
        ]
        names = f"{display.text(self.old_name)} → {display.text(self.new_name)}"
        head = display.head([f"<b>{display.text(self.summary)}</b>", f"<span>{names}</span>"])
        return head + (display.block(out) if out else "")

    def _repr_html_(self) -> str:
        from ptxlab.lab import display

        return display.page(self.html())


@complete()
def diff(a: Any, b: Any, *, names: tuple[str, str] | None = None) -> Diff:
    """The difference from one PTX text to another.

    Parameters
    ----------
    a, b
        PTX text, a name that one was kept under or that the library has, a `Module`, a kernel, a result of one.
    names
        What the titles say.

    Returns
    -------
    Diff
        It shows itself.

    Raises
    ------
    LaunchError
        For what is none of these.
    """
    old, new = ptx_of(a).splitlines(), ptx_of(b).splitlines()
    old_name, new_name = names or (_name(a, "before"), _name(b, "after"))
    return Diff(old, new, compare(old, new), old_name, new_name)


def ptx_of(thing: Any) -> str:
    """The PTX text of a text, a name that one was kept under or that the library has, a `Module`, an object with `.ptx`
    or `.module`, or a result, which has its kernel."""
    if isinstance(thing, str):
        thing = KEPT[thing].text if thing in KEPT else kernel_of(thing)
    if isinstance(thing, str):
        if (other := given_text(thing, pieces=True)) is not None:
            raise LaunchError(f"expected PTX text, got {other}")
        return thing
    if isinstance(thing, Module):
        return str(thing)
    for holder in (thing, getattr(thing, "kernel", None)):
        if isinstance(text := getattr(holder, "ptx", None), str):
            return text
        if isinstance(module := getattr(holder, "module", None), Module):
            return str(module)
    raise LaunchError(f"expected PTX text, a kernel or a result of one, got {given(thing)}")


def _name(thing: Any, otherwise: str) -> str:
    """What the title of a diff calls a kernel or a result."""
    if isinstance(thing, str):
        return thing if "\n" not in thing.strip() and thing else otherwise
    named = getattr(thing, "name", None) or getattr(getattr(thing, "kernel", None), "name", None)
    return str(named or otherwise)
