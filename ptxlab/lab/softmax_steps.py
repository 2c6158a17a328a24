"""One row of attention step by step in float64: the score of every key, and the output row after every tile.

Together with m, l and rescale, which the kernel's probes store, this is the whole online softmax in one picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import reference

MOST_SCORES = 4096
"""Scores that are drawn; of more keys every n-th."""
MOST_TILES, MOST_COLUMNS = 128, 128
"""The most tiles and columns in the picture of the output row; more are sampled evenly."""


def row_scores(
    q: Any, k: Any, causal: bool, place: tuple[int, int, int], rows: int, mods: reference.Mods
) -> tuple[Any, Any]:
    """The scores of a row q `[D]` with its keys `[Sk, D]`, -inf where it sees none, and which it sees. place: batch,
    head and row of `rows`."""
    q, k, at = np.asarray(q, np.float64)[None], np.asarray(k, np.float64), (*place[:2], np.array(place[2:]))
    scores, sees = reference.scores_of(q, k, reference.default_scale(q.shape[1]), causal, at, rows, mods)
    return scores[0], sees[0]


def steps(scores: Any, v: Any, tile: int, sink: float = -np.inf) -> dict[str, Any]:
    """{scores: [[key, score]], output: {tiles, columns, scale, values}} for the scores `[Sk]` of a row; a score is None
    where the row does not see the key. sink: with which the maximum begins.

    values[i] are the sums of value times exp(score - m) after tile tiles[i], not yet divided by l, as whole numbers
    from -127 to 127: of `scale`, the largest of all. So a row grows pale where a new maximum scales it down.
    """
    v, count = np.asarray(v, np.float64), -(-len(v) // tile)
    shown = np.unique(np.linspace(0, max(0, count - 1), min(count, MOST_TILES)).round().astype(int))
    dim = v.shape[1]
    columns = np.unique(np.linspace(0, dim - 1, min(dim, MOST_COLUMNS)).round().astype(int))
    highest = np.maximum.accumulate(np.maximum(scores, sink)) if count else scores
    sums = np.zeros((len(shown), len(columns)))
    total, m, done = np.zeros(len(columns)), sink, 0
    for i, t in enumerate(shown):  # all tiles up to a shown one at once
        end = min((t + 1) * tile, len(v))
        new = highest[end - 1]
        if new == -np.inf:  # no key has been seen yet
            done = end
            continue
        total = total * np.exp(m - new) + np.exp(scores[done:end] - new) @ v[done:end, columns]
        sums[i], m, done = total, new, end
    largest = float(np.abs(sums).max(initial=0.0))
    every = max(1, -(-len(v) // MOST_SCORES))
    return {
        "scores": [[j, float(scores[j]) if np.isfinite(scores[j]) else None] for j in range(0, len(v), every)],
        "output": {
            "tiles": [int(t) for t in shown],
            "columns": [int(c) for c in columns],
            "scale": largest,
            "values": np.rint(sums * (127 / (largest or 1.0))).astype(int).tolist(),
        },
    }
