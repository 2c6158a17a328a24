"""Grades submissions on the workers of a Dask cluster: each worker has grading processes, confined as on one machine.

A worker only passes on: a submission goes to a process of its own (`ptxlab.course.grading_process`), which confines the
answers as `ptxlab course grade` does. Submissions travel as bytes and marks as JSON; a worker runs no line of either.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any

from ptxlab.course.class_run import Result
from ptxlab.course.marks import digest, from_json, without_marks
from ptxlab.course.submission_folder import Handed
from ptxlab.errors import PtxlabError, UnavailableError
from ptxlab.sweeps.workers import on_dask
from ptxlab.version import __version__

STARTING = 60.0
"""Seconds that a cluster may take to have its first worker."""


@dataclass(frozen=True)
class How:
    """How a class is graded, the same on each worker; the names are those of `class_grading.grade`.

    folder: where the submissions lie here, hidden from answers on a worker that has such a folder, too. count: the
    submissions of the class."""

    exercises: tuple[str, ...]
    seed: int
    seconds: float
    each: float
    longest: float
    memory: int
    folder: str
    count: int
    unconfined: bool = False
    version: str = __version__

    def text(self) -> str:
        """For a grading process to read."""
        return json.dumps(asdict(self))


# -- where the command runs --------------------------------------------------------------------------------------------


def on_workers(waiting: list[Handed], client: Any, how: How) -> Generator[Result, None, None]:
    """Grades submissions on a cluster's workers and yields each as it is done.

    `UnavailableError` where there is no worker, or one that does not confine answers as it should: before the first
    submission, or when such a worker joins later.
    """
    if not waiting:
        return
    try:
        client.wait_for_workers(1, timeout=STARTING)
    except TimeoutError:
        raise UnavailableError(
            "the Dask cluster has no worker\n  start some:  dask worker ADDRESS --nthreads 1"
        ) from None
    text = how.text()
    named = {hashlib.sha256(f"{text} {one.student} {digest(one)}".encode()).hexdigest()[:24]: one for one in waiting}
    tasks = ((key, {"how": text, "handed": _packed(one)}) for key, one in named.items())
    try:
        refused = {worker: why for worker, why in client.run(refusal, text).items() if why}
        if refused:
            raise UnavailableError("\n".join(f"worker {worker}: {why}" for worker, why in refused.items()))
        for key, told in on_dask(tasks, client, grade_here, _not_graded):
            one = named[key]
            if "refused" in told:
                raise UnavailableError(
                    f"worker {told['worker']}: {told['refused']}; what was graded is kept: go on with --resume"
                )
            if "lost" in told:
                why = f"not graded: {told['lost']}; run again with --resume"
                yield one, without_marks(one, how.exercises, why), False
            else:
                yield one, from_json(told["graded"]), True
    finally:
        with contextlib.suppress(OSError, TimeoutError):  # the cluster may be gone
            client.run(rest, on_error="ignore")


def _packed(one: Handed) -> dict[str, Any]:
    files = [[name, base64.b64encode(raw).decode()] for name, raw in one.files]
    return {"student": one.student, "files": files}


def unpacked(told: dict[str, Any]) -> Handed:
    """A submission that has travelled."""
    return Handed(told["student"], tuple((name, base64.b64decode(raw)) for name, raw in told["files"]))


def _not_graded(task: dict[str, Any], why: str) -> dict[str, Any]:
    return {"lost": why}


# -- on a worker -------------------------------------------------------------------------------------------------------


class Grader:
    """A grading process of a worker, from the worker's side; it grades one submission at a time.

    refused: why it grades nothing, "" where it does.
    """

    def __init__(self, how: str) -> None:
        command = [sys.executable, "-m", "ptxlab.course.grading_process", how]
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.refused = str(self._hear()["refused"])

    def grade(self, handed: dict[str, Any]) -> dict[str, Any]:
        """The marks of a submission; `PtxlabError` where the process has ended."""
        assert self.popen.stdin is not None
        try:
            self.popen.stdin.write(json.dumps(handed).encode() + b"\n")
            self.popen.stdin.flush()
        except BrokenPipeError:
            raise PtxlabError(f"a grading process ended with status {self.popen.wait()}") from None
        return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        if not line.endswith(b"\n"):
            raise PtxlabError(f"a grading process ended with status {self.popen.wait()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def close(self) -> None:
        """Ends the process, which removes its files first."""
        with contextlib.suppress(BrokenPipeError):
            assert self.popen.stdin is not None
            self.popen.stdin.close()
        self.popen.wait()
        assert self.popen.stdout is not None
        self.popen.stdout.close()


_lock = threading.Lock()
_idle: list[tuple[str, Grader]] = []
"""Grading processes of this worker that have nothing to do, each with how it grades."""


def refusal(how: str) -> str:
    """Why this worker grades nothing, "" where it does. Leaves a grading process that is ready."""
    grader = Grader(how)
    if grader.refused:
        grader.close()
    else:
        with _lock:
            _idle.append((how, grader))
    return grader.refused


def grade_here(task: dict[str, Any]) -> dict[str, Any]:
    """Grades a submission on this worker: {"graded": ...}, or {"refused": ..., "worker": ...}.

    A grading process that ends without an answer, such as for want of memory, is followed by another one, once."""
    for last in (False, True):
        grader = _taken(task["how"])
        if grader.refused:
            grader.close()
            return {"refused": grader.refused, "worker": _address()}
        try:
            told = grader.grade(task["handed"])
        except PtxlabError:
            grader.close()
            if last:
                raise
            continue
        except BaseException:  # it may be in the middle of a submission
            grader.popen.kill()
            grader.close()
            raise
        with _lock:
            _idle.append((task["how"], grader))
        return told
    raise AssertionError("unreachable")


def rest() -> None:
    """Ends the grading processes that have nothing to do."""
    with _lock:
        ending = [grader for _, grader in _idle]
        _idle.clear()
    for grader in ending:
        grader.close()


def _taken(how: str) -> Grader:
    """A grading process with nothing to do; those of another class are ended."""
    with _lock:
        fits = [grader for other, grader in _idle if other == how]
        ending = [grader for other, grader in _idle if other != how]
        _idle[:] = [(how, grader) for grader in fits[1:]]
    for grader in ending:
        grader.close()
    return fits[0] if fits else Grader(how)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
