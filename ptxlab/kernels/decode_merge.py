"""The merge of two attention results as a kernel of its own: `pl.merge_states`.

What rungs 11 and 13 do inside, for results that were finished apart: a shared prompt and a sequence's own keys, say, or
two machines that hold half of the keys each. An output o and its log-sum-exp are enough, because exp(lse) is the sum of
the weights that o was divided by.
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeVar

from ptxlab.builder import Builder, Kernel, Ptr, bf16, f16, f32, f64, kernel, u32
from ptxlab.kernels.decode_lanes import load_float
from ptxlab.kernels.rung import ELEMENTS
from ptxlab.kernels.softmax import LN2, LOG2E

THREADS = 128

Element = TypeVar("Element", f32, f64, f16, bf16)
"""The type of o1, o2 and o."""
Real = TypeVar("Real", f32, f64)
"""The type of the arithmetic and of the log-sum-exps: f64 for f64, otherwise f32."""


@functools.cache
def build(dtype: str = "f32", arch: str = "sm_80") -> Kernel:
    """The kernel `merge_states_{dtype}(o1, lse1, o2, lse2, o, lse, D)`, one block of 128 threads for each row."""
    element = ELEMENTS[dtype]
    real: type[Any] = f64 if dtype == "f64" else f32

    def number(k: Builder, pointer: Ptr[Any]) -> Any:
        return k.load(pointer) if element is real else load_float(k, pointer)

    @kernel(name=f"merge_states_{dtype}", arch=arch, types={"Element": element, "Real": real})
    def merge_states(
        k: Builder,
        o1: Ptr[Element],
        lse1: Ptr[Real],
        o2: Ptr[Element],
        lse2: Ptr[Real],
        o: Ptr[Element],
        lse: Ptr[Real],
        D: u32,
    ) -> None:
        """One block = one row: o = (w1 * o1 + w2 * o2) / (w1 + w2) with w = exp(lse - the larger lse)."""
        k.launch_bounds(THREADS)
        row = k.ctaid.x
        start = k.mul(row, D, wide=True)
        first, second = lse1[row], lse2[row]
        row_max = k.max(first, second)
        shift = k.select(row_max > -math.inf, row_max, 0.0)  # -inf - (-inf) would be NaN
        w1 = k.exp2((first - shift) * LOG2E)
        w2 = k.exp2((second - shift) * LOG2E)
        total = w1 + w2
        divisor = k.select(total > 0.0, total, 1.0)  # two results without keys: o = 0 and lse = -inf

        with k.loop(D, start=k.tid.x, step=THREADS) as column:
            a = k.select(w1 > 0.0, number(k, o1 + start + column), 0.0)  # where no key was seen o may be anything:
            b = k.select(w2 > 0.0, number(k, o2 + start + column), 0.0)  # 0 * NaN would be NaN
            mean = k.fma(w1, a, w2 * b) / divisor
            (o + start)[column] = mean if element is real else k.cvt(element, mean)
        with k.guard(k.tid.x == 0):
            lse[row] = row_max + k.log2(divisor) * LN2

    return merge_states()
