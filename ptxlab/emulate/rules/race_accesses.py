"""racecheck on the accesses of a warp: what an instruction touches, as ranges of words or lane by lane.

Two tables describe an instruction, or several that are checked at once. `pieces` is a count, and for each range of
words its offset in bytes, its number of words and a code for each, padded to a multiple of 16. `members` is a count,
and for each instruction its offset, its bytes and its code. A code is a record with only the instruction and its
strength in it. `race_words` checks the words, many at a time.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    bits,
    boolean,
    extract,
    first,
    lanes_of,
    lanes_u32,
    last,
    load_lanes,
    narrow,
    rule,
    splat,
    u32,
    u64,
)
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.findings import SAME
from ptxlab.emulate.rules.notes import note, serial
from ptxlab.emulate.rules.race_lanes import own_lines
from ptxlab.emulate.rules.race_lines import lines_hold, row_settled
from ptxlab.emulate.rules.race_parts import ALL, stretch, whole_lines
from ptxlab.emulate.rules.race_reads import read_together
from ptxlab.emulate.rules.race_rows import by_rows
from ptxlab.emulate.rules.race_words import OF_MANY, in_a_row, in_part_of_a_row, in_parts_of_halves, scattered
from ptxlab.emulate.rules.records import CODE, LAST_CODE, WARP, Block, Launch


@rule
def from_one_address(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offset: u64, start: u64, pieces: Pointer[u64],
    mine: u64, write: boolean,
) -> None:  # fmt: skip
    """All pieces, from one offset, by one lane or many."""
    followed = not write and lines_hold(launch, block, records, stride)
    at: u64 = 1
    for _ in range(pieces[0]):
        begin = offset + pieces[at]
        words = pieces[at + 1]
        word = begin // launch.granule
        if not followed or not row_settled(block, records + 3 * stride, word, words, mine >> WARP & 31):
            codes, address = pieces + (at + 2), start + begin
            stretch(launch, block, records, stride, word, address, words, codes, 1, mine, 63, ALL, write, followed)
        at += 2 + (words + 15) // 16 * 16


@rule
def from_each_lane(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offsets: lanes_u32, start: u64,
    pieces: Pointer[u64], mine: u64, mask: u32, write: boolean,
) -> u32:  # fmt: skip
    """All pieces, from an offset of each lane. Returns the lanes that have stored where another lane has as well."""
    collided: u32 = 0
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        codes = pieces + (at + 2)
        collided |= scattered(
            launch, block, records, stride, offsets, pieces[at], start, words, codes, mine, mask, write
        )
        at += 2 + (words + 15) // 16 * 16
    return collided


@rule
def from_a_row(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offset: u64, start: u64, members: Pointer[u64],
    width: u64, mine: u64, write: boolean,
) -> None:  # fmt: skip
    """All members, the lanes' accesses side by side, `width` lanes from that of `mine` on."""
    followed = not write and lines_hold(launch, block, records, stride)
    for k in range(members[0]):
        begin = offset + members[3 * k + 1]
        words = members[3 * k + 2] // launch.granule
        word = begin // launch.granule
        if followed and row_settled(block, records + 3 * stride, word, words * width, mine >> WARP & 31):
            continue
        who = mine | members[3 * k + 3]
        shift = u64(first(u32(words)))
        codes, address = launch.no_codes, start + begin
        stretch(
            launch, block, records, stride, word, address, words * width, codes, 0, who, shift, ALL, write, followed
        )


@rule
def from_part_of_a_row(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offset: u64, start: u64, pieces: Pointer[u64],
    mine: u64, mask: u32, write: boolean,
) -> None:  # fmt: skip
    """All pieces, from an offset of each lane, where these are a word apart: `offset` is the first lane's. Word by
    word, like `from_each_lane`."""
    followed = not write and lines_hold(launch, block, records, stride)
    lane = first(mask)
    width = u64(last(mask) - lane + 1)
    at: u64 = 1
    for _ in range(pieces[0]):
        begin = offset + pieces[at]
        words = pieces[at + 1]
        word = begin // launch.granule
        if not followed or not row_settled(block, records + 3 * stride, word, words - 1 + width, mine >> WARP & 31):
            for k in range(words):
                who, codes = mine | pieces[at + 2 + k] | lane, launch.no_codes
                address = start + begin + k * launch.granule
                stretch(
                    launch, block, records, stride, word + k, address, width, codes, 0, who, 0, mask >> lane, write,
                    followed,
                )  # fmt: skip
        at += 2 + (words + 15) // 16 * 16


