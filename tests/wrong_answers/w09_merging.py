"""Wrong answers to the exercises of notebook 09."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "09-share": (
        ("def share(m1, l1, m2, l2):\n    return l1 / (l1 + l2)\n", "the machine says 0.5246"),
        (but("09-share", ("first / (first + second)", "first / second")), "you say 1, the machine says 0.5"),
        ("def share(m1, l1, m2, l2):\n    x, y = math.exp(m1), math.exp(m2)\n    return x / (x + y)\n",
         "you say 0.2689"),
        (but("09-share", ("m = max(m1, m2)", "m = m2")), "you say nan"),
    ),
    "09-empty": (
        (but("09-empty", ("k.select(total > 0.0, total, 1.0)", "total + 0.0")), "Wanted is 0, and the kernel stored o[3, 0] = nan"),
        (but("09-empty", ("lse[row] = m +", "lse[row] = shift +")), "its log-sum-exp stays -inf"),
        (but("09-empty", ("-3.0e38", "0.0")), "o[5, 0] should be"),
        (find("09-empty").starter, "did it compute -inf - (-inf), or 0 / 0?"),
    ),
    "09-lanes": (
        (find("09-lanes").starter, "lse[0] should be"),
        (but("09-lanes", ("        l *= k.exp2(m - shift)\n", ""), ("k.exp2(theirs - shift)", "1.0")),
         "added as they stand"),
        (but("09-lanes", ("k.max(new_max, -3.0e38)", "new_max + 0.0")), "24 are without keys, and two of them met"),
        (but("09-lanes", ("(16, 8, 4, 2, 1)", "()")), "it has heard from nobody"),
    ),
    "09-meeting": (
        (find("09-meeting").starter, "WAR hazard"),
        (but("09-meeting", ("        k.barrier()\n", "")),
         "initcheck: a thread reads shared memory that has not been written"),
        (but("09-meeting", ("        k.barrier()\n", "        k.barrier()\n        k.barrier()\n")),
         "barriers; at most"),
        (but("09-meeting", ("for other in all_maxima:", "for other in all_maxima[:1]:")), "y[0] should be"),
    ),
    "09-many": (
        (but("09-many", ("        total *= rescale\n", "")), "the row is not: they are in different units"),
        (but("09-many", ("k.max(new_max, -3.0e38)", "new_max + 0.0")), "Part 0 of row 0 is without keys"),
        (
            but("09-many", ("        part_lse = lse[part_row]\n", "        part_lse = k.max(lse[part_row], lse[part_row])\n")),
            "sectors; at most",
        ),
        (but("09-many", ("m + k.log2(l) * LN2", "m + k.log2(l)")), "log2 was not converted back"),
    ),
}  # fmt: skip
