"""Worker threads that always end, at whatever moment an exception interrupts the caller.

Ctrl-C raises between any two bytecodes of the caller's thread, and there may be more than one. `threading.Thread.start`
is not safe against that: interrupted half-way it leaves a thread that cannot be joined. So each worker registers itself
before it does anything, and then checks whether the team has been dismissed: a worker that starts too late returns at
once, and the team waits for the workers that have registered.

Threads do not end with their launch: they wait for the next one. Linux starts a new thread on the core of its creator,
which then runs compiled code: in a launch of one or two milliseconds the thread would begin when the launch is over. A
waiting thread is woken on an idle core within 0.05 ms.
"""

from __future__ import annotations

import _thread
import functools
import os
import queue
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Tasks = queue.SimpleQueue[Callable[[Any], None]]
_idle: list[Tasks] = []
"""What the threads that have nothing to do get their functions from."""
_put: Callable[[Tasks, Callable[[Any], None]], None] = queue.SimpleQueue.put
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads


def idle() -> int:
    return len(_idle)


def _serve(tasks: Tasks) -> None:
    while True:
        tasks.get()(tasks)


class Team:
    """Runs each function in its own thread until all return. `stop[0] = 1` tells them to end. They must not raise."""

    def __init__(self, stop: np.ndarray) -> None:
        self._stop, self._dismissed = stop, False
        self._given: list[None] = []  # one entry for each function
        self._begun: list[None] = []  # one entry for each worker that has registered, appended by itself
        self._ended: list[None] = []
        self._events: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: a worker has ended
        self._heard = 0  # of these events

    def begin(self, work: Callable[[], None]) -> None:
        """Runs a function in a thread. The functions may call it too."""
        self._given.append(None)
        run = functools.partial(self._run, work)
        try:
            # One call in C: an interrupt between taking a thread and giving it the function would lose the thread.
            next(map(_put, iter(_idle.pop, None), (run,)))
        except IndexError:
            tasks: Tasks = queue.SimpleQueue()
            tasks.put(run)
            try:
                _thread.start_new_thread(_serve, (tasks,))
            except RuntimeError:  # there are too many
                self._given.pop()
                raise

    def _run(self, work: Callable[[], None], tasks: Tasks) -> None:
        self._begun.append(None)
        try:
            if not self._dismissed:
                work()
        finally:
            _idle.append(tasks)  # before the launch is over: the next one is to find this thread
            self._ended.append(None)
            self._events.put(True)

    def wait(self, each: Callable[[], None], seconds: float) -> None:
        """Returns when all have ended; calls `each` every `seconds` until then, and after each `wake`."""
        while self._heard < len(self._given):
            try:
                if self._events.get(timeout=seconds):
                    self._heard += 1
                    continue
            except queue.Empty:
                pass
            each()

    def wake(self) -> None:
        """Has `wait` call its function now. For any thread."""
        self._events.put(False)

    def dismiss(self) -> None:
        """Stops the workers that have begun and returns when none runs any more. Does nothing after `wait`."""
        while True:
            try:
                self._dismissed = True  # from here on no worker begins
                if len(self._begun) > len(self._ended):
                    self._stop[0] = 1
                while len(self._begun) > len(self._ended):
                    time.sleep(0.001)
                return
            except KeyboardInterrupt:  # the workers are stopping already
                continue
