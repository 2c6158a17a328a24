"""The exercises of notebook 09: shares, no keys on both sides, lanes that merge, warps that meet, many parts."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.attention.merge import merge_states
from ptxlab.course.causes import Known, log_sums
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading


def _share(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[float, float, float, float]:
        m1, m2 = (float(x) for x in np.round(rng.uniform(-6, 6, 2), 2))
        l1, l2 = (float(x) for x in np.round(rng.uniform(1, 5, 2), 2))
        return (-math.inf, 0.0, m2, l2) if rng.random() < 0.25 else (m1, l1, m2, l2)

    shown = ((1.0, 2.0, 1.0, 2.0), (0.0, 3.0, 1.0, 1.0), (2.0, 1.5, -math.inf, 0.0))
    edges = ((-800.0, 1.0, 800.0, 2.0), (-900.0, 2.0, -899.0, 1.0), (-math.inf, 0.0, 1.0, 2.0))
    for m1, l1, m2, l2 in g.vary(shown, hidden=draw, count=4, edges=edges):
        lse = [np.array([m + math.log(l) if l else -math.inf], np.float32) for m, l in ((m1, l1), (m2, l2))]
        ones, zeros = np.ones((1, 4), np.float32), np.zeros((1, 4), np.float32)
        o, _ = merge_states(ones, lse[0], zeros, lse[1], device="cpu")
        truth = float(o[0, 0])
        says = (
            f"The kernel of pl.merge_states merged a first output of ones with a second one of zeros, and stored "
            f"{truth:.4g}. The log-sum-exps were {lse[0][0]:.4g} and {lse[1][0]:.4g}."
        )
        with np.errstate(all="ignore"):
            product = m1 * l1 / (m1 * l1 + m2 * l2) if l1 and l2 else truth
            away, two = np.exp(np.float64(m2 - m1)), np.exp2(np.float64(m2 - m1))
            known = (
                (l1 / (l1 + l2), "You compare the sums as they stand, each under its own maximum."),
                (truth / (1 - truth) if truth < 1 else 1.0, "You divide by the other part's weight. What is a share?"),
                (1 - truth, "That is the share of the second part."),
                (l1 / (l1 + l2 * two), "You take powers of 2. In which units are maxima?"),
                (1 / (1 + away), "You compare the maxima alone. What do the sums say?"),
                (product, "A sum is multiplied by its maximum there. A maximum is an exponent."),
                (l1 / (l1 + l2 / away), "The difference of the maxima is the other way round."),
            )
        g.predict(answer, (m1, l1, m2, l2), truth, says, rtol=1e-4, known=known)
    g.note("Whose sum, brought to a common maximum, is larger, has the larger share. Maximum and sum both count.")


SHARE = Exercise(
    name="09-share",
    title="Whose output is it?",
    kind="predict",
    level=1,
    prompt="""
Two parts have the states $(m_1, l_1)$ and $(m_2, l_2)$. The merged output is a mean of the two parts' own
(divided) outputs. **What share does the first part have in it**, from 0 to 1?

