"""The memory of the checks in a launch that runs compiled code: the records of `rules.records`, and what they point to.

For each word of memory racecheck keeps a record of its last writer, one stride further on a record of a reader, and two
strides further on a record of another reader (`rules.races`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program import pointers
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import launches, notes, races
from ptxlab.emulate.rules.notes import Note
from ptxlab.emulate.rules.records import Block, Mates
from ptxlab.emulate.runtime.memory import Allocation
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cta, MemoryMap


class ShadowMemory:
    """The memory of one launch's checks."""

    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.init, self.race = "initcheck" in launch.checks, "racecheck" in launch.checks
        self.granule = races.granule(program)
        self.record = launches.begin(program, launch)
        self._shadows: list[races.Shadow] = []

    def shadow(self, memory: MemoryMap, live: list[Allocation]) -> None:
        """Allocates racecheck's records of the allocations, and enters them in the table of allocations."""
        self.record.unwritten = int(any(allocation.written is not None for allocation in live))
        if self.race:
            for k, allocation in enumerate(live):
                row = memory.allocations[k]
                if row.writable:
                    made = races.Shadow(allocation.size, self.granule)
                    row.accesses, row.stride = made.records, made.stride
                    self._shadows.append(made)

    def slot(self, cta: Cta, shared: int, mates: Pointer[Mates] | None, rank: int) -> Block:
        """Allocates the records of a resident block, one of this rank in a cluster; returns its `Block`."""
        block = launches.block(self.program, self.launch, shared)
        if mates is not None:
            launches.in_cluster(block, mates, rank)
        cta.checks = Pointer(block.buffer)
        if self.init:
            cta.init_shared = block.written
        if self.race and shared:
            made = races.Shadow(shared, self.granule)
            block.records, block.stride = cta.race_shared, cta.race_shared_stride = made.records, made.stride
        return block

    def notes(self) -> Iterator[Note]:
        """The notes of the launch."""
        return notes.noted(self.record, self.program)


class ReadOnly:
    """Allocations that a launch only reads: nothing in them can race, so racecheck keeps no records of them.

    They are those that no pointer leads to which the kernel stores through, as far as the program tells. To memcheck
    they are read only as well, so that a store that comes to one after all stops the launch before anything there has
    changed. Then all is put back as it was, and the launch begins again, with records of everything."""

    def __init__(self, program: Program, launch: Launch, live: Sequence[Allocation], memory: MemoryMap) -> None:
        through = pointers.stored_through(program)
        writable = [allocation for allocation in live if allocation.writable]
        stored = writable
        if through is not None:
            held = [_value(pointer, launch) for pointer in through]
            stored = [a for a in writable if any(a.address <= address < a.end for address in held)]
        self.taken = [allocation for allocation in writable if allocation not in stored]
        for k, allocation in enumerate(live):
            if allocation in self.taken:
                memory.allocations[k].writable = 0
        arrays = [x for a in stored for x in (a.data, a.written) if x is not None] if self.taken else []
        self._before = [(array, array.copy()) for array in arrays]

    def restored(self) -> bool:
        """A thread has accessed what it may not, which stopped the launch: if that was perhaps only since memory was
        taken for read only, puts everything back as it was before the launch."""
        for array, before in self._before:
            array[:] = before
        return bool(self.taken)


def _value(pointer: pointers.Pointer, launch: Launch) -> int:
    """The address that a pointer holds."""
    if pointer.space == "param":
        return int.from_bytes(launch.params[pointer.value : pointer.value + 8], "little")
    return pointer.value
