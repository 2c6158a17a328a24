"""The checks of the stepping engine: what is noted, what is remembered of memory, and barriers and lanes that meet.

`Checker` belongs to a launch; `blockchecks` has what the checks know of a block, `checkedwarp` the warp whose loads,
stores and atomics are looked at. What is noted becomes findings in `emulate/rules/findings.py`; the rules of races are
in `emulate/rules/races.py`, those of mbarriers in `emulate/rules/mbarrier_phases.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code, Literal, Program
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races as R
from ptxlab.emulate.rules.findings import Note
from ptxlab.emulate.rules.instructions import aligned, may_come, meets, releases, shuffle_source, words_of
from ptxlab.emulate.rules.mbarriers import is_mbarrier
from ptxlab.emulate.step.access import Region
from ptxlab.emulate.step.block_checks import Copies
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.lanes import LANES, mask_bits
from ptxlab.emulate.step.warp import Warp

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.step.translate import Step, Translator


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
        self.masks: dict[tuple[int, int], int] = {}  # code index, warp: the lanes that made an access last
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
                look.append(self._meets(code))
        elif releases(code) and self.race:
            look.append(lambda w, mask: w.spaces.check.order.fence(w.warp))
        if code.form is not None and code.form.op.kind in ("warp", "async") and not is_mbarrier(code):
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
                if "commit_group" in words or "mbarrier" in words:  # who waits for the mbarrier waits for these copies
                    copies.commit(thread)
                elif "wait_all" in words:
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
        if self.race or self.sync:
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

    def _meets(self, code: Code) -> Callable[[Warp, np.ndarray], None]:
        """Lanes of a warp come to an instruction that they meet at: who is ordered by it."""
        form = code.form
        assert form is not None
        names = [s.name for s in form.op.operands if s.role != "dst"]
        given = code.sources[names.index("membermask")] if "membermask" in names else None
        if given is None or form.op.kind == "warp":
            return lambda w, mask: w.spaces.check.order.together(w.warp)
        members = self.translator.read(given, "b32", code)

        def look(w: Warp, mask: np.ndarray) -> None:
            named = np.broadcast_to(members(w), LANES)
            w.spaces.check.order.meet(w.warp, [int(m) for m in named[mask]], mask_bits(w.live))

        return look

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
