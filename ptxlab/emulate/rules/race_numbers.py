"""racecheck of global memory by a number for each word, as long as each word is one thread's, or is only read.

Of most launches that is so of all words, and then nothing can race, whatever orders the threads. The number of a word
says which thread has accessed it:

    less than `Launch.first_number`     nobody in this launch
    `Launch.first_number`               several threads, which have only read it
    2 more for each thread              that thread alone; the lowest bit says whether it has written

A line of 16 words has a number of 64 bits. It says the same of a line that the lanes of a warp, side by side, have
accessed as a whole: the number of the first lane, and above that, in 32 bits, how many words each lane has, as a
logarithm. It is `first_number` where the words have numbers of their own.

Numbers do not say when a word was accessed, nor by which instruction. So the first access of which they do not show
that it is no hazard stops the launch. All that it has written is put back, and it begins again with the records that
`races` describes (`jit.running.first_guesses`). Numbers of earlier launches are smaller, so that nothing is cleared.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.instructions import releases
from ptxlab.emulate.rules.race_deferred_reads import NUMBERED
from ptxlab.emulate.rules.race_line_records import ALL_NUMBERED, LATER, LINE, ROW, SCALE, WHOLE, inverse_of
from ptxlab.emulate.rules.race_summaries import room
from ptxlab.emulate.rules.records import Block, Launch

FRONT, BEHIND = 32, 64
"""How many numbers lie before the words', and behind these and those of lines."""
LAST = (1 << 32) - 1
"""The largest number."""


def may_number(program: Program) -> bool:
    """Whether a launch of this program may be expected to have no words that several threads access and one writes."""
    atomic = any(code.properties.atomic and code.space != "shared" for code in program.codes)
    return not atomic and not releases(program)


def numbers_of(threads: int) -> int:
    """How many numbers a launch takes. threads: those of all its warps, 32 each."""
    return 2 + 2 * threads


def number_room(stride: int) -> int:
    """How many numbers of 64 bits lie behind an array of records with this stride."""
    return (FRONT + stride + BEHIND) // 2 + stride // ROW + BEHIND


@rule(inline=True)
def is_numbered(records: Pointer[u64], stride: u64) -> boolean:
    """Whether the words of an allocation have numbers."""
    return records[3 * stride + LATER] == NUMBERED


@rule(inline=True)
def words_of(records: Pointer[u64], stride: u64) -> Pointer[u32]:
    """The numbers of an allocation's words."""
    return (records + room(stride)).cast(u32) + FRONT


@rule(inline=True)
def lines_of(records: Pointer[u64], stride: u64) -> Pointer[u64]:
    """Those of its lines."""
    return records + (room(stride) + (stride + (FRONT + BEHIND) >> 1))


@rule(inline=True)
def thread_number(launch: Launch, block: Block, warp: u32) -> u32:
    """The number of lane 0 of a warp."""
    return u32(launch.first_number + 2 + ((block.linear * block.warps + warp) << 6))


# -- words -------------------------------------------------------------------------------------------------------------


@rule(inline=True)
def row_told(place: Pointer[u32], least: u32, mine: row_u32, chosen: row_bool, writes: row_u32) -> boolean:
    """Notes accesses to the chosen ones of 16 words, by threads with these numbers; writes: 1 where they write. False:
    one may be a hazard. least: `Launch.first_number`."""
    seen = load_row(place)
    free = seen < least
    alone = free | ((seen ^ mine) < 2)
    if any_of(chosen & ~alone & ((seen | writes) & 1 != 0)):
        return False
    store_row(place, select(chosen, select(alone, select(free, mine, seen) | writes, least), seen))
    return True


@rule(inline=True)
def word_told(place: Pointer[u32], least: u32, mine: u32, many: boolean, write: boolean) -> boolean:
    """The same of one word. many: several lanes access it."""
    seen = place[0]
    free = seen < least
    alone = (free or u32(seen ^ mine) < 2) and not many
    if not alone and (write or (not free and seen & 1 != 0)):
        return False
    place[0] = ((mine if free else seen) | u32(1 if write else 0)) if alone else least
    return True


# -- lines -------------------------------------------------------------------------------------------------------------


@rule(inline=True)
def opened(place: Pointer[u32], line: Pointer[u64], least: u32) -> None:
    """Gives the words of a line numbers of their own."""
    if u32(line[0]) != least:
        seen = u32(line[0])
        if seen > least:
            store_row(place, (narrow(row_ids()) >> u32(line[0] >> 32)) * 2 + seen)
        line[0] = u64(least)


@rule(cold=True)
def all_opened(records: Pointer[u64], stride: u64, least: u32) -> None:
    """The same for all lines of an allocation."""
    words, lines = words_of(records, stride), lines_of(records, stride)
    for at in range(stride >> LINE):
        opened(words + (at << LINE), lines + at, least)
    records[3 * stride + ALL_NUMBERED] = 1


@rule
def run_told(
    records: Pointer[u64],
    stride: u64,
    word: u64,
    extent: u64,
    least: u32,
    mine: u32,
    shift: u32,
    mask: u32,
    write: u32,
) -> boolean:
    """Notes accesses to words in a row, 2**shift by each of the lanes of a mask, that of lane 0 first, whose number is
    `mine`; extent: as far as the last lane's. False: one may be a hazard."""
    words, lines, end = words_of(records, stride), lines_of(records, stride), word + extent
    for at in range(word >> LINE, (end - 1 >> LINE) + 1):
        behind, place, line = u32((at << LINE) - word), words + (at << LINE), lines + at
        if mask == ALL_LANES and at << LINE >= word and at + 1 << LINE <= end:
            whole = u64(u32(mine + 2 * (behind >> shift))) | u64(min(shift, u32(WHOLE))) << 32
            if u32(line[0]) < least:
                line[0] = whole | write
                continue
            if line[0] ^ whole < 2:
                line[0] |= write
                continue
        opened(place, line, least)
        within = narrow(row_ids()) + behind
        lane, chosen = within >> shift, within < u32(extent)
        if mask != ALL_LANES:
            chosen &= ((within & 0) + mask >> (lane & 31)) & 1 != 0
        if not row_told(place, least, lane * 2 + mine, chosen, (within & 0) + write):
            return False
    return True


@rule
def spaced_told(
    records: Pointer[u64],
    stride: u64,
    word: u64,
    apart: u32,
    least: u32,
    mine: u32,
    mask: u32,
    wanted: u32,
    wrote: u32,
) -> boolean:
    """The same of lanes that are so many words apart: `wanted` of these words each, of which they write to `wrote`."""
    words, lines, reach = words_of(records, stride), lines_of(records, stride), last(mask) * apart + last(wanted)
    inverse, ids = inverse_of(apart), narrow(row_ids())
    for at in range(word >> LINE, (word + reach >> LINE) + 1):
        opened(words + (at << LINE), lines + at, least)
        behind = ids + u32((at << LINE) - word)
        inside = behind <= reach
        near = select(inside, behind, ids & 0)
        lane = near * inverse >> SCALE
        within = near - lane * apart
        chosen = inside & (((ids & 0) + mask >> lane) & ((ids & 0) + wanted >> within) & 1 != 0)
        writes = ((ids & 0) + wrote >> within) & 1
        if not row_told(words + (at << LINE), least, lane * 2 + mine, chosen, writes):
            return False
    return True


@rule
def mistaken(launch: Launch) -> None:
    """There may be a hazard: the launch ends, to begin again with records."""
    launch.mistaken = True
    if launch.stop is not None:
        launch.stop[0] = 1
