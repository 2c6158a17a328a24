"""Exercise 01-window: attention over a sliding window, where a key outside of it must not even be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.course.causes import log_sums
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.online_kernel import END, QUERY, SCORE, STEP
from ptxlab.course.value_watch import Watch, place

Array = NDArray[Any]
BLOCK = 32


def _case(rng: np.random.Generator) -> tuple[int, int, int, int]:
    return int(rng.integers(33, 50)), int(rng.choice([2, 4])), int(rng.integers(2, 9)), int(rng.integers(1 << 30))


def _grade(g: Grading, answer: Any) -> None:
    for rows, dim, width, seed in g.vary(((40, 4, 6, 7),), hidden=_case, count=1, edges=((33, 2, 1, 3),)):
        q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, rows, dim, sigma=4.0, seed=seed))
        o, lse = np.full_like(q, np.nan), np.full(rows, np.nan, np.float32)
        scale = reference.default_scale(dim)
        built = g.build(answer, D=dim, W=width)
        if built is None:
            continue
        watch = Watch(BLOCK)
        run = g.launch(built, -(-rows // BLOCK), BLOCK, q, k, v, o, lse, rows, scale, trace=watch, budget=100_000)
        if run is None:
            continue
        start = watch.parameter("key")
        read: list[dict[int, int]] = []  # for each row: key -> the PTX line that read it first
        for row in range(rows):
            seen: dict[int, int] = {}
            for offset, event in watch.reads(row, start, k.nbytes):
                seen.setdefault(offset // (4 * dim), event.line)
            read.append(seen)
        wanted = [set(range(max(0, row - width + 1), row + 1)) for row in range(rows)]

        unread = next((row for row in range(rows) if wanted[row] - set(read[row])), None)
        nan = next((row for row in range(rows) if watch.first_nan(row) is not None), None)
        extra = next((row for row in range(rows) if set(read[row]) - wanted[row]), None)
        expected, expected_lse = _state(q, k, width, scale, v)
        off = np.max(np.abs(o - expected), axis=1)
        g.part(
            "every key of the window is read",
            unread is None,
            lambda row=unread: _unread(watch, built, width, wanted[row], read, row),
        )
        g.part("no NaN on the way", nan is None, lambda row=nan: _nan(watch, built, row))
        g.part(
            "no other key is read", extra is None, lambda row=extra: _extra(built, row, wanted, read, float(off[row]))
        )
        g.close("the output", o, expected, rtol=1e-3, atol=1e-4, run=run)
        g.close(
            "the LSE", lse, expected_lse, rtol=1e-4, atol=1e-4, run=run,
            known=log_sums(*_state(q, k, width, scale))
        )  # fmt: skip
        g.note(
            f"{rows} threads read {sum(map(len, read))} keys, not one more than needed; full attention reads "
            f"{rows * rows}."
        )


def _unread(watch: Watch, built: Any, width: int, wanted: set[int], read: list[dict[int, int]], row: int) -> list[str]:
    says = [f"Thread {row} must see {_range(wanted)}; it read {_range(set(read[row]))}."]
    if not any(read):
        says.append("The loop's body ran in no thread. `k.loop` takes the stop first: what do its two numbers mean?")
    elif not any(row in keys for row, keys in enumerate(read)):
        says.append("No row sees its own key. Where does the loop stop?")
    elif {len(keys) for keys in read[width:]} == {width - 1}:
        says.append(f"Row {width} sees {width - 1} keys, and W is {width}. Is the row's own key one of them?")
    wrapped = watch.first_wrapped(row)
    if wrapped is not None:
        value = int(wrapped.values[0][row % BLOCK]) & 0xFFFF_FFFF
        says.append(f"A u32 went below zero there and became {value}:\n{place(built, wrapped.line)}")
    return says


def _nan(watch: Watch, built: Any, row: int) -> list[str]:
    event = watch.first_nan(row)
    assert event is not None
    held = watch.inputs(event, row)
    source = f" from {' and '.join(f'{x:g}' for x in held)}" if held else ""
    return [f"Thread {row} computed a NaN{source}:", place(built, event.line)]


def _extra(built: Any, row: int, wanted: list[set[int]], read: list[dict[int, int]], off: float) -> list[str]:
    key = min(set(read[row]) - wanted[row])
    right = "" if off < 1e-4 else f", and its output is off by {off:.2g}"
    told = "" if right else "The output is still right: a key that weighs 0 was also read."
    total, ideal = sum(map(len, read)), sum(map(len, wanted))
    return [
        f"Thread {row} may see {_range(wanted[row])}; it also read key {key}{right}:",
        place(built, read[row][key]),
        f"All threads together read {total} keys; {ideal} are enough.",
        told,
    ]


def _state(q: Array, k: Array, width: int, scale: float, v: Any = None) -> tuple[Array, Array]:
    """The maximum of each row's scores and the sum of its weights, in float64; with v the output in place of the
    maximum, and the LSE."""
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    row, key = np.indices(scores.shape)
    scores[(key > row) | (key <= row - width)] = -np.inf
    m = scores.max(axis=1)
    weights = np.exp(scores - m[:, None])
    total = weights.sum(axis=1)
    return (m, total) if v is None else (weights @ v.astype(np.float64) / total[:, None], m + np.log(total))


def _range(keys: set[int]) -> str:
    """`keys 3 to 8`, `key 3`, `no key`."""
    if not keys:
        return "no key"
    low, high = min(keys), max(keys)
    if high - low + 1 != len(keys):
        return "keys " + ", ".join(map(str, sorted(keys)))
    return f"keys {low} to {high}" if high > low else f"key {low}"


_HEAD = '''
@kernel
def window(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], lse: Ptr[f32], n: u32, scale: f32,
    *, D: int = 8, W: int = 4,
):
    """One thread = one query row, which sees the W keys that end at its own."""
    row = k.thread_index()
    k.return_if(row >= n)
'''
_ALL = "    with k.loop(n) as j:\n"
_WINDOW = """    stop = row + 1
    first = k.max(stop, W) - W  # row - (W - 1) would wrap below zero, where a u32 is about 4 billion

    with k.loop(stop, start=first) as j:
"""
_BODY = SCORE + STEP + END + "    lse[row] = (row_max + k.log2(row_sum)) * LN2\n"

WINDOW = Exercise(
    name="01-window",
    title="a sliding window",
    kind="write",
    level=3,
    prompt="""
In *sliding-window* attention, row $i$ sees the $W$ keys that end at its own: $i - W + 1$ to $i$ (and fewer at the
beginning, where there are none before key 0). Some models use it in every second layer, for a row's cost does not grow
with the length of the text.

The kernel below lets every row see all keys. Change it. The check wants the right output and LSE, and it counts: a key
outside of the window must not even be *read*. Mind the types: `row` is a `u32`.
""",
    starter=_HEAD + QUERY + "\n" + _ALL + _BODY,
    solution=_HEAD + QUERY + _WINDOW + _BODY,
    answer="window",
    hints=(
        "where does the loop of a thread start, and where does it stop? k.loop takes a stop and a start",
        "a u32 has no negative numbers: take the maximum before you subtract",
    ),
    graded=(
        "output and LSE of every row against float64",
        "which keys each thread read: those of its window, all of them, and no other",
    ),
    grade=_grade,
)
