"""A warp of the stepping engine whose loads, stores and atomics are looked at: written before, ordered, complete?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races as R
from ptxlab.emulate.rules.instructions import releases, strong
from ptxlab.emulate.rules.mbarriers import is_mbarrier
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.lanes import LANES
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.machine import Value
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.step.checks import Checker


Stored = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Any, ...]]
"""Memory before a store, and for each lane that stores its first byte there, its number, and what it stores."""


def _leaves(stored: Stored, lane: int, word: int, granule: int) -> bool:
    """Whether a store leaves one word of memory as it is."""
    data, start, lanes, values = stored
    first = int(start[np.flatnonzero(lanes == lane)[0]])
    new = b"".join(v[lane].tobytes() for v in values)[word * granule - first :][:granule]
    return data[word * granule : word * granule + granule].tobytes() == new


class CheckedWarp(Warp):
    """A warp whose accesses are looked at."""

    def load(self, i: Form, address: Value) -> Any:
        value = super().load(i, address)
        self._look(address, "load", None)
        return value

    def store(self, i: Form, address: Value, value: Any) -> None:
        self._look(address, "store", value if isinstance(value, tuple) else (value,))  # what is there may be the same
        super().store(i, address, value)

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
        found: dict[int, tuple[Region, list[int], list[int]]] = {}
        for lane in np.flatnonzero(touch.mask).tolist():
            at = int(touch.address[lane])
            region = self._region(touch.space, at)
            if region is None or region.lane_offset is not None:
                continue
            first = at - int(region.base)
            if not 0 <= first <= region.size - touch.size:
                continue  # the access itself says so
            _, firsts, lanes = found.setdefault(id(region), (region, [], []))
            firsts.append(first)
            lanes.append(lane)
            if copied and self.machine.checker.sync:
                self.spaces.check.copies.start(code, self.warp * LANES + lane, first, touch.size)
        for region, firsts, lanes in found.values():
            starts, who = np.array(firsts), np.array(lanes)
            self._accessed(code, what, region, starts, who, touch.size, touch.address, None)

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
        if (
            checker.sync
            and what != "atomic"
            and code.name != "cp"
            and region.name == "shared memory"
            and self.spaces.check.copies.pending
        ):
            self._copied(code, start, lanes, size, address)
        if race is None:
            return
        if releases(code):
            order.fence(self.warp)
        me = np.uint64(
            order.block << R.BLOCK | order.time << R.TIME | code.index << R.CODE | is_strong << R.STRONG
            | self.warp << R.WARP
        ) | lanes.astype(np.uint64)  # fmt: skip
        stored = None if values is None else (region.data, start, lanes, values)
        checker.masks[code.index, self.warp] = int((1 << lanes).sum())
        words, count = start // checker.granule, -(-size // checker.granule)
        collide = order.access(race, words, count, me, write=what != "load", note=self._hazard(code, address, stored))
        if what != "load" and collide.any():
            self._same(code, race, start, lanes, collide, values, size, address)
        if is_strong and not is_mbarrier(code):
            order.acquire(self.warp)

    def _copied(self, code: Code, start: np.ndarray, lanes: np.ndarray, size: int, address: Value) -> None:
        for first, lane in zip(start.tolist(), lanes.tolist(), strict=True):
            found = self.spaces.check.copies.unfinished(first, size)
            if found is not None:
                party = self.block_index, found[1] // LANES, found[1] % LANES
                place = int(address[lane])
                self.machine.checker.note(F.PENDING, code, self, lane, found[0], at=party, address=place)

    def _hazard(self, code: Code, address: Value, stored: Stored | None) -> R.Noted:
        checker = self.machine.checker

        def note(kind: int, me: int, record: int, at: int) -> None:
            lane = me & 31
            if kind == F.WAW and stored is not None and _leaves(stored, lane, at, checker.granule):
                return  # then it does not matter which write is the last
            warp, other = record >> R.WARP & 31, record & 31
            if warp == self.warp and other == lane and not (me ^ record) >> R.BLOCK:
                if me >> R.MANY & 1:  # the record speaks of its first lane
                    lane = R.another(checker.masks[code.index, warp], lane)
                elif record >> R.MANY & 1:
                    other = R.another(checker.masks.get((record >> R.CODE & R.LAST_TIME, warp), 0), lane)
            party = (record >> R.BLOCK) - 1, warp, other
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
