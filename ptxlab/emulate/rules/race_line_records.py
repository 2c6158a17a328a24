"""racecheck's records of whole lines: one number where all 16 words were accessed by a warp in one instruction.

Most accesses are rows: lane k at word `k`, or each lane at a few words, or all lanes at the same. Of a line of 16 words
(2**LINE) that such an access covers, one record says all, that of its first word and how many words each lane has. So
memory that is only accessed in rows needs four numbers for each line, in place of three for each word:

    0, 1, 2   the writer, a reader, another reader: the record of the first word, 0: there is none.
              Of words that have records of their own: a record that none of these is later than, or UNSURE
    3         how each of the three is kept, 8 bits each: where it is one record, the lane of word j is that
              of the first word plus `j >> bits`; OF_WORDS: the words have records of their own.
              Above these bits the epoch of the array: if it is an earlier one, nothing has accessed the line

Lines that the 32 lanes of a warp alone have accessed, each lane its own, all of them alike, equally far apart and at
one time, may be **joint** (`JOINT` is added to their epoch; below it stand by how many lines they are apart, then, in 5
bits, whose line it is). Then that of lane 0 has in number 1 a record of its thread; 0 and 2 have 8 bits for each word:
0 if it has not been read, else 1 more than what its code index is larger by than that of the record. That of lane 1 has
those of words that have been written. `begun` takes all 32 apart.

A line to whose words lanes of one warp, side by side, have stored several each, at one time, may be **woven** (`WOVEN`
is added to its epoch; below it stand, in 5 bits, how many words a lane has, and above these how many words of these
lanes lie before the line). Then number 1 is a record of lane 0, and 0 and 2 have the same 8 bits for each word that has
been written. `begun` gives its words records of their own.

A line of whose words each has been accessed by one thread alone, at one time, may be **owned** (`OWNED` is added to its
epoch). Then the first records of its words say all: each is that of the thread, with no code index, strength or number
of lanes; in place of these stand, 10 bits each, 1 more than the code index of its last write (`WROTE`) and of its last
read (`READ`), 0 where there was none; all of it is 0 where nothing has accessed the word (`race_owned_lines`). `begun`
gives its words their three records.

So memory need not be cleared between blocks that use it one after the other, or between launches. An access to a part
of a line gives its words records of their own, for the third of the records that it changes. A scattered access does so
for all lines of its allocation (`by_words`), once and for all: looking at 32 lines would take longer than looking at 32
records.

What is kept is the same with and without this: `Launch.summaries` says whether it is used, and tests compare.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.records import BLOCK, CODE, ID, TIME, WARP, Block, Launch

LINE = 4
ROW = 1 << LINE
"""A line is 2**LINE words: a row of them."""
SCALE = 20
"""Words are divided by how far lanes are apart as a product with a fraction of so many bits, exact below 2**9."""
BY_WORDS, EPOCH, OWN_RECORDS, LEFT, LATER, DISSOLVED, SCATTERED, OF_A_BLOCK, OWNED_LINES = range(2, 11)
ALL_NUMBERED, TURN, LINES = 11, 12, 16
"""Where, after the records of words, it is said that all words have records of their own; where the epoch stands; where
it is said that some have, and that some have those of an earlier epoch; where it is said whether reads are recorded
later, how often joint lines have been taken apart, and how often lanes have been recorded that were in no row, since
reads could not be deferred; whether the memory is a block's shared memory; whether all its lines are owned
(`race_owned_lines`); whether the words of all lines have numbers of their own (`race_numbers`), and since when numbers
lie there; and where what is kept of lines begins."""
SOME_OWNED, ALL_OWNED, NOT_OWNED = 32, 33, 34
"""So many accesses by scattered lanes have been to words of their own; then all lines of the allocation were made owned
ones, and still are; or that could not be, or is no longer so."""
AGE = 24
"""Where, in the last number of a line, the epoch begins."""
JOINT, JOINT_APART = 1 << 38, (1 << 19) - 1
"""What is added to the epoch of a joint line; by how many lines those are apart at most."""
WOVEN, POSITION = 1 << 37, 5
"""What is added to the epoch of a woven line; where in its last number the words before it begin."""
OWNED, WROTE, READ = 1 << 36, 20, 10
"""What is added to the epoch of an owned line; where in the record of an owned word its code indices begin."""
OWNER = (1 << 64) - 1 & ~((1 << 20) - 1 << READ)
"""The rest of such a record."""
FLAGS = JOINT | WOVEN | OWNED
"""All that may be added to an epoch."""
FARTHEST = 254
"""By how much codes may differ in joint lines."""
OF_WORDS, UNSURE = 0xFF, (1 << 64) - 1
WHOLE = 4
"""How a record is kept that names one lane for all words of a line."""
FINE, NONE_IS, MIXED = range(3)
"""What a record of a line tells about an access to all of it: no word needs to be looked at; each does; some do."""
LOOK, SAME, CHANGED = range(3)
"""What `row_accessed` has done: nothing, since its words have to be looked at; nothing, rightly; it has recorded it."""


@rule(inline=True)
def inverse_of(apart: u32) -> u32:
    """What words are multiplied by, and then shifted by `SCALE`, to be divided by how far lanes are apart."""
    return ((1 << SCALE) + apart - 1) // apart


@rule(inline=True)
def line_of(records: Pointer[u64], stride: u64, number: u64) -> Pointer[u64]:
    """What is kept of a line."""
    return records + (3 * stride + LINES + 4 * number)


@rule(inline=True)
def begun(records: Pointer[u64], stride: u64, number: u64) -> Pointer[u64]:
    """What is kept of a line, with nothing of an earlier epoch."""
    line, epoch = line_of(records, stride, number), records[3 * stride + EPOCH]
    if line[3] >> AGE != epoch:
        if line[3] >> AGE == epoch | JOINT:
            take_apart(line, records, stride, number)
        elif line[3] >> AGE == epoch | WOVEN:
            unweave(line, records, stride, number)
        elif line[3] >> AGE == epoch | OWNED:
            disown(line, records, stride, number)
        else:
            line[0], line[1], line[2], line[3] = 0, 0, 0, u64(epoch << AGE)
    return line


@rule(inline=True)
def accesses_of(line: Pointer[u64], record: u64) -> row_u64:
    """The records of words of which numbers 0 and 2 of a line have 8 bits each."""
    bytes_ = select(row_ids() < 8, (row_ids() & 0) + line[0], (row_ids() & 0) + line[2]) >> (row_ids() & 7) * 8 & 0xFF
    found: row_u64 = select(bytes_ == 0, bytes_, ((bytes_ - 1) << CODE) + record)
    return found


@rule(cold=True)
def take_apart(line: Pointer[u64], records: Pointer[u64], stride: u64, number: u64) -> None:
    """Gives the words of joint lines, one of which this is, records of their own."""
    summary = records + 3 * stride
    lane, apart = line[3] & 31, line[3] >> 5 & JOINT_APART
    begin = number - lane * apart
    reader, writer = line_of(records, stride, begin), line_of(records, stride, begin + apart)
    record = reader[1]
    reads, writes = accesses_of(reader, record), accesses_of(writer, record)
    written = writer[0] | writer[2] != 0
    for k in range(32):
        place, one = records + (begin + k * apart << LINE), line_of(records, stride, begin + k * apart)
        store_row(place + stride, select(reads == 0, reads, reads + k))
        store_row(place, select(writes == 0, writes, writes + k))
        one[0], one[1], one[2] = record + k if written else u64(0), record + k, 0
        one[3] = u64(summary[EPOCH] << AGE | OF_WORDS << 8 | (OF_WORDS if written else u64(0)))
    summary[OWN_RECORDS] = 1
    summary[DISSOLVED] += 1


@rule(cold=True)
def unweave(line: Pointer[u64], records: Pointer[u64], stride: u64, number: u64) -> None:
    """Gives the words of a woven line records of their own."""
    summary = records + 3 * stride
    at, words, before = records + (number << LINE), line[3] & 31, line[3] >> POSITION & (1 << AGE - POSITION) - 1
    writes = accesses_of(line, line[1])
    store_row(at, writes)
    for k in range(1 << LINE):
        if at[k] != 0:
            at[k] += (before + k) // words
    summary[OWN_RECORDS] = 1
    line[0], line[1], line[2], line[3] = line[1], 0, 0, u64(summary[EPOCH] << AGE | OF_WORDS)


@rule(cold=True)
def disown(line: Pointer[u64], records: Pointer[u64], stride: u64, number: u64) -> None:
    """Gives the words of an owned line their three records."""
    at = records + (number << LINE)
    owned = load_row(at)
    used = bits(owned != 0)
    one = u64(extract(owned, first(used) & 15)) >> TIME << TIME
    latest = one if all_of((owned == 0) | (owned >> TIME == one >> TIME)) else u64(UNSURE)
    for third in range(2):
        code = owned >> (READ if third == 1 else WROTE) & (1 << WROTE - READ) - 1
        store_row(at + third * stride, select(code == 0, code, (code - 1 << CODE) + (owned & OWNER)))
        line[third] = latest if any_of(code != 0) else u64(0)
    line[2], line[3] = 0, u64(records[3 * stride + EPOCH] << AGE | OF_WORDS << 8 | OF_WORDS)
    if records[3 * stride + OWNED_LINES] == ALL_OWNED:
        records[3 * stride + OWNED_LINES] = NOT_OWNED


@rule(inline=True)
def by_rows(launch: Launch, records: Pointer[u64], stride: u64) -> boolean:
    """Whether lines of an allocation may be kept as one record."""
    return launch.summaries and records[3 * stride + BY_WORDS] == 0


@rule(inline=True)
def by_words(launch: Launch, records: Pointer[u64], stride: u64) -> None:
    """Gives all words of an allocation records of their own, now and later."""
    if by_rows(launch, records, stride):
        spread_all(records, stride)


@rule(cold=True)
def spread_all(records: Pointer[u64], stride: u64) -> None:
    """The same for one that has lines which are kept as one record."""
    records[3 * stride + BY_WORDS] = 1
    records[3 * stride + OWN_RECORDS] = 1
    for number in range(stride >> LINE):
        line = begun(records, stride, number)
        if line[0] | line[1] | line[2] | records[3 * stride + LEFT] != 0:
            for third in range(3):
                spread(line, records + ((number << LINE) + third * stride), third)


@rule(inline=True)
def how_kept(line: Pointer[u64], third: u64) -> u64:
    """How a third of a line is kept."""
    return line[3] >> 8 * third & 0xFF


@rule(inline=True)
def keep(line: Pointer[u64], third: u64, record: u64, how: u64) -> None:
    """Keeps a third of a line as one record, or its words as records of their own."""
    line[third] = record
    line[3] = line[3] & ~(0xFF << 8 * third) | how << 8 * third


@rule(inline=True)
def row_of(record: u64, how: u64) -> row_u64:
    """The records of the words of a line that is kept as one record."""
    found: row_u64 = (row_ids() & 0) + record
    if record != 0 and how != WHOLE:
        found += row_ids() >> how
    return found


@rule
def spread(line: Pointer[u64], at: Pointer[u64], third: u64) -> None:
    """Gives the words of a third of a line records of their own, at `at`. The line's one record is then, but for the
        lane, not
    earlier than any of these."""
    how = how_kept(line, third)
    if how != OF_WORDS:
        store_row(at, row_of(line[third], how))
        keep(line, third, line[third], OF_WORDS)


@rule(inline=True)
def records_of(records: Pointer[u64], stride: u64, number: u64, third: u64, rows: boolean) -> row_u64:
    """The records of the words of a line, however they are kept."""
    if rows:
        line = begun(records, stride, number)
        if how_kept(line, third) != OF_WORDS:
            return row_of(line[third], how_kept(line, third))
    return load_row(records + (third * stride + (number << LINE)))


@rule(inline=True)
def before_barrier(record: u64, low: u64, span: u64) -> boolean:
    """Whether a third of a line has no records, or only those from before the block's last barrier of all."""
    return record == 0 or u64(record - low) < span


