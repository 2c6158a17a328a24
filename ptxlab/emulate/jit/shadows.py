"""The memory of the checks in a launch that runs compiled code: the records of `rules.records`, and what they point to.

For each word of memory racecheck keeps a record of its last writer, one stride further on a record of a reader, and two
strides further on a record of another reader.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.program.register_flow import register_flow
from ptxlab.emulate.program.warpgroup_flow import follows_tiles
from ptxlab.emulate.rules import launches, notes, races
from ptxlab.emulate.rules.findings import Note
from ptxlab.emulate.rules.records import RANKS, Block, Mates
from ptxlab.emulate.runtime.memory import Allocation
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cta, MemoryMap


class Watched:
    """The memory of one launch's checks."""

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.init, self.race = "initcheck" in launch.checks, "racecheck" in launch.checks
        self.granule = races.granule(program)
        self.record = launches.begin(program, launch)
        self.followed = len(register_flow(program).registers) if self.init else 0

    def _records(self, size: int) -> races.Shadow:
        """Fresh records for `size` bytes."""
        return races.Shadow(size, self.granule)

    def shadow(self, memory: MemoryMap, live: list[Allocation]) -> None:
        """Adds to the table of allocations where their records are."""
        if self.race:
            for k, allocation in enumerate(live):
                if allocation.writable:
                    row, made = memory.allocations[k], self._records(allocation.size)
                    row.accesses, row.stride = made.records, made.stride

    def slot(self, cta: Cta, shared: int, mates: Pointer[Mates] | None, rank: int) -> Block:
        """Allocates the records of a resident CTA, one of this rank in a cluster; returns its `Block`."""
        block = Block.new()
        block.shared_size = shared
        if mates is not None:
            block.mates, block.rank = mates, rank
            block.peers = Pointer(np.zeros(32 * RANKS * 32, np.uint32))
        cta.checks = Pointer(block.buffer)
        if self.followed:
            block.followed, block.value_count = self.followed, self.followed * self.launch.warps
            block.values = Pointer(np.zeros(block.value_count, np.uint32))
        if self.init and self.program.local_size:
            block.local_stride = self.program.local_stride
            block.local_size = 32 * self.launch.warps * block.local_stride
            block.local = Pointer(np.zeros(block.local_size, np.uint8))
        if self.init:
            block.written = cta.init_shared = Pointer(np.zeros(shared + 64, np.uint8))
            if self.program.shared_gap:
                block.gaps = Pointer(np.array(launches.gaps_of(self.program), np.uint64))
        if "synccheck" in self.launch.checks and shared:  # for each 4 bytes the copy that is on its way to them
            block.pending = Pointer(np.zeros(shared // 4 + 16, np.uint64))
        if "synccheck" in self.launch.checks and follows_tiles(self.program):
            block.tile_writes, block.tile_reads = (Pointer(np.zeros(shared // 16 + 2, np.uint64)) for _ in range(2))
        if self.race and shared:
            made = self._records(shared)
            block.records, block.stride = cta.race_shared, cta.race_shared_stride = made.records, made.stride
        return block

    def notes(self) -> Iterator[Note]:
        """The notes of the launch."""
        return notes.noted(self.record, self.program)