The check runs the kernel of `pl.merge_states`: it merges an output of ones with an output of zeros. One of the parts
may be without keys, $(-\\infty, 0)$, but not both.
""",
    starter='''
def share(m1, l1, m2, l2):
    """The share of the first part in the merged output."""
    return l1 / (l1 + l2)
''',
    solution='''
def share(m1, l1, m2, l2):
    """The share of the first part in the merged output."""
    m = max(m1, m2)
    first, second = l1 * math.exp(m1 - m), l2 * math.exp(m2 - m)
    return first / (first + second)
''',
    answer="share",
    hints=(
        "If m1 = m2, the sums are enough. What is the unit of a sum if the maxima differ?",
        "Bring both sums to the same maximum before you compare them.",
    ),
    graded=("the share, for states that are not shown, some of them without keys",),
    grade=_share,
)


def _empty(g: Grading, answer: Any) -> None:
    inf = -np.inf
    for dim in g.vary((32,), hidden=lambda rng: int(rng.integers(1, 5)) * 32):
        lse1 = np.array([0.5, inf, 2.0, inf, g.rng.uniform(-90, -80), -205.0], np.float32)
        lse2 = np.array([1.5, 0.25, inf, inf, 60.0, -204.0], np.float32)
        rows = len(lse1)
        o1, o2 = (g.rng.standard_normal((rows, dim)).astype(np.float32) for _ in range(2))
        o1[np.isneginf(lse1)] = 0  # what a part without keys returns
        o2[np.isneginf(lse2)] = 0
        o, lse = np.full_like(o1, np.nan), np.full(rows, np.nan, np.float32)
        run = g.launch(answer, rows, 32, o1, lse1, o2, lse2, o, lse, dim, counters=True)
        if run is None:
            continue
        want_o, want_lse = reference.merge_states(o1.astype(float), lse1.astype(float), o2.astype(float), lse2)
        some = ~(np.isneginf(lse1) & np.isneginf(lse2))
        # What has keys first: a kernel that stores nothing but 0 and -inf has not understood row 3.
        top = np.maximum(lse1, lse2).astype(float)
        lost = np.where(top[:, None] < -88, 0, want_o), "Both weights of row 5 are 0. From what were they measured?"
        right = g.close(f"all other outputs, D = {dim}", o, want_o, rtol=1e-4, only=some[:, None], known=(lost,))
        sums = functools.partial(log_sums, top, np.exp(lse1 - top) + np.exp(lse2 - top))
        right &= g.close(f"all other log-sum-exps, D = {dim}", lse, want_lse, rtol=1e-5, only=some, known=sums)
        if not right:
            continue
        g.part(
            f"row 3, D = {dim}: two parts without keys",
            not np.isnan(o[3]).any() and bool((o[3] == 0).all()),
            "Row 3 merges two parts without keys, both with log-sum-exp -inf. Wanted is 0, and the kernel stored "
            f"o[3, 0] = {o[3, 0]:g}{': did it compute -inf - (-inf), or 0 / 0?' if np.isnan(o[3, 0]) else '.'}",
        )
        g.part(
            f"row 3, D = {dim}: its log-sum-exp",
            lse[3] == -np.inf,
            f"Row 3 has no key on either side: its log-sum-exp stays -inf; the kernel stored {lse[3]:g}.",
        )
        g.at_most(f"each element is stored once, D = {dim}", run, "global stores", rows * (dim // 32 + 1))
    g.note("A floor under the maximum: exp2(-inf - floor) is 0, and 0 times anything finite changes nothing.")


_EMPTY = '''
@kernel
def merge(
    k: Builder, o1: Ptr[f32], lse1: Ptr[f32], o2: Ptr[f32], lse2: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], D: u32,
):
    """One warp = one row: o and lse of both parts, from those of each."""
    row, lane = k.ctaid.x, k.tid.x
    first, second = lse1[row], lse2[row]
    m = k.max(first, second)
'''
EMPTY = Exercise(
    name="09-empty",
    title="Nothing and nothing",
    kind="fix",
    level=2,
    prompt="""
This kernel merges finished outputs by their log-sum-exps. It is right when one of the parts is without keys. When
*both* are, it writes NaN. Fix it without a branch: such a row has the output 0 and the log-sum-exp $-\\infty$,
and all others stay as they are.
""",
    starter=_EMPTY
    + """    w1 = k.exp2((first - m) * LOG2E)
    w2 = k.exp2((second - m) * LOG2E)
    total = w1 + w2
    with k.loop(D, start=lane, step=32) as d:
        at = row * D + d
        o[at] = k.fma(w1, o1[at], w2 * o2[at]) / total
    with k.guard(lane == 0):
        lse[row] = m + k.log2(total) * LN2
