"""A warp of the stepping engine whose loads, stores and atomics are looked at: written before, ordered, complete?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer, lanes_of
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import initcheck
from ptxlab.emulate.rules import races as R
from ptxlab.emulate.rules.accesses import IN_ONE_ALLOCATION
from ptxlab.emulate.rules.instructions import releases, strong
from ptxlab.emulate.rules.mbarriers import is_mbarrier
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.lanes import LANES, mask_bits
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


def _one_by_one(start: np.ndarray, lanes: int) -> Iterator[tuple[int, int]]:
    """Each lane's offset, and the lane as a mask: for an allocation in which 32 bits do not reach everything."""
    for lane in lanes_of(lanes):
        yield int(start[lane]), 1 << lane


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
            self._accessed(site.code, what, region, index << site.shift, mask, site.size, address, values)
        self.touches = touches

    def look(self, code: Code, touch: Touch, what: str) -> None:
        """An access of an instruction that goes to memory by itself."""
        copied = code.name == "cp" and touch.what == "store"
        found: dict[int, tuple[Region, np.ndarray, np.ndarray]] = {}
        for lane in np.flatnonzero(touch.mask).tolist():
            at = int(touch.address[lane])
            region = self._region(touch.space, at)
            if region is None or region.lane_offset is not None:
                continue
            first = at - int(region.base)
            if not 0 <= first <= region.size - touch.size:
                continue  # the access itself says so
            _, start, mask = found.setdefault(
                id(region), (region, np.zeros(LANES, np.int64), np.zeros(LANES, np.bool_))
            )
            start[lane], mask[lane] = first, True
        for region, start, mask in found.values():
            if copied and self.machine.checker.sync:
                offsets = Pointer[int](start.astype(np.uint32))
                in_flight.start(self.spaces.check.record, self.warp, mask_bits(mask), offsets, touch.size, code.index)
            self._accessed(code, what, region, start, mask, touch.size, touch.address, None)

    def _accessed(
        self, code: Code, what: str, region: Region, start: np.ndarray, mask: np.ndarray | None, size: int,
        address: Value, values: tuple[Any, ...] | None,
    ) -> None:  # fmt: skip
        """The lanes of a mask, None for all, access `size` bytes each of a region, from byte `start` on."""
        checker: Checker = self.machine.checker
        race, written = checker.shadow(region)
        block, who = self.spaces.check.record, 0xFFFFFFFF if mask is None else mask_bits(mask)
        if written is not None:
            self._initialised(code, written, region, start, who, size, what)
        if block.copies and what != "atomic" and code.name != "cp" and region.name == "shared memory":
            offsets, members = Pointer[int](start.astype(np.uint32)), checker.members(code, size)
            in_flight.touched(checker.record, block, self.warp, who, offsets, members, int(region.base))
        if race is None:
            return
        lanes = np.arange(LANES) if mask is None else np.flatnonzero(mask)
        start = start[lanes]
        is_strong, order = strong(code), self.spaces.check.order
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
        self, code: Code, written: Pointer[int], region: Region, start: np.ndarray, lanes: int, size: int, what: str
    ) -> None:
        """What is read must have been written; what is written is."""
        checker = self.machine.checker
        offsets: Pointer[int] = checker.offsets
        for low, mask in ((0, lanes),) if region.size < 1 << 31 else _one_by_one(start, lanes):
            offsets.array[:] = start - low if low else start
            at = written + low if low else written
            if what != "store" and checker.init and not initcheck.lanes_written(mask, at, offsets, 0, size):
                members, block = checker.members(code, size), self.spaces.check.record
                initcheck.report(checker.record, block, self.warp, mask, at, offsets, int(region.base) + low, members)
            if what != "load":
                initcheck.mark(mask, at, offsets, IN_ONE_ALLOCATION, 0, size)

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
