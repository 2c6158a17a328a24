"""The exercises of notebook 08: what a butterfly adds up, a maximum over lanes, coalesced rows, no keys, sinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.builder import Builder, Ptr, kernel, u32
from ptxlab.course.causes import Known, reached
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.attention_sinks import HEAD, LOOP, SINKS
from ptxlab.launch.run import launch


@kernel
def _heard(k: Builder, x: Ptr[u32], *, distances: tuple[int, ...] = ()) -> None:
    """Each lane begins with a bit of its own, and adds what it receives."""
    lane = k.tid.x
    heard = k.var(u32, x[lane])
    for distance in distances:
        heard += k.shfl(heard, distance, 31, -1, mode="bfly")
    x[lane] = heard


def _reach(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, tuple[int, ...]]:
        count = int(rng.integers(2, 5))
        return int(rng.integers(32)), tuple(int(d) for d in rng.permutation([16, 8, 4, 2, 1])[:count])

    for lane, distances in g.vary(((0, (16,)), (5, (1, 2)), (9, (8, 16, 4))), hidden=draw, count=3):
        bits = (np.uint32(1) << np.arange(32, dtype=np.uint32)).astype(np.uint32)
        launch(_heard(distances=distances), 1, 32, bits, device="step")
        truth = {n for n in range(32) if int(bits[lane]) >> n & 1}
        first = lane ^ distances[0]
        says = (
            f"A run with one bit for each lane: lane {lane} ended with {int(bits[lane]):#010x}, the bits of lanes "
            f"{', '.join(map(str, sorted(truth)))}. Its first partner, at distance {distances[0]}, was lane {first}."
        )
        g.predict(answer, (lane, distances), truth, says, known=reached(lane, distances))
    g.note("Each exchange doubled the set: after n exchanges a lane has the sum of 2^n lanes.")


REACH = Exercise(
    name="08-reach",
    title="Whose numbers are in the sum?",
    kind="predict",
    level=1,
    prompt="""
A warp adds up its numbers with butterflies, perhaps not at all five distances, and in any order. **Which lanes'**
numbers are then in the sum of lane `lane`?

Write a function that returns the set of lanes. `reach(0, (16,))` is `{0, 16}`: lane 0 has its own number and that of
lane 16. The check runs it: each lane begins with one bit of its own.
""",
    starter='''
def reach(lane, distances):
    """The lanes whose numbers are in `lane`'s sum after exchanges at these distances."""
    return {lane}
''',
    solution='''
def reach(lane, distances):
    """The lanes whose numbers are in `lane`'s sum after exchanges at these distances."""
    lanes = {lane}
    for distance in distances:
        lanes |= {other ^ distance for other in lanes}
    return lanes
''',
    answer="reach",
    hints=(
        "With the distances (1, 2): which lane does lane 5 exchange with first? What did its second partner "
        "already have?",
        "Lane i exchanges with lane i ^ distance. What arrives is not one number but the whole sum that the partner "
        "has.",
    ),
    graded=("the set of lanes, for pairs of lane and distances that are not shown",),
    grade=_reach,
)


def _maximum(g: Grading, answer: Any) -> None:
    for n in g.vary((32, 100), hidden=lambda rng: int(rng.integers(33, 200)), count=3):
        x = (-1.0 - 9.0 * g.rng.random(n)).astype(np.float32)  # all below zero
        x[0 if n == 32 else n - 1] = -0.5  # the first round of a lane, and the last, must not be left out
        y = np.full(32, np.nan, np.float32)
        run = g.launch(answer, 1, 32, x, y, n, counters=True)
        if run is None:
            continue
        best = int(x.argmax())
        wrong = [lane for lane in range(32) if y[lane] != x[best]]
        lane = wrong[0] if wrong else 0
        own = x[lane::32].max()
        says = [
            f"{n} numbers, the largest is x[{best}] = {x[best]:.4g}, which lane {best % 32} has read. "
            f"Lane {lane} stored {y[lane]:.4g}."
        ]
        if wrong and y[lane] < x.min():
            says.append("No number of x is so small. Does an exchange keep the larger of two, or their sum?")
        elif y[lane] == own and wrong:
            says.append(
                f"That is the largest of its own numbers {lane}, {lane + 32}, ...: it has heard from no other lane."
            )
        elif y[best % 32] != x[best] and y[lane] < 0:
            says.append(f"Lane {best % 32} does not have it either. Which numbers does its loop begin and end with?")
        elif y[lane] in x and wrong:
            at = int(np.flatnonzero(x == y[lane])[0])
            says.append(f"That is x[{at}], so lane {lane} has heard from lane {at % 32} and not of x[{best}].")
        if y[lane] >= 0:
            says.append("All numbers are below 0, so it did not come from x: what did the running maximum begin with?")
        if g.part(f"every lane has the maximum of {n} numbers", not wrong, says):
            g.at_most("five shuffles are enough", run, "shuffles", 5)
            g.at_most("reads each number once", run, "sectors", -(-n * 4 // 32) + 4)
    g.note("Every lane had the maximum after five shuffles: no lane had to tell the others.")


_MAXIMUM = '''
@kernel
def maximum(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32):
    """One warp: y[lane] = the largest of x[0] to x[n - 1], in every lane."""
    lane = k.tid.x
{body}
    y[lane] = largest
