"""How compiled code tells synccheck's rules of barriers what it knows: the state of one warp, or of all of a block."""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, bits, boolean, load_lanes, local, rule, u8, u32, u64
from ptxlab.emulate.rules import barriers, blocks
from ptxlab.emulate.rules.records import Block, Launch
from ptxlab.emulate.runtime.state import Context, Cta, Warp


@rule
def started(cta: Cta) -> None:
    """A block begins."""
    blocks.started(cta.checks.cast(Block)[0], cta.linear)


@rule
def arrived(
    launch: Launch, block: Block, warp: Warp, mask: u32, skipping: u32, barrier: u32, count: u32, aligned: boolean,
    behind: u32, may_come: Pointer[u8], code: u32,
) -> None:  # fmt: skip
    """Lanes of `mask` have come to a barrier; its guard has sent those of `skipping` on, to the program counter
    `behind`."""
    if mask == 0:
        return
    barriers.arrive(launch, block, warp.warp_id, mask, barrier, count, aligned, code)
    away = warp.live & ~mask
    if aligned and away and barrier < barriers.BARRIERS:
        waiting = warp.wait & ~bits(load_lanes(warp.meeting) != 0)
        here = waiting & warp.bar[barrier] & bits(load_lanes(warp.pc) == behind)
        barriers.diverged(
            launch, block, warp.warp_id, mask, away & ~here, skipping, waiting, warp.pc, behind, may_come, code
        )


@rule
def opened(
    context: Context, cta: Cta, states: Pointer[u8], size: u64, barrier: u64, came: u32, alive: u32, overfull: boolean
) -> None:
    """A barrier opens: of `alive` warps that have not ended `came` wait there, more than it counts if `overfull`.
    `states`: those of all warps, of `size` bytes each."""
    launch, block = context.check.cast(Launch)[0], cta.checks.cast(Block)[0]
    began = local(u32, 32)
    live = local(u32, 32)
    waiting: u32 = 0
    for number in range(u64(context.warps)):
        warp = (states + number * size).cast(Warp)[0]
        began[number] = warp.first_live
        live[number] = warp.live
        if warp.live and warp.bar[barrier] == warp.live:
            waiting |= u32(1) << u32(number)
    barriers.opened(launch, block, u32(barrier), waiting, began, live, came == alive, overfull)
