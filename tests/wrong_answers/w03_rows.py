"""Wrong answers to the exercises of notebook 03."""

from __future__ import annotations

from ptxlab.course.exercises.e03_rows import LOGSUMEXP, PIECE, SHARE

WRONG = {
    "03-loads": (
        ("def loads(high, wide, D, vector):\n    return (high + wide) * D\n", "loads(4, 4, 16, 4): you say 128"),
        ("def loads(high, wide, D, vector):\n    return high * wide * D // vector\n", "loads(1, 1, 16, 1): you say 16"),
        ("def loads(high, wide, D, vector):\n    return 8 * (high + wide) * D // vector\n",
         "you say 256, the machine says 32"),
    ),
    "03-hears": (
        # only the partners of the lane itself
        ("def hears(lane, bits):\n    return {lane} | {lane ^ b for b in bits}\n",
         "got the numbers of 4 lanes in 2 shuffles"),
        ("def hears(lane, bits):\n    return set(range(2 ** len(bits)))\n", "hears(5, (1, 2)): you say"),
        # + instead of xor
        (
            """
def hears(lane, bits):
    lanes = {lane}
    for bit in bits:
        lanes |= {(other + bit) % 32 for other in lanes}
    return lanes
""",
            "the machine says {4, 5, 6, 7}",
        ),
    ),
    "03-share": (
        # the sum is agreed upon, the maximum is not
        (
            SHARE.starter.replace(
                "        total += weight\n",
                "        total += weight\n    for bit in (1, 2, 4, 8):\n"
                "        total += k.shfl(total, bit, 31, 0xFFFFFFFF, mode='bfly')\n",
            ),
            "each thread measured from its own maximum",
        ),
        # one step too few
        (SHARE.solution.replace("(1, 2, 4, 8)", "(1, 2, 4)"), "Eight lanes agree with each other"),
        # one too many: the other row of the warp comes in
        (SHARE.solution.replace("(1, 2, 4, 8)", "(1, 2, 4, 8, 16)"), "a softmax over two rows together"),
        # threads past the end leave
        (SHARE.solution.replace("    mine = s +", "    k.return_if(row >= n)\n    mine = s +"), "synccheck"),
    ),
    "03-logsumexp": (
        # without the maximum
        (LOGSUMEXP.solution.replace("(mine[j] - top)", "mine[j]").replace(" + top", ""), "`ex2.approx.f32` of 274.6 is inf"),
        # natural instead of binary
        (LOGSUMEXP.solution.replace(" * LN2", ""), "1.44 times too large"),
        # only whole turns
        (LOGSUMEXP.solution.replace("k.loop(m, start=tx, step=16)", "k.loop(m // 16 * 16, start=tx, step=16)"),
         "lse[4] should be"),
        # threads past the end leave
        (LOGSUMEXP.solution.replace("    mine = s +", "    k.return_if(row >= n)\n    mine = s +"), "synccheck"),
    ),
    "03-piece": (
        # four by four, rows D apart
        (PIECE.solution.replace("stride = D + 4", "stride = D"), "because of bank conflicts"),
        # straight from global memory
        (
            """
@kernel
def product(k: Builder, q: Ptr[f32], key: Ptr[f32], s: Ptr[f32], *, D: int = 16):
    t = k.tid.x
    with k.loop(32 * 32, start=t, step=64) as one:
        row, column = q + one // 32 * D, key + one % 32 * D
        total = k.var(f32, 0.0)
        for d in range(D):
            total.set(k.fma(row[d], column[d], total))
        s[one] = total
""",
            "Nothing is loaded from shared memory",
        ),
        # keys beside each other instead of eight apart
        (PIECE.solution.replace("8 * j * stride", "j * stride"), "s[0, 8] should be"),
    ),
}  # fmt: skip
