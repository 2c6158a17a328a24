"""The online softmax on C fragments: four neighbouring lanes share a row, and each lane has a part of two rows.

    lane 4*g + t of a warp         keys 2t, 2t+1 | 8+2t, 8+2t+1 | ...
    row g        (half 0)          s[0][0] s[0][1] s[1][0] s[1][1] ...     <- shared with lanes 4*g to 4*g + 3
    row g + 8    (half 1)          s[0][2] s[0][3] s[1][2] s[1][3] ...

The maximum of a row must be known to all four lanes before the first weight is computed: two shuffles. The sum need not
be: each lane keeps the sum of its own part, and the four are added once, after the last key.

Scores stay as they come out of the product. exp(scale * (s - m)) is exp2(s * factor - m * factor) with
factor = scale * log2(e): one fma and one ex2 an element. What it costs: m * factor is rounded and s * factor is not, so
the largest weight is not exactly 1 but exp2 of that rounding error. It is in the sum as well, so no more is lost than
by rounding P to 16 bits, until logits reach 10**8 and that error is no longer below one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ptxlab.builder import Builder, Var, b32, f32, s32
from ptxlab.kernels.fragments import across

LOG2E, LN2 = math.log2(math.e), math.log(2)
LOWEST = -1e38
"""Below every scaled score, and finite."""
Scores = list[list[Var[f32]]]
"""C fragments side by side: 8 columns each."""


@dataclass
class RowState:
    """The running maximum (of the scores as they are) and this lane's part of the running sum, for its two rows."""

    row_max: list[Var[f32]]
    row_sum: list[Var[f32]]

    @classmethod
    def empty(cls, k: Builder) -> RowState:
        """Before the first key."""
        row_max = k.vars(f32, 2, -math.inf)
        row_sum = k.vars(f32, 2, 0.0)
        return cls(row_max, row_sum)


def factor_of(k: Builder, scale: f32) -> Any:
    """|scale| * log2(e), but never 0: -inf, which stands for keys that are not seen, times 0 is no number.

    The maximum of the scores is that of the scaled scores only for a positive scale; a kernel with a negative one
    changes the sign of q (`sign_of`).
    """
    factor = k.max(abs(scale) * LOG2E, 1e-30)
    return factor


def sign_of(k: Builder, scale: f32) -> Any:
    """Which bits to flip in a pair of 16-bit elements of q: both signs where the scale is negative, else none."""
    flip = k.select(scale < 0.0, 0x80008000, 0, type=b32)
    return flip


def mask(k: Builder, scores: Scores, limits: list[s32]) -> None:
    """-inf for the keys that a row does not see: of this lane's first key and on, `limits[half]` are seen."""
    for n, c in enumerate(scores):
        for half in range(2):
            for odd in range(2):
                seen = limits[half] > 8 * n + odd
                c[2 * half + odd].set(k.select(seen, c[2 * half + odd], -math.inf))


def update(k: Builder, scores: Scores, acc: Scores, state: RowState, factor: f32) -> list[Any]:
    """Takes the scores of one more tile: they become weights, and what was summed before shrinks.

    Returns by how much, for each of the two rows.
    """
    shrinks, lows = advance(k, scores, state, factor)
    shrink(k, acc, shrinks)
    weigh(k, scores, state, lows, factor)
    return shrinks


def advance(k: Builder, scores: Scores, state: RowState, factor: f32) -> tuple[list[Any], list[Any]]:
    """Takes the scores into the maxima, and the sums shrink. Returns for each of the two rows

    - the factor by which the sums shrank, and by which O has to: exactly 1 where the maximum stays. It is the quotient
      of the old and the new weights as they are rounded; any other number, however close to 1, would be multiplied
      again with every tile;
    - what is added to a scaled score for the exponent of its weight (`lowered`).
    """
    shrinks, lows = [], []
    for half in range(2):
        row_max, row_sum = state.row_max[half], state.row_sum[half]
        mine = [c[2 * half + odd] for c in scores for odd in (0, 1)]
        peak = k.var(f32, k.max(mine[0], mine[1]))
        for s in mine[2:]:
            peak.set(k.max(peak, s))
        across(k, peak, "max")
        before = lowered(k, row_max, factor)
        row_max.set(k.max(peak, row_max))
        low = lowered(k, row_max, factor)
        rescale = k.exp2(low - before, ftz=True)
        row_sum *= rescale
        shrinks.append(rescale)
        lows.append(low)
    return shrinks, lows


def shrink(k: Builder, acc: Scores, shrinks: list[Any]) -> None:
    """Multiplies the two rows of O, each with its factor."""
    for c in acc:
        for half in range(2):
            for odd in (0, 1):
                c[2 * half + odd] *= shrinks[half]


def weigh(k: Builder, scores: Scores, state: RowState, lows: list[Any], factor: f32) -> None:
    """Scores become weights, and these are added to the sums."""
    for half, low in enumerate(lows):
        row_sum = state.row_sum[half]
        for s in [c[2 * half + odd] for c in scores for odd in (0, 1)]:
            exponent = k.fma(s, factor, low)
            s.set(k.exp2(exponent, ftz=True))
            row_sum += s


def lowered(k: Builder, row_max: Any, factor: f32) -> Any:
    """-row_max * factor, rounded. Of a row that has seen no key yet it is finite: -inf - LOWEST is -inf, not NaN."""
    low = -k.max(row_max * factor, LOWEST)
    return low
