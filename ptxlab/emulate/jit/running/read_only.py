"""Allocations that a launch only reads: nothing in them can race, so racecheck keeps no records of them.

They are those that no pointer leads to which the kernel stores through, as far as the program tells. To memcheck they
are read only as well, so that a store that comes to one after all stops the launch before anything there has changed.
Then all is put back as it was, and the launch begins again, with records of everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate.program.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptxlab.emulate.program.pointers import Pointer
    from ptxlab.emulate.runtime.memory import Allocation
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.runtime.state import MemoryMap


class StoredAfterAll(Exception):
    """A launch has stored to memory that was taken for read only. All is as before the launch."""


class ReadOnly:
    """What is taken for read only in one launch: `taken`, which may be empty."""

    def __init__(self, program: Program, launch: Launch, live: Sequence[Allocation], memory: MemoryMap) -> None:
        from ptxlab.emulate.program.pointers import stored_through

        through = stored_through(program)
        writable = [allocation for allocation in live if allocation.writable]
        stored = writable
        if through is not None:
            pointers = [_value(pointer, launch) for pointer in through]
            stored = [a for a in writable if any(a.address <= pointer < a.end for pointer in pointers)]
        self.taken = [allocation for allocation in writable if allocation not in stored]
        for k, allocation in enumerate(live):
            if allocation in self.taken:
                memory.allocations[k].writable = 0
        arrays = [x for a in stored for x in (a.data, a.written) if x is not None] if self.taken else []
        self._before = [(array, array.copy()) for array in arrays]

    def stopped(self) -> None:
        """A thread has accessed what it may not, which stopped the launch: if that was only a guess of this class, puts
        everything back and raises `StoredAfterAll`."""
        if self.taken:
            for array, before in self._before:
                array[:] = before
            raise StoredAfterAll


def _value(pointer: Pointer, launch: Launch) -> int:
    """The address that a pointer holds."""
    if pointer.space == "param":
        return int.from_bytes(launch.params[pointer.value : pointer.value + 8], "little")
    return pointer.value
