"""What the checks record of a block's mbarriers: which threads arrived in which phase, and which have waited for it.

Both engines report each operation on an mbarrier to `Phases`, after it; the rules are written once, here. Threads that
wait for a phase are ordered after the arrivals in it, which `racecheck` uses. For `synccheck` a wait is

- too early, if it passes at once for a thread that has itself arrived in the first phase, which has not ended;
- stale, if it passes for a phase that its thread has waited for before, and the thread then never waits for the next
  one, in which threads have arrived. To repeat a wait and then wait for the next phase is no error;
- endless, if no thread of the block can end it (see `Phases.stuck`), or if the launch is stopped while it goes on.

Copies that `cp.async.mbarrier.arrive` reports are complete when a thread has waited for the phase they arrived in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ptxlab.emulate.program.addresses import PEER, SHARED_WINDOW
from ptxlab.emulate.program.model import Code, Program
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.findings import Note
from ptxlab.emulate.rules.instructions import spins
from ptxlab.emulate.rules.mbarrier_words import INIT, INVAL, UPDATE
from ptxlab.emulate.rules.mbarriers import Operation, operation
from ptxlab.emulate.rules.records import RANKS, Block
from ptxlab.emulate.rules.spinning import mbarrier_in_words
from ptxlab.isa import mbarrier
from ptxlab.isa.actions import Action

WARPS = 32
FOREIGN = 16
"""Where in the number of a thread of another block of the cluster that block's number + 1 begins."""
PROBLEMS = {
    mbarrier.Problem.NOT_INITIALISED: F.UNMADE,
    mbarrier.Problem.TOO_MANY: F.TOO_MANY,
    mbarrier.Problem.COMPLETES: F.COMPLETES,
    mbarrier.Problem.BAD_COUNT: F.BAD_COUNT,
}

Party = tuple[int, int]
"""A code index and the thread (within the block) that executed it."""


@dataclass
class Wait:
    """A wait that passed, or one that goes on. `parity`: the parity that it tests; `given`: see `Phases.given`."""

    by: Party
    phase: int
    parity: int
    given: tuple[int, int]
    before: Wait | None = None  # the wait that passed for the same phase before this one
    arrival: Party | None = None  # the first in the phase that it should have waited for


@dataclass
class Mbarrier:
    """One mbarrier. word: its contents. phase: how many have ended. arrivals: the first of each phase of interest."""

    made: Party
    word: int = 0
    phase: int = 0
    used: Party | None = None
    arrivals: dict[int, Party] = field(default_factory=dict)
    arrived: dict[int, tuple[int, int]] = field(default_factory=dict)  # thread -> phase, code of its last arrival
    latest: Party | None = None
    passed: dict[int, Wait] = field(default_factory=dict)
    waiting: dict[int, Wait] = field(default_factory=dict)
    copies: list[tuple[int, int, int]] = field(default_factory=list)  # phase, thread, group
    pending: np.ndarray = field(default_factory=lambda: np.zeros(WARPS, np.int64))
    known: np.ndarray = field(default_factory=lambda: np.zeros(WARPS, np.int64))
    far_pending: dict[int, np.ndarray] = field(default_factory=dict)  # the same of other blocks of the cluster
    far_known: dict[int, np.ndarray] = field(default_factory=dict)


