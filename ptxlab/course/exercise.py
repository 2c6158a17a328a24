"""What an exercise is: `Exercise`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxlab.course.exercise_checks import Grading

KINDS = {"predict": "Predict", "fill": "Fill in", "fix": "Fix", "write": "Write", "optimise": "Optimise"}
"""The kinds of exercise, and the word that a notebook has for each."""
LEVELS = {1: "warm-up", 2: "medium", 3: "hard"}


@dataclass(frozen=True)
class Exercise:
    """One exercise, as data.

    Parameters
    ----------
    name
        Such as "02-tail": the notebook's number, a dash, small letters.
    title
        A few words, for the heading.
    kind
        One of `KINDS`: "predict", "fill", "fix", "write", "optimise".
    level
        1 (warm-up), 2 (medium) or 3 (hard).
    prompt
        The task, in Markdown.
    starter, solution
        The code of the answer's cell, both without the call of `check`.
    answer
        The name that the cell binds.
    hints
        Two: where to look, and what to ask.
    graded
        What the mark looks at, in sentences.
    grade
        Runs the checks: it is called with a `Grading` and the answer.
    points
        What it counts in a class.
    begin
        Right parts of the starter and of the solution, where the starter has some: a mark counts from there.
        `ptxlab course test` measures both.

    Raises
    ------
    ValueError
        For a field that is not of this form.

    Examples
    --------
    `docs/teaching.md` shows a whole one.
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
    begin: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        wrong = [
            (not re.fullmatch(r"\d\d-[a-z0-9-]+", self.name), "name: two digits, a dash and small letters, as 02-tail"),
            (self.kind not in KINDS, f"kind: one of {', '.join(KINDS)}"),
            (self.level not in LEVELS, "level: 1, 2 or 3"),
            (not self.answer.isidentifier(), "answer: the name that the cell assigns"),
            (len(self.hints) != 2, "hints: two, where to look and what to ask"),
            (not self.graded, "graded: at least one sentence"),
        ]
        for found, says in wrong:
            if found:
                raise ValueError(f"exercise {self.name}: {says}")

    @property
    def notebook(self) -> str:
        """The number of the notebook that it is in, "02"."""
        return self.name[:2]

    def heading(self) -> str:
        """What is above the answer's cell, in Markdown."""
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
