"""A thread for LLVM, which Ctrl-C cannot interrupt half-way.

Python raises `KeyboardInterrupt` between any two bytecodes of the main thread, and llvmlite takes a lock around every
call of LLVM, in Python. An interrupt between taking it and giving it back would lock LLVM for good, and every launch
after it would wait for ever. So the main thread never calls LLVM. It hands the work to this thread, and an interrupt
ends its waiting, not the work.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import queue
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ptxlab import forks

P = ParamSpec("P")
R = TypeVar("R")

Job = Callable[[], None]


class _Jobs:
    """The jobs of the thread: `urgent` ones, for which somebody waits, before those that can wait."""

    def __init__(self) -> None:
        # A queue's methods are whole: no interrupt splits them. None ends the thread.
        self.urgent: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.later: collections.deque[Job] = collections.deque()
        self.gone: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.started = False
        self.ended = False

    def put(self, job: Job) -> None:
        """Hands over an urgent job; the thread begins with the first."""
        self.urgent.put(job)
        if not self.started:
            _thread.start_new_thread(self._run, ())
            self.started = True  # not before: an interrupt between would leave all later jobs waiting

    def _next(self) -> Job | None:
        try:
            return self.urgent.get_nowait()
        except queue.Empty:
            return self.later.popleft() if self.later else self.urgent.get()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception:  # nobody waits for this job: reported as for any thread
                import traceback

                traceback.print_exc()
        self.gone.put(None)


_jobs = _Jobs()


def _forget() -> None:
    """After a fork: the child has no such thread yet."""
    global _jobs
    _jobs = _Jobs()


@atexit.register
def _end() -> None:
    """Waits for the current job and drops those that can wait."""
    if _jobs.started and not _jobs.ended:
        _jobs.ended = True
        _jobs.later.clear()
        _jobs.urgent.put(None)
        _jobs.gone.get()


forks.in_child(_forget)


def begin(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
    """Begins with work that calls LLVM; what is given back waits for its result. In the main thread the caller goes on
    meanwhile. Other threads, which are never interrupted, do the work themselves, at once."""
    answer: queue.SimpleQueue[list[R] | BaseException] = queue.SimpleQueue()

    def job() -> None:
        try:
            with forks.guarded():
                found = function(*args, **kwargs)
            answer.put([found])
        except BaseException as error:
            answer.put(error)

    if _jobs.ended or threading.current_thread() is not threading.main_thread():
        job()
    else:
        _jobs.put(job)

    def result() -> R:
        found = answer.get()
        if isinstance(found, BaseException):
            raise found
        return found[0]

    return result


def soon(job: Job) -> None:
    """Has a short job done in LLVM's thread, and does not wait for it."""

    def guarded() -> None:
        with forks.guarded():
            job()

    _jobs.put(guarded)


def later(job: Job) -> None:
    """Has a job done in LLVM's thread when nobody waits for another."""
    _jobs.later.append(job)
    _jobs.put(_look)


def wait_until_idle() -> None:
    """Waits until the thread has nothing to do, those jobs included that can wait."""
    while True:
        begin(_look)()
        if not _jobs.later:
            begin(_look)()  # the last of those that can wait may be in work still
            return


def _look() -> None:
    """Wakes the thread, so that it sees what can wait."""
