"""Wrong answers to the exercises of notebook 05."""

from __future__ import annotations

from ptxlab.course.exercises.e05_mma import ADDRESS, CHAIN, HOLDER, ROWMAX, TRANS

WRONG = {
    "05-holder": (
        # registers to the right first
        (HOLDER.solution.replace("row // 8 + 2 * (column // 8)", "2 * (row // 8) + column // 8"),
         "holder(9, 2): you say (5, 2, 0), the machine says (5, 1, 0)."),
        # the layout of C
        ("def holder(row, column):\n    return 4 * (row % 8) + column // 4, row // 8 + 2 * (column // 8), column % 2\n",
         "holder(1, 3): you say (4, 0, 1), the machine says (5, 0, 1)."),
        ("def holder(row, column):\n    return 4 * (row % 8) + column % 8 // 2\n", "holder(0, 0): you say 0"),
    ),
    "05-address": (
        (ADDRESS.starter, "in the order of an A fragment"),
        # chunks and keys exchanged
        (ADDRESS.solution.replace("lane % 8 + lane // 16 * 8, lane // 8 % 2", "lane // 8 % 2 * 8 + lane % 8, 0 * lane"),
         "s[0, 0] should be"),
        # one row too far
        (ADDRESS.solution.replace("lane // 16 * 8", "lane // 8 * 8"), "memcheck"),
    ),
    "05-trans": (
        # only P
        (TRANS.solution.replace(".x4.trans", ".x4"), "a V whose 8 x 8 blocks are transposed"),
        # only V
        (TRANS.starter.replace(".x4", ".x4.trans"), "blocks top right and bottom left are exchanged"),
        (TRANS.starter, "o[0, 0] should be"),
    ),
    "05-rowmax": (
        # across groups instead of within them
        (ROWMAX.solution.replace("(1, 2)", "(8, 16)"), "m[0] should be"),
        # to be on the safe side, through the whole warp
        (ROWMAX.solution.replace("(1, 2)", "(1, 2, 4, 8, 16)"), "elements are wrong"),
        # every fragment for itself
        (
            ROWMAX.solution.replace(
                """            top.set(k.max(top, k.max(c[half], c[half + 1])))
        for bit in (1, 2):  # the four lanes of a row: t changes, g does not
            top.set(""",
                """            top.set(k.max(top, k.max(c[half], c[half + 1])))
            for bit in (1, 2):
                top.set(k.max(top, k.shfl(top, bit, 31, 0xFFFFFFFF, mode="bfly")))
        for bit in (1, 2):
            top.set(""",
            ),
            "shuffles; at most 4 are allowed",
        ),
        (ROWMAX.starter, "can read each other's registers"),
    ),
    "05-chain": (
        # the halves of a pair exchanged
        (CHAIN.solution.replace("c[row + 1], c[row])", "c[row], c[row + 1])"), "a P whose neighbours are exchanged"),
        # keys 8 to 15 first
        (CHAIN.solution.replace("for c in weights for row", "for c in weights[::-1] for row"),
         "keys 8 to 15 come before"),
        # no gate
        (CHAIN.solution.replace("[k.max(x, 0.0) for x in s]", "s"), "without the gate"),
        # O begins anew with each 16 keys
        (
            CHAIN.solution.replace(
                "    for first in range(0, N, 16):\n",
                "    for first in range(0, N, 16):\n        out = [k.vars(f32, 4, 0.0) for _ in range(2)]\n",
            ),
            "of the last 16 keys alone",
        ),
        # a product too many
        (
            CHAIN.solution.replace(
                "            k.op(MMA, a, b, s, into=s)\n",
                "            k.op(MMA, a, b, s, into=s)\n            k.op(MMA, a, b, [0.0] * 4)\n",
            ),
            "6 mma were executed; 4 are needed",
        ),
    ),
}  # fmt: skip
