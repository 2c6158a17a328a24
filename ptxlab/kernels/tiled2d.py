"""Rung 3: a block computes a tile of 64 rows by 64 keys, and each of its 256 threads a 4x4 piece of it.

In rung 2 every fma needs a key element from shared memory: one load for one fma, and loads are what runs out first. A
thread that computes 4 x 4 scores loads four queries and four keys for sixteen fma; with 16-byte loads that is 8 loads
for 64 fma.

    keys      tx, 16 + tx, 32 + tx, 48 + tx           thread = 16 * ty + tx
    rows      +----+----+----+----+
    4*ty      | s  | s  | s  | s  |                   The keys of a thread lie 16 apart, so that neighbouring threads
    4*ty + 1  | s  | s  | s  | s  |                   read neighbouring rows of K. A row of K takes D + 4 floats: the
    4*ty + 2  | s  | s  | s  | s  |                   padding turns each row four banks further, and the rows that
    4*ty + 3  | s  | s  | s  | s  |                   eight threads read at once meet all 32 banks, each once.

Softmax is per row, and a row is spread over 16 threads. They are half a warp, so they agree on its maximum in four
shuffles: each takes the maximum with the thread whose number differs in one bit (`shfl.bfly` 1, 2, 4, 8), and after
four such exchanges all 16 know it. The sum is not needed before the end: each thread adds up its own weights.

For O = P V the same thread has the same four rows, but of the weights it has only its own keys. So P goes through
shared memory; only the 16 threads of a row exchange it, and a warp that waits for itself (`bar.warp.sync`) is enough.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, Shared, f32, kernel, s32, u32
from ptxlab.kernels.fragments import ALL_LANES
from ptxlab.kernels.mods import Here, Tiles
from ptxlab.kernels.rung import NOWHERE, Parameter, Slots
from ptxlab.kernels.softmax import LN2, LOG2E
from ptxlab.kernels.spec import Config, Spec, entry_name

SIDE = 16
"""A block is 16 x 16 threads."""
PADDING = 4
"""Floats after each row in shared memory."""
IN_FLIGHT = 8
"""Vectors that a thread loads before it stores the first."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, R, T, causal = config.head_dim, config.tile_q, config.tile_kv, config.causal
    high, wide = R // SIDE, T // SIDE  # rows and keys per thread
    groups = range(0, D, 4 * SIDE)  # 16 threads with 4 columns each cover 64 columns of O
    stride, p_stride = D + PADDING, T + PADDING

    @kernel(name=entry_name("tiled2d", config), arch=config.arch, probes=config.probes, types=config.types())
    def tiled2d(
        k: Builder,
        q: Ptr[f32],
        key: Ptr[f32],
        value: Ptr[f32],
        o: Ptr[f32],
        lse: Ptr[f32],
        B: u32,
        Hq: u32,
        Hkv: u32,
        Sq: u32,
        Sk: u32,
        scale: f32,
        slots: Slots,
    ) -> None:
        """One thread = 4 rows x 4 keys of the scores, and 4 rows x D/16 columns of the output."""
        k.launch_bounds(config.threads)
        q_tile = k.dynamic_shared(f32)
        k_tile = q_tile + R * stride
        v_tile = k_tile + T * stride
        p_tile = v_tile + T * stride

        thread = k.tid.x
        ty, tx = thread // SIDE, thread % SIDE
        first_row = k.ctaid.x * R
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        row = first_row + ty * high  # the first of this thread's rows
        q_start = k.mul(head_row + first_row, D, wide=True)  # 64 bits: there may be more than 2**32 elements
        o_start = k.mul(head_row + row, D, wide=True)
        kv_start = k.mul((batch * Hkv + kv_head) * Sk, D, wide=True)
        keys, values = key + kv_start, value + kv_start

        scale_log2e = scale * LOG2E
        acc = [k.vars(f32, 4 * len(groups), 0.0) for _ in range(high)]  # not yet divided by the row sums
        row_max = k.vars(f32, high, -math.inf)
        row_sum = k.vars(f32, high, 0.0)  # of this thread's own keys
        here = Here.of(k, config, batch, head, row, Sq, Sk, range(high))
        listed = Tiles.of(k, config, head, batch, Hq)
        here.begin(row_max, row_sum, lane=tx)
        columns = [_column(k, tx, group, D) for group in groups]
        values_at = [v_tile + column for column in columns]
        queries_at, keys_at = q_tile + ty * (high * stride), k_tile + tx * stride
        weights_at = p_tile + ty * (high * p_stride)
        my_weights = weights_at + tx

        visible = [Sk] * high  # keys that each row sees
        needed = unmasked = Sk
        if causal:
            visible = [k.min(k.max(row + (Sk + 1 + i), Sq) - Sq, Sk) for i in range(high)]
            unmasked = k.max(first_row + Sk + 1, Sq) - Sq  # what the first row of the block sees
            needed = k.max(k.min(first_row + R, Sq) + Sk, Sq) - Sq  # what any row of the block sees
        if slots is not None:
            recorded = []
            for i in range(high):
                slot = slots[head_row + k.min(row + i, Sq - 1)]
                recorded.append((slot, (slot != NOWHERE) & (row + i < Sq) & (tx == 0)))
            tiles = (Sk + (T - 1)) // T

        _bring(k, q_tile, q + q_start, thread, (R, D), Sq - first_row)
        with listed.loop() if listed else k.loop(needed, step=T) as first:
            k.barrier()  # everyone has finished with the tile before
            tile_start, left = first * D, Sk - first
            _bring(k, k_tile, keys + tile_start, thread, (T, D), left)
            _bring(k, v_tile, values + tile_start, thread, (T, D), left)
            k.barrier()  # the tile is complete

            scores = [k.vars(f32, wide, 0.0) for _ in range(high)]
            with k.loop(D, step=16) as d:
                queries, key_rows = queries_at + d, keys_at + d
                for e in range(0, 16, 4):  # 16 bytes of each row at a time
                    a = [k.load(queries + (i * stride + e), 4, vector=4) for i in range(high)]
                    b = [k.load(key_rows + (j * SIDE * stride + e), 4, vector=4) for j in range(wide)]
                    for i in range(high):
                        for j in range(wide):
                            for x, y in zip(a[i], b[j], strict=True):
                                scores[i][j].set(k.fma(x, y, scores[i][j]))

            cells = [(scores[i][j], i, j * SIDE) for i in range(high) for j in range(wide)]
            if not config.mods or not here.at(first + tx).change(cells, scale):
                for i in range(high):
                    for j in range(wide):
                        scores[i][j] *= scale_log2e
            with k.if_(listed.part if listed else first + T > unmasked):  # only on the diagonal and in the last tile
                for i in () if here.hide(cells) else range(high):
                    limit = k.bitcast(s32, visible[i] - first - tx)
                    for j in range(wide):
                        scores[i][j].set(k.select(limit > j * SIDE, scores[i][j], -math.inf))

            for i in range(high):
                new_max = k.var(f32, row_max[i])
                for j in range(wide):
                    new_max.set(k.max(new_max, scores[i][j]))
                for bit in (1, 2, 4, 8):  # 16 threads agree on the maximum of their row
                    new_max.set(k.max(new_max, _other(k, new_max, bit)))
                top = k.select(new_max > -math.inf, new_max, 0.0)  # of a row that has seen no key yet: -inf - 0 is -inf
                rescale = k.exp2(row_max[i] - top)  # shrinks what was summed so far
                row_max[i].set(new_max)
                row_sum[i] *= rescale
                for j in range(wide):
                    weight = k.exp2(scores[i][j] - top)
                    row_sum[i] += weight
                    my_weights[i * p_stride + j * SIDE] = weight
                for n in range(len(acc[i])):
                    acc[i][n] *= rescale
                if slots is not None:
                    slot, wanted = recorded[i]
                    total = _total(k, row_sum[i])
                    with k.guard(wanted & (visible[i] > first)):
                        k.probe(slot, first // T, tiles, row_max[i], total, rescale)

            k.op("bar.warp.sync", ALL_LANES)  # the 16 threads of a row have all written their weights
            with k.loop(T, step=8) as first_key:
                weights = weights_at + first_key
                value_rows = [at + first_key * stride for at in values_at]
                for e in range(0, 8, 4):  # four keys at a time
                    p = [k.load(weights + (i * p_stride + e), 4, vector=4) for i in range(high)]
                    for n in range(4):
                        v = [x for at in value_rows for x in k.load(at + (e + n) * stride, 4, vector=4)]
                        for i in range(high):
                            for c, x in enumerate(v):
                                acc[i][c].set(k.fma(p[i][n], x, acc[i][c]))

        for i in range(high):
            total = _total(k, row_sum[i])
            # A row that saw no key has a sum of 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
            divisor = k.select(total > 0.0, total, 1.0)
            inside = row + i < Sq
            for n, (group, column) in enumerate(zip(groups, columns, strict=True)):
                part = [acc[i][4 * n + c] / divisor for c in range(4)]
                mine = inside if group + 4 * SIDE <= D else inside & (tx * 4 + group < D)
                o_row = o + o_start + column
                with k.guard(mine):
                    k.store(o_row + i * D, part, vector=4)
            with k.guard(inside & (tx == 0)):
                lse[head_row + row + i] = (row_max[i] + k.log2(divisor)) * LN2  # natural logarithm

    return tiled2d(extra=config.extra)


def _column(k: Builder, tx: u32, group: int, head_dim: int) -> Any:
    """The first of this thread's four columns of O in a group of 64; one past the end stands for column 0."""
    if group + 4 * SIDE <= head_dim:
        return tx * 4 + group
    return k.select(tx * 4 + group < head_dim, tx * 4 + group, 0)


def _bring(k: Builder, tile: Shared[f32], source: Ptr[f32], thread: u32, shape: tuple[int, int], left: Any) -> None:
    """Copies `shape` = (rows, D) floats into padded rows of shared memory; rows from `left` on become zeros."""
    vectors, a_row, threads = shape[0] * shape[1] // 4, shape[1] // 4, SIDE * SIDE
    starts = range(0, vectors, threads)
    for some in range(0, len(starts), IN_FLIGHT):
        loaded = []
        for start in starts[some : some + IN_FLIGHT]:
            i = thread + start
            row = i // a_row
            four = k.vars(f32, 4, 0.0)
            with k.guard(left > row):
                k.op("ld.global.v4.f32", source + i * 4, into=four)
            loaded.append((start, i, row, four))
        for start, i, row, four in loaded:
            to = tile + row * (shape[1] + PADDING) + (i - row * a_row) * 4
            with k.guard(i < vectors) if start + threads > vectors else nullcontext():
                k.store(to, four, vector=4)


def _other(k: Builder, value: Any, bit: int) -> Any:
    """The value of the thread whose number differs in this bit."""
    return k.shfl(value, bit, 31, ALL_LANES, mode="bfly")


def _total(k: Builder, value: Any) -> Any:
    total = k.var(f32, k.copy(value))
    for bit in (1, 2, 4, 8):
        total += _other(k, total, bit)
    return total


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory: tiles of Q, K, V and P, each row padded."""
    rows = config.tile_q + 2 * config.tile_kv
    floats = rows * (config.head_dim + PADDING) + config.tile_q * (config.tile_kv + PADDING)
    return 4 * floats


def prefer(config: Config) -> Config:
    """64 x 64 with 256 threads; half as many keys where a row of O takes so many registers that 64 would spill."""
    keys = config.tile_kv if config.head_dim <= 192 else 32
    return replace(config, tile_q=64, tile_kv=keys, warps=SIDE * SIDE // 32)


SPEC = Spec(
    name="tiled2d",
    rung=3,
    title="A 2-D tile, 4x4 per thread",
    question="Why is softmax per row, and how do 16 threads agree on it?",
    idea="2-D tile; row statistics shared by shuffles",
    brings=("shfl.sync.bfly", "ld.shared.v4", "bar.warp.sync", "padded rows"),
    look=(
        "how many fma there are for each ld.shared, the four shuffles of a row, and the padding of four floats: "
        "without it, the rows that eight threads read are in the same banks"
    ),
    opens="ld.shared.v4",
    make=make,
    tile=64,
    shared_bytes=shared_bytes,
    dtypes=("f32",),
    step=16,
    dynamic=True,
    tile_kv=Parameter("tile_kv", "keys per tile; by default as many as fit", None, (16, 32, 64), minimum=16),
    tunable=(Parameter("tile_q", "query rows per block", None, (16, 32, 64, 128), minimum=16),),
    prefer=prefer,
)
