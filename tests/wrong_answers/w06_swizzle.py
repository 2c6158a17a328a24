"""Wrong answers to the exercises of notebook 06."""

from __future__ import annotations

from ptxlab.course.exercises.e06_swizzle import HALF, PAD, WALK, WAVEFRONTS, XOR

WRONG = {
    "06-wavefronts": (
        (WAVEFRONTS.starter, "That is the rule for one column."),
        # no conflicts
        ("def wavefronts_of(row, wide):\n    return 1\n", "wavefronts_of(32, 8): you say 1, the machine says 4."),
        # as many as there are rows
        ("def wavefronts_of(row, wide):\n    return 32 // wide\n", "Which of them begin in the same bank?"),
    ),
    "06-pad": (
        (PAD.starter, "992 in loads"),
        # two floats: every second bank
        (PAD.solution.replace("(32, 33)", "(32, 34)"), "32 in loads"),
        # much room
        (PAD.solution.replace("(32, 33)", "(32, 65)"), "8320 bytes of shared memory; 4224 are allowed"),
        # no shared memory at all
        (
            PAD.solution.replace("tile[line + n, column] = x[start + (line + n) * 32 + column]", "pass").replace(
                "tile[column, line + n]", "x[start + column * 32 + line + n]"
            ),
            "must read, and write, neighbours",
        ),
    ),
    "06-xor": (
        (PAD.solution.replace("transpose", "swizzled"), "4224 bytes of shared memory; 4096 are allowed"),
        # only the store knows
        (XOR.solution.replace("tile[column, row ^ column]", "tile[column, row]"), "y[0, 0, 1] should be"),
        # three bits only
        (XOR.solution.replace("column ^ row]", "column ^ (row & 7)]").replace("row ^ column]", "row ^ (column & 7)]"),
         "in loads"),
    ),
    "06-half": (
        (HALF.starter, "ldmatrix reads one chunk of eight rows"),
        (HALF.solution.replace("chunk ^ (row >> 1 & 3)", "chunk ^ (row & 3)"), "begin in the same bank"),
        # into the next row
        (HALF.solution.replace("chunk ^ (row >> 1 & 3)", "chunk ^ (row & 7)"),
         "the block's shared memory is 1024 bytes"),
        # twice the room
        (HALF.solution.replace("rows * 16, align", "rows * 32, align"),
         "2048 bytes of shared memory; 1024 are allowed"),
    ),
    "06-walk": (
        # the swizzle forgotten on the way
        (WALK.solution.replace(" + (lane & 7) * 4)", ")").replace("first ^ d * 16", "first + d * 16"),
         "bank conflicts"),
        # no swizzle at all
        (WALK.solution.replace("(lane & 7) * 4)", "0)"), "bank conflicts"),
        # from global memory
        (WALK.starter.replace("tile + lane * 32 + place * 4", "x + lane * 32 + place * 4"), "bytes were read from the"),
        (WALK.starter, "instructions; at most 140 are allowed"),
    ),
}  # fmt: skip
