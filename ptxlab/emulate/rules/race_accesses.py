"""racecheck on the accesses of a warp: what an instruction touches, as ranges of words or lane by lane.

Two tables describe an instruction, or several that are checked at once. `pieces` is a count, and for each range of
words its offset in bytes, its number of words and a code for each, padded to a multiple of 16. `members` is a count,
and for each instruction its offset, its bytes and its code. A code is a record with only the instruction and its
strength in it. `race_words` checks the words, many at a time.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
    PARTS_OF_ROWS,
    next_piece,
)
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.note_kinds import SAME
from ptxlab.emulate.rules.notes import note, serial, taking_part
from ptxlab.emulate.rules.race_deferred import reads_alone, watched, watched_word
from ptxlab.emulate.rules.race_deferred_reads import (
    EACH,
    NOTED_WRITE,
    NOW,
    NUMBERED,
    ONE_ADDRESS,
    REPEATED,
    STRIDED,
    TO_BLOCK,
    WATCHED,
    defer,
)
from ptxlab.emulate.rules.race_line_records import LATER, SCATTERED, UNSURE, by_words
from ptxlab.emulate.rules.race_numbers import mistaken
from ptxlab.emulate.rules.race_owned_lines import own_words
from ptxlab.emulate.rules.race_patterns import (
    as_lines,
    close_lanes,
    found_pattern,
    from_a_row,
    from_close_lanes,
    from_one_address,
    from_part_of_a_row,
    from_parts_of_halves,
    of_all_lanes,
)
from ptxlab.emulate.rules.race_repeats import note_again, repeated, repeated_each
from ptxlab.emulate.rules.race_strides import joint_lines
from ptxlab.emulate.rules.race_summaries import READS
from ptxlab.emulate.rules.race_words import OF_MANY, in_a_row, in_part_of_a_row, in_parts_of_halves, scattered
from ptxlab.emulate.rules.races import OF_WARP, hidden, only_stores
from ptxlab.emulate.rules.records import ATOMIC, BLOCK, CODE, LAST_CODE, TIME, WARP, Block, DeferredAccess, Launch


@rule
def from_each_lane(
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
) -> u32:
    """All pieces, from an offset of each lane. Returns the lanes that have stored where another lane has as well."""
    collided: u32 = 0
    at: u64 = 1
    for _ in range(pieces[0]):
        words = pieces[at + 1]
        codes = pieces + (at + 2)
        collided |= scattered(
            launch, block, records, stride, offsets, pieces[at], start, words, codes, access, mask, write
        )
        at = next_piece(at, words)
    return collided


@rule(inline=True)
def in_rows(pattern: u32) -> boolean:
    """Whether the lanes of a warp, or those of each half, lie in a row."""
    return pattern == IN_A_ROW or pattern == HALVES_IN_A_ROW


@rule
def rows(
    launch: Launch,
    block: Block,
    warp: u32,
    records: Pointer[u64] | None,
    stride: u64,
    low: u64,
    high: u64,
    pattern: u32,
    members: Pointer[u64],
    write: boolean,
) -> boolean:
    """Records what all lanes of a warp access where no word needs to be looked at: reads of rows, and stores to whole
    lines. False: this is not so, or not of all of it; then `at_addresses` does it, again or for the first time."""
    if records is None:
        return True
    if not launch.summaries or not in_rows(pattern):
        return False
    later = records[3 * stride + LATER]
    if later == WATCHED or (later != NOW and (later == NUMBERED or not write)):
        return False
    recorded_now(launch, block, records, stride)
    return as_lines(launch, block, records, stride, low, high, pattern, members, access_of(block, warp, 0), write)


@rule(inline=True)
def by_lanes(
    launch: Launch,
    block: Block,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    pattern: u32,
    start: u64,
    pieces: Pointer[u64],
    members: Pointer[u64],
    access: u64,
    write: boolean,
) -> u32:
    """Checks and records what the lanes of a warp access. Returns those that have stored where another one has."""
    low, high = u64(offsets[0]), u64(offsets[16])
    if not write and (pattern == IN_ONE_ALLOCATION or pattern == PARTS_OF_ROWS):
        pattern = found_pattern(offsets, mask, members)
        if pattern == ALL_THE_SAME:
            low = u64(offsets[first(mask)])
            access |= first(mask)
    elif write and pattern == IN_ONE_ALLOCATION and mask == ALL_LANES and members[2] != launch.granule:
        if found_pattern(offsets, mask, members) == HALVES_IN_A_ROW:  # word by word, as where that was known
            pattern = HALVES_IN_A_ROW
    if of_all_lanes(launch, block, records, stride, low, high, pattern, start, pieces, members, access, write):
        return 0
    if mask == ALL_LANES and joint_lines(launch, block, records, stride, offsets, pieces, access, write):
        return 0
    if own_words(launch, block, records, stride, offsets, pieces, access, mask, write, False):
        return 0
    if in_part_of_a_row(launch, offsets, mask):
        offset = u64(offsets[first(mask)])
        from_part_of_a_row(launch, block, records, stride, offset, start, pieces, access, mask, write)
    elif in_parts_of_halves(launch, offsets, mask):
        lane_offsets = load_lanes(offsets)
        from_parts_of_halves(launch, block, records, stride, lane_offsets, start, pieces, access, mask, write)
    elif mask == ALL_LANES and members[0] == 1 and in_a_row(load_lanes(offsets), members[2]):
        from_a_row(launch, block, records, stride, low, start, members, 32, access, write)
    else:
        apart = close_lanes(launch, records, stride, offsets, mask)
        if apart != 0:
            from_close_lanes(launch, block, records, stride, offsets, apart, start, pieces, access, mask, write)
            return 0
        if own_words(launch, block, records, stride, offsets, pieces, access, mask, write, True):
            return 0
        lane_offsets = load_lanes(offsets)
        return from_each_lane(launch, block, records, stride, lane_offsets, start, pieces, access, mask, write)
    return 0


# -- reads that are recorded later -------------------------------------------------------------------------------------


@rule(inline=True)
def recorded_now(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> None:
    """An access to an allocation is about to be checked and recorded: now the reads before it have been."""
    if records[3 * stride + LATER] != NOW:
        catch_up(launch, block, records, stride)


@rule(cold=True)
def catch_up(launch: Launch, block: Block, records: Pointer[u64], stride: u64) -> None:
    """The same where reads may have been deferred. None is afterwards."""
    summary = records + 3 * stride
    if summary[LATER] == NUMBERED:
        mistaken(launch)
    if summary[LATER] == REPEATED:
        note_again(launch, block)
    summary[LATER] = NOW
    block.later.wasted += block.later.count
    work_off(launch, block)


@rule(cold=True)
def departed(launch: Launch, block: Block, records: Pointer[u64], stride: u64, mask: u32) -> None:
    """A block does not do what the one before has done, if any lanes take part: its accesses are deferred as if nothing
    had been expected. Where lanes have synchronized between them, they are recorded."""
    if mask != 0:
        later, summary = block.later, records + 3 * stride
        writes = note_again(launch, block)
        summary[LATER] = TO_BLOCK
        if writes and (later.interval != later.since or not reads_alone(launch, block, summary)):
            catch_up(launch, block, records, stride)


@rule
def work_off(launch: Launch, block: Block) -> None:
    """Records all accesses that the block has deferred, in their order, as if it were then."""
    later, now, full, synced = block.later, block.now, block.full, local(u32, 32)
    for warp in range(32):
        synced[warp] = block.sync[warp, warp]
    for k in range(later.count):
        deferred = later.reads[k]
        block.now = deferred.stamp >> TIME << TIME
        block.full = deferred.stamp >> BLOCK << BLOCK | (deferred.stamp >> CODE & LAST_CODE) << TIME
        warp = deferred.stamp >> WARP & 31
        block.sync[warp, warp] = deferred.synced
        read_then(launch, block, deferred, later.offsets)
    later.count, later.apart = 0, 0
    block.now, block.full = now, full
    for warp in range(32):
        block.sync[warp, warp] = synced[warp]


@rule
def read_then(launch: Launch, block: Block, deferred: DeferredAccess, given: Pointer[u32]) -> None:
    """Records a read that was deferred. given: the offsets of lanes that lie apart."""
    stamp, low, high = deferred.stamp, deferred.places & 0xFFFFFFFF, deferred.places >> 32
    records, stride, mask = deferred.records, deferred.extent & 0xFFFFFFFF, u32(deferred.extent >> 32)
    members, pieces = deferred.members, deferred.pieces
    pattern, access, write = u32(stamp & 15), block.now | stamp & 31 << WARP, stamp & NOTED_WRITE != 0
    if pattern == ONE_ADDRESS:
        access |= (OF_MANY if mask & mask - 1 != 0 else u64(0)) | first(mask)
        from_one_address(launch, block, records, stride, low, 0, pieces, access, write)
    elif pattern == PARTS_OF_ROWS or pattern >= EACH:
        offsets, apart = local(u32, 32), deferred.apart if pattern == STRIDED else members[2]
        for lane in range(16):
            offsets[lane], offsets[lane + 16] = u32(low + lane * apart), u32(high + lane * apart)
        if pattern == EACH:
            offsets = given + 32 * deferred.places
        by_lanes(launch, block, mask, records, stride, offsets, IN_ONE_ALLOCATION, 0, pieces, members, access, write)
    elif (
        not launch.summaries
        or not in_rows(pattern)
        or not as_lines(launch, block, records, stride, low, high, pattern, members, access, write)
    ):
        of_all_lanes(launch, block, records, stride, low, high, pattern, 0, pieces, members, access, write)


@rule(inline=True)
def may_watch(block: Block, records: Pointer[u64], stride: u64) -> boolean:
    """Whether it may be of use to defer a write to shared memory: reads have been, or are likely to be, since lanes
    that lie in no row are recorded one by one; or what the block does may be remembered."""
    return block.later.count != 0 or records[3 * stride + SCATTERED] != 0 or block.repeats.learns != 0


@rule
def at_one_address(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offset: u64,
    start: u64,
    pieces: Pointer[u64],
    members: Pointer[u64],
    write: boolean,
) -> None:
    """Lanes of a warp access one offset in an allocation, whose address is `start`. Lanes that read it in one
    instruction count as one; lanes that write it do not, since each may overwrite what another has read."""
    if records is None or mask == 0:
        return
    if records[3 * stride + LATER] == REPEATED:
        pattern = STRIDED | (NOTED_WRITE if write else u64(0))
        if repeated(block, warp, mask, offset << 32 | offset, 0, pattern, members):
            return
        departed(launch, block, records, stride, mask)
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    later = records[3 * stride + LATER]
    if later == WATCHED or (later == TO_BLOCK and write and may_watch(block, records, stride)):
        if watched_word(launch, block, warp, mask, records, stride, offset, members, pieces, write):
            return
    elif not write and later != NOW and later != NUMBERED and offset >> 32 == 0:
        if defer(block, warp, records, stride, offset, mask, ONE_ADDRESS, None, members, pieces):
            return
    access = access_of(block, warp, 0)
    recorded_now(launch, block, records, stride)
    many = mask & mask - 1 != 0
    if write and many:
        offsets = narrow(splat(offset))
        lost = from_each_lane(launch, block, records, stride, offsets, start, pieces, access, mask, write)
        if lost != 0:
            collided(launch, block, warp, mask, lost, records, offsets, start, members)
    else:
        access |= (OF_MANY if many else u64(0)) | first(mask)
        from_one_address(launch, block, records, stride, offset, start, pieces, access, write)


@rule
def at_addresses(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64] | None, stride: u64,
    offsets: Pointer[u32], pattern: u32, start: u64, pieces: Pointer[u64], members: Pointer[u64], write: boolean,
) -> None:  # fmt: skip
    """Lanes of a warp access an allocation, each at an offset of its own, with this pattern: IN_ONE_ALLOCATION if not
    all lanes take part."""
    if records is None or mask == 0:
        return
    if records[3 * stride + LATER] == REPEATED:
        if repeated_each(block, warp, mask, offsets, members, write):
            return
        departed(launch, block, records, stride, mask)
    serial(launch, mask)
    taking_part(launch, warp, mask, members)
    later = records[3 * stride + LATER]
    if later == NOW:
        records[3 * stride + SCATTERED] += 1
    if later == WATCHED or (later == TO_BLOCK and write and may_watch(block, records, stride)):
        if watched(launch, block, warp, mask, records, stride, offsets, members, pieces, write):
            return
    elif not write and later != NOW and later != NUMBERED:
        lane_by_lane, places = (
            pattern == IN_ONE_ALLOCATION or pattern == PARTS_OF_ROWS,
            u64(offsets[16]) << 32 | offsets[0],
        )
        if defer(
            block, warp, records, stride, places, mask, u32(EACH) if lane_by_lane else pattern,
            offsets if lane_by_lane else None, members, pieces,
        ):  # fmt: skip
            return
    recorded_at_addresses(launch, block, warp, mask, records, stride, offsets, pattern, start, pieces, members, write)


@rule(inline=True)
def recorded_at_addresses(
    launch: Launch, block: Block, warp: u32, mask: u32, records: Pointer[u64], stride: u64, offsets: Pointer[u32],
    pattern: u32, start: u64, pieces: Pointer[u64], members: Pointer[u64], write: boolean,
) -> None:  # fmt: skip
    """The same, not deferred."""
    access = access_of(block, warp, 0)
    recorded_now(launch, block, records, stride)
    if write and launch.traits[members[3] >> CODE & LAST_CODE] & ATOMIC != 0:
        keep_stores(launch, block, mask, records, stride, offsets, members)
    lost = by_lanes(launch, block, mask, records, stride, offsets, pattern, start, pieces, members, access, write)
    if write and lost != 0:
        collided(launch, block, warp, mask, lost, records, load_lanes(offsets), start, members)


@rule(cold=True)
def keep_stores(
    launch: Launch,
    block: Block,
    mask: u32,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    members: Pointer[u64],
) -> None:
    """Plain stores to the words of an atomic operation are remembered in place of readers: see `races`."""
    by_words(launch, records, stride)
    any_kept = False
    for lane in lanes_of(mask):
        begin = u64(offsets[lane]) + members[1]
        for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
            if hidden(records, stride, records[word]) and only_stores(launch, records[word]):
                keep_store(records + word, stride)
                any_kept = True
    if any_kept and launch.summaries:
        records[3 * stride + READS] = UNSURE  # whose store it was is not asked


@rule
def keep_store(at: Pointer[u64], stride: u64) -> None:
    """The same of one word: in place of no reader, or of one by the same warp at an earlier time."""
    for k in range(1, 3):
        reader = at[k * stride]
        if reader == 0 or ((reader ^ at[0]) & OF_WARP == 0 and reader >> TIME < at[0] >> TIME):
            at[k * stride] = at[0]
            return


@rule(cold=True)
def collided(
    launch: Launch,
    block: Block,
    warp: u32,
    mask: u32,
    lost: u32,
    records: Pointer[u64],
    offsets: lanes_u32,
    start: u64,
    members: Pointer[u64],
) -> None:
    """Lanes of one store have stored where another lane has: a hazard if the values differ, else one store of many
    lanes. There is only one member."""
    access = access_of(block, warp, u32(members[3] >> CODE & LAST_CODE))
    for lane in lanes_of(lost):
        other = first(bits(offsets == extract(offsets, lane)) & mask)
        if other == lane:
            continue
        begin = u64(extract(offsets, lane)) + members[1]
        if same_values(launch, lane, other):
            for word in range(begin // launch.granule, (begin + members[2]) // launch.granule):
                records[word] |= OF_MANY
        else:
            note(launch, block, SAME, access | lane, access | other, start + begin, 0)


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
