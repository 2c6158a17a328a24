"""racecheck on stores of neighbouring words by each lane of a warp, all of them at once: structures, colours, chunks.

Each of these stores is scattered. But together the lanes, side by side, cover whole lines, and as long as nobody else
has accessed these, each line needs one record (`race_line_records`, woven lines) that the first of the stores makes for
all.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.clock import access_of
from ptxlab.emulate.rules.race_line_records import AGE, EPOCH, FLAGS, LINE, POSITION, WOVEN, by_rows, line_of
from ptxlab.emulate.rules.race_numbers import is_numbered
from ptxlab.emulate.rules.race_owned_lines import CLOSE, listed, run_taken
from ptxlab.emulate.rules.race_summaries import accessed
from ptxlab.emulate.rules.records import ID, Block, Launch

MOST = 31
"""Words of a lane, which have five bits in a line."""


@rule
def chunks_stored(
    launch: Launch,
    block: Block,
    warp: u32,
    records: Pointer[u64] | None,
    stride: u64,
    offset: u64,
    table: Pointer[u64],
    pieces: Pointer[u64],
) -> boolean:
    """Records that each lane stores to a chunk of words, that of lane 0 at this offset, the others behind one another.
    table: the words of a chunk, the code of its first one, and for each line numbers 0 and 2 of it; pieces: the stores
    to one chunk. False, where other threads have accessed these lines: then the stores are looked at one by one."""
    if records is None:
        return True
    if is_numbered(records, stride) or not by_rows(launch, records, stride) or offset % launch.granule != 0:
        return False
    word, access = offset // launch.granule, access_of(block, warp, 0)
    accessed(launch, block, records, stride, True)
    if word & (1 << LINE) - 1 == 0 and woven(records, stride, word >> LINE, access | table[1], table):
        return True
    codes = local(u32, 32)
    _least, wanted = listed(launch, pieces, codes, True)
    if wanted == 0 or table[0] > CLOSE:
        return False
    return run_taken(records, stride, word, u32(table[0]), access, ALL_LANES, wanted, codes, True)


@rule(inline=True)
def woven(records: Pointer[u64], stride: u64, number: u64, access: u64, table: Pointer[u64]) -> boolean:
    """Makes the lines of all chunks woven ones, from this one on, if nothing else has been recorded of any."""
    words, epoch = table[0], records[3 * stride + EPOCH]
    for k in range(2 * words):
        line, way = line_of(records, stride, number + k), u64((epoch | WOVEN) << AGE | k << POSITION + LINE | words)
        if (line[3] >> AGE ^ epoch) & ~FLAGS == 0 and (line[3] >> AGE != epoch or line[0] | line[1] | line[2] != 0):
            if line[3] != way or (line[1] ^ access) & ID != 0:
                return False
            if line[0] != table[2 * k + 2] or line[2] != table[2 * k + 3]:
                return False
    for k in range(2 * words):
        line = line_of(records, stride, number + k)
        line[0], line[1], line[2] = table[2 * k + 2], access, table[2 * k + 3]
        line[3] = u64((epoch | WOVEN) << AGE | k << POSITION + LINE | words)
    return True
