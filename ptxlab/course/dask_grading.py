"""Grades submissions on the workers of a Dask cluster, each in a process that confines answers as on one machine.

A worker only passes on: a few submissions at a time go to a process of their own (`ptxlab.course.grading_process`).
Submissions travel as bytes and marks as JSON; a worker runs no line of either.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import asdict
from typing import Any

from ptxlab.course.class_run import Result
from ptxlab.course.grading_jobs import How
from ptxlab.course.marks import digest, from_json, without_marks
from ptxlab.course.submission_folder import Handed
from ptxlab.errors import PtxlabError, UnavailableError
from ptxlab.sweeps.workers import on_dask

STARTING = 60.0
"""Seconds that a cluster may take to have its first worker."""
TOGETHER = 20
"""Submissions of a large class that one process grades, one after the other: to start it takes some seconds."""
COMMAND = [sys.executable, "-m", "ptxlab.course.grading_process"]


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
    refused = {worker: why for worker, why in client.run(refusal, asdict(how)).items() if why}
    if refused:
        raise UnavailableError("\n".join(f"worker {worker}: {why}" for worker, why in refused.items()))
    size = max(1, min(TOGETHER, len(waiting) // (2 * sum(client.nthreads().values()))))
    named = {_key(how, some): some for some in (waiting[at : at + size] for at in range(0, len(waiting), size))}
    tasks = ((key, {"how": asdict(how), "handed": [_packed(one) for one in some]}) for key, some in named.items())
    for key, told in on_dask(tasks, client, grade_here, _not_graded):
        if "refused" in told:
            raise UnavailableError(
                f"worker {told['worker']}: {told['refused']}; what was graded is kept: go on with --resume"
            )
        lost = f"not graded: {told.get('lost')}; run again with --resume"
        for one in named[key]:
            if "lost" in told:
                yield one, without_marks(one, how.exercises, lost), False
            else:
                graded, final = told["graded"][one.student]
                yield one, from_json(graded), final


def _key(how: How, some: list[Handed]) -> str:
    text = " ".join([json.dumps(asdict(how)), *(f"{one.student} {digest(one)}" for one in some)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _packed(one: Handed) -> dict[str, Any]:
    files = [[name, base64.b64encode(raw).decode()] for name, raw in one.files]
    return {"student": one.student, "files": files}


def unpacked(told: dict[str, Any]) -> Handed:
    """A submission that has travelled."""
    return Handed(told["student"], tuple((name, base64.b64decode(raw)) for name, raw in told["files"]))


def _not_graded(task: dict[str, Any], why: str) -> dict[str, Any]:
    return {"lost": why}


# -- on a worker -------------------------------------------------------------------------------------------------------


def refusal(how: dict[str, Any]) -> str:
    """Why this worker grades nothing, "" where it does."""
    return str(_told({"how": how, "handed": []}).get("refused", ""))


def grade_here(task: dict[str, Any]) -> dict[str, Any]:
    """Grades submissions on this worker: {"graded": ...}, or {"refused": ..., "worker": ...}."""
    from distributed import get_worker

    return _told(task) | {"worker": str(get_worker().address)}


def _told(task: dict[str, Any]) -> dict[str, Any]:
    """What a process tells that grades. One that ends without an answer, such as for want of memory, is followed by
    another one, once."""
    for _ in range(2):
        done = subprocess.run(COMMAND, input=json.dumps(task).encode(), stdout=subprocess.PIPE, start_new_session=True)
        if not done.returncode:
            told: dict[str, Any] = json.loads(done.stdout)
            return told
    raise PtxlabError(f"a grading process ended with status {done.returncode}")
