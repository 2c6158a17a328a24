"""Two exercises about the scalar kernel: what is left over at its end, 01-lse, and what it need not do, 01-thrift."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.course.causes import log_sums
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.values import counted

BLOCK = 32
WIDE = 60.0
"""A standard deviation of logits so large that exp of the difference of two may be more than an f32 holds."""


QUERY = """    scale_log2e = scale * LOG2E
    query = k.load(q + row * D, D)
    acc = k.vars(f32, D, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)
"""
SCORE = """        offset = j * D
        key_row, value_row = key + offset, value + offset
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], key_row[d], score))
        score *= scale_log2e

"""
STEP = """        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for d in range(D):
            acc[d] *= rescale
            acc[d].set(k.fma(weight, value_row[d], acc[d]))
        row_max.set(new_max)
"""
END = """
    o_row = o + row * D
    for d in range(D):
        o_row[d] = acc[d] / row_sum
"""
"""The online softmax of `scalar` as text: its state, a score, a step, the output."""


_LSE = (
    '''
@kernel
def with_lse(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], n: u32, keys: u32, scale: f32,
    *, D: int = 8,
):
    """One thread = one query row; also stores the natural logarithm of the row's sum of exponentials."""
    row = k.thread_index()
    k.return_if(row >= n)
'''
    + QUERY
    + "\n    with k.loop(keys) as j:\n"
    + SCORE
    + STEP
    + END
    + "    {last}\n"
)


def _lse_case(rng: np.random.Generator) -> tuple[int, int, float, int]:
    return int(rng.integers(33, 64)), int(rng.integers(2, 40)), float(rng.uniform(3, 8)), int(rng.integers(1 << 30))


def _lse(g: Grading, answer: Any) -> None:
    for rows, keys, sigma, seed in g.vary(
        ((20, 24, 1.0, 3),), hidden=_lse_case, edges=((20, 9, WIDE, 2), (1, 1, 1.0, 4))
    ):
        dim = 4
        q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, keys, dim, sigma=sigma, seed=seed))
        o, lse = np.full_like(q, np.nan), np.full(rows, np.nan, np.float32)
        run = g.launch(
            answer, -(-rows // BLOCK), BLOCK, q, k, v, o, lse, rows, keys, reference.default_scale(dim),
            build={"D": dim}
        )  # fmt: skip
        if run is None:
            continue
        exact = reference.attention(q[None, None], k[None, None], v[None, None]).lse[0, 0]

        m = (q.astype(np.float64) @ k.T.astype(np.float64) / math.sqrt(dim)).max(axis=1)
        known = functools.partial(log_sums, m, np.exp(exact - m))
        g.close("the log-sum-exp", lse, exact, rtol=1e-4, atol=1e-4, run=run, known=known)
        g.attention("the output", o, q, k, v, run=run)
        size = f"{counted(rows, 'row')} over {counted(keys, 'key')}"
        g.note(f"{size}: LSE within {float(np.max(np.abs(lse - exact))):.1e} of float64.")


LSE = Exercise(
    name="01-lse",
    title="the number that is left over",
    kind="fill",
    level=1,
    prompt=r"""
At the end of the loop a thread holds $m$ and $l$. Together they say how much weight the row's scores had in all: the
*log-sum-exp*, $\mathrm{LSE} = \ln \sum_j e^{s_j} = m + \ln l$. The backward pass needs it, and so does merging two
halves of a row. Store it, in natural units, for each row: one line is missing at the end. (What units is `row_max` in?)
""",
    starter=_LSE.format(last="lse[row] = row_max  # and then?"),
    solution=_LSE.format(
        last="lse[row] = (row_max + k.log2(row_sum)) * LN2  # both are base 2 here: one factor for both"
    ),
    answer="with_lse",
    hints=(
        "the state has two numbers, m and l: both belong into the result, and both in natural units",
        "the kernel's weights are exp2(score - m): so m counts in units of ln 2, and l is a plain sum",
    ),
    graded=("the LSE of every row within 1e-4 of float64, for small and large logits", "the output is still right"),
    grade=_lse,
)


_THRIFT_HEAD = '''
@kernel
def thrifty(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32, *, D: int = 8):
    """One thread = one query row."""
    row = k.thread_index()
    k.return_if(row >= n)
