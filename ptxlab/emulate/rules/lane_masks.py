"""synccheck's rules where lanes of a warp synchronize: which lanes a member mask names, which lane a shuffle reads.

PTX ISA, "shfl.sync", "vote.sync", "bar.warp.sync" and their like: the behaviour is undefined if the mask does not name
the executing lane, if a lane that it names has exited, or if a shuffle reads a lane that does not take part.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.notes import EXITED_LANE, NOWHERE, OMITTED, RANGE, SECOND, SOURCE, note, serial
from ptxlab.emulate.rules.records import Block, Launch, access_of

UP, DOWN, BFLY, IDX = range(4)
MODES = {"up": UP, "down": DOWN, "bfly": BFLY, "idx": IDX}
"""The modes of `shfl`, as the rules number them."""


@rule
def named(launch: Launch, block: Block, warp: u32, mask: u32, exited: u32, members: lanes_u32, code: u32) -> None:
    """Lanes of `mask` have arrived at an instruction, each with its member mask; those of `exited` have exited."""
    omitted = mask & bits((members >> lane_ids() & 1) == 0)
    lost = mask & bits((members & exited) != 0)
    if omitted | lost:
        serial(launch, mask)
        if omitted:
            lane = first(omitted)
            note(launch, block, OMITTED, access_of(block, warp, code) | lane, 0, NOWHERE, u64(extract(members, lane)))
        if lost:
            lane = first(lost)
            which = first(extract(members, lane) & exited)
            note(launch, block, EXITED_LANE, access_of(block, warp, code) | lane, 0, NOWHERE, u64(which))


@rule
def shuffle_source(mode: u32, by: lanes_u32, clamp: lanes_u32) -> tuple[lanes_u32, lanes_bool, lanes_u32]:
    """The lane that each lane of `shfl` reads, whether that is in range, and the last lane in range (the first one for
    `up`), as the PTX manual has it. A source below lane 0 wraps around; it is not in range."""
    lane = lane_ids()
    segment = clamp >> 8 & 31
    rest = segment ^ 31
    lowest = lane & segment
    last = lowest | clamp & rest
    reach = by & 31
    if mode == UP:
        return lane - reach, lane >= reach + last, last
    if mode == DOWN:
        return lane + reach, lane + reach <= last, last
    if mode == BFLY:
        return lane ^ reach, (lane ^ reach) <= last, last
    return lowest | reach & rest, (lowest | reach & rest) <= last, last


@rule
def shuffled(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    live: u32,
    members: lanes_u32,
    by: lanes_u32,
    clamp: lanes_u32,
    mode: u32,
    asked: boolean,
    code: u32,
) -> None:
    """Lanes of `mask` execute `shfl`. asked: it writes a predicate that says whether the source was in range."""
    source, inside, last = shuffle_source(mode, by, clamp)
    if mode == IDX and not asked:
        outside = mask & ~bits(inside)
        if outside:
            reads(launch, block, warp, outside, source | last << SECOND, RANGE, code)
    takes_part = (members & live) >> (source & 31) & 1
    absent = mask & bits(inside & (takes_part == 0) & (source != lane_ids()))
    if absent:
        reads(launch, block, warp, absent, source, SOURCE, code)


@rule
def reads(launch: Launch, block: Block, warp: u32, wrong: u32, numbers: lanes_u32, kind: u64, code: u32) -> None:
    """Notes lanes that read the wrong lane, each with a number that explains it."""
    serial(launch, wrong)
    lane = first(wrong)
    note(launch, block, kind, access_of(block, warp, code) | lane, 0, NOWHERE, u64(extract(numbers, lane)))