@rule(inline=True)
def told(record: u64, how: u64, access: u64, kept_as: u64, low: u64, span: u64) -> u64:
    """What a third of a line tells about an access to the whole line, which would be kept in the way `kept_as`."""
    if before_barrier(record, low, span):
        return FINE
    if how != kept_as:
        return NONE_IS if how != OF_WORDS and (record ^ access) & ID & ~31 != 0 else MIXED
    return FINE if (record ^ access) & ID == 0 else NONE_IS


@rule(inline=True)
def row_accessed(
    block: Block, line: Pointer[u64], access: u64, kept_as: u64, low: u64, span: u64, write: boolean
) -> u64:
    """Records an access to a whole line as one record, where each word would come to the same."""
    if told(line[0], how_kept(line, 0), access, kept_as, low, span) != FINE:
        return LOOK
    reader = told(line[1], how_kept(line, 1), access, kept_as, low, span)
    if reader == FINE and not write:
        keep(line, 1, access, kept_as)
        return CHANGED
    if reader == MIXED or (reader == NONE_IS and (write or block.simple == 0)):
        return LOOK
    other = told(line[2], how_kept(line, 2), access, kept_as, low, span)
    if other == FINE:
        if write:
            keep(line, 0, access, kept_as)
        else:
            keep(line, 2, access, kept_as)
        return CHANGED
    return LOOK if write or other == MIXED else SAME


