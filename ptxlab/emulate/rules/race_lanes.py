"""racecheck on lanes that each read lines of their own: where each thread walks a row of a matrix, or a text.

Such a line is private (`race_rows`) as long as nobody else accesses it. Then a read costs as much for all lanes
together as one line of records for each, where single words would have six times as many.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.race_lines import ANY_SETTLED, SOME, accessed, none_written
from ptxlab.emulate.rules.race_rows import AGE, EPOCH, FARTHEST, JOINT, LINE, PRIVATE, by_rows, line_of
from ptxlab.emulate.rules.records import CODE, Block, Launch

ROW, HALF = 1 << LINE, 8
"""Words of a line, and those of them that one number tells about."""


@rule
def own_lines(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, offsets: Pointer[u32], pieces: Pointer[u64],
    mine: u64, mask: u32,
) -> boolean:  # fmt: skip
    """Reads all pieces, from an offset of each lane. False where not all lines are private, or would be now. To record
    the same reads again changes nothing."""
    if not by_rows(launch, records, stride) or records[3 * stride + ANY_SETTLED] == SOME or block.simple == 0:
        return False
    shift, step = first(u32(launch.granule)), u32(offsets[1] - offsets[0])
    if step < ROW << shift or step > 1 << 26 or not none_written(launch, block, records, stride):
        return False
    if any_of(lanes(mask) & (load_lanes(offsets) != lane_ids() * step + offsets[0])):
        return False
    accessed(launch, block, records, stride, False)
    at: u64 = 1
    for _ in range(pieces[0]):
        words, codes = pieces[at + 1], pieces + (at + 2)
        i: u64 = 0
        while i < words:
            count = min(words - i, u64(HALF) - 1)
            if not piece_read(records, stride, offsets, pieces[at] + (i << shift), shift, count, codes + i, mine, mask):
                return False
            i += count
        at += 2 + (words + 15) // 16 * 16
    return True


@rule(inline=True)
def piece_read(
    records: Pointer[u64], stride: u64, offsets: Pointer[u32], begin: u64, shift: u32, words: u64, codes: Pointer[u64],
    mine: u64, mask: u32,
) -> boolean:  # fmt: skip
    """The same of less than HALF words in a row."""
    code, pattern, ones, largest = codes[0], u64(0), u64(0), u64(0)
    for k in range(words):
        more = u64(codes[k] - code) >> CODE
        if u64(code + (more << CODE)) != codes[k] or more > FARTHEST:
            return False
        largest = max(largest, more)
        pattern |= (more + 1) << 8 * k
        ones |= 1 << 8 * k
    epoch = records[3 * stride + EPOCH]
    for lane in lanes_of(mask):
        word, me, new, which = offsets[lane] + begin >> shift, mine | code | lane, pattern, ones
        left = words
        while True:
            line = line_of(records, stride, word >> LINE)
            if line[3] >> AGE == epoch | PRIVATE:
                if line[1] != me:
                    more = u64(me - line[1]) >> CODE
                    if u64(line[1] + (more << CODE)) != me or more + largest > FARTHEST:
                        return False
                    new += which * more
            elif line[3] >> AGE == epoch | JOINT:
                return False
            elif line[3] >> AGE != epoch or line[0] | line[1] | line[2] == 0:
                line[0], line[1], line[2], line[3] = 0, me, 0, u64((epoch | PRIVATE) << AGE)
            else:
                return False
            half, here = line + (word >> 3 & 1) * 2, word & HALF - 1
            after = half[0] & ~u64(which * 255 << 8 * here) | u64(new << 8 * here)
            if half[0] != after:
                half[0] = after
            if here + left <= HALF:
                break
            done = HALF - here  # the rest lies in the next half
            new, which = pattern >> 8 * (words - left + done), ones >> 8 * (words - left + done)
            word += done
            left -= done
    return True
