"""The checks of mbarriers in the compiling engine: compiled rules call back into Python for what is rare.

Such a call takes the GIL, a few microseconds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

from ptxlab.emulate.jit.running.launch_state import LaunchState
from ptxlab.emulate.jit.running.workers import Slot
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.rules.mbarrier_lifetimes import Early, Phases, passed_early
from ptxlab.emulate.rules.mbarrier_records import BEGUN
from ptxlab.emulate.rules.notes import Note

CALL = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, *[ctypes.c_uint64] * 4)


class Callback:
    """The function that compiled rules call, and its records. A launch with checks has one worker."""

    def __init__(self, run: LaunchState) -> None:
        self.run = run
        self.notes: dict[tuple[int, int, int], Note] = {}
        self.early: Early = {}
        self.begun: dict[int, tuple[Phases, Slot]] = {}  # by the address of the record; those that have been used
        self.known: dict[int, tuple[Phases, Slot]] = {}  # all
        self.function = CALL(self._called)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def follow(self, slots: Sequence[Slot]) -> None:
        """These are the slots of one more cluster, by rank."""
        made = []
        assert self.run.checks is not None
        for slot in slots:
            assert slot.checked is not None
            one = Phases(self.run.program, self.run.checks.record, slot.checked, slot.can_run, self.notes, self.early)
            one.record.report = self.address
            self.known[address_of(one.record)] = one, slot
            made.append(one)
        Phases.meet(made, slots[0].cta.cluster.queue)

    def _called(self, record: int, what: int, by: int, other: int, at: int, value: int) -> int:
        try:
            if what == BEGUN:
                self.begun[record] = self.known[record]
            self.known[record][0].reported(what, by, other, at, value)
        except BaseException as error:  # compiled code cannot pass it on: the caller's thread raises it
            self.run.errors.append(error)
            self.run.stop[0] = 1
        return 0

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
