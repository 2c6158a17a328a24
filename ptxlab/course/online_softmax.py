"""The exercises of notebook 01: predict the rescales, mend a kernel that never rescales, write a sliding window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.attention import attention
from ptxlab.course.check import Check, Feedback
from ptxlab.course.watch import Watch, place, probed
from ptxlab.launch import launch

Array = NDArray[Any]

SCORES = (0.5, -1.0, 0.5, 1.25, 1.0, 2.5, 2.5, -0.5)
"""The scores of exercise 01-predict, key by key."""

BLOCK = 32


# -- 01-predict --------------------------------------------------------------------------------------------------------


def predict(answer: Any) -> Feedback:
    """`answer` lists the keys at which the kernel's rescale is below 1, for the scores `SCORES`."""
    name = "01-predict"
    if answer is None or answer is ...:
        return Feedback(name, False, ("There is no prediction yet.",), "write a list of key numbers, such as [0, 1]")
    try:
        named = sorted({int(key) for key in answer})
    except (TypeError, ValueError):
        return Feedback(name, False, (f"A list of key numbers is wanted, found {answer!r}.",), "such as [0, 1]")
    wrong = [key for key in named if not 0 <= key < len(SCORES)]
    if wrong:
        return Feedback(name, False, (f"There is no key {wrong[0]}; the keys are 0 to {len(SCORES) - 1}.",))

    keys = np.array(SCORES, np.float32)[:, None]
    one = np.ones((1, 1), np.float32)
    out = attention(one, keys, keys, kernel="scalar", scale=1.0, state=True, device="step")
    assert out.state is not None
    rescale = out.state[0, :, 2]
    before = np.concatenate([[-np.inf], out.state[0, :-1, 0]])
    shrinks = [key for key in range(len(SCORES)) if rescale[key] < 1]
    for key in range(len(SCORES)):
        if (key in shrinks) == (key in named):
            continue
        line = place(out.kernel, probed(out.kernel, 2))
        saw = f"Key {key}: thread 0 held m = {before[key]:g} and met the score {SCORES[key]:g}"
        if key in shrinks:
            says = f"{saw}, a new maximum, so it computed rescale = {rescale[key]:.4g}. You did not name this key."
        else:
            says = f"{saw}, which is no larger, so rescale was exactly 1. You named this key."
        right = len(set(shrinks) & set(named))
        return Feedback(
            name, False, (says, line, f"{right} of the kernel's {len(shrinks)} rescales are in your list."),
            "go through the keys by hand and keep m beside them",
        )  # fmt: skip
    values = ", ".join(f"{rescale[key]:.4g} at key {key}" for key in shrinks)
    return Feedback(
        name, True, (f"Thread 0 rescaled {len(shrinks)} times: {values}. All other factors were exactly 1.",)
    )


# -- 01-rescale --------------------------------------------------------------------------------------------------------


