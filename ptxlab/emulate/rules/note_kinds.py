"""The kinds of note that engines take for the checks; `findings` says what they mean in words."""

from __future__ import annotations

from dataclasses import dataclass

UNINITIALISED, RAW, WAR, WAW, SAME, DIVERGENT, EXITED, COUNTS, OMITTED, EXITED_LANE, SOURCE, RANGE, PENDING = range(
    1, 14
)
PHASE, ENDLESS, MADE_AGAIN, INVALID_IN_USE, UNMADE, TOO_MANY, COMPLETES, BAD_COUNT = range(14, 22)
TOUCHED_EARLY, UNFENCED, NO_PROXY_FENCE, TILE_OVERWRITTEN, TILE_LAYOUT, TILE_UNORDERED = range(40, 46)
DIVERGENT_BLOCK, LOCKSTEP, MAY_HAVE_EXITED, NO_VALUE, OVERRUN = 22, 23, 31, 32, 33
TOO_FEW_BYTES, BYTES_LEFT, BAD_BYTES, BLOCK_ENDED, INVALID_BEFORE_COPY, INIT_UNORDERED, UNSEEN = range(24, 31)
"""The kinds of note an engine takes. SAME: two lanes in one store."""
SECOND, SECOND_WIDE = 16, 32
"""In the value of a note that has two numbers: where the second one begins, of counts and of lanes, and of others."""
CAUSE = 32
"""In the value of a race's note: where code index + 1 of the instruction begins that could have ordered it."""


@dataclass
class Note:
    """What an engine noted: `kind`, the code index and thread (linear block, warp, lane) that noticed, those of the
    other party (code -1: there is none), the address (as the instruction sees it), a number that the kind explains, and
    how often it happened."""

    kind: int
    code: int
    block: int
    warp: int
    lane: int
    other: int = -1
    other_block: int = 0
    other_warp: int = 0
    other_lane: int = 0
    address: int = -1
    value: int = 0
    count: int = 1