""",
    solution=_EMPTY
    + """    shift = k.max(m, -3.0e38)
    w1 = k.exp2((first - shift) * LOG2E)
    w2 = k.exp2((second - shift) * LOG2E)
    total = w1 + w2
    divisor = k.select(total > 0.0, total, 1.0)
    with k.loop(D, start=lane, step=32) as d:
        at = row * D + d
        o[at] = k.fma(w1, o1[at], w2 * o2[at]) / divisor
    with k.guard(lane == 0):
        lse[row] = m + k.log2(divisor) * LN2
""",
    answer="merge",
    hints=(
        "Which difference is taken when first and second are both -inf? And what is divided by what after that?",
        "Two places: subtract something that is never -inf, and divide by something that is never 0.",
    ),
    graded=("rows without keys on both sides, on one side, on none", "very different log-sum-exps", "any D"),
    grade=_empty,
)


def _met(m: Any, l: Any) -> Known:
    """What the usual mistakes make of five exchanges of states in powers of two."""
    lanes = np.arange(32)

    def after(step: Any) -> Any:
        top, total = m.astype(float), l.astype(float)
        for d in (16, 8, 4, 2, 1):
            theirs, new = top[lanes ^ d], np.maximum(top, top[lanes ^ d])
            mine, theirs = (np.exp2(x - np.maximum(new, -3e38)) for x in (top, theirs))
            total, top = step(total, total[lanes ^ d], mine, theirs, (total * mine)[lanes ^ d]), new
        return top + np.log2(total)

    e = np.log2(np.e)
    return (
        (after(lambda l, other, a, b, sent: l + other),
         "The sums were added as they stand, though each was taken under its own maximum."),
        (m + np.log2(l), "That is each lane's own state: it has heard from nobody. Whose sums are missing?"),
        (after(lambda l, other, a, b, sent: l + other * b), "What came out adds the lane's own sum as it was, under "
         "its old maximum. Look at lane 0 in round 1: m may rise, and l does not change."),
        (after(lambda l, other, a, b, sent: l * a + other),
         "What came out adds the partner's sum as it came, under the partner's maximum."),
        (after(lambda l, other, a, b, sent: l * a + sent * b),
         "The partner's sum was scaled twice: it had been scaled before it was sent."),
        (after(lambda l, other, a, b, sent: l * a + other * a),
         "The partner's sum has your own factor. What is its maximum?"),
        (after(lambda l, other, a, b, sent: l * a**e + other * b**e),
         "The factors are powers of e, and the states are in powers of two already. What does LOG2E do here?"),
    )  # fmt: skip


def _lanes(g: Grading, answer: Any) -> None:
    for sigma, empty in g.vary(
        ((3.0, 0), (3.0, 7)), hidden=lambda r: (float(r.uniform(1, 12)), int(r.integers(0, 32))), edges=((90.0, 24),)
    ):
        m = (sigma * g.rng.standard_normal(32)).astype(np.float32)
        sums = g.rng.uniform(1, 4, 32).astype(np.float32)
        gone = g.rng.permutation(32)[:empty]
        m[gone], sums[gone] = -np.inf, 0
        lse = np.full(32, np.nan, np.float32)
        run = g.launch(answer, 1, 32, m, sums, lse, counters=True)
        if run is None:
            continue
        top = float(m.max())
        with np.errstate(invalid="ignore"):
            weights = np.where(np.isneginf(m), 0.0, np.exp2(m.astype(float) - top))
        exact = top + math.log2(float((sums * weights).sum()))
        says = f"Lane 0 began with (m, l) = ({m[0]:.4g}, {sums[0]:.4g})."
        if empty and np.isnan(lse).any():
            says = f"Of 32 lanes {empty} are without keys, and two of them met: -inf - (-inf) is NaN."
        known = functools.partial(_met, m, sums)
        case = f"{empty} lanes without keys"
        if g.close(case, lse, np.full(32, exact), rtol=1e-4, atol=1e-4, says=says, known=known):
            g.at_most("two shuffles an exchange", run, "shuffles", 10)
    g.note("Five exchanges of (m, l), and every lane knows the log-sum-exp of all.")


_LANES = '''
@kernel
def lanes(k: Builder, maxima: Ptr[f32], sums: Ptr[f32], lse: Ptr[f32]):
    """One warp: lse[lane] = log2 of the sum of all lanes' weights."""
    lane = k.tid.x
    m, l = k.var(f32, maxima[lane]), k.var(f32, sums[lane])
    for distance in (16, 8, 4, 2, 1):
        theirs = k.shfl(m, distance, 31, -1, mode="bfly")
        new_max = k.max(m, theirs)
{body}
        m.set(new_max)
    lse[lane] = m + k.log2(l)