def rescale(answer: Any) -> Feedback:
    """`answer` is a kernel (q, key, value, o, n, scale) with a probe for each row and key; Python parameter D."""
    name, rows, dim, sigma = "01-rescale", BLOCK, 8, 8.0
    stub = _not_a_kernel(name, answer)
    if stub is not None:
        return stub
    built = answer(D=dim, probes=True)
    q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, rows, dim, sigma=sigma, seed=5))
    o, state = np.full_like(q, np.nan), np.full((rows, rows, 3), np.nan, np.float32)
    scale = reference.default_scale(dim)
    launch(built, 1, BLOCK, q, k, v, o, rows, scale, state, device="step")

    expected = reference.attention(
        q[None, None], k[None, None], v[None, None], tile=1, rows=[(0, 0, r) for r in range(rows)]
    )
    assert expected.state is not None
    exact, error = expected.state, float(np.max(np.abs(o - expected.o[0, 0])))
    grew = exact[:, :, 2] < 1 - 1e-6
    if np.isnan(state).any():
        row, key = (int(x) for x in np.argwhere(np.isnan(state).any(axis=2))[0])
        says = f"Thread {row}, key {key}: m, l and rescale were ({_three(state[row, key])}); a NaN, or never stored."
        return Feedback(name, False, (says,), "k.probe(row, j, n, row_max, row_sum, rescale) belongs in the loop")

    wrong = np.argwhere(~np.isclose(state, exact, rtol=1e-3, atol=1e-4))
    if len(wrong):
        row, key, which = (int(x) for x in min(wrong, key=lambda w: (w[1] == 0, w[0], w[1], (2, 0, 1).index(w[2]))))
        m, before = exact[row, key, 0], exact[row, key - 1, 0] if key else -math.inf
        where = place(built, probed(built, which))
        found = f"{state[row, key, which]:.4g}"
        if which == 2:
            says = (
                f"Thread {row}, key {key}: the maximum went from {before:.4g} to {m:.4g}, so what was summed before "
                f"must be multiplied by exp({before:.4g} - {m:.4g}) = {exact[row, key, 2]:.4g}. "
                f"Your kernel's rescale was {found}."
            )
            ones = int(np.sum(np.isclose(state[:, :, 2], 1) & grew))
            count = f"In all {rows} threads the maximum grew {int(grew.sum())} times; rescale was 1 in {ones} of them."
            hint = "at that line, what do the two registers of the subtraction before it hold?"
            return Feedback(name, False, (says, where, count), hint)
        what = ("running maximum m", "running sum l")[which]
        says = f"Thread {row}, key {key}: the {what} should be {exact[row, key, which]:.4g}, it was {found}."
        return Feedback(name, False, (says, where), "rescale is right up to here; what else does this value need?")
    if not np.allclose(o, expected.o[0, 0], rtol=1e-3, atol=1e-4, equal_nan=False):
        worst = int(np.argmax(np.max(np.abs(o - expected.o[0, 0]), axis=1)))
        says = (
            f"m, l and rescale are right at every key, yet the output is off by up to {error:.2g} "
            f"(worst in thread {worst})."
        )
        return Feedback(name, False, (says,), "l is not the only thing that was summed under the old maximum")
    says = (
        f"In {rows} threads the maximum grew {int(grew.sum())} times, and each time rescale was exp(m - m')."
        f" With logits of sigma {sigma:g} the output is within {error:.1e} of float64."
    )
    return Feedback(name, True, (says,))


# -- 01-window ---------------------------------------------------------------------------------------------------------


