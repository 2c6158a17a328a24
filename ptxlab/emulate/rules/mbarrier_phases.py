"""What the checks record of a block's mbarriers: which threads arrived in which phase, and which have waited for it.

Both engines report each operation on an mbarrier to `Phases`, after it; the rules are written once, here. Threads that
wait for a phase are ordered after the arrivals in it, which `racecheck` uses. For `synccheck` a wait is

- too early, if it passes at once for a thread that has itself arrived in the first phase, which has not ended;
- stale, if it passes for a phase that its thread has waited for before, and the thread then never waits for the next
  one, in which threads have arrived. To repeat a wait and then wait for the next phase is no error;
- endless, if no thread of the block can end it (see `Phases.stuck`), or if the launch is stopped while it still fails.

An arrival is too early if no wait of any thread has seen the phase before over: the manual wants one for each phase.

Copies that `cp.async.mbarrier.arrive` reports are complete when a thread has waited for the phase they arrived in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import kinds as F
from ptxlab.emulate.rules import race_order, races
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.instructions import spins
from ptxlab.emulate.rules.kinds import Note
from ptxlab.emulate.rules.mbarrier_records import WARPS, Mbarrier, Party, Wait, history
from ptxlab.emulate.rules.mbarrier_words import INIT, INVAL, UPDATE
from ptxlab.emulate.rules.mbarriers import Operation, operation
from ptxlab.emulate.rules.records import LAST_TIME, RANKS, TIME, Block
from ptxlab.emulate.rules.spinning import mbarrier_in_words
from ptxlab.isa import mbarrier
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import PEER

FOREIGN = 16
"""Where in the number of a thread of another block of the cluster that block's number + 1 begins."""
PROBLEMS = {
    mbarrier.Problem.NOT_INITIALISED: F.UNMADE,
    mbarrier.Problem.TOO_MANY: F.TOO_MANY,
    mbarrier.Problem.COMPLETES: F.COMPLETES,
    mbarrier.Problem.BAD_COUNT: F.BAD_COUNT,
    mbarrier.Problem.BAD_BYTES: F.BAD_BYTES,
}

Early = dict[tuple[int, int], dict[int, tuple[int, int]]]
"""Of a block and the code index of a bulk copy: for each warp the first wait that passed while the copy was in flight
to that mbarrier, its code index and parity."""
EARLY_PARITY = 32


