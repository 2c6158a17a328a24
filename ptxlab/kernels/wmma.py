"""Rung 4: both products on tensor cores, by `wmma`, whose fragments are opaque: everything else goes through memory.

A tensor core multiplies 16x16 matrices of 16-bit elements and adds up in f32. `wmma.load` puts a matrix into the
registers of a warp, `wmma.mma` multiplies, `wmma.store` writes the result back; which lane holds which element is not
specified, and differs from chip to chip. So nothing but another wmma instruction may touch a fragment, and softmax,
which must know where a row begins, works in shared memory:

    Q, K   --wmma-->  S  --softmax-->  P  --wmma, with V-->  O        and before it O is read, shrunk by
           (f16)   (f32, shared)   (f16, shared)        (f32, shared)  exp(old maximum - new one), and written

A warp owns 16 query rows of S, P and O, so it waits for the block only where K and V are loaded. For the softmax, lanes
r and r + 16 have the two halves of row r.

Inputs are f16, or f32 that are rounded to f16 on their way into shared memory (what is beyond 65504 becomes infinite):
then the result is f32, as precise as f16 products are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ptxlab.builder import Builder, Kernel, Ptr, b32, f16, f32, kernel, s32, u32
from ptxlab.kernels.fragments import ALL_LANES, pair
from ptxlab.kernels.mma import TILE_KV, TILE_Q, WARPS, limits
from ptxlab.kernels.mods import Here, Tiles
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E
from ptxlab.kernels.spec import Config, Spec, entry_name

Real = TypeVar("Real", f16, f32)
"""The type of every element: f16, or f32 that is rounded to f16."""

PAD16, PAD32 = 8, 4
"""Elements after each row of 16-bit and of f32 elements in shared memory: 16 bytes turn a row four banks further."""
SHAPE = "m16n16k16"
LOAD_P = f"wmma.load.a.sync.aligned.row.{SHAPE}.shared.f16"


@dataclass(frozen=True)
class Room:
    """Where the tiles lie in dynamic shared memory: strides in elements, starts and the end in bytes."""

    config: Config

    @property
    def wide(self) -> int:
        """Elements from row to row of Q, K and V."""
        return self.config.head_dim + PAD16

    @property
    def starts(self) -> dict[str, int]:
        """Where each tile starts."""
        c = self.config
        sizes = {
            "q": 2 * c.tile_q * self.wide,
            "k": 2 * c.tile_kv * self.wide,
            "v": 2 * c.tile_kv * self.wide,
            "s": 4 * c.tile_q * (c.tile_kv + PAD32),
            "p": 2 * c.tile_q * (c.tile_kv + PAD16),
            "o": 4 * c.tile_q * (c.head_dim + PAD32),
        }
        at, starts = 0, {}
        for name, size in (sizes | {"end": 0}).items():
            starts[name] = at
            at += size
        return starts


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, rows, causal = config.head_dim, config.tile_kv, config.tile_q, config.causal
    room = Room(config)
    wide, s_wide, p_wide, o_wide = room.wide, T + PAD32, T + PAD16, D + PAD32

    @kernel(name=entry_name("wmma", config), arch=config.arch, probes=config.probes, types=config.types())
    def wmma(
        k: Builder,
        q: Ptr[Real],
        key: Ptr[Real],
        value: Ptr[Real],
        o: Ptr[Real],
        lse: Ptr[f32],
        B: u32,
        Hq: u32,
        Hkv: u32,
        Sq: u32,
        Sk: u32,
        scale: f32,
        slots: Slots,
    ) -> None:
        """One warp = 16 query rows, whose scores, weights and output lie in shared memory."""
        k.launch_bounds(config.threads)
        shared = k.dynamic_shared(f16, align=128)
        q_tile, k_tile, v_tile, s_tile, p_tile, o_tile = (shared + room.starts[name] // 2 for name in "qkvspo")

        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        first_row = k.ctaid.x * rows
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        warp_row = warp * 16
        tile_row = warp_row + (lane & 15)  # two lanes a row
        side = lane >> 4  # which half of the row
        row = first_row + tile_row
        kv_start = k.mul((batch * Hkv + kv_head) * Sk, D, wide=True)  # 64 bits
        keys, values = key + kv_start, value + kv_start
        q_start = k.mul(head_row + first_row, D, wide=True)

        scale_log2e = scale * LOG2E
        row_max, row_sum = k.var(f32, -math.inf), k.var(f32, 0.0)  # the sum: of this lane's half
        here, listed = Here.of(k, config, batch, head, row, Sq, Sk), Tiles.of(k, config, head, batch, Hq)
        here.begin([row_max], [row_sum], lane=side)
        queries = q_tile + warp_row * wide  # this warp's rows of each tile, and this lane's part of them
        scores_of, weights_of = s_tile.cast(f32) + warp_row * s_wide, p_tile + warp_row * p_wide
        output_of = o_tile.cast(f32) + warp_row * o_wide
        my_scores = s_tile.cast(f32) + tile_row * s_wide + side * (T // 2)
        my_weights = p_tile.cast(b32) + tile_row * (p_wide // 2) + side * (T // 4)
        my_output = o_tile.cast(f32) + tile_row * o_wide + side * (D // 2)

        visible = needed = unmasked = Sk  # keys that the row sees, that any row of the block sees, that all rows see
        if causal:
            visible = k.min(k.max(row + Sk + 1, Sq) - Sq, Sk)
            needed = k.max(k.min(first_row + rows, Sq) + Sk, Sq) - Sq
            unmasked = k.max(first_row + Sk + 1, Sq) - Sq
        if slots is not None:
            slot = slots[head_row + k.min(row, Sq - 1)]
            recorded = (slot != NOWHERE) & (row < Sq) & (side == 0)
            tiles = (Sk + (T - 1)) // T

        _bring(k, config, q_tile, q + q_start, thread, rows, Sq - first_row)
        zero = k.vars(f32, 4, 0.0)
        for n in range(0, D // 2, 4):
            k.store(my_output + n, zero, vector=4)

        with listed.loop() if listed else k.loop(needed, step=T) as first:
            k.barrier()  # everyone has finished with the tile before
            tile_start, left = first * D, Sk - first
            _bring(k, config, k_tile, keys + tile_start, thread, T, left)
            _bring(k, config, v_tile, values + tile_start, thread, T, left)
            k.barrier()  # the tile is complete

            sums = [k.vars(f32, 8, 0.0) for _ in range(T // 16)]
            for step in range(0, D, 16):  # S = Q K': a row of K is a column of K'
                a = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.shared.f16", queries + step, wide)
                for n, s in enumerate(sums):
                    b = k.op(f"wmma.load.b.sync.aligned.col.{SHAPE}.shared.f16", k_tile + (16 * n * wide + step), wide)
                    k.op(f"wmma.mma.sync.aligned.row.col.{SHAPE}.f32.f32", a, b, s, into=s)
            for n, s in enumerate(sums):
                k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.shared.f32", scores_of + 16 * n, s, s_wide)
            k.op("bar.warp.sync", ALL_LANES)  # the scores are where every lane can read them
            changes = here.mods.scores

            scores = k.vars(f32, T // 2, [x if changes else x * scale_log2e for x in _row(k, my_scores, T // 2)])
            cells = [(score, 0, n) for n, score in enumerate(scores)]
            if config.mods:
                here.at(first + side * (T // 2)).change(cells, scale)
            with k.if_(listed.part if listed else first + T > unmasked):  # only on the diagonal and in the last tile
                if not here.hide(cells):
                    limit = k.bitcast(s32, visible - first - side * (T // 2))
                    for n, score in enumerate(scores):
                        score.set(k.select(limit > n, score, -math.inf))
            new_max = k.var(f32, row_max)
            for score in scores:
                new_max.set(k.max(new_max, score))
            new_max.set(k.max(new_max, _other_half(k, new_max)))
            top = k.select(new_max > -math.inf, new_max, 0.0)  # of a row that has seen no key yet: -inf - 0 is -inf
            rescale = k.exp2(row_max - top)  # shrinks what was summed so far
            row_max.set(new_max)
            row_sum *= rescale
            for score in scores:
                score.set(k.exp2(score - top))
                row_sum += score
            for n in range(0, T // 2, 8):  # 16 bytes of P at a time
                weights = [pair(k, scores[m], scores[m + 1], "f16") for m in range(n, n + 8, 2)]
                k.op("st.shared.v4.b32", my_weights + n // 2, weights)
            _shrink(k, my_output, rescale, D)
            k.op("bar.warp.sync", ALL_LANES)  # P and O are complete

            p = [k.op(LOAD_P, weights_of + step, p_wide) for step in range(0, T, 16)]
            with k.loop(D, step=16) as column:  # O += P V
                out_part, v_part = output_of + column, v_tile + column
                c = k.op(f"wmma.load.c.sync.aligned.row.{SHAPE}.shared.f32", out_part, o_wide)
                for n in range(T // 16):
                    b = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.shared.f16", v_part + 16 * n * wide, wide)
                    c = k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", p[n], b, c)
                k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.shared.f32", out_part, c, o_wide)
            k.op("bar.warp.sync", ALL_LANES)  # O is where every lane can read it
            if slots is not None:
                total = row_sum + _other_half(k, row_sum)
                with k.guard(recorded & (visible > first)):
                    k.probe(slot, first // T, tiles, row_max, total, rescale)

        total = row_sum + _other_half(k, row_sum)
        # A row that saw no key has a sum of 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
        divisor = k.select(total > 0.0, total, 1.0)
        _shrink(k, my_output, k.rcp(divisor, approx=True), D)
        with k.guard((row < Sq) & (side == 0)):
            lse[head_row + row] = (row_max + k.log2(divisor)) * LN2  # natural logarithm
        k.barrier()
        _send(k, config, o + q_start, o_tile, thread, Sq - first_row)

    return wmma(extra=config.extra)


def _row(k: Builder, at: Ptr[Any], count: int) -> list[Any]:
    """`count` f32 of shared memory, four at a time."""
    return [x for n in range(0, count, 4) for x in k.load(at + n, 4, vector=4)]


def _shrink(k: Builder, output: Ptr[Any], factor: Any, head_dim: int) -> None:
    """Multiplies this lane's half of a row of O."""
    for column in range(0, head_dim // 2, 4):
        part = [x * factor for x in k.load(output + column, 4, vector=4)]
        k.store(output + column, part, vector=4)


def _other_half(k: Builder, value: Any) -> Any:
    """The value of the lane with the other half of the row."""
    return k.shfl(value, 16, 31, ALL_LANES, mode="bfly")


def _bring(k: Builder, config: Config, tile: Ptr[Any], source: Ptr[Any], thread: u32, rows: int, left: Any) -> None:
    """Copies `rows` rows into shared memory, four elements at a time, as f16; rows from `left` on become zeros."""
    quarters, dim = config.head_dim // 4, config.head_dim
    with k.loop(rows * quarters, start=thread, step=config.threads) as i:
        row = i // quarters
        if config.dtype == "f32":
            four = k.vars(f32, 4, 0.0)
            with k.guard(left > row):
                k.op("ld.global.v4.f32", source + i * 4, into=four)
            halves = [pair(k, four[0], four[1], "f16"), pair(k, four[2], four[3], "f16")]
        else:
            bits = k.vars(b32, 2, 0)
            with k.guard(left > row):
                k.op("ld.global.v2.b32", source + i * 4, into=bits)
            halves = list(bits)
        to = tile + row * (dim + PAD16) + (i - row * quarters) * 4
        k.op("st.shared.v2.b32", to, halves)


def _send(k: Builder, config: Config, to: Ptr[Any], o_tile: Ptr[Any], thread: u32, left: Any) -> None:
    """Copies the rows of O that exist to global memory, four elements at a time."""
    quarters, dim = config.head_dim // 4, config.head_dim
    with k.loop(config.tile_q * quarters, start=thread, step=config.threads) as i:
        row = i // quarters
        with k.if_(left > row):
            four = k.load(o_tile.cast(f32) + row * (dim + PAD32) + (i - row * quarters) * 4, 4, vector=4)
            if config.dtype == "f32":
                k.store(to + i * 4, four, vector=4)
            else:
                halves = [pair(k, four[0], four[1], "f16"), pair(k, four[2], four[3], "f16")]
                k.op("st.global.v2.b32", to + i * 4, halves)


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory."""
    return Room(config).starts["end"]


SPEC = Spec(
    name="wmma",
    rung=4,
    title="Both products on tensor cores",
    question="What does an opaque fragment cost?",
    idea="wmma; f32 inputs rounded to f16 on the way to shared memory",
    brings=("wmma.load", "wmma.mma", "wmma.store", "cvt.rn.f16x2"),
    look=(
        "the path of S, P and O through shared memory between the two products; and how many of all instructions are "
        "products"
    ),
    opens="wmma.store.d",
    make=make,
    tile=64,
    shared_bytes=shared_bytes,
    dtypes=("f16", "f32"),
    step=16,
    sm=70,
    dynamic=True,
    tile_kv=replace(TILE_KV, choices=(16, 32, 64)),
    tunable=(TILE_Q, WARPS),
    prefer=lambda config: replace(config, tile_q=64, warps=4),
    limits=limits,
    precision="f16",
)
