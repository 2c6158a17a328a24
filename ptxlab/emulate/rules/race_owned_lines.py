"""racecheck on words that one thread alone has accessed: one record in place of three.

A thread that updates elements in place, be it a structure, a pixel or a pair, reads and writes words of its own. Such
words lie in **owned** lines (`race_line_records`): the record of each is that of its thread, with two code indices in
it. As long as the next access to it is by the same thread there is no hazard, and it is recorded by one comparison. It
does not matter whose the words beside it are. The first access for which that is not so gives the words of the line
their three records.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import next_piece
from ptxlab.emulate.rules.race_line_records import (
    AGE,
    ALL_OWNED,
    EPOCH,
    FLAGS,
    LINE,
    NOT_OWNED,
    OF_A_BLOCK,
    OF_WORDS,
    OWN_RECORDS,
    OWNED,
    OWNED_LINES,
    OWNER,
    READ,
    SCALE,
    SOME_OWNED,
    WROTE,
    by_rows,
    how_kept,
    inverse_of,
    line_of,
    row_of,
)
from ptxlab.emulate.rules.race_summaries import accessed
from ptxlab.emulate.rules.race_words import all_apart
from ptxlab.emulate.rules.records import CODE, LAST_CODE, MANY, STRONG, Block, Launch

LARGEST = (1 << WROTE - READ) - 2
"""The largest code index that an owned word's record has room for."""
WHOLE_LINE = (1 << (1 << LINE)) - 1
"""The bits of all words of a line."""
CLOSE = 16
"""Words that lanes are apart at most."""
SWEPT = 1 << 22
"""Words of the largest allocation all of whose lines are made owned ones at once."""


# -- lines -------------------------------------------------------------------------------------------------------------


@rule(inline=True)
def is_owned(records: Pointer[u64], stride: u64, number: u64) -> boolean:
    """Whether a line is owned."""
    return line_of(records, stride, number)[3] >> AGE == records[3 * stride + EPOCH] | OWNED


@rule
def made_own(line: Pointer[u64], records: Pointer[u64], stride: u64, number: u64) -> boolean:
    """Makes a line an owned one if nothing has accessed it, or one warp has as a whole and at one time."""
    summary, at = records + 3 * stride, records + (number << LINE)
    epoch, found = summary[EPOCH], row_ids() & 0
    if (line[3] >> AGE ^ epoch) & ~FLAGS == 0:
        if line[3] >> AGE != epoch or line[2] != 0 or (line[0] | line[1]) & (1 << STRONG | 1 << MANY) != 0:
            return False
        for third in range(2):
            record = line[third]
            if record != 0:
                if how_kept(line, third) == OF_WORDS or record >> CODE & LAST_CODE > LARGEST:
                    return False
                owners = row_of(record, how_kept(line, third)) & OWNER
                if not all_of((found == 0) | ((found ^ owners) & OWNER == 0)):
                    return False
                found |= owners | (record >> CODE & LAST_CODE) + 1 << (READ if third == 1 else WROTE)
    store_row(at, found)
    line[3] = u64((epoch | OWNED) << AGE)
    summary[OWN_RECORDS] = 1
    return True


@rule(inline=True)
def taken(at: Pointer[u64], new: row_u64, chosen: row_bool, field: u64) -> boolean:
    """Records an access to some words of an owned line. False, and nothing changed, if one is another thread's."""
    old = load_row(at)
    if any_of(chosen & (old != 0) & ((old ^ new) & OWNER != 0)):
        return False
    store_row(at, select(chosen, old & u64(~field) | new, old))
    return True


@rule
def line_taken(records: Pointer[u64], stride: u64, number: u64, now: row_u64, chosen: u32, write: boolean) -> boolean:
    """Records an access to some words of a line, as `now` has it, if the line is owned, or is from now on: that it is
    not where all words are accessed, since a line may be one record then (`race_line_records`)."""
    line, summary = line_of(records, stride, number), records + 3 * stride
    if not is_owned(records, stride, number):
        if chosen == WHOLE_LINE or summary[OF_A_BLOCK] != 0 or not made_own(line, records, stride, number):
            return False
    code = now >> CODE & LAST_CODE
    words: row_bool = ((row_ids() & 0) + u64(chosen)) >> row_ids() & 1 != 0
    if any_of(words & ((now & (1 << STRONG | 1 << MANY) != 0) | (code > LARGEST))):
        return False
    new = now & OWNER | (code + 1 << field_of(write))
    return taken(records + (number << LINE), new, words, u64(LARGEST + 1) << field_of(write))


