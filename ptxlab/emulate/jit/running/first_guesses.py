"""What racecheck guesses of a launch, so that it need not record accesses; if a guess is wrong the launch begins again.

**Allocations that are only read**: nothing in them can race. They are those that no pointer leads to which the kernel
stores through, as far as the program tells. To memcheck they are read only as well, so that a store that comes to one
after all stops the launch before anything there has changed.

**Words that one thread alone accesses, or that are only read**: those of all other allocations, unless the program has
instructions that order the threads of several blocks, or a launch of it was another kind before. A number for each word
tells whether that is so (`rules.race_numbers`); the first access of which it does not stops the launch.

Then all is put back as it was, and the launch begins again, with records of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.program.program import Program

if TYPE_CHECKING:
    from ptxlab.emulate.program.stored_pointers import Pointer
    from ptxlab.emulate.runtime.memory import Allocation
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.runtime.state import MemoryMap


class GuessedWrong(Exception):
    """A launch has stored to memory that was taken for read only, or words are not one thread's. All is as before."""


class Guesses:
    """Of one launch. taken: the allocations that are only read; numbered: whether words have numbers."""

    def __init__(self, program: Program, launch: Launch, live: Sequence[Allocation]) -> None:
        from ptxlab.emulate.program.stored_pointers import stored_through

        through = stored_through(program)
        writable = [allocation for allocation in live if allocation.writable]
        stored = writable
        if through is not None:
            pointers = [_value(pointer, launch) for pointer in through]
            stored = [a for a in writable if any(a.address <= pointer < a.end for pointer in pointers)]
        self.taken = [allocation for allocation in writable if allocation not in stored]
        self.numbered = _own_words(program, launch)
        self._program, self._stored = program, stored
        self._before: list[tuple[np.ndarray, np.ndarray]] = []
        self._lent: list[Callable[[], object]] = []

    @staticmethod
    def of(program: Program, launch: Launch, live: Sequence[Allocation], memory: MemoryMap) -> Guesses | None:
        """Those of a launch, if there are any. Memory that is taken for read only is so in the map, too."""
        found = Guesses(program, launch, live)
        for k, allocation in enumerate(live):
            if allocation in found.taken:
                memory.allocations[k].writable = 0
        return found if found.taken or found.numbered else None

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

    def judge(self, *, mistaken: bool, strayed: bool) -> None:
        """The launch has ended. If a guess was wrong this puts back what was kept, and raises `GuessedWrong`.
        mistaken: numbers did not suffice; strayed: a thread has accessed what it may not."""
        if mistaken:
            self._program.found[_own_words] = False  # nor will they be the next time
        elif not (strayed and self.taken):
            return
        for array, before in self._before:
            array[:] = before
        self.forget()
        raise GuessedWrong


def _own_words(program: Program, launch: Launch) -> bool:
    """Whether words may be expected to be one thread's, or to be only read."""
    from ptxlab.emulate.rules import race_numbers

    if race_numbers.numbers_of(32 * launch.warps * launch.blocks) > race_numbers.LAST:
        return False
    if _own_words not in program.found:
        program.found[_own_words] = race_numbers.may_number(program)
    return bool(program.found[_own_words])


def _value(pointer: Pointer, launch: Launch) -> int:
    """The address that a pointer holds."""
    if pointer.space == "param":
        return int.from_bytes(launch.params[pointer.value : pointer.value + 8], "little")
    return pointer.value
