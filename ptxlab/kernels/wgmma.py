"""Rung 8: `wgmma`, the tensor core that reads shared memory itself; four warps multiply together.

Rung 7 spends much of its time on bringing matrices into registers: an ldmatrix for every two products. Here a product
is one instruction for 64 rows, all keys of a tile and 16 elements along k; it takes Q and K, and then V, straight from
shared memory, as descriptors say (warpgroup.py). Only P, which was computed in registers, is given in registers: as in
rung 5 the C fragment of S is, rounded, the A fragment that the second product wants.

    S = Q K'   Q 64 x D and K tile x D in shared memory      O += P V   P in registers, V tile x D in shared memory

What is new beside that is waiting. The product runs while the threads go on, so

    fence.proxy.async      before the barrier: what was stored is to be seen by the tensor cores' own way to memory
    wgmma.fence            before the first product: registers that it adds to, or takes P from, have been written
    wgmma.commit_group     these products are a group
    wgmma.wait_group 0     S, or O, is there; and K, or V, may be overwritten

What is still slow: nothing overlaps. The tensor cores wait for the exponentials, and these for the tensor cores.
"""

from __future__ import annotations

from dataclasses import replace

from ptxlab.builder import Builder, Kernel, Ptr, b32, f32, kernel, s32, u32
from ptxlab.kernels.fragments import rounded
from ptxlab.kernels.mma import TILE_KV, Half
from ptxlab.kernels.mods import Here, Tiles, fragments
from ptxlab.kernels.rung import Slots
from ptxlab.kernels.softmax import RowState, mask, sign_of, update
from ptxlab.kernels.spec import Config, Spec, entry_name
from ptxlab.kernels.two_rows import BELOW, TwoRows
from ptxlab.kernels.warpgroup import Panels, finish, product

ROWS, WARPS = 64, 4
"""Query rows of a block: one warpgroup."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, causal = config.head_dim, config.tile_kv, config.causal

    @kernel(name=entry_name("wgmma", config), arch=config.arch, probes=config.probes, types=config.types())
    def wgmma(
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
        """One warpgroup = 64 query rows; each warp has 16 of them in its registers."""
        k.launch_bounds(config.threads)
        query = Panels(k.dynamic_shared(b32, align=1024), ROWS, D)
        keys = Panels(query.tile + query.bytes // 4, T, D)
        values = Panels(keys.tile + keys.bytes // 4, T, D)

        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        group, in_group = lane >> 2, lane & 3  # of a C fragment: its row, and its pair of columns
        first_row = k.ctaid.x * ROWS
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head

        row_here = warp * 16 + group
        row = first_row + row_here  # this lane's rows: this one and the one 8 below
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        both = TwoRows(row, head_row, in_group, Sq)
        q_start = k.mul(head_row + first_row, D // 2, wide=True)  # in pairs of elements; 64 bits
        kv_start = k.mul((batch * Hkv + kv_head) * Sk, D // 2, wide=True)
        key_rows, value_rows = key.cast(b32) + kv_start, value.cast(b32) + kv_start

        here, listed = Here.of(k, config, batch, head, row, Sq, Sk, BELOW), Tiles.of(k, config, head, batch, Hq)
        factor = here.factor(scale)
        acc = [k.vars(f32, 4, 0.0) for _ in range(D // 8)]  # 16 output rows, not yet divided by their sums
        scores = [k.vars(f32, 4, 0.0) for _ in range(T // 8)]
        state = RowState.empty(k)
        here.begin(state.row_max, state.row_sum, factor, in_group)
        adds, replaces = Sq > 0, Sq == 0  # what a product does with what is there

        # keys that each of the two rows sees, and keys that any row of the block sees
        visible = both.visible(k, Sk, causal)
        needed = unmasked = Sk
        if causal:
            unmasked = k.max(first_row + warp * 16 + Sk + 1, Sq) - Sq  # what the first row of the warp sees
            needed = k.max(k.min(first_row + ROWS, Sq) + Sk, Sq) - Sq
        if slots is not None:
            recorded = both.recorded(k, slots)
            tiles = (Sk + (T - 1)) // T

        of_query, of_keys, of_values = (panels.descriptor(k) for panels in (query, keys, values))
        query.load(k, q.cast(b32) + q_start, thread, Sq - first_row, flip=sign_of(k, scale))

        with listed.loop() if listed else k.loop(needed, step=T) as first:
            k.barrier()  # everyone has finished with the tile before
            tile_start = first * (D // 2)
            keys.load(k, key_rows + tile_start, thread, Sk - first)
            values.load(k, value_rows + tile_start, thread, Sk - first)
            k.op("fence.proxy.async.shared::cta")  # what this thread has stored is seen by the tensor cores
            k.barrier()  # the tile is complete

            k.op("wgmma.fence.sync.aligned")
            for step in range(D // 16):  # S = Q K', 16 elements of a row at a time
                a, b = of_query + query.along_row(step), of_keys + keys.along_row(step)
                product(k, scores, a, b, config.dtype, adds=adds if step else replaces)
            finish(k)
            if config.mods:
                here.at(first + in_group * 2).change(fragments(scores))

            with k.if_(listed.part if listed else first + T > unmasked):  # only on the diagonal and in the last tile
                if not here.hide(fragments(scores)):
                    limits = [k.bitcast(s32, seen - first - in_group * 2) for seen in visible]
                    mask(k, scores, limits)
            shrinks = update(k, scores, acc, state, factor)
            weights = [rounded(k, scores[2 * step], scores[2 * step + 1], config.dtype) for step in range(T // 16)]

            k.op("wgmma.fence.sync.aligned")
            for step, p in enumerate(weights):  # O += P V, 16 keys at a time
                product(k, acc, p, of_values + values.down(step), config.dtype, adds=adds, transposed=True)
            finish(k)

            if slots is not None:
                both.record(k, recorded, state, shrinks, factor, visible, first, T, tiles)

        # O goes through shared memory, where Q was, so that it is written to global memory in whole rows.
        k.barrier()
        out_at = query.layout.spot(k, query.tile + in_group, row_here, k.mov(0, u32))
        both.end(k, acc, state, factor, config.dtype, lambda below, m: query.chunk(out_at, below, m), lse)
        k.barrier()
        query.store(k, o.cast(b32) + q_start, thread, Sq - first_row)

    return wgmma(extra=config.extra)


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory: a tile of Q, one of K and one of V."""
    return 2 * config.head_dim * (ROWS + 2 * config.tile_kv)


def prefer(config: Config) -> Config:
    """One warpgroup; half as many keys at once where O takes half of the registers."""
    return replace(config, tile_q=ROWS, warps=WARPS, tile_kv=config.tile_kv if config.head_dim <= 128 else 64)


SPEC = Spec(
    name="wgmma",
    rung=8,
    title="The tensor core reads shared memory",
    question="What changes when the tensor core reads shared memory itself?",
    idea="wgmma: four warps together, operands by descriptor, results after a wait",
    brings=("wgmma.mma_async", "wgmma.fence", "wgmma.wait_group", "fence.proxy.async"),
    look=(
        "the loop: no ldmatrix is left, and a step of 16 elements along k adds a number to a descriptor; what the "
        "loop waits for, and what is idle meanwhile"
    ),
    opens="wgmma.mma_async",
    make=make,
    tile=128,
    shared_bytes=shared_bytes,
    dtypes=("f16", "bf16"),
    step=64,
    sm=90,
    arch="sm_90a",
    alone="wgmma is an instruction",
    dynamic=True,
    tile_kv=TILE_KV,
    prefer=prefer,
)
