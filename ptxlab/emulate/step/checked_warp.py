"""A warp of the stepping engine whose loads, stores and atomics are looked at: written before, ordered, complete?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules import copies_in_flight as in_flight
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import race_accesses, races
from ptxlab.emulate.rules.instructions import releases, strong
from ptxlab.emulate.step.access import Region, Touch
from ptxlab.emulate.step.lanes import LANES
from ptxlab.emulate.step.mbarriers import is_mbarrier
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.machine import Value
from ptxlab.isa.table import Form

if TYPE_CHECKING:
    from ptxlab.emulate.step.checks import Checker


def _within_reach(start: np.ndarray, lanes: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Offsets as 32-bit distances from a common place: that place, the distances, their lanes. They are taken one by
    one where they are too far apart for that."""
    low = int(start.min()) & -64
    if int(start.max()) - low < 1 << 31:
        yield low, start - low, lanes
        return
    for k in range(lanes.size):
        yield int(start[k]), start[k : k + 1] - start[k], lanes[k : k + 1]


def _offsets(start: np.ndarray, lanes: np.ndarray) -> tuple[int, Pointer[int]]:
    """A mask of some lanes, and their offsets in shared memory in an array of 32."""
    offsets = np.zeros(LANES, np.uint32)
    offsets[lanes] = start
    return int((1 << lanes).sum()), Pointer(offsets)


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
        for region, firsts, lanes in found.values():
            starts, who = np.array(firsts), np.array(lanes)
            if copied and self.machine.checker.sync:
                mask, offsets = _offsets(starts, who)
                in_flight.start(self.spaces.check.record, self.warp, mask, offsets, touch.size, code.index)
            self._accessed(code, what, region, starts, who, touch.size, touch.address, None)

    def _accessed(
        self, code: Code, what: str, region: Region, start: np.ndarray, lanes: np.ndarray, size: int, address: Value,
        values: tuple[Any, ...] | None,
    ) -> None:  # fmt: skip
        """Lanes have accessed `size` bytes each of a region, from byte `start` on."""
        checker: Checker = self.machine.checker
        is_strong = strong(code)
        race, written = checker.shadow(region)
        if written is not None:
            self._initialised(code, written, start, lanes, size, what, address)
        if (
            checker.sync
            and what != "atomic"
            and code.name != "cp"
            and region.name == "shared memory"
            and self.spaces.check.record.copies
        ):
            mask, offsets = _offsets(start, lanes)
            in_flight.touched(
                checker.record, self.spaces.check.record, self.warp, mask, offsets, checker.members(code, size),
                int(region.base),
            )  # fmt: skip
        if race is None:
            return
        block = self.spaces.check.record
        if releases(code):
            races.fence(checker.record, block, self.warp)
        self._raced(code, region, race, start, lanes, size, values, write=what != "load")
        if is_strong and not is_mbarrier(code):
            races.acquire(checker.record, block, self.warp)

    def _raced(
        self, code: Code, region: Region, race: races.Shadow, start: np.ndarray, lanes: np.ndarray, size: int,
        values: tuple[Any, ...] | None, *, write: bool,
    ) -> None:  # fmt: skip
        """Are the accesses ordered with others? values: what a plain store is about to store."""
        checker: Checker = self.machine.checker
        launch, base = checker.record, int(region.base)
        pieces, members = checker.pieces(code, size), checker.members(code, size)
        for low, first, some in _within_reach(start, lanes):
            mask, offsets = _offsets(first, some)
            if values is not None:
                octets = np.stack(values).view(np.uint8).reshape(-1)
                races.storing(
                    launch, Pointer(octets), size // len(values), len(values), Pointer(region.data), base, base + low,
                    offsets, None,
                )  # fmt: skip
            where = mask, race.records + low // checker.granule, race.stride
            if not write and (first == first[0]).all():
                race_accesses.at_one_address(
                    launch, self.spaces.check.record, self.warp, *where, int(first[0]), base + low, pieces, members,
                    write,
                )  # fmt: skip
            else:
                race_accesses.at_addresses(
                    launch, self.spaces.check.record, self.warp, *where, offsets, race_accesses.ANYWHERE, base + low,
                    pieces, members, write,
                )  # fmt: skip
            races.stored(launch)

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
