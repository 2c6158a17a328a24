"""The stepping engine's checks of one block: its record, copies in flight and mbarriers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.program.warpgroup_flow import follows_tiles
from ptxlab.emulate.rules import launches
from ptxlab.emulate.rules.blocks import started
from ptxlab.emulate.rules.mbarrier_phases import Phases
from ptxlab.emulate.rules.records import RANKS, Block, Mates
from ptxlab.emulate.step.access import Touch
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.checked_warp import CheckedWarp
    from ptxlab.emulate.step.checks import Checker
    from ptxlab.emulate.step.warp import Warp


class BlockChecks:
    """The checks' record of one block."""

    def __init__(self, checker: Checker, run: Any, shared_size: int) -> None:
        self.run, self.block = run, run.index
        self.record = Block.new()
        self.record.shared_size = shared_size
        if checker.sync:
            self.record.pending = Pointer(np.zeros(shared_size // 4 + 1, np.uint64))
        if checker.sync and follows_tiles(checker.program):
            sizes = shared_size // 16 + 2
            self.record.tile_writes, self.record.tile_reads = (Pointer(np.zeros(sizes, np.uint64)) for _ in range(2))
        if checker.init:
            self.record.written = Pointer(np.zeros(-(-shared_size // 16) * 16, np.uint8))
            if checker.program.shared_gap:
                self.record.gaps = Pointer(np.array(launches.gaps_of(checker.program), np.uint64))
        if checker.init and checker.program.local_size:
            self.record.local_stride = checker.program.local_stride
            self.record.local_size = 32 * checker.launch.warps * self.record.local_stride
            self.record.local = Pointer(np.zeros(self.record.local_size, np.uint8))
        if checker.flow.registers:
            warps, record = checker.launch.warps, self.record
            record.followed, record.value_count = len(checker.flow.registers), len(checker.flow.registers) * warps
            record.values = Pointer(np.zeros(record.value_count, np.uint32))
        started(self.record, run.index)
        self.phases = Phases(checker.program, self.record, run.can_run, checker.notes, race=checker.race)

    def in_cluster(self, mates: Pointer[Mates], rank: int) -> None:
        """The block is one of several of a cluster."""
        self.record.mates, self.record.rank = mates, rank
        self.record.peers = Pointer(np.zeros(32 * RANKS * 32, np.uint32))
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
