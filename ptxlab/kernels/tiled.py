"""Rung 2: the same algorithm, but the threads of a block fetch keys and values together, a tile at a time.

In rung 1 every row reads every key from global memory by itself. Here the 128 rows of a block share what they read:
all threads copy a tile of K and V into shared memory, wait for each other, and then each row goes through the tile.

Two barriers make that safe. The first stands before the copy: no thread may overwrite a tile that another still reads.
The second stands after it: no thread may read a tile that another is still writing. A barrier is a promise of *all*
threads of the block, so a thread whose row lies past the end must not leave early: it is needed to load, and to arrive.
"""

from __future__ import annotations

import math
from typing import TypeVar

from ptxlab.builder import Builder, Kernel, Ptr, f32, f64, kernel, u32
from ptxlab.kernels.mods import Here, Tiles
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E, LOWEST
from ptxlab.kernels.spec import THREADS, Config, Spec, entry_name

Real = TypeVar("Real", f32, f64)
"""The type of every element: f32 or f64, chosen by `types=` when a kernel is built."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, causal, modified = config.head_dim, config.tile_kv, config.causal, config.mods
    real = config.real

    @kernel(name=entry_name("tiled", config), arch=config.arch, probes=config.probes, types=config.types())
    def tiled(
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
        """One thread = one query row; tiles of K and V are loaded into shared memory by all threads together."""
        k_tile = k.shared(real, T * D)
        v_tile = k.shared(real, T * D)

        index = k.thread_index()
        inside = index < Sq
        # A thread past the end repeats the last row: it helps to load, and stores nothing.
        row = k.min(index, Sq - 1)
        thread = k.tid.x
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
        here, listed = Here.of(k, config, batch, head, row, Sq, Sk), Tiles.of(k, config, head, batch, Hq)
        here.begin([row_max], [row_sum])

        visible = needed = Sk
        if causal:
            visible = k.max(row + Sk + 1, Sq) - Sq  # keys this row sees
            last_row = k.min(k.ctaid.x * THREADS + (THREADS - 1), Sq - 1)
            needed = k.max(last_row + Sk + 1, Sq) - Sq  # keys any row of this block sees: the same for all threads
        if slots is not None:
            slot = slots[row_number]
            recorded = inside & (slot != NOWHERE)
            tiles = (Sk + (T - 1)) // T

        with listed.loop() if listed else k.loop(needed, step=T) as first:
            count = k.min(needed - first, T)  # the last tile may be short
            k.barrier()  # everyone has finished with the tile before
            tile_start = first * D
            key_tile, value_tile = keys + tile_start, values + tile_start
            with k.loop(count * D, start=thread, step=THREADS) as i:  # neighbours load neighbouring elements
                k_tile[i] = key_tile[i]
                v_tile[i] = value_tile[i]
            k.barrier()  # the tile is complete

            seen = k.min(k.max(visible, first) - first, count)  # keys of this tile that this row sees
            if slots is not None:
                tile_rescale = k.var(real, 1.0)
            with k.loop(seen) as j:
                if modified and here.at(first + j).mods.masks:
                    k.continue_if(~here.seen(0, 0))
                offset = j * D
                key_row = k_tile + offset
                value_row = v_tile + offset

                score = k.var(real, 0.0)
                for d in range(D):
                    score.set(k.fma(query[d], key_row[d], score))  # the dot product of query and key
                if not here.change([(score, 0, 0)], scale):
                    score *= scale_log2e

                new_max = k.max(row_max, score)
                top = k.max(new_max, LOWEST) if modified else new_max  # -inf, which a mod may give, minus -inf is NaN
                rescale = k.exp2(row_max - top)  # shrinks what was summed so far
                weight = k.exp2(score - top)
                row_sum.set(k.fma(row_sum, rescale, weight))
                for d in range(D):
                    acc[d] *= rescale
                    acc[d].set(k.fma(weight, value_row[d], acc[d]))
                row_max.set(new_max)
                if slots is not None:
                    tile_rescale *= rescale

            if slots is not None:
                with k.guard(recorded & (seen > 0)):
                    k.probe(slot, first // T, tiles, row_max, row_sum, tile_rescale)

        # A row that saw no key has row_sum = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
        divisor = k.select(row_sum > 0.0, row_sum, 1.0)
        with k.if_(inside):
            for d in range(D):
                o_row[d] = acc[d] / divisor
            lse[row_number] = (row_max + k.log2(divisor)) * LN2  # natural logarithm

    return tiled(extra=config.extra)


def shared_bytes(config: Config) -> int:
    """Bytes of static shared memory: a tile of K and one of V."""
    return 2 * config.tile_kv * config.head_dim * config.size


SPEC = Spec(
    name="tiled",
    rung=2,
    title="K and V tiles in shared memory",
    question="What does a barrier promise, and who loads the row of an idle thread?",
    idea="K/V tile in shared memory",
    brings=("ld.shared", "st.shared", "bar.sync"),
    look=(
        "the sectors in the counters, compared with `scalar`: a key is read once for all rows of a block; and where "
        "the two barriers of a tile are"
    ),
    opens="bar.sync",
    make=make,
    tile=32,
    shared_bytes=shared_bytes,
)
