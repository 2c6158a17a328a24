"""The allocations that racecheck takes for read only: nothing in them can race, so that no access needs a record.

They are those that no pointer leads to which the kernel stores through, as far as the program tells. To memcheck they
are read only as well, so that a store that comes to one after all stops the launch before anything there has changed.
Then all else is put back as it was, and the launch begins again, with records of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ptxlab.emulate.program.program import Program

if TYPE_CHECKING:
    from ptxlab.emulate.program.stored_pointers import Pointer
    from ptxlab.emulate.runtime.memory import Allocation
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.runtime.state import MemoryMap


class StoredAfterAll(Exception):
    """A launch has stored to memory that was taken for read only."""


class ReadOnly:
    """Of one launch. taken: these allocations."""

    def __init__(self, program: Program, launch: Launch, live: Sequence[Allocation]) -> None:
        from ptxlab.emulate.program.stored_pointers import stored_through

        through = stored_through(program)
        writable = [allocation for allocation in live if allocation.writable]
        stored = writable
        if through is not None:
            pointers = [_value(pointer, launch) for pointer in through]
            stored = [a for a in writable if any(a.address <= pointer < a.end for pointer in pointers)]
        self.taken = [allocation for allocation in writable if allocation not in stored]
        self._stored = stored
        self._before: list[tuple[np.ndarray, np.ndarray]] = []
        self._lent: list[Callable[[], object]] = []

    @staticmethod
    def of(program: Program, launch: Launch, live: Sequence[Allocation], memory: MemoryMap) -> ReadOnly | None:
        """That of a launch, if there is any memory to take for read only, which it then is in the map, too."""
        found = ReadOnly(program, launch, live)
        for k, allocation in enumerate(live):
            if allocation in found.taken:
                memory.allocations[k].writable = 0
        return found if found.taken else None

    def keep(self) -> None:
        """Keeps what the launch may change, in memory that launches use in turn: new pages take long to get."""
        from ptxlab.emulate.jit.running.race_record_memory import lend

        for array in [x for a in self._stored for x in (a.data, a.written) if x is not None]:
            octets, give_back = lend(array.nbytes)
            before = octets[: array.nbytes].view(array.dtype)
            before[:] = array
            self._before.append((array, before))
            self._lent.append(give_back)

    def forget(self) -> None:
        """The launch has ended."""
        self._before.clear()
        for give_back in self._lent:
            give_back()

    def give_up(self) -> NoReturn:
        """Puts back what was kept. Raises `StoredAfterAll`."""
        for array, before in self._before:
            array[:] = before
        raise StoredAfterAll


def _value(pointer: Pointer, launch: Launch) -> int:
    """The address that a pointer holds."""
    if pointer.space == "param":
        return int.from_bytes(launch.params[pointer.value : pointer.value + 8], "little")
    return pointer.value
