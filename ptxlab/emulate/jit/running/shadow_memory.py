"""The memory of the checks in a launch that runs compiled code: the records of `rules.records`, and what they point to.

For each word of memory racecheck keeps a record of its last writer, one stride further on a record of a reader, and two
strides further on a record of another reader; `rules.race_summaries` and `rules.race_line_records` describe what lies
after these.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.emulate.jit.running.race_record_memory import LentShadow, Numbers
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import launches, notes, race_deferred_reads, race_numbers, race_repeats, races
from ptxlab.emulate.rules.note_kinds import Note
from ptxlab.emulate.rules.records import BLOCKS, Block, Mates
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
        self.record.summaries = launch.blocks <= BLOCKS  # in larger grids blocks share a number
        alone = launch.cluster_blocks == 1  # or other blocks have the block's shared memory
        self.later = self.race and self.record.summaries and alone and race_deferred_reads.may_defer(program)
        self.shadows: list[tuple[int, int, races.Shadow]] = []  # of each allocation: its address, bytes, records

    def shadow(self, memory: MemoryMap, live: list[Allocation], stop: Pointer[int] | None = None) -> None:
        """Adds to the table of allocations where their records are. stop: words have numbers, and the word that stops
        the launch."""
        numbers = None
        if stop is not None and self.record.summaries:
            threads = 32 * self.launch.warps * self.launch.blocks
            numbers = Numbers(race_numbers.numbers_of(threads))
            self.record.first_number, self.record.stop = numbers.first, stop
        self.record.unwritten = int(any(allocation.written is not None for allocation in live))
        if self.race:
            for k, allocation in enumerate(live):
                row, size = memory.allocations[k], allocation.size
                if row.writable:
                    made = LentShadow(size, self.granule) if self.record.summaries else races.Shadow(size, self.granule)
                    if numbers is not None and isinstance(made, LentShadow):
                        made.number(numbers.turn)
                    row.accesses, row.stride = made.records, made.stride
                    self.shadows.append((allocation.address, allocation.size, made))

    def ended(self) -> None:
        """The launch has ended: other launches may have the memory of its records."""
        for _, _, made in self.shadows:
            if isinstance(made, LentShadow):
                made.give_back()
        self.shadows.clear()

    def slot(self, cta: Cta, shared: int, mates: Pointer[Mates] | None, rank: int) -> Block:
        """Allocates the records of a resident CTA, one of this rank in a cluster; returns its `Block`."""
        block = launches.block(self.program, self.launch, shared)
        if mates is not None:
            launches.in_cluster(block, mates, rank)
        cta.checks = Pointer(block.buffer)
        if self.init:
            cta.init_shared = block.written
        if self.race and shared:
            made = races.Shadow(shared, self.granule, by_rows=self.record.summaries, of_a_block=True)
            block.records, block.stride = cta.race_shared, cta.race_shared_stride = made.records, made.stride
            if self.later:
                race_deferred_reads.make_room(block.later, shared, self.granule)
                race_repeats.make_room(block.repeats)
        return block

    def notes(self) -> Iterator[Note]:
        """The notes of the launch."""
        return notes.noted(self.record, self.program)
