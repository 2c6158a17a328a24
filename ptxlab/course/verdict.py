"""What a check says of an answer: `Part`, `Feedback` and `Score`."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

SORTS = ("value", "cost", "finding", "broken")
"""What a part looks at: numbers, what they cost, what the checks found; whether the answer can be run at all."""


@dataclass(frozen=True)
class Part:
    """One thing that was looked at: its name, whether it was right, and what happened in the machine. hidden: in a case
    that the seed has drawn. sort: one of `SORTS`. cause: `says` names the mistake. fits: the sentences of all known
    mistakes that fit; None where none is known."""

    name: str
    ok: bool
    says: tuple[str, ...] = ()
    hidden: bool = False
    sort: str = "value"
    cause: bool = False
    fits: frozenset[str] | None = None


@dataclass(frozen=True)
class Feedback:
    """What a check found. True where the exercise is solved; `says` are its sentences, the most useful first.

    score: 0 to 1, the right parts beyond those of the starter, which itself has 0. hint: what to look at next, "" where
    all is well. parts: all that was looked at, in order.
    """

    exercise: str
    ok: bool
    says: tuple[str, ...]
    hint: str = ""
    score: float = 0.0
    parts: tuple[Part, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __float__(self) -> float:
        return float(self.score)

    def __repr__(self) -> str:
        head = f"{self.exercise}: {'solved' if self.ok else 'not yet'}{self._share()}"
        hint = [f"  hint: {self.hint}"] if self.hint else []
        says = [*self._so_far(), *self.says]
        return "\n".join([head, *(f"  {line}" for one in says for line in one.splitlines()), *hint])

    def _so_far(self) -> list[str]:
        """The parts that are right, and the first that is not, where some are."""
        right = [part.name for part in self.parts if part.ok]
        if self.ok or not right or len(right) == len(self.parts):
            return []
        more = f"; and {len(right) - 3} more" if len(right) > 3 else ""
        return ["✓ " + "; ".join(right[:3]) + more, "✗ " + next(part.name for part in self.parts if not part.ok)]

    def _share(self) -> str:
        """`, 2 of 5 parts right`, where some are."""
        right = sum(part.ok for part in self.parts)
        return f", {right} of {len(self.parts)} parts right" if right and not self.ok else ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        mark, colour = ("✓ solved", "#1a7f37") if self.ok else ("✗ not yet", "#bf5b04")
        told = [*self._so_far(), *self.says]
        says = "".join(f'<div style="white-space:pre-wrap;margin:2px 0">{_shown(s)}</div>' for s in told)
        hint = f"<div><i>Hint: {_shown(self.hint)}</i></div>" if self.hint else ""
        box = f"border-left:4px solid {colour};padding:2px 10px;margin:4px 0"
        head = f"<b>{html.escape(self.exercise)}: {mark}</b>{html.escape(self._share())}"
        body = f'<div role="status" style="{box}">{head}{says}{hint}</div>'
        return {"text/plain": repr(self), "text/html": body}


def _shown(text: str) -> str:
    """A sentence in HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text, quote=False))


class Score(float):
    """Points, for graders: a float that shows itself as one (nbgrader reads the text of a cell's result; a richer one
    would count as full marks). `feedback` says how it came about."""

    feedback: Feedback

    def __new__(cls, points: float, feedback: Feedback) -> Score:
        made = super().__new__(cls, points)
        made.feedback = feedback
        return made

    def __repr__(self) -> str:
        return repr(float(self))
