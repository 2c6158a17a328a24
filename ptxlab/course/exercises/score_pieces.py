"""The exercise 03-piece: a thread computes four by four scores, so that a number loaded is used four times."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading


def _piece(g: Grading, answer: Any) -> None:
    for D in g.vary((16, 32), hidden=lambda r: 8 * int(r.integers(3, 9))):
        q, key = (g.rng.integers(-4, 5, (32, D)).astype(np.float32) for _ in range(2))
        s = np.full((32, 32), np.nan, np.float32)
        run = g.launch(answer, 1, 64, q, key, s, build={"D": D}, counters=True)
        if run is None:
            continue
        assert run.counters is not None
        if not np.array_equal(s, q @ key.T):
            moved = (q @ key.T).reshape(32, 4, 8).swapaxes(1, 2).reshape(32, 32)
            told = "The scores are right and lie in other columns: of which keys are they, and where is each stored?"
            g.equal(f"right for D = {D}", s, q @ key.T, run=run, known=((moved, told),))
            continue
        fma = 32 * 32 * D // 32
        loads = [line for line in run.counters.by_line.values() if line.opcode.startswith("ld.shared")]
        found, conflicts = sum(line.wavefronts for line in loads), sum(line.conflicts for line in loads)
        g.part(
            f"half a wavefront for each FMA, D = {D}",
            found <= fma / 2 and found,
            f"Loads from shared memory take {found} wavefronts ({conflicts} of them because of bank conflicts) for "
            f"{fma} FMA of a warp: {found / fma:.2f} each, and 0.5 are allowed."
            if found
            else "Nothing is loaded from shared memory.",
            sort="cost",
        )
        g.at_most(
            f"no number is read twice, D = {D}", run, "sectors", 3 * (2 * 32 * D + 32 * 32) // 8 // 2,
            "Q and K are read once each, by neighbours, and S is written once."
        )  # fmt: skip
        g.at_most(f"registers, D = {D}", run, "registers", 96)
        g.note(f"D = {D}: {found / fma:.3f} wavefronts for each FMA.")


_PIECE = '''
@kernel
def product(k: Builder, q: Ptr[f32], key: Ptr[f32], s: Ptr[f32], *, D: int = 16):
    """S = Q K' for 32 rows and 32 keys of D numbers; one block of 64 threads."""
'''

PIECE = Exercise(
    name="03-piece",
    title="Half a wavefront for each FMA",
    kind="optimise",
    level=3,
    prompt="""
64 threads compute the scores of 32 rows and 32 keys, and they do it as `tiled` does: score by score. Each FMA of a
warp costs up to two wavefronts of shared memory. Rewrite the kernel so that it costs at most **half a wavefront**,
with at most 96 registers alive at once, and without reading Q or K more than once from global memory.

The square is smaller than that of the notebook: 8 by 8 threads. `D` is a multiple of 8. Look at the bank conflicts
that the feedback names.
""",
    starter=_PIECE
    + """
    q_tile, k_tile = k.shared(f32, 32 * D), k.shared(f32, 32 * D)
    t = k.tid.x
    for tile, source in ((q_tile, q), (k_tile, key)):
        with k.loop(32 * D, start=t, step=64) as e:
            tile[e] = source[e]
    k.barrier()

    with k.loop(32 * 32, start=t, step=64) as one:  # one score after the other
        row, column = q_tile + one // 32 * D, k_tile + one % 32 * D
        total = k.var(f32, 0.0)
        for d in range(D):
            total.set(k.fma(row[d], column[d], total))
        s[one] = total
""",
    solution=_PIECE
    + """
    stride = D + 4  # turns each row four banks further (an odd number of times four, as D is a multiple of 8)
    q_tile, k_tile = k.shared(f32, 32 * stride), k.shared(f32, 32 * stride)
    t = k.tid.x
    ty, tx = t // 8, t % 8
    for tile, source in ((q_tile, q), (k_tile, key)):
        with k.loop(32 * D, start=t, step=64) as e:
            tile[e // D * stride + e % D] = source[e]
    k.barrier()

    my_rows, my_keys = q_tile + ty * (4 * stride), k_tile + tx * stride
    total = [k.vars(f32, 4, 0.0) for _ in range(4)]
    with k.loop(D, step=4) as d:
        a = [k.load(my_rows + d + i * stride, 4, vector=4) for i in range(4)]
        b = [k.load(my_keys + d + 8 * j * stride, 4, vector=4) for j in range(4)]
        for i in range(4):
            for j in range(4):
                for x, y in zip(a[i], b[j]):
                    total[i][j].set(k.fma(x, y, total[i][j]))

    mine = s + ty * (4 * 32) + tx
    for i in range(4):
        for j in range(4):
            mine[i * 32 + 8 * j] = total[i][j]
""",
    answer="product",
    hints=(
        "four rows and four keys per thread: eight loads of four numbers serve 64 FMA",
        "thread (ty, tx) takes rows 4 ty to 4 ty + 3 and keys tx, tx + 8, tx + 16, tx + 24; k.load(..., 4, vector=4)",
    ),
    graded=(
        "the right scores, exactly",
        "at most half a wavefront of shared memory for each FMA of a warp",
        "Q, K and S go through global memory once; at most 96 registers",
    ),
    grade=_piece,
)
