"""One row of attention step by step in float64: the score of every key, and the output row after every tile.

Together with m, l and rescale, which the kernel's probes store, this is the whole online softmax in one picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_SCORES = 4096
"""Scores that are drawn; of more keys every n-th."""
MOST_TILES, MOST_COLUMNS = 128, 128
"""Of the output row's picture: more tiles or columns are sampled evenly."""


def steps(q: Any, k: Any, v: Any, scale: float, tile: int) -> dict[str, Any]:
    """{scores: [[key, score]], output: {tiles, columns, scale, values}} for a row q `[D]` over the keys that it sees.

    values[i] are the sums of value times exp(score - m) after tile tiles[i], not yet divided by l, as whole numbers
    from -127 to 127: of `scale`, the largest of all. So a row grows pale where a new maximum scales it down.
    """
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    scores = (k @ q) * scale
    count = -(-len(k) // tile)
    shown = np.unique(np.linspace(0, max(0, count - 1), min(count, MOST_TILES)).round().astype(int))
    columns = np.unique(np.linspace(0, len(q) - 1, min(len(q), MOST_COLUMNS)).round().astype(int))
    highest = np.maximum.accumulate(scores) if count else scores
    sums = np.zeros((len(shown), len(columns)))
    total, m, done = np.zeros(len(columns)), -np.inf, 0
    for i, t in enumerate(shown):  # all tiles up to a shown one at once
        end = min((t + 1) * tile, len(k))
        new = highest[end - 1]
        total = total * np.exp(m - new) + np.exp(scores[done:end] - new) @ v[done:end, columns]
        sums[i], m, done = total, new, end
    largest = float(np.abs(sums).max(initial=0.0))
    every = -(-len(k) // MOST_SCORES)
    return {
        "scores": [[int(j), float(scores[j])] for j in range(0, len(k), max(1, every)) if np.isfinite(scores[j])],
        "output": {
            "tiles": [int(t) for t in shown],
            "columns": [int(c) for c in columns],
            "scale": largest,
            "values": np.rint(sums * (127 / (largest or 1.0))).astype(int).tolist(),
        },
    }
