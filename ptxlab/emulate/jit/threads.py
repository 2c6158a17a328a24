"""Worker threads that always end, at whatever moment an exception interrupts the caller.

Ctrl-C raises between any two bytecodes of the caller's thread, and there may be more than one. `threading.Thread.start`
is not safe against that: interrupted half-way it leaves a thread that cannot be joined. So each worker registers itself
before it does anything, and then checks whether the team has been dismissed: a worker that starts too late returns at
once, and the team waits for the workers that have registered.
"""

from __future__ import annotations

import _thread
import queue
import time
from collections.abc import Callable

import numpy as np


class Team:
    """Runs some functions, each in a thread of its own, until all have returned. `stop[0] = 1` tells them to end soon;
    they must not raise."""

    def __init__(self, work: list[Callable[[], None]], stop: np.ndarray) -> None:
        self._work, self._stop = work, stop
        self._dismissed = False
        self._begun: list[None] = []  # one entry for each worker that has registered, appended by itself
        self._ended: list[None] = []
        self._events: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: a worker has ended

    def start(self) -> None:
        """Starts the threads."""
        for work in self._work:
            _thread.start_new_thread(self._run, (work,))

    def add(self, work: Callable[[], None]) -> None:
        """Starts a thread for one more function."""
        self._work.append(work)
        _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], None]) -> None:
        self._begun.append(None)
        try:
            if not self._dismissed:
                work()
        finally:
            self._ended.append(None)
            self._events.put(True)

    def wait(self, each: Callable[[], None], seconds: float) -> None:
        """Returns when all have ended; calls `each` every `seconds` until then, and after each `wake`."""
        ended = 0
        while ended < len(self._work):
            try:
                if self._events.get(timeout=seconds):
                    ended += 1
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
