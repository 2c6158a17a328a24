"""The memory of the checks in a launch that runs compiled code: the records of `rules.records`, and what they point to.

For each word of memory racecheck keeps a record of its last writer, a stride further on one of a reader, and again a
stride further on one of another reader.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.emulate.jit.faults import barrier_before
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import notes, races, records
from ptxlab.emulate.rules.findings import DIVERGENT, Note
from ptxlab.emulate.rules.records import Block
from ptxlab.emulate.runtime.memory import Allocation
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cta, MemoryMap

CONSTANTS = {
    name.upper(): Block.offset(name)
    for name in (
        "full", "simple", "bar_code", "acquired", "fenced", "first_fence", "expected", "expected_code", "expected_by",
        "came", "sync", "committed", "finished", "copies", "polled", "updates", "parts",
    )
} | {
    "SERIAL": records.Launch.offset("serial"), "MASK": records.Launch.offset("mask"),
    "BLOCKS_AT": records.Launch.offset("published"), "MASKS_AT": records.Launch.offset("masks"),
    "TIME": records.TIME, "CODE": records.CODE,
}  # fmt: skip
"""What stands for these names in the `.ll` files."""


class Watched:
    """The memory of one launch's checks."""

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.init, self.race = "initcheck" in launch.checks, "racecheck" in launch.checks
        self.granule = races.granule(program)
        self.record = records.Launch.new()
        self.record.published = records.Published.many(min(launch.blocks, races.BLOCKS) + 2)
        # lanes of a warp that made an access, if not all
        self.record.masks = Pointer(np.zeros(len(program.codes) * 32, np.uint32))
        for name, value in known(program, frozenset(launch.checks)).items():
            setattr(self.record, name.partition(".")[2], value)

    def _records(self, size: int) -> tuple[Pointer[int], int]:
        """Fresh records for `size` bytes, and their stride; the room behind each is for whole vectors."""
        words = -(-size // self.granule) + 16
        return Pointer(np.zeros(3 * words, np.uint64)), words

    def shadow(self, memory: MemoryMap, live: list[Allocation]) -> None:
        """Adds to the table of allocations where their records are."""
        if self.race:
            for k, allocation in enumerate(live):
                if allocation.writable:
                    row = memory.allocations[k]
                    row.accesses, stride = self._records(allocation.size)
                    row.stride = 8 * stride

    def slot(self, cta: Cta, shared: int) -> Block:
        """What a CTA at work needs; gives its record."""
        block = Block.new()
        block.shared_size = shared
        cta.checks = address_of(block)
        if self.init:
            block.written = cta.init_shared = Pointer(np.zeros(shared + 64, np.uint8))
        if "synccheck" in self.launch.checks and shared:  # for each 4 bytes the copy that is on its way to them
            block.pending = cta.pending_shared = Pointer(np.zeros(shared // 4 + 16, np.uint64))
        if self.race and shared:
            block.records, block.stride = self._records(shared)
            cta.race_shared, cta.race_shared_stride = block.records, 8 * block.stride
        return block

    def notes(self) -> Iterator[Note]:
        """What was noted."""
        for note in notes.noted(self.record):
            if note.kind == DIVERGENT and note.value:  # it waits at the barrier in front of where it goes on
                note.other = barrier_before(self.program, 2 * note.other)
            yield note


def known(program: Program, checks: frozenset[str]) -> dict[str, int]:
    """What is known of a launch before it runs, and constant in the rules compiled for it."""
    return {
        "Launch.initcheck": "initcheck" in checks, "Launch.racecheck": "racecheck" in checks,
        "Launch.synccheck": "synccheck" in checks, "Launch.granule": races.granule(program),
        "Launch.shared_start": program.shared_start,
    }  # fmt: skip