class Phases:
    """The mbarriers of one block. can_run: the warps that have not exited, each with a mask of the lanes that wait only
    for their turn; notes: where problems are noted."""

    def __init__(
        self, program: Program, block: Block, can_run: Callable[[], Iterator[tuple[int, int]]],
        notes: dict[tuple[int, int, int], Note], *, race: bool,
    ) -> None:  # fmt: skip
        self.program, self.block, self.can_run, self.notes, self.race = program, block, can_run, notes, race
        self.linear = block.linear
        self.mate: Callable[[int], Phases] = lambda rank: self
        """What is known of the block of a rank in the cluster."""
        self.in_flight: Callable[[], bool] = lambda: False
        """Whether bulk copies are on their way, which may yet report to an mbarrier."""
        self.all: dict[int, Mbarrier] = {}
        self.gone: dict[int, Party] = {}  # address -> the `mbarrier.inval` that ended it
        self.updates: dict[int, int] = {}  # thread -> its arrivals so far
        self.operations: dict[int, tuple[Operation, bool]] = {}
        self._seen: set[tuple[int, int, int, int]] = set()  # what was noted of a warp in this operation: other lanes

    # -- operations ----------------------------------------------------------------------------------------------------

    def operated(
        self, code: Code, warp: int, lanes: Sequence[int], addresses: Sequence[int], asked: Sequence[int],
        before: Sequence[int], after: Sequence[int],
    ) -> bool:  # fmt: skip
        """Lanes of a warp have operated on mbarriers, in this order. asked: for a wait the word whose phase it tests;
        before, after: the contents of each mbarrier. Returns whether the block can certainly never go on."""
        known = self.operations.get(code.index)
        if known is None:
            known = self.operations[code.index] = operation(code), spins(self.program, code)
        what, waits_only = known
        self._seen.clear()
        released = races.release(self.block, warp) if what.action == UPDATE and self.race else None
        failed = False
        for lane, place, x, old, new in zip(lanes, addresses, asked, before, after, strict=True):
            by, at = (code.index, WARPS * warp + lane), shared_offset(place)
            if at >= PEER:  # of another block of the cluster: an arrival, or bytes
                self._far(code, what, by, at, old, new, released)
                continue
            if what.action == INIT:
                self._made(by, at, old)
            elif what.action == INVAL:
                self._invalidated(by, at)
            elif what.action == UPDATE:
                self._arrived(code, what, by, self._at(at, by), old, new, released)
            else:
                failed |= not self._waited(by, at, self._at(at, by), mbarrier.phase(x), spinning=waits_only)
            if at in self.all:
                self.all[at].word = new
        return failed and waits_only and self._nobody_can_run()

    def _far(
        self, code: Code, what: Operation, by: Party, at: int, old: int, new: int, released: np.ndarray | None
    ) -> None:  # fmt: skip
        """An arrival at an mbarrier that an address names by the rank of its block."""
        home, at = self.mate(at // PEER - 1), at % PEER
        if home is not self:
            by = by[0], by[1] | self.linear + 1 << FOREIGN
        held = home._at(at, by)
        if home is not self and released is not None:
            pending = held.far_pending.setdefault(self.block.rank, np.zeros(WARPS, np.int64))
            np.maximum(pending, released, out=pending)
            released = None
        home._arrived(code, what, by, held, old, new, released)
        held.word = new

    def refused(self, code: Code, thread: int, address: int, which: int) -> None:
        """An operation is invalid and stops the launch."""
        at = shared_offset(address)
        held, kind = self.all.get(at), PROBLEMS[mbarrier.Problem(which)]
        other = self.gone.get(at) if kind == F.UNMADE else None
        if held is not None and kind in (F.TOO_MANY, F.COMPLETES):
            other = held.latest or held.made
        self._note(kind, (code.index, thread), other, at)

    def _at(self, at: int, by: Party) -> Mbarrier:
        found = self.all.get(at)
        if found is None:  # its word was not written by `mbarrier.init`
            found = self.all[at] = Mbarrier(by)
        return found

    def _made(self, by: Party, at: int, old: int) -> None:
        held = self.all.get(at)
        if held is not None and old >> mbarrier.TAG_SHIFT & 3 == mbarrier.TAG:
            same_warp = held.made[0] == by[0] and held.made[1] // WARPS == by[1] // WARPS
            if held.used is not None or not same_warp:
                self._note(F.MADE_AGAIN, by, held.used or held.made, at)
        self._over(at)
        self.all[at] = Mbarrier(by)
        self.gone.pop(at, None)

    def _invalidated(self, by: Party, at: int) -> None:
        held = self.all.get(at)
        if held is not None:
            for thread, wait in held.waiting.items():
                if thread != by[1] and wait.phase == held.phase:
                    self._note(F.INVALID_IN_USE, by, wait.by, at)
                    break
        self._over(at)
        self.all.pop(at, None)
        self.gone[at] = by

    def _arrived(
        self, code: Code, what: Operation, by: Party, held: Mbarrier, old: int, new: int, released: np.ndarray | None
    ) -> None:
        phase, thread = held.phase, by[1]
        held.used = by
        arrives = code.action is Action.COPIES_ARRIVE or what.arrivals != 0
        if arrives or (isinstance(what.bytes, str) and what.bytes[0] != "-"):
            held.arrivals.setdefault(phase, by)
        if arrives:
            held.arrived[thread], held.latest = (phase, by[0]), by
        self.updates[thread] = self.updates.get(thread, 0) + 1
        if released is not None:
            np.maximum(held.pending, released, out=held.pending)
        if code.action is Action.COPIES_ARRIVE:
            held.copies.append((phase, thread, self.block.committed[thread]))
        if (old ^ new) >> mbarrier.PHASE_SHIFT & 1:
            held.phase += 1
            held.latest = None
            np.maximum(held.known, held.pending, out=held.known)
            for rank, pending in held.far_pending.items():
                known = held.far_known.setdefault(rank, np.zeros(WARPS, np.int64))
                np.maximum(known, pending, out=known)
            for past in [p for p in held.arrivals if p < held.phase - 2]:
                del held.arrivals[past]

    # -- waits ---------------------------------------------------------------------------------------------------------

    def _waited(self, by: Party, at: int, held: Mbarrier, parity: int, *, spinning: bool) -> bool:
        """Whether the wait passes."""
        thread = by[1]
        held.used = by
        if held.phase & 1 == parity:
            held.waiting[thread] = Wait(by, held.phase if spinning else -1, parity, self.given(thread))
            return False
        held.waiting.pop(thread, None)
        phase = held.phase - 1
        now = Wait(by, phase, parity, self.given(thread), None, held.arrivals.get(held.phase))
        own = held.arrived.get(thread)
        arrived_here = own is not None and own[0] == held.phase
        last = held.passed.get(thread)
        if last is not None and last.phase == phase:
            if last.given != now.given:
                now.before = last
                if arrived_here and own is not None:
                    self._note(F.PHASE, by, (own[1], thread), at, phase)
                    now.before = None
            elif last.before is not None:
                now = last
        else:
            if last is not None:
                self._judge(at, held, last, phase)
            if phase < 0 and arrived_here and own is not None:
                self._note(F.PHASE, by, (own[1], thread), at, phase)
        held.passed[thread] = now
        if self.race:
            races.learn(self.block, by[1] // WARPS, held.known)
            for rank, known in held.far_known.items():
                self._learn_of(by[1] // WARPS, rank, known)
        if held.copies:
            for arrived, copier, group in held.copies:
                if arrived <= phase:
                    self.block.finished[copier] = max(group, self.block.finished[copier])
            held.copies = [c for c in held.copies if c[0] > phase]
        return True

    def _learn_of(self, warp: int, rank: int, known: np.ndarray) -> None:
        """A warp comes after what the warps of another block did before these times."""
        peers = self.block.peers
        if peers is not None:
            first = (warp * RANKS + rank) * WARPS
            for k in range(WARPS):
                peers[first + k] = max(peers[first + k], int(known[k]))

    def given(self, thread: int) -> tuple[int, int]:
        """Changes when a thread lets others go on: it arrives at an mbarrier, or a barrier of the block completes."""
        return self.updates.get(thread, 0), self.block.full

    def _judge(self, at: int, held: Mbarrier, last: Wait, phase: int) -> None:
        """A thread goes on to wait for `phase` (or exits): was its last wait that passed one for an old phase?"""
        if last.before is None or phase == last.phase + 1:
            return
        arrival = last.arrival or held.arrivals.get(last.phase + 1)
        if arrival is not None:
            self._note(F.PHASE, last.by, arrival, at, last.phase)

    def _over(self, at: int) -> None:
        """An mbarrier is not used any more."""
        held = self.all.get(at)
        if held is not None:
            for wait in held.passed.values():
                self._judge(at, held, wait, -2)

    def ended(self) -> None:
        """The block has ended."""
        self._seen.clear()
        for at in list(self.all):
            self._over(at)
        self.all.clear()

    # -- waits that do not end -----------------------------------------------------------------------------------------

    def _nobody_can_run(self) -> bool:
        """Whether every lane that could run only waits for an mbarrier, which only another such lane could change."""
        if self.block.mates is not None or self.in_flight():
            return False
        spinning: dict[int, int] = {}
        for held in self.all.values():
            for thread, wait in held.waiting.items():
                if wait.phase == held.phase and held.phase & 1 == wait.parity:
                    spinning[thread // WARPS] = spinning.get(thread // WARPS, 0) | 1 << thread % WARPS
        return all(not mask & ~spinning.get(warp, 0) for warp, mask in self.can_run())

    def stuck(self) -> Iterator[tuple[int, list[int], int, str]]:
        """The waits that go on: warp, lanes, code index, and what they wait for in words."""
        groups: dict[tuple[int, int, int, int], list[int]] = {}
        running = dict(self.can_run())
        for at, held in self.all.items():
            for thread, wait in held.waiting.items():
                if not running.get(thread // WARPS, 0) >> thread % WARPS & 1:
                    continue
                groups.setdefault((thread // WARPS, wait.by[0], at, wait.parity), []).append(thread % WARPS)
        for (warp, code, at, parity), lanes in sorted(groups.items()):
            held = self.all[at]
            words = mbarrier_in_words(self.program, at, held.word)
            yield warp, sorted(lanes), code, f"phase {held.phase} (parity {parity}) of {words}"

    def unfinished(self) -> None:
        """The launch was stopped: notes the waits that went on, with the last arrival or the mbarrier's `init`."""
        self._seen.clear()
        running = dict(self.can_run())
        for at, held in self.all.items():
            self._over(at)
            for wait in sorted(held.waiting.values(), key=lambda w: w.by[1]):
                if not running.get(wait.by[1] // WARPS, 0) >> wait.by[1] % WARPS & 1:
                    continue
                last = held.latest
                if last is None and held.arrived:
                    thread, (_, code) = max(held.arrived.items(), key=lambda item: item[1][0])
                    last = code, thread
                self._note(F.ENDLESS, wait.by, last or held.made, at, held.phase)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def _note(self, kind: int, by: Party, other: Party | None, at: int, value: int = 0) -> None:
        key = kind, by[0], other[0] if other is not None else -1
        again = (*key, by[1] // WARPS) in self._seen
        self._seen.add((*key, by[1] // WARPS))
        if key in self.notes:
            self.notes[key].count += not again
            return
        code, thread = other if other is not None else (-1, 0)
        (block, one), (far, two) = self._whose(by[1]), self._whose(thread)
        self.notes[key] = Note(
            kind, by[0], block, one // WARPS, one % WARPS, code, far, two // WARPS, two % WARPS, at, value,
        )  # fmt: skip

    def _whose(self, thread: int) -> tuple[int, int]:
        """The block of a thread, and its number there: one of another block carries that block's number."""
        return (thread >> FOREIGN) - 1 if thread >> FOREIGN else self.linear, thread & (1 << FOREIGN) - 1


def shared_offset(address: int) -> int:
    """A generic or shared address as an offset in shared memory."""
    return address - SHARED_WINDOW if address >= SHARED_WINDOW else address
