"""Grades wrong variants of an exercise's solution, and says which of them lose marks, and for how many seeds."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import signal
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import course_answers as answers
from mutants import mutants, twice

from ptxlab.course import exercise_checks
from ptxlab.course.exercise import Exercise
from ptxlab.course.feedback import judge
from ptxlab.course.verdict import Feedback
from ptxlab.errors import LaunchKeyboardInterrupt

REPORT = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "grader_mutants.md"
SEEDS = range(10)
EACH = 18
"""Variants of each exercise that are made by program; those by hand come besides."""
SECONDS = 8.0
"""Of the processor's time for a variant: it may be an endless loop."""
NO_ANSWER = ("the kernel can be built", "there is an answer", "the answer is a kernel", "the answer is a function")


def equivalent() -> dict[str, dict[str, str]]:
    """Variants that are no mistakes, as the report lists them: exercise -> what changed -> why it does not matter."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in REPORT.read_text(encoding="utf-8").splitlines():
        if listed := re.fullmatch(r"- (\d\d-[\w-]+): `(.*)`: (.*)\.", line):
            found[listed[1]][listed[2]] = listed[3]
    return found


@dataclass(frozen=True)
class Outcome:
    """What became of a variant.

    how: "caught" (by a case that is always in), "hidden" (only by those that the seed has drawn, for each of ten
    seeds), "missed" (full marks for some seed), or "no answer" (it cannot be built, or stops at the first call, which
    no grader has to find). scores: its marks, for the seeds that were tried.
    """

    exercise: str
    change: str
    how: str
    scores: tuple[float, ...] = ()
    says: str = ""


class Endless(KeyboardInterrupt):
    """A variant took too long. Of this kind, since everything else that an answer raises is feedback to the grader."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stops what is in it after so many seconds of the processor's time."""

    def ring(signum: int, frame: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def unexplained() -> Iterator[None]:
    """Marks only: who stored a wrong element is not searched for, which takes most of a grading's time."""
    before = exercise_checks.writer
    exercise_checks.writer = lambda *args, **options: ""  # type: ignore[assignment]
    try:
        yield
    finally:
        exercise_checks.writer = before


def tried(exercise: Exercise, change: str, code: str, *, always: bool = False) -> Outcome:
    """What becomes of a variant. `always`: all seeds are tried even if a case catches it that no seed changes."""
    try:
        with limited(SECONDS), contextlib.redirect_stdout(io.StringIO()), unexplained():
            answer = answers.run(exercise, code)
            found = [judge(exercise, answer, seed=0, graded=True)]
    except (Endless, LaunchKeyboardInterrupt):  # the second where it came in a launch
        return Outcome(exercise.name, change, "caught", (0.0,), "endless")
    except Exception as error:  # the cell does not run
        return Outcome(exercise.name, change, "no answer", says=f"{type(error).__name__}: {error}")
    parts = found[0].parts
    wrong = [part for part in parts if not part.ok]
    useless = wrong and (wrong[0].name in NO_ANSWER or (wrong[0].says[:1] and " stopped: " in wrong[0].says[0]))
    if useless and not any(part.ok for part in parts):
        return Outcome(exercise.name, change, "no answer", says=_first(found[0]))
    # Where a case that is always in is failed, no hidden case is asked, and the seed is not looked at.
    fixed = bool(wrong) and not any(part.hidden for part in parts)
    if always or not fixed:
        for seed in SEEDS[1:]:
            with limited(SECONDS), unexplained():
                found.append(judge(exercise, answer, seed=seed, graded=True))
    scores = tuple(one.score for one in found)
    loses = any(not part.hidden for part in wrong) and len(set(scores)) == 1
    how = "caught" if loses else "hidden" if all(score < 1 for score in scores) else "missed"
    return Outcome(exercise.name, change, how, scores, _first(found[0]))


def _first(found: Feedback) -> str:
    return " ".join(found.says[0].split())[:160] if found.says else ""


def by_program(exercise: Exercise) -> Iterator[Outcome]:
    """The first `EACH` variants that are answers at all, with what becomes of each."""
    count = 0
    for mutant in itertools.chain(mutants(exercise.solution), twice(exercise.solution)):
        if count == EACH:
            return
        outcome = tried(exercise, mutant.change, mutant.code)
        if outcome.how != "no answer":
            count += 1
            yield outcome


def by_hand(exercise: Exercise) -> Iterator[Outcome]:
    """What becomes of the wrong answers that were written by hand, each tried with all seeds."""
    for code, phrase in answers.wrong().get(exercise.name, ()):
        outcome = tried(exercise, phrase, code, always=True)
        if outcome.how != "no answer":
            yield outcome
