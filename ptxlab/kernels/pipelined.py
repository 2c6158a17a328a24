"""Rung 7: while one tile of K and V is multiplied, `cp.async` brings the next one into a second buffer.

In rung 6 a block loads, waits, multiplies, and loads again: the tensor cores are idle while memory is busy, and the
other way round. `cp.async` starts a copy from global to shared memory and goes on; the copies of a tile are closed into
a group (`commit_group`), and `wait_group` waits until at most n younger groups are still in flight.

    stage 0   | copy 0 | multiply 0      | copy 2          | multiply 2      |        two stages: tile j lies in
    stage 1            | copy 1          | multiply 1      | copy 3          | ...    stage j % 2
                       ^                 ^                 ^
    wait_group: this thread's copies of the tile are here; barrier: so are everyone's, and everyone has finished with
    the tile before; so its stage is free, and the copies of the next tile may start

One barrier a tile does for both promises of rung 2.

The loop over the tiles is there twice. The first takes the tiles of which all rows of the block see all keys, and which
are followed by whole tiles: it compares and masks nothing, and is one run of instructions without a branch, through
which the assembler can spread the products, the exponentials and the copies. The second takes the few that are left:
the diagonal and the end of the keys.

Two more ideas of FlashAttention-2. A warp takes 32 query rows, as two blocks of 16, and multiplies every piece of K and
V that it loads with both: half as many loads a product. And with a causal mask, blocks near the end have most keys to
go through, so they are started first; tiles that no row of a block sees are never touched.

And one of FlashAttention-4, without its approximation. O is rescaled because a maximum grew; after the first tiles few
do. The factors are then exactly 1: the lanes of the warp find that out by a vote, and step over the multiplications.
With random keys a warp of 32 rows skips a third of 64 tiles, and two thirds of 256. The branch has a second effect: the
assembler schedules what lies before and after it apart, which takes fewer registers at a time; with those that are
left it loads pieces of K and V before they are wanted.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from ptxlab import targets
from ptxlab.builder import Builder, Kernel, Ptr, b32, f32, kernel, s32, u32
from ptxlab.kernels.fragments import across, matrix, multiply, pair, rounded
from ptxlab.kernels.mma import TILE_KV, TILE_Q, WARPS, Half
from ptxlab.kernels.mods import Here, Tiles, fragments
from ptxlab.kernels.rung import NOWHERE, Parameter, Slots
from ptxlab.kernels.softmax import LN2, RowState, advance, mask, shrink, sign_of, weigh
from ptxlab.kernels.spec import Config, Spec, entry_name
from ptxlab.kernels.tiles import Layout, Share


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, rows, stages, causal = config.head_dim, config.tile_kv, config.tile_q, config.stages, config.causal
    layout = Layout(D, swizzled=True)
    resident = query_in_registers(config)
    tile_bytes, stage_bytes = layout.bytes(T), 2 * layout.bytes(T)
    warp_rows = rows // config.warps
    blocks = range(warp_rows // 16)  # of 16 rows, a warp

    @kernel(name=entry_name("pipelined", config), arch=config.arch, probes=config.probes, types=config.types())
    def pipelined(
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
        """One warp = 16 or 32 query rows; the next tile of K and V is in flight while this one is multiplied."""
        k.launch_bounds(config.threads)
        k_tile = k.dynamic_shared(b32, align=128)  # the first stage: K, then V; the other stages after it
        v_tile = k_tile + tile_bytes // 4
        q_tile = k_tile + (stages - 1 if resident else stages) * stage_bytes // 4

        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        group, in_group = lane >> 2, lane & 3  # of a C fragment: its row, and its pair of columns
        tile = k.nctaid.x - 1 - k.ctaid.x if causal else k.ctaid.x  # the longest first
        first_row = tile * rows
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head

        warp_row = warp * warp_rows
        row = first_row + warp_row + group  # this lane's rows: this one and the ones 8, 16 and 24 below
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        q_start = k.mul(head_row + first_row, D // 2, wide=True)  # in pairs of elements; 64 bits
        kv_start = k.mul((batch * Hkv + kv_head) * Sk, D // 2, wide=True)
        keys = key.cast(b32) + kv_start + thread * 4  # thread n copies the n-th 16 bytes, and more further on
        values = value.cast(b32) + kv_start + thread * 4

        # how many of the keys from this lane's first column on its first row sees (as a signed number: it may be none)
        seen = row + (Sk + 1) - Sq - in_group * 2 if causal else Sk - in_group * 2

        def limits_of(first: u32, m: int) -> list[s32]:
            """The same of the keys from `first` on, for the two rows of a block."""
            return [k.bitcast(s32, seen + (16 * m + down if causal else 0) - first) for down in (0, 8)]

        # Keys that any row of the block sees. Every block has a row; but where the assembler knows that all blocks go
        # round as often, it counts in uniform registers, and then finds too few of the others for O.
        needed = k.select(first_row < Sq, Sk, 0)
        if causal:
            needed = k.max(k.min(first_row + rows, Sq) + Sk, Sq) - Sq
        # The tiles of the main loop: all rows see all of their keys, and the tiles fetched meanwhile are whole.
        whole = k.max(needed, (stages - 1) * T) - (stages - 1) * T
        if causal:
            whole = k.min(whole, k.max(first_row + Sk + 1, Sq) - Sq)
        whole = whole & -T
        unmasked = k.max(first_row + warp_row + Sk + 1, Sq) - Sq if causal else Sk  # what the warp's first row sees
        if slots is not None:
            recorded = []
            for down in range(0, warp_rows, 8):
                slot = slots[head_row + k.min(row + down, Sq - 1)]
                recorded.append((slot, (slot != NOWHERE) & (row + down < Sq) & (in_group == 0)))
            tiles = (Sk + (T - 1)) // T

        here = Here.of(k, config, batch, head, row, Sq, Sk, range(0, warp_rows, 8))
        listed = Tiles.of(k, config, head, batch, Hq)

        # The first tiles are in flight before anything else is done.
        share = Share.of(k, layout, k_tile, T, thread, config.threads)
        for stage in range(stages - 1):
            left = k.max(needed, stage * T) - stage * T
            to = share.shifted(k.mov(stage * stage_bytes, u32))
            ahead: Any = stage * T * D // 2
            if listed:
                first_key, left = listed.ahead(listed.start + stage, Sk)
                ahead = first_key * (D // 2)
            to.fetch([(keys + ahead, 0), (values + ahead, tile_bytes)], left)
            k.op("cp.async.commit_group")

        factor = here.factor(scale)
        acc = [[k.vars(f32, 4, 0.0) for _ in range(D // 8)] for _ in blocks]  # not yet divided by the row sums
        states = [RowState.empty(k) for _ in blocks]
        for state in states:
            here.begin(state.row_max, state.row_sum, factor, in_group)

        # where this lane points ldmatrix: at row `lane % 8` of one of 2 x 2 matrices of 8 x 8
        row8, below8, beside8 = lane & 7, (lane >> 3) & 1, lane >> 4
        query_at = layout.spot(k, q_tile, warp_row + below8 * 8 + row8, beside8)
        key_at = layout.spot(k, k_tile, beside8 * 8 + row8, below8)
        value_at = layout.spot(k, v_tile, below8 * 8 + row8, beside8)

        q_share = Share.of(k, layout, q_tile, rows, thread, config.threads)
        q_share.load(q.cast(b32) + q_start + thread * 4, Sq - first_row, flip=sign_of(k, scale))
        k.barrier()
        if resident:
            query = [[matrix(k, query_at.moved(16 * m, 2 * step)) for step in range(D // 16)] for m in blocks]

        reading, writing = k.var(u32, 0), k.var(u32, (stages - 1) * stage_bytes)  # the stages' offsets

        def arrive(first: u32, masked: bool) -> None:
            """Waits for the tile of keys from `first` on, and starts the copies of the one `stages - 1` further on."""
            k.op("cp.async.wait_group", stages - 2)  # this thread's copies of the tile have arrived
            k.barrier()  # and everyone's; and everyone has finished with the tile before
            if listed:
                first_key, left = listed.ahead(listed.at + (stages - 1), Sk)
            start = first_key * (D // 2) if listed else (first + (stages - 1) * T) * (D // 2)
            both = [(keys + start, 0), (values + start, tile_bytes)]
            if listed:
                share.shifted(writing).fetch(both, left)
            elif masked:
                ahead = first + (stages - 1) * T
                share.shifted(writing).fetch(both, k.max(needed, ahead) - ahead)
            else:
                share.shifted(writing).fetch(both)
            k.op("cp.async.commit_group")  # empty at the end, so that there is one group a tile
            writing.set(k.copy(reading))  # read now, free after the next barrier

        def multiplied(first: u32, masked: bool) -> None:
            """One step of the online softmax: the scores of the tile, their weights, and what these add to O."""
            query_here, key_here, value_here = query_at.here(), key_at.shifted(reading), value_at.shifted(reading)
            scores = [[k.vars(f32, 4, 0.0) for _ in range(T // 8)] for _ in blocks]
            for step in range(D // 16):  # S = Q K', 16 elements of a row and 16 keys at a time
                a = [query[m][step] if resident else matrix(k, query_here.moved(16 * m, 2 * step)) for m in blocks]
                for n in range(T // 16):
                    b = matrix(k, key_here.moved(rows=16 * n, chunks=2 * step))
                    for m in blocks:
                        multiply(k, scores[m][2 * n], a[m], b[:2], config.dtype)
                        multiply(k, scores[m][2 * n + 1], a[m], b[2:], config.dtype)
            cells = [cell for m in blocks for cell in fragments(scores[m], 2 * m)]
            if config.mods:
                here.at(first + in_group * 2).change(cells)
            if listed:
                with k.if_(listed.part):
                    here.hide(cells)
            elif masked:
                # A branch saves comparisons where the warp sees all keys; with 32 rows a warp, registers are too few.
                with nullcontext() if len(blocks) > 1 else k.if_(first + T > unmasked):
                    for m in blocks:
                        mask(k, scores[m], limits_of(first, m))
            shrinks, lows = zip(*[advance(k, scores[m], states[m], factor) for m in blocks], strict=True)
            # A factor of 1 changes nothing, and after the first tiles few maxima grow: most warps step over it.
            with k.if_(any_below_one(k, shrinks)) if skips_rescaling(config) else nullcontext():
                for m in blocks:
                    shrink(k, acc[m], shrinks[m])
            for step in range(T // 16):  # O += P V, 16 keys and 16 columns at a time
                weights = []
                for m in blocks:  # exponentials just before their products, so that few weights wait in registers
                    left, right = part = scores[m][2 * step : 2 * step + 2]
                    weigh(k, part, states[m], lows[m], factor)
                    weights.append(rounded(k, left, right, config.dtype))
                for n in range(D // 16):
                    b = matrix(k, value_here.moved(rows=16 * step, chunks=2 * n), trans=True)
                    for m in blocks:
                        multiply(k, acc[m][2 * n], weights[m], b[:2], config.dtype)
                        multiply(k, acc[m][2 * n + 1], weights[m], b[2:], config.dtype)
            if slots is not None:
                for n, (slot, wanted) in enumerate(recorded):
                    m, down = divmod(n, 2)
                    some = limits_of(first, m)[down] > 0
                    total = k.var(f32, k.copy(states[m].row_sum[down]))
                    across(k, total, "add")
                    with k.guard(wanted & some):
                        k.probe(slot, first // T, tiles, states[m].row_max[down] * factor, total, shrinks[m][down])

        def next_stage() -> None:
            """The stage that is read next."""
            reading.set(reading + stage_bytes)
            reading.set(k.select(reading < stages * stage_bytes, reading, 0))

        with nullcontext() if listed else k.loop(whole, step=T) as first:  # nothing to compare, nothing to mask
            if first is not None:
                arrive(first, masked=False)
                multiplied(first, masked=False)
                next_stage()
        with (
            listed.loop() if listed else k.loop(needed, start=whole, step=T)  # the diagonal, and the end of the keys
        ) as first:
            arrive(first, masked=True)
            multiplied(first, masked=True)
            next_stage()

        # O goes through shared memory, so that it is written to global memory in whole rows.
        k.op("cp.async.wait_group", 0)
        k.barrier()
        out_at = layout.spot(k, k_tile + in_group, warp_row + group, k.mov(0, u32))
        for m in blocks:
            for n in range(2):
                down, row_sum = 16 * m + 8 * n, states[m].row_sum[n]
                across(k, row_sum, "add")
                # A row that saw no key has row_sum = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
                divisor = k.select(row_sum > 0.0, row_sum, 1.0)
                share_of_row = k.rcp(divisor, approx=True)
                for column, c in enumerate(acc[m]):
                    bits = pair(k, c[2 * n] * share_of_row, c[2 * n + 1] * share_of_row, config.dtype)
                    k.op("st.shared.b32", out_at.moved(rows=down, chunks=column), bits)
                with k.guard((row + down < Sq) & (in_group == 0)):
                    lse[head_row + row + down] = k.fma(states[m].row_max[n], factor, k.log2(divisor)) * LN2
        k.barrier()
        out_share = Share.of(k, layout, k_tile, rows, thread, config.threads)
        out_share.store(o.cast(b32) + q_start + thread * 4, Sq - first_row)

    return pipelined(extra=config.extra)


def any_below_one(k: Builder, shrinks: Sequence[list[Any]]) -> Any:
    """Whether any row of the warp shrinks: all lanes answer alike, so the branch on it does not diverge."""
    below = functools.reduce(operator.or_, [factor < 1.0 for both in shrinks for factor in both])
    return k.vote(below, -1, mode="any")


def skips_rescaling(config: Config) -> bool:
    """Whether a warp steps over O's rescaling where all factors are 1.

    Not with 128 keys per tile: S takes so many registers that the assembler would spill on both sides of the branch.
    """
    return config.tile_kv <= 64


def query_in_registers(config: Config) -> bool:
    """Whether Q's fragments stay in registers; where they would crowd out O and S they are loaded again every tile.

    For 16 rows a lane holds D / 2 registers of O, tile_kv / 2 of S, D / 4 of Q and 16 more, and some 20 for addresses.
    It has 255 in all, and the assembler needs room to move.
    """
    blocks = config.tile_q // (16 * config.warps)
    return 20 + blocks * (3 * config.head_dim // 4 + config.tile_kv // 2 + 16) <= 232


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory: the stages, and Q after them or, before it is in registers, in the last one."""
    layout = Layout(config.head_dim, swizzled=True)
    q_bytes, stage_bytes = layout.bytes(config.tile_q), 2 * layout.bytes(config.tile_kv)
    before = config.stages - 1 if query_in_registers(config) else config.stages
    return max(before * stage_bytes + q_bytes, config.stages * stage_bytes)


