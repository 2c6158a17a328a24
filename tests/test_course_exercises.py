"""Every exercise: its solution has full marks, its starter has not, wrong answers are told what is wrong."""

from __future__ import annotations

import re
from typing import Any

import course_answers as answers
import pytest

from ptxlab.course import catalogue
from ptxlab.course.check import judge
from ptxlab.course.exercise import Exercise, Feedback

EXERCISES = catalogue()
WRONG = answers.wrong()
SEED = 2026
STOPPED = "The check could not go on"


def graded(exercise: Exercise, code: str, seed: int = SEED) -> Feedback:
    """The feedback that an answer gets when it is graded, hidden cases included."""
    return judge(exercise, answers.run(exercise, code), seed=seed, graded=True)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_has_full_marks(name: str) -> None:
    exercise = EXERCISES[name]
    found = graded(exercise, exercise.solution)
    assert found, found
    assert found.score == 1.0
    assert found.says
    studied = judge(exercise, answers.run(exercise, exercise.solution))
    assert studied, studied


@pytest.mark.parametrize("name", EXERCISES)
def test_the_starter_runs_and_has_less(name: str) -> None:
    exercise = EXERCISES[name]
    found = graded(exercise, exercise.starter)
    assert found.score < 1.0
    assert found.says
    assert STOPPED not in repr(found)


@pytest.mark.parametrize(("name", "at"), [(name, at) for name in EXERCISES for at in range(len(WRONG.get(name, ())))])
def test_a_wrong_answer_is_told_what_is_wrong(name: str, at: int) -> None:
    code, phrase = WRONG[name][at]
    exercise = EXERCISES[name]
    found = judge(exercise, answers.run(exercise, code))
    assert found.score < 1.0
    assert phrase in repr(found), found


def test_every_exercise_has_three_wrong_answers() -> None:
    assert {name: len(WRONG.get(name, ())) for name in EXERCISES if len(WRONG.get(name, ())) < 3} == {}
    assert set(WRONG) <= set(EXERCISES)
    for name, cases in WRONG.items():
        phrases = [phrase for _, phrase in cases]
        assert len(set(phrases)) >= min(3, len(phrases)), f"{name}: each mistake has its own feedback"


def remembered(exercise: Exercise) -> Any:
    """An answer that has the shown cases by heart: right where the solution was asked before, wrong elsewhere.

    For a function it is the solution's results, kept; for a kernel the text of the solution built for the first
    parameters it was asked for, whatever it is asked for later.
    """
    solution = answers.run(exercise, exercise.solution)
    if hasattr(solution, "ptx") or not callable(solution):
        return None
    known: dict[str, Any] = {}

    class Stop(Exception):
        pass

    def learn(*args: Any) -> Any:
        if learning:
            known[repr(args)] = solution(*args)
        return known.get(repr(args), 0)

    learning = True
    judge(exercise, learn)  # as a student would: everything that `check` asks for can be seen
    learning = False
    return learn


@pytest.mark.parametrize("name", EXERCISES)
def test_full_marks_cannot_be_had_by_heart(name: str) -> None:
    exercise = EXERCISES[name]
    answer = remembered(exercise)
    if answer is None:
        answer = by_heart_kernel(exercise)
    if answer is None:
        pytest.skip("a kernel without Python parameters: it is run on hidden arrays and sizes instead")
    assert judge(exercise, answer, seed=SEED, graded=True).score < 1.0


def by_heart_kernel(exercise: Exercise) -> Any:
    """The solution's kernel, frozen as it was first built; None where a kernel is always built alike."""
    solution = answers.run(exercise, exercise.solution)
    if not callable(solution):
        return None

    class Frozen:
        """Builds once."""

        def __init__(self) -> None:
            self.first: Any = None
            self.asked: set[str] = set()

        def __call__(self, **python: Any) -> Any:
            self.asked.add(repr(sorted(python.items())))
            self.first = self.first or solution(**python)
            return self.first

        @property
        def ptx(self) -> str:
            return str(solution.ptx)

        @property
        def module(self) -> Any:
            return solution.module

        @property
        def kernels(self) -> Any:
            return getattr(solution, "kernels", ())

    frozen = Frozen()
    judge(exercise, frozen, seed=SEED, graded=True)
    return frozen if len(frozen.asked) > 1 else None


def test_the_data_is_whole() -> None:
    for name, exercise in EXERCISES.items():
        assert re.search(rf"\b{exercise.answer}\b", exercise.starter), name
        assert exercise.starter != exercise.solution
        assert all(len(text.strip()) > 8 for text in (*exercise.hints, *exercise.graded, exercise.prompt)), name
        assert len(set(exercise.hints)) == 3
