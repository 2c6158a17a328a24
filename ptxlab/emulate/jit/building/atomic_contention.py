"""Whether more workers help a kernel whose threads change global memory by atomic operations.

Cores that count in the same few cache lines pass these back and forth: two take four times as long as one, whose atomic
operations need no lock either (see `atomics`). Nothing in the program tells, since it depends on the addresses. So a
launch compares the work that it does in a second with one worker and with several; where several are no faster the
first one goes on alone, and the kernel's next launches begin with one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

AGAIN = 64
"""Launches with one worker after which several are tried again: the data may be others."""
STRETCH, SURE = 15e-6, 1e-4
"""Seconds that a stretch must take to tell how long the launch will take; and to be compared."""
SHARE = 8
"""The others must have done this part of the work."""
GAIN = 1.1
"""How many times as much work several workers must do."""


class Contention:
    """What the launches of a kernel have found out."""

    def __init__(self, possible: bool, block_work: np.ndarray) -> None:
        self.possible, self.block_work = possible, block_work
        """Whether several workers may be in each other's way; what the basic blocks cost."""
        self.alone = 0
        """How many of the next launches begin with one worker."""

    def workers(self, wanted: int) -> int:
        """How many workers the next launch has, of as many as are wanted."""
        if wanted == 1 or not self.alone:
            return wanted
        self.alone -= 1
        return 1


class Comparison:
    """The stretches of one launch. `look` is to be called after each."""

    def __init__(self, contention: Contention) -> None:
        self.contention = contention
        self.open = contention.possible
        """Whether more stretches are to be looked at."""
        self.stretch = SURE if contention.possible else STRETCH
        """How long a stretch must be that tells whether others are to be begun."""
        self._since, self._done, self._others, self._rate = 0.0, 0, 0, 0.0

    def begin(self, now: float) -> None:
        """The first stretch begins."""
        self._since = now

    def look(self, counts: Sequence[np.ndarray], now: float, *, alone: bool) -> bool:
        """Whether the first worker should go on alone. counts: of each worker, how often its blocks have run; alone: no
        other worker had been begun before the stretch."""
        if not self.open:
            return False
        seconds = now - self._since
        if seconds < SURE and alone:
            return False  # this stretch and the next are one
        done, others = self._work(counts), self._work(counts[1:])
        gained, by_others = done - self._done, others - self._others
        self._since, self._done, self._others = now, done, others
        if alone:
            self._rate = gained / seconds
        if not self._rate or seconds < SURE or not by_others or SHARE * by_others < gained:
            return False
        self.open = False
        crowded = gained < GAIN * self._rate * seconds
        self.contention.alone = AGAIN if crowded else 0
        return crowded

    def _work(self, counts: Sequence[np.ndarray]) -> int:
        return sum(int(each["warps"].sum(axis=0) @ self.contention.block_work) for each in counts)
