"""Accesses of the interpreter as initcheck, racecheck and synccheck see them: the warp that makes them, and its block.

Semantics call `CheckedWarp.load`, `store` and `atom`, which check the access beside making it (`_look`). Other
instructions, such as copies, report each access as a `Touch`, which `look` checks. Both lead to `_accessed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.language import ALL_LANES, Pointer, lanes_of
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import async_proxy, barrier_checks, initcheck, launches, race_accesses, race_order, races
from ptxlab.emulate.rules.initcheck_local import within
from ptxlab.emulate.rules.instructions import clears, wide
from ptxlab.emulate.rules.mbarrier_lifetimes import Phases
from ptxlab.emulate.rules.mbarriers import access_kind
from ptxlab.emulate.rules.records import CHANGES, CODE, GAP, READS, WITHOUT, WRITES, WRITTEN, Mates, started
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.launch_state import Spaces
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.emulate.step.values import Bytes, MemoryValues, Place, Source, brings
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Value
from ptxlab.isa.table import Form

KINDS = {READS: "load", WRITES: "store", CHANGES: "atomic"}


@dataclass
class _Checked:
    """An access that is checked: `size` bytes of each lane. values: what a plain store is about to store there,
    or what it has overwritten."""

    code: Code
    what: str
    size: int
    values: tuple[Any, ...] | None
    looked: bool = False  # whether `CheckedWarp.touching` has looked at what it reads


def _one_by_one(start: np.ndarray, lanes: int) -> Iterator[tuple[int, int]]:
    """Each lane's offset, and the lane as a mask: for an allocation in which 32 bits do not reach everything."""
    for lane in lanes_of(lanes):
        yield int(start[lane]), 1 << lane


