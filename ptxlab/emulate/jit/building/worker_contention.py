"""Whether more workers help a kernel, found out by its launches.

A second worker begins late, and it may be in the way. Cores that count in the same few cache lines pass these back and
forth: two take four times as long as one, whose atomic operations need no lock either (see `atomics`). Cores without a
common cache pass on all lines that one has written and the other needs, and another program may have the second core.
Nothing in the kernel tells. So a launch with one worker and some with several are compared, and the next ones have what
was faster. Atomic operations on global memory can cost so much that a launch compares the work that it does in a second
with one worker and with several, and goes on with the first one if these are no faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

TRIED, ROUND = 3, 64
"""Launches with several workers that are compared with one that has one worker; launches until this is done again,
because the data may be others."""
FAR_SLOWER = 3
"""A launch with several workers that takes so many times as long is the only one."""
STRETCH, SURE = 15e-6, 1e-4
"""Seconds that a stretch must take to tell how long the launch will take; and to be compared."""
SHARED, SHORT = 2.5e-4, 0.1
"""The seconds of a launch, or of its rest, from which on a second worker helps, which begins 0.1 ms later; and up to
which a launch has one worker only to be compared."""
SHARE = 8
"""The others must have done this part of the work."""
GAIN = 1.1
"""How many times as much work several workers must do."""


class Contention:
    """What the launches of a kernel have found out."""

    def __init__(self, possible: bool, block_work: np.ndarray) -> None:
        self.possible, self.block_work = possible, block_work
        """Whether workers may count in the same cache lines; what the basic blocks cost."""
        self.forget()

    def forget(self) -> None:
        """There is better code."""
        self._alone, self._crowded = 0, 0
        """How many of the next launches with at most so many CTAs have one worker, because in one of them several did
        no more."""
        self.pace = 0.0
        """Seconds for a CTA of a worker that is alone, as it was last measured; 0: not known."""
        self._blocks, self._left = 0, 0
        """The CTAs of the launches that are compared, and for how many more launches the comparison holds."""
        self._one, self._several = math.inf, math.inf
        """The least seconds that they took with one worker, and with several."""

    def workers(self, wanted: int, blocks: int) -> int:
        """How many workers the next launch has, of as many as are wanted."""
        if wanted == 1:
            return 1
        if self._alone and blocks <= self._crowded:
            self._alone -= 1
            return 1
        if not SHARED < self.pace * blocks < SHORT:
            return wanted
        self._left -= 1
        if blocks != self._blocks or self._left < 0:
            self._blocks, self._left = blocks, ROUND
            self._one = self._several = math.inf
            return 1
        tried = ROUND - self._left - 1
        decided = tried >= TRIED or FAR_SLOWER * self._one < self._several < math.inf
        return 1 if decided and self._one < self._several else wanted

    def together(self, blocks: int) -> bool:
        """Whether all workers of the next launch begin before its first block."""
        return not self.possible and self.pace * blocks > SHARED

    def crowded(self, blocks: int) -> None:
        """In a launch of so many CTAs several workers do no more than one."""
        self._alone, self._crowded = ROUND, blocks

    def began(self, blocks: int, seconds: float) -> None:
        """A worker that was alone has taken so long for the first CTAs of a launch."""
        if blocks and seconds > STRETCH:
            self.pace = seconds / blocks

    def ran(self, blocks: int, seconds: float, workers: int) -> None:
        """A launch with so many workers has taken so long."""
        if workers == 1:
            self.began(blocks, seconds)
        else:  # one does no less; it may have been measured while another program had its core
            self.pace = min(self.pace, workers * seconds / blocks)
        if blocks == self._blocks:
            if workers == 1:
                self._one = min(self._one, seconds)
            else:
                self._several = min(self._several, seconds)


class Comparison:
    """The stretches of one launch. `look` is to be called after each."""

    def __init__(self, contention: Contention, blocks: int) -> None:
        self.contention, self.blocks = contention, blocks
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
        gained, by_others, late = done - self._done, others - self._others, not self._others
        self._since, self._done, self._others = now, done, others
        if alone:
            self._rate = gained / seconds
        if late or seconds < SURE or SHARE * by_others <= gained:
            return False  # late: the others have begun within the stretch
        self.open = False
        crowded = gained < GAIN * self._rate * seconds
        if crowded:
            self.contention.crowded(self.blocks)
        return crowded

    def _work(self, counts: Sequence[np.ndarray]) -> int:
        return sum(int(each["warps"].sum(axis=0) @ self.contention.block_work) for each in counts)