@rule
def from_parts_of_halves(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offsets: lanes_u32, start: u64,
    pieces: Pointer[u64], mine: u64, mask: u32, write: boolean,
) -> None:  # fmt: skip
    """The same where that is so of the lanes of each half of a warp, and no two lanes have the same offset."""
    followed = not write and lines_hold(launch, block, records, stride)
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        for k in range(words):
            for half in range(2):
                part = mask & u32(0xFFFF << 16 * half)
                lane = first(part)
                begin = extract(offsets, lane) + pieces[at] + k * launch.granule
                word, width = begin // launch.granule, u64(last(part) - lane + 1)
                if followed and row_settled(block, records + 3 * stride, word, width, mine >> WARP & 31):
                    continue
                who, codes = mine | pieces[at + 2 + k] | lane, launch.no_codes
                stretch(
                    launch, block, records, stride, word, start + begin, width, codes, 0, who, 0, part >> lane, write,
                    followed,
                )  # fmt: skip
        at += 2 + (words + 15) // 16 * 16


@rule
def rows(
    launch: Launch, block: Block, warp: u32, records: Pointer[u64] | None, stride: u64, low: u64, high: u64,
    pattern: u32, members: Pointer[u64], write: boolean,
) -> boolean:  # fmt: skip
    """Records what all lanes of a warp access where no word needs to be looked at: reads of rows, and stores to whole
    lines. False: this is not so, or not of all of it; then `at_addresses` does it, again or for the first time."""
    if records is None:
        return True
    if not launch.summaries or (pattern != IN_A_ROW and pattern != HALVES_IN_A_ROW):
        return False
    mine, by_lines = me(block, warp, 0), by_rows(launch, records, stride)
    if pattern == IN_A_ROW:
        if by_lines and whole_lines(launch, block, records, stride, low, members, 32, mine, write):
            return True
        return not write and read_together(launch, block, records, stride, low, members, 32, mine)
    if write and max(low, high) - min(low, high) < members[2] * 16:
        return False
    mine |= OF_MANY if low == high else u64(0)
    if not (by_lines and whole_lines(launch, block, records, stride, low, members, 16, mine, write)):
        if write or not read_together(launch, block, records, stride, low, members, 16, mine):
            return False
    if low == high or (by_lines and whole_lines(launch, block, records, stride, high, members, 16, mine | 16, write)):
        return True
    return not write and read_together(launch, block, records, stride, high, members, 16, mine | 16)


@rule
def taking_part(launch: Launch, warp: u32, mask: u32, pieces: Pointer[u64]) -> None:
    """Records which lanes of a warp make an access, if not all do: a record for many lanes names only one of them."""
    if mask == 0xFFFFFFFF:
        return
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        for k in range(words):
            code = pieces[at + 2 + k] >> CODE & LAST_CODE
            launch.masks[code * 32 + warp] = mask
        at += 2 + (words + 15) // 16 * 16


@rule
def at_one_address(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64] | None, stride: u64, offset: u64,
    start: u64, pieces: Pointer[u64], members: Pointer[u64], write: boolean,
) -> None:  # fmt: skip
    """Lanes of a warp access one offset in an allocation, whose address is `start`. Lanes that read it in one
    instruction count as one; lanes that write it do not, since each may overwrite what another has read."""
    if records is None or mask == 0:
        return
    serial(launch, mask)
    taking_part(launch, warp, mask, pieces)
    mine = me(block, warp, 0)
    many = mask & mask - 1 != 0
    if write and many:
        offsets = narrow(splat(offset))
        lost = from_each_lane(launch, block, records, stride, offsets, start, pieces, mine, mask, write)
        if lost != 0:
            collided(launch, block, warp, mask, lost, records, offsets, start, members)
    else:
        mine |= (OF_MANY if many else u64(0)) | first(mask)
        from_one_address(launch, block, records, stride, offset, start, pieces, mine, write)


