"""A thread for LLVM, which Ctrl-C cannot interrupt half-way, and others beside it.

Python raises `KeyboardInterrupt` between any two bytecodes of the main thread. LLVM is loaded under a lock, and so is
code where LLVM loads it; where others call LLVM, llvmlite takes one around every call, in Python. An interrupt between
taking it and giving it back would lock LLVM for good, and every launch after it would wait for ever. So the main thread
never calls LLVM. It hands the work to this thread, and an interrupt ends its waiting, not the work.

The others generate a program's code, without such a lock (see `compile.build`). Meanwhile the rules that it calls
are translated, by whoever asks for the program, and built.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import functools
import queue
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ptxlab import forks

P = ParamSpec("P")
R = TypeVar("R")

Job = Callable[[], None]


class _Jobs:
    """What some threads have to do: `urgent` jobs, for which somebody waits, before those that can wait."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        # A queue's methods are whole: no interrupt splits them. None ends a thread.
        self.urgent: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.later: collections.deque[Job] = collections.deque()
        self.gone: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.started = False
        self.ended = False

    def put(self, job: Job) -> None:
        """Hands over an urgent job; the threads begin with the first."""
        self.urgent.put(job)
        if not self.started:
            for _ in range(self.threads):
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

    def rest(self) -> None:
        """Waits until all threads have nothing to do."""
        if self.started:
            meeting = threading.Barrier(self.threads + 1)
            for _ in range(self.threads):
                self.put(lambda: _nothing(meeting.wait()))
            meeting.wait()

    def end(self) -> None:
        """At exit: waits for the current jobs and drops those that can wait."""
        if self.started and not self.ended:
            self.ended = True
            self.later.clear()
            for _ in range(self.threads):
                self.urgent.put(None)
            for _ in range(self.threads):
                self.gone.get()


BESIDE = 3
"""Threads that generate code of programs."""
_jobs, _beside = _Jobs(), _Jobs(BESIDE)


def _forget() -> None:
    """After a fork: the child has no such threads yet."""
    global _jobs, _beside
    _jobs, _beside = _Jobs(), _Jobs(BESIDE)


def _end() -> None:
    _beside.end()
    _jobs.end()


forks.in_child(_forget)
atexit.register(_end)


def begin(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
    """Begins with work that calls LLVM; what is given back waits for its result. In the main thread the caller goes on
    meanwhile. Other threads, which are never interrupted, do the work themselves, at once."""
    here = threading.current_thread() is not threading.main_thread()
    return _begun(None if here or _jobs.ended else _jobs, functools.partial(function, *args, **kwargs))


def beside(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
    """The same in one of the other threads, for any thread."""
    return _begun(None if _beside.ended else _beside, functools.partial(function, *args, **kwargs))


def _begun(jobs: _Jobs | None, function: Callable[[], R]) -> Callable[[], R]:
    """Has a function called, at once if there is no thread for it."""
    answer: queue.SimpleQueue[list[R] | BaseException] = queue.SimpleQueue()

    def job() -> None:
        try:
            with forks.guarded():
                found = function()
            answer.put([found])
        except BaseException as error:
            answer.put(error)

    if jobs is None:
        job()
    else:
        jobs.put(job)

    def result() -> R:
        found = answer.get()
        if isinstance(found, BaseException):
            raise found
        return found[0]

    return result


def soon(job: Job) -> None:
    """Has a short job done in LLVM's thread, and does not wait for it."""
    _jobs.put(functools.partial(_guarded, job))


def _guarded(job: Job) -> None:
    with forks.guarded():
        job()


def later(job: Job) -> None:
    """Has a job done in LLVM's thread when nobody waits for another."""
    _jobs.later.append(job)
    _jobs.put(_nothing)


def wait_until_idle() -> None:
    """Waits until the threads have nothing to do, those jobs included that can wait."""
    while True:
        _beside.rest()
        begin(_nothing)()
        if not _jobs.later:
            begin(_nothing)()  # the last of those that can wait may be in work still
            return


def _nothing(*_: object) -> None:
    """Wakes the thread, so that it sees what can wait."""
