"""How compiled code tells synccheck's rules of barriers what it knows: the state of a warp, and of all warps."""

from __future__ import annotations

from ptxlab.emulate.jit.state import BAR, FIRST_LIVE, LIVE, MEETING, PC, WAIT, WARP_ID
from ptxlab.emulate.language import Pointer, bits, boolean, load_lanes, local, rule, u8, u32, u64
from ptxlab.emulate.rules import barriers
from ptxlab.emulate.rules.records import Block, Launch


@rule
def arrived(
    launch: Launch, block: Block, warp: Pointer[u8], mask: u32, skipping: u32, barrier: u32, count: u32,
    aligned: boolean, behind: u32, may_come: Pointer[u8], code: u32,
) -> None:  # fmt: skip
    """Lanes of `mask` have come to a barrier; its guard has sent others on (`skipping`), to the program counter
    `behind`."""
    if mask == 0:
        return
    number = (warp + WARP_ID).cast(u32)[0]
    barriers.arrive(launch, block, number, mask, barrier, count, aligned, code)
    away = (warp + LIVE).cast(u32)[0] & ~mask
    if aligned and away and barrier < barriers.BARRIERS:
        pcs = (warp + PC).cast(u32)
        waiting = (warp + WAIT).cast(u32)[0] & ~bits(load_lanes((warp + MEETING).cast(u32)) != 0)
        here = waiting & (warp + BAR).cast(u32)[barrier] & bits(load_lanes(pcs) == behind)
        barriers.diverged(
            launch, block, number, mask, away & ~here, skipping, waiting, pcs, behind, may_come, code
        )  # fmt: skip


@rule
def opened(
    launch: Launch, block: Block, states: Pointer[u8], size: u64, warps: u64, barrier: u64, came: u32, alive: u32,
    overfull: boolean,
) -> None:  # fmt: skip
    """A barrier opens: of `alive` warps that have not ended `came` wait there, more than it counts if `overfull`.
    `states`: those of all warps, of `size` bytes each."""
    began = local(u32, 32)
    live = local(u32, 32)
    waiting: u32 = 0
    for number in range(warps):
        warp = states + number * size
        began[number] = (warp + FIRST_LIVE).cast(u32)[0]
        live[number] = (warp + LIVE).cast(u32)[0]
        if live[number] and (warp + BAR).cast(u32)[barrier] == live[number]:
            waiting |= u32(1) << u32(number)
    barriers.opened(launch, block, u32(barrier), waiting, began, live, came == alive, overfull)