@rule(inline=True)
def first_of_line(
    records: Pointer[u64], stride: u64, number: u64, access: u64, kept_as: u64, write: boolean
) -> boolean:
    """Records an access to a whole line as one record, if nothing has accessed it in this epoch."""
    line, epoch = line_of(records, stride, number), records[3 * stride + EPOCH]
    if (line[3] >> AGE ^ epoch) & ~FLAGS == 0:
        return False
    line[0], line[1], line[2] = access if write else u64(0), u64(0) if write else access, 0
    line[3] = u64(epoch << AGE | (kept_as if write else kept_as << 8))
    return True


@rule(inline=True)
def no_later(line: Pointer[u64], third: u64, now: u64) -> None:
    """A word of a line has a new record: what none of its records is later than. now: the block and its clock."""
    before = line[third]
    line[third] = now if before == 0 or (before ^ now) >> BLOCK == 0 else UNSURE


# -- single words ------------------------------------------------------------------------------------------------------


@rule(inline=True)
def record_at(line: Pointer[u64], third: u64, word: u64, at: Pointer[u64], rows: boolean) -> u64:
    """The record of a word, wherever it is kept. at: where it lies if the word has records of its own."""
    how = how_kept(line, third)
    if not rows or how == OF_WORDS:
        return at[0]
    return u64(0) if line[third] == 0 else line[third] + ((word & (1 << LINE) - 1) >> how)


