"""The course: exercises with checks that grade on mechanism, and the gallery of bugs to find.

from ptxlab.course import check, passage, score

check("01-rescale", kernel)          # runs the answer, looks at what happened in each thread, and says so
score("01-rescale", kernel)          # the same for a grader: a float
passage("tiled", "with k.loop(")     # a passage of a library kernel's source, for notebooks
pl.course.progress()                 # what is solved, what is next
pl.gallery(7)                        # exhibit 7 of `ptxlab.course.gallery`: a bug, what finds it, its repair
"""

from __future__ import annotations

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.feedback import (
    UnknownExercise,
    catalogue,
    check,
    failing,
    find,
    names,
    progress,
    score,
    solution,
)  # fmt: skip
from ptxlab.course.source_excerpt import passage
from ptxlab.course.verdict import Feedback, Score

__all__ = [
    "Exercise", "Feedback", "Grading", "Score", "UnknownExercise", "catalogue", "check", "failing", "find", "names",
    "passage", "progress", "score", "solution",
]  # fmt: skip
