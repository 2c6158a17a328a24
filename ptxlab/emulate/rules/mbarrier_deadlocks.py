"""Waits for an mbarrier that can never end: found while they spin, by one rule for both engines.

A wait *spins* when a thread whose wait fails can only wait again (`program.wait_loops`). A cluster is stuck when each
of its threads that could run spins on a phase that has not ended, and the others wait at barriers or have exited.
Nothing can change then: threads that spin write no memory, no barrier completes, and no thread of another cluster
reaches this one's shared memory. So a kernel that would have gone on is never reported. A thread that polls global
memory, or gives up after some attempts or some time, does not spin, and while it runs its cluster is not stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.isa import mbarrier

Spin = tuple[int, int, int, int]
"""A thread (in the block), the code index of its wait, where the mbarrier is in shared memory, the word it asks for."""


class Spins:
    """The waits of one block that spin, for the interpreter. can_run: the warps that have not exited, each with the
    lanes that wait only for their turn; shared: the region of the block's shared memory."""

    def __init__(self, can_run: Callable[[], Iterable[tuple[int, int]]], shared: Any) -> None:
        self.can_run, self.shared = can_run, shared
        self.waits: dict[int, Spin] = {}

    def word(self, at: int) -> int:
        start = at - int(self.shared.base)
        return int(self.shared.data[start : start + 8].view(np.uint64)[0])

    def runs(self, but: int | None) -> bool:
        """Whether a thread can run that does not spin, in another warp than `but`."""
        return any(
            mask >> lane & 1 and LANES * warp + lane not in self.waits
            for warp, mask in self.can_run()
            if warp != but
            for lane in range(LANES)
        )

    def stuck(self) -> bool:
        """Whether every thread that could run spins on a phase that has not ended."""
        for warp, mask in self.can_run():
            for lane in (k for k in range(LANES) if mask >> k & 1):
                wait = self.waits.get(LANES * warp + lane)
                word = 0 if wait is None else self.word(wait[2])
                if wait is None or word == 0 or mbarrier.phase(word) != mbarrier.phase(wait[3]):
                    return False  # 0: it has been made invalid, which stops the next try
        return True


def in_words(
    program: Program, waits: Iterable[Spin], word: Callable[[int], int]
) -> Iterator[tuple[int, list[int], int, str]]:
    """Warp, lanes, code index, and what they wait for: a group for each warp, wait and mbarrier."""
    groups: dict[tuple[int, int, int, int], list[int]] = {}
    for thread, code, at, asked in sorted(waits):
        groups.setdefault((thread // LANES, code, at, mbarrier.phase(asked)), []).append(thread % LANES)
    for (warp, code, at, parity), lanes in sorted(groups.items()):
        yield warp, lanes, code, f"the phase of parity {parity} of {mbarrier_in_words(program, at, word(at))}"


def mbarrier_in_words(program: Program, at: int, word: int) -> str:
    """`the mbarrier at 'full', byte 8, which has not ended: 1 of 2 arrivals and 512 bytes are missing, ...`"""
    named = [v for v in program.shared_names if v[1] <= at < v[1] + max(v[2], 1)]
    name, offset = (repr(named[-1][0]), at - named[-1][1]) if named else ("shared memory", at)
    if not named and program.dynamic_names and at >= program.dynamic_start:
        name, offset = " and ".join(map(repr, program.dynamic_names)), at - program.dynamic_start
    place = f"{name}, byte {offset}" if offset or name == "shared memory" else name
    missing = [f"{mbarrier.pending(word)} of {mbarrier.expected(word)} arrivals"] if mbarrier.pending(word) else []
    bytes_ = mbarrier.bytes_pending(word)
    if bytes_ > 0:
        missing.append(f"{bytes_} bytes")
    said = [f"{' and '.join(missing)} missing"] if missing else []
    if bytes_ < 0:
        said.append(f"{-bytes_} bytes more have come than were announced")
    return f"the mbarrier at {place}, which has not ended: {', '.join(said)}, no thread can arrive"
