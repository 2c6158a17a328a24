"""racecheck on many words at a time; `races` has the rules for a single word.

For most accesses the three records of each word suffice: there is none, or it lies before the last barrier of the whole
block, or it is the same thread's. This module tests that for 16 words in a row or for 32 lanes at once, and leaves the
rest to `hazard` and `remember`.
"""

from __future__ import annotations

from ptxlab.emulate.language import (
    Pointer,
    all_of,
    any_of,
    bits,
    boolean,
    extract,
    first,
    gather,
    lane_ids,
    lanes,
    lanes_bool,
    lanes_of,
    lanes_u32,
    lanes_u64,
    load_row,
    reversed_bits,
    reversed_lanes,
    row_bool,
    row_ids,
    row_u64,
    rule,
    scatter,
    select,
    splat,
    store_row,
    u32,
    u64,
    widen,
)
from ptxlab.emulate.rules.race_lines import (
    accessed,
    disturbed,
    lanes_settled,
    lines_hold,
    none_read,
    none_written,
    settle,
)
from ptxlab.emulate.rules.race_rows import (
    CHANGED,
    LINE,
    LOOK,
    OWN_RECORDS,
    SAME,
    WHOLE,
    before_barrier,
    begun,
    by_rows,
    by_words,
    line_of,
    no_later,
    row_accessed,
    spread,
    word_accessed,
)
from ptxlab.emulate.rules.races import hazard, remember
from ptxlab.emulate.rules.records import BLOCK, ID, MANY, WARP, Block, Launch

OF_MANY = 1 << MANY
ALL = 0xFFFFFFFF
"""The mask of a row without gaps."""
FEW = 4
"""Words that are sooner checked one by one."""
ROW = 16
"""Words that are checked at once; the codes of a piece are padded to a multiple."""


@rule(inline=True)
def marked(chosen: row_bool) -> row_u64:
    """All bits of the chosen words. (Where a CPU has no registers for masks, truth values take long to keep.)"""
    found: row_u64 = select(chosen, (row_ids() & 0) - 1, row_ids() & 0)
    return found


@rule(inline=True)
def row_fine(record: row_u64, me: row_u64, low: u64, span: u64) -> row_u64:
    """Marks the records that need no further check: no access, one before the last barrier of all, or the thread's
    own."""
    return marked((record == 0) | (record - low < span) | ((record ^ me) & ID == 0))


@rule(inline=True)
def mixed(chosen: row_u64, a: row_u64, b: row_u64) -> row_u64:
    """The words of `a` that are marked, and those of `b` that are not."""
    found: row_u64 = a & chosen | b & ~chosen
    return found


@rule(inline=True)
def lanes_fine(record: lanes_u64, me: lanes_u64, low: u64, span: u64) -> lanes_bool:
    """The same for 32 records."""
    fine: lanes_bool = record - low < span
    if not all_of(fine):
        fine |= (record == 0) | ((record ^ me) & ID == 0)
    return fine


@rule
def stretch(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, word: u64, address: u64, words: u64,
    codes: Pointer[u64], step: u64, mine: u64, shift: u64, mask: u32, write: boolean, followed: boolean,
) -> None:  # fmt: skip
    """Words in a row, word i accessed by the lane of `mine` plus `i >> shift`. step: 1 if there is a code for each
    word, 0 if there is one row of codes for all of them. mask: which of 32 words are accessed, if it is not full.
    followed: a read of lines that may settle."""
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    rows = by_rows(launch, records, stride)
    no_writer = none_written(launch, block, records, stride)
    no_reader = none_read(launch, block, records, stride)
    accessed(launch, block, records, stride, write)
    how = min(shift, u64(WHOLE))
    changed, looked = False, False
    i: u64 = 0
    while i < words:
        count = words - i
        if rows:
            count = min(count, ROW - (word + i & ROW - 1))
            if count == ROW and step == 0 and (mask == ALL or mask >> u32(i) & 0xFFFF == 0xFFFF):
                line = begun(records, stride, word + i >> LINE)
                done = row_accessed(block, line, mine + (i >> shift), how, low, span, write)
                if done != LOOK:
                    changed = changed or done == CHANGED
                    i += ROW
                    continue
        looked = True
        if count <= FEW and mask == ALL:
            done = SAME
            for k in range(i, i + count):
                who = (mine | codes[k * step]) + (k >> shift)
                one = word_accessed(block, records, stride, word + k, who, low, span, write, rows)
                changed = changed or one == CHANGED
                if one == LOOK:
                    done = LOOK
                    break
            if done != LOOK:
                i += count
                continue
        chosen = ALL if mask == ALL else mask >> u32(i)
        if some_words(
            launch, block, records, stride, word + i, address + i * launch.granule, codes + i * step, mine, i, shift,
            count, chosen, low, span, write, no_writer, no_reader, rows,
        ):  # fmt: skip
            changed = True
        i += min(count, u64(ROW))
    if followed and looked and not changed:
        settle(launch, block, records, stride, word, words)


