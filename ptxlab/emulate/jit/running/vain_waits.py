"""Finds that all resident blocks wait for blocks that have not begun and never will."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.running.workers import LaunchState, Slot, Worker
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules.faults import FaultingThread, waits_for_others
from ptxlab.emulate.rules.lane_scheduling import DIVERGED_TURNS

if TYPE_CHECKING:
    from ptxlab.errors import DeviceFault


class VainWaits:
    """Looks at workers that have no room for another block: when nothing but loops that only wait has run since the
    last look, and every thread that can run is in one, nobody has changed what they wait for. Each warp has its turn
    between two looks; after two of them at all workers nobody will."""

    def __init__(self, run: LaunchState) -> None:
        self.run, program = run, run.program
        self.others = np.ones(len(program.blocks), np.bool_)
        self.others[program.block_of[list(program.waiting)]] = False
        self.inside = np.isin(np.arange(len(program.codes) + 1), program.waiting)
        self.ran: dict[Worker, int] = {}
        self.vain: dict[Worker, int] = {}

    def look(self, worker: Worker) -> DeviceFault | None:
        """Looks at a worker, and says when to look again. The fault, if all wait in vain."""
        ran = int(worker.counts["threads"][:, self.others].sum())
        busy, turns = True, 0
        for slot in worker.slots:
            ready, codes = self._ready(slot)
            diverged = any(len(set(at[lanes].tolist())) > 1 for lanes, at in zip(ready, codes, strict=True))
            turns = max(turns, int(ready.any(axis=1).sum()) * (DIVERGED_TURNS if diverged else 1))
            busy &= bool(self.inside[codes][ready].all())
        if busy and self.ran.get(worker) == ran:
            self.vain[worker] = self.vain.get(worker, 0) + 1
        else:
            self.vain.clear()
        self.ran[worker] = ran
        worker.context.asks_at = worker.context.suspensions + (2 * turns if busy else 1) * len(worker.slots)
        seen = list(self.vain.values())
        return self._fault() if len(seen) == self.run.workers_wanted and min(seen) > 1 else None

    def _ready(self, slot: Slot) -> tuple[np.ndarray, np.ndarray]:
        """For each lane of a block whether it can run, and the instruction where it is."""
        warps = slot.warps
        lanes = (warps["live"] & ~warps["wait"])[:, None] >> np.arange(LANES) & 1 != 0
        counters = np.where(warps["diverged"][:, None] != 0, warps["pc"], warps["converged_pc"][:, None])
        return lanes, np.minimum(counters >> 1, len(self.inside) - 1)

    def _fault(self) -> DeviceFault:
        run = self.run
        slots = sorted((s for worker in run.workers for s in worker.slots), key=lambda slot: slot.cta.linear)
        ready, codes = self._ready(slots[0])
        warp, lane = np.argwhere(ready)[0].tolist()
        code = run.program.codes[codes[warp, lane]]
        at = FaultingThread(run.program, run.launch, run.memory, code, slots[0].cta.linear, LANES * warp + lane)
        return waits_for_others(at, [slot.cta.linear for slot in slots])
