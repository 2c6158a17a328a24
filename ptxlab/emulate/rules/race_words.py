"""racecheck on many words at a time; `races` has the rules for a single word.

For most accesses the three records of each word suffice: there is none, or it lies before the last barrier of the whole
block, or it is the same thread's. This module tests that for 16 words in a row or for 32 lanes at once, and leaves the
rest to `hazard` and `remember`.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.race_line_records import (
    by_words,
)
from ptxlab.emulate.rules.race_summaries import (
    accessed,
    none_read,
    none_written,
)
from ptxlab.emulate.rules.races import OF_WARP, hazard, remember
from ptxlab.emulate.rules.records import BLOCK, ID, MANY, TIME, WARP, Block, Launch

OF_MANY = 1 << MANY


@rule(inline=True)
def lanes_fine(record: lanes_u64, access: lanes_u64, low: u64, span: u64) -> lanes_bool:
    """The same for 32 records."""
    fine: lanes_bool = record - low < span
    if not all_of(fine):
        fine |= (record == 0) | ((record ^ access) & ID == 0)
    return fine


@rule
def judged(block: Block, record: lanes_u64, access: lanes_u64, fine: u32, low: u64) -> tuple[u32, u32]:
    """Where mbarriers, or barriers of some warps, have ordered warps. First result: also the records that lie before an
        access
    because its warp has waited, if they are of one other warp of the block. Second: the records for which that was
    decided."""
    doubt = first(~fine)
    if block.simple != 0 or doubt == 32:
        return fine, fine
    one, now = u64(extract(record, doubt)), u64(extract(access, doubt))
    if (one ^ now) >> BLOCK != 0 or (one ^ now) & OF_WARP == 0 or block.peers is not None:
        return fine, fine
    warp, other = now >> WARP & 31, one >> WARP & 31
    since = u64(max(block.sync[warp, other], block.acquired[warp, other])) << TIME
    of_warp = bits((record ^ one) & OF_WARP == 0)
    return fine | of_warp & bits(record - low < since), fine | of_warp


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
    """Scattered lanes: some words each, the first of them `at` bytes after the lane's offset; both are multiples of a
    word. Returns the lanes that have stored where another lane has stored as well.

    The vectors begin with lane 31: of lanes scattered to one place the last remains, and it must be the lowest.
    """
    chosen = lanes(reversed_bits(mask))
    begin = (widen(reversed_lanes(offsets)) >> first(u32(launch.granule))) + at // launch.granule
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    calm = block.simple != 0
    no_writer = none_written(launch, block, records, stride)
    no_reader = none_read(launch, block, records, stride)
    accessed(launch, block, records, stride, write)
    apart = all_apart(offsets, mask)
    lane = widen(reversed_lanes(lane_ids()))
    readers = records + stride
    others = readers + stride
    nowhere = splat(0) != 0
    collided: u32 = 0
    for k in range(words):
        now = lane | (access | codes[k])
        index = begin + k
        writer = splat(0)
        w_fine = ~nowhere
        if not no_writer:
            writer = gather(records, index, chosen)
            w_fine = lanes_fine(writer, now, low, span)
            if not calm:
                before, _known = judged(block, writer, now, bits(w_fine), low)
                w_fine = lanes(before)
        reader = splat(0)
        r_fine = ~nowhere
        r_known = r_fine
        if not no_reader:
            reader = gather(readers, index, chosen)
            r_fine = lanes_fine(reader, now, low, span)
            if not calm:
                before, known = judged(block, reader, now, bits(r_fine), low)
                r_fine, r_known = lanes(before), lanes(known)
        if not write and all_of(w_fine & r_fine):  # the usual case of a read: no other reader is remembered
            if no_reader or any_of(chosen & (reader != now)):
                read(readers, index, now, chosen, apart)
            no_reader = False  # lanes may read each other's words
            continue
        q_fine = ~nowhere
        q_known = q_fine
        if not no_reader:
            other = gather(others, index, chosen)
            q_fine = lanes_fine(other, now, low, span)
            if not calm:
                before, known = judged(block, other, now, bits(q_fine), low)
                q_fine, q_known = lanes(before), lanes(known)
        fine = w_fine & (r_fine & q_fine if write else r_fine | r_known & q_known | calm)
        rest: u32 = 0
        if not all_of(fine):  # lanes that do not take part are fine: what they gather is 0
            rest = bits(~fine)
            for one in lanes_of(reversed_bits(rest)):  # hazards are noted from lane 0 on
                word = extract(index, 31 - one)
                address = start + word * launch.granule
                hazard(launch, block, records + word, stride, address, extract(now, 31 - one), write)
        fine &= chosen
        if write:
            if no_writer or any_of(chosen & (writer != now)):
                scatter(records, index, now, chosen)
        elif any_of(fine & (r_fine | q_fine)):
            read(readers, index, now, fine & r_fine, apart)
            read(others, index, now, fine & ~r_fine & q_fine, apart)
        no_reader = no_reader and write
        for late in lanes_of(u32(0) if write else rest):
            remember(launch, block, records + extract(index, late), stride, extract(now, late), False)
        if write and not apart:
            collided |= bits(chosen & (gather(records, index, chosen) != now))
    return reversed_bits(collided)


@rule(inline=True)
def in_a_row(offsets: lanes_u32, size: u64) -> boolean:
    """Whether the offsets of all lanes are so many bytes apart."""
    return all_of(offsets == lane_ids() * u32(size) + extract(offsets, 0))


@rule(inline=True)
def in_part_of_a_row(launch: Launch, offsets: Pointer[u32], mask: u32) -> boolean:
    """Whether the offsets of these lanes are a word apart, like those of a row of which some lanes are missing."""
    begin = begin_of_row(launch, offsets, mask)
    return mask & ~bits(load_lanes(offsets) == lane_ids() * u32(launch.granule) + begin) == 0


@rule(inline=True)
def begin_of_row(launch: Launch, offsets: Pointer[u32], mask: u32) -> u32:
    """The offset of lane 0 in the row that the first lane of a mask lies in."""
    lane = first(mask)
    return u32(offsets[lane] - lane * u32(launch.granule))


@rule(inline=True)
def in_parts_of_halves(launch: Launch, offsets: Pointer[u32], mask: u32) -> boolean:
    """The same for the lanes of each half of a warp, of which no two have the same offset."""
    low, high = mask & 0xFFFF, mask & 0xFFFF0000
    if low == 0 or high == 0 or not in_part_of_a_row(launch, offsets, low):
        return False
    if not in_part_of_a_row(launch, offsets, high):
        return False
    half = 16 * u32(launch.granule)  # the rows are at least so far apart, in either direction
    return u32(begin_of_row(launch, offsets, high) - begin_of_row(launch, offsets, low) + 2 * half) >= 2 * half


@rule(inline=True)
def all_apart(offsets: lanes_u32, mask: u32) -> boolean:
    """Whether it is plain that no two lanes have the same offset: neighbouring lanes are equally far apart."""
    step = u32(extract(offsets, 1) - extract(offsets, 0))
    if step == 0 or u32(step + (1 << 26)) >> 27 != 0:
        return False
    return mask & ~bits(offsets == lane_ids() * step + extract(offsets, 0)) == 0


@rule(inline=True)
def read(readers: Pointer[u64], index: lanes_u64, now: lanes_u64, chosen: lanes_bool, apart: boolean) -> None:
    """Records lanes as readers; of lanes that read one word the lowest, marked as many. apart: there are none."""
    if any_of(chosen):
        scatter(readers, index, now, chosen)
        if apart:
            return
        stored = gather(readers, index, chosen)
        again = chosen & (stored != now)
        if any_of(again):
            scatter(readers, index, stored | OF_MANY, again)
