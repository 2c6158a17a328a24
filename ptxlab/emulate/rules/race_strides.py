"""racecheck on the lanes of a warp that each access lines of their own, equally far apart: one record for all of them.

Where each thread has its row of a matrix, 32 lanes touch 32 lines, all in the same way. As long as nobody else accesses
these, the line of lane 0 and that of lane 1 tell about all (`race_line_records`, joint lines), so that such an access,
a write as well as a read, takes as long as that of one lane.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.accesses import next_piece
from ptxlab.emulate.rules.race_line_records import (
    AGE,
    DISSOLVED,
    EPOCH,
    FARTHEST,
    FLAGS,
    JOINT,
    JOINT_APART,
    LINE,
    by_rows,
    line_of,
)
from ptxlab.emulate.rules.race_summaries import accessed
from ptxlab.emulate.rules.records import CODE, LAST_CODE, Block, Launch

EARLIER = 100
"""By how much code indices may be smaller than that of the first access."""
ENOUGH = 16
"""How often joint lines may be taken apart in an allocation until there are no more new ones."""


@rule
def joint_lines(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    offsets: Pointer[u32],
    pieces: Pointer[u64],
    accesses: u64,
    write: boolean,
) -> boolean:
    """Records all pieces, from an offset of each of 32 lanes. False where not all lines are joint, or would be now. To
    record the same accesses again changes nothing."""
    if not by_rows(launch, records, stride) or block.simple == 0:
        return False
    shift, step = first(u32(launch.granule)), u32(offsets[1] - offsets[0])
    apart = u64(step >> shift + LINE)
    if apart == 0 or apart > JOINT_APART or apart << shift + LINE != step:
        return False
    if any_of(load_lanes(offsets) != lane_ids() * step + offsets[0]):
        return False
    accessed(launch, block, records, stride, write)
    mark = u64((records[3 * stride + EPOCH] | JOINT) << AGE | apart << 5)
    at: u64 = 1
    for _ in range(pieces[0]):
        word, words = offsets[0] + pieces[at] >> shift, pieces[at + 1]
        for k in range(words):
            access, number = accesses | pieces[at + 2 + k], word + k >> LINE
            line = line_of(records, stride, number)
            if line[3] != mark and not joined(records, stride, number, apart, access):
                return False
            ahead = u64(access - line[1]) >> CODE
            if ahead > FARTHEST or u64(line[1] + (ahead << CODE)) != access:
                return False
            half = line_of(records, stride, number + apart) if write else line
            half += (word + k >> 3 & 1) * 2
            place = 8 * (word + k & 7)
            half[0] = half[0] & ~u64(0xFF << place) | u64(ahead + 1 << place)
        at = next_piece(at, words)
    return True


@rule
def joined(records: Pointer[u64], stride: u64, number: u64, apart: u64, access: u64) -> boolean:
    """Makes 32 lines joint ones, from this line on, if nothing has accessed any of them."""
    summary = records + 3 * stride
    epoch = summary[EPOCH]
    if summary[DISSOLVED] >= ENOUGH:
        return False
    for lane in range(32):
        line = line_of(records, stride, number + lane * apart)
        if line[3] >> AGE & ~FLAGS == epoch:
            if line[3] >> AGE != epoch or line[0] | line[1] | line[2] != 0:
                return False
    for lane in range(32):
        line = line_of(records, stride, number + lane * apart)
        line[0], line[1], line[2] = 0, 0, 0
        line[3] = u64((epoch | JOINT) << AGE | apart << 5 | lane)
    code = access >> CODE & LAST_CODE
    line_of(records, stride, number)[1] = access - (min(code, u64(EARLIER)) << CODE)
    return True