def window(answer: Any) -> Feedback:
    """`answer` is a kernel (q, key, value, o, lse, n, scale) with Python parameters D and W; row i sees W keys to i."""
    name, rows, dim, width = "01-window", 40, 4, 6
    stub = _not_a_kernel(name, answer)
    if stub is not None:
        return stub
    built = answer(D=dim, W=width)
    q, k, v = (x[0, 0] for x in reference.random_inputs(1, 1, 1, rows, rows, dim, sigma=4.0, seed=7))
    o, lse = np.full_like(q, np.nan), np.full(rows, np.nan, np.float32)
    scale = reference.default_scale(dim)
    watch = Watch(BLOCK)
    launch(built, -(-rows // BLOCK), BLOCK, q, k, v, o, lse, rows, scale, device="step", trace=watch)

    start = watch.parameter("key")
    read: list[dict[int, int]] = []  # for each row: key -> the PTX line that read it first
    for row in range(rows):
        seen: dict[int, int] = {}
        for offset, event in watch.reads(row, start, k.nbytes):
            seen.setdefault(offset // (4 * dim), event.line)
        read.append(seen)
    wanted = [set(range(max(0, row - width + 1), row + 1)) for row in range(rows)]

    for row in range(rows):
        missing = sorted(wanted[row] - set(read[row]))
        if missing:
            says = [f"Thread {row} must see {_range(wanted[row])}; it read {_range(set(read[row]))}."]
            hint = "where does its loop start, and where does it stop?"
            wrapped = watch.first_wrapped(row)
            if wrapped is not None:
                value = int(wrapped.values[0][row % BLOCK]) & 0xFFFF_FFFF
                says.append(f"A u32 went below zero there and became {value}:\n{place(built, wrapped.line)}")
                hint = "a u32 has no negative numbers: take the maximum before you subtract"
            return Feedback(name, False, tuple(says), hint)
    expected, expected_lse = _window(q, k, v, width, scale)
    for row in range(rows):
        nan = watch.first_nan(row)
        if nan is not None:
            held = watch.inputs(nan, row)
            from_ = f" from {' and '.join(f'{x:g}' for x in held)}" if held else ""
            says = [f"Thread {row} computed a NaN{from_}:", place(built, nan.line)]
            return Feedback(name, False, tuple(says), "-inf - (-inf) is NaN: do not let a row begin with hidden keys")
    total, ideal = sum(map(len, read)), sum(map(len, wanted))
    off = np.max(np.abs(o - expected), axis=1)
    for row in range(rows):
        extra = sorted(set(read[row]) - wanted[row])
        if extra:
            line = place(built, read[row][extra[0]])
            right = "" if off[row] < 1e-4 else f", and its output is off by {off[row]:.2g}"
            says = [
                f"Thread {row} may see {_range(wanted[row])}; it also read key {extra[0]}{right}:", line,
                f"All threads together read {total} keys; {ideal} are enough.",
            ]  # fmt: skip
            return Feedback(name, False, tuple(says), "give k.loop a start and a stop, so that other keys are not read")
    if not np.allclose(o, expected, rtol=1e-3, atol=1e-4):
        row = int(np.argmax(off))
        says = [f"Every thread read exactly its keys, yet the output of row {row} is off by {off[row]:.2g}."]
        return Feedback(name, False, tuple(says), "the body of the loop needs no change")
    if not np.allclose(lse, expected_lse, rtol=1e-4, atol=1e-4):
        row = int(np.argmax(np.abs(lse - expected_lse)))
        says = [f"The output is right, but the LSE of row {row} is {lse[row]:.4g} instead of {expected_lse[row]:.4g}."]
        return Feedback(name, False, tuple(says), "ln(l) + m, in natural units: multiply by ln 2 once")
    error = max(float(off.max()), float(np.max(np.abs(lse - expected_lse))))
    return Feedback(
        name, True,
        (f"{rows} threads read {total} keys, not one more than needed; full attention reads {rows * rows}.",
         f"Output and LSE are within {error:.1e} of float64."),
    )  # fmt: skip


def _window(q: Array, k: Array, v: Array, width: int, scale: float) -> tuple[Array, Array]:
    """Sliding-window attention in float64: (o, lse)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.T * scale
    row, key = np.indices(scores.shape)
    scores[(key > row) | (key <= row - width)] = -np.inf
    m = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - m)
    total = weights.sum(axis=1, keepdims=True)
    return weights @ v / total, (m + np.log(total))[:, 0]


# -- words -------------------------------------------------------------------------------------------------------------


def _not_a_kernel(name: str, answer: Any) -> Feedback | None:
    from ptxlab.build import KernelFunction

    if isinstance(answer, KernelFunction):
        return None
    return Feedback(name, False, (f"A function with @kernel is wanted, found {type(answer).__name__}.",),
                    "hand in the function itself, without calling it")  # fmt: skip


def _three(values: Any) -> str:
    return ", ".join(f"{x:.4g}" for x in values)


def _range(keys: set[int]) -> str:
    """`keys 3 to 8`, `key 3`, `no key`."""
    if not keys:
        return "no key"
    low, high = min(keys), max(keys)
    if high - low + 1 != len(keys):
        return "keys " + ", ".join(map(str, sorted(keys)))
    return f"keys {low} to {high}" if high > low else f"key {low}"


EXERCISES: dict[str, Check] = {"01-predict": predict, "01-rescale": rescale, "01-window": window}
