"""The two rows of a C fragment that a lane has a part of: which keys they see, what is recorded of them, how they end.

    row        lanes 4*g to 4*g + 3 have it together
    row + 8    the same lanes

Rungs 5, 6, 8 and 9 differ in how the products are computed; what becomes of their rows is the same, and stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ptxlab.builder import Builder, Ptr, f32, u32
from ptxlab.kernels.fragments import across, pair
from ptxlab.kernels.rung import NOWHERE
from ptxlab.kernels.softmax import LN2, RowState, Scores

BELOW = (0, 8)
"""How far the two rows lie below `row`."""


@dataclass(frozen=True)
class TwoRows:
    """Rows `row` and `row + 8` of one head's Q, which has `Sq`; `head_row` counts the rows of the heads before.
    in_group: which of the four lanes this one is."""

    row: u32
    head_row: u32
    in_group: u32
    Sq: u32

    def visible(self, k: Builder, Sk: u32, causal: bool) -> list[Any]:
        """How many keys each of the two sees: all, or those up to the diagonal, which ends in the last row and key."""
        row, Sq, visible = self.row, self.Sq, list[Any]((Sk, Sk))
        if causal:
            visible = [k.min(k.max(row + (Sk + 1 + below), Sq) - Sq, Sk) for below in BELOW]
        return visible

    def recorded(self, k: Builder, slots: Ptr[Any]) -> list[tuple[Any, Any]]:
        """For each of the two the slot of its record, and whether it has one that this lane writes."""
        recorded = []
        for below in BELOW:
            slot = slots[self.head_row + k.min(self.row + below, self.Sq - 1)]
            recorded.append((slot, (slot != NOWHERE) & (self.row + below < self.Sq) & (self.in_group == 0)))
        return recorded

    def record(
        self,
        k: Builder,
        recorded: list[tuple[Any, Any]],
        state: RowState,
        shrinks: list[Any],
        factor: f32,
        visible: list[Any],
        first: u32,
        T: int,
        tiles: u32,
    ) -> None:
        """Records maximum, sum and rescaling of each row that sees a key of the tile of T that begins with `first`."""
        for n, (slot, wanted) in enumerate(recorded):
            total = k.var(f32, k.copy(state.row_sum[n]))
            across(k, total, "add")
            with k.guard(wanted & (visible[n] > first)):
                k.probe(slot, first // T, tiles, state.row_max[n] * factor, total, shrinks[n])

    def end(
        self,
        k: Builder,
        acc: Scores,
        state: RowState,
        factor: f32,
        dtype: str,
        place: Callable[[int, int], Any],
        lse: Ptr[f32],
    ) -> None:
        """Divides O by the sums and writes it to shared memory, in pairs; and the log-sum-exp to global memory.

        place: where 8 columns of a row begin, by how far the row lies below and the number of the 8 columns."""
        for n, below in enumerate(BELOW):
            row_sum = state.row_sum[n]
            across(k, row_sum, "add")
            # A row that saw no key has row_sum = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
            divisor = k.select(row_sum > 0.0, row_sum, 1.0)
            share = k.rcp(divisor, approx=True)
            for m, c in enumerate(acc):
                bits = pair(k, c[2 * n] * share, c[2 * n + 1] * share, dtype)
                k.op("st.shared.b32", place(below, m), bits)
            with k.guard((self.row + below < self.Sq) & (self.in_group == 0)):
                lse[self.head_row + self.row + below] = k.fma(state.row_max[n], factor, k.log2(divisor)) * LN2
