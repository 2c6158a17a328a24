"""`check(exercise, answer)`: runs an answer on the stepping machine, looks at what happened inside, and says so."""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import PtxlabError

_HOMES = {"01-predict": "online_softmax", "01-rescale": "online_softmax", "01-window": "online_softmax"}
"""Each exercise, and the module of this room whose `EXERCISES` has its check."""


class UnknownExercise(PtxlabError, LookupError):
    """There is no exercise of that name; the message lists those there are."""


@dataclass(frozen=True)
class Feedback:
    """What a check found. True where the exercise is solved; `says` are its sentences, the most useful first.

    `hint` is what to look at next, "" where all is well.
    """

    exercise: str
    ok: bool
    says: tuple[str, ...]
    hint: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        head = f"{self.exercise}: {'solved' if self.ok else 'not yet'}"
        hint = [f"  hint: {self.hint}"] if self.hint else []
        return "\n".join([head, *(f"  {line}" for says in self.says for line in says.splitlines()), *hint])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        mark, colour = ("✓ solved", "#1a7f37") if self.ok else ("✗ not yet", "#bf5b04")
        says = "".join(
            f'<div style="white-space:pre-wrap;margin:2px 0">{html.escape(s, quote=False)}</div>' for s in self.says
        )
        hint = f"<div><i>Hint: {html.escape(self.hint, quote=False)}</i></div>" if self.hint else ""
        box = f"border-left:4px solid {colour};padding:2px 10px;margin:4px 0"
        body = f'<div role="status" style="{box}"><b>{html.escape(self.exercise)}: {mark}</b>{says}{hint}</div>'
        return {"text/plain": repr(self), "text/html": body}


Check = Callable[[Any], Feedback]


def exercises() -> tuple[str, ...]:
    """The names of all exercises, in reading order."""
    return tuple(_HOMES)


def check(exercise: str, answer: Any) -> Feedback:
    """Checks an answer: a kernel is run and watched, a prediction is held against a run.

    A mistake of the answer does not raise, whatever it is (a kernel that cannot be built, a fault): it is part of the
    feedback. `UnknownExercise` names the exercises there are.
    """
    if exercise not in _HOMES:
        raise UnknownExercise(f"there is no exercise {exercise!r}; there are {', '.join(_HOMES)}")
    checks: dict[str, Check] = importlib.import_module(f"ptxlab.course.{_HOMES[exercise]}").EXERCISES
    try:
        return checks[exercise](answer)
    except PtxlabError as error:
        return Feedback(exercise, False, (str(error),), "this error comes from your kernel; it says where and why")