@rule
def some_words(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, word: u64, address: u64, codes: Pointer[u64],
    mine: u64, at: u64, shift: u64, count: u64, chosen: u32, low: u64, span: u64, write: boolean, no_writer: boolean,
    no_reader: boolean, rows: boolean,
) -> boolean:  # fmt: skip
    """At most 16 words in a row, with records of their own; in one line, where there are rows. at: how many words of
    the access lie before them; count: how many follow; chosen: the bits of those that are accessed. no_writer,
    no_reader: that there is none is known. Returns whether anything has changed."""
    here = records + word
    readers = here + stride
    others = readers + stride
    line = line_of(records, stride, word >> LINE)
    begin = records + (word >> LINE << LINE)
    no_other = no_reader
    if rows:
        line = begun(records, stride, word >> LINE)
        records[3 * stride + OWN_RECORDS] = 1
        no_writer = no_writer or before_barrier(line[0], low, span)
        no_reader = no_reader or before_barrier(line[1], low, span)
        no_other = no_other or before_barrier(line[2], low, span)
        if write or not no_writer:
            spread(line, begin, 0)
    now = (load_row(codes) | mine) + ((row_ids() + at) >> shift)
    meant = marked(row_ids() < count)
    if chosen != ALL:
        meant &= marked(((row_ids() & 0) + u64(chosen)) & (((row_ids() & 0) + 1) << row_ids()) != 0)
    writer = row_ids() & 0
    w_fine = writer - 1
    if write or not no_writer:
        writer = load_row(here)
        if not no_writer:
            w_fine = row_fine(writer, now, low, span)
    if write and no_reader and no_other and none_of(meant & ~w_fine):  # the usual case of a result
        store_row(here, mixed(meant, now, writer))
        if rows:
            no_later(line, 0, block.now)
        return False
    if rows:
        spread(line, begin + stride, 1)
    reader = load_row(readers)
    r_fine = (row_ids() & 0) - 1
    if not no_reader:
        r_fine = row_fine(reader, now, low, span)
    if not write and none_of(meant & ~(w_fine & r_fine)):  # the usual case of a read: no other reader is remembered
        store_row(readers, mixed(meant, now, reader))
        if rows:
            no_later(line, 1, block.now)
        return True
    if rows:
        spread(line, begin + 2 * stride, 2)
    other = load_row(others)
    q_fine = (row_ids() & 0) - 1
    if not no_other:
        q_fine = row_fine(other, now, low, span)
    fine = meant & w_fine
    changed = False
    if write:
        fine &= r_fine & q_fine
        if not none_of(fine):
            store_row(here, mixed(fine, now, writer))
    else:
        if block.simple == 0:
            fine &= r_fine
        if not none_of(fine & (r_fine | q_fine)):  # other threads have read it too, as when all warps read a tile
            store_row(readers, mixed(fine & r_fine, now, reader))
            store_row(others, mixed(fine & ~r_fine & q_fine, now, other))
            changed = True
    if not none_of(meant & ~fine):
        changed = True
        if rows:
            spread(line, begin, 0)
            no_later(line, 0, block.now)
        for k in lanes_of(bits(meant & ~fine != 0)):
            hazard(launch, block, here + k, stride, address + k * launch.granule, extract(now, k), write)
            remember(launch, block, here + k, stride, extract(now, k), write)
        if block.simple == 0:  # a reader may have made room for one that it is ordered before
            disturbed(launch, block, records, stride)
    elif rows and write:
        no_later(line, 0, block.now)
    if rows and changed:
        no_later(line, 1, block.now)
        no_later(line, 2, block.now)
    return changed


