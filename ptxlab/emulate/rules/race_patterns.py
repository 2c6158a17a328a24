"""racecheck on all lanes of a warp at addresses with a pattern: in a row, at one address, or so for each half.

`race_accesses` describes the tables of accesses.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
    next_piece,
)
from ptxlab.emulate.rules.race_line_records import LINE, SCALE, by_rows, inverse_of
from ptxlab.emulate.rules.race_partial_lines import part_of_line, stretch, whole_lines
from ptxlab.emulate.rules.race_row_reads import read_together
from ptxlab.emulate.rules.race_summaries import accessed, none_read, none_written
from ptxlab.emulate.rules.race_words import OF_MANY
from ptxlab.emulate.rules.records import BLOCK, Block, Launch

CLOSE = 8
"""Words by which lanes may be apart to be looked at by lines."""


@rule
def from_one_address(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    start: u64,
    pieces: Pointer[u64],
    access: u64,
    write: boolean,
) -> None:
    """All pieces, from one offset, by one lane or many."""
    at: u64 = 1
    for _ in range(pieces[0]):
        begin = offset + pieces[at]
        words = pieces[at + 1]
        word, codes = begin // launch.granule, pieces + (at + 2)
        stretch(launch, block, records, stride, word, start + begin, words, codes, 1, access, 63, ALL_LANES, write)
        at = next_piece(at, words)


@rule
def from_a_row(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    start: u64,
    members: Pointer[u64],
    width: u64,
    access: u64,
    write: boolean,
) -> None:
    """All members, the lanes' accesses side by side, `width` lanes from that of `access` on."""
    for k in range(members[0]):
        a_row(launch, block, records, stride, offset, start, members + 3 * k, width, access, write)