'''
LANES = Exercise(
    name="09-lanes",
    title="Merge by butterflies",
    kind="fill",
    level=2,
    prompt="""
Each lane has seen some keys and holds their maximum and their sum, in powers of two: $l = \\sum_j 2^{s_j -
m}$. Some lanes have seen no key. Merge all 32 states with five butterfly exchanges, so that every lane ends with
those of the warp.

The exchange of the maximum is there. Write the rest: get the partner's sum, rescale both sums to the new maximum,
and add.
""",
    starter=_LANES.format(body="        # the sums: yours"),
    solution=_LANES.format(
        body="""        shift = k.max(new_max, -3.0e38)
        their_sum = k.shfl(l, distance, 31, -1, mode="bfly")
        l *= k.exp2(m - shift)
        l.set(k.fma(their_sum, k.exp2(theirs - shift), l))"""
    ),
    answer="lanes",
    hints=(
        "What must happen to your own sum when new_max is larger than m? And to the partner's?",
        "Shuffle l as m was shuffled, before you change it. Then l * 2^(m - new) + their_sum * 2^(theirs - new).",
    ),
    graded=("the log-sum-exp in every lane, with lanes without keys among them", "at most ten shuffles"),
    grade=_lanes,
)


def _meeting(g: Grading, answer: Any) -> None:
    for warps, rounds in g.vary(((2, 1), (2, 3)), hidden=lambda r: (int(r.choice([2, 4, 8])), int(r.integers(2, 5)))):
        x = (4 * g.rng.standard_normal((rounds, 32 * warps))).astype(np.float32)
        y = np.full(rounds, np.nan, np.float32)
        run = g.launch(answer, 1, 32 * warps, x, y, rounds, build={"W": warps}, counters=True, orders=True)
        if run is None:
            continue
        own = x.reshape(rounds, warps, 32).max(axis=2)[:, 0]
        known = [(own, "What came out is the maximum of warp 0. Who reads those of the other warps?")]
        if g.close(f"{warps} warps, {rounds} rounds", y, x.max(axis=1), rtol=0, atol=0, known=known):
            g.at_most("two barriers a round are enough", run, "barriers", 2 * rounds * warps)
    g.note("One barrier before the reading, one before the next writing: each promise needs its own.")


_MEETING = '''
@kernel
def meeting(k: Builder, x: Ptr[f32], y: Ptr[f32], rounds: u32, *, W: int = 2):
    """One block of W warps; y[r] = the largest of the 32 * W numbers of round r."""
    thread = k.tid.x
    lane, warp = thread & 31, thread >> 5
    maxima = k.shared(f32, W)
    with k.loop(rounds) as r:
        largest = k.var(f32, x[r * (32 * W) + thread])
        for distance in (16, 8, 4, 2, 1):
            largest.set(k.max(largest, k.shfl(largest, distance, 31, -1, mode="bfly")))
        with k.guard(lane == 0):
            maxima[warp] = largest
%s        all_maxima = k.load(maxima, W)
        for other in all_maxima:
            largest.set(k.max(largest, other))
        with k.guard(thread == 0):
            y[r] = largest
