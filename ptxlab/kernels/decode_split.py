"""Rung 13, first half: the keys of one head are split over the grid; each block leaves a partial result.

One sequence with 8 heads is 8 blocks, and a GPU has more than a hundred multiprocessors: most of the card would look
on. Since softmax can be cut anywhere, the grid gets a third dimension: block z takes the z-th part of the keys and
stores what a merge needs, un-normalised: D sums of weighted values, the maximum m (in natural logarithms) and the sum
l. `decode_reduce` merges them.

How many splits? Enough to fill the card, no more: each costs D + 2 numbers written and read again. And no parts of
fixed size: a part is 1/splits of the keys there are now, so the grid, which a CUDA graph fixes, suits a cache that
grows. If there are more splits than keys some are empty and store (0, -inf, 0).
"""

from __future__ import annotations

from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, s32, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import key_count
from ptxlab.kernels.decode_multiwarp import THREADS, attend, merge_warps, store_row
from ptxlab.kernels.decode_paged import places_of, rows_of
from ptxlab.kernels.decode_spec import Cache, DecodeConfig, DecodeSpec, Element, Table, entry_name, next_may_start
from ptxlab.kernels.mods import Here
from ptxlab.kernels.softmax import LN2, LOG2E


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim

    @kernel(name=entry_name("decode_split", config), arch=config.arch, types=config.types())
    def decode_split(
        k: Builder,
        q: Ptr[Element],
        key: Ptr[Cache],
        value: Ptr[Cache],
        table: Table,
        lengths: Ptr[s32],
        partial: Ptr[f32],
        Hq: u32,
        Hkv: u32,
        width: u32,
        splits: u32,
        scale: f32,
    ) -> None:
        """One block = one part of the keys of one query head of one sequence."""
        k.launch_bounds(config.threads, THREADS // config.threads)
        head, batch, split = k.ctaid.x, k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        row = batch * Hq + head
        keys = key_count(k, lengths, batch)
        here = Here.decoding(k, config, batch, [head], keys, scale, split)
        first, last = part(k, keys, splits, split, span=here.span)

        where = rows_of(*places_of(k, config, key, value, table, batch, kv_head, Hkv, width))
        state = attend(k, config, q + k.mul(row, D, wide=True), scale * LOG2E, first, last, where, here)
        next_may_start(k)
        merged = merge_warps(k, config, state)

        result = partial + k.mul(row * splits + split, D + 2, wide=True)
        store_row(k, config, merged, result, None)
        with k.guard(k.tid.x == 0):
            result[D] = merged.row_max * LN2
            result[D + 1] = merged.row_sum

    return decode_split(extra=config.extra)


def part(
    k: Builder, keys: u32, splits: u32, split: u32, step: int = 1, span: tuple[Any, Any] | None = None
) -> tuple[u32, u32]:
    """Where the part of a split begins and ends. All have one size, rounded up to a multiple of `step`, a power of two:
    the last ones may be short or empty. span: the first of the keys and the end of them, where they do not begin at 0.
    """
    if span is not None:
        first, last = part(k, span[1] - span[0], splits, split, step)
        return span[0] + first, span[0] + last
    size = (keys + (splits - 1)) // splits
    if step > 1:
        size = (size + (step - 1)) & -step
    first = k.min(split * size, keys)
    last = k.min(first + size, keys)
    return first, last


def one_block_a_part(batch: int, heads_q: int, heads_kv: int, splits: int) -> tuple[int, int, int]:
    """Grid (Hq, B, splits)."""
    return heads_q, batch, splits


SPEC = DecodeSpec(
    name="decode_split",
    rung=13,
    title="The keys split over the grid",
    question="How many splits?",
    idea="partial results, merged by a second kernel",
    brings=("grid z", "un-normalised sums"),
    look=(
        "the state with a few splits, and with more splits than keys: what an empty split stores; and the sectors "
        "that partial results cost"
    ),
    opens="st.global",
    make=make,
    takes=(
        spec.HEAD_DIM,
        spec.DTYPE,
        spec.ARCH,
        spec.WARPS,
        spec.cache_parameter("dense", "paged", "pointers"),
        spec.PAGE_SIZE,
    ),
    grid=one_block_a_part,
)