@rule
def from_part_of_a_row(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    start: u64,
    pieces: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> None:
    """All pieces, from an offset of each lane, where these are a word apart: `offset` is the first lane's. Word by
    word, like `race_accesses.from_each_lane`."""
    lane = first(mask)
    width = u64(last(mask) - lane + 1)
    at: u64 = 1
    for _ in range(pieces[0]):
        begin = offset + pieces[at]
        words = pieces[at + 1]
        word = begin // launch.granule
        for k in range(words):
            who, codes = access | pieces[at + 2 + k] | lane, launch.no_codes
            address = start + begin + k * launch.granule
            stretch(launch, block, records, stride, word + k, address, width, codes, 0, who, 0, mask >> lane, write)
        at = next_piece(at, words)


@rule
def from_parts_of_halves(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: lanes_u32,
    start: u64,
    pieces: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> None:
    """The same where that is so of the lanes of each half of a warp, and no two lanes have the same offset."""
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        for k in range(words):
            for half in range(2):
                part = mask & u32(0xFFFF << 16 * half)
                lane = first(part)
                begin = extract(offsets, lane) + pieces[at] + k * launch.granule
                word, width = begin // launch.granule, u64(last(part) - lane + 1)
                who, codes = access | pieces[at + 2 + k] | lane, launch.no_codes
                stretch(
                    launch, block, records, stride, word, start + begin, width, codes, 0, who, 0, part >> lane, write
                )
        at = next_piece(at, words)


@rule(inline=True)
def close_lanes(launch: Launch, records: Pointer[u64], stride: u64, offsets: Pointer[u32], mask: u32) -> u64:
    """By how many words the offset of each lane is larger than that of the lane before, if that is so, and few: so that
    lines are looked at in place of lanes. 0 elsewhere."""
    lane = first(mask)
    step = u32(offsets[lane + 1 & 31] - offsets[lane])
    apart = u64(step) // launch.granule
    if mask >> lane & 3 != 3 or apart < 2 or apart > CLOSE or not by_rows(launch, records, stride):
        return 0
    straight = (lane_ids() - lane) * step + offsets[lane]
    return apart if mask & ~bits(load_lanes(offsets) == straight) == 0 else u64(0)


@rule
def from_close_lanes(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    apart: u64,
    start: u64,
    pieces: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
) -> None:
    """All pieces, from an offset of each lane, where these are so many words apart. Word by word, and line by line."""
    low = block.now >> BLOCK << BLOCK
    span, granule = u64(block.full - low), launch.granule
    no_writer, no_reader = none_written(launch, block, records, stride), none_read(launch, block, records, stride)
    accessed(launch, block, records, stride, write)
    one = first(mask)
    reach, part = u64(last(mask) - one) * apart, (row_ids() & 0) + u64(mask >> one)
    inverse = u64(inverse_of(u32(apart)))
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        for k in range(words):
            word = (offsets[one] + pieces[at]) // granule + k
            for number in range(word >> LINE, (word + reach >> LINE) + 1):
                behind = row_ids() + u64((number << LINE) - word)
                behind = select(behind <= reach, behind, (row_ids() & 0) + 1)  # 1: between two lanes
                lane = behind * inverse >> SCALE
                chosen = bits((lane * apart == behind) & (part >> lane & 1 != 0))
                if chosen != 0:
                    part_of_line(
                        launch,
                        block,
                        records,
                        stride,
                        number,
                        start + (number << LINE) * granule,
                        lane + one + (access | pieces[at + 2 + k]),
                        chosen,
                        low,
                        span,
                        write,
                        no_writer,
                        no_reader,
                        True,
                    )
            no_reader = no_reader and write
        at = next_piece(at, words)


@rule(inline=True)
def a_row(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    start: u64,
    member: Pointer[u64],
    width: u64,
    access: u64,
    write: boolean,
) -> None:
    """The same of one member, which is one behind the pointer."""
    begin = offset + member[1]
    words = member[2] // launch.granule
    word = begin // launch.granule
    who, codes, address = access | member[3], launch.no_codes, start + begin
    shift = u64(first(u32(words)))
    stretch(launch, block, records, stride, word, address, words * width, codes, 0, who, shift, ALL_LANES, write)


@rule
def from_crossing_halves(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    high: u64,
    start: u64,
    members: Pointer[u64],
    width: u64,
    access: u64,
) -> None:
    """All members, which read, where the two halves of the warp read some words in common: in the order of the text."""
    for k in range(members[0]):
        a_row(launch, block, records, stride, low, start, members + 3 * k, width, access, False)
        a_row(launch, block, records, stride, high, start, members + 3 * k, width, access | 16, False)


@rule(inline=True)
def crossing(low: u64, high: u64, members: Pointer[u64], width: u64) -> boolean:
    """Whether rows of so many lanes, one for each half of the warp, have words in common, of one member or of two."""
    if low == high:
        return False
    least, most = members[1], members[1] + width * members[2]
    for k in range(1, members[0]):
        least = min(least, members[3 * k + 1])
        most = max(most, members[3 * k + 1] + width * members[3 * k + 2])
    return max(low, high) - min(low, high) < most - least


@rule(inline=True)
def as_lines(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    high: u64,
    pattern: u32,
    members: Pointer[u64],
    access: u64,
    write: boolean,
) -> boolean:
    """Records what all lanes access in rows, where no word needs to be looked at. False: this is not so, or not of all
    of it; then `of_all_lanes` does it, again or for the first time."""
    by_lines = by_rows(launch, records, stride)
    if pattern == IN_A_ROW:
        if by_lines and whole_lines(launch, block, records, stride, low, members, 32, access, write):
            return True
        return not write and read_together(launch, block, records, stride, low, members, 32, access)
    if crossing(low, high, members, 16) or (write and low == high):
        return False
    access |= OF_MANY if low == high else u64(0)
    if not (by_lines and whole_lines(launch, block, records, stride, low, members, 16, access, write)):
        if write or not read_together(launch, block, records, stride, low, members, 16, access):
            return False
    if low == high or (by_lines and whole_lines(launch, block, records, stride, high, members, 16, access | 16, write)):
        return True
    return not write and read_together(launch, block, records, stride, high, members, 16, access | 16)


@rule(inline=True)
def of_all_lanes(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    low: u64,
    high: u64,
    pattern: u32,
    start: u64,
    pieces: Pointer[u64],
    members: Pointer[u64],
    access: u64,
    write: boolean,
) -> boolean:
    """Checks and records what all lanes access, lanes 0 and 16 at these offsets. False where it must be done lane by
    lane: the pattern is another one, or two lanes may write to one place."""
    if pattern == IN_A_ROW:
        from_a_row(launch, block, records, stride, low, start, members, 32, access, write)
    elif pattern == HALVES_IN_A_ROW and not write and crossing(low, high, members, 16):
        from_crossing_halves(launch, block, records, stride, low, high, start, members, 16, access)
    elif pattern == HALVES_IN_A_ROW and not (write and max(low, high) - min(low, high) < members[2] * 16):
        if low == high:
            access |= OF_MANY
        from_a_row(launch, block, records, stride, low, start, members, 16, access, write)
        if low != high:
            from_a_row(launch, block, records, stride, high, start, members, 16, access | 16, write)
    elif pattern == ALL_THE_SAME and not write:
        from_one_address(launch, block, records, stride, low, start, pieces, access | OF_MANY, write)
    elif pattern == HALVES_THE_SAME and not write and crossing(low, high, members, 1):
        from_crossing_halves(launch, block, records, stride, low, high, start, members, 1, access | OF_MANY)
    elif pattern == HALVES_THE_SAME and not write:
        from_one_address(launch, block, records, stride, low, start, pieces, access | OF_MANY, write)
        from_one_address(launch, block, records, stride, high, start, pieces, access | OF_MANY | 16, write)
    else:
        return False
    return True


@rule
def found_pattern(offsets: Pointer[u32], mask: u32, members: Pointer[u64]) -> u32:
    """The pattern of lanes that read, of which it is not known: ALL_THE_SAME of several, or one of all
    lanes for each half of the warp, or IN_ONE_ALLOCATION. Lanes that read one word in one of these ways count as one
    reader, whatever was known of their addresses before."""
    lane = first(mask)
    each, low, high = load_lanes(offsets), u32(offsets[lane]), u32(offsets[16])
    if mask & mask - 1 != 0 and mask & ~bits(each == low) == 0:
        return ALL_THE_SAME
    if mask != ALL_LANES:
        return IN_ONE_ALLOCATION
    if bits(each == low) & 0xFFFF == 0xFFFF and bits(each == high) >> 16 == 0xFFFF:
        return HALVES_THE_SAME
    for k in range(1, members[0]):
        if members[3 * k + 2] != members[2]:
            return IN_ONE_ALLOCATION
    apart, behind = lane_ids() * u32(members[2]), u32(high - 16 * members[2])
    if bits(each == apart + low) & 0xFFFF == 0xFFFF and bits(each == apart + behind) >> 16 == 0xFFFF:
        return HALVES_IN_A_ROW
    return IN_ONE_ALLOCATION