def limits(config: Config) -> str:
    """What this kernel cannot do, or ""."""
    if config.tile_q not in (16 * config.warps, 32 * config.warps):
        sizes = f"tile_q={config.tile_q} does not give each of {config.warps} warps 16 or 32 rows"
        return f"{sizes}; leave one of the two out"
    held = config.tile_q // (16 * config.warps) * (config.head_dim + config.tile_kv) // 2
    most = targets.get(config.arch).registers_per_thread
    if held + 32 > most:  # beside them a lane has some 30 of addresses, maxima and sums
        return (
            f"tile_q={config.tile_q}, tile_kv={config.tile_kv}, warps={config.warps} with head_dim={config.head_dim} "
            f"need {held} of {most} registers per thread for O and S alone; take fewer keys, or 16 rows for each warp"
        )
    return ""


TILES = {
    48: ((128, 64, 4),),
    64: ((128, 64, 4),),
    128: ((128, 64, 4), (128, 32, 4), (64, 32, 4)),
    192: ((64, 64, 4), (64, 32, 4), (128, 32, 8), (128, 16, 8)),
    256: ((128, 64, 8), (64, 32, 4), (128, 32, 8), (128, 16, 8)),
}
"""(tile_q, tile_kv, warps) up to each head_dim, the largest first: large tiles have more to do for every byte. What is
first for 64, 128 and 256 is the quickest on an H100 (`python -m benchmarks.gpu.tune`)."""


