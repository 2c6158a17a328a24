"""Why a kernel is not entered: the element, the pattern of rows, and the known mistake that gives its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxlab.course import causes
from ptxlab.course.scoreboard.rungs import NOTHING, Array, Rung
from ptxlab.launch.run import Run

TILES = (4, 8, 16, 32, 64)


def refusal(rung: Rung, run: Run, got: Array, per_block: int) -> tuple[str, ...]:
    """What is wrong, then its cause if that is known; empty if nothing is."""
    if run.findings:
        return ("a check found something.", str(run.findings[0]))
    want = rung.given.want
    unwritten = got.view(f"u{got.itemsize}") == NOTHING[got.itemsize]
    if unwritten.any():
        at = [int(i) for i in np.argwhere(unwritten)[0]]
        says = (
            f"not all of it is written. {unwritten.sum():,} of {got.size:,} elements have no value, the first is o{at}."
        )
        block, rows = at[0] // per_block, np.flatnonzero(unwritten.any(1))
        whole = rows[0] == block * per_block and set(rows // per_block) == {block}
        cause = f"These are the rows of block {block}. Which row does its thread 0 take?" if whole else ""
        return tuple(filter(None, (f"{says} {causes.where(unwritten)}".strip(), cause)))
    wrong = ~(np.abs(got.astype(np.float64) - want) <= rung.tolerance)
    if not wrong.any():
        return ()
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    pattern = causes.where(wrong) or (f"All {len(wrong)} rows are wrong." if wrong.any(1).all() else "")
    says = f"wrong. o{list(first)} should be {want[first]:.5g}, it is {got[first]:.5g}. {pattern}".strip()
    cause = causes.fitting(known(rung), got, np.True_, 0.0, rung.tolerance)
    return (says, cause) if cause else (says,)


def known(rung: Rung) -> Iterator[tuple[Array, str]]:
    """What known mistakes give on a rung's problem, with their sentences; none where keys lie in pages."""
    given, want = rung.given.given, rung.given.want
    if "table" in given:
        return
    q, key, value = (given[name].astype(np.float64) for name in ("q", "key", "value"))
    key, value = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (key, value))
    raw = q @ key.swapaxes(-1, -2)
    scores, count = raw * given["scale"], key.shape[2]

    def softmax(s: Array, times: Any = 1.0) -> Array:
        weights = np.exp(s - s.max(-1, keepdims=True)) * times
        out: Array = weights @ value / weights.sum(-1, keepdims=True)
        return out.reshape(want.shape)

    yield softmax(raw), "What came out is attention with unscaled scores. Where does `scale` go?"
    yield softmax(scores * np.log(2)), "What came out is attention with powers of 2 in place of e. Where does LOG2E go?"
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    yield (weights @ value).reshape(want.shape), "What came out is not divided by the sum of the weights."
    for size in TILES:
        left = count % size
        if 0 < left < count:
            last, places = count - left, np.arange(count)
            says = f"Keys {last} to {count - 1} fill {left} of the {size} places of the last tile"
            twice = 1.0 + ((places >= last - size + left) & (places < last))
            yield (
                softmax(scores, twice),
                f"What came out is attention in which keys {last - size + left} to {last - 1} count twice. "
                f"{says}: what is in the other {size - left}?",
            )
            yield softmax(scores, places < last), f"What came out is attention without the last tile. {says}."
    for size in (1, *TILES):
        yield from _online(scores, value, size, want.shape)
    for lanes, of in ((np.arange(count) % n, f"of every {n}th key") for n in (2, 4, 8, 16, 32)):
        top = np.stack([scores[..., lanes == lane].max(-1) for lane in range(lanes.max() + 1)], -1)[..., lanes]
        weights = np.exp(scores - top)
        out = (weights @ value / weights.sum(-1, keepdims=True)).reshape(want.shape)
        yield out, f"Weights were added that have different maxima: one {of}. Who shares the maximum of a row?"


def _online(scores: Array, value: Array, size: int, shape: tuple[int, ...]) -> Iterator[tuple[Array, str]]:
    """Softmax in tiles of keys, in which the sum, the row, or both are not rescaled when the maximum grows."""
    top = np.full((*scores.shape[:-1], 1), -np.inf)
    sums, rows = [0.0 * np.ones_like(top)] * 2, [np.zeros((*scores.shape[:-1], value.shape[-1]))] * 2
    for first in range(0, scores.shape[-1], size):
        part = scores[..., first : first + size]
        new = np.maximum(top, part.max(-1, keepdims=True))
        rescale, weights, top = np.exp(top - new), np.exp(part - new), new
        sums = [x * r + weights.sum(-1, keepdims=True) for x, r in zip(sums, (rescale, 1.0), strict=True)]
        rows = [
            x * r + weights @ value[..., first : first + size, :] for x, r in zip(rows, (rescale, 1.0), strict=True)
        ]
    for row, total, what in (
        (0, 1, "The sum l is"),
        (1, 0, "The row o is"),
        (1, 1, "Neither the sum l nor the row o is"),
    ):
        yield (rows[row] / sums[total]).reshape(shape), f"{what} not rescaled when the maximum of a row grows."
