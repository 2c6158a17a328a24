"""What an exercise is, and what a check says of an answer: `Exercise`, `Feedback` and `Score`."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxlab.course.exercise_checks import Grading

KINDS = {
    "predict": "Predict", "fill": "Fill in", "fix": "Fix", "write": "Write", "optimise": "Optimise",
}  # fmt: skip
"""The kinds of exercise, and the word that a notebook has for each."""
LEVELS = {1: "warm-up", 2: "medium", 3: "hard"}


@dataclass(frozen=True)
class Exercise:
    """One exercise, as data.

    name: such as "02-tail"; its first part is the notebook's number. kind: one of `KINDS`; level: one of `LEVELS`.
    prompt: Markdown. starter and solution: the code of the answer's cell, both without the call of `check`. answer: the
    name that the cell binds. hints: three, from a nudge to nearly all. graded: what the mark looks at, in sentences.
    grade: runs the checks. points: what it counts in a class.
    """

    name: str
    title: str
    kind: str
    level: int
    prompt: str
    starter: str
    solution: str
    answer: str
    hints: tuple[str, ...]
    graded: tuple[str, ...]
    grade: Callable[[Grading, Any], None]
    points: int = 1

    def __post_init__(self) -> None:
        wrong = [
            (not re.fullmatch(r"\d\d-[a-z0-9-]+", self.name), "name: two digits, a dash and small letters, as 02-tail"),
            (self.kind not in KINDS, f"kind: one of {', '.join(KINDS)}"),
            (self.level not in LEVELS, "level: 1, 2 or 3"),
            (not self.answer.isidentifier(), "answer: the name that the cell binds"),
            (len(self.hints) != 3, "hints: three, from a nudge to nearly all"),
            (not self.graded, "graded: at least one sentence"),
        ]
        for found, says in wrong:
            if found:
                raise ValueError(f"exercise {self.name}: {says}")

    @property
    def notebook(self) -> str:
        """The number of the notebook that it stands in, "02"."""
        return self.name[:2]

    def heading(self) -> str:
        """What stands above the answer's cell, in Markdown."""
        stars = "★" * self.level + "☆" * (3 - self.level)
        graded = "\n".join(f"- {sentence}" for sentence in self.graded)
        return (
            f"## Exercise {self.name} · {KINDS[self.kind]}: {self.title}\n\n*{stars} {LEVELS[self.level]}*\n\n"
            f"{self.prompt.strip()}\n\n**What counts:**\n\n{graded}"
        )

    def cell(self, *, solved: bool) -> str:
        """The code of the answer's cell."""
        code = (self.solution if solved else self.starter).strip("\n")
        blank = "\n\n" if re.search(r"^[ \t]", code.splitlines()[-1]) else "\n"
        return f'{code}\n{blank}check("{self.name}", {self.answer})'


@dataclass(frozen=True)
class Part:
    """One thing that was looked at: its name, whether it was right, and what happened in the machine. hidden: in a case
    that the seed has drawn."""

    name: str
    ok: bool
    says: tuple[str, ...] = ()
    hidden: bool = False


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
        return "\n".join([head, *(f"  {line}" for says in self.says for line in says.splitlines()), *hint])

    def _share(self) -> str:
        """`, 2 of 5 parts right`, where some are."""
        right = sum(part.ok for part in self.parts)
        return f", {right} of {len(self.parts)} parts right" if right and not self.ok else ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        mark, colour = ("✓ solved", "#1a7f37") if self.ok else ("✗ not yet", "#bf5b04")
        says = "".join(f'<div style="white-space:pre-wrap;margin:2px 0">{_shown(s)}</div>' for s in self.says)
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