@rule(inline=True)
def field_of(write: boolean) -> u64:
    """Where the code index of an access begins in an owned word's record."""
    return u64(WROTE) if write else u64(READ)


# -- accesses ----------------------------------------------------------------------------------------------------------


@rule
def listed(launch: Launch, pieces: Pointer[u64], codes: Pointer[u32], write: boolean) -> tuple[u64, u32]:
    """What a lane accesses: its lowest offset, and which of the 32 words from there on, 0 if it cannot be recorded like
    this. codes: gets the code index of each word, where it stands in a record."""
    least, wanted, at = pieces[1], u32(0), u64(1)
    for _ in range(pieces[0]):
        least = min(least, pieces[at])
        at = next_piece(at, pieces[at + 1])
    at = 1
    for _ in range(pieces[0]):
        begin = u64(pieces[at] - least) // launch.granule
        if begin + pieces[at + 1] > 32:
            return least, 0
        for k in range(pieces[at + 1]):
            access = pieces[at + 2 + k]
            if access >> STRONG & 1 != 0 or access >> CODE > LARGEST:
                return least, 0
            codes[begin + k] = u32((access >> CODE) + 1 << field_of(write))
            wanted |= u32(1 << u32(begin + k))
        at = next_piece(at, pieces[at + 1])
    return least, wanted


@rule
def run_taken(
    records: Pointer[u64],
    stride: u64,
    word: u64,
    apart: u32,
    access: u64,
    mask: u32,
    wanted: u32,
    codes: Pointer[u32],
    write: boolean,
) -> boolean:
    """Records what lanes access that are so many words apart: from that of `access` on, whose first word this is, the
    lanes of a mask."""
    field, mark = u64(LARGEST + 1) << field_of(write), u64((records[3 * stride + EPOCH] | OWNED) << AGE)
    inverse, reach = inverse_of(apart), last(mask) * apart + last(wanted)
    ids, only = narrow(row_ids()), codes[first(wanted)]
    for number in range(word >> LINE, (word + reach >> LINE) + 1):
        line = line_of(records, stride, number)
        if line[3] != mark and not made_own(line, records, stride, number):
            return False
        behind = ids + u32((number << LINE) - word)
        inside = behind <= reach
        near = select(inside, behind, ids & 0)
        lane = near * inverse >> SCALE
        within = near - lane * apart
        who = lane + only
        for k in lanes_of(wanted & wanted - 1):
            who = select(within == k, lane + codes[k], who)
        chosen = inside & ((ids & 0) + mask >> lane & ((ids & 0) + wanted >> within) & 1 != 0)
        if not taken(records + (number << LINE), widen(who) + access, chosen, field):
            return False
    return True


@rule(inline=True)
def run_of(launch: Launch, offsets: Pointer[u32], left: u32, words: u32) -> tuple[u32, u32]:
    """By how many words the first lanes of a mask are apart, 0 if that is too few or too many; and which lanes continue
    as these do."""
    lane, rest = first(left), left & left - 1
    if rest == 0:
        return words, left
    two = first(rest)
    step = u32(offsets[two] - offsets[lane])
    if two != lane + 1:
        step = step // (two - lane)
    apart = step >> first(u32(launch.granule))
    if apart < words or apart > CLOSE or apart << first(u32(launch.granule)) != step:
        return 0, left
    return apart, left & bits(load_lanes(offsets) == (lane_ids() - lane) * step + offsets[lane])


