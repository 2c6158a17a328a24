"""racecheck on words in a row, line by line: lines that an access covers as a whole, and parts of lines.

For most accesses the three records of each word suffice: there is none, or it lies before the last barrier of the whole
block, or it is the same thread's. This module tests that for the words of a line at once, and leaves the rest to
`hazard` and `remember`. Records are loaded and stored as whole lines: a load that overlaps with the store before it,
and begins elsewhere, waits until that has reached the cache.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.race_line_records import (
    LINE,
    LOOK,
    OWN_RECORDS,
    ROW,
    WHOLE,
    before_barrier,
    begun,
    by_rows,
    first_of_line,
    line_of,
    no_later,
    row_accessed,
    since_synced,
    spread,
    word_accessed,
)
from ptxlab.emulate.rules.race_owned_lines import is_owned, line_taken
from ptxlab.emulate.rules.race_summaries import (
    accessed,
    none_read,
    none_written,
)
from ptxlab.emulate.rules.races import hazard, remember
from ptxlab.emulate.rules.records import BLOCK, ID, WARP, Block, Launch

FEW = 4
"""Words that are sooner checked one by one."""
SPARSE = 2
"""The same where words lie between them that are not accessed."""
FULL = (1 << ROW) - 1
"""The bits of all words of a line."""


@rule(inline=True)
def marked(chosen: row_bool) -> row_u64:
    """All bits of the chosen words. (Where a CPU has no registers for masks, truth values take long to keep.)"""
    found: row_u64 = select(chosen, (row_ids() & 0) - 1, row_ids() & 0)
    return found


@rule(inline=True)
def words_of(chosen: u32) -> row_u64:
    """All bits of the words whose bits are set."""
    return marked(((row_ids() & 0) + u64(chosen)) & (((row_ids() & 0) + 1) << row_ids()) != 0)


@rule(inline=True)
def row_fine(record: row_u64, access: row_u64, low: u64, span: u64) -> row_u64:
    """Marks the records that need no further check: no access, one before the last barrier of all, or the thread's
    own."""
    return marked((record == 0) | (record - low < span) | ((record ^ access) & ID == 0))


@rule(inline=True)
def row_synced(record: row_u64, access: row_u64, low: u64, since: u64) -> row_u64:
    """Marks the records of lanes of the same warp from before its lanes have synchronized."""
    return marked((record - low < since) & ((record ^ access) >> WARP & 31 == 0))


@rule(inline=True)
def mixed(chosen: row_u64, a: row_u64, b: row_u64) -> row_u64:
    """The words of `a` that are marked, and those of `b` that are not."""
    found: row_u64 = a & chosen | b & ~chosen
    return found


@rule(inline=True)
def none_of(chosen: row_u64) -> boolean:
    """Whether no word is marked."""
    return all_of(chosen == 0)


@rule(inline=True)
def by_lanes(access: u64, at: u64, shift: u64) -> row_u64:
    """The records of a line's words, of which `at` words of the access lie before the first (modulo 2**64: less than
    none where the access begins within the line)."""
    found: row_u64 = ((row_ids() + at) >> shift) + access
    return found


@rule
def stretch(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    word: u64,
    address: u64,
    words: u64,
    codes: Pointer[u64],
    step: u64,
    access: u64,
    shift: u64,
    mask: u32,
    write: boolean,
) -> None:
    """Words in a row, word i accessed by the lane of `access` plus `i >> shift`. step: 1 if there is a code for each
    word, 0 if there is none (`access` has it). mask: which of 32 words are accessed, if it is not full."""
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    rows = by_rows(launch, records, stride)
    no_writer = none_written(launch, block, records, stride)
    no_reader = none_read(launch, block, records, stride)
    accessed(launch, block, records, stride, write)
    how = min(shift, u64(WHOLE))
    i: u64 = 0
    while i < words:
        begin = word + i & ROW - 1
        here = min(words - i, ROW - begin)
        meant = u32((1 << here) - 1)
        if mask != ALL_LANES:
            meant &= mask >> u32(i)
        if rows and step == 0 and meant != 0 and (meant != FULL or is_owned(records, stride, word + i >> LINE)):
            now = by_lanes(access, u64(i - begin), shift)
            if line_taken(records, stride, word + i >> LINE, now, meant << u32(begin), write):
                i += here
                continue
        if rows and meant == FULL and step == 0:
            line = begun(records, stride, word + i >> LINE)
            if row_accessed(block, line, access + (i >> shift), how, low, span, write) != LOOK:
                i += ROW
                continue
        if (here <= FEW and mask == ALL_LANES) or count(meant) <= SPARSE or (step == 1 and begin != 0):
            for k in lanes_of(meant):
                at = i + k
                who = (access | codes[at * step]) + (at >> shift)
                if not word_accessed(block, records, stride, word + at, who, low, span, write, rows):
                    look(launch, block, records, stride, word + at, address + at * launch.granule, who, write, rows)
        elif meant != 0:
            now = by_lanes(access, u64(i - begin), shift)
            if step == 1:
                now |= load_row(codes + i)
            part_of_line(
                launch,
                block,
                records,
                stride,
                word + i >> LINE,
                u64(address + i * launch.granule - begin * launch.granule),
                now,
                meant << u32(begin),
                low,
                span,
                write,
                no_writer,
                no_reader,
                rows,
            )
        i += here


@rule(cold=True)
def look(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    word: u64,
    address: u64,
    access: u64,
    write: boolean,
    rows: boolean,
) -> None:
    """Checks one access to one word, and records it."""
    if rows:
        line, begin = begun(records, stride, word >> LINE), records + (word >> LINE << LINE)
        records[3 * stride + OWN_RECORDS] = 1
        for third in range(3):
            spread(line, begin + third * stride, third)
            no_later(line, third, block.now)
    hazard(launch, block, records + word, stride, address, access, write)
    remember(launch, block, records + word, stride, access, write)


@rule
def part_of_line(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    number: u64,
    address: u64,
    now: row_u64,
    chosen: u32,
    low: u64,
    span: u64,
    write: boolean,
    no_writer: boolean,
    no_reader: boolean,
    rows: boolean,
) -> None:
    """Words of a line, which get records of their own. address: of its first word; now: the new records; chosen: the
    words that are accessed. no_writer, no_reader: that there is none is known."""
    writers = records + (number << LINE)
    readers = writers + stride
    others = readers + stride
    line = line_of(records, stride, number)
    no_other = no_reader
    if rows:
        line = begun(records, stride, number)
        records[3 * stride + OWN_RECORDS] = 1
        no_writer = no_writer or before_barrier(line[0], low, span)
        no_reader = no_reader or before_barrier(line[1], low, span)
        no_other = no_other or before_barrier(line[2], low, span)
        if write or not no_writer:
            spread(line, writers, 0)
    meant = words_of(chosen)
    writer = row_ids() & 0
    w_fine = writer - 1
    if write or not no_writer:
        writer = load_row(writers)
        if not no_writer:
            w_fine = row_fine(writer, now, low, span)
    if write and no_reader and no_other and none_of(meant & ~w_fine):  # the usual case of a result
        store_row(writers, mixed(meant, now, writer))
        if rows:
            no_later(line, 0, block.now)
        return
    if rows:
        spread(line, readers, 1)
    reader = load_row(readers)
    r_fine = (row_ids() & 0) - 1
    if not no_reader:
        r_fine = row_fine(reader, now, low, span)
    if not write and not none_of(meant & ~w_fine):
        since = since_synced(block, extract(now, first(chosen)))
        if since != 0:  # as in `remember`: then a read takes the place of the one before
            after = r_fine | row_synced(reader, now, low, since)
            late = row_synced(writer, now, low, since) & after & ~w_fine
            w_fine, r_fine = w_fine | late, r_fine | late
    if not write and none_of(meant & ~(w_fine & r_fine)):  # the usual case of a read: no other reader is remembered
        store_row(readers, mixed(meant, now, reader))
        if rows:
            no_later(line, 1, block.now)
        return
    if rows:
        spread(line, others, 2)
    other = load_row(others)
    q_fine = (row_ids() & 0) - 1
    if not no_other:
        q_fine = row_fine(other, now, low, span)
    fine = meant & w_fine
    if write:
        fine &= r_fine & q_fine
        if not none_of(fine):
            store_row(writers, mixed(fine, now, writer))
            if rows:
                no_later(line, 0, block.now)
    else:
        if block.simple == 0:
            fine &= r_fine
        if not none_of(fine & (r_fine | q_fine)):  # other threads have read it too, as when all warps read a tile
            store_row(readers, mixed(fine & r_fine, now, reader))
            store_row(others, mixed(fine & ~r_fine & q_fine, now, other))
            if rows:
                no_later(line, 1, block.now)
                no_later(line, 2, block.now)
    if not none_of(meant & ~fine):
        for k in lanes_of(bits(meant & ~fine != 0)):
            who = extract(now, k)
            look(launch, block, records, stride, (number << LINE) + k, address + k * launch.granule, who, write, rows)


@rule
def whole_lines(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offset: u64,
    members: Pointer[u64],
    width: u64,
    access: u64,
    write: boolean,
) -> boolean:
    """All members, the accesses of `width` lanes side by side, as records of lines. False where one cannot be."""
    low = block.now >> BLOCK << BLOCK
    span = u64(block.full - low)
    shift = u64(first(u32(members[2] // launch.granule)))
    if (offset + members[3 * members[0] - 2]) // launch.granule & ROW - 1 != 0:
        return False
    for k in range(members[0]):
        word = (offset + members[3 * k + 1]) // launch.granule
        if word & ROW - 1 != 0:
            return False
        if k == 0:
            accessed(launch, block, records, stride, write)
        for i in range(0, members[2] // launch.granule * width, ROW):
            who = (access | members[3 * k + 3]) + (i >> shift)
            if not first_of_line(records, stride, word + i >> LINE, who, min(shift, u64(WHOLE)), write):
                number = word + i >> LINE
                if is_owned(records, stride, number):
                    return False
                line = begun(records, stride, number)
                if row_accessed(block, line, who, min(shift, u64(WHOLE)), low, span, write) == LOOK:
                    return False
    return True