class CheckedWarp(Warp):
    def __init__(self, spaces: Spaces, index: int, regs: list[Any], block_index: int) -> None:
        super().__init__(spaces, index, regs, block_index)
        assert self.launch_state.checker is not None
        self.checker = self.launch_state.checker
        self.lacks: dict[int, np.ndarray] = {}
        """initcheck: the bits of registers that have no value (see `step.values`), and where they come from."""
        self.origins: dict[int, np.ndarray] = {}
        self.brought: list[Bytes] = []
        """What the instruction has read without a value; what it has stored, if that matters."""
        self.wrote: list[Bytes] | None = None
        self.settles: list[tuple[Place, Bytes, int]] = []
        self.trial = False  # an instruction is executed once more, on other values
        if self.checker.init:
            self.lacks, self.origins = self.checker.values.of_warp(regs, spaces.block, index)
            self.local.values = MemoryValues(self.local.data, np.zeros(self.local.data.size, np.uint8))
            self.local.written, self.local_window.values = self.local.values.written, self.local.values
            self.local_window.written = self.local.written

    def load(self, i: Form, address: Value) -> Any:
        value = super().load(i, address)
        if not self.trial:
            self._look(address, "load", None)
        return value

    def store(self, i: Form, address: Value, value: Any) -> None:
        if self.trial:
            super().store(i, address, value)
            return
        # before the store: one that leaves memory as it is does not race
        self._look(address, "store", value if isinstance(value, tuple) else (value,))
        super().store(i, address, value)

    def atom(self, i: Form, address: Value, *values: Any) -> Any:
        self._look(address, "atomic", None)  # before it: initcheck asks whether what it reads was written
        return super().atom(i, address, *values)

    def _look(self, address: Value, what: str, values: tuple[Any, ...] | None) -> None:
        """Checks an access of the instruction that runs now. values: what a plain store stores."""
        site, touches, self.touches = self.site, self.touches, None
        found = [(region, index << site.shift, mask) for region, index, mask in self._located(site, address, what)]
        self._accesses(_Checked(site.code, what, site.size, values), found)
        self.touches = touches

    def look(self, code: Code, touch: Touch, what: str) -> None:
        """Checks an access of an instruction that has no `load`, `store` or `atom` in its semantics."""
        values = None if touch.before is None else (touch.before,)
        self._accesses(_Checked(code, what, touch.size, values, looked=brings(code)), self._touched(touch))

    def _touched(self, touch: Touch) -> list[tuple[Region, np.ndarray, np.ndarray | None]]:
        """The regions that an access leads to, the first byte of each lane in them, and the lanes."""
        found: dict[int, tuple[Region, np.ndarray, np.ndarray]] = {}
        for lane in np.flatnonzero(touch.mask).tolist():
            at = int(touch.address[lane])
            region = self.region(touch.space, at)
            if region is None or region.lane_offset is not None:
                continue
            first = at - int(region.base)
            if not 0 <= first <= region.size - touch.size:
                continue  # the access itself faults
            new = region, np.zeros(LANES, np.int64), np.zeros(LANES, np.bool_)
            _, start, mask = found.setdefault(id(region), new)
            start[lane], mask[lane] = first, True
        return [*found.values()]

    # -- initcheck

    def touching(self, code: Code, touches: list[Touch], *, moves: bool) -> None:
        """What an instruction that reports its accesses read, and what it stored, without a value."""
        for what in ("load", "store"):
            for touch in touches if what == "load" or moves or self.brought else ():
                for region, start, mask in self._touched(touch) if touch.what == what else ():
                    if what == "load":
                        self._reads(code, region, start, mask, touch.size)
                    else:
                        self.wrote = [*(self.wrote or ()), self._bytes(region, start, mask, touch.size)]

    def _bytes(self, region: Region, start: np.ndarray, mask: np.ndarray | None, size: int) -> Bytes:
        lanes = np.arange(LANES) if mask is None else np.flatnonzero(mask)
        places = start[lanes][:, None] + np.arange(size)
        nothing = np.zeros(0, np.uint32)
        return Bytes(self._followed(region), lanes, places, np.zeros(places.shape, np.uint8), nothing)

    def _followed(self, region: Region) -> MemoryValues:
        """What is known of a region from now on."""
        if region.written is None and region.values is None:
            self.checker.follow(region)
            state = self.launch_state
            for k, allocation in enumerate(state.live):
                if allocation.data is region.data and region.written is not None:
                    allocation.written = region.written
                    state.map.allocations[k].written = Pointer(region.written)
        if region.values is None and region.written is not None:
            region.values = MemoryValues(region.data, region.written, array=True)
        found: MemoryValues = region.values
        return found

    def _reads(
        self, code: Code, region: Region, start: np.ndarray, mask: np.ndarray | None, size: int, *, uses: bool = False
    ) -> None:
        """Lanes read `size` bytes each. uses: their values, at once."""
        if region.values is None and region.written is None:
            return
        read = self._bytes(region, start, mask, size)
        codes = read.memory.written[read.places]
        if (codes == WRITTEN).all():
            return
        some = (codes != WRITTEN).any(axis=1) & (codes != GAP).all(axis=1)
        lanes, places, codes = read.lanes[some], read.places[some], codes[some]
        known = codes == WITHOUT
        bits = np.where(codes == WRITTEN, 0, 0xFF).astype(np.uint8)
        origins = np.zeros(places.shape, np.uint32)
        if known.any():
            bits[known], origins[known] = read.memory.bits[places[known]], read.memory.origins[places[known]]
        bits[known & (origins == 0)] = 0xFF  # by an earlier launch
        fresh = (bits != 0) & (origins == 0)
        if fresh.any():
            addresses = np.zeros(LANES, np.uint64)
            in_local = 0 if region.lane_offset is None else region.lane_offset[lanes]
            addresses[lanes] = (start[lanes] - in_local + fresh.argmax(axis=1) + int(region.base)).astype(np.uint64)
            partly = not fresh.reshape(lanes.size, -1, min(size, 4)).all(axis=2).any()
            where = code.index, self.spaces.block, self.warp, -1, addresses
            number = self.checker.values.source(Source(*where, partly=bool(partly)))
            origins[fresh] = np.broadcast_to(lanes[:, None] | number << 5, places.shape)[fresh]
        if uses and lanes.size:
            place = Place(code.index, self.spaces.block, self.warp, int(lanes[0]))
            self.checker.values.used(place, int(origins[0].max()))
        elif lanes.size:
            self.brought.append(Bytes(read.memory, lanes, places, bits, origins.max(axis=1)))

    def settle(self) -> None:
        """What was stored without a value is marked, after the store itself was."""
        for place, given, register in self.settles:
            self.checker.values.stored(place, given, register)
        self.settles = []

    # -- accesses

    def _accesses(self, access: _Checked, found: list[tuple[Region, np.ndarray, np.ndarray | None]]) -> None:
        """Checks an access, region by region. found: the regions, the first byte of each lane in them, and the lanes
        that access them. A release takes effect before the check of all regions, an acquire after it."""
        checker, code = self.checker, access.code
        given = checker.record, self.spaces.check.record, self.warp, code.index
        ordering = checker.more and code.space != "local"
        if ordering and checker.releases[code.index]:
            race_order.fence(*given, wide(code))
        for region, start, mask in found:
            self._accessed(access, region, start, mask)
        if ordering and checker.strong[code.index]:
            lanes = sum(ALL_LANES if mask is None else mask_bits(mask) for _, _, mask in found)
            addresses = np.zeros(LANES, np.uint64)
            for region, start, mask in found:
                addresses[... if mask is None else mask] = (start + int(region.base))[... if mask is None else mask]
            race_order.strong(*given, lanes, Pointer[int](addresses), access.size)

    def _accessed(self, access: _Checked, region: Region, start: np.ndarray, mask: np.ndarray | None) -> None:
        """Checks an access by the lanes of a mask, None for all, to a region from byte `start` on."""
        checker, code, what, size = self.checker, access.code, access.what, access.size
        members = checker.members(code, size)
        block, offsets = self.spaces.check.record, checker.offsets
        race, written = checker.shadow(region)
        in_shared = region is self.spaces.shared or region is self.spaces.shared_window
        lanes = ALL_LANES if mask is None else mask_bits(mask)
        if checker.init and region.lane_offset is not None:
            self._local(access, region, start - region.lane_offset, lanes)
        if checker.init and what != "store" and not access.looked and not clears(code):
            self._reads(code, region, start, mask, size, uses=not brings(code))
        if checker.init and what != "load" and self.wrote is not None:
            self.wrote.append(self._bytes(region, start, mask, size))
        for low, some in ((0, lanes),) if region.size < 1 << 31 else _one_by_one(start, lanes):
            offsets.array[:] = start - low if low else start
            if written is not None:
                self._initialised(access, written, region, low, some)
            flag = code.properties.mbarrier
            if block.tile_writes is not None and in_shared:
                given = checker.record, block, self.warp, some, offsets, members, int(region.base)
                if what != "load" and not flag:
                    async_proxy.stored(*given)
                elif code.action is Action.WARPGROUP_PRODUCT:
                    async_proxy.product_reads(*given, self.in_flight)
            if race is not None:
                self._raced(access, race, region, low, some)

    def _local(self, access: _Checked, region: Region, start: np.ndarray, mask: int) -> None:
        checker, block, index = self.checker, self.spaces.check.record, access.code.index
        checker.offsets.array[:] = start
        at, base = (mask, checker.offsets, access.size), int(region.base)
        if index in checker.bounds:
            within(checker.record, block, self.warp, *at, *checker.bounds[index], index, base)

    def _initialised(self, access: _Checked, written: Pointer[int], region: Region, low: int, lanes: int) -> None:
        """initcheck: accesses to gaps between arrays are noted; the bytes of a store are marked as written."""
        checker, start = self.checker, int(region.base) + low
        at = written + low if low else written
        given = checker.record, self.spaces.check.record, self.warp, lanes, at, checker.offsets
        more = 0, access.size, access.code.index << CODE, start
        if access.what != "load":
            initcheck.stored(*given, *more)
        elif checker.record.gaps:
            initcheck.overruns(*given, *more)

    def _raced(self, access: _Checked, race: races.Shadow, region: Region, low: int, lanes: int) -> None:
        """racecheck: compares the accesses with those of other threads, and records them."""
        checker, code = self.checker, access.code
        launch, block, start = checker.record, self.spaces.check.record, int(region.base) + low
        records = race.records + low // checker.granule if low else race.records
        if access.values is not None:
            checker.storing(region, access.values, start)
        where = launch, block, self.warp, lanes, records, race.stride, checker.offsets, start
        race_accesses.at_addresses(*where, checker.members(code, access.size), access.what != "load")
        if access.values is not None:
            races.stored(launch)


