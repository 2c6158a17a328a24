"""Rung 5: tensor cores by `mma.sync`, whose fragments are documented, so the weights P stay in registers.

A warp owns 16 query rows for good and goes through the keys by itself: S = Q K' for one tile, the online softmax, O +=
P V, all in registers. Warps share only the tiles of K and V. What makes it work is a coincidence by design: the C
fragment in which the first product leaves S is the A fragment that the second wants of P (the picture is in
fragments.py). Rung 4 sent both through shared memory.

    Q  16 x D   A fragments, loaded once             K  tile x D  ldmatrix         S = Q K'  C fragments, 16 x tile
    P  16 x tile  A fragments: S, rounded            V  tile x D  ldmatrix.trans   O = P V   C fragments, 16 x D

K is read row by row: a row of K is a column of K', which is what B wants. V is wanted by columns of its rows, so its
8x8 matrices are transposed on the way (`.trans`).

What is still slow here: the eight rows that ldmatrix reads begin a multiple of 128 bytes apart, in the same banks (at
head_dim 64, 128, 192 and 256; at 16, 48, 80, ... two of the eight meet, at 32, 96, 160 and 224 four).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ptxlab.builder import Builder, Kernel, Ptr, b32, bf16, f16, f32, kernel, s32, u32
from ptxlab.kernels.fragments import matrix, multiply, rounded
from ptxlab.kernels.mods import Here, Tiles, fragments
from ptxlab.kernels.rung import Parameter, Slots
from ptxlab.kernels.softmax import RowState, mask, sign_of, update
from ptxlab.kernels.spec import Config, Spec, entry_name
from ptxlab.kernels.tiles import Layout, Share
from ptxlab.kernels.two_rows import BELOW, TwoRows

Half = TypeVar("Half", f16, bf16)
"""The type of every element: f16 or bf16."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    return attention("mma", config, Layout(config.head_dim, swizzled=False))


