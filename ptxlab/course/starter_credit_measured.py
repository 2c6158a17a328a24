"""Measures what each exercise's starter has right already, and writes the table of `ptxlab.course.starter_credit`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ptxlab.course import starter_credit
from ptxlab.course.cells import run
from ptxlab.course.feedback import catalogue, find, judge
from ptxlab.course.starter_credit import STARTS, Start, points


def measured(name: str) -> Start:
    """The numbers of an exercise, by grading its starter and its solution."""
    exercise = find(name)
    starter, solution = (
        sum(points(judge(exercise, run(exercise, code), graded=True).parts))
        for code in (exercise.starter, exercise.solution)
    )
    return Start(starter, solution)


def main(names: Sequence[str] = ()) -> None:
    """Measures exercises, by default all, and writes the table of `starts`."""
    here = Path(starter_credit.__file__)
    head, _, rest = here.read_text(encoding="utf-8").partition("STARTS: dict[str, Start] = {\n")
    tail = rest.partition("\n}")[2]
    ours = [name for name, exercise in catalogue().items() if exercise.grade.__module__.startswith("ptxlab.")]
    found = {name: STARTS[name] if names and name not in names else measured(name) for name in ours}
    each = [f'"{name}": Start({start.starter}, {start.solution}),' for name, start in found.items()]
    rows = "".join(f"    {' '.join(each[at : at + 3])}\n" for at in range(0, len(each), 3))
    here.write_text(f"{head}STARTS: dict[str, Start] = {{\n{rows}}}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
