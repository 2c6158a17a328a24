"""Exercise 08-sinks, attention sinks, and the text of the decode kernel that two exercises begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading

HEAD = '''
@kernel
def {name}(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], lse: Ptr[f32],
    {sizes}, scale: f32, *, D: int = 64{more},
):
    """{says}"""
    lane = k.tid.x
'''
LOOP = """    scale_log2e = scale * LOG2E
    query = [q_row[d] for d in range(0, D, 32)]
    acc = k.vars(f32, D // 32, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)

    with k.loop({count}) as {i}:
{choose}        key_row, value_row = key + {start} + lane, value + {start} + lane
        score = k.var(f32, 0.0)
        for e in range(D // 32):
            score.set(k.fma(query[e], key_row[32 * e], score))
        for distance in (16, 8, 4, 2, 1):
            score += k.shfl(score, distance, 31, -1, mode="bfly")
        score *= scale_log2e
        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for e in range(D // 32):
            acc[e] *= rescale
            acc[e].set(k.fma(weight, value_row[32 * e], acc[e]))
        row_max.set(new_max)
"""


def _sinks(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int]:
        return int(rng.integers(1, 60)), int(rng.integers(1, 6)), int(rng.integers(1, 12))

    dim = 64
    for n, sinks, window in g.vary(((40, 4, 8), (10, 4, 8), (3, 4, 8)), hidden=draw, count=3):
        q = 2 * g.rng.standard_normal(dim).astype(np.float32)
        key, value = (g.rng.standard_normal((n, dim)).astype(np.float32) for _ in range(2))
        o, lse = np.full_like(q, np.nan), np.full(1, np.nan, np.float32)
        run = g.launch(
            answer, 1, 32, q, key, value, o, lse, n, dim**-0.5, build={"D": dim, "S": sinks, "W": window}, counters=True
        )
        if run is None:
            continue
        seen = sorted({*range(min(sinks, n)), *range(max(0, n - window), n)})
        exact = reference.attention(q[None, None, None], key[seen][None, None], value[seen][None, None])
        case = f"{n} keys, {sinks} sinks, a window of {window}"
        shown, known = f"Visible are the keys {', '.join(map(str, seen))}.", []
        twice = np.concatenate([np.arange(min(sinks, n)), np.arange(max(0, n - window), n)])
        double = reference.attention(q[None, None, None], key[twice][None, None], value[twice][None, None]).o[0, 0, 0]
        if len(twice) > len(seen):
            both = sorted(set(range(min(sinks, n))) & set(range(max(0, n - window), n)))
            known = [(double, f"{shown} Key {both[0]} counts twice: it is a sink, and it is in the window.")]
        for s, w, told in (
            (0, window, "The first keys are not seen."), (0, window + sinks, "Only the last keys are seen."),
            (sinks, window - sinks, f"The window lacks {sinks} keys. Where does the gap begin, and where does it end?"),
            (sinks, 0, "The last keys are not seen."), (sinks, n, "All keys are seen."),
            (sinks, window - 1, "The window has a key too few."), (sinks - 1, window, "A sink is missing."),
            (sinks, window + 1, "The window has a key too many."), (sinks + 1, window, "There is a sink too many."),
        ):  # fmt: skip
            keys = sorted({*range(min(s, n)), *range(max(0, n - w), n)})
            if keys and keys != seen:
                other = reference.attention(q[None, None, None], key[keys][None, None], value[keys][None, None])
                known.append((other.o[0, 0, 0], f"{shown} {told}"))
        rows = dim * 4 // 32
        if g.close(case, o, exact.o[0, 0, 0], rtol=1e-3, atol=1e-4, says=shown, known=known):
            g.close(f"LSE: {case}", lse, exact.lse[0, 0], rtol=1e-4, atol=1e-4, says=shown)
            g.at_most(
                f"reads no other key: {case}", run, "sectors", rows * (2 * len(seen) + 2) + 1,
                f"{shown} Key and value are {2 * rows} sectors each time."
            )  # fmt: skip
    g.note("Only visible keys were read: the cost no longer grows with the length of the text.")


_SINK_HEAD = (
    HEAD.format(
        name="sinks",
        sizes="n: u32",
        more=", S: int = 4, W: int = 8",
        says="One warp = one query, which sees the first S keys and the last W.",
    )
    + "    q_row = q + lane\n"
)
_SINK_TAIL = """
    o_row = o + lane
    for e in range(D // 32):
        o_row[32 * e] = acc[e] / row_sum
    with k.guard(lane == 0):
        lse[0] = (row_max + k.log2(row_sum)) * LN2
"""

SINKS = Exercise(
    name="08-sinks",
    title="Attention sinks",
    kind="write",
    level=3,
    prompt="""
A text without end would need a cache without end. Xiao et al. (2023) found that it is enough to keep two
parts: the last `W` keys, and the **first** `S`. On those first keys the model puts attention that it has no other use
for, so they are called *sinks*. Without them the model writes nonsense.

The kernel below lets the query see all `n` keys. Change it so that it sees the first `S` and the last `W`, each
key once, and reads no other key from memory. Short sequences need care: the two parts may overlap, or there may
be fewer keys than `S`.
""",
    starter=_SINK_HEAD + LOOP.format(count="n", i="j", choose="", start="j * D") + _SINK_TAIL,
    solution=_SINK_HEAD
    + "    first = k.min(n, S)  # sinks\n"
    + "    window = k.max(n, W) - W  # where the window begins\n"
    + "    gap = k.max(window, first) - first  # keys between the two that are not seen\n"
    + LOOP.format(count="n - gap", i="i", choose="        j = i + k.select(i < first, 0, gap)\n", start="j * D")
    + _SINK_TAIL,
    answer="sinks",
    hints=(
        "How many keys are hidden, and where do they begin? For 40 keys, 4 sinks, a window of 8: those from 4 to 31.",
        "One loop over the visible keys is enough: after the sinks it jumps over a gap. A u32 has no negative "
        "numbers, so "
        "take a maximum before you subtract.",
    ),
    graded=(
        "output and log-sum-exp, for other n, S and W, overlapping ones among them",
        "no hidden key is read: sectors are counted",
        "no check of the machine finds anything",
    ),
    grade=_sinks,
)
