"""Rung 13, second half: merges the partial results of all splits of a row.

One thread for each element of the row. It goes through the splits twice: first for the largest maximum, then it adds up
what each split found, scaled by exp(m_split - m). Two passes, because a split's factor is known only when the maximum
is: the same two passes that rung 1 avoids for keys are cheap for a few dozen splits.
"""

from __future__ import annotations

import math

from ptxlab.build import Builder, Kernel, Ptr, f32, kernel, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import LOWEST, rounded
from ptxlab.kernels.decode_spec import DecodeConfig, DecodeSpec, Element, Slots, entry_name
from ptxlab.kernels.spec import NOWHERE

LOG2E = math.log2(math.e)
LN2 = math.log(2)


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim
    element = spec.ELEMENTS[config.dtype]

    @kernel(name=entry_name("decode_reduce", config), arch=config.arch, probes=config.probes, types=config.types())
    def decode_reduce(
        k: Builder, partial: Ptr[f32], o: Ptr[Element], lse: Ptr[f32], Hq: u32, splits: u32, slots: Slots
    ) -> None:
        """One block = one row; thread n merges element n. A split has D sums, its maximum and its sum of weights."""
        k.launch_bounds(D)
        n = k.tid.x
        row = k.ctaid.y * Hq + k.ctaid.x
        results = partial + k.mul(row * splits, D + 2, wide=True)
        if slots is not None:
            slot = slots[row]
            recorded = (slot != NOWHERE) & (n == 0)

        row_max = k.var(f32, -math.inf)
        result = k.var_ptr(results)
        with k.loop(splits):
            row_max.set(k.max(row_max, result[D]))
            result += D + 2

        shift = k.max(row_max, LOWEST)  # -inf - (-inf) would be NaN
        row_sum, total = k.var(f32, 0.0), k.var(f32, 0.0)
        mine = k.var_ptr(results + n)
        result.set(results)
        with k.loop(splits) as split:
            split_max, split_sum = result[D], result[D + 1]
            rescale = k.exp2((split_max - shift) * LOG2E)  # 0 for a split without keys
            row_sum.set(k.fma(split_sum, rescale, row_sum))
            total.set(k.fma(mine[0], rescale, total))
            if slots is not None:
                with k.guard(recorded):
                    k.probe(slot, split, splits, split_max, split_sum, rescale, base=None)
            result += D + 2
            mine += D + 2

        divisor = k.select(row_sum > 0.0, row_sum, 1.0)
        o_row = o + k.mul(row, D, wide=True)
        o_row[n] = rounded(k, total / divisor, element)
        with k.guard(n == 0):
            lse[row] = row_max + k.log2(divisor) * LN2

    return decode_reduce(**({} if config.probes else {"slots": None}))


SPEC = DecodeSpec(
    name="decode_reduce",
    rung=13,
    title="The merge of the splits",
    question="Why two passes here, when one was enough for the keys?",
    idea="merging partial results",
    teaches=("two passes", "pointer variables"),
    make=make,
    takes=(spec.HEAD_DIM, spec.DTYPE, spec.ARCH, spec.PROBES),
    threads=lambda config: config.head_dim,
)