'''
_THRIFT_START = """    o_row = o + row * D
    acc = k.vars(f32, D, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)

    with k.loop(n) as j:
        offset = j * D
        query_row, key_row, value_row = q + row * D, key + offset, value + offset
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query_row[d], key_row[d], score))
        score *= scale

        new_max = k.max(row_max, score)
        rescale = k.exp2((row_max - new_max) * LOG2E)
        weight = k.exp2((score - new_max) * LOG2E)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for d in range(D):
            acc[d] *= rescale
            acc[d].set(k.fma(weight, value_row[d], acc[d]))
            o_row[d] = acc[d] / row_sum
        row_max.set(new_max)
"""
_WHY = {
    "LOG2E\n": "one factor for both, and outside of the loop",
    "k.load(q + row * D, D)\n": "a row meets all keys with the same query: it stays in registers",
    "row_sum\n": "once: every earlier quotient would be written over",
}
_THRIFT_DONE = QUERY + "\n    with k.loop(n) as j:\n" + SCORE + STEP + END
for _end, _says in _WHY.items():
    _THRIFT_DONE = _THRIFT_DONE.replace(_end, f"{_end.rstrip()}  # {_says}\n")
PER_KEY, PER_ROW = 18, 60
"""Instructions that 01-thrift allows besides five for each element of a key, and besides six for one of the row."""


def _thrift_case(rng: np.random.Generator) -> tuple[int, int, float, int]:
    return int(rng.integers(20, 32)), int(rng.choice([4, 16])), float(rng.uniform(2, 8)), int(rng.integers(1 << 30))


def _thrift(g: Grading, answer: Any) -> None:
    for rows, dim, sigma, seed in g.vary(((32, 8, 4.0, 1),), hidden=_thrift_case, edges=((20, 4, WIDE, 2),)):
        q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, rows, dim, sigma=sigma, seed=seed))
        o = np.full_like(q, np.nan)
        run = g.launch(
            answer, 1, BLOCK, q, k, v, o, rows, reference.default_scale(dim), build={"D": dim}, counters=True
        )
        if run is None or not g.attention(f"right for {rows} rows, D = {dim}", o, q, k, v, run=run):
            continue
        assert run.counters is not None
        allowed = rows * (5 * dim + PER_KEY) + 6 * dim + PER_ROW
        g.at_most(
            f"few instructions for {rows} keys, D = {dim}", run, "warp instructions", allowed,
            says=f"Allowed are {5 * dim + PER_KEY} a key, and {6 * dim + PER_ROW} once."
        )  # fmt: skip
        g.at_most("each result is stored once", run, "global stores", dim)
        g.note(
            f"{rows} keys, D = {dim}: {run.counters.warp_instructions} instructions for the warp, {allowed} allowed."
        )


THRIFT = Exercise(
    name="01-thrift",
    title="nothing twice",
    kind="optimise",
    level=2,
    prompt="""
This kernel is right and does much more than it needs to: some of it at every key, though once would do. Rewrite it so
that a warp issues at most `5 * D + 18` instructions for each key, and `6 * D + 60` for all that happens once.
""",
    starter=_THRIFT_HEAD + _THRIFT_START,
    solution=_THRIFT_HEAD + _THRIFT_DONE,
    answer="thrifty",
    hints=(
        "the feedback names the PTX lines that are issued most often: which of them give the same result at every key?",
        "the query does not change in the loop; k.load(pointer, D) brings a row into registers",
    ),
    graded=("the result, for sizes not shown", "the instructions that the warp issues", "each element is stored once"),
    grade=_thrift,
)
