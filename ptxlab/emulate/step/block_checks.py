"""What the checks of the stepping engine know of a block: who is ordered, which copies and mbarriers are under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules import races as R
from ptxlab.emulate.rules.mbarrier_phases import Phases
from ptxlab.emulate.step.access import Touch
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.checked_warp import CheckedWarp
    from ptxlab.emulate.step.checks import Checker
    from ptxlab.emulate.step.warp import Warp


class BlockChecks:
    """What the checks know of one block."""

    def __init__(self, checker: Checker, run: Any) -> None:
        self.run, self.block = run, run.index
        self.order = R.Order(run.index, checker.published, checker.compares)
        self.expected: dict[int, tuple[int, Code, int, int]] = {}
        self.copies = Copies()
        self.phases = Phases(checker.program, run.index, self, checker.notes, race=checker.race)

    # -- mbarriers

    def touched(self, w: CheckedWarp, code: Code, touch: Touch) -> None:
        """A warp goes to mbarriers, if they are there."""
        w.machine.checker.begin()
        w.look(code, touch, "store" if code.action is Action.MBARRIER_INIT else touch.what)

    def operated(
        self, w: Warp, code: Code, addresses: np.ndarray, state: np.ndarray | None, words: list[tuple[int, int]]
    ) -> None:
        """A warp has worked on mbarriers; `words`: what each lane's held before and after."""
        lanes = np.flatnonzero(w.mask).tolist()[: len(words)]
        asked = addresses if state is None else state
        before, after = [word for word, _ in words], [word for _, word in words]
        places, wanted = addresses[lanes].tolist(), asked[lanes].tolist()
        if self.phases.operated(code, w.warp, lanes, places, wanted, before, after) and w.machine.checker.sync:
            raise self.run.deadlock()

    # -- what `Phases` asks for

    def release(self, warp: int) -> np.ndarray:
        """What a warp knows, with all that it has done."""
        return self.order.release(warp)

    def acquire(self, warp: int, known: np.ndarray) -> None:
        """The warp has learnt that."""
        self.order.learn(warp, known)

    def era(self) -> int:
        """When the last barrier of the whole block opened."""
        return self.order.full

    def group(self, thread: int) -> int:
        """The group of cp.async that a thread has closed last."""
        return self.copies.committed.get(thread, 0)

    def finish(self, thread: int, group: int) -> None:
        """A thread's copies have been waited for."""
        self.copies.finished[thread] = max(group, self.copies.finished.get(thread, 0))

    def can_run(self) -> Iterator[tuple[int, int]]:
        """The lanes that wait for nothing."""
        yield from self.run.can_run()


class Copies:
    """What `cp.async` is still copying: for each byte of shared memory the thread that asked for it, and in which of
    its groups; for each thread the groups committed and those that it has waited for."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[int, int, int]] = {}  # byte -> code index, thread, group
        self.committed: dict[int, int] = {}
        self.finished: dict[int, int] = {}

    def start(self, code: Code, thread: int, first: int, size: int) -> None:
        """A thread asks for bytes."""
        group = self.committed.get(thread, 0) + 1
        self.pending.update(dict.fromkeys(range(first, first + size), (code.index, thread, group)))

    def commit(self, thread: int) -> None:
        """What a thread has asked for so far is a group."""
        self.committed[thread] = self.committed.get(thread, 0) + 1

    def wait(self, thread: int, left: int | None) -> None:
        """A thread waits until `left` groups at most are under way; None: for all, committed or not."""
        done = self.committed.get(thread, 0)
        self.finished[thread] = done + 1 if left is None else max(done - left, self.finished.get(thread, 0))
        if left is None:
            self.committed[thread] = done + 1

    def unfinished(self, first: int, size: int) -> tuple[int, int] | None:
        """The copy (code index, thread) that has not been waited for and touches these bytes."""
        for byte in range(first, first + size):
            found = self.pending.get(byte)
            if found is not None:
                if self.finished.get(found[1], 0) < found[2]:
                    return found[0], found[1]
                del self.pending[byte]
        return None
