"""The checks of one block on the stepping engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import barriers, launches, race_order
from ptxlab.emulate.rules.mbarrier_lifetimes import Phases
from ptxlab.emulate.rules.mbarriers import access_kind
from ptxlab.emulate.rules.records import CHANGES, READS, WRITES, Mates, started
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.block_memory import Spaces
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.warp import Warp

KINDS = {READS: "load", WRITES: "store", CHANGES: "atomic"}


class BlockChecks:
    """The checks' record of one block."""

    def __init__(self, checker: LaunchChecks, spaces: Spaces, can_run: Callable[[], Iterator[tuple[int, int]]]) -> None:
        self.checker, self.spaces, shared = checker, spaces, spaces.shared
        self.record = launches.block(checker.program, checker.launch, shared.size)
        race = checker.shadow_shared(shared, self.record.written)
        if race is not None:
            self.record.records, self.record.stride = race.records, race.stride
        started(self.record, spaces.block)
        self.phases = Phases(checker.program, checker.record, self.record, can_run, checker.notes, checker.early)

    def in_cluster(self, mates: Pointer[Mates], rank: int) -> None:
        """The block is one of several of a cluster."""
        launches.in_cluster(self.record, mates, rank)
        started(self.record, self.spaces.block)

    # -- barriers

    def opened(self, barrier: int, warps: list[Warp], every: list[Warp], *, overfull: bool) -> None:
        """A barrier releases these of the block's warps."""
        began, live = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
        for w in every:
            threads = min(LANES, self.checker.launch.threads - LANES * w.warp)
            began[w.warp], live[w.warp] = (1 << threads) - 1, mask_bits(w.live)
        waiting = sum(1 << w.warp for w in warps)
        barriers.opened(
            self.checker.record,
            self.record,
            barrier,
            waiting,
            Pointer(began),
            Pointer(live),
            len(warps) == sum(not w.done for w in every),
            overfull,
        )

    def arrived(self, barrier: int, warp: Warp) -> None:
        """A warp has passed `bar.arrive`."""
        if self.checker.race:
            race_order.arrived(self.record, warp.warp, barrier)

    # -- mbarriers

    def touched(self, w: CheckedWarp, code: Code, touch: Touch) -> None:
        """A warp accesses memory, if the addresses are valid."""
        self.checker.begin()
        w.look(code, touch, KINDS[access_kind(code)] if code.properties.mbarrier else touch.what)

    def operated(
        self, w: Warp, code: Code, addresses: np.ndarray, state: np.ndarray | None, words: list[tuple[int, int]]
    ) -> None:
        """A warp has operated on mbarriers; `words`: the contents of each lane's before and after."""
        lanes = np.flatnonzero(w.mask).tolist()[: len(words)]
        asked = addresses if state is None else state
        before, after = [word for word, _ in words], [word for _, word in words]
        places, wanted = addresses[lanes].tolist(), asked[lanes].tolist()
        self.phases.operated(code, w.warp, lanes, places, wanted, before, after)
