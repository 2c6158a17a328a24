"""The memory of the checks in a launch that runs compiled code: the records of `rules.records`, and what they point to.

For each word of memory racecheck keeps a record of its last writer, one stride further on a record of a reader, and two
strides further on a record of another reader (`rules.races`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program import pointers
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import launches, notes, races
from ptxlab.emulate.rules.instructions import is_bulk
from ptxlab.emulate.rules.notes import NO_VALUE, UNINITIALISED, Note
from ptxlab.emulate.rules.records import WITHOUT, WRITTEN, Block, Mates
from ptxlab.emulate.runtime.memory import Allocation, Memory, saved
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Cta, MemoryMap


class ShadowMemory:
    def __init__(self, program: Program, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.init, self.race = "initcheck" in launch.checks, "racecheck" in launches.followed(program, launch.checks)
        self.granule = races.granule(program)
        self.record = launches.begin(program, launch)
        self._shadows: list[races.Shadow] = []
        self.keep([])

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

    def keep(self, live: Sequence[Allocation]) -> None:
        """Keeps what is in these allocations: `restore` puts it back before the launch begins again."""
        self._kept, self.restore = live, saved(live)

    def followed(self, memory: Memory, notes: list[Note], *, again: bool) -> list[Note]:
        """These notes, but for loads of what has no value: where there are any, the launch runs again in the
        interpreter, which follows values, first the blocks where that was noted. All memory is then as the launch left
        it, save that bytes without a value are known in arrays that stay on the device. again: whether it may."""
        loads = [note for note in notes if note.kind in (UNINITIALISED, NO_VALUE)]
        suspects = [note for note in loads if not is_bulk(self.program.codes[note.code])]
        if not suspects:
            return notes
        if not again:
            return [note for note in notes if note not in suspects]
        from ptxlab.emulate.step.interpreter import follow

        put_back = saved(self._kept)
        self.restore()
        try:
            found = follow(self.program, self.launch, memory, [note.block for note in suspects])
        finally:
            lost = [(a, a.written == WITHOUT) for a in self._kept if a.written is not None]
            put_back()
            for allocation, some in lost:
                if some.any():
                    if allocation.written is None:
                        allocation.written = np.full(allocation.size, WRITTEN, np.uint8)
                    allocation.written[some] = WITHOUT
        return [note for note in notes if note not in suspects] + found

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
        return notes.noted(self.record, self.program)


class ReadOnly:
    """Allocations that a launch only reads: nothing in them can race, so racecheck keeps no records of them.

    They are those that no pointer leads to which the kernel stores through, as far as the program tells. To memcheck
    they are read only as well, so that a store that comes to one after all stops the launch before anything there has
    changed. Then all is put back as it was, and the launch begins again, with records of everything. taken: they."""

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


def _value(pointer: pointers.Pointer, launch: Launch) -> int:
    if pointer.space == "param":
        return int.from_bytes(launch.params[pointer.value : pointer.value + 8], "little")
    return pointer.value
