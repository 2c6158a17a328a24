"""Every exercise: its solution has full marks, its starter has not, wrong answers are told what is wrong."""

from __future__ import annotations

import re
from typing import Any

import course_answers as answers
import numpy as np
import pytest

from ptxlab.course import catalogue, exercise_checks, kernel_answers
from ptxlab.course.exercise import Exercise
from ptxlab.course.feedback import judge
from ptxlab.course.starter_credit import STARTS, points
from ptxlab.course.verdict import Feedback
from ptxlab.launch.buffers import Const, Out
from ptxlab.launch.run import launch

EXERCISES = catalogue()
WRONG = answers.wrong()
SEED = 2026
STOPPED = "The check could not go on"


def graded(exercise: Exercise, code: str, seed: int = SEED) -> Feedback:
    """The feedback that an answer gets when it is graded, hidden cases included."""
    return judge(exercise, answers.run(exercise, code), seed=seed, graded=True)


@pytest.mark.sweep(27)
@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_has_full_marks(name: str) -> None:
    exercise = EXERCISES[name]
    found = graded(exercise, exercise.solution)
    assert found, found
    assert found.score == 1.0
    assert sum(points(found.parts)) == STARTS[name].solution, "run: python -m ptxlab.course.starter_credit_measured"
    assert found.says
    studied = judge(exercise, answers.run(exercise, exercise.solution))
    assert studied, studied


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", EXERCISES)
def test_the_starter_runs_and_has_nothing(name: str) -> None:
    exercise = EXERCISES[name]
    found = graded(exercise, exercise.starter)
    assert not found
    assert found.score == 0.0
    assert sum(points(found.parts)) == STARTS[name].starter, "run: python -m ptxlab.course.starter_credit_measured"
    assert found.says
    assert STOPPED not in repr(found)


@pytest.mark.sweep(79)
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
    """A function that has by heart what the solution returns in the cases shown; None where the answer is a kernel."""
    solution = answers.run(exercise, exercise.solution)
    if kernel_answers.is_kernel(solution) or not callable(solution):
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


@pytest.mark.sweep(53)
@pytest.mark.parametrize("name", EXERCISES)
def test_full_marks_cannot_be_had_by_heart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = EXERCISES[name]
    answer = remembered(exercise)
    if answer is not None:
        assert judge(exercise, answer, seed=SEED, graded=True).score < 1.0
        return
    launches = ByHeart()
    monkeypatch.setattr(exercise_checks, "launch", launches)
    solution = answers.run(exercise, exercise.solution)
    assert judge(exercise, solution), "the shown cases"
    assert launches.known, "the answer is never launched"
    launches.learning = False
    assert judge(exercise, answers.run(exercise, exercise.solution), seed=SEED, graded=True).score < 1.0


class ByHeart:
    """Stands for `launch`, and makes of a right kernel one that knows the results of the cases shown by heart.

    It goes by the sizes and the scalars, which a kernel can ask for, and stores zeros where it does not know them. What
    is counted, traced and checked is the right kernel's.
    """

    def __init__(self) -> None:
        self.learning = True
        self.known: dict[str, list[Any]] = {}

    def __call__(self, kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> Any:
        arrays = [a.array if isinstance(a, Const | Out) else a for a in args]
        before = [a.copy() if isinstance(a, np.ndarray) else None for a in arrays]
        run = launch(kernel, grid, block, *args, **options)
        case = repr([(a.shape, a.dtype) if isinstance(a, np.ndarray) else a for a in arrays])
        changed = [b is not None and a.tobytes() != b.tobytes() for a, b in zip(arrays, before, strict=True)]
        if self.learning:
            results = [a.copy() if c else None for a, c in zip(arrays, changed, strict=True)]
            self.known.setdefault(case, results)
            return run
        known = self.known.get(case, [None] * len(arrays))
        for array, was, result in zip(arrays, changed, known, strict=True):
            if was:
                array[...] = 0 if result is None else result
        return run


def test_the_data_is_whole() -> None:
    for name, exercise in EXERCISES.items():
        assert re.search(rf"\b{exercise.answer}\b", exercise.starter), name
        assert exercise.starter != exercise.solution
        assert all(len(text.split()) > 1 for text in (*exercise.hints, *exercise.graded, exercise.prompt)), name
        assert len(set(exercise.hints)) == 2
