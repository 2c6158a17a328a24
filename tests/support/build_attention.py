"""A small attention kernel, written as a student would: the builder's golden test prints it."""

from __future__ import annotations

from math import inf, log2

from ptxlab.builder import Builder, Ptr, f32, kernel, u32

LOG2E = log2(2.718281828459045)
D = 2


@kernel
def attention(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], out: Ptr[f32], n: u32, scale: f32) -> None:
    """One thread = one query row; online softmax, a single pass over the keys."""
    row = k.thread_index()
    past_end = row >= n
    k.return_if(past_end)  # the grid may be larger than n

    scale_log2e = scale * LOG2E
    query = k.load(q + row * D, D)  # one load an element
    acc = k.vars(f32, D, 0.0)
    row_max, row_sum = k.var(f32, -inf), k.var(f32, 0.0)

    with k.loop(n) as j:  # a real loop in the PTX
        start = j * D
        key_row, value_row = key + start, value + start

        # the dot product of the query with this key
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], key_row[d], score))
        score *= scale_log2e  # in units of log2

        new_max = k.max(row_max, score)
        rescale = k.exp2(row_max - new_max)  # shrinks what was summed so far
        weight = k.exp2(score - new_max)
        row_sum.set(k.fma(row_sum, rescale, weight))
        for d in range(D):
            acc[d] *= rescale
            acc[d].set(k.fma(weight, value_row[d], acc[d]))  # one key's share of the row
        row_max.set(new_max)

    out_row = out + row * D
    for d in range(D):
        out_row[d] = acc[d] / row_sum
