"""The checks of the stepping engine: who wrote a byte, which accesses are ordered, who comes to a barrier and how.

`Checker` belongs to a launch, `BlockChecks` to a block; `CheckedWarp` is a warp whose loads, stores and atomics are
looked at. What is noted becomes findings in `emulate/findings.py`; the rules of races are in `emulate/races.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate import findings as F
from ptxlab.emulate import races as R
from ptxlab.emulate.access import Region, Touch
from ptxlab.emulate.findings import Note
from ptxlab.emulate.lanes import LANES, mask_bits
from ptxlab.emulate.program import Code, Literal, Program
from ptxlab.emulate.rules import aligned, may_come, meets, releases, shuffle_source, strong, words_of
from ptxlab.emulate.warp import Warp
from ptxlab.isa.machine import Value
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.report import Launch
    from ptxlab.emulate.translate import Step, Translator


class BlockChecks:
    """What the checks know of one block."""

    def __init__(self, checker: Checker, block: int) -> None:
        self.block = block
        self.order = R.Order(block, checker.published, checker.compares)
        self.expected: dict[int, tuple[int, Code, int, int]] = {}
        self.copies = Copies()


class Copies:
    """What `cp.async` is still copying: for each byte of shared memory the thread that asked for it, and in which of
    its groups; for each thread the groups committed and those that it has waited for."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[int, int, int]] = {}  # byte -> code index, thread, group
        self.committed: dict[int, int] = {}
        self.finished: dict[int, int] = {}

    def start(self, code: Code, thread: int, first: int, size: int) -> None:
        """A thread asks for bytes."""
        group = self.committed.get(thread, 0) + 1
        self.pending.update(dict.fromkeys(range(first, first + size), (code.index, thread, group)))

    def commit(self, thread: int) -> None:
        """What a thread has asked for so far is a group."""
        self.committed[thread] = self.committed.get(thread, 0) + 1

    def wait(self, thread: int, left: int | None) -> None:
        """A thread waits until `left` groups at most are under way; None: for all, committed or not."""
        done = self.committed.get(thread, 0)
        self.finished[thread] = done + 1 if left is None else max(done - left, self.finished.get(thread, 0))
        if left is None:
            self.committed[thread] = done + 1

    def unfinished(self, first: int, size: int) -> tuple[int, int] | None:
        """The copy (code index, thread) that has not been waited for and touches these bytes."""
        for byte in range(first, first + size):
            found = self.pending.get(byte)
            if found is not None:
                if self.finished.get(found[1], 0) < found[2]:
                    return found[0], found[1]
                del self.pending[byte]
        return None


