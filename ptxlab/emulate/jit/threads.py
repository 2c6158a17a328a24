"""Worker threads that no exception leaves behind: whatever moment an interrupt chooses, all of them end.

Ctrl-C raises between any two bytecodes of the caller's thread, and there may be more than one. `threading.Thread.start`
does not survive that: interrupted half-way it leaves a thread that nobody can join. So a worker here reports for duty
itself, before it does anything, and looks then whether it is still wanted: one that the caller never knew of goes home
at once, and those that have begun are counted by what they wrote down themselves.
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
        self._begun: list[None] = []  # one entry for each worker that has come, appended by itself
        self._ended: list[None] = []
        self._done: queue.SimpleQueue[None] = queue.SimpleQueue()

    def start(self) -> None:
        """Starts the threads."""
        for work in self._work:
            _thread.start_new_thread(self._run, (work,))

    def _run(self, work: Callable[[], None]) -> None:
        self._begun.append(None)
        try:
            if not self._dismissed:
                work()
        finally:
            self._ended.append(None)
            self._done.put(None)

    def wait(self, each: Callable[[], None], seconds: float) -> None:
        """Returns when all have ended; calls `each` every so many seconds until then."""
        ended = 0
        while ended < len(self._work):
            try:
                self._done.get(timeout=seconds)
                ended += 1
            except queue.Empty:
                each()

    def dismiss(self) -> None:
        """Returns when no worker runs any more; those that have begun are told to stop. Does nothing after `wait`."""
        while True:
            try:
                self._dismissed = True  # from here on nobody begins
                if len(self._begun) > len(self._ended):
                    self._stop[0] = 1
                while len(self._begun) > len(self._ended):
                    time.sleep(0.001)
                return
            except KeyboardInterrupt:  # they are on their way already
                continue