def prefer(config: Config) -> Config:
    """The largest tiles of which a multiprocessor holds eight warps: two for each of its parts, so that one multiplies
    while the other exponentiates. More do not fit into its registers.
    """
    target = targets.get(config.arch)
    for rows, keys, warps in next(tiles for most, tiles in TILES.items() if config.head_dim <= most):
        chosen = replace(config, tile_q=rows, tile_kv=keys, warps=warps, stages=2)
        blocks = target.shared_per_sm // (shared_bytes(chosen) + target.reserved_shared)
        if blocks * warps >= 8:
            break
    return chosen


SPEC = Spec(
    name="pipelined",
    rung=7,
    title="The next tile is on its way",
    question="What is in flight, and when is a buffer free again?",
    idea="cp.async with two stages; causal tile skip",
    brings=("cp.async.cg", "cp.async.commit_group", "cp.async.wait_group", "zero fill"),
    look=(
        "what is in flight at the barrier, and which stage is free after it; the first of the two loops, which "
        "masks nothing; and the registers: none is left"
    ),
    opens="cp.async.wait_group",
    make=make,
    tile=64,
    shared_bytes=shared_bytes,
    dtypes=("f16", "bf16"),
    step=16,
    sm=80,
    dynamic=True,
    longest_first=True,
    tile_kv=TILE_KV,
    tunable=(
        replace(TILE_Q, says="query rows per block, 16 or 32 for each warp"),
        WARPS,
        Parameter("stages", "tiles of K and V in shared memory at once", None, (2, 3)),
    ),
    prefer=prefer,
    limits=limits,
)