@rule(inline=True)
def word_fine(record: u64, access: u64, low: u64, span: u64) -> boolean:
    """Whether a record needs no further check: no access, one before the last barrier of all, or the thread's own."""
    return record == 0 or u64(record - low) < span or (record ^ access) & ID == 0


@rule(inline=True)
def since_synced(block: Block, access: u64) -> u64:
    """Where the lanes of a warp have synchronized, and nothing has but whole warps and the whole block: what those
    records of its lanes are less than, less the block, that lie before it. 0 elsewhere."""
    warp = access >> WARP & 31
    return u64(block.sync[warp, warp]) << TIME if block.syncs != 0 and block.simple != 0 else u64(0)


@rule(inline=True)
def word_synced(record: u64, access: u64, low: u64, since: u64) -> boolean:
    """Whether an access of another lane of the warp lies before the warp's lanes have synchronized."""
    return u64(record - low) < since and (record ^ access) >> WARP & 31 == 0


@rule(inline=True)
def set_record(
    block: Block,
    records: Pointer[u64],
    stride: u64,
    line: Pointer[u64],
    third: u64,
    word: u64,
    access: u64,
    rows: boolean,
) -> None:
    """Records an access to a word."""
    if rows:
        records[3 * stride + OWN_RECORDS] = 1
        spread(line, records + (third * stride + (word >> LINE << LINE)), third)
        no_later(line, third, block.now)
    records[third * stride + word] = access


@rule
def word_accessed(
    block: Block,
    records: Pointer[u64],
    stride: u64,
    word: u64,
    access: u64,
    low: u64,
    span: u64,
    write: boolean,
    rows: boolean,
) -> boolean:
    """Records an access to one word. False, and nothing recorded, if it may be a hazard. rows: words may be kept in
    lines."""
    line = line_of(records, stride, word >> LINE)
    if rows:
        line = begun(records, stride, word >> LINE)
    at = records + word
    if not (rows and before_barrier(line[0], low, span)):
        writer = record_at(line, 0, word, at, rows)
        if not word_fine(writer, access, low, span):
            since = since_synced(block, access)
            if write or not word_synced(writer, access, low, since):
                return False
            reader = record_at(line, 1, word, at + stride, rows)
            if not (word_fine(reader, access, low, span) or word_synced(reader, access, low, since)):
                return False
            set_record(block, records, stride, line, 1, word, access, rows)
            return True
    fine = rows and before_barrier(line[1], low, span)
    fine = fine or word_fine(record_at(line, 1, word, at + stride, rows), access, low, span)
    if fine and not write:
        set_record(block, records, stride, line, 1, word, access, rows)
        return True
    if not fine and (write or block.simple == 0):
        return False
    fine = rows and before_barrier(line[2], low, span)
    if fine or word_fine(record_at(line, 2, word, at + 2 * stride, rows), access, low, span):
        set_record(block, records, stride, line, 0 if write else 2, word, access, rows)
        return True
    return not write
