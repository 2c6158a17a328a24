"""Wrong answers to the exercises of notebook 11."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "11-part": (
        (find("11-part").starter, "the machine says (0, 3)"),
        (but("11-part", ("min(first + size, keys)", "first + size")), "you say (9, 12), the machine says (9, 10)"),
        (
            but("11-part", ("size = -(-keys // splits)", "size = keys // splits + 1")),
            "the 4 parts of 8 keys had 2, 2, 2, 2 keys",
        ),
        ("def bounds(keys, splits, split):\n    return range(split, keys, splits)\n", "you say"),
    ),
    "11-tail": (
        (find("11-tail").starter, "Missing is exactly what the keys 32 to 34 weigh"),
        (but("11-tail", ("k.min(first + size, keys)", "k.min(first + size + 1, keys)")), "some key was counted twice"),
        (but("11-tail", ("k.min(first + size, keys)", "first + size")), "bytes past the end"),
        (but("11-tail", ("k.exp2(score[j] - row_max)", "k.exp2(score[j])")), "All weights together are"),
    ),
    "11-merge": (
        (find("11-merge").starter, "as if all maxima were the same"),
        (but("11-merge", (" * LOG2E)", ")")), "powers of 2"),
        (but("11-merge", ("part[D] - m", "m - part[D]")), "-inf is inf"),
        (but("11-merge", ("l.set(k.fma(part[D + 1], factor, l))", "l += part[D + 1]")), "In which units is each `l`?"),
    ),
    "11-factors": (
        (find("11-factors").starter, "exponentials; at most"),
        (but("11-factors", ("    k.barrier()\n", "")), "RAW hazard in shared memory"),
        (but("11-factors", ("factor = factors[s]", "factor = factors[d & 31]")), "has not been written"),
        (but("11-factors", ("(parts + D)[d * (D + 2)]", "parts[d * (D + 2)]")), "o[0, 0] should be"),
    ),
}
