"""The exercises of notebook 01, the online softmax: when it rescales, and what is rescaled."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.attention.prefill import attention
from ptxlab.course.causes import Known, of_attention
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.online_kernel import END, LSE, QUERY, SCORE, STEP, THRIFT, WIDE
from ptxlab.course.exercises.sliding_window import WINDOW
from ptxlab.course.value_watch import place, probed
from ptxlab.course.values import apart

BLOCK = 32
SCORES = (0.5, -1.0, 0.5, 1.25, 1.0, 2.5, 2.5, -0.5)
"""The scores of 01-predict, key by key."""
EDGES = (
    (-5.0, -2.0, -4.0, 0.0, 0.0, 1.5),
    (3.0, 2.0, 2.5, 1.0, 2.0, 0.0),
    (1.0, -1.0, 1.5, 1.25, 2.0, 1.75),
    (0.0,) * 6,
    (-6.0,),
)
"""Always asked besides: rising, falling, a second best that is not a maximum, equal ones, a single key."""


def _scores(rng: np.random.Generator) -> tuple[float, ...]:
    """Six to twelve scores in steps of a half, so that some are equal."""
    return tuple(float(s) for s in rng.integers(-6, 7, int(rng.integers(6, 13))) / 2)


def _named(scores: Any) -> list[tuple[Any, str]]:
    """The keys that usual mistakes name."""
    keys, best = np.arange(len(scores)), np.maximum.accumulate(scores)
    means = np.cumsum(scores) / (keys + 1)
    size = np.maximum.accumulate(np.abs(scores))
    return [(np.flatnonzero(which), f"You name {says}") for which, says in (
        (np.append(True, np.diff(scores) > 0), "those that are larger than the one before. What is m?"),
        (np.append(True, np.diff(scores) < 0), "those that are smaller than the one before. When does m change?"),
        (scores < best, "those that are below the maximum. Does m change there?"),
        (scores == best, "those that equal the maximum as well. What is exp(0)?"),
        (scores > scores[0], "those that are larger than the first one. Does m stay what it was?"),
        (keys == np.argmax(scores), "the key of the maximum alone. Which maxima did the thread hold before it?"),
        (np.append(True, scores[1:] > means[:-1]), "those that are above the mean of those before. What is m?"),
        (np.append(True, np.abs(scores[1:]) > size[:-1]), "those whose absolute value is a new maximum. What is m?"),
        (keys >= 0, "every key. When is exp(m - new_m) exactly 1?"),
    )]  # fmt: skip


def _predict(g: Grading, answer: Any) -> None:
    for scores in g.vary((SCORES,), hidden=_scores, count=3, edges=EDGES):
        found = g.call(answer, list(scores))
        if found is None:
            continue
        try:
            named = sorted({int(key) for key in found})
        except (TypeError, ValueError):
            g.part("a list of keys", False, f"shrinks(...) must return a list of key numbers; it returned {found!r}.")
            continue
        keys = np.array(scores, np.float32)[:, None]
        out = attention(np.ones((1, 1), np.float32), keys, keys, kernel="scalar", scale=1.0, state=True, device="step")
        assert out.state is not None
        rescale = out.state[0, :, 2]
        before = np.concatenate([[-np.inf], out.state[0, :-1, 0]])
        shrinks = [key for key in range(len(scores)) if rescale[key] < 1]
        line = place(out.kernel, probed(out.kernel, 2))

        def says(
            named: list[int] = named,
            shrinks: list[int] = shrinks,
            scores: tuple[float, ...] = scores,
            before: Any = before,
            rescale: Any = rescale,
            line: str = line,
        ) -> list[str]:
            outside = [key for key in named if not 0 <= key < len(scores)]
            if outside:
                return [f"There is no key {outside[0]}; the keys are 0 to {len(scores) - 1}."]
            key = min(set(named) ^ set(shrinks))
            saw = f"Key {key}: thread 0 held m = {before[key]:g} and met the score {scores[key]:g}"
            if key in shrinks:
                told = f"{saw}, a new maximum, so it computed rescale = {rescale[key]:.4g}. You did not name this key."
            else:
                told = f"{saw}, which is no larger, so rescale was exactly 1. You named this key."
            right = len(set(shrinks) & set(named))
            given = ", ".join(f"{s:g}" for s in scores)
            return [told, line, f"{right} of the kernel's {len(shrinks)} rescales are in your list. Scores: {given}."]

        # Key 0 is the same question in every case: it is a part of its own, which the cases do not count again.
        later, known = [key for key in named if key], _named(np.array(scores))
        if len(scores) > 1:
            name = f"predicts the rescales behind key 0 of {len(scores)} scores"
            g.told(name, later, shrinks[1:], says, known=[(keys[keys > 0].tolist(), why) for keys, why in known])
        if later == shrinks[1:] and named != shrinks:
            g.part("the rescale at key 0", False, says)
        values = ", ".join(f"{rescale[key]:.4g} at key {key}" for key in shrinks)
        times = "once" if len(shrinks) == 1 else f"{len(shrinks)} times"
        g.note(f"Thread 0 rescaled {times}: {values}. All other factors were exactly 1.")
    if all(part.ok for part in g.parts if not part.hidden):
        g.part("the rescale at key 0", True)


PREDICT = Exercise(
    name="01-predict",
    title="when does it rescale?",
    kind="predict",
    level=1,
    prompt="""
