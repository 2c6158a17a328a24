"""The functions in Python that compiled rules call, for what is rare: each call takes the GIL, a few microseconds."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.jit.running.workers import LaunchState, Slot, Worker
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.rules.bulk_copies import reduce_bytes
from ptxlab.emulate.rules.mbarrier_lifetimes import Early, Phases, passed_early
from ptxlab.emulate.rules.mbarrier_records import BEGUN
from ptxlab.emulate.rules.notes import Note
from ptxlab.emulate.runtime.state import Queue, Transfer


class Callback:
    """A function that compiled rules call with numbers of these types, and its address. What it raises is noted for the
    caller's thread to raise, since compiled code cannot pass it on, and stops the launch."""

    def __init__(self, run: LaunchState, called: Callable[..., None], *types: Any) -> None:
        errors, stop = run.errors, run.stop  # not the launch itself, whose memory may be large

        def noting(*given: int) -> int:
            try:
                called(*given)
            except BaseException as error:
                errors.append(error)
                stop[0] = 1
            return 0

        self.function = ctypes.CFUNCTYPE(ctypes.c_uint32, *types)(noting)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0


class TraceReports:
    """The functions by which compiled rules tell a trace of bulk copies. A launch with a trace has one worker."""

    def __init__(self, run: LaunchState, workers: list[Worker]) -> None:
        self.run, self.workers = run, workers
        self.issued, self.completed = (
            Callback(run, functools.partial(self._report, issued), *[ctypes.c_void_p] * 3) for issued in (True, False)
        )

    def _report(self, issued: bool, _context: int, queue: int, transfer: int) -> None:
        (worker,) = self.workers
        if worker.tape is None:
            return
        now, order = worker.tape.made, self.run.launch.trace.order
        if not issued:
            order.completed(transfer, now)
            return
        held: Queue = next(
            s.cta.cluster.queue[0]
            for s in worker.slots
            if s.cta.cluster.queue is not None and address_of(s.cta.cluster.queue[0]) == queue
        )
        found = held.transfers[(transfer - address_of(held) - Queue.offset("transfers")) // Transfer.size]
        block, to = (worker.slots[held.first_rank + rank].cta.linear for rank in (found.rank, found.at_rank))
        order.issued(transfer, found, self.run.program.codes[found.code].line, block, to, now)


def reductions(run: LaunchState) -> Callback:
    """The function that compiled rules call for reductions of bulk copies: numpy does them, for both engines."""
    return Callback(run, _reduce, *[ctypes.c_void_p] * 3, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)


def _reduce(_context: int, to: int, source: int, count: int, operation: int, type_: int) -> None:
    places: list[Any] = [(ctypes.c_uint8 * count).from_address(p) for p in (to, source)]
    here, there = (np.frombuffer(p, np.uint8) for p in places)
    reduce_bytes(here, there, operation, type_)


class MbarrierChecks:
    """What the checks know of mbarriers. A launch with checks has one worker."""

    def __init__(self, run: LaunchState) -> None:
        self.run = run
        self.notes: dict[tuple[int, int, int], Note] = {}
        self.early: Early = {}
        self.begun: dict[int, tuple[Phases, Slot]] = {}  # by the address of the record; those that have been used
        self.known: dict[int, tuple[Phases, Slot]] = {}  # all
        self.report = Callback(run, self._report, ctypes.c_void_p, ctypes.c_uint32, *[ctypes.c_uint64] * 4)

    def follow(self, slots: Sequence[Slot]) -> None:
        """These are the slots of one more cluster, by rank."""
        made = []
        assert self.run.checks is not None
        for slot in slots:
            assert slot.checked is not None
            one = Phases(self.run.program, self.run.checks.record, slot.checked, slot.can_run, self.notes, self.early)
            one.record.report = self.report.address
            self.known[address_of(one.record)] = one, slot
            made.append(one)
        Phases.meet(made, slots[0].cta.cluster.queue)

    def _report(self, record: int, what: int, by: int, other: int, at: int, value: int) -> None:
        if what == BEGUN:
            self.begun[record] = self.known[record]
        self.known[record][0].reported(what, by, other, at, value)

    def spinning(self, slot: Slot) -> list[tuple[int, list[int], int, str]]:
        """The lanes that wait for an mbarrier in the block of a slot; see `Phases.stuck`."""
        return [each for found, at in self.begun.values() if at is slot for each in found.stuck()]

    def finish(self, noted: Iterable[Note], *, stopped: bool) -> list[Note]:
        """All notes, at the end of the launch or when it was stopped; noted: those that compiled rules took."""
        for phases, slot in self.begun.values():
            if stopped and phases.linear == slot.cta.linear and slot.cta.active:
                phases.unfinished()
            else:
                phases.ended()
        return [*passed_early(noted, self.early), *self.notes.values()]
