"""The exercises of notebook 11: where a part begins and ends, the tail, the merge of the parts, each factor once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Ptr, kernel, u32
from ptxlab.course.causes import Known, log_sums
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.kernels.decode_split import part
from ptxlab.launch.run import launch


@kernel
def _bounds(k: Builder, found: Ptr[u32], keys: u32, splits: u32) -> None:
    """found[2 * split] and [2 * split + 1]: where the library's part begins and ends."""
    split = k.tid.x
    first, last = part(k, keys, splits, split)
    found[split * 2] = first
    (found + 1)[split * 2] = last


def _part(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int]:
        splits = int(rng.integers(2, 16))
        return int(rng.integers(0, 3 * splits + 2)), splits, int(rng.integers(splits // 2, splits))

    for keys, splits, split in g.vary(
        ((10, 4, 0), (10, 4, 3), (8, 4, 3), (3, 4, 1)), hidden=draw, count=5, edges=((5, 4, 3), (0, 4, 2))
    ):
        found = np.zeros(2 * splits, np.uint32)
        launch(_bounds, 1, splits, found, keys, splits, device="step")
        truth = (int(found[2 * split]), int(found[2 * split + 1]))
        sizes = [int(found[2 * s + 1] - found[2 * s]) for s in range(splits)]
        says = f"In a run, the {splits} parts of {keys} keys had {', '.join(map(str, sizes))} keys."
        up, down = -(-keys // splits), keys // splits
        cut, first = "Yours reaches past the last key. Where must it be cut?", split * up
        spread = "You spread the keys that are left over. Here all parts but the last have one size."
        last = split * down, keys if split == splits - 1 else split * down + down
        known = (
            ((first, first + up), cut),
            ((min(first, keys), min(first, keys) + up), cut),
            ((truth[0], truth[1] - truth[0]), "You say where it begins and how many keys it has. Where does it end?"),
            (
                truth if truth[0] < truth[1] else (0, 0),
                "Right, but for parts without keys: where do they begin and end?",
            ),
            ((keys * split // splits, keys * (split + 1) // splits), spread),
            (tuple(s * down + min(s, keys % splits) for s in (split, split + 1)), spread),
            ((split * down, split * down + down), "You round the size down. Who has the last keys?"),
            (last, "You round the size down, so the last part has the rest. Here it is the shortest."),
            ((first, min(first + up, keys)), "Yours begins past the last key. Where does a part without keys begin?"),
        )
        g.predict(answer, (keys, splits, split), truth, says, known=known)
    g.note("Rounded up, and cut off at the end: every key has one owner, and late parts may be empty.")


PART = Exercise(
    name="11-part",
    title="Which keys are mine?",
    kind="predict",
    level=1,
    prompt="""
`decode_split` cuts `keys` keys into `splits` parts of the same size; what is left over makes the last ones shorter, or
empty. Write the function that says where part `split` begins and where it ends (the first key that is not in it), as a
pair. A part without keys begins and ends behind the last key.

The check runs the library's own lines on the machine.
""",
    starter='''
def bounds(keys, splits, split):
    """(first, last) of a part of the keys, as the kernel has them."""
    size = keys // splits
    return split * size, (split + 1) * size
''',
    solution='''
def bounds(keys, splits, split):
    """(first, last) of a part of the keys, as the kernel has them."""
    size = -(-keys // splits)
    first = min(split * size, keys)
    return first, min(first + size, keys)
''',
    answer="bounds",
    hints=(
        "With 10 keys and 4 parts of 10 // 4 = 2 keys: which part has the keys 8 and 9?",
        "Round the size up. What is then wrong with the last parts?",
    ),
    graded=("both ends, for other numbers of keys and parts, fewer keys than parts among them",),
    grade=_part,
)


def _tail(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int]:
        return int(rng.integers(1, 90)), int(rng.integers(2, 9)), 3

    shown, edges = ((32, 4, 3), (35, 4, 3), (3, 4, 3)), ((200, 4, 0), (150, 2, 3), (1, 2, 3))
    for keys, splits, sigma in g.vary(shown, hidden=draw, count=3, edges=edges):
        score = (sigma * g.rng.standard_normal(keys)).astype(np.float32)
        state = np.full((splits, 2), np.nan, np.float32)
        run = g.launch(answer, splits, 32, score, state, keys, splits)
        if run is None:
            continue
        seen = np.where(np.isneginf(state[:, 0]), 0.0, state[:, 1].astype(float) * np.exp2(state[:, 0].astype(float)))
        total, whole = float(np.nansum(seen)), float(np.exp2(score.astype(float)).sum())
        behind = np.cumsum(np.exp2(score[::-1].astype(float)))[::-1]  # what key j and all behind it weigh
        lost = np.flatnonzero(np.isclose(whole - behind, total, rtol=1e-5))
        says = [f"{keys} keys, {splits} splits. All weights together are {whole:.5g}, the parts' {total:.5g}."]
        if len(lost) == 1:
            size = f": {keys} // {splits} = {keys // splits}" if lost[0] == keys // splits * splits else ""
            says.append(f"Missing is exactly what the keys {lost[0]} to {keys - 1} weigh{size}.")
        elif total > whole * 1.0001:
            says.append("That is too much: some key was counted twice.")
        nan = np.argwhere(np.isnan(state))
        if len(nan):
            says = [f"Part {nan[0][0]} of {splits} stored a NaN: it has no key, so (-inf, 0) is expected."]
        odd = np.flatnonzero((state[:, 1] == 0) & ~np.isneginf(state[:, 0]))
        if len(odd):
            says = [
                f"Part {odd[0]} of {splits} has no key and stored ({state[odd[0], 0]:g}, 0): (-inf, 0) is expected."
            ]
        right = g.part(f"{keys} keys in {splits} parts: nothing lost", np.isclose(total, whole, rtol=1e-4), says)
        if right:
            g.part(
                f"{keys} keys in {splits} parts: empty parts are (-inf, 0)",
                bool((np.isneginf(state[:, 0]) == (state[:, 1] == 0)).all()) and not np.isnan(state).any(),
                says,
            )
        if right and not sigma:  # each key weighs 1, so that a part's sum is the number of its keys
            most = int(state[:, 1].max())
            g.part(
                f"{keys} keys in {splits} parts: all have their share",
                most <= -(-keys // splits),
                f"A part has {most} of {keys} keys; with {splits} parts, {-(-keys // splits)} are its share.",
            )
    g.note("Every key has exactly one owner, and empty parts leave the neutral element.")


_TAIL = '''
@kernel
def parts(k: Builder, score: Ptr[f32], state: Ptr[f32], keys: u32, splits: u32):
    """One warp = one part of the scores; state[part] = (their maximum, the sum of 2^(score - maximum))."""
    lane, split = k.tid.x, k.ctaid.x
    size = {size}
    first = {first}
    last = {last}
    row_max = k.var(f32, -math.inf)
    with k.loop(last, start=first + lane, step=32) as j:
        row_max.set(k.max(row_max, score[j]))
    for distance in (16, 8, 4, 2, 1):
        row_max.set(k.max(row_max, k.shfl(row_max, distance, 31, -1, mode="bfly")))
    row_sum = k.var(f32, 0.0)
    with k.loop(last, start=first + lane, step=32) as j:
        row_sum += k.exp2(score[j] - row_max)
    for distance in (16, 8, 4, 2, 1):
        row_sum += k.shfl(row_sum, distance, 31, -1, mode="bfly")
    with k.guard(lane == 0):
        state[split * 2] = row_max
        (state + 1)[split * 2] = row_sum
'''

TAIL = Exercise(
    name="11-tail",
    title="Keys in no part",
    kind="fix",
    level=1,
    prompt="""
Each block takes its part of some scores and stores the part's maximum and sum (powers of two). With 32 keys and 4
splits the result is right. With 35 keys some keys are missing, and with 3 keys all of them are.

Fix the three lines that say where a part begins and ends. The last parts may be empty; they must not read past
the end.
""",
    starter=_TAIL.format(size="keys // splits", first="split * size", last="first + size"),
    solution=_TAIL.format(
        size="(keys + (splits - 1)) // splits", first="k.min(split * size, keys)", last="k.min(first + size, keys)"
    ),
    answer="parts",
    hints=(
        "What is 35 // 4, and what is four times that?",
        "Which division loses no key? Then the parts reach past the last key; what must be cut?",
    ),
    graded=(
        "the weights of all parts add up to those of all keys",
        "empty parts are (-inf, 0)",
        "no read past the end",
    ),
    grade=_tail,
)

# -- partial results for two exercises ---------------------------------------------------------------------------------


def _partial(g: Grading, rows: int, splits: int, dim: int, sigma: float) -> tuple[Any, Any, Any]:
    """(partial results [rows, splits, D + 2] as `decode_split` stores them, o, lse in float64).

    Some parts are empty; sigma is the standard deviation of the others' maxima."""
    partial = np.zeros((rows, splits, dim + 2), np.float32)
    partial[..., :dim] = g.rng.standard_normal((rows, splits, dim)) * 3
    partial[..., dim] = sigma * g.rng.standard_normal((rows, splits))
    partial[..., dim + 1] = g.rng.uniform(1, 5, (rows, splits))
    gone = g.rng.random((rows, splits)) < 0.25
    gone[:, 0] = splits > 1
    gone[:, -1] = False
    partial[gone] = 0
    partial[gone, dim] = -np.inf
    exact = partial.astype(float)
    m = exact[..., dim].max(axis=1)
    factor = np.exp(exact[..., dim] - m[:, None])
    total = (exact[..., dim + 1] * factor).sum(axis=1)
    o = (exact[..., :dim] * factor[..., None]).sum(axis=1) / total[:, None]
    return partial, o, m + np.log(total)


def _merged(partial: Any) -> Known:
    """What the usual mistakes make of the merge."""
    x, m, l = partial[..., :-2].astype(float), partial[..., -2].astype(float), partial[..., -1].astype(float)
    top = m.max(axis=1, keepdims=True)
    own = np.exp(m - top)[:, None, np.arange(x.shape[2]) % x.shape[1]]  # thread d's
    away, f, m, l = (w[..., None] for w in (m - top, np.exp(l - top), m, l))
    e, one, two = np.exp(away), np.ones_like(m), np.exp2(away)
    return [((rows * x).sum(axis=1) / sums.sum(axis=1), says) for rows, sums, says in (
        (one, l, "The sums were added as if all maxima were the same. In which units is each of them?"),
        (two, two * l, "What came out weighs the parts with powers of 2. Their maxima are in natural units, and `exp2` "
         "takes which?"),
        (e, l, "The rows of the parts are scaled and their sums are not. In which units is each `l`?"),
        (one, e * l, "The sums are scaled and the rows are not. In which units is each row?"),
        (e * l, e * l, "What came out weighs each part by its `l` once more, as 09-share did. Are these parts divided "
         "already?"),
        (1 / e, l / e, "The part with the smallest maximum weighs most. Which way round is the difference?"),
        (own, own * l, "Thread d multiplies all parts by one factor, that of part d. Which does a part need?"),
        (f, f * m, "Maximum and sum of a part have changed places. In which order do they lie?"),
    )]  # fmt: skip


def _merge(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int, int]:
        return int(rng.integers(1, 5)), int(rng.integers(1, 20)), int(rng.choice([32, 64, 96])), 4

    for rows, splits, dim, sigma in g.vary(((1, 1, 32, 4), (2, 5, 32, 4)), hidden=draw, edges=((2, 9, 64, 90),)):
        partial, want, want_lse = _partial(g, rows, splits, dim, sigma)
        o, lse = np.full((rows, dim), np.nan, np.float32), np.full(rows, np.nan, np.float32)
        run = g.launch(answer, rows, dim, partial, o, lse, splits, build={"D": dim})
        if run is None:
            continue
        says = f"Row 0 has the maxima {', '.join(f'{m:.3g}' for m in partial[0, :, dim])}."
        known = functools.partial(_merged, partial)
        if g.close(f"{splits} splits of {dim}: o", o, want, rtol=1e-4, atol=1e-4, says=says, known=known):
            m = partial[..., dim].max(axis=1).astype(float)
            sums = log_sums(m, np.exp(want_lse - m))
            g.close(f"{splits} splits of {dim}: lse", lse, want_lse, rtol=1e-4, atol=1e-4, says=says, known=sums)
    g.note("Largest maximum first, then sums, each scaled by its part's factor.")


_REDUCE = '''
@kernel
def reduce(k: Builder, partial: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], splits: u32, *, D: int = 32):
    """One block = one row, thread d = element d. A part is D sums, a maximum (natural), a sum of weights."""
    row, d = k.ctaid.x, k.tid.x
    parts = partial + row * splits * (D + 2)
    m = k.var(f32, -math.inf)
    with k.loop(splits) as s:
        m.set(k.max(m, (parts + D)[s * (D + 2)]))
'''
_MERGE_END = """    o[row * D + d] = total / l
    with k.guard(d == 0):
        lse[row] = m + k.log2(l) * LN2
"""
MERGE = Exercise(
    name="11-merge",
    title="The second kernel",
    kind="fill",
    level=2,
    prompt="""
The merge of the splits. `partial` is `[rows, splits, D + 2]`: for each part `D` sums that are **not divided**,
its maximum (in natural units) and its sum of weights. The first pass, which finds the largest maximum, is there.
So is the division at the end.

Write the second pass: how does each part enter `total` and `l`? Parts without keys are $(0, -\\infty, 0)$; each
row has at least one key.
""",
    starter=_REDUCE
    + """    total, l = k.var(f32, 0.0), k.var(f32, 0.0)
    with k.loop(splits) as s:
        part = parts + s * (D + 2)
        total += part[d]
        l += part[D + 1]
"""
    + _MERGE_END,
    solution=_REDUCE
    + """    total, l = k.var(f32, 0.0), k.var(f32, 0.0)
    with k.loop(splits) as s:
        part = parts + s * (D + 2)
        factor = k.exp2((part[D] - m) * LOG2E)
        total.set(k.fma(part[d], factor, total))
        l.set(k.fma(part[D + 1], factor, l))
"""
    + _MERGE_END,
    answer="reduce",
    hints=(
        "The sums of a part are in units of exp(its own maximum). In which units is the result?",
        "Each part is multiplied by exp(its maximum - m), both its row and its sum. There is only exp2.",
    ),
    graded=("o and lse, for other numbers of splits and D, empty parts among them",),
    grade=_merge,
)


def _factors(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int, int]:
        return int(rng.integers(1, 4)), int(rng.integers(2, 32)), int(rng.choice([64, 128])), 4

    edges = ((1, 32, 64, 90), (2, 1, 128, 4))
    for rows, splits, dim, sigma in g.vary(((2, 8, 64, 4),), hidden=draw, count=3, edges=edges):
        partial, want, want_lse = _partial(g, rows, splits, dim, sigma)
        o, lse = np.full((rows, dim), np.nan, np.float32), np.full(rows, np.nan, np.float32)
        run = g.launch(answer, rows, dim, partial, o, lse, splits, build={"D": dim}, counters=True, orders=True)
        if run is None:
            continue
        m, known = partial[..., dim].max(axis=1).astype(float), functools.partial(_merged, partial)
        sums = functools.partial(log_sums, m, np.exp(want_lse - m))
        right = g.close(f"{splits} splits of {dim}: o", o, want, rtol=1e-4, atol=1e-4, known=known)
        if right and g.close(f"{splits} splits of {dim}: lse", lse, want_lse, rtol=1e-4, atol=1e-4, known=sums):
            g.at_most(
                f"each factor is computed once: {splits} splits of {dim}", run, "exponentials", rows * splits,
                f"{rows} rows of {splits} splits have {rows * splits} factors. One thread of a block can compute "
                f"one, and " "the others read it."
            )  # fmt: skip
    g.note("One thread per factor, shared memory to pass them on, and a barrier in between.")


FACTORS = Exercise(
    name="11-factors",
    title="Each factor once",
    kind="optimise",
    level=3,
    prompt="""
In the merge of the last exercise all `D` threads of a block compute the same factor for each split: `D * splits`
exponentials where `splits` would be enough. An SM computes 16 of them in a cycle, and 64 or 128 FMA (CUDA C++
Programming Guide, throughput of arithmetic instructions).

Let **each factor be computed by one thread**: thread `s` that of split `s` (there are at most 32 splits, and `D`
is at least 64). The others read it from shared memory. The budget: as many exponentials, counted over threads, as
there are splits.
""",
    starter=MERGE.solution,
    solution=_REDUCE
    + """    factors = k.shared(f32, 32)
    with k.if_(d < splits):
        factors[d] = k.exp2(((parts + D)[d * (D + 2)] - m) * LOG2E)
    k.barrier()
    total, l = k.var(f32, 0.0), k.var(f32, 0.0)
    with k.loop(splits) as s:
        part = parts + s * (D + 2)
        factor = factors[s]
        total.set(k.fma(part[d], factor, total))
        l.set(k.fma(part[D + 1], factor, l))
"""
    + _MERGE_END,
    answer="reduce",
    hints=(
        "Which threads compute a factor, and what must come between their writing and the others' reading?",
        "Thread s writes the factor of split s, and all threads read it. What must come between the two, and may "
        "it stand in a branch?",
    ),
    graded=("o and lse, for other numbers of splits and D", "exponentials: one per split and row", "no race"),
    grade=_factors,
)

EXERCISES = (PART, TAIL, MERGE, FACTORS)
