"""The records of a block's mbarriers, and what is seldom done with them: they begin and end, notes, waits without end.

`mbarrier_phases` has what operations do to these records, and calls back for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.wait_loops import spins
from ptxlab.emulate.rules import mbarrier_phases as phases
from ptxlab.emulate.rules import mbarrier_records as reports
from ptxlab.emulate.rules import notes as F
from ptxlab.emulate.rules import races, records
from ptxlab.emulate.rules.mbarrier_deadlocks import mbarrier_in_words
from ptxlab.emulate.rules.mbarrier_phases import check_wait
from ptxlab.emulate.rules.mbarrier_words import SPIN, WAIT
from ptxlab.emulate.rules.mbarriers import Operation, operation
from ptxlab.emulate.rules.notes import Note
from ptxlab.emulate.rules.records import Block, Launch, access_of
from ptxlab.emulate.runtime.state import ROOM, Queue
from ptxlab.isa import mbarrier
from ptxlab.targets import WARPS_PER_BLOCK

PROBLEMS = {
    mbarrier.Problem.NOT_INITIALISED: F.UNMADE,
    mbarrier.Problem.TOO_MANY: F.TOO_MANY,
    mbarrier.Problem.COMPLETES: F.COMPLETES,
    mbarrier.Problem.BAD_COUNT: F.BAD_COUNT,
    mbarrier.Problem.BAD_BYTES: F.BAD_BYTES,
}

Early = dict[tuple[int, int], dict[int, tuple[int, int]]]
"""By block and code index of a bulk copy: for each warp the first wait that passed while the copy was in flight
to that mbarrier, its code index and parity."""
EARLY_PARITY = 32
Room = tuple[Pointer[reports.Mbarrier], np.ndarray]
"""For an mbarrier: its record, and the bytes that this begins with."""


class Phases:
    """The mbarriers of a block, and of those after it in the same place. launch: the checks' record; can_run: the warps
    that have not exited, each with the mask of lanes that wait only for their turn; notes: where problems go."""

    def __init__(
        self,
        program: Program,
        launch: Launch,
        block: Block,
        can_run: Callable[[], Iterator[tuple[int, int]]],
        notes: dict[tuple[int, int, int], Note],
        early: Early,
    ) -> None:
        self.program, self.launch, self.block, self.can_run, self.notes = program, launch, block, can_run, notes
        self.early, self.linear = early, block.linear
        self.mates: list[Phases] = [self]
        """Those of the blocks of the cluster, by rank."""
        self.linears: list[int] = []
        self.all: dict[int, reports.Mbarrier] = {}
        self.invalidated: dict[int, int] = {}  # address -> the `mbarrier.inval` that ended it
        self._rooms: dict[int, Room] = {}
        self._free: list[Room] = []
        self._operations: dict[int, tuple[Operation, bool]] = {}
        self._seen: set[tuple[int, int, int, int]] = set()  # what was noted of a warp in this operation: other lanes
        self._serial = 0
        record = self.record = reports.Mbarriers.new()
        record.block, record.start, record.threads = block, program.shared_start, LANES * block.warps
        record.places = reports.Place.many(block.shared_size // 8 + 1)
        record.updates = Pointer(np.zeros(record.threads, np.uint32))
        known: Any = record
        known.phases = self  # for `mbarrier_records.report` in Python
        block.mbarriers = record.opaque

    @staticmethod
    def meet(blocks: Sequence[Phases], queue: Pointer[Queue] | None) -> None:
        """These are the blocks of a cluster, by rank; queue: its bulk copies."""
        mates = reports.Mate.many(len(blocks))
        for rank, each in enumerate(blocks):
            mates[rank].mbarriers = each.record.opaque
            each.mates, each.record.mates, each.record.queue = list(blocks), mates, queue

    # -- operations ----------------------------------------------------------------------------------------------------

    def operated(self, code: Code, warp: int, lanes: Sequence[int], given: Sequence[Sequence[int]]) -> None:
        """Lanes of a warp have operated on mbarriers: see `mbarrier_phases.operated`. given: addresses, what is asked,
        what was there before and after."""
        if code.index not in self._operations:
            self._operations[code.index] = operation(code), spins(self.program, code)
        what, waits_only = self._operations[code.index]
        words = np.zeros((4, LANES), np.uint64)
        words[:, lanes] = np.array(given, np.uint64)
        who = self.launch, self.record, warp, sum(1 << lane for lane in lanes), code.index
        phases.operated(*who, what.action, what.flags | SPIN * waits_only, Pointer(words.reshape(-1)), None)

    def reported(self, what: int, by: int, other: int, at: int, value: int) -> None:
        """What the rules report: see `mbarrier_records.report`."""
        if what == reports.BEGUN:
            self._begin()
        elif what == reports.MADE:
            self._known(at, by)
        elif what == reports.CHANGED:
            if value:
                self._made(by, at, other)
                self.all[at].word = value
            else:
                self._invalidated(by, at)
        elif what == reports.EARLY:
            warps = self.early.setdefault((self.linear, other), {})
            warps.setdefault((by & reports.THREADS) // LANES, (by >> reports.CODE, value))
        elif what == reports.REFUSED:
            self.refused(by, at, value)
        else:
            self._note(what, by, None if other == reports.NOBODY else other, at, value - (value >> 63 << 64))

    def refused(self, by: int, address: int, which: int) -> None:
        """An operation is invalid and stops the launch."""
        at = reports.shared_offset(address)
        held, kind = self.all.get(at), PROBLEMS[mbarrier.Problem(which)]
        other = self.invalidated.get(at) if kind == F.UNMADE else None
        if held is not None and kind in (F.TOO_MANY, F.COMPLETES):
            other = held.made if held.latest == reports.NOBODY else held.latest
        self._note(kind, by, other, at)

    def _begin(self) -> None:
        """Another block has begun; the blocks of a cluster begin together."""
        self.ended()
        self.invalidated.clear()
        self.record.updates.array[:] = 0
        self.linears = [mate.block.linear for mate in self.mates]
        self.linear = self.block.linear
        self.record.linear = self.linear + 1

    def _known(self, at: int, by: int) -> reports.Mbarrier:
        """The record of an mbarrier from now on."""
        pointer, begun = self._rooms[at] = self._free.pop() if self._free else self._room()
        held = pointer[0]
        held.buffer[: reports.Mbarrier.size] = begun
        held.seats.array.fill(0)
        if len(self.mates) > 1:
            held.far_pending.array.fill(0)
            held.far_known.array.fill(0)
        held.at, held.made = at, by
        self._place(at).held = pointer
        self.all[at] = held
        return held

    def _room(self) -> Room:
        pointer, single = reports.Mbarrier.many(1), len(self.mates) == 1
        held = pointer[0]
        held.seats = reports.Seat.many(self.record.threads * (1 if single else 1 + len(self.mates)))
        if not single:
            held.far_pending, held.far_known = (Pointer(np.zeros(reports.FAR_WORDS, np.uint32)) for _ in range(2))
        held.used = held.latest = held.announced = held.brought = reports.NOBODY
        held.seen = -1
        for k in range(reports.KEPT):
            held.first_phase[k] = reports.NEVER
        return pointer, held.buffer[: reports.Mbarrier.size].copy()

    def _place(self, at: int) -> reports.Place:
        return self.record.places[at - self.record.start >> 3]

    @staticmethod
    def _seats(held: reports.Mbarrier) -> np.ndarray:
        found: np.ndarray = held.seats.array.view(reports.Seat.dtype)
        return found

    def _made(self, by: int, at: int, old: int) -> None:
        held = self.all.get(at)
        if held is not None and old >> mbarrier.TAG_SHIFT & 3 == mbarrier.TAG:
            same_warp = (held.made ^ by) & ~(LANES - 1) == 0
            if held.used != reports.NOBODY or not same_warp:
                self._note(F.MADE_AGAIN, by, held.made if held.used == reports.NOBODY else held.used, at)
        self._unordered(by, at)
        self._over(at)
        held = self._known(at, by)
        warp = (by & reports.THREADS) // LANES
        held.record, held.ordered = access_of(self.block, warp, by >> reports.CODE), 1 << warp
        self.invalidated.pop(at, None)

    def _invalidated(self, by: int, at: int) -> None:
        held = self.all.get(at)
        if held is not None:
            for thread, seat in self._by_order(held, "waiting_order"):
                if thread != by & reports.THREADS and seat["waiting_phase"] == held.phase:
                    self._note(F.INVALID_IN_USE, by, int(seat["waiting_code"]) << reports.CODE | thread, at)
                    break
            copies = self._copies_to(held)
            if copies:
                self._note(F.INVALID_BEFORE_COPY, by, reports.copier(self.record, copies[0]), at)
        self._unordered(by, at)
        self._over(at)
        self.all.pop(at, None)
        self.invalidated[at] = by

    def _unordered(self, by: int, at: int) -> None:
        """Races of who makes an mbarrier again, or makes it invalid, with threads that use it: of each warp the last
        use has to come before that."""
        held, thread = self.all.get(at), by & reports.THREADS
        if held is None or not self.launch.racecheck:
            return
        access = access_of(self.block, thread // LANES, by >> reports.CODE) | thread % LANES
        for use in (held.uses[warp] for warp in range(WARPS_PER_BLOCK)):
            if use and not races.ordered(self.launch, self.block, use, access, True):
                code = use >> records.CODE & records.LAST_CODE
                waits = operation(self.program.codes[code]).action == WAIT
                user = code << reports.CODE | use & LANES * WARPS_PER_BLOCK - 1
                self._note(F.WAR if waits else F.WAW, by, user, at, 1 << thread % LANES)

    def _by_order(self, held: reports.Mbarrier, order: str) -> Iterator[tuple[int, Any]]:
        """The seats, by number, whose order of this name is not 0, by that order."""
        seats = self._seats(held)
        for number in sorted(np.flatnonzero(seats[order]).tolist(), key=lambda k: seats[order][k]):
            yield number, seats[number]

    def _copies_to(self, held: reports.Mbarrier) -> list[Any]:
        """The bulk copies in flight that report to an mbarrier, oldest first."""
        if self.record.queue is None or not held.in_flight:
            return []
        queue, rank = self.record.queue[0], self.block.rank
        transfers = [queue.transfers[number % ROOM] for number in range(queue.first, queue.behind)]
        return [
            t
            for t in transfers
            if t.open and not t.group and (t.owner, t.barrier) == (rank, held.at) and t.phase != reports.NEVER
        ]

    def _over(self, at: int) -> None:
        """An mbarrier is not used any more."""
        held = self.all.get(at)
        if held is None:
            return
        left = mbarrier.bytes_pending(held.word)
        # bytes that came and were not announced (where announced ones never come, the wait for them is reported; if no
        # thread waits, they do no harm)
        if left < 0 and not held.short:
            self._note(F.BYTES_LEFT, held.made if held.brought == reports.NOBODY else held.brought, None, at, -left)
        self._judge_all(held, -2, reports.NOBODY)
        for transfer in self._copies_to(held):
            transfer.phase = reports.NEVER
        none: Any = None
        self._place(at).held = none
        self._free.append(self._rooms.pop(at))

    def _judge_all(self, held: reports.Mbarrier, phase: int, stuck: int) -> None:
        if held.repeats:
            for thread, _ in self._by_order(held, "passed_order"):
                check_wait(self.record, held, held.seats[thread], thread, phase, stuck)

    def ended(self) -> None:
        self.record.serial += 1
        for at in list(self.all):
            self._over(at)
        self.all.clear()

    # -- waits that do not end -----------------------------------------------------------------------------------------

    def _waiting(self, held: reports.Mbarrier) -> Iterator[tuple[int, Any]]:
        """The threads whose wait still fails, and their seats."""
        seats = self._seats(held)
        for thread in np.flatnonzero(seats["waiting_order"]).tolist():
            yield thread, seats[thread]

    def stuck(self) -> Iterator[tuple[int, list[int], int, str]]:
        """The waits that still fail: warp, lanes, code index, and what they wait for in words."""
        groups: dict[tuple[int, int, int, int], list[int]] = {}
        running = dict(self.can_run())
        for at, held in self.all.items():
            for thread, seat in self._waiting(held):
                if running.get(thread // LANES, 0) >> thread % LANES & 1:
                    key = thread // LANES, int(seat["waiting_code"]), at, int(seat["waiting_parity"])
                    groups.setdefault(key, []).append(thread % LANES)
        for (warp, code, at, parity), lanes in sorted(groups.items()):
            held = self.all[at]
            words = mbarrier_in_words(self.program, at, held.word) + self._history(held)
            yield warp, sorted(lanes), code, f"phase {held.phase} (parity {parity}) of {words}"

    def _history(self, held: reports.Mbarrier) -> str:
        """Bytes announced and brought in this phase, and warps that arrived in the last one only, in words."""
        said = []
        for k in range(reports.LINES):
            line, announces = divmod(held.moved_line[k], 2)
            if line:
                did = "announced" if announces else "brought"
                said.append(f"{self.program.place(line)} {did} {held.moved[k]} bytes")
        absent: dict[int, set[int]] = {}
        for number, seat in self._by_order(held, "arrived_order"):
            if mbarrier.pending(held.word) and seat["arrived_phase"] == held.phase - 1:
                line = self.program.codes[seat["arrived_code"]].line
                absent.setdefault(line, set()).add(number % int(self.record.threads) // LANES)
        for line, warps in absent.items():
            who = f"warp{'' if len(warps) == 1 else 's'} {', '.join(map(str, sorted(warps)))}"
            said.append(f"{who} arrived in {self.program.place(line)} in the phase before, and not in this one")
        return "".join(f"; {each}" for each in said[:4])

    def _last_arrival(self, held: reports.Mbarrier) -> int:
        """The party of the last arrival, if there was any."""
        if held.latest == reports.NOBODY:
            arrived = list(self._by_order(held, "arrived_order"))
            if arrived:
                number, seat = max(arrived, key=lambda each: each[1]["arrived_phase"])
                rank, thread = divmod(number, int(self.record.threads))
                return int(seat["arrived_code"]) << reports.CODE | rank << reports.RANK | thread
        return held.latest

    def unfinished(self) -> None:
        """The launch was stopped: notes the waits that went on, with the last arrival or the mbarrier's `init`."""
        self.record.serial += 1
        running = dict(self.can_run())
        for at, held in self.all.items():
            last = self._last_arrival(held)
            self._judge_all(held, -2, last)
            for thread, seat in self._waiting(held):
                if running.get(thread // LANES, 0) >> thread % LANES & 1:
                    by = int(seat["waiting_code"]) << reports.CODE | thread
                    self._note(F.ENDLESS, by, held.made if last == reports.NOBODY else last, at, held.phase)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def _note(self, kind: int, by: int, other: int | None, at: int, value: int = 0) -> None:
        if self._serial != self.record.serial:
            self._serial = self.record.serial
            self._seen.clear()
        key = kind, by >> reports.CODE, -1 if other is None else other >> reports.CODE
        again = (*key, (by & reports.THREADS) // LANES) in self._seen
        self._seen.add((*key, (by & reports.THREADS) // LANES))
        if key in self.notes:
            self.notes[key].count += not again
            return
        (block, one), (far, two) = self._whose(by), self._whose(0 if other is None else other)
        self.notes[key] = Note(
            kind, key[1], block, one // LANES, one % LANES, key[2], far, two // LANES, two % LANES, at, value
        )

    def _whose(self, by: int) -> tuple[int, int]:
        """The block of a party, and its thread there."""
        rank = by >> reports.RANK & reports.THREADS
        return self.linears[rank - 1] if rank else self.linear, by & reports.THREADS


def passed_early(notes: Iterable[Note], early: Early) -> Iterator[Note]:
    """The notes of an engine; those of a bulk copy that is touched before it is there name the wait that did not wait
    for it: code index + 1, and above it the parity that it asked for."""
    for note in notes:
        if note.kind == F.PENDING and note.other >= 0:
            waits = early.get((note.block, note.other), {})
            found = waits.get(note.warp) or next(iter(waits.values()), None)
            if found is not None:
                note.value = found[0] + 1 | found[1] << EARLY_PARITY
        yield note
