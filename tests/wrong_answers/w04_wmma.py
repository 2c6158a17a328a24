"""Wrong answers to the exercises of notebook 04."""

from __future__ import annotations

from ptxlab.course.exercises.e04_wmma import DEEP, KEYS, REUSE, ROWS

WRONG = {
    "04-products": (
        # the second product forgotten
        ("def products(rows, keys, D):\n    return 4 * -(-rows // 64) * -(-keys // 64) * 4 * (D // 16)\n",
         "products(64, 64, 16): you say 16, the machine says 32."),
        # only the keys that there are
        ("def products(rows, keys, D):\n    return 4 * -(-rows // 64) * -(-keys // 16) * 2 * (D // 16)\n",
         "products(64, 65, 16): you say 40, the machine says 64."),
        # blocks, not warps
        ("def products(rows, keys, D):\n    return -(-rows // 64) * -(-keys // 64) * 8 * (D // 16)\n",
         "1 block of 4 warps"),
    ),
    "04-deep": (
        # only the first piece
        (DEEP.solution.replace("range(0, K, 16)", "range(0, 16, 16)"), "the product for K = 16: 3 pieces"),
        # the stride of A forgotten
        (DEEP.solution.replace("a + step, K)", "a + step, 16)"), "A was read as if a row had 16 numbers"),
        # and that of B
        (DEEP.solution.replace("b + step * 16, 16)", "b + step, 16)"), "where does its row 16 begin?"),
        # every step stored
        (
            DEEP.solution.replace(
                "into=total)",
                'into=total)\n        k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c, total, 16)',
                1,
            ),
            "is enough",
        ),
    ),
    "04-keys": (
        (KEYS.starter, "What came out is Q K, not Q K': the rows of K were taken for rows."),
        # the column order without the address
        (
            KEYS.starter.replace("load.b.sync.aligned.row", "load.b.sync.aligned.col").replace(
                "aligned.row.row", "aligned.row.col"
            ),
            "s[0, 0] should be",
        ),
        # the stride of a row of B
        (KEYS.solution.replace("+ step, D)\n        k.op", "+ step, 16)\n        k.op"),
         "In memory a row of K has D numbers"),
        # in the load only
        (KEYS.solution.replace("aligned.row.col", "aligned.row.row"), "B is loaded as .col and multiplied as .row"),
    ),
    "04-reuse": (
        # A is kept, B is not
        (
            REUSE.solution.replace(
                "    for step in range(0, K, 16):\n        left = {top",
                "    for step in range(0, K, 16):\n        k.op(f'wmma.load.b.sync.aligned.row.{SHAPE}.global.f16', b, 32)\n"
                "        left = {top",
            ),
            "10 loads of fragments; 8 loads are enough for the 8 products",
        ),
        (REUSE.starter, "16 loads of fragments; 8 loads are enough"),
        # the wrong side of B
        (REUSE.solution.replace("left[top], right[side], part", "left[top], right[top], part"), "c[0, 16] should be"),
    ),
    "04-rows": (
        # the layout of this machine
        (
            ROWS.starter.replace(
                '    k.op(f"wmma.store',
                """    for half in (0, 2):
        row = [total[n + half] for n in (0, 1, 4, 5)]
        row_sum = k.var(f32, 0.0)
        for x in row:
            row_sum += x
        for bit in (1, 2):
            row_sum += k.shfl(row_sum, bit, 31, 0xFFFFFFFF, mode="bfly")
        for x in row:
            x.set(x / row_sum)
    k.op(f\"wmma.store""",
            ),
            "takes single elements out of a fragment",
        ),
        # nobody waits
        (
            ROWS.solution.replace(
                '    k.op("bar.warp.sync", 0xFFFFFFFF)  # the matrix is where every lane can read it\n', ""
            ),
            "racecheck",
        ),
        # half a row
        (ROWS.solution.replace('    row_sum += k.shfl(row_sum, 1, 31, 0xFFFFFFFF, mode="bfly")\n', ""),
         "Each *half* of a row adds up to 1"),
    ),
}  # fmt: skip
