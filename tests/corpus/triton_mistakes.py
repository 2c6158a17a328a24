"""Kernels of Triton with a mistake each, of which a test of values may or may not tell.

`MISTAKES[name]` is (kernel, grid, arguments, constants, the check that notices it, the line's text).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl


@triton.jit
def past_the_end(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def sum_without_atomic(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + at), axis=0)
    tl.store(out_ptr, tl.load(out_ptr) + total)


@triton.jit
def rotate_without_barrier(x_ptr, scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + at, tl.load(x_ptr + at))
    tl.store(out_ptr + at, tl.load(scratch_ptr + (at + 1) % BLOCK))


@triton.jit
def lock_released_early(x_ptr, out_ptr, lock_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(out_ptr + at) + x
    tl.atomic_xchg(lock_ptr, 0)
    tl.store(out_ptr + at, total)


@triton.jit
def tiles_overlap(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.program_id(0))


@triton.jit
def sums_by_lane(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    """An exchange of x * y + another lane's product, fused, rounds differently on its two sides: which sum is kept
    depends on the order in which lanes store. Launched with enable_fp_fusion=False it is right."""
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + at) * tl.load(y_ptr + at), axis=0))


def _random(*lengths: int) -> Callable[[], list[Any]]:
    return lambda: [np.random.default_rng(n).standard_normal(n).astype(np.float32) for n in lengths]


MISTAKES: dict[str, tuple[Any, int, Callable[[], list[Any]], dict[str, int], str, str]] = {
    "past_the_end": (past_the_end, 2, _random(200, 200), {"BLOCK": 128}, "memcheck", "tl.load(x_ptr + at)"),
    "sum_without_atomic": (
        sum_without_atomic, 4, _random(256, 1), {"BLOCK": 64}, "racecheck", "tl.load(out_ptr) + total"
    ),
    "rotate_without_barrier": (
        rotate_without_barrier, 1, _random(256, 256, 256), {"BLOCK": 256}, "racecheck", "tl.load(scratch_ptr"
    ),
    "lock_released_early": (
        lock_released_early, 4, lambda: [*_random(256, 64)(), np.zeros(1, np.int32)], {"BLOCK": 64}, "racecheck",
        "tl.store(out_ptr + at, total)",
    ),
    "tiles_overlap": (tiles_overlap, 4, _random(256, 256), {"BLOCK": 64}, "racecheck", "tl.store(out_ptr + at"),
    "sums_by_lane": (sums_by_lane, 1, _random(128, 128, 1), {"BLOCK": 128}, "racecheck", "tl.sum("),
}  # fmt: skip