class BlockChecks:
    def __init__(self, checker: LaunchChecks, spaces: Spaces, can_run: Callable[[], Iterator[tuple[int, int]]]) -> None:
        self.checker, self.spaces, shared = checker, spaces, spaces.shared
        self.record = launches.block(checker.program, checker.launch, shared.size)
        race = checker.shadow_shared(shared, self.record.written)
        if race is not None:
            self.record.records, self.record.stride = race.records, race.stride
        if checker.init:
            shared.values = MemoryValues(shared.data, self.record.written.array)
            spaces.shared_window.values = shared.values
        started(self.record, spaces.block)
        self.phases = Phases(checker.program, checker.record, self.record, can_run, checker.notes, checker.early)

    def in_cluster(self, mates: Pointer[Mates], rank: int) -> None:
        launches.in_cluster(self.record, mates, rank)
        started(self.record, self.spaces.block)

    # -- barriers

    def opened(self, barrier: int, warps: list[Warp], every: list[Warp], *, counted: bool, overfull: bool) -> None:
        began, live = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
        for w in every:
            threads = min(LANES, self.checker.launch.threads - LANES * w.warp)
            began[w.warp], live[w.warp] = (1 << threads) - 1, mask_bits(w.live)
        at = self.checker.record, self.record, barrier, sum(1 << w.warp for w in warps)
        barrier_checks.opened(*at, Pointer(began), Pointer(live), counted, overfull)

    def passed_arrive(self, barrier: int, warp: Warp) -> None:
        if self.checker.more:
            barrier_checks.passed_arrive(self.checker.record, self.record, warp.warp, barrier)

    # -- mbarriers

    def touched(self, w: CheckedWarp, code: Code, touch: Touch) -> None:
        """A warp accesses memory, if the addresses are valid."""
        self.checker.begin()
        w.look(code, touch, KINDS[access_kind(code)] if code.properties.mbarrier else touch.what)

    def operated(
        self, w: Warp, code: Code, addresses: np.ndarray, state: np.ndarray | None, words: list[tuple[int, int]]
    ) -> None:
        """A warp has operated on mbarriers; `words`: the contents of each lane's before and after."""
        lanes = np.flatnonzero(w.mask).tolist()[: len(words)]
        asked = addresses if state is None else state
        before, after = [word for word, _ in words], [word for _, word in words]
        self.phases.operated(code, w.warp, lanes, (addresses[lanes].tolist(), asked[lanes].tolist(), before, after))