One thread goes through eight keys with these scores, in this order:

| key | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
|---|---|---|---|---|---|---|---|---|
| score | 0.5 | −1.0 | 0.5 | 1.25 | 1.0 | 2.5 | 2.5 | −0.5 |

At which keys is `rescale` less than 1? Go through them by hand first, and begin with key 0, where $m$ is still
$-\\infty$. Then write your rule as a function from the scores to the list of those keys. The check runs the kernel with
other scores, too.
""",
    starter='''
def shrinks(scores):
    """The numbers of the keys at which the kernel's rescale is below 1."""
    return []
''',
    solution='''
def shrinks(scores):
    """The numbers of the keys at which the kernel's rescale is below 1."""
    m, keys = -math.inf, []
    for key, score in enumerate(scores):
        if score > m:  # an equal score leaves the maximum alone; at key 0 the old maximum is -inf, so rescale is 0
            keys.append(key)
            m = score
    return keys
''',
    answer="shrinks",
    hints=(
        "go through the keys by hand and keep m beside them",
        "rescale is exp(m - new_m): below 1 exactly when the new maximum is larger",
    ),
    graded=("the keys that you name are those where a thread of the `scalar` kernel computed a rescale below 1",),
    grade=_predict,
)


_ONLINE = (
    '''
@kernel
def {name}(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32, *, D: int = 8):
    """One thread = one query row."""
    row = k.thread_index()
    k.return_if(row >= n)