@rule(inline=True)
def none_of(chosen: row_u64) -> boolean:
    """Whether no word is marked."""
    return all_of(chosen == 0)


@rule
def scattered(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offsets: lanes_u32, at: u64, start: u64,
    words: u64, codes: Pointer[u64], mine: u64, mask: u32, write: boolean,
) -> u32:  # fmt: skip
    """Scattered lanes: some words each, the first of them `at` bytes after the lane's offset; both are multiples of a
    word. Returns the lanes that have stored where another lane has stored as well.

    The vectors begin with lane 31: of lanes scattered to one place the last remains, and it must be the lowest.
    """
    chosen = lanes(reversed_bits(mask))
    begin = (widen(reversed_lanes(offsets)) >> first(u32(launch.granule))) + at // launch.granule
    followed = not write and words <= 16 and lines_hold(launch, block, records, stride)
    if followed and lanes_settled(block, records + 3 * stride, begin, words, mine >> WARP & 31, chosen):
        return 0
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
    changed = False
    collided: u32 = 0
    for k in range(words):
        now = lane | (mine | codes[k])
        index = begin + k
        writer = splat(0)
        w_fine = ~nowhere
        if not no_writer:
            writer = gather(records, index, chosen)
            w_fine = lanes_fine(writer, now, low, span)
        reader = splat(0)
        r_fine = ~nowhere
        if not no_reader:
            reader = gather(readers, index, chosen)
            r_fine = lanes_fine(reader, now, low, span)
        if not write and all_of(w_fine & r_fine):  # the usual case of a read: no other reader is remembered
            if no_reader or any_of(chosen & (reader != now)):
                read(readers, index, now, chosen, apart)
            changed = True
            no_reader = False  # lanes may read each other's words
            continue
        q_fine = ~nowhere
        if not no_reader:
            q_fine = lanes_fine(gather(others, index, chosen), now, low, span)
        fine = w_fine & (r_fine & q_fine if write else r_fine | calm)
        rest: u32 = 0
        if not all_of(fine):  # lanes that do not take part are fine: what they gather is 0
            changed = True
            rest = bits(~fine)
            for one in lanes_of(reversed_bits(rest)):  # hazards are noted from lane 0 on
                word = extract(index, 31 - one)
                address = start + word * launch.granule
                hazard(launch, block, records + word, stride, address, extract(now, 31 - one), write)
        fine &= chosen
        if write:
            if no_writer or any_of(fine & (writer != now)):
                scatter(records, index, now, fine)
        elif any_of(fine & (r_fine | q_fine)):
            read(readers, index, now, fine & r_fine, apart)
            read(others, index, now, fine & ~r_fine & q_fine, apart)
            changed = True
        no_reader = no_reader and write
        for late in lanes_of(rest):
            remember(launch, block, records + extract(index, late), stride, extract(now, late), write)
        if rest != 0 and not calm:  # a reader may have made room for one that it is ordered before
            disturbed(launch, block, records, stride)
        if write and not apart:
            collided |= bits(chosen & (gather(records, index, chosen) != now))
    if followed and not changed:
        for one in lanes_of(bits(chosen)):
            settle(launch, block, records, stride, extract(begin, one), words)
    return reversed_bits(collided)


@rule(inline=True)
def in_a_row(offsets: lanes_u32, size: u64) -> boolean:
    """Whether the offsets of all lanes are so many bytes apart."""
    return all_of(offsets == lane_ids() * u32(size) + extract(offsets, 0))


@rule(inline=True)
def in_part_of_a_row(launch: Launch, offsets: lanes_u32, mask: u32) -> boolean:
    """Whether the offsets of these lanes are a word apart, like those of a row of which some lanes are missing."""
    lane = first(mask)
    begin = u32(extract(offsets, lane) - lane * u32(launch.granule))
    return mask & ~bits(offsets == lane_ids() * u32(launch.granule) + begin) == 0


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
        kept = gather(readers, index, chosen)
        again = chosen & (kept != now)
        if any_of(again):
            scatter(readers, index, kept | OF_MANY, again)