def attention(rung: str, config: Config, layout: Layout) -> Kernel:
    """The kernel, with its tiles in shared memory as `layout` says."""
    D, T, rows, causal = config.head_dim, config.tile_kv, config.tile_q, config.causal
    resident = query_in_registers(config)

    @kernel(name=entry_name(rung, config), arch=config.arch, probes=config.probes, types=config.types())
    def mma(
        k: Builder,
        q: Ptr[Half],
        key: Ptr[Half],
        value: Ptr[Half],
        o: Ptr[Half],
        lse: Ptr[f32],
        B: u32,
        Hq: u32,
        Hkv: u32,
        Sq: u32,
        Sk: u32,
        scale: f32,
        slots: Slots,
    ) -> None:
        """One warp = 16 query rows; S, P and O stay in its registers."""
        k.launch_bounds(config.threads)
        q_tile = k.dynamic_shared(b32, align=128)
        k_tile = q_tile + (0 if resident else layout.bytes(rows) // 4)
        v_tile = k_tile + layout.bytes(T) // 4

        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        group, in_group = lane >> 2, lane & 3  # of a C fragment: its row, and its pair of columns
        first_row = k.ctaid.x * rows
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head

        warp_row = warp * 16
        row = first_row + warp_row + group  # this lane's rows: this one and the one 8 below
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        both = TwoRows(row, head_row, in_group, Sq)
        q_start = k.mul(head_row + first_row, D // 2, wide=True)  # in pairs of elements; 64 bits
        kv_start = k.mul((batch * Hkv + kv_head) * Sk, D // 2, wide=True)
        keys = key.cast(b32) + kv_start + thread * 4  # thread n copies the n-th 16 bytes, and more further on
        values = value.cast(b32) + kv_start + thread * 4
        q_share = Share.of(k, layout, q_tile, rows, thread, config.threads)
        k_share = Share.of(k, layout, k_tile, T, thread, config.threads)

        here, listed = Here.of(k, config, batch, head, row, Sq, Sk, BELOW), Tiles.of(k, config, head, batch, Hq)
        factor = here.factor(scale)
        acc = [k.vars(f32, 4, 0.0) for _ in range(D // 8)]  # 16 output rows, not yet divided by their sums
        state = RowState.empty(k)
        here.begin(state.row_max, state.row_sum, factor, in_group)

        # keys that each of the two rows sees, and keys that any row of the block sees
        visible = both.visible(k, Sk, causal)
        needed = unmasked = Sk
        if causal:
            unmasked = k.max(first_row + warp_row + Sk + 1, Sq) - Sq  # what the first row of the warp sees
            needed = k.max(k.min(first_row + rows, Sq) + Sk, Sq) - Sq
        if slots is not None:
            recorded = both.recorded(k, slots)
            tiles = (Sk + (T - 1)) // T

        # where this lane points ldmatrix: at row `lane % 8` of one of 2 x 2 matrices of 8 x 8
        row8, below8, beside8 = lane & 7, (lane >> 3) & 1, lane >> 4
        query_at = layout.spot(k, q_tile, warp_row + below8 * 8 + row8, beside8)
        key_at = layout.spot(k, k_tile, beside8 * 8 + row8, below8)
        value_at = layout.spot(k, v_tile, below8 * 8 + row8, beside8)

        q_share.load(q.cast(b32) + q_start + thread * 4, Sq - first_row, flip=sign_of(k, scale))
        k.barrier()
        if resident:
            query = [matrix(k, query_at.moved(chunks=2 * step)) for step in range(D // 16)]

        with listed.loop() if listed else k.loop(needed, step=T) as first:
            k.barrier()  # everyone has finished with the tile before
            tile_start = first * (D // 2)
            k_share.load(keys + tile_start, Sk - first)
            k_share.load(values + tile_start, Sk - first, offset=layout.bytes(T))
            k.barrier()  # the tile is complete

            scores = [k.vars(f32, 4, 0.0) for _ in range(T // 8)]
            for step in range(D // 16):  # S = Q K', 16 elements of a row and 16 keys at a time
                a = query[step] if resident else matrix(k, query_at.moved(chunks=2 * step))
                for n in range(T // 16):
                    b = matrix(k, key_at.moved(rows=16 * n, chunks=2 * step))
                    multiply(k, scores[2 * n], a, b[:2], config.dtype)
                    multiply(k, scores[2 * n + 1], a, b[2:], config.dtype)
            if config.mods:
                here.at(first + in_group * 2).change(fragments(scores))

            with k.if_(listed.part if listed else first + T > unmasked):  # only on the diagonal and in the last tile
                if not here.hide(fragments(scores)):
                    limits = [k.bitcast(s32, seen - first - in_group * 2) for seen in visible]
                    mask(k, scores, limits)
            shrinks = update(k, scores, acc, state, factor)

            for step in range(T // 16):  # O += P V, 16 keys and 16 columns at a time
                p = rounded(k, scores[2 * step], scores[2 * step + 1], config.dtype)
                for n in range(D // 16):
                    b = matrix(k, value_at.moved(rows=16 * step, chunks=2 * n), trans=True)
                    multiply(k, acc[2 * n], p, b[:2], config.dtype)
                    multiply(k, acc[2 * n + 1], p, b[2:], config.dtype)

            if slots is not None:
                both.record(k, recorded, state, shrinks, factor, visible, first, T, tiles)

        # O goes through shared memory, so that it is written to global memory in whole rows.
        k.barrier()
        out_at = layout.spot(k, q_tile + in_group, warp_row + group, k.mov(0, u32))
        both.end(k, acc, state, factor, config.dtype, lambda below, m: out_at.moved(rows=below, chunks=m), lse)
        k.barrier()
        q_share.store(o.cast(b32) + q_start + thread * 4, Sq - first_row)

    return mma(extra=config.extra)


def query_in_registers(config: Config) -> bool:
    """Whether Q's fragments stay in registers; a wide head leaves no room for them beside O, and they are reloaded."""
    return config.head_dim <= 128


def shared_bytes(config: Config, *, swizzled: bool = False) -> int:
    """Bytes of dynamic shared memory: a tile of K and V, and of Q beside them or, before and after, in their place."""
    layout = Layout(config.head_dim, swizzled)
    q_bytes, kv_bytes = layout.bytes(config.tile_q), 2 * layout.bytes(config.tile_kv)
    return max(q_bytes, kv_bytes) if query_in_registers(config) else q_bytes + kv_bytes


def limits(config: Config) -> str:
    """What these kernels cannot do, or ""."""
    if config.tile_q != 16 * config.warps:
        return f"tile_q={config.tile_q} does not give each of {config.warps} warps 16 rows; leave one of the two out"
    if config.dtype == "bf16" and config.arch == "sm_75":
        return "bf16 on tensor cores needs sm_80; sm_75 has f16"
    return ""


TILE_KV = Parameter("tile_kv", "keys per tile; by default as many as fit", None, (16, 32, 64, 128), minimum=16)
TILE_Q = Parameter("tile_q", "query rows per block, 16 for each warp", None, (16, 32, 64, 128), minimum=16)
WARPS = Parameter("warps", "warps per block", None, (1, 2, 4, 8))


def prefer(config: Config) -> Config:
    """Four warps; half as many keys at once where O takes more than half of the registers."""
    keys = config.tile_kv if config.head_dim <= 128 else 32 if config.arch != "sm_75" else 16
    return replace(config, tile_q=64, warps=4, tile_kv=keys)


SPEC = Spec(
    name="mma",
    rung=5,
    title="P stays in registers",
    question="Why is the C fragment of Q K' the A fragment of P V?",
    idea="mma.sync with documented fragments",
    brings=("mma.sync", "ldmatrix", "ldmatrix.trans", "cvt.rn.f16x2"),
    look=(
        "the registers between the mma of Q K' and that of P V: one cvt for two weights, no store, no load; and the "
        "bank conflicts of every ldmatrix"
    ),
    opens="ldmatrix",
    make=make,
    tile=64,
    shared_bytes=shared_bytes,
    dtypes=("f16", "bf16"),
    step=16,
    sm=75,
    dynamic=True,
    tile_kv=TILE_KV,
    tunable=(TILE_Q, WARPS),
    prefer=prefer,
    limits=limits,
)
