"""Where compiled code keeps what the checks remember: records of accesses, written bytes, clocks, and notes.

The records are those of `ptxlab.emulate.rules.races`: for each word of memory 8 bytes for its last writer, further on
(a stride) 8 for a reader, and further on again 8 for another reader. All of it is made by the launch, in plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxlab.emulate.jit.faults import barrier_before
from ptxlab.emulate.language import Pointer, u64
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.findings import DIVERGENT, Note
from ptxlab.emulate.runtime.memory import Allocation
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cta, MemoryMap

# -- what the checks know of a CTA
NOW, FULL, SIMPLE = 0, 8, 16  # i64: the block's number and its clock as in a record; that at the last barrier of all
BAR_CODE = 64  # i32 for each warp: code index + 1 of the `.aligned` barrier that it came to last
ACQUIRED, FENCED, FIRST_FENCE = 192, 320, 448  # i32 for each warp
EXPECTED, EXPECTED_CODE, EXPECTED_BY = 576, 640, 704  # i32 for each barrier: count + 1, code index, warp and lane
CAME = 1024  # i32 for each barrier and warp: when it arrived and went on
SYNC = 4096  # i32 for each warp and warp: how far the first has seen the second
COMMITTED, FINISHED, COPIES = 8192, 12288, 16384  # groups of cp.async, i32 for each thread; i64: copies so far
POLLED = 16448  # 2 i64 for each warp: what its wait for an mbarrier was that failed last, and how often since
UPDATES = 16960  # i64: operations on mbarriers that were no waits
PARTS = 17024  # 8 i32 pairs for each warp: lanes that have met, without the others, and when
CTA_RECORD = 19072

# -- what they know of the launch
TIMES, SERIAL, LOST, BLOCKS_AT, MASK, MASKS_AT = 0, 8, 16, 24, 32, 40
ENTRIES, ENTRY, ENTRY_COUNT = 64, 64, 1024
# an entry: key, count, the record of the one that noticed, that of the other, address, block, value, serial number

CONSTANTS = {
    name: value for name, value in vars().items() if name.isupper() and isinstance(value, int)
} | {"TIME": races.TIME, "CODE": races.CODE}  # fmt: skip


class Watched:
    """The memory of one launch's checks."""

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.init, self.race = "initcheck" in launch.checks, "racecheck" in launch.checks
        self.granule = races.granule(program)
        self.table = np.zeros(ENTRIES + ENTRY * ENTRY_COUNT, np.uint8)
        self.blocks = np.zeros(4 * (min(launch.blocks, races.BLOCKS) + 2), np.int32)
        self._word(BLOCKS_AT, self.blocks.ctypes.data)
        self.masks = np.zeros((len(program.codes), 32), np.uint32)  # lanes of a warp that made an access, if not all
        self._word(MASKS_AT, self.masks.ctypes.data)

    def _word(self, offset: int, value: int) -> None:
        self.table[offset : offset + 8].view(np.int64)[0] = value

    def _records(self, size: int) -> tuple[Pointer[u64], int]:
        """A pointer to fresh records for `size` bytes; the room behind each is for whole vectors."""
        words = -(-size // self.granule) + 16
        return Pointer(np.zeros(3 * words, np.uint64)), 8 * words

    def shadow(self, memory: MemoryMap, live: list[Allocation]) -> None:
        """Adds to the table of allocations where their records are."""
        if self.race:
            for k, allocation in enumerate(live):
                if allocation.writable:
                    row = memory.allocations[k]
                    row.accesses, row.stride = self._records(allocation.size)

    def slot(self, cta: Cta, shared: int) -> np.ndarray:
        """What a CTA at work needs; gives its record."""
        record = np.zeros(CTA_RECORD, np.uint8)
        cta.checks = Pointer(record)
        if self.init:
            cta.init_shared = Pointer(np.zeros(shared + 64, np.uint8))
        if "synccheck" in self.launch.checks and shared:  # for each 4 bytes the copy that is on its way to them
            cta.pending_shared = Pointer(np.zeros(shared // 4 + 16, np.uint64))
        if self.race and shared:
            cta.race_shared, cta.race_shared_stride = self._records(shared)
        return record

    def notes(self) -> Iterator[Note]:
        """What was noted."""
        for row in self.table[ENTRIES:].view(np.uint64).reshape(-1, ENTRY // 8):
            key, count, me, other, address, block, value = (int(x) for x in row[:7])
            if not key:
                continue
            has_other = bool(key & 0xFFFFF)
            mine, theirs = me >> races.BLOCK, other >> races.BLOCK
            other_block = block if mine == theirs else theirs - 1
            other_code = _field(other, races.CODE, 18)
            if key >> 40 == DIVERGENT and value:  # it waits at the barrier in front of where it goes on
                other_code = barrier_before(self.program, 2 * other_code)
            lane = _field(me, races.LANE, 5)
            if me >> races.MANY & 1 and not (me ^ other) & 0x3FF and value & ~(1 << lane):
                others = value & ~(1 << lane)  # the record speaks of its first lane, which is the other party
                lane = (others & -others).bit_length() - 1
            other_warp, other_lane = _field(other, races.WARP, 5), _field(other, races.LANE, 5)
            together = has_other and other >> races.MANY & 1 and mine == theirs
            if together and not (me ^ other) >> races.WARP & 31 and lane == other_lane:
                other_lane = races.another(int(self.masks[other_code, other_warp]), lane)
            yield Note(
                key >> 40, _field(me, races.CODE, 18), block, _field(me, races.WARP, 5), lane,
                other_code if has_other else -1, other_block, other_warp, other_lane,
                address if address != (1 << 64) - 1 else -1, value, count,
            )  # fmt: skip


def _field(record: int, at: int, bits: int) -> Any:
    return record >> at & ((1 << bits) - 1)
