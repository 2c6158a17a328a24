"""Memory for racecheck's records of global memory, and for copies of what a launch writes; launches use it in turn.

To get new pages from the operating system costs more than most kernels. Records of lines have an epoch
(`rules.race_line_records`), so those of earlier launches need not be cleared. Records of single words are cleared.
"""

from __future__ import annotations

import itertools
import mmap
import sys
import threading
import weakref
from collections.abc import Callable

import numpy as np

from ptxlab.emulate.language.records import pages, zeroed
from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.rules import race_deferred_reads, race_line_records, race_numbers, race_summaries, races

LEAST, IDLE = 1 << 17, 256 << 20
"""Bytes from which on memory is used again, and bytes that are kept while no launch uses them. Mostly a tenth of these
have been touched."""
SMALL = 16 << 20
"""Bytes that it takes longer to get from the operating system again than to clear."""
_idle: dict[tuple[int, bool], list[mmap.mmap]] = {}
"""By their bytes and whether records lie there."""
_epochs = itertools.count(1)


class _Lent:
    """Pages as numpy sees them; when nobody does any more, they are idle."""

    def __init__(self, held: mmap.mmap) -> None:
        octets = np.frombuffer(held, np.uint8)
        self.__array_interface__ = {
            "shape": octets.shape,
            "typestr": "|u1",
            "data": (start_of(octets), False),
            "version": 3,
        }


class LentShadow(races.Shadow):
    """Records for `size` bytes of global memory, which nothing has accessed."""

    def __init__(self, size: int, granule: int) -> None:
        stride = races.stride_of(size, granule)
        records = race_summaries.room(stride)
        octets, self.give_back = lend(8 * (records + race_numbers.number_room(stride)), stride)
        super().__init__(size, granule, by_rows=True, memory=octets)
        summary = self.records + 3 * stride
        summary[race_line_records.LEFT] = summary[race_line_records.LEFT] or summary[race_line_records.OWN_RECORDS]
        for k in range(race_line_records.EPOCH):
            summary[k] = 0
        summary[race_line_records.OWN_RECORDS] = summary[race_line_records.LATER] = summary[
            race_line_records.DISSOLVED
        ] = 0
        summary[race_line_records.OWNED_LINES] = 0
        summary[race_line_records.EPOCH] = next(_epochs)
        self._numbers = octets[8 * records :]

    def number(self, turn: int) -> None:
        """Has words have numbers (`race_numbers`), of this turn; clears those of an earlier one."""
        summary = self.records + 3 * self.stride
        if summary[race_line_records.TURN] != turn:
            self._numbers[:] = 0
            summary[race_line_records.TURN] = turn
        summary[race_line_records.ALL_NUMBERED] = 0
        summary[race_line_records.LATER] = race_deferred_reads.NUMBERED


class Numbers:
    """The numbers of a launch's threads: the first of them, and in which turn that is, since numbers end."""

    def __init__(self, count: int) -> None:
        global _turn, _next
        with _counting:
            if _next + count > race_numbers.LAST:
                _turn, _next = _turn + 1, _FIRST
            self.turn, self.first, _next = _turn, _next, _next + count


_FIRST = 2
_turn, _next = 1, _FIRST
_counting = threading.Lock()


def lend(size: int, stride: int = 0) -> tuple[np.ndarray, Callable[[], object]]:
    """Memory, and a function that gives it back at once; else it is given back when the last reference to it goes.
    stride: that of records, if it is for these; then none of words are there, but those of lines may be, of earlier
    epochs."""
    if size < LEAST or not hasattr(mmap, "MADV_DONTNEED") or sys.platform == "win32":
        return zeroed(size), bool
    idle = _idle.get((size, stride != 0))
    try:
        held = idle.pop() if idle else pages(size)
    except IndexError:  # another thread took it
        held = pages(size)
    lent = _Lent(held)
    give_back = weakref.finalize(lent, _take_back, held, size, stride)
    give_back.atexit = False
    return np.asarray(lent), give_back


def _take_back(held: mmap.mmap, size: int, stride: int) -> None:
    """A launch has ended. This may run whenever Python collects garbage, so there is no lock."""
    if sum(len(each) * bytes_ for (bytes_, _), each in list(_idle.items())) + size > IDLE:
        _idle.clear()
    if stride != 0:
        _clean(held, size, stride)
    _idle.setdefault((size, stride != 0), []).append(held)


def _clean(held: mmap.mmap, size: int, stride: int) -> None:
    """Clears the records of words."""
    numbers = np.frombuffer(held, np.uint64)
    summary = numbers[3 * stride :]
    if summary[race_line_records.BY_WORDS]:
        summary[race_line_records.OWN_RECORDS] = summary[race_line_records.LEFT] = 0
        if size > SMALL:
            held.madvise(mmap.MADV_DONTNEED, 0, 24 * stride)
        else:
            numbers[: 3 * stride] = 0
