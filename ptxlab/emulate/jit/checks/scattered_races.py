"""racecheck on scattered accesses, all lanes of an instruction at once: where no record may be a hazard.

Each rule here returns False where one may be; then nothing has changed, and `race_accesses` goes lane by lane.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.race_accesses import recorded_now
from ptxlab.emulate.rules.race_line_records import by_words, since_synced, word_fine, word_synced
from ptxlab.emulate.rules.race_summaries import accessed, none_read, none_written
from ptxlab.emulate.rules.race_words import OF_MANY, lanes_fine
from ptxlab.emulate.rules.records import (
    ATOMIC,
    BLOCK,
    CODE,
    ID,
    LANE,
    LAST_CODE,
    MANY,
    STRONG,
    VOLATILE,
    WARP,
    Block,
    Launch,
)

OTHER_LANE = (1 << MANY) | (31 << LANE)
"""The bits in which the records of one instruction's lanes differ."""
SAME_ACCESS = ~OTHER_LANE & (1 << 64) - 1
CODE_FIELD = LAST_CODE << CODE
FOUR = 4
"""Words of an access of 4 bytes where the program has accesses of single bytes: most often they have one record."""


@rule(inline=True)
def no_race(launch: Launch, record: u64, me: u64, strong: boolean) -> boolean:
    """Whether a record is that of the atomic instruction that makes this access, with other blocks in its scope, or of
    another strong access that it does not race with."""
    return strong and ((record ^ me) & CODE_FIELD == 0 or races.both_strong(launch, record, me))


@rule(inline=True)
def word_before(record: u64, me: u64, low: u64, span: u64, since: u64) -> boolean:
    """Whether a record is empty, of the same thread, or of an access that a barrier, or a `.sync` instruction of the
        whole warp,
    orders before this one."""
    return word_fine(record, me, low, span) or word_synced(record, me, low, since)


@rule
def recorded_writes(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    addresses: Pointer[u64],
    extra: u64,
    mask: u32,
    size: u64,
    me: u64,
) -> boolean:
    """racecheck's part of stores and atomic operations: the records of the words that the lanes access, where none of
    them may be a hazard. False if that is not so; then nothing has changed. extra: what added to an address is the
    offset in the allocation.

    One lane after the other: of lanes at one word the last stays, which is the lowest, and many CPUs have neither
    gathers nor scatters that are faster."""
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0:
        return False
    recorded_now(launch, block, records, stride)
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    words, shift = size // launch.granule, first(u32(launch.granule))
    keeps = launch.traits[me >> CODE & LAST_CODE] & ATOMIC != 0
    strong = me >> STRONG & 1 != 0 and not races.narrow_scope(launch, me)
    no_writer, no_reader = none_written(launch, block, records, stride), none_read(launch, block, records, stride)
    left, since = mask, since_synced(block, me)
    if not no_writer and no_reader and strong:
        left = not_yet_told(launch, records, stride, addresses, extra, shift, words, mask, me, low, span, since)
    alike = left == 0  # the words of each lane have one record, and go on having one while lanes of this access write
    if not (no_writer and no_reader):
        for lane in lanes_of(left):
            at, mine = records + (u64(addresses[lane] + extra) >> shift), me | lane
            if not harmless(launch, at, words, mine, low, span, since, strong):
                return False
            for word in range(words if keeps else 0):
                if races.hidden(records, stride, at[word]):
                    return False
            if not no_reader:
                if not harmless(launch, at + stride, words, mine, low, span, since, strong):
                    return False
                if not harmless(launch, at + 2 * stride, words, mine, low, span, since, strong):
                    return False
    accessed(launch, block, records, stride, True)
    for opposite in lanes_of(reversed_bits(mask)):
        mine = me | 31 - opposite
        at = records + (u64(addresses[31 - opposite] + extra) >> shift)
        if alike and words == FOUR:
            found = lane_record(at[0], mine, mask, addresses)
            at[0], at[1], at[2], at[3] = found, found, found, found
        else:
            for word in range(words):
                at[word] = lane_record(at[word], mine, mask, addresses)
    return True


@rule(inline=True)
def not_yet_told(
    launch: Launch,
    records: Pointer[u64],
    stride: u64,
    addresses: Pointer[u64],
    extra: u64,
    shift: u32,
    words: u64,
    mask: u32,
    me: u64,
    low: u64,
    span: u64,
    since: u64,
) -> u32:
    """Lanes whose words may have several writers, or one that this atomic instruction may race with: the first of
    those, and the lanes above it."""
    left = mask
    while left != 0:
        lane = first(left)
        at = records + (u64(addresses[lane] + extra) >> shift)
        if not one_record(at, words) or races.hidden(records, stride, at[0]):
            break
        if not (no_race(launch, at[0], me, True) or word_before(at[0], me | lane, low, span, since)):
            break
        left &= left - 1
    return left


@rule(inline=True)
def one_record(at: Pointer[u64], words: u64) -> boolean:
    """Whether it is plain that some words in a row have one record."""
    return words == 1 or (words == FOUR and (at[0] ^ at[1]) | (at[0] ^ at[2]) | (at[0] ^ at[3]) == 0)