%s'''

MEETING = Exercise(
    name="09-meeting",
    title="A barrier too few",
    kind="fix",
    level=2,
    prompt="""
Each warp finds the maximum of its numbers and stores it in shared memory; after a barrier, every warp reads all maxima.
Then the next round begins, in the same shared memory. There is one barrier, and on the author's GPU every test passes.

One is not enough, as `checks=("racecheck",)` will tell you. Fix the kernel, with as few barriers as possible.
""",
    starter=_MEETING % ("        k.barrier()\n", ""),
    solution=_MEETING % ("        k.barrier()\n", "        k.barrier()  # all have read before anyone writes again\n"),
    answer="meeting",
    hints=(
        "Warp 0 has finished its round and begins the next. Where may warp 1 be at that moment?",
        "A barrier makes two promises: what was written before it can be read after it, and what was read "
        "before it may be overwritten after it. Which of the two is missing?",
    ),
    graded=("the maxima of all rounds, for other numbers of warps", "no race", "at most two barriers a round"),
    grade=_meeting,
)


def _weighed(lse: Any, o: Any) -> Known:
    """What the usual mistakes make of the output of parts [parts, rows] with outputs [parts, rows, D]."""
    away = lse.astype(float) - lse.max(axis=0)
    e, two = np.exp(away)[..., None], np.exp2(away)[..., None]
    m, sums, rows, l, row = np.full(e.shape[1:], -np.inf), 0.0, 0.0, 0.0, 0.0
    for part, x in zip(lse[..., None].astype(float), o, strict=True):
        new = np.maximum(np.maximum(m, part), -3e38)
        rescale, weight, m = np.exp(m - new), np.exp(part - new), np.maximum(m, part)
        sums, rows, l, row = sums + weight, rows + weight * x, l * rescale + weight, row * rescale + weight * x
    units = "they are in different units."
    return (
        ((two * o).sum(axis=0) / two.sum(axis=0), "The parts are weighed with powers of 2. In which units is `lse`?"),
        (
            (e * o.reshape(-1, o.shape[2])[: len(o), None]).sum(axis=0) / e.sum(axis=0),
            "The rows of `o` are taken one after the other. How many has a part?",
        ),
        (o.mean(axis=0, dtype=float), "Each part counts the same. A part with 3 keys and one with 300?"),
        (o.sum(axis=0, dtype=float), "What came out is the sum of the parts, whatever they weigh. What is a mean?"),
        ((e * o).sum(axis=0), "What came out is the weighted sum. By what is it to be divided?"),
        (rows / l, f"`l` is scaled to the new maximum and the row is not: {units}"),
        (row / sums, f"The row is scaled to the new maximum and `l` is not: {units}"),
        (rows / sums, "Neither the row nor `l` is scaled when the maximum rises. In which units were they?"),
    )


def _many(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int, int, int]:
        return int(rng.integers(1, 12)), int(rng.integers(1, 4)), 64, 3, int(rng.choice((0, -300)))

    edges = ((3, 2, 64, 90, 0), (1, 1, 32, 3, -200))
    for parts, rows, dim, sigma, mean in g.vary(((4, 2, 32, 3, 0),), hidden=draw, edges=edges):
        lse = (sigma * g.rng.standard_normal((parts, rows)) + mean).astype(np.float32)
        o = g.rng.standard_normal((parts, rows, dim)).astype(np.float32)
        gone = g.rng.random((parts, rows)) < 0.3
        gone[-1] = False  # each row has a key somewhere
        gone[0, 0] = parts > 1
        lse[gone], o[gone] = -np.inf, 0
        merged, merged_lse = np.full((rows, dim), np.nan, np.float32), np.full(rows, np.nan, np.float32)
        run = g.launch(answer, rows, dim, o, lse, merged, merged_lse, parts, rows, build={"D": dim}, counters=True)
        if run is None:
            continue
        top = lse.max(axis=0).astype(float)
        weights = np.exp(lse - top)
        want = (weights[..., None] * o).sum(axis=0) / weights.sum(axis=0)[:, None]
        want_lse = top + np.log(weights.sum(axis=0))
        lost = bool(gone[0, 0]) and not np.isfinite(merged).all()
        says, far = "Part 0 of row 0 is without keys." if lost else "", not np.isfinite(merged).any() and mean < -100
        zero = f"All log-sum-exps are near {mean}, and every weight is 0. From what were they measured?"
        known = ((far, zero), *_weighed(lse, o))
        if g.close(f"{parts} parts, {rows} rows: o", merged, want, rtol=1e-4, atol=1e-5, says=says, known=known):
            sums, case = functools.partial(log_sums, top, weights.sum(axis=0)), f"{parts} parts, {rows} rows: lse"
            g.close(case, merged_lse, want_lse, rtol=1e-4, atol=1e-5, known=sums)
            least = rows * (parts * (dim // 8 + dim // 32) + dim // 8 + 1)
            g.at_most(
                "each number of the parts is loaded once", run, "sectors", least,
                "In one pass a thread loads each part's log-sum-exp and its element of the output once."
            )  # fmt: skip
    g.note("One pass over the parts, with the rescale of notebook 01: a part is nothing but a very heavy key.")


MANY = Exercise(
    name="09-many",
    title="Many parts, one pass",
    kind="write",
    level=3,
    prompt="""
`o` holds the finished outputs of `parts` parts, `[parts, rows, D]`, `lse` their log-sum-exps (natural), `[parts,
rows]`. Write a kernel that merges them all: block = row, thread = element, `D` threads. Parts without keys have
`lse` $= -\\infty$; each row has a key in at least one part, but **not always in the first**.

Go through the parts once. Loading each log-sum-exp twice, once for the maximum and once for the sums, costs too
many sectors.
""",
    starter='''
