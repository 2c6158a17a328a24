"""A grading process of a cluster's worker: grades the submissions that come as lines of JSON, one after the other.

It is a process of its own because grading forks, which a worker with its threads should not, and because it adopts and
ends what answers leave behind. The first line that it writes says whether it grades at all; then it prepares what all
submissions need, and answers each line with one. It ends with its input, and when its worker has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ptxlab.course.dask_grading import How, unpacked
from ptxlab.course.grading_pool import Pool, prepare
from ptxlab.course.sandbox import confinement
from ptxlab.version import __version__

IDLE = 600.0
"""Seconds without a submission after which it ends: whoever graded was ended before it could say so."""
LOOK = 1.0
"""Seconds after which it looks whether its worker is still there."""


def main() -> None:
    """Grades until its input ends."""
    wanted = json.loads(sys.argv[1])
    answers = os.dup(1)
    os.dup2(2, 1)  # what is printed belongs into the worker's log

    def tell(message: dict[str, Any]) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        while line:
            line = line[os.write(answers, line) :]

    if wanted["version"] != __version__:
        tell({"refused": f"it has ptxlab {__version__}, the class is graded with {wanted['version']}"})
        return
    how = How(**wanted | {"exercises": tuple(wanted["exercises"])})
    if not hasattr(os, "fork"):
        tell({"refused": "grading needs fork and resource limits, so Linux or macOS (on Windows: in WSL)"})
        return
    _end_with(os.getppid())
    folder = Path(how.folder)
    confined = confinement.probe(folder)
    why = "" if how.unconfined else _refusal(confined)
    tell({"refused": why})
    if why:
        return
    prepare(how.exercises, how.seed, how.count)
    # Other workers of this machine grade, too: processes of theirs should not be of the same user.
    begun = secrets.randbelow(confinement.USERS)
    pool = Pool(
        how.exercises, seed=how.seed, each=how.each, longest=how.longest, seconds=how.seconds, memory=how.memory,
        way=confined.way, folder=folder, begun=begun
    )  # fmt: skip
    with contextlib.closing(pool):
        while select.select([0], [], [], IDLE)[0] and (line := sys.stdin.buffer.readline()):
            for _, graded, final in pool.run([unpacked(json.loads(line))], 1):
                tell({"graded": asdict(graded)} if final else {"lost": graded.note})


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


def _end_with(parent: int) -> None:
    """Interrupts this process when its parent has ended; what it is grading is ended then, and its files removed.

    A signal for the parent's death would come when the thread ends that started this process."""

    def look(signum: int, frame: Any) -> None:
        if os.getppid() != parent:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
