"""synccheck's rules of barriers, called from compiled code with the program counters of a warp's lanes."""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, bits, boolean, load_lanes, rule, u8, u32
from ptxlab.emulate.rules import barriers
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.emulate.runtime.state import Warp


@rule
def arrived(
    launch: Launch, block: Block, warp: Warp, mask: u32, skipping: u32, barrier: u32, count: u32, aligned: boolean,
    behind: u32, may_come: Pointer[u8], code: u32,
) -> None:  # fmt: skip
    """Lanes of `mask` have arrived at a barrier; its guard excludes those of `skipping`, which go on at the program
    counter `behind`."""
    if mask == 0:
        return
    barriers.arrive(launch, block, warp.warp_id, mask, barrier, count, aligned, code)
    away = warp.live & ~mask
    if aligned and away and barrier < barriers.BARRIERS:
        waiting = warp.wait & ~bits(load_lanes(warp.sync_kind) != 0)
        here = waiting & warp.bar[barrier] & bits(load_lanes(warp.pc) == behind)
        barriers.diverged(
            launch, block, warp.warp_id, mask, away & ~here, skipping, waiting, warp.pc, behind, may_come, code
        )