'''
MAXIMUM = Exercise(
    name="08-maximum",
    title="The largest number of a warp",
    kind="fill",
    level=1,
    prompt="""
Before a softmax, the largest score. One warp has `n` numbers in memory and wants their maximum **in every lane**.

Each lane goes through its own share, `x[lane], x[lane + 32], ...`. That loop is there. What is missing comes
before it and after it. (`k.max(a, b)` is one `max` instruction, and works lane by lane.)
""",
    starter=_MAXIMUM.format(
        body="""    largest = k.var(f32, 0.0)  # is this a good start?
    with k.loop(n, start=lane, step=32) as i:
        largest.set(k.max(largest, x[i]))
    # here the lanes must tell each other"""
    ),
    solution=_MAXIMUM.format(
        body="""    largest = k.var(f32, -math.inf)
    with k.loop(n, start=lane, step=32) as i:
        largest.set(k.max(largest, x[i]))
    for distance in (16, 8, 4, 2, 1):
        largest.set(k.max(largest, k.shfl(largest, distance, 31, -1, mode="bfly")))"""
    ),
    answer="maximum",
    hints=(
        "What is the largest of three numbers that are all below zero? And what does this kernel say?",
        "A maximum begins with -math.inf. Then the lanes exchange, as in warp_sum above.",
    ),
    graded=(
        "the maximum in all 32 lanes, for any n from 32 on and for numbers below zero",
        "at most five shuffles, and every number read once",
    ),
    grade=_maximum,
)


def _dots(q: Any, key: Any) -> Known:
    """What the usual mistakes make of the scores."""
    lane, n = np.arange(32)[:, None], np.arange(len(q) // 32)
    rows, across, one, few = (at.reshape(-1) for at in (lane * len(n) + n, lane + 32 * n, lane + n, lane + len(n) * n))
    q, key = q.astype(float), key.astype(float)
    both, share = "Both loads must name the same element.", (q[across] * key[:, across]).reshape(len(key), 32, -1)
    return (
        (key[:, across] @ q[rows], f"Element 1 of the query was multiplied by element 32 of the key. {both}"),
        (key[:, rows] @ q[across], f"Element 1 of the key was multiplied by element 32 of the query. {both}"),
        *((key[:, near] @ q[near], f"Some elements count several times, and those from {near.max() + 1} on never. How "
           "far does a lane go in one step?") for near in (one, few)),
        (share.sum(axis=2)[:, 0], "What came out is lane 0's share of the sum. Who adds those of the other lanes?"),
    )  # fmt: skip


def _coalesce(g: Grading, answer: Any) -> None:
    for n, dim in g.vary(((8, 128),), hidden=lambda rng: (int(rng.integers(3, 20)), int(rng.choice([32, 64])))):
        q, key = g.rng.standard_normal(dim).astype(np.float32), g.rng.standard_normal((n, dim)).astype(np.float32)
        score = np.full(n, np.nan, np.float32)
        run = g.launch(answer, n, 32, q, key, score, build={"D": dim}, counters=True)
        if run is None:
            continue
        rows = dim * 4 // 32  # sectors of a row
        case, want, known = f"{n} scores of {dim} elements", key.astype(np.float64) @ q, _dots(q, key)
        if g.close(case, score, want, rtol=1e-4, atol=1e-4, known=known):
            g.at_most(
                f"no sector is brought twice, D = {dim}", run, "sectors", n * (2 * rows + 1),
                f"A row of {dim} floats is {rows} sectors. Query and key: {2 * rows} for each score, one for the "
                f"store."
            )  # fmt: skip
    g.note("Each load of the warp touched no sector that another load had brought.")


_COALESCE = '''
@kernel
def scores(k: Builder, q: Ptr[f32], key: Ptr[f32], score: Ptr[f32], *, D: int = 128):
    """One warp = one key: score[j] = q . key[j]."""
    lane, j = k.tid.x, k.ctaid.x
    own = D // 32  # elements per lane
    key_row = key + j * D
    dot = k.var(f32, 0.0)
    for n in range(own):
{body}
        dot.set(k.fma(q[at], key_row[at], dot))
    for distance in (16, 8, 4, 2, 1):
        dot += k.shfl(dot, distance, 31, -1, mode="bfly")
    with k.guard(lane == 0):
        score[j] = dot