'''
    + QUERY
    + "\n    with k.loop(n) as j:\n"
    + SCORE
    + STEP.replace("        rescale", "{early}        rescale").replace("        row_max.set(new_max)\n", "{late}")
    + "        k.probe(row, j, n, row_max, row_sum, rescale)\n"
    + END
)


def _rescale(g: Grading, answer: Any) -> None:
    cases = g.vary(
        ((32, 8, 8.0, 5),),
        hidden=lambda rng: (32, 4, float(rng.uniform(4, 9)), int(rng.integers(1 << 30))),
        edges=((20, 4, WIDE, 2),),
    )
    for rows, dim, sigma, seed in cases:
        q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, rows, dim, sigma=sigma, seed=seed))
        o, state = np.full_like(q, np.nan), np.full((rows, rows, 3), np.nan, np.float32)
        built = g.build(answer, D=dim, probes=True)
        if built is None:
            continue
        run = g.launch(built, 1, BLOCK, q, k, v, o, rows, reference.default_scale(dim), state)
        if run is None:
            continue
        expected = reference.attention(
            q[None, None], k[None, None], v[None, None], tile=1, rows=[(0, 0, r) for r in range(rows)]
        )
        assert expected.state is not None
        missing = np.isnan(state).any(axis=2)
        if missing.any():
            row, key = (int(x) for x in np.argwhere(missing)[0])
            three = ", ".join(f"{x:.4g}" for x in state[row, key])
            why = f"{place(built, probed(built, 2))}\nA rescale is never above 1. What is subtracted from what?"
            if state[row, key, 0] == -np.inf:
                why = "The probe ran. -inf - (-inf) is NaN: why is the maximum -inf after a key?"
            elif not state[row, key, 2] > 1:
                why = "k.probe(row, j, n, row_max, row_sum, rescale) must run at every key."
            g.part("m, l and rescale at every key", False, f"Thread {row}, key {key}: they were ({three}).", why)
            continue
        for which, name in ((2, "rescale"), (0, "running maximum m"), (1, "running sum l")):
            wrong = ~np.isclose(state[:, :, which], expected.state[:, :, which], rtol=1e-3, atol=1e-4)
            g.part(
                f"{name} at every key",
                not wrong.any(),
                lambda which=which, wrong=wrong: _state(built, state, expected.state, which, wrong),
            )
        known = functools.partial(_outputs, q, k, v)
        g.close("the output", o, expected.o[0, 0], rtol=1e-3, atol=1e-4, run=run, known=known)
        grew = int((expected.state[:, :, 2] < 1 - 1e-6).sum())
        error = float(np.max(np.abs(o - expected.o[0, 0])))
        g.note(
            f"In {rows} threads the maximum grew {grew} times, and each time rescale was exp(m - m'). With logits "
            f"of sigma {sigma:.2g} the output is within {error:.1e} of float64."
        )


def _outputs(q: Any, k: Any, v: Any) -> Known:
    """What known mistakes make of the output."""
    scale = q.shape[1] ** -0.5
    out = [(o[0, 0], says) for o, says in of_attention(q[None, None], k[None, None], v[None, None], scale)]
    scores = q.astype(float) @ k.T * scale
    tops = np.maximum.accumulate(scores, axis=1)
    sums = np.exp(scores - tops[:, -1:]).sum(axis=1, keepdims=True)
    return [*out, (np.exp(tops - tops[:, -1:]) @ v / sums, "The values were added without their weights.")]


def _state(built: Any, state: Any, exact: Any, which: int, wrong: Any) -> list[str]:
    """What a thread held at the first key where m (0), l (1) or rescale (2) is wrong, key 0 last."""
    row, key = (int(x) for x in min(np.argwhere(wrong), key=lambda w: (w[1] == 0, w[0], w[1])))
    m, before = exact[row, key, 0], exact[row, key - 1, 0] if key else -math.inf
    where, (due, found) = place(built, probed(built, which)), apart(exact[row, key, which], state[row, key, which])
    if which != 2:
        name = ("running maximum m", "running sum l")[which]
        why = ""
        if which == 1 and not state[row, key, 1] <= key + 1:
            why = f"No weight is above 1, and l is a sum of {key + 1}. "
            why += "From which maximum is the new weight measured? And what is subtracted from what?"
        elif which == 1 and state[row, key, 1] < 0.999:
            why = "The largest key weighs 1, so l is never below 1. Which one is rescaled, l or the new weight?"
        return [f"Thread {row}, key {key}: the {name} should be {due}, it was {found}.", where, why]
    says = (
        f"Thread {row}, key {key}: the maximum went from {before:.4g} to {m:.4g}, so what was summed before must be "
        f"multiplied by exp({before:.4g} - {m:.4g}) = {due}. Your kernel's rescale was {found}."
    )
    grew = exact[:, :, 2] < 1 - 1e-6
    ones = int(np.sum(np.isclose(state[:, :, 2], 1) & grew))
    count = f"In all {len(state)} threads the maximum grew {int(grew.sum())} times; rescale was 1 in {ones} of them."
    held = state[row, key - 1, 0] if key else -math.inf
    if not np.isclose(held, before, atol=1e-4):
        count = f"The kernel's own m was {held:.4g} before that key, where it should have been {before:.4g}."
    if state[row, key, 0] == -math.inf:
        count = "The kernel's own m was still -inf at that key: row_max never got its new value."
    return [says, where, count]


RESCALE = Exercise(
    name="01-rescale",
    title="a kernel that never rescales",
    kind="fix",
    level=2,
    prompt="""
This kernel is supposed to be the online softmax. With small logits it passes every test. With large ones it is far off
in almost every row. Find out why, and fix it. One line is in the wrong place.
""",
    starter=_ONLINE.format(name="mended", early="        row_max.set(new_max)\n", late=""),
    solution=_ONLINE.format(
        name="mended", early="", late="        row_max.set(new_max)  # last: rescale needs the old maximum once more\n"
    ),
    answer="mended",
    hints=(
        "compare rescale with what the notebook's `online` computes for the same key",
        "at the line that the feedback names: what do the two registers of the subtraction before it hold?",
    ),
    graded=(
        "m, l and rescale of every thread at every key, as its probes store them, against float64",
        "the output, with logits so large that a missing rescale cannot hide",
    ),
    grade=_rescale,
)


EXERCISES = (PREDICT, LSE, RESCALE, THRIFT, WINDOW)