class Checker:
    """The checks of one launch on the stepping engine."""

    def __init__(self, program: Program, launch: Launch, translator: Translator) -> None:
        self.program, self.launch = program, launch
        self.init, self.race, self.sync = (f"{c}check" in launch.checks for c in ("init", "race", "sync"))
        self.granule = R.granule(program)
        self.comes: dict[int, list[bool]] = {}
        self.published, self.compares = R.Published(), R.compares(program)
        self.notes: dict[tuple[int, int, int], Note] = {}
        self.translator = translator
        self._shadows: dict[int, tuple[np.ndarray, R.Shadow | None, np.ndarray | None]] = {}
        self._seen: set[tuple[int, int, int]] = set()

    @staticmethod
    def wanted(launch: Launch) -> bool:
        """Whether a launch asks for more than memcheck."""
        return bool(set(launch.checks) - {"memcheck"})

    # -- notes ---------------------------------------------------------------------------------------------------------

    def note(
        self, kind: int, code: Code, w: Warp, lane: int, other: int = -1, *, at: tuple[int, int, int] = (0, 0, 0),
        address: int = -1, value: int = 0,
    ) -> None:  # fmt: skip
        """Something is wrong at an instruction of a lane; `other`, `at`: code index, block, warp, lane of the other."""
        key = kind, code.index, other
        if key in self._seen:
            return  # the same instruction of the same warp: another lane or word
        self._seen.add(key)
        if key in self.notes:
            self.notes[key].count += 1
        else:
            self.notes[key] = Note(kind, code.index, w.block_index, w.warp, lane, other, *at, address, value)

    def begin(self) -> None:
        """Another warp-instruction."""
        self._seen.clear()

    # -- what is remembered of memory ----------------------------------------------------------------------------------

    def shadow(self, region: Region) -> tuple[R.Shadow | None, np.ndarray | None]:
        """The accesses remembered of a region and, where its bytes may be unwritten, which are written."""
        found = self._shadows.get(id(region.data))
        if found is None or found[0] is not region.data:
            shared = region.name == "shared memory"
            words = -(-region.data.size // self.granule)
            race = R.Shadow(words) if self.race and region.name not in ("local memory", "parameters") else None
            written = np.zeros(region.data.size, np.uint8) if shared and self.init else region.written
            found = self._shadows[id(region.data)] = region.data, race, written
        return found[1], found[2]

    def forget(self, region: Region) -> None:
        """A block's shared memory is gone."""
        self._shadows.pop(id(region.data), None)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def wrap(self, steps: list[Step]) -> list[Step]:
        """The steps, those that order threads or lanes looked at first."""
        return [self._wrapped(code, step) for code, step in zip(self.program.codes, steps, strict=True)]

    def _wrapped(self, code: Code, step: Step) -> Step:
        look: list[Callable[[Warp, np.ndarray], None]] = []
        if code.name in ("bar", "barrier") and code.form is not None and not code.form.warp and code.name != "%reduced":
            if self.sync:
                look.append(self._at_barrier(code))
        elif meets(code):
            if self.sync and code.form is not None and code.form.op.kind != "warp":
                look.append(self._at_meeting(code))
            if self.race:
                look.append(lambda w, mask: w.spaces.check.order.together(w.warp))
        elif releases(code) and self.race:
            look.append(lambda w, mask: w.spaces.check.order.fence(w.warp))
        if code.form is not None and code.form.op.kind in ("warp", "async"):
            step = self._touching(code, step)
        if code.name == "cp" and self.sync:
            look.append(self._at_copy(code))
        if not look:
            return step
        guard = code.guard

        def run(w: Warp) -> int | None:
            mask = w.mask
            if guard is not None:
                p = w.regs[guard[0]]
                mask = np.greater(mask, p) if guard[1] else mask & p
            if mask.any():
                self.begin()
                for each in look:
                    each(w, mask)
            return step(w)

        return run

    def _touching(self, code: Code, step: Step) -> Step:
        """A matrix instruction or asynchronous copy: its accesses are those that a recorder is told of."""

        def run(w: Warp) -> int | None:
            kept, w.touches = w.touches, []
            result = step(w)
            touches, w.touches = w.touches, kept
            if kept is not None:
                kept += touches
            assert isinstance(w, CheckedWarp)
            self.begin()
            for touch in touches:
                w.look(code, touch, "store" if "init" in words_of(code) else touch.what)
            return result

        return run

    def _at_copy(self, code: Code) -> Callable[[Warp, np.ndarray], None]:
        words = words_of(code)

        def look(w: Warp, mask: np.ndarray) -> None:
            copies: Copies = w.spaces.check.copies
            for lane in np.flatnonzero(mask).tolist():
                thread = w.warp * LANES + lane
                if "commit_group" in words:
                    copies.commit(thread)
                elif "wait_all" in words or "mbarrier" in words:
                    copies.wait(thread, None)
                elif "wait_group" in words:
                    source = code.sources[0]
                    copies.wait(thread, int(source.value) if isinstance(source, Literal) else 0)

        return look

    # -- synccheck -----------------------------------------------------------------------------------------------------

    def _at_barrier(self, code: Code) -> Callable[[Warp, np.ndarray], None]:
        sources = [s for s in code.sources if s is not None]
        if "red" in words_of(code):
            sources = sources[:-1]
        numbers = [self.translator.read(s, "u32", code) for s in sources]
        whole = aligned(code)

        def look(w: Warp, mask: np.ndarray) -> None:
            lane = int(mask.argmax())
            barrier = int(numbers[0](w)[lane]) if numbers else 0
            count = int(numbers[1](w)[lane]) if len(numbers) > 1 else 0
            expected = w.spaces.check.expected
            if barrier not in expected:
                expected[barrier] = count, code, w.warp, lane
            elif expected[barrier][0] != count:
                before, other, warp, other_lane = expected[barrier]
                self.note(F.COUNTS, code, w, lane, other.index, at=(w.block_index, warp, other_lane),
                          value=count & 0xFFFF | (before & 0xFFFF) << 16)  # fmt: skip
            if whole:
                self._divergent(w, code, mask)

        return look

    def _divergent(self, w: Warp, code: Code, mask: np.ndarray) -> None:
        """Some lanes are at a barrier for all: the others may still come, but not if they stand behind it."""
        places = [(part.pc, part.mask, part.wait) for part in w.others]
        behind, skipping = self.translator.following[code.index], w.mask & ~mask
        places.append((behind, skipping, None))
        comes = self.comes.get(code.index)
        if comes is None:
            comes = self.comes[code.index] = may_come(self.program, code)
        elsewhere: tuple[int, int] | None = None
        for pc, lanes, wait in places:
            if not lanes.any() or (wait is not None and wait.code is code):
                continue
            skips = wait is None and pc == behind and bool((lanes == skipping).all())
            if not skips and (pc < code.index or comes[pc]) and (wait is None or wait.members is not None):
                return
            place = wait.code.index if wait is not None else pc
            if elsewhere is None or int(lanes.argmax()) < elsewhere[1]:
                elsewhere = place, int(lanes.argmax())
        if elsewhere is not None:
            at = w.block_index, w.warp, elsewhere[1]
            self.note(F.DIVERGENT, code, w, int(mask.argmax()), elsewhere[0], at=at)

    def opened(self, block: Any, barrier: int, warps: list[Warp]) -> None:
        """A barrier lets these warps go."""
        checks = block.check
        checks.expected.pop(barrier, None)
        if self.race:
            checks.order.opened(barrier, [w.warp for w in warps], len(warps) == len(block.running))
        if not self.sync:
            return
        for w in warps:
            gone = (np.arange(LANES) + LANES * w.warp < self.launch.threads) & ~w.live
            waits = [part for part in w.others if part.wait is not None and aligned(part.wait.code)]
            if gone.any() and waits:
                self.begin()
                wait = waits[0].wait
                assert wait is not None
                self.note(F.EXITED, wait.code, w, int(w.live.argmax()), value=int(gone.argmax()))

    def arrived(self, block: Any, barrier: int, warp: Warp) -> None:
        """A warp has passed `bar.arrive`."""
        if self.race:
            block.check.order.arrive(warp.warp, barrier)

    def _at_meeting(self, code: Code) -> Callable[[Warp, np.ndarray], None]:
        members = self.translator.members(code)
        if code.form is not None and code.form.warp:
            members = self.translator.read(code.sources[0], "b32", code)
        assert members is not None
        shuffle = self._at_shuffle(code) if code.name == "shfl" else None

        def look(w: Warp, mask: np.ndarray) -> None:
            named = members(w)
            lanes = np.flatnonzero(mask)
            own = named >> w.lane_id() & np.uint32(1)
            first = LANES * w.warp
            gone = mask_bits((np.arange(first, first + LANES) < self.launch.threads) & ~w.live)
            for lane in lanes.tolist():
                if not own[lane]:
                    self.note(F.OMITTED, code, w, lane, value=int(named[lane]))
                if int(named[lane]) & gone:
                    lost = int(named[lane]) & gone
                    self.note(F.GONE_LANE, code, w, lane, value=(lost & -lost).bit_length() - 1)
            if shuffle is not None:
                shuffle(w, lanes, named)

        return look

    def _at_shuffle(self, code: Code) -> Callable[[Warp, np.ndarray, np.ndarray], None]:
        form = code.form
        assert form is not None
        by, clamp = (self.translator.read(code.sources[k], code.source_types[k], code) for k in (1, 2))
        asked = len(code.dests) > 1 and code.dests[1] is not None

        def look(w: Warp, lanes: np.ndarray, named: np.ndarray) -> None:
            live = mask_bits(w.live)
            b, c = by(w), clamp(w)
            b = np.full(LANES, b) if isinstance(b, int) else b
            c = np.full(LANES, c) if isinstance(c, int) else c
            for lane in lanes.tolist():
                source, inside, last = shuffle_source(str(form.mode), lane, int(b[lane]), int(c[lane]))
                if not inside:
                    if form.mode == "idx" and not asked:
                        self.note(F.RANGE, code, w, lane, value=source | last << 16)
                elif source != lane and not (int(named[lane]) & live) >> source & 1:
                    self.note(F.SOURCE, code, w, lane, value=source)

        return look


class CheckedWarp(Warp):
    """A warp whose accesses are looked at."""

    def load(self, i: Form, address: Value) -> Any:
        value = super().load(i, address)
        self._look(address, "load", None)
        return value

    def store(self, i: Form, address: Value, value: Any) -> None:
        super().store(i, address, value)
        self._look(address, "store", value if isinstance(value, tuple) else (value,))

    def atom(self, i: Form, address: Value, *values: Any) -> Any:
        self._look(address, "atomic", None)  # before it: afterwards it has written what it reads
        return super().atom(i, address, *values)

    def _look(self, address: Value, what: str, values: tuple[Any, ...] | None) -> None:
        site, touches, self.touches = self.site, self.touches, None
        self.machine.checker.begin()
        for region, index, mask in self._located(site, address, what):
            lanes = np.flatnonzero(self.mask if mask is None else mask)
            start = index[lanes] << site.shift
            self._accessed(site.code, what, region, start, lanes, site.size, address, values)
        self.touches = touches

    def look(self, code: Code, touch: Touch, what: str) -> None:
        """An access of an instruction that goes to memory by itself."""
        copied = code.name == "cp" and touch.what == "store"
        for lane in np.flatnonzero(touch.mask).tolist():
            at = int(touch.address[lane])
            region = self._region(touch.space, at)
            if region is None or region.lane_offset is not None:
                continue
            first = at - int(region.base)
            one = np.array([lane])
            self._accessed(code, what, region, np.array([first]), one, touch.size, touch.address, None)
            if copied and self.machine.checker.sync:
                self.spaces.check.copies.start(code, self.warp * LANES + lane, first, touch.size)

    def _accessed(
        self, code: Code, what: str, region: Region, start: np.ndarray, lanes: np.ndarray, size: int, address: Value,
        values: tuple[Any, ...] | None,
    ) -> None:  # fmt: skip
        """Lanes have accessed `size` bytes each of a region, from byte `start` on."""
        checker: Checker = self.machine.checker
        is_strong, order = strong(code), self.spaces.check.order
        race, written = checker.shadow(region)
        if written is not None:
            self._initialised(code, written, start, lanes, size, what, address)
        if checker.sync and what == "load" and region.name == "shared memory" and self.spaces.check.copies.pending:
            self._copied(code, start, lanes, size, address)
        if race is None:
            return
        if releases(code):
            order.fence(self.warp)
        me = np.uint64(
            order.block << R.BLOCK | order.time << R.TIME | code.index << R.CODE | is_strong << R.STRONG
            | self.warp << R.WARP
        ) | lanes.astype(np.uint64)  # fmt: skip
        words, count = start // checker.granule, -(-size // checker.granule)
        collide = order.access(race, words, count, me, write=what != "load", note=self._hazard(code, address))
        if what != "load" and collide.any():
            self._same(code, race, start, lanes, collide, values, size, address)
        if is_strong:
            order.acquire(self.warp)

    def _copied(self, code: Code, start: np.ndarray, lanes: np.ndarray, size: int, address: Value) -> None:
        for first, lane in zip(start.tolist(), lanes.tolist(), strict=True):
            found = self.spaces.check.copies.unfinished(first, size)
            if found is not None:
                party = self.block_index, found[1] // LANES, found[1] % LANES
                place = int(address[lane])
                self.machine.checker.note(F.PENDING, code, self, lane, found[0], at=party, address=place)

    def _hazard(self, code: Code, address: Value) -> R.Noted:
        checker = self.machine.checker

        def note(kind: int, me: int, record: int, at: int) -> None:
            lane = me & 31
            party = (record >> R.BLOCK) - 1, record >> R.WARP & 31, record & 31
            checker.note(kind, code, self, lane, record >> R.CODE & 0x3FFFF, at=party, address=int(address[lane]))

        return note

    def _initialised(
        self,
        code: Code,
        written: np.ndarray,
        start: np.ndarray,
        lanes: np.ndarray,
        size: int,
        what: str,
        address: Value,
    ) -> None:
        """What is read must have been written; what is written is."""
        bytes_ = start[:, None] + np.arange(size)
        if what != "store" and self.machine.checker.init:
            missing = ~written[bytes_].all(axis=1)
            for k in np.flatnonzero(missing)[:1].tolist():
                lane = int(lanes[k])
                place = int(address[lane]) + int(np.argmin(written[bytes_[k]]))
                self.machine.checker.note(F.UNINITIALISED, code, self, lane, address=place)
        if what != "load":
            written[bytes_] = 255

    def _same(
        self, code: Code, race: R.Shadow, start: np.ndarray, lanes: np.ndarray, collide: np.ndarray,
        values: tuple[Any, ...] | None, size: int, address: Value,
    ) -> None:  # fmt: skip
        """Lanes of one store that wrote to one place: harmless if they wrote the same."""
        checker = self.machine.checker
        for k in np.flatnonzero(collide).tolist():
            at = int(start[k])
            first = int(np.flatnonzero(start == at)[0])
            a, b = int(lanes[first]), int(lanes[k])
            if values is not None and any(v[a].tobytes() != v[b].tobytes() for v in values):
                party = self.block_index, self.warp, a
                checker.note(F.SAME, code, self, b, code.index, at=party, address=int(address[b]))
            else:
                for word in range(-(-size // checker.granule)):
                    race.writer[at // checker.granule + word] |= np.uint64(1 << R.MANY)
