"""Rung 10: one query and a cache of keys: one warp goes through them, its lanes share the row.

When text is generated, each new token asks all keys so far, once. There is one query row per head, so the work is a
matrix times a vector: every key and value is loaded, used for two multiplications, and never seen again. What counts is
bytes per second, not FLOPs.

A thread for a row, as in rung 1, would leave 31 lanes idle. Here the warp takes one key at a time: lane n multiplies
the elements n, n + 32, ... and five shuffles add up the 32 parts, so that every lane knows the score. Neighbours load
neighbouring elements, but only a few bytes are in flight at any time: the next key is asked for when this one has
been used. That is why the bandwidth stays out of reach, and what the next rungs are about.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import LOWEST, WARP, key_count, load_float, rounded, sum_over
from ptxlab.kernels.decode_spec import DecodeConfig, DecodeSpec, Element, Length, entry_name
from ptxlab.kernels.mods import Here
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim
    own = range(0, D, WARP)  # where a lane's elements lie, counted from its first
    short = D % WARP  # of a last, short stretch of a row only so many lanes have an element
    element = config.element

    @kernel(name=entry_name("decode", config), arch=config.arch, probes=config.probes, types=config.types())
    def decode(
        k: Builder,
        q: Ptr[Element],
        key: Ptr[Element],
        value: Ptr[Element],
        o: Ptr[Element],
        lse: Ptr[f32],
        Hq: u32,
        Hkv: u32,
        max_seq: u32,
        length: Length,
        scale: f32,
        slots: Slots,
    ) -> None:
        """One warp = one query head of one sequence; lane n holds the elements n, n + 32, ... of every row."""
        k.launch_bounds(WARP)
        lane = k.tid.x
        inside = lane < short if short else None

        def mine(d: int) -> Any:
            """A context for what concerns element `lane + d`: lanes that are past the row's end leave it out."""
            return k.guard(inside) if inside is not None and d + WARP > D else nullcontext()

        head, batch = k.ctaid.x, k.ctaid.y
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        keys = key_count(k, length, batch)

        row = batch * Hq + head
        row_start = k.mul(row, D, wide=True)
        cache_row = k.mul(batch * Hkv + kv_head, max_seq, wide=True)  # 64 bits: a cache can be larger than 4 GiB
        cache_start = cache_row * D
        key_row = k.var_ptr(key + cache_start + lane)
        value_row = k.var_ptr(value + cache_start + lane)

        scale_log2e = scale * LOG2E  # exp(scale * x) = exp2(scale_log2e * x)
        q_row = q + row_start + lane
        query = []
        for d in own:
            with mine(d):
                query.append(load_float(k, q_row + d))
        acc = k.vars(f32, len(own), 0.0)  # the output row, not yet divided by row_sum
        row_max = k.var(f32, -math.inf)
        row_sum = k.var(f32, 0.0)
        here = Here.decoding(k, config, batch, [head], keys, scale)
        here.begin([row_max], [row_sum])
        if here.span:
            key_row += here.span[0] * D
            value_row += here.span[0] * D
        if slots is not None:
            slot = slots[row]
            recorded = (slot != NOWHERE) & (lane == 0)

        with k.loop(here.span[1], start=here.span[0]) if here.span else k.loop(keys) as j:
            score = k.var(f32, 0.0)
            for n, d in enumerate(own):
                with mine(d):
                    score.set(k.fma(query[n], load_float(k, key_row + d), score))
            sum_over(k, score, WARP)
            if not here.at(j).change([(score, 0, 0)]):
                score *= scale_log2e
            here.hide([(score, 0, 0)])

            new_max = k.max(row_max, score)
            top = k.max(new_max, LOWEST) if config.mods else new_max  # -inf, which a mod may give, minus -inf is NaN
            rescale = k.exp2(row_max - top)  # shrinks what was summed so far
            weight = k.exp2(score - top)
            row_sum.set(k.fma(row_sum, rescale, weight))
            for n, d in enumerate(own):
                acc[n] *= rescale
                with mine(d):
                    acc[n].set(k.fma(weight, load_float(k, value_row + d), acc[n]))
            row_max.set(new_max)
            key_row += D
            value_row += D

            if slots is not None:
                with k.guard(recorded):
                    k.probe(slot, j, max_seq, row_max, row_sum, rescale)

        # Without keys row_sum = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
        divisor = k.select(row_sum > 0.0, row_sum, 1.0)
        o_row = o + row_start + lane
        for n, d in enumerate(own):
            with mine(d):
                o_row[d] = rounded(k, acc[n] / divisor, element)
        with k.guard(lane == 0):
            lse[row] = (row_max + k.log2(divisor)) * LN2  # natural logarithm

    return decode(extra=config.extra)


SPEC = DecodeSpec(
    name="decode",
    rung=10,
    title="One query, one warp per head",
    question="Why is decode a bandwidth problem that this kernel cannot reach?",
    idea="the lanes of a warp share a row",
    brings=("shfl.sync.bfly", "pointer variables", "lengths by pointer"),
    look=(
        "the loop of the PTX: five shuffles, each of which waits for the one before, and the values, loaded only when "
        "the weight is known"
    ),
    opens="shfl.sync",
    make=make,
    takes=(spec.HEAD_DIM, spec.DTYPE, spec.ARCH, spec.PROBES, spec.LENGTH),
)
