"""`check(exercise, answer)`: runs an answer, looks at what happened inside the machine, and says so.

check("02-tail", kernel)             # for learning: feedback, and one hint more each time
score("02-tail", kernel, seed=2027)  # for graders: a float; hidden cases are drawn from the seed
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import re
import warnings
from functools import cache
from typing import Any

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.verdict import Feedback, Part, Score
from ptxlab.errors import PtxlabError

STUDY_SEED = 20_000
"""Hidden cases while learning: always the same ones, so that an answer is not right on Monday and wrong on Tuesday."""

_failed: dict[str, int] = {}


class UnknownExercise(PtxlabError, LookupError):
    """There is no exercise of that name; the message lists those there are."""

    @classmethod
    def of(cls, name: object) -> UnknownExercise:
        """The error for a name."""
        return cls(f"there is no exercise {name!r}; there are {', '.join(catalogue())}")


@cache
def catalogue() -> dict[str, Exercise]:
    """Every exercise by its name, in reading order."""
    home = importlib.import_module("ptxlab.course.exercises")

    found: dict[str, Exercise] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(home.__path__) if re.match(r"e\d\d_", m.name)):
        for exercise in importlib.import_module(f"{home.__name__}.{module}").EXERCISES:
            if exercise.name in found:
                raise ValueError(f"two exercises are called {exercise.name}")
            found[exercise.name] = exercise
    return found


def find(name: str) -> Exercise:
    """An exercise by its name; `UnknownExercise` names those there are."""
    if name not in catalogue():
        raise UnknownExercise.of(name)
    return catalogue()[name]


def names(notebook: str = "") -> tuple[str, ...]:
    """The names of all exercises in reading order, or of those of one notebook, such as "02"."""
    return tuple(name for name in catalogue() if name.startswith(notebook))


def solution(exercise: str) -> None:
    """Prints one right answer to an exercise."""
    print(find(exercise).solution.strip("\n"))


def check(exercise: str, answer: Any) -> Feedback:
    """Checks an answer and says what happened; each call that fails shows one hint more.

    Nothing raises here, whatever an answer is or does (a kernel that cannot be built, a fault): it is part of the
    feedback, and so is a name that no exercise has.
    """
    if exercise not in names():
        return Feedback(str(exercise), False, (str(UnknownExercise.of(exercise)),))
    found = judge(find(exercise), answer)
    if found.ok:
        _failed.pop(exercise, None)
        return found
    hints = find(exercise).hints
    at = min(_failed.get(exercise, 0), len(hints) - 1)
    _failed[exercise] = at + 1
    hint = f"{hints[at]} ({at + 1} of {len(hints)})"
    return Feedback(found.exercise, False, found.says, hint, found.score, found.parts)


def score(exercise: str, answer: Any, *, points: float = 1.0, seed: int | None = None, quiet: bool = False) -> Score:
    """The points of an answer, a float from 0 to `points`: the share of the parts that are right, counted from what the
    starter has right already, so that a starter handed in as it is gets 0.

    Hidden cases are drawn from `seed`, by default those of `check`. The feedback goes to the standard output,
    unless `quiet`.
    """
    feedback = judge(find(exercise), answer, seed=STUDY_SEED if seed is None else seed, graded=True)
    if not quiet:
        print(feedback)
    return Score(points * feedback.score, feedback)


def judge(exercise: Exercise, answer: Any, *, seed: int = STUDY_SEED, graded: bool = False) -> Feedback:
    """What is right and what is wrong with an answer, without hints. graded: go on after the first mistake."""
    if answer is None or answer is ...:
        says = f"There is no answer yet: the cell is to bind `{exercise.answer}`."
        return Feedback(exercise.name, False, (says,), parts=(Part("there is an answer", False, (says,)),))
    g = Grading(exercise, seed=seed, graded=graded)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exercise.grade(g, answer)
        except PtxlabError as error:
            g.part("runs", False, str(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever an answer does is its mistake, not the notebook's
            g.part("runs", False, f"The check could not go on with this answer: {type(error).__name__}: {error}")
    return g.feedback()
