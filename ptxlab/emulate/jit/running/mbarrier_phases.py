"""The checks of mbarriers in the compiling engine: compiled code calls back into Python after operations on them.

Such a call takes the GIL, a few microseconds. Programs wait for mbarriers far less often than they compute, and so the
checks are the same for both engines.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.rules.bulk_reports import BulkReports
from ptxlab.emulate.rules.kinds import Note
from ptxlab.emulate.rules.mbarrier_phases import Early, Phases, passed_early
from ptxlab.emulate.runtime.transfers import Queue, Transfer

if TYPE_CHECKING:
    from ptxlab.emulate.jit.running.launched import Launched
    from ptxlab.emulate.jit.running.workers import Slot, Worker

CALL = ctypes.CFUNCTYPE(
    ctypes.c_uint32,
    *[ctypes.c_void_p] * 2,
    *[ctypes.c_uint32] * 5,
    *[ctypes.c_void_p] * 4,
)
_WORDS = ctypes.c_uint64 * 32


class Callback:
    """The function that compiled code calls, and its records. A launch with checks has one worker."""

    def __init__(self, run: Launched, workers: list[Worker]) -> None:
        self.run, self.workers, self.launch, self.program = run, workers, run.launch, run.program
        self.notes: dict[tuple[int, int, int], Note] = {}
        self.early: Early = {}
        self.blocks: dict[int, Phases] = {}  # by the address of the CTA's record
        self.function = CALL(self._called)

    @property
    def address(self) -> int:
        """The address of the function."""
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def _called(
        self, _context: int, cta: int, warp: int, mask: int, code: int, lane: int, problem: int, addresses: int,
        asked: int, before: int, after: int,
    ) -> int:  # fmt: skip
        try:
            phases, instruction = self._phases(cta), self.program.codes[code]
            lanes = [k for k in range(32) if mask >> k & 1]
            words: list[Any] = [_WORDS.from_address(a) for a in (addresses, asked, before, after)]
            given = [[each[k] for k in lanes] for each in words]
            # Whether the block is stuck is known at the end of a round only, when all full barriers have completed.
            phases.operated(instruction, warp, lanes, given[0], given[1], given[2], given[3])
            if problem:
                phases.refused(instruction, 32 * warp + lane, words[0][lane], problem)
            return 0
        except BaseException as error:  # compiled code cannot pass it on: the caller's thread raises it
            self.run.errors.append(error)
            self.run.stop[0] = 1
            return 1

    def _slot(self, cta: int) -> Slot:
        return next(s for w in self.workers for s in w.slots if address_of(s.cta) == cta)

    def _phases(self, cta: int) -> Phases:
        found, slot = self.blocks.get(cta), self._slot(cta)
        if found is None or found.linear != slot.cta.linear:
            if found is not None:
                found.ended()
            assert slot.checked is not None
            race = "racecheck" in self.launch.checks
            found = Phases(self.program, slot.checked, slot.can_run, self.notes, self.early, race=race)
            found.mate = functools.partial(self._mate, slot.cta.cluster.first)
            queue = slot.cta.cluster.queue
            if queue is not None:
                found.in_flight = lambda: queue[0].first != queue[0].behind
            self.blocks[cta] = found
        return found

    def _mate(self, first: int, rank: int) -> Phases:
        """What is known of the block of a rank; `first`: the slot of rank 0."""
        return self._phases(address_of(self.workers[0].slots[first + rank].cta))

    def _bulk(self, first: int) -> BulkReports:
        """What the bulk copies of a cluster report to its mbarriers."""
        return BulkReports(self.program, functools.partial(self._mate, first))

    def issued(self, queue: Queue, transfer: Transfer) -> None:
        """A bulk copy has been issued."""
        self._bulk(queue.first_rank).issued(transfer)

    def completed(self, queue: Queue, transfer: Transfer, before: int, word: int | None) -> None:
        """A bulk copy has been performed; what its mbarrier held before, and what it holds now."""
        self._bulk(queue.first_rank).completed(transfer, before, word)

    def spinning(self, slot: Slot) -> list[tuple[int, list[int], int, str]]:
        """The lanes that wait for an mbarrier in the block of a slot; see `Phases.stuck`."""
        found = self.blocks.get(address_of(slot.cta))
        return [] if found is None else list(found.stuck())

    def finish(self, noted: Iterable[Note], *, stopped: bool) -> list[Note]:
        """All notes, at the end of the launch or when it was stopped; noted: those that compiled rules took."""
        for cta, phases in self.blocks.items():
            at_work = self._slot(cta).cta
            if stopped and phases.linear == at_work.linear and at_work.active:
                phases.unfinished()
            else:
                phases.ended()
        return [*passed_early(noted, self.early), *self.notes.values()]
