"""Rung 13, second half: merges the partial results of all splits of a row.

First the maximum and the sum over all splits: each warp finds them for itself, lane i looking at the splits i, i + 32,
... Then one thread for each element of the row adds up what the splits found, scaled by exp(m_split - m). Two passes,
because a split's factor is known only when the maximum is: the same two passes that rung 1 avoids for keys are cheap
for a few dozen splits.

What would cost is waiting. A load comes back after hundreds of cycles, and a loop that takes one split at a time waits
that long for each. So the lanes share the splits in the first pass, and in the second each thread asks for eight at
once.

From sm_90 on, the wait for the launch can be shortened as well: programmatic dependent launch. The splits' kernel says
with `griddepcontrol.launch_dependents` that this one may start; here `griddepcontrol.wait` stands before the first
partial result is read, and returns when all of them are written. The launch, and what stands before the wait, happen
while the last splits are still at work. It has to be asked for with the launch: `replay.record` does.
"""

from __future__ import annotations

import math

from ptxlab import targets
from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import LOWEST, WARP, max_over, rounded, sum_over
from ptxlab.kernels.decode_spec import DecodeConfig, DecodeSpec, Element, entry_name
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E

AT_ONCE = 8
"""Splits that a thread asks for before it uses the first."""


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim
    element = config.element

    @kernel(name=entry_name("decode_reduce", config), arch=config.arch, probes=config.probes, types=config.types())
    def decode_reduce(
        k: Builder, partial: Ptr[f32], o: Ptr[Element], lse: Ptr[f32], Hq: u32, splits: u32, slots: Slots
    ) -> None:
        """One block = one row; thread n merges element n. A split has D sums, its maximum and its sum of weights."""
        k.launch_bounds(threads(config))
        n = k.tid.x
        lane = n % WARP
        row = k.ctaid.y * Hq + k.ctaid.x
        results = partial + k.mul(row * splits, D + 2, wide=True)
        if starts_early(config):
            k.op("griddepcontrol.wait")  # until here nothing was read that the splits' kernel writes

        # The maximum, then the sum: every warp for itself, so that no barrier is needed.
        row_max = k.var(f32, -math.inf)
        with k.loop(splits, start=lane, step=WARP) as split:
            result = results + k.mul(split, D + 2, wide=True)
            row_max.set(k.max(row_max, result[D]))
        max_over(k, row_max, WARP)
        shift = k.max(row_max, LOWEST)  # -inf - (-inf) would be NaN
        row_sum = k.var(f32, 0.0)
        if slots is not None:
            slot = slots[row]
            recorded = (slot != NOWHERE) & (n < WARP)
        with k.loop(splits, start=lane, step=WARP) as split:
            result = results + k.mul(split, D + 2, wide=True)
            split_max, split_sum = result[D], result[D + 1]
            rescale = k.exp2((split_max - shift) * LOG2E)  # 0 for a split without keys
            row_sum.set(k.fma(split_sum, rescale, row_sum))
            if slots is not None:
                with k.guard(recorded):
                    k.probe(slot, split, splits, split_max, split_sum, rescale, base=None)
        sum_over(k, row_sum, WARP)

        # The elements. Threads past the row take its last one as well; they store nothing.
        column = k.min(n, D - 1)
        last = splits - 1
        total = k.var(f32, 0.0)
        with k.loop(splits, step=AT_ONCE) as start:
            found = []
            for i in range(AT_ONCE):
                split = start + i if i else start
                result = results + k.mul(k.min(split, last), D + 2, wide=True)
                found.append((split < splits, result[D], (result + column)[0]))
            for exists, split_max, share in found:
                rescale = k.exp2((split_max - shift) * LOG2E)
                total.set(k.fma(share, k.select(exists, rescale, 0.0), total))

        divisor = k.select(row_sum > 0.0, row_sum, 1.0)
        with k.guard(n < D):
            (o + k.mul(row, D, wide=True))[n] = rounded(k, total / divisor, element)
        with k.guard(n == 0):
            lse[row] = row_max + k.log2(divisor) * LN2

    return decode_reduce()


def starts_early(config: DecodeConfig) -> bool:
    """Whether the kernel waits by itself for the one before it, and so may be launched before that one has ended."""
    return targets.get(config.arch).number >= 90


def threads(config: DecodeConfig) -> int:
    """A thread for each element, in whole warps."""
    return -(-config.head_dim // WARP) * WARP


SPEC = DecodeSpec(
    name="decode_reduce",
    rung=13,
    title="The merge of the splits",
    question="Why two passes here, when one was enough for the keys?",
    idea="merging partial results",
    brings=("two passes", "loads at once"),
    look="the lanes that share the splits in the first pass; and the eight loads before the first fma in the second",
    opens="fma",
    make=make,
    takes=(spec.HEAD_DIM, spec.DTYPE, spec.ARCH, spec.PROBES),
    threads=threads,
    starts_early=starts_early,
    scores=False,
)
