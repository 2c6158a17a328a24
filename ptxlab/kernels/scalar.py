"""Rung 1: attention with one thread for each query row, which reads every key once and never stores a score.

Softmax seems to need two passes over the scores: one for their maximum, one for their sum. The online softmax makes do
with one. It keeps the maximum m and the sum l of the keys seen so far, and when a larger score s arrives, everything
summed under the old maximum is scaled by exp(m - m'), the output row included:

    m' = max(m, s)        l = l * exp(m - m') + exp(s - m')        o = o * exp(m - m') + exp(s - m') * v

A GPU computes powers of two (`ex2`), so scores are kept in units of log2: the scale and log2(e) are folded into one
factor, and only what leaves the kernel (the log-sum-exp, the probes) goes back to natural logarithms.
"""

from __future__ import annotations

import math
from typing import TypeVar

from ptxlab.builder import Builder, Kernel, Ptr, f32, f64, kernel, u32
from ptxlab.kernels.mods import Here, Tiles
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E, LOWEST
from ptxlab.kernels.spec import Config, Spec, entry_name

Real = TypeVar("Real", f32, f64)
"""The type of every element: f32 or f64, chosen by `types=` when a kernel is built."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, causal = config.head_dim, config.causal
    real = config.real

    @kernel(name=entry_name("scalar", config), arch=config.arch, probes=config.probes, types=config.types())
    def scalar(
        k: Builder,
        q: Ptr[Real],
        key: Ptr[Real],
        value: Ptr[Real],
        o: Ptr[Real],
        lse: Ptr[Real],
        B: u32,
        Hq: u32,
        Hkv: u32,
        Sq: u32,
        Sk: u32,
        scale: Real,
        slots: Slots,
    ) -> None:
        """One thread = one query row; online softmax, a single pass over the keys."""
        row = k.thread_index()
        k.return_if(row >= Sq)  # the last block may reach past the last row
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head

        row_number = (batch * Hq + head) * Sq + row  # counted over all batches and heads
        first_key = (batch * Hkv + kv_head) * Sk
        row_start = k.mul(row_number, D, wide=True)  # 64 bits: there may be more than 2**32 elements
        kv_start = k.mul(first_key, D, wide=True)
        q_row, o_row = q + row_start, o + row_start
        keys, values = key + kv_start, value + kv_start

        scale_log2e = scale * LOG2E  # exp(scale * x) = exp2(scale_log2e * x)
        query = k.load(q_row, D)
        acc = k.vars(real, D, 0.0)  # the output row, not yet divided by row_sum
        row_max = k.var(real, -math.inf)
        row_sum = k.var(real, 0.0)

        visible = Sk
        if causal:
            visible = k.max(row + Sk + 1, Sq) - Sq  # up to the diagonal: the last row sees all keys
        here, listed = Here.of(k, config, batch, head, row, Sq, Sk), Tiles.of(k, config, head, batch, Hq)
        here.begin([row_max], [row_sum])
        if slots is not None:
            slot = slots[row_number]
            recorded = slot != NOWHERE

        with listed.keys_in(Sk) if listed else k.loop(visible) as j:
            if here.at(j).mods.masks:
                k.continue_if(~here.seen(0, 0))
            offset = j * D
            key_row = keys + offset
            value_row = values + offset

            score = k.var(real, 0.0)
            for d in range(D):
                score.set(k.fma(query[d], key_row[d], score))  # the dot product of query and key
            if not here.change([(score, 0, 0)], scale):
                score *= scale_log2e

            new_max = k.max(row_max, score)
            top = k.max(new_max, LOWEST) if config.mods else new_max  # -inf, which a mod may give, minus -inf is NaN
            rescale = k.exp2(row_max - top)  # shrinks what was summed so far
            weight = k.exp2(score - top)
            row_sum.set(k.fma(row_sum, rescale, weight))
            for d in range(D):
                acc[d] *= rescale
                acc[d].set(k.fma(weight, value_row[d], acc[d]))
            row_max.set(new_max)

            if slots is not None:
                with k.guard(recorded):
                    k.probe(slot, j, Sk, row_max, row_sum, rescale)

        # A row that saw no key has row_sum = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
        divisor = k.select(row_sum > 0.0, row_sum, 1.0)
        for d in range(D):
            o_row[d] = acc[d] / divisor
        lse[row_number] = (row_max + k.log2(divisor)) * LN2  # natural logarithm

    return scalar(extra=config.extra)


SPEC = Spec(
    name="scalar",
    rung=1,
    title="Online softmax, one thread per row",
    question="Why is one pass over the keys enough, and what must be rescaled?",
    idea="online softmax",
    brings=("fma", "ex2.approx", "setp", "predicates", "div"),
    look=(
        "the rescale factors in the plot of the state: 1 while the maximum stays, and after the first keys it "
        "mostly stays"
    ),
    opens="ex2.approx",
    make=make,
)