@kernel
def many(
    k: Builder, o: Ptr[f32], lse: Ptr[f32], merged: Ptr[f32], merged_lse: Ptr[f32], parts: u32, rows: u32,
    *, D: int = 32,
):
    """One block = one row; thread d merges element d of all parts."""
    row, d = k.ctaid.x, k.tid.x
    total = k.var(f32, 0.0)
    with k.loop(parts) as p:
        part_row = p * rows + row
        total += o[part_row * D + d]
    merged[row * D + d] = total  # so far: the sum of all parts, whatever they weigh
''',
    solution='''
@kernel
def many(
    k: Builder, o: Ptr[f32], lse: Ptr[f32], merged: Ptr[f32], merged_lse: Ptr[f32], parts: u32, rows: u32,
    *, D: int = 32,
):
    """One block = one row; thread d merges element d of all parts."""
    row, d = k.ctaid.x, k.tid.x
    m, l, total = k.var(f32, -math.inf), k.var(f32, 0.0), k.var(f32, 0.0)
    with k.loop(parts) as p:
        part_row = p * rows + row
        part_lse = lse[part_row]
        element = o[part_row * D + d]
        new_max = k.max(m, part_lse)
        shift = k.max(new_max, -3.0e38)
        rescale = k.exp2((m - shift) * LOG2E)
        weight = k.exp2((part_lse - shift) * LOG2E)
        l.set(k.fma(l, rescale, weight))
        total *= rescale
        total.set(k.fma(weight, element, total))
        m.set(new_max)
    merged[row * D + d] = total / l
    with k.guard(d == 0):
        merged_lse[row] = m + k.log2(l) * LN2
''',
    answer="many",
    hints=(
        "A finished part with output o and log-sum-exp L behaves like one key with the score L and the value o.",
        "So it is the loop of notebook 01, with part_lse as the score. Mind the parts without keys at the "
        "beginning: -inf - (-inf).",
    ),
    graded=(
        "o and lse for other numbers of parts and rows, parts without keys among them",
        "each number is loaded once",
    ),
    grade=_many,
)

EXERCISES = (SHARE, EMPTY, LANES, MEETING, MANY)