class Phases:
    """The mbarriers of one block. can_run: the warps that have not exited, each with a mask of the lanes that wait only
    for their turn; notes: where problems are noted."""

    def __init__(
        self, program: Program, block: Block, can_run: Callable[[], Iterator[tuple[int, int]]],
        notes: dict[tuple[int, int, int], Note], early: Early, *, race: bool,
    ) -> None:  # fmt: skip
        self.program, self.block, self.can_run, self.notes, self.race = program, block, can_run, notes, race
        self.early = early
        self.linear = block.linear
        self.mate: Callable[[int], Phases] = lambda rank: self
        """What is known of the block of a rank in the cluster."""
        self.in_flight: Callable[[], bool] = lambda: False
        """Whether bulk copies are in flight, which may yet report to an mbarrier."""
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
        before, after: the contents of each mbarrier. Returns whether the block is certainly stuck."""
        known = self.operations.get(code.index)
        if known is None:
            known = self.operations[code.index] = operation(code), spins(self.program, code)
        what, waits_only = known
        self._seen.clear()
        released = race_order.release(self.block, warp) if what.action == UPDATE and self.race else None
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
                self._arrived(code, what, by, at, old, new, released)
            else:
                failed |= not self._waited(by, at, self._at(at, by), mbarrier.phase(x), spinning=waits_only)
            if at in self.all:
                self.all[at].word = new
        return failed and waits_only and self._nobody_can_run()

    def _far(
        self, code: Code, what: Operation, by: Party, at: int, old: int, new: int, released: np.ndarray | None
    ) -> None:
        """An arrival at an mbarrier that an address names by the rank of its block."""
        home, at = self.mate(at // PEER - 1), at % PEER
        by = home.foreign(by, self)
        held = home._at(at, by)
        if home is not self and released is not None:
            pending = held.far_pending.setdefault(self.block.rank, np.zeros(WARPS, np.int64))
            np.maximum(pending, released, out=pending)
            released = None
        home._arrived(code, what, by, at, old, new, released)
        held.word = new

    def foreign(self, by: Party, of: Phases) -> Party:
        """A party of a block as it is known here: one of another block carries that block's number."""
        return by if of is self else (by[0], by[1] | of.linear + 1 << FOREIGN)

    def has_ended(self) -> bool:
        """Whether all threads of the block have exited."""
        return not any(True for _ in self.can_run())

    # -- bulk copies ---------------------------------------------------------------------------------------------------

    def sent(self, at: int, by: Party, count: int) -> None:
        """A bulk copy has been issued that reports so many bytes to the mbarrier there."""
        held = self._at(at, by)
        held.in_flight.append((by, count, held.phase))

    def performed(self, at: int, by: Party, count: int) -> None:
        """It has been performed; `operated` is told next."""
        held = self._at(at, by)
        found = next((each for each in held.in_flight if each[:2] == (by, count)), None)
        if found is not None:
            held.in_flight.remove(found)

    # -- what an operation does ----------------------------------------------------------------------------------------

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
        self.all[at] = Mbarrier(by, record=me(self.block, by[1] // WARPS, by[0]), ordered={by[1] // WARPS})
        self.gone.pop(at, None)

    def _comes_after_init(self, by: Party, at: int, held: Mbarrier) -> None:
        """A thread uses an mbarrier: is that ordered after its `init`, which another warp may have executed?"""
        warp = by[1] // WARPS
        if not self.race or warp in held.ordered or by[1] >> FOREIGN or not held.record:
            return
        held.ordered.add(warp)
        maker = held.made[1] // WARPS
        fenced = self.block.fenced[maker] > held.record >> TIME & LAST_TIME and self.block.phases[warp] != 0
        if not fenced and not races.between_warps(self.block, held.record, warp):
            self._note(F.INIT_UNORDERED, by, held.made, at)

    def _invalidated(self, by: Party, at: int) -> None:
        held = self.all.get(at)
        if held is not None:
            for thread, wait in held.waiting.items():
                if thread != by[1] and wait.phase == held.phase:
                    self._note(F.INVALID_IN_USE, by, wait.by, at)
                    break
            for copy, _, _ in held.in_flight[:1]:
                self._note(F.INVALID_BEFORE_COPY, by, copy, at)
        self._over(at)
        self.all.pop(at, None)
        self.gone[at] = by

    def _arrived(
        self, code: Code, what: Operation, by: Party, at: int, old: int, new: int, released: np.ndarray | None
    ) -> None:
        held = self._at(at, by)
        phase, thread = held.phase, by[1]
        held.used = by
        self._comes_after_init(by, at, held)
        arrives = code.action is Action.COPIES_ARRIVE or what.arrivals != 0
        if arrives or (isinstance(what.bytes, str) and what.bytes[0] != "-"):
            if phase not in held.arrivals:
                held.arrivals[phase] = by
                for wait in held.passed.values():
                    if wait.phase == phase - 1 and wait.arrival is None:
                        wait.arrival = by
        if arrives:
            if held.seen < phase - 1:
                self._note(F.UNSEEN, by, held.arrivals.get(phase - 1, held.made), at, phase)
            held.arrived[thread], held.latest = (phase, by[0]), by
        self.updates[thread] = self.updates.get(thread, 0) + 1
        if released is not None:
            np.maximum(held.pending, released, out=held.pending)
        if code.action is Action.COPIES_ARRIVE:
            held.copies.append((phase, thread, self.block.committed[thread]))
        if moved := mbarrier.bytes_pending(new) - mbarrier.bytes_pending(old):
            held.bytes.append((by, moved))
        if (old ^ new) >> mbarrier.PHASE_SHIFT & 1:
            for copy, _, issued in held.in_flight:
                if issued == phase:
                    self._note(F.TOO_FEW_BYTES, copy, next((p for p, n in held.bytes if n > 0), None), at)
                    held.short = True
                    break
            held.bytes.clear()
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
        self._comes_after_init(by, at, held)
        if held.phase & 1 == parity:
            held.waiting[thread] = Wait(by, held.phase if spinning else -1, parity, self.given(thread))
            return False
        held.waiting.pop(thread, None)
        phase = held.seen = held.phase - 1
        for (code, _), _, issued in held.in_flight:
            if issued == held.phase:
                self.early.setdefault((self.linear, code), {}).setdefault(thread // WARPS, (by[0], parity))
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
            race_order.learn(self.block, by[1] // WARPS, held.known)
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
        """Changes when a thread may release others: it arrives at an mbarrier, or a barrier of the block completes."""
        return self.updates.get(thread, 0), self.block.full

    def _judge(self, at: int, held: Mbarrier, last: Wait, phase: int, stuck: Party | None = None) -> None:
        """A thread now waits for `phase` (or exits): was its last wait that passed one for an old phase? stuck:
        the last arrival, in a deadlock, where that is certain."""
        if last.before is None or phase == last.phase + 1:
            return
        arrival = last.arrival or held.arrivals.get(last.phase + 1) or stuck
        if arrival is not None:
            self._note(F.PHASE, last.by, arrival, at, last.phase)

    def _over(self, at: int) -> None:
        """An mbarrier is not used any more."""
        held = self.all.get(at)
        if held is not None:
            self._bytes_left(at, held)
            for wait in held.passed.values():
                self._judge(at, held, wait, -2)

    def _bytes_left(self, at: int, held: Mbarrier) -> None:
        """Bytes that came and were not announced. (Where announced bytes never come, the wait for them is reported; if
        no thread waits, they do no harm.)"""
        left = mbarrier.bytes_pending(held.word)
        if left < 0 and not held.short:
            came = next((by for by, n in held.bytes[::-1] if n < 0), held.made)
            self._note(F.BYTES_LEFT, came, None, at, -left)

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
        """The waits that still fail: warp, lanes, code index, and what they wait for in words."""
        groups: dict[tuple[int, int, int, int], list[int]] = {}
        running = dict(self.can_run())
        for at, held in self.all.items():
            for thread, wait in held.waiting.items():
                if not running.get(thread // WARPS, 0) >> thread % WARPS & 1:
                    continue
                groups.setdefault((thread // WARPS, wait.by[0], at, wait.parity), []).append(thread % WARPS)
        for (warp, code, at, parity), lanes in sorted(groups.items()):
            held = self.all[at]
            words = mbarrier_in_words(self.program, at, held.word) + history(held, self.program, self._whose)
            yield warp, sorted(lanes), code, f"phase {held.phase} (parity {parity}) of {words}"

    def unfinished(self) -> None:
        """The launch was stopped: notes the waits that went on, with the last arrival or the mbarrier's `init`."""
        self._seen.clear()
        running = dict(self.can_run())
        for at, held in self.all.items():
            for passed in held.passed.values():
                self._judge(at, held, passed, -2, held.last_arrival())
            for wait in sorted(held.waiting.values(), key=lambda w: w.by[1]):
                if not running.get(wait.by[1] // WARPS, 0) >> wait.by[1] % WARPS & 1:
                    continue
                self._note(F.ENDLESS, wait.by, held.last_arrival() or held.made, at, held.phase)

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
        """The block of a thread, and its number there; see `foreign`."""
        return (thread >> FOREIGN) - 1 if thread >> FOREIGN else self.linear, thread & (1 << FOREIGN) - 1


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


def shared_offset(address: int) -> int:
    """A generic or shared address as an offset in shared memory."""
    return address - SHARED_WINDOW if address >= SHARED_WINDOW else address
