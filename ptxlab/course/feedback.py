"""`check(exercise, answer)`: runs an answer, looks at what happened inside the machine, and says so.

check("02-tail", kernel)             # for learning: feedback, and a hint that belongs to the mistake
score("02-tail", kernel, seed=2027)  # for graders: a float; hidden cases are drawn from the seed
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import pkgutil
import re
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

from ptxlab.course import own
from ptxlab.course.causes import contradicted
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.hints import advised
from ptxlab.course.notebook_sources import placed
from ptxlab.course.progress_kept import Progress, progress_of
from ptxlab.course.verdict import Feedback, Score
from ptxlab.errors import PtxlabError
from ptxlab.launch.budgets import limited

STUDY_SEED = 20_000
"""Hidden cases while learning: always the same ones, so that an answer is not right on Monday and wrong on Tuesday."""

_failing: dict[str, tuple[Any, ...]] = {}


class UnknownExercise(PtxlabError, LookupError):
    """There is no exercise of that name; the message lists those there are."""

    @classmethod
    def of(cls, name: object) -> UnknownExercise:
        """The error for a name."""
        return cls(f"there is no exercise {name!r}; choose from {', '.join(catalogue())}")


@cache
def catalogue() -> dict[str, Exercise]:
    """Every exercise by its name, in the order of the notebooks; those of one's own (`ptxlab.course.own`) come last."""
    home = importlib.import_module("ptxlab.course.exercises")

    found: dict[str, Exercise] = {}
    ours = sorted(m.name for m in pkgutil.iter_modules(home.__path__) if re.match(r"e\d\d_", m.name))
    for module in (*(importlib.import_module(f"{home.__name__}.{name}") for name in ours), *own.modules()):
        for exercise in module.EXERCISES:
            if exercise.name in found:
                raise PtxlabError(f"two exercises are called {exercise.name}; the second is in {module.__file__}")
            found[exercise.name] = exercise
    order = {name: at for at, name in enumerate(placed())}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


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
    text = find(exercise).solution.strip("\n")
    print(f"# This is the solution, not a hint.\n{text}" if text else f"Your teacher has the solution of {exercise}.")


def progress() -> Progress:
    """What is solved and what is next, in all notebooks; kept in `progress.json`, which holds no answers."""
    return progress_of(tuple(catalogue().values()))


def failing(exercise: str) -> tuple[Any, ...]:
    """The smallest launch that a check of an exercise found wrong: (kernel, grid, block, arguments ...)."""
    if exercise not in _failing:
        raise UnknownExercise(f"no launch of {exercise!r} is kept; check an answer to it first")
    kernel, *rest = _failing[exercise]
    return (kernel, *copy.deepcopy(rest))


def check(exercise: str, answer: Any, *, hints: bool = True) -> Feedback:
    """Checks an answer and says what happened, with a hint that belongs to the mistake.

    Parameters
    ----------
    exercise
        Its name, such as "01-rescale".
    answer
        What the exercise asks for. A kernel that cannot be built, or a fault, is part of the feedback; nothing raises.
    hints
        False for examinations.
    """
    if exercise not in names():
        return Feedback(str(exercise), False, (str(UnknownExercise.of(exercise)),))
    what = find(exercise)
    g = graded_by(what, answer)
    found = founded(what, answer, g)
    try:
        found, stuck = advised(what, answer, found, g.tried, hints)
    except (PtxlabError, OSError) as error:  # a folder that cannot be written, a file that is damaged
        return replace(found, says=(*found.says, f"Your progress is not kept: {error}"))
    least = graded_by(what, answer, every=True).failing() if stuck else ()
    if least:
        line, _failing[exercise] = least[0], least[1:]
        cell = f'pl.debug(*pl.course.failing("{exercise}"){f", at={line}" * bool(line)})'
        says = f"Three answers without progress. This opens the smallest case that fails in the debugger:\n{cell}"
        return replace(found, says=(*found.says, says))
    return found


def score(exercise: str, answer: Any, *, points: float = 1.0, seed: int | None = None, quiet: bool = False) -> Score:
    """The points of an answer: the share of the parts that are right, counted from what the starter has right already.

    Parameters
    ----------
    exercise, answer
        As for `check`.
    points
        The most; a starter handed in as it is gets 0.
    seed
        The hidden cases are drawn from it; by default that of `check`.
    quiet
        Whether not to print the feedback.
    """
    feedback = judge(find(exercise), answer, seed=STUDY_SEED if seed is None else seed, graded=True)
    if not quiet:
        print(feedback)
    return Score(points * feedback.score, feedback)


def judge(exercise: Exercise, answer: Any, *, seed: int = STUDY_SEED, graded: bool = False) -> Feedback:
    """What is right and what is wrong with an answer, without hints. graded: go on after the first mistake."""
    return graded_by(exercise, answer, seed=seed, every=graded).feedback()


def founded(exercise: Exercise, answer: Any, g: Grading) -> Feedback:
    """What was found, without a known mistake that fits one wrong case by chance and not the others."""
    found = g.feedback()
    wrong = next((part for part in found.parts if not part.ok), None)
    if wrong is None or not wrong.cause or not wrong.fits:
        return found
    (cause,) = wrong.fits
    others = graded_by(exercise, answer, every=True, whole=True).parts
    if not contradicted(cause, [part.fits for part in others if not part.ok]):
        return found
    says = tuple(one for one in found.says if one != cause)
    parts = tuple(replace(part, cause=False, says=says) if part is wrong else part for part in found.parts)
    return replace(found, says=says, parts=parts)


def graded_by(
    exercise: Exercise, answer: Any, *, seed: int = STUDY_SEED, every: bool = False, whole: bool = False
) -> Grading:
    """An answer after its checks. every: they go on after the first mistake, as for a mark; whole: as in `Grading`."""
    g = Grading(exercise, seed=seed, graded=every, whole=whole)
    if answer is None or answer is ...:
        says = f"There is no answer yet: the cell must assign `{exercise.answer}`."
        g.part("there is an answer", False, says, sort="broken")
        return g
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), limited():
        warnings.simplefilter("ignore")
        try:
            exercise.grade(g, answer)
        except PtxlabError as error:
            g.part("runs", False, str(error), sort="broken")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever an answer does is its mistake, not the notebook's
            says = f"The check could not go on with this answer: {type(error).__name__}: {error}"
            g.part("runs", False, says, sort="broken")
    return g
