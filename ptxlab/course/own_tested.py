"""Tests exercises of one's own: `ptxlab course test DIR`."""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.course import own
from ptxlab.course.cells import run
from ptxlab.course.feedback import judge
from ptxlab.course.notebook_sources import placed
from ptxlab.course.starter_credit_measured import measured

SEEDS = range(6)


def tested() -> Iterator[tuple[str, list[str]]]:
    """Each exercise with what is wrong with it: where it stands, its starter, its solution, its wrong answers."""
    somewhere = placed()
    for module in own.modules():
        for exercise in module.EXERCISES:
            wrong = [] if exercise.name in somewhere else ["no notebook has it"]
            if judge(exercise, run(exercise, exercise.starter)).ok:
                wrong.append("its starter is right already")
            for seed in SEEDS:
                told = judge(exercise, run(exercise, exercise.solution), seed=seed, graded=True)
                if not told.ok:
                    wrong.append(f"its solution fails with the seed {seed}: {' '.join(told.says)}")
                    break
            begin = measured(exercise.name)
            if not wrong and (exercise.begin or (0, begin.solution)) != begin:
                wrong.append(f"a mark counts from what the starter has right: write begin={tuple(begin)}")
            for code, phrase in getattr(module, "WRONG", {}).get(exercise.name, ()):
                told = judge(exercise, run(exercise, code))
                if told.ok or phrase not in repr(told):
                    wrong.append(f"a wrong answer does not get the phrase {phrase!r}: {' '.join(told.says)}")
            yield exercise.name, wrong
