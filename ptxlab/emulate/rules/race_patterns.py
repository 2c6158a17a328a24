"""racecheck on all lanes of a warp at addresses with a pattern: in a row, at one address, or so for each half.

`race_accesses` describes the tables of accesses.
"""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, boolean, first, rule, u32, u64
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.race_lines import lines_hold, row_settled
from ptxlab.emulate.rules.race_parts import ALL, stretch, whole_lines
from ptxlab.emulate.rules.race_reads import read_together
from ptxlab.emulate.rules.race_rows import by_rows
from ptxlab.emulate.rules.race_words import OF_MANY
from ptxlab.emulate.rules.records import WARP, Block, Launch


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


@rule(inline=True)
def as_lines(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, high: u64, pattern: u32,
    members: Pointer[u64], mine: u64, write: boolean,
) -> boolean:  # fmt: skip
    """Records what all lanes access in rows, where no word needs to be looked at. False: this is not so, or not of all
    of it; then `of_all_lanes` does it, again or for the first time."""
    by_lines = by_rows(launch, records, stride)
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


@rule(inline=True)
def of_all_lanes(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, high: u64, pattern: u32, start: u64,
    pieces: Pointer[u64], members: Pointer[u64], mine: u64, write: boolean,
) -> boolean:  # fmt: skip
    """Checks and records what all lanes access, lanes 0 and 16 at these offsets. False where it must be done lane by
    lane: the pattern is another one, or two lanes may write to one place."""
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
    else:
        return False
    return True
