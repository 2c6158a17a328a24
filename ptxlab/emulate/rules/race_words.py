"""racecheck on the words of up to 32 lanes at a time; `races` has the rules for a single word.

For most accesses the three records of each word suffice: there is none, or it lies before the last barrier of the whole
block, or it is the same thread's. This module tests that for all lanes at once, and leaves the rest to `hazard` and
`remember`.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.races import OF_WARP, hazard, remember
from ptxlab.emulate.rules.records import BLOCK, ID, MANY, TIME, WARP, Block, Launch

OF_MANY = 1 << MANY


@rule(inline=True)
def fine(block: Block, record: lanes_u64, access: lanes_u64) -> u32:
    """The lanes whose record needs no second look, a bit for each: there is none, or it lies before the block's last
    barrier of all, or it is that of the same thread."""
    low = block.now >> BLOCK << BLOCK
    good: lanes_bool = record - low < u64(block.full - low)
    if not all_of(good):
        good |= (record == 0) | ((record ^ access) & ID == 0)
    return bits(good)


@rule
def judged(block: Block, record: lanes_u64, access: lanes_u64, fine: u32) -> tuple[u32, u32]:
    """Where mbarriers, or barriers of some warps, have ordered warps. First result: also the records that lie before an
    access because its warp has waited, if they are of one other warp of the block. Second: the records for which that
    was decided."""
    doubt = first(~fine)
    if block.simple != 0 or doubt == 32:
        return fine, fine
    one, now = u64(extract(record, doubt)), u64(extract(access, doubt))
    if (one ^ now) >> BLOCK != 0 or (one ^ now) & OF_WARP == 0 or block.peers is not None:
        return fine, fine
    warp, other = now >> WARP & 31, one >> WARP & 31
    since = u64(max(block.sync[warp, other], block.acquired[warp, other])) << TIME
    of_warp = bits((record ^ one) & OF_WARP == 0)
    return fine | of_warp & bits(record - (block.now >> BLOCK << BLOCK) < since), fine | of_warp


@rule
def scattered(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: lanes_u32,
    at: u64,
    start: u64,
    words: u64,
    codes: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> u32:
    """Checks and records some words of each lane, the first of them `at` bytes after the lane's offset; both are
    multiples of a word. Returns the lanes that have stored where another lane has stored as well.

    The vectors begin with lane 31: of lanes scattered to one place the last remains, and it must be the lowest.
    """
    chosen = lanes(reversed_bits(mask))
    begin = (widen(reversed_lanes(offsets)) >> first(u32(launch.granule))) + at // launch.granule
    calm = block.simple != 0
    distinct = all_distinct(offsets, mask)
    lane = widen(reversed_lanes(lane_ids()))
    readers = records + stride
    others = readers + stride
    collided: u32 = 0
    for k in range(words):
        now = lane | (access | codes[k])
        index = begin + k
        writer = gather(records, index, chosen)  # lanes that do not take part are fine: what they gather is 0
        w_fine, _w = judged(block, writer, now, fine(block, writer, now))
        reader = gather(readers, index, chosen)
        r_fine, r_known = judged(block, reader, now, fine(block, reader, now))
        if not write and w_fine & r_fine == ALL_LANES:  # the usual case of a read: no other reader is remembered
            if any_of(chosen & (reader != now)):
                read(readers, index, now, chosen, distinct)
            continue
        other = gather(others, index, chosen)
        q_fine, q_known = judged(block, other, now, fine(block, other, now))
        doubtful = u32(~w_fine)
        if write:
            doubtful |= u32(~(r_fine & q_fine))
        elif not calm:
            doubtful |= u32(~(r_fine | r_known & q_known))
        for one in lanes_of(reversed_bits(doubtful)):  # hazards are noted from lane 0 on
            word = extract(index, 31 - one)
            address = start + word * launch.granule
            hazard(launch, block, records + word, stride, address, extract(now, 31 - one), write)
        if write:
            if any_of(chosen & (writer != now)):
                scatter(records, index, now, chosen)
            if not distinct:
                collided |= bits(chosen & (gather(records, index, chosen) != now))
            continue
        read(readers, index, now, chosen & lanes(~doubtful & r_fine), distinct)
        read(others, index, now, chosen & lanes(~doubtful & ~r_fine & q_fine), distinct)
        for late in lanes_of(doubtful):
            remember(launch, block, records + extract(index, late), stride, extract(now, late), False)
    return reversed_bits(collided)


@rule(inline=True)
def all_distinct(offsets: lanes_u32, mask: u32) -> boolean:
    """Whether it is plain that no two lanes have the same offset: neighbouring lanes are equally far apart."""
    step = u32(extract(offsets, 1) - extract(offsets, 0))
    if step == 0 or u32(step + (1 << 26)) >> 27 != 0:
        return False
    return mask & ~bits(offsets == lane_ids() * step + extract(offsets, 0)) == 0


@rule(inline=True)
def read(readers: Pointer[u64], index: lanes_u64, now: lanes_u64, chosen: lanes_bool, distinct: boolean) -> None:
    """Records lanes as readers; of lanes that read one word the lowest, marked as many. distinct: there are none."""
    if any_of(chosen):
        scatter(readers, index, now, chosen)
        if distinct:
            return
        stored = gather(readers, index, chosen)
        again = chosen & (stored != now)
        if any_of(again):
            scatter(readers, index, stored | OF_MANY, again)