@rule
def own_words(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    pieces: Pointer[u64],
    access: u64,
    mask: u32,
    write: boolean,
    anyhow: boolean,
) -> boolean:
    """Records all pieces, from an offset of each lane, if all words are the lanes' own, and the lanes are equally far
    apart, unless they may lie `anyhow` or all lines are owned. False where that is not so; to record the same accesses
    again changes nothing then."""
    if not by_rows(launch, records, stride) or records[3 * stride + OF_A_BLOCK] != 0:
        return False
    codes = local(u32, 32)
    least, wanted = listed(launch, pieces, codes, write)
    if wanted == 0:
        return False
    if anyhow or records[3 * stride + OWNED_LINES] == ALL_OWNED:
        accessed(launch, block, records, stride, write)
        if not each_owned(launch, records, stride, offsets, least, mask, wanted):
            return False
        return each_taken(launch, records, offsets, pieces, least, access, mask, codes, write)
    apart, same = run_of(launch, offsets, mask, last(wanted) + 1)
    if apart == 0 or same != mask:
        return False
    accessed(launch, block, records, stride, write)
    lane = first(mask)
    word = offsets[lane] + least >> first(u32(launch.granule))
    return run_taken(records, stride, word, apart, access | lane, mask >> lane, wanted, codes, write)


@rule(inline=True)
def each_owned(
    launch: Launch, records: Pointer[u64], stride: u64, offsets: Pointer[u32], least: u64, mask: u32, wanted: u32
) -> boolean:
    """Whether all lines that lanes access, wherever they lie, are owned ones, or are from now on. When that has been so
    often all lines of the allocation are made owned, if there are not too many; then none is looked at."""
    summary = records + 3 * stride
    if summary[OWNED_LINES] == ALL_OWNED:
        return True
    if summary[OWNED_LINES] == SOME_OWNED:
        summary[OWNED_LINES] = ALL_OWNED if stride <= SWEPT and all_made_own(records, stride) else NOT_OWNED
    elif summary[OWNED_LINES] < SOME_OWNED:
        summary[OWNED_LINES] += 1
    return lines_owned(launch, records, stride, offsets, least, mask, wanted)


@rule
def lines_owned(
    launch: Launch, records: Pointer[u64], stride: u64, offsets: Pointer[u32], least: u64, mask: u32, wanted: u32
) -> boolean:
    """The same, line by line."""
    shift, mark = first(u32(launch.granule)), u64((records[3 * stride + EPOCH] | OWNED) << AGE)
    for lane in lanes_of(mask):
        word = offsets[lane] + least >> shift
        for number in range(word + first(wanted) >> LINE, (word + last(wanted) >> LINE) + 1):
            line = line_of(records, stride, number)
            if line[3] != mark and not made_own(line, records, stride, number):
                return False
    return True


@rule(cold=True)
def all_made_own(records: Pointer[u64], stride: u64) -> boolean:
    """Makes all lines of an allocation owned ones; False where one cannot be."""
    for number in range(stride >> LINE):
        line = line_of(records, stride, number)
        if not is_owned(records, stride, number) and not made_own(line, records, stride, number):
            return False
    return True


@rule
def each_taken(
    launch: Launch,
    records: Pointer[u64],
    offsets: Pointer[u32],
    pieces: Pointer[u64],
    least: u64,
    access: u64,
    mask: u32,
    codes: Pointer[u32],
    write: boolean,
) -> boolean:
    """Records what lanes access that lie anyhow, in owned lines: in the order of `race_accesses.from_each_lane`, which
    goes over all of it again if a word is not one lane's."""
    chosen, field, apart = lanes(mask), u64(LARGEST + 1) << field_of(write), all_apart(load_lanes(offsets), mask)
    shift = first(u32(launch.granule))
    at: u64 = 1
    for _ in range(pieces[0]):
        begin = widen(load_lanes(offsets) + u32(pieces[at]) >> shift)
        for k in range(pieces[at + 1]):
            index, code = begin + k, codes[(pieces[at] - least >> shift) + k]
            new = widen(lane_ids()) + (access + code)
            old = gather(records, index, chosen)
            if any_of((old != 0) & ((old ^ new) & OWNER != 0)):
                return False
            done = old & u64(~field) | new
            scatter(records, index, done, chosen)
            if not apart and any_of(chosen & (old == 0)) and any_of(chosen & (gather(records, index, chosen) != done)):
                scatter(records, index, old, chosen)  # two lanes access one word
                return False
        at = next_piece(at, pieces[at + 1])
    return True
