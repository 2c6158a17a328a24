"""The checks of one block on the stepping engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules import launches
from ptxlab.emulate.rules.blocks import started
from ptxlab.emulate.rules.mbarrier_book import Phases
from ptxlab.emulate.rules.records import Mates
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.checks import Checker


class BlockChecks:
    """The checks' record of one block."""

    def __init__(self, checker: Checker, run: Any, shared_size: int) -> None:
        self.run, self.block = run, run.index
        self.record = launches.block(checker.program, checker.launch, shared_size)
        race = checker.shadow_shared(run.spaces.shared, self.record.written)
        if race is not None:
            self.record.records, self.record.stride = race.records, race.stride
        started(self.record, run.index)
        self.phases = Phases(checker.program, checker.record, self.record, run.can_run, checker.notes, checker.early)

    def in_cluster(self, mates: Pointer[Mates], rank: int) -> None:
        """The block is one of several of a cluster."""
        launches.in_cluster(self.record, mates, rank)
        started(self.record, self.block)

    # -- mbarriers

    def touched(self, w: CheckedWarp, code: Code, touch: Touch) -> None:
        """A warp operates on mbarriers, if the addresses are valid."""
        w.machine.checker.begin()
        w.look(code, touch, "store" if code.action is Action.MBARRIER_INIT else touch.what)

    def operated(
        self, w: Warp, code: Code, addresses: np.ndarray, state: np.ndarray | None, words: list[tuple[int, int]]
    ) -> None:
        """A warp has operated on mbarriers; `words`: the contents of each lane's before and after."""
        lanes = np.flatnonzero(w.mask).tolist()[: len(words)]
        asked = addresses if state is None else state
        before, after = [word for word, _ in words], [word for _, word in words]
        places, wanted = addresses[lanes].tolist(), asked[lanes].tolist()
        if self.phases.operated(code, w.warp, lanes, places, wanted, before, after) and w.machine.checker.sync:
            raise self.run.deadlock()
