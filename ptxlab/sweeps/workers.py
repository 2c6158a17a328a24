"""Where the points of a sweep are measured: in processes of this machine, or on the workers of a Dask cluster.

Both take points as they are wanted, a few more than there are workers, so that a sweep of any size fits into memory;
and both give a row for a point whose worker has died.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import itertools
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from ptxlab.errors import UnavailableError, optional
from ptxlab.sweeps.measure import measure

Task = dict[str, Any]
Row = dict[str, Any]
Keyed = tuple[str, Task]
"""A point's name, and what is to be measured."""
Measured = tuple[str, Row]
AHEAD = 2
"""Points that wait for each worker."""
REFRESH = 2.0
"""Seconds after which a cluster is asked again how many workers it has."""


def lost(task: Task, why: str) -> Row:
    """The row of a point whose workers died."""
    return {"kernel": task["kernel"], **task["shape"], **task["parameters"], "status": "lost", "reason": why}


# -- this machine ------------------------------------------------------------------------------------------------------


def in_processes(
    points: Iterator[Keyed], workers: int, job: Callable[[Task], Row] = measure
) -> Generator[Measured, None, None]:
    """Measures in so many processes of this machine. A point that ends its process is measured again by itself, so that
    no other point is blamed for it, and is lost when it does so again."""
    pool = _pool(workers)
    waiting: dict[concurrent.futures.Future[Row], Keyed] = {}
    try:
        while True:
            for key, task in points:
                waiting[pool.submit(job, task)] = key, task
                if len(waiting) >= workers * AHEAD:
                    break
            if not waiting:
                return
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            broken = False
            for future in done:
                try:
                    row = future.result()
                except BrokenProcessPool:
                    broken = True
                    continue
                yield waiting.pop(future)[0], row
            if broken:  # whoever was in a process may have ended it
                suspects = list(waiting.values())
                waiting.clear()
                for key, task in suspects:
                    yield key, _alone(task, job)
                pool = _pool(workers)
    finally:
        _end(pool)


def _alone(task: Task, job: Callable[[Task], Row]) -> Row:
    """Measures a point in a process of its own."""
    pool = _pool(1)
    try:
        return pool.submit(job, task).result()
    except BrokenProcessPool:
        return lost(task, "its process was ended while it ran alone: by a signal, or for want of memory")
    finally:
        _end(pool)


class _Worker(SpawnProcess):
    """A process that starts from nothing. `multiprocessing` would run the user's script in it again, up to and with the
    sweep itself, unless the script has `if __name__ == "__main__"`; a task is plain data and wants none of it."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        hidden: dict[str, Any] = {name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)}
        vars(main).update(dict.fromkeys(hidden))
        try:
            super().start()
        finally:
            vars(main).update(hidden)


class _Workers(SpawnContext):
    Process = _Worker


def _pool(workers: int) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(workers, mp_context=_Workers(), initializer=_ignore_interrupts)


def _ignore_interrupts() -> None:
    """Ctrl-C is for the process that sweeps; it ends the workers. One thread a worker: they share the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _end(pool: concurrent.futures.ProcessPoolExecutor) -> None:
    """Ends the processes at once; what they were at is measured when the sweep goes on."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


# -- Dask --------------------------------------------------------------------------------------------------------------


def connect(address: str) -> Any:
    """A client of the cluster whose scheduler is at an address; `UnavailableError` where none answers."""
    distributed = optional("distributed", "--dask needs dask.distributed", "'ptxlab[scale]'")
    try:
        return distributed.Client(address)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise UnavailableError(
            f"--dask {address}: no scheduler answers ({why})\n  start one:  dask scheduler --port 8786"
        ) from None


def _require_gpu(client: Any) -> None:
    """Dask would wait for a worker with the resource for ever."""
    workers = client.scheduler_info()["workers"].values()
    if not any(worker["resources"].get("GPU", 0) >= 1 for worker in workers):
        address = client.scheduler.address
        raise UnavailableError(
            f'device="gpu": none of the {len(workers)} workers offers the resource GPU\n  start one on each card:  '
            f'dask worker {address} --nthreads 1 --resources "GPU=1"'
        )


def on_dask(
    points: Iterator[Keyed],
    client: Any,
    job: Callable[[Task], Row] = measure,
    lost: Callable[[Task, str], Row] = lost,
    gpu: bool = False,
) -> Generator[Measured, None, None]:
    """Measures on the workers of a `dask.distributed.Client`; tasks are plain data, `job` is named, not pickled. With
    `gpu` each takes one of the resource GPU for itself, so that no two are timed on one card.

    A worker that dies is the scheduler's business, which gives its point to another one, until it counts as lost. When
    the scheduler itself is started again, what was under way is handed in again. `lost` makes the row of such a point.
    Raises `UnavailableError` where the client has given up its connection, or where no worker has a GPU for it.
    """
    if gpu:
        _require_gpu(client)
    distributed: Any = importlib.import_module("distributed")
    waiting: dict[str, tuple[Keyed, Any]] = {}
    completed = distributed.as_completed()
    numbers = itertools.count()
    size, asked = 1, -math.inf
    takes = {"GPU": 1} if gpu else None

    def submit(keyed: Keyed) -> None:
        future = client.submit(job, keyed[1], key=f"ptxlab-{keyed[0]}-{next(numbers)}", pure=False, resources=takes)
        waiting[future.key] = keyed, future
        completed.add(future)

    try:
        while True:
            if client.status == "closed":
                raise UnavailableError("the connection to the Dask cluster is lost; what was measured is kept")
            if time.monotonic() - asked > REFRESH:  # a question to the scheduler: not for every point
                with contextlib.suppress(OSError, TimeoutError):  # it is being started again
                    size = max(1, sum(client.nthreads().values()))
                asked = time.monotonic()
            for keyed in itertools.islice(points, max(0, size * AHEAD - len(waiting))):
                submit(keyed)
            if not waiting:
                return
            future = next(completed)
            keyed, _ = waiting.pop(future.key)
            key, task = keyed
            try:
                row = future.result()
            except (concurrent.futures.CancelledError, distributed.comm.CommClosedError):
                submit(keyed)  # the scheduler has forgotten it, or ended while it handed the row over
                continue
            except distributed.KilledWorker as error:
                row = lost(task, str(error).splitlines()[0])
            except Exception as error:  # such as a worker without ptxlab: the others may have it
                row = lost(task, f"the worker could not do it: {type(error).__name__}: {error}")
            future.release()
            yield key, row
    finally:
        client.cancel([future for _, future in waiting.values()])
