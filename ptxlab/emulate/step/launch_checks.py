"""The state of the interpreter's checks for a launch; the rules that they call are in `emulate/rules`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.pointers import local_bounds
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import launches, races, records
from ptxlab.emulate.rules.mbarrier_lifetimes import Early, passed_early
from ptxlab.emulate.rules.notes import Note, noted, serial
from ptxlab.emulate.rules.records import WRITTEN
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.emulate.step.values import Values


class LaunchChecks:
    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        checks = launches.followed(program, launch.checks)
        self.init, self.race, self.sync = (f"{c}check" in checks for c in ("init", "race", "sync"))
        self.more = self.race or self.sync  # than initcheck: they follow what orders threads
        self.granule = races.granule(program)
        self.record = launches.begin(program, launch)
        self.offsets = Pointer[int](np.zeros(LANES, np.uint32))  # of the access that is checked
        self.values = Values(program)
        self.bounds = local_bounds(program) if self.init else {}
        self.releases = [code.properties.releases for code in program.codes]
        self.strong = [code.properties.strong and not code.properties.mbarrier for code in program.codes]
        self._values = np.zeros(LANES * 64, np.uint8)
        self._stored: Region | None = None  # where a store went last
        self.record.store.values, self.record.store.narrow = Pointer(self._values), self.offsets
        self._members: dict[tuple[int, int], Pointer[int]] = {}
        self.notes: dict[tuple[int, int, int], Note] = {}  # those of mbarriers
        self.early: Early = {}
        self._shadows: dict[int, tuple[np.ndarray, races.Shadow | None, Pointer[int] | None]] = {}

    @staticmethod
    def wanted(launch: Launch) -> bool:
        return bool(set(launch.checks) - {"memcheck"})

    def begin(self, mask: int = 0) -> None:
        """The next warp-instruction begins."""
        serial(self.record, mask)

    def found(self) -> list[Note]:
        early = passed_early(noted(self.record, self.program), self.early)
        return [*early, *self.notes.values(), *self.values.notes.values()]

    def storing(self, region: Region, values: tuple[Any, ...], start: int) -> None:
        """A plain store is checked next: `values` to `start` and the offsets."""
        store = self.record.store
        if self._stored is not region:
            store.memory, store.memory_start = Pointer(region.data), int(region.base)
            self._stored = region
        width = values[0].itemsize
        store.components, store.width, store.start = len(values), width, start
        for k, value in enumerate(values):
            self._values[k * LANES * width : (k + 1) * LANES * width].view(value.dtype)[:] = value

    def members(self, code: Code, size: int) -> Pointer[int]:
        """The table `members` of one access (see `rules.race_accesses`)."""
        found = self._members.get((code.index, size))
        if found is None:
            flags = code.index << records.CODE | code.properties.strong << records.STRONG
            found = self._members[code.index, size] = Pointer(np.array([1, 0, size, flags], np.uint64))
        return found

    def shadow(self, region: Region) -> tuple[races.Shadow | None, Pointer[int] | None]:
        """racecheck's records of a region and, for shared memory and where bytes are unwritten, initcheck's."""
        if region.lane_offset is not None:
            return None, None
        found = self._shadows.get(id(region.data))
        if found is None or found[0] is not region.data:
            raced = self.race and region.name not in ("local memory", "parameters")
            race = races.Shadow(region.data.size, self.granule) if raced else None
            found = region.data, race, None if region.written is None else Pointer[int](region.written)
            self._shadows[id(region.data)] = found
        return found[1], found[2]

    def follow(self, region: Region) -> None:
        """All of a region has been written; from now on initcheck follows what is."""
        race, _ = self.shadow(region)
        region.written = np.full(region.data.size, WRITTEN, np.uint8)
        self._shadows[id(region.data)] = region.data, race, Pointer(region.written)

    def shadow_shared(self, region: Region, written: Pointer[int] | None) -> races.Shadow | None:
        """racecheck's records of a block's shared memory (`written`: its bytes): to all blocks of its cluster."""
        race, _ = self.shadow(region)
        self._shadows[id(region.data)] = region.data, race, written
        return race

    def forget(self, region: Region) -> None:
        """Drops the records of a region, the shared memory of a block that has ended."""
        self._shadows.pop(id(region.data), None)
