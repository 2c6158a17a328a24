"""Grades a class: `ptxlab course grade DIR` runs every submission in processes of its own and writes who has what.

DIR holds a file for each student (`alice.ipynb`, `bob.py`) or a folder for each (`carol/01-scalar.ipynb`, ...). Nothing
that a submission does reaches another one, the grader or the report: see `ptxlab.course.sandbox`. Marks are collected
by this process alone, which runs no line of any submission. With a Dask client the submissions are graded on the
workers of a cluster, in the same confinement.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ptxlab.course.class_run import follow
from ptxlab.course.dask_grading import on_workers
from ptxlab.course.grading_jobs import How
from ptxlab.course.grading_pool import Pool, prepare
from ptxlab.course.marks import Graded, Journal, Mark
from ptxlab.course.sandbox import confinement
from ptxlab.course.submission_folder import Handed, choose, collect
from ptxlab.errors import UnavailableError

__all__ = ["Graded", "Handed", "Mark", "collect", "grade"]


def grade(
    folder: Path,
    *,
    exercises: Sequence[str] = (),
    seed: int | None = None,
    seconds: float = 120.0,
    each: float = 30.0,
    longest: float = 10.0,
    memory: int = 3 << 30,
    jobs: int | None = None,
    progress: bool = True,
    unconfined: bool = False,
    confined: confinement.Confinement | None = None,
    client: Any = None,
    journal: Journal | None = None,
    after_each: Callable[[list[Graded]], None] | None = None,
) -> list[Graded]:
    """The marks of every submission in a folder, by student.

    exercises: names, or beginnings such as "01"; by default all that some submission has a cell for. seed: hidden cases
    are drawn from it, the same for all; by default one at random. seconds: of a submission, each: of one exercise;
    longest: seconds of an answer's own code at a stretch: its cells, the building of a kernel, one call; an endless
    loop costs so much. memory: bytes that a process may take. jobs: submissions at a time, by default one per core.

    `UnavailableError` on a machine that cannot confine submissions, unless `unconfined` is given. confined: what
    `confinement.probe` found, if it was asked already. client: a `dask.distributed.Client`; submissions are graded on
    its workers, as many at a time as they have threads, and the marks are the same. journal: keeps each submission's
    marks, and knows some already. after_each: called with all marks so far.
    """
    handed = collect(folder)
    chosen = choose(handed, exercises) if journal is None else journal.exercises
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    how = How(chosen, seed, seconds, each, longest, memory, str(folder.resolve()), len(handed), unconfined)
    if client is not None:
        return follow(handed, chosen, lambda waiting: on_workers(waiting, client, how), progress, journal, after_each)
    if not hasattr(os, "fork"):
        raise UnavailableError("grading needs fork and resource limits, so Linux or macOS (on Windows: in WSL)")
    confined = confinement.probe(folder) if confined is None else confined
    if not unconfined:
        confined.refuse()
    prepare(how)
    with contextlib.closing(Pool(how, confined.way)) as pool:
        count = jobs or os.cpu_count() or 1
        return follow(handed, chosen, lambda waiting: pool.run(waiting, count), progress, journal, after_each)