'''
COALESCE = Exercise(
    name="08-coalesce",
    title="Four times the sectors",
    kind="optimise",
    level=2,
    prompt="""
One warp computes one score, `score[j]` = query · key `j`, and gives each lane `D / 32` elements **in a row**:
lane 0 has the elements 0 to 3, lane 1 those from 4 to 7. That is right, and looks natural. But one load
instruction then touches 32 places that are 16 bytes apart, so with `D` = 128 every sector is loaded four times.

Load each sector once. There are two ways, and both get full marks.
""",
    starter=_COALESCE.format(body="        at = lane * own + n"),
    solution=_COALESCE.format(body="        at = lane + 32 * n"),
    answer="scores",
    hints=(
        "Write down which addresses the 32 lanes load with the first of the load instructions. How many sectors of "
        "32 bytes?",
        "It does not matter for the sum which lane has which element. What if neighbours load neighbouring elements?",
    ),
    graded=("the scores, for other numbers of keys and other D", "each sector of query and key is loaded once"),
    grade=_coalesce,
)


def _empty(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[tuple[int, ...], int]:
        return tuple(int(n) for n in rng.permutation([0, int(rng.integers(1, 30)), 1, 0])), 2

    for lengths, sigma in g.vary((((5, 0, 12), 2),), hidden=draw, edges=(((0, 9), 90), ((1, 0), 2))):
        batch, most, dim = len(lengths), 32, 64
        q = sigma * g.rng.standard_normal((batch, dim)).astype(np.float32)
        key, value = (g.rng.standard_normal((batch, most, dim)).astype(np.float32) for _ in range(2))
        o, lse = np.full_like(q, np.nan), np.full(batch, np.nan, np.float32)
        counts = np.array(lengths, np.int32)
        run = g.launch(answer, batch, 32, q, key, value, o, lse, counts, most, dim**-0.5, build={"D": dim})
        if run is None:
            continue
        exact_o, exact_lse = np.zeros_like(q), np.full(batch, -np.inf, np.float32)
        for b, n in enumerate(lengths):
            exact = reference.attention(q[b][None, None, None], key[b, :n][None, None], value[b, :n][None, None])
            exact_o[b], exact_lse[b] = exact.o[0, 0, 0], exact.lse[0, 0, 0]
        full, b = np.array(lengths) > 0, lengths.index(0)
        # What has keys first: a kernel that stores nothing but 0 and -inf has not understood those without.
        if not g.close(f"lengths {lengths}: the output", o, exact_o, rtol=1e-3, atol=1e-4, only=full[:, None]):
            continue
        ones = np.array(lengths) == 1
        if ones.any():
            says = "The weight of an only key is 1, so O is its value. What else is in the sum that it is divided by?"
            g.close(f"lengths {lengths}: one key", o, value[:, 0], says=says, rtol=3e-7, atol=0, only=ones[:, None])
        g.part(
            f"lengths {lengths}: without keys O = 0",
            bool((o[~full] == 0).all()),
            f"Sequence {b} has no key, so its loop never ran: row_sum was still 0 and acc was 0. Lane 0 stored "
            f"{o[b, 0]:g} where 0 is expected: what is 0 / 0?",
        )
        g.part(
            f"lengths {lengths}: without keys LSE = -inf",
            bool((lse[~full] == -np.inf).all()),
            f"Sequence {b} has no key: its log-sum-exp should be -inf, the kernel stored {lse[b]:g}. "
            "row_max is -inf there; what was added to it?",
        )
        g.close(f"lengths {lengths}: the LSE", lse, exact_lse, rtol=1e-4, atol=1e-4, only=full)
    g.note("Without keys the divisor is not 0: O = 0, LSE = -inf, and no NaN.")


_EMPTY_START = (
    HEAD.format(
        name="decode", sizes="lengths: Ptr[s32], max_seq: u32", more="", says="One warp = one sequence with one head."
    )
    + """    batch = k.ctaid.x
    length = k.cvt(u32, lengths[batch], sat=True)
    q_row = q + batch * D + lane
"""
    + LOOP.format(count="length", i="j", choose="", start="(batch * max_seq + j) * D")
)

EMPTY = Exercise(
    name="08-empty",
    title="A sequence without keys",
    kind="fix",
    level=2,
    prompt="""
A server batches sequences, and one of them is new: it has no key yet. This kernel is right for every other sequence
of the batch, and writes NaN for that one. A NaN in one row of a batch reaches the next layer, and then the log.

Fix it: without keys, the output is 0 and the log-sum-exp $-\\infty$. Every other row must stay as it is. No branch is
needed, and one or two lines are enough.
""",
    starter=_EMPTY_START
    + """
    o_row = o + batch * D + lane
    for e in range(D // 32):
        o_row[32 * e] = acc[e] / row_sum
    with k.guard(lane == 0):
        lse[batch] = (row_max + k.log2(row_sum)) * LN2
""",
    solution=_EMPTY_START
    + """
    divisor = k.select(row_sum > 0.0, row_sum, 1.0)
    o_row = o + batch * D + lane
    for e in range(D // 32):
        o_row[32 * e] = acc[e] / divisor
    with k.guard(lane == 0):
        lse[batch] = (row_max + k.log2(divisor)) * LN2
""",
    answer="decode",
    hints=(
        "Which values do acc, row_sum and row_max have if the loop never runs?",
        "0 / 0 is NaN, and 0 / 1 is 0. What must the divisor be when row_sum is 0? And what is log2(1)?",
    ),
    graded=("O = 0 and LSE = -inf for each sequence without keys", "all other sequences, of lengths not shown"),
    grade=_empty,
)

EXERCISES = (REACH, MAXIMUM, COALESCE, EMPTY, SINKS)
