"""Whether more workers help a kernel, found out by its launches.

A second worker begins late, and it may be in the way. Cores that count in the same few cache lines pass these back and
forth: two take four times as long as one, whose atomic operations need no lock either (see `atomics`). Cores without a
common cache pass on all lines that one has written and the other needs, and another program may have the second core.
Nothing in the kernel tells. So launches with several workers are compared with those that have one, and where several
are no faster the next ones have one. Atomic operations on global memory can cost so much that a launch compares the
work that it does in a second with one worker and with several, and goes on with the first one if these are no faster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

AGAIN = 64
"""Launches after which it is found out again: the data may be others."""
STRETCH, SURE = 15e-6, 1e-4
"""Seconds that a stretch must take to tell how long the launch will take; and to be compared."""
SHORT = 5e-3
"""Seconds that a launch takes at most if it is to begin with one worker for no other reason than to be measured."""
SHARE = 8
"""The others must have done this part of the work."""
GAIN = 1.1
"""How many times as much work several workers must do."""
SLOWER, LOST = 1.05, 3
"""A launch that takes so many times as long as with one worker is slower; so many must be in a row before one worker is
tried again, because the first one starts the threads."""


class Contention:
    """What the launches of a kernel have found out."""

    def __init__(self, possible: bool, block_work: np.ndarray) -> None:
        self.possible, self.block_work = possible, block_work
        """Whether workers may count in the same cache lines; what the basic blocks cost."""
        self.forget()

    def forget(self) -> None:
        """There is better code."""
        self.alone = 0
        """How many of the next launches have one worker."""
        self.pace = 0.0
        """Seconds for a CTA of a worker that was alone, the least of some launches; 0: not known."""
        self._of, self._known = 0, 0
        """The CTAs of these launches, 0 if it is of the beginning of one; for how many more launches it holds."""
        self._slower, self._shared = 0, 0.0
        """How many launches in a row were slower with several workers; if the next has one to be compared with them,
        the seconds that they took for a CTA."""

    def workers(self, wanted: int) -> int:
        """How many workers the next launch has, of as many as are wanted."""
        if wanted == 1 or not self.alone:
            return wanted
        self.alone -= 1
        return 1

    def measures(self, blocks: int) -> bool:
        """Whether the next launch is to begin with one worker, to be measured anew."""
        self._known -= 1
        if not self._known < 0 < self.pace * blocks < SHORT:
            return False
        self.pace, self._of, self._known = 0.0, 0, AGAIN
        return True

    def ran(self, blocks: int, seconds: float, *, whole: bool) -> None:
        """A worker that was alone has taken so long for so many CTAs, all of a launch or the first ones."""
        if not blocks or seconds < STRETCH or (self._of and not whole):
            return
        pace = seconds / blocks
        if whole and self._shared:
            self.alone = AGAIN if pace < self._shared else 0
            self.pace = self._shared = 0.0
        self.pace = min(pace, self.pace or pace) if blocks == self._of else pace
        self._of = blocks * whole

    def took(self, blocks: int, seconds: float) -> None:
        """A launch that had several workers from the beginning has taken so long."""
        self._shared = 0.0
        self._slower = self._slower + 1 if blocks == self._of and seconds > SLOWER * self.pace * blocks else 0
        if self._slower == LOST:
            self.alone, self._slower, self._shared = 1, 0, seconds / blocks


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
