"""The clock of a block, and the record of an access that is made now."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block


@rule
def tick(block: Block) -> u32:
    """Advances the clock; the new time. When the clock has run out, all recorded accesses count as ordered."""
    time = u32(block.now >> TIME & LAST_TIME)
    if time != LAST_TIME:
        block.now += 1 << TIME
        time += 1
    return time


@rule(inline=True)
def access_of(block: Block, warp: u32, code: u32) -> u64:
    """The record of an access that lane 0 of a warp makes now; `| lane` gives that of another lane."""
    return block.now | u64(code) << CODE | u64(warp) << WARP
