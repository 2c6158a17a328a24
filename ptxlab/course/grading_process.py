"""A grading process of a cluster's worker: grades the submissions that come as JSON, and answers with their marks.

It is a process of its own because grading forks, which a worker with its threads should not, and because it adopts and
ends what answers leave behind. It ends when it is done, and when its worker has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ptxlab.course.dask_grading import unpacked
from ptxlab.course.grading_jobs import How
from ptxlab.course.grading_pool import Pool, prepare
from ptxlab.course.sandbox import confinement
from ptxlab.version import __version__

LOOK = 1.0
"""Seconds after which it looks whether its worker is still there."""


def graded(task: dict[str, Any]) -> dict[str, Any]:
    """{"graded": student -> marks, and whether they are final}, or {"refused": why nothing is graded here}."""
    wanted = task["how"]
    if wanted["version"] != __version__:
        return {"refused": f"it has ptxlab {__version__}, the class is graded with {wanted['version']}"}
    how = How(**wanted | {"exercises": tuple(wanted["exercises"])})
    if not hasattr(os, "fork"):
        return {"refused": "grading needs fork and resource limits, so Linux or macOS (on Windows: in WSL)"}
    confined = confinement.probe(Path(how.folder))
    if not how.unconfined and (why := _refusal(confined)):
        return {"refused": why}
    handed = [unpacked(told) for told in task["handed"]]
    if not handed:
        return {"graded": {}}
    prepare(how)
    # Other workers of this machine grade, too: processes of theirs should not be of the same user.
    with contextlib.closing(Pool(how, confined.way, secrets.randbelow(confinement.USERS))) as pool:
        return {"graded": {one.student: (asdict(marks), final) for one, marks, final in pool.run(handed, 1)}}


def _refusal(confined: confinement.Confinement) -> str:
    """Why a worker so confined grades nothing, or "". Its machine may be others' too: the strictest way is wanted."""
    if confined.way == "bubblewrap" and confined.complete:
        return ""
    lacks = "; ".join(
        [*confined.missing, *(f"not in force: {confinement.DOCUMENTED[hole]}" for hole in confined.holes)]
    )
    return (
        f"it does not confine submissions with bubblewrap, as each worker should ({lacks}). Install it there "
        "(apt install bubblewrap); if you trust the submissions, grade anyway with --unconfined"
    )


@contextlib.contextmanager
def _ending_with(parent: int) -> Iterator[None]:
    """Interrupts this process when its parent has ended; what it is grading is ended then, and its files removed.

    A signal for the parent's death would come when the thread ends that started this process."""

    def look(signum: int, frame: Any) -> None:
        if os.getppid() != parent:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Grades what comes in."""
    answer = os.dup(1)
    os.dup2(2, 1)  # what is printed belongs into the worker's log
    with _ending_with(os.getppid()) if hasattr(os, "fork") else contextlib.nullcontext():
        told = graded(json.load(sys.stdin.buffer))
    with open(answer, "w", encoding="ascii") as file:
        json.dump(told, file)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