@rule(inline=True)
def lane_record(record: u64, mine: u64, mask: u32, addresses: Pointer[u64]) -> u64:
    """The record of a lane that writes to a word: marked as many if another lane of the instruction has before. (The
    record may be that of the same instruction in a loop, by other lanes.)"""
    if (record ^ mine) & SAME_ACCESS != 0:
        return mine
    lane, other = mine & 31, record & 31
    if other == lane or mask >> other & 1 == 0 or addresses[other] != addresses[lane]:
        return mine
    return mine | OF_MANY


@rule(inline=True)
def harmless(
    launch: Launch, at: Pointer[u64], words: u64, mine: u64, low: u64, span: u64, since: u64, strong: boolean
) -> boolean:
    """Whether the records of some words in a row are no hazard to an access of one lane."""
    for word in range(u64(1) if one_record(at, words) else words):
        record = at[word]
        if not (word_before(record, mine, low, span, since) or no_race(launch, record, mine, strong)):
            return False
    return True


@rule
def recorded_as_one(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offset: u64, mask: u32, size: u64, me: u64
) -> boolean:
    """The same where all lanes access one place: what they find of each other is that of one instruction."""
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0:
        return False
    recorded_now(launch, block, records, stride)
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    lane, alone = first(mask), mask & mask - 1 == 0
    keeps = launch.traits[me >> CODE & LAST_CODE] & ATOMIC != 0
    strong = me >> STRONG & 1 != 0 and not races.narrow_scope(launch, me)
    begin, words = offset // launch.granule, size // launch.granule
    for word in range(begin, begin + words):
        for third in range(3):
            record = records[third * stride + word]
            if third == 0 and keeps and races.hidden(records, stride, record):
                return False
            if record == 0 or u64(record - low) < span or no_race(launch, record, me, strong):
                continue
            if not alone or (record ^ (me | lane)) & ID != 0:
                return False
    accessed(launch, block, records, stride, True)
    for word in range(begin, begin + words):
        records[word] = me | lane | (u64(0) if alone else u64(1 << MANY))
    return True


@rule
def one_place(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offset: u64,
    size: u64,
    access: u64,
) -> boolean:
    """The same for code that knows where that place is. access: the code index and strength, as in a record."""
    if records is None:
        return True
    me = block.now | u64(warp) << WARP | access
    return recorded_as_one(launch, block, records, stride, offset, mask, size, me)


@rule
def whole_row(
    launch: Launch, block: Block, warp: u32, records: Pointer[u64] | None, stride: u64, offset: u64, access: u64
) -> boolean:
    """The same of an atomic operation of all lanes, each at a word of its own, which lie in a row from this offset."""
    if records is None:
        return True
    me = block.now | u64(warp) << WARP | access
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0 or races.narrow_scope(launch, me):
        return False
    recorded_now(launch, block, records, stride)
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    no_writer, no_reader = none_written(launch, block, records, stride), none_read(launch, block, records, stride)
    begin = records + (offset >> first(u32(launch.granule)))
    for half in range(2):
        at, mine = begin + 16 * half, row_ids() + (me + 16 * half)
        if not no_writer and not (row_harmless(load_row(at), mine, low, span) and all_strong(load_row(at))):
            return False
        if not no_reader:
            if not row_harmless(load_row(at + stride), mine, low, span):
                return False
            if not row_harmless(load_row(at + 2 * stride), mine, low, span):
                return False
    accessed(launch, block, records, stride, True)
    for half in range(2):
        store_row(begin + 16 * half, row_ids() + (me + 16 * half))
    return True


@rule(inline=True)
def all_strong(record: row_u64) -> boolean:
    """Whether none of 16 writers' records, of global memory, is that of a plain store: see `races.hidden`."""
    return all_of((record == 0) | (record >> STRONG & 1 != 0))


@rule(inline=True)
def row_harmless(record: row_u64, mine: row_u64, low: u64, span: u64) -> boolean:
    """Whether 16 records are no hazard to the accesses of an atomic instruction: see `word_fine` and `no_race`."""
    fine: row_bool = (record == 0) | (record - low < span) | ((record ^ mine) & CODE_FIELD == 0)
    return all_of(fine | ((record ^ mine) & ID == 0))


@rule
def recorded_reads(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    at: lanes_u32,
    chosen: lanes_bool,
    size: u64,
    me: u64,
) -> boolean:
    """The same of loads. The vectors begin with lane 31, as in `race_words.scattered`."""
    if launch.traits[me >> CODE & LAST_CODE] & VOLATILE != 0:
        return False
    recorded_now(launch, block, records, stride)
    by_words(launch, records, stride)
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    readers = records + stride
    now = widen(reversed_lanes(lane_ids())) | me
    begin = widen(at) >> first(u32(launch.granule))
    words = size // launch.granule
    if not none_written(launch, block, records, stride):
        for k in range(words):
            if not all_of(lanes_fine(gather(records, begin + k, chosen), now, low, span)):
                return False
    accessed(launch, block, records, stride, False)
    for k in range(words):
        index = begin + k
        reader = gather(readers, index, chosen)
        scatter(readers, index, now, chosen)
        shared = any_of(chosen & (gather(readers, index, chosen) != now))  # two lanes read one word
        if shared or not all_of(lanes_fine(reader, now, low, span)):
            scatter(readers, index, reader, chosen)
            return False
    return True