@rule
def at_addresses(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64] | None, stride: u64,
    offsets: Pointer[u32], pattern: u32, start: u64, pieces: Pointer[u64], members: Pointer[u64], write: boolean,
) -> None:  # fmt: skip
    """Lanes of a warp access an allocation, each at an offset of its own, with this pattern: IN_ONE_ALLOCATION if not
    all lanes take part."""
    if records is None or mask == 0:
        return
    serial(launch, mask)
    taking_part(launch, warp, mask, pieces)
    mine = me(block, warp, 0)
    low = u64(offsets[0])
    high = u64(offsets[16])
    if pattern == IN_A_ROW:
        from_a_row(launch, block, records, stride, low, start, members, 32, mine, write)
    elif pattern == HALVES_IN_A_ROW and not (write and max(low, high) - min(low, high) < members[2] * 16):
        if low == high:
            mine |= OF_MANY
        from_a_row(launch, block, records, stride, low, start, members, 16, mine, write)
        if low != high:
            from_a_row(launch, block, records, stride, high, start, members, 16, mine | 16, write)
    elif pattern == ALL_THE_SAME and not write:
        from_one_address(launch, block, records, stride, low, start, pieces, mine | OF_MANY, write)
    elif pattern == HALVES_THE_SAME and not write:
        from_one_address(launch, block, records, stride, low, start, pieces, mine | OF_MANY, write)
        from_one_address(launch, block, records, stride, high, start, pieces, mine | OF_MANY | 16, write)
    elif in_part_of_a_row(launch, offsets, mask):
        offset = u64(offsets[first(mask)])
        from_part_of_a_row(launch, block, records, stride, offset, start, pieces, mine, mask, write)
    elif in_parts_of_halves(launch, offsets, mask):
        each = load_lanes(offsets)
        from_parts_of_halves(launch, block, records, stride, each, start, pieces, mine, mask, write)
    elif mask == ALL and members[0] == 1 and in_a_row(load_lanes(offsets), members[2]):
        from_a_row(launch, block, records, stride, low, start, members, 32, mine, write)
    elif write or not own_lines(launch, block, records, stride, offsets, pieces, mine, mask):
        each = load_lanes(offsets)
        lost = from_each_lane(launch, block, records, stride, each, start, pieces, mine, mask, write)
        if write and lost != 0:
            collided(launch, block, warp, mask, lost, records, each, start, members)


@rule(cold=True)
def collided(
    launch: Launch, block: Block, warp: u32, mask: u32, lost: u32, records: Pointer[u64], offsets: lanes_u32,
    start: u64, members: Pointer[u64],
) -> None:  # fmt: skip
    """Lanes of one store have stored where another lane has: a hazard if the values differ, else one store of many
    lanes. There is only one member."""
    mine = me(block, warp, u32(members[3] >> CODE & LAST_CODE))
    for lane in lanes_of(lost):
        other = first(bits(offsets == extract(offsets, lane)) & mask)
        if other == lane:
            continue
        begin = u64(extract(offsets, lane)) + members[1]
        if same_values(launch, lane, other):
            for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
                records[word] |= OF_MANY
        else:
            note(launch, block, SAME, mine | lane, mine | other, start + begin, 0)


@rule(cold=True)
def same_values(launch: Launch, lane: u32, other: u32) -> boolean:
    """Whether two lanes store the same value. It is taken to be so for all but plain stores, whose values are known."""
    store = launch.store
    for component in range(store.components):
        for k in range(store.width):
            row = component * 32
            if store.values[(row + lane) * store.width + k] != store.values[(row + other) * store.width + k]:
                return False
    return True
