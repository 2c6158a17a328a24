"""Rung 7: while one tile of K and V is multiplied, `cp.async` brings the next one into a second buffer.

In rung 6 a block loads, waits, multiplies, and loads again: the tensor cores are idle while memory is busy, and the
other way round. `cp.async` starts a copy from global to shared memory and goes on; the copies of a tile are closed into
a group (`commit_group`), and `wait_group` waits until at most n younger groups are still on their way.

    copies    | tile 0 | tile 1 | tile 2 |   ...        two stages: tile j lies in buffer j % 2
    products           | tile 0 | tile 1 | tile 2 ...
                       ^        ^
    wait for tile j, then a barrier, then start the copies of tile j + 1

One barrier a tile does for both promises of rung 2: behind it, everyone's share of tile j has arrived, and everyone has
finished with tile j - 1, whose buffer the next copies may overwrite.

Two more ideas of FlashAttention-2. A warp takes 32 query rows, as two blocks of 16, and multiplies every piece of K and
V that it loads with both: half as many loads a product. And with a causal mask, blocks near the end have most keys to
go through, so they are started first; tiles that no row of a block sees are never touched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ptxlab import targets
from ptxlab.build import Builder, Kernel, Ptr, b32, bf16, f16, f32, kernel, s32, u32
from ptxlab.kernels.config import Config
from ptxlab.kernels.fragments import across, matrix, multiply, pair, rounded
from ptxlab.kernels.mma import TILE_KV, TILE_Q, WARPS, types
from ptxlab.kernels.softmax import LN2, RowState, factor_of, mask, sign_of, update
from ptxlab.kernels.spec import NOWHERE, Parameter, Slots, Spec, entry_name
from ptxlab.kernels.tiles import Copy, Layout

Half = TypeVar("Half", f16, bf16)
"""The type of every element: f16 or bf16."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, rows, stages, causal = config.head_dim, config.tile_kv, config.tile_q, config.stages, config.causal
    half: type[Any] = bf16 if config.dtype == "bf16" else f16
    layout = Layout(D, swizzled=True)
    resident = query_in_registers(config)
    copy_q, copy_kv = Copy(layout, rows, config.threads), Copy(layout, T, config.threads)
    stage_bytes = 2 * layout.bytes(T)
    blocks = range(rows // (16 * config.warps))  # of 16 rows, a warp

    @kernel(name=entry_name("pipelined", config), arch=config.arch, probes=config.probes, types=types(config, half))
    def pipelined(
        k: Builder, q: Ptr[Half], key: Ptr[Half], value: Ptr[Half], o: Ptr[Half], lse: Ptr[f32],
        B: u32, Hq: u32, Hkv: u32, Sq: u32, Sk: u32, scale: f32, slots: Slots,
    ) -> None:  # fmt: skip
        """One warp = 16 or 32 query rows; the next tile of K and V is on its way while this one is multiplied."""
        k.launch_bounds(config.threads)
        k_tile = k.dynamic_shared(b32, align=128)  # the first stage: K, then V; the other stages behind it
        v_tile = k_tile + layout.bytes(T) // 4
        q_tile = k_tile + (stages - 1 if resident else stages) * stage_bytes // 4

        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        group, in_group = lane >> 2, lane & 3  # of a C fragment: its row, and its pair of columns
        tile = k.nctaid.x - 1 - k.ctaid.x if causal else k.ctaid.x  # the longest first
        first_row = tile * rows
        head, batch = k.ctaid.y, k.ctaid.z
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head

        warp_row = warp * (16 * len(blocks))
        row = first_row + warp_row + group  # this lane's rows: this one and the ones 8, 16 and 24 below
        head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
        copy_row, copy_chunk = thread >> 3, thread & 7  # what this thread copies of a tile
        q_start = k.mul(head_row + first_row + copy_row, D // 2, wide=True)  # in pairs of elements; 64 bits
        kv_start = k.mul((batch * Hkv + kv_head) * Sk + copy_row, D // 2, wide=True)
        keys = key.cast(b32) + kv_start + copy_chunk * 4
        values = value.cast(b32) + kv_start + copy_chunk * 4

        def seen_by(down: int) -> Any:
            """How many keys a row sees: computed where it is wanted, since registers are scarcer than arithmetic."""
            return k.min(k.max(row + Sk + (1 + down), Sq) - Sq, Sk) if causal else Sk

        needed = unmasked = Sk  # keys that any row of the block sees, keys that all rows of the warp see
        if causal:
            unmasked = k.max(first_row + warp_row + Sk + 1, Sq) - Sq
            needed = k.max(k.min(first_row + rows, Sq) + Sk, Sq) - Sq
        if slots is not None:
            recorded = []
            for down in range(0, 16 * len(blocks), 8):
                slot = slots[head_row + k.min(row + down, Sq - 1)]
                recorded.append((slot, (slot != NOWHERE) & (row + down < Sq) & (in_group == 0)))
            tiles = (Sk + (T - 1)) // T

        # The first tiles are on their way before anything else is done.
        to_key, to_value = layout.spot(k, k_tile, copy_row, copy_chunk), layout.spot(k, v_tile, copy_row, copy_chunk)
        for stage in range(stages - 1):
            left = k.max(needed, stage * T) - stage * T
            to = k.mov(stage * stage_bytes, u32)
            copy_kv.fetch(k, keys + stage * T * D // 2, to_key.shifted(to), copy_row, copy_chunk, left)
            copy_kv.fetch(k, values + stage * T * D // 2, to_value.shifted(to), copy_row, copy_chunk, left)
            k.op("cp.async.commit_group")

        factor = factor_of(k, scale)
        acc = [[k.vars(f32, 4, 0.0) for _ in range(D // 8)] for _ in blocks]  # not yet divided by the row sums
        states = [RowState.empty(k) for _ in blocks]

        # where this lane points ldmatrix: at row `lane % 8` of one of 2 x 2 matrices of 8 x 8
        row8, below8, beside8 = lane & 7, (lane >> 3) & 1, lane >> 4
        query_at = layout.spot(k, q_tile, warp_row + below8 * 8 + row8, beside8)
        key_at = layout.spot(k, k_tile, beside8 * 8 + row8, below8)
        value_at = layout.spot(k, v_tile, below8 * 8 + row8, beside8)

        to_query = layout.spot(k, q_tile, copy_row, copy_chunk)
        copy_q.load(k, q.cast(b32) + q_start + copy_chunk * 4, to_query, copy_row, copy_chunk, Sq - first_row,
                    flip=sign_of(k, scale))  # fmt: skip
        k.barrier()
        if resident:
            query = [[matrix(k, query_at.moved(16 * m, 2 * step)) for step in range(D // 16)] for m in blocks]

        reading, writing = k.var(u32, 0), k.var(u32, (stages - 1) * stage_bytes)  # the stages' offsets
        with k.loop(needed, step=T) as first:
            k.op("cp.async.wait_group", stages - 2)  # this thread's copies of the tile have arrived
            k.barrier()  # and everyone's; and everyone has finished with the tile before
            ahead = first + (stages - 1) * T
            with k.if_(ahead < needed):
                start = ahead * (D // 2)
                copy_kv.fetch(k, keys + start, to_key.shifted(writing), copy_row, copy_chunk, needed - ahead)
                copy_kv.fetch(k, values + start, to_value.shifted(writing), copy_row, copy_chunk, needed - ahead)
            k.op("cp.async.commit_group")  # empty at the end, so that there is one group a tile
            writing.set(k.copy(reading))  # read now, free after the next barrier
            key_here, value_here = key_at.shifted(reading), value_at.shifted(reading)

            scores = [[k.vars(f32, 4, 0.0) for _ in range(T // 8)] for _ in blocks]
            for step in range(D // 16):  # S = Q K', 16 elements of a row and 16 keys at a time
                a = [query[m][step] if resident else matrix(k, query_at.moved(16 * m, 2 * step)) for m in blocks]
                for n in range(T // 16):
                    b = matrix(k, key_here.moved(rows=16 * n, chunks=2 * step))
                    for m in blocks:
                        multiply(k, scores[m][2 * n], a[m], b[:2], config.dtype)
                        multiply(k, scores[m][2 * n + 1], a[m], b[2:], config.dtype)

            with k.if_(first + T > unmasked):  # only on the diagonal and in the last tile
                for m in blocks:
                    limits = [k.bitcast(s32, seen_by(16 * m + down) - first - in_group * 2) for down in (0, 8)]
                    mask(k, scores[m], limits)
            shrinks = [update(k, scores[m], acc[m], states[m], factor) for m in blocks]

            for step in range(T // 16):  # O += P V, 16 keys and 16 columns at a time
                p = [rounded(k, scores[m][2 * step], scores[m][2 * step + 1], config.dtype) for m in blocks]
                for n in range(D // 16):
                    b = matrix(k, value_here.moved(rows=16 * step, chunks=2 * n), trans=True)
                    for m in blocks:
                        multiply(k, acc[m][2 * n], p[m], b[:2], config.dtype)
                        multiply(k, acc[m][2 * n + 1], p[m], b[2:], config.dtype)

            reading += stage_bytes
            reading.set(k.select(reading < stages * stage_bytes, reading, 0))
            if slots is not None:
                for n, (slot, wanted) in enumerate(recorded):
                    m, down = divmod(n, 2)
                    total = k.var(f32, k.copy(states[m].row_sum[down]))
                    across(k, total, "add")
                    with k.guard(wanted & (seen_by(8 * n) > first)):
                        k.probe(slot, first // T, tiles, states[m].row_max[down] * factor, total, shrinks[m][down])

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
                share = k.rcp(divisor, approx=True)
                for column, c in enumerate(acc[m]):
                    bits = pair(k, c[2 * n] * share, c[2 * n + 1] * share, config.dtype)
                    k.op("st.shared.b32", out_at.moved(rows=down, chunks=column), bits)
                with k.guard((row + down < Sq) & (in_group == 0)):
                    lse[head_row + row + down] = k.fma(states[m].row_max[n], factor, k.log2(divisor)) * LN2
        k.barrier()
        from_tile = layout.spot(k, k_tile, copy_row, copy_chunk)
        copy_q.store(k, o.cast(b32) + q_start + copy_chunk * 4, from_tile, copy_row, copy_chunk, Sq - first_row)

    return pipelined() if config.probes else pipelined(slots=None)


def query_in_registers(config: Config) -> bool:
    """Whether Q's fragments stay in registers; where they would crowd out O and S they are loaded again every tile."""
    return config.head_dim * config.tile_q <= 128 * 16 * config.warps


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory: the stages, and Q behind them or, before it is in registers, in the last one."""
    layout = Layout(config.head_dim, swizzled=True)
    q_bytes, stage_bytes = layout.bytes(config.tile_q), 2 * layout.bytes(config.tile_kv)
    before = config.stages - 1 if query_in_registers(config) else config.stages
    return max(before * stage_bytes + q_bytes, config.stages * stage_bytes)


def limits(config: Config) -> str:
    """What this kernel cannot do, or ""."""
    if config.tile_q not in (16 * config.warps, 32 * config.warps):
        return f"tile_q={config.tile_q} is not 16 or 32 rows for each of warps={config.warps}; leave one of the two out"
    return ""


def prefer(config: Config) -> Config:
    """32 rows a warp while O and S of so many fit into registers, and tiles that let two blocks share a multiprocessor.

    Targets with 100 KB of shared memory have half the tensor cores as well: 16 rows a warp keep them busy.
    """
    dim, memory = config.head_dim, targets.get(config.arch).optin_shared
    if dim > 64 and (dim > 128 or memory < 128 * 1024):
        return replace(config, tile_q=64, tile_kv=32, warps=4, stages=2)
    roomy = dim <= 64 or (dim in (80, 128) and memory > 192 * 1024)
    return replace(config, tile_q=128, tile_kv=64 if roomy else 32, warps=4, stages=2)


SPEC = Spec(
    name="pipelined",
    rung=7,
    title="The next tile is on its way",
    question="What is in flight, and when is a buffer free again?",
    idea="cp.async with two stages; causal tile skip",
    teaches=("cp.async.cg", "cp.async.commit_group", "cp.async.wait_group", "zero fill"),
    phase="prefill",
    make=make,
    tile=64,
    shared_bytes=shared_bytes,
    dtypes=("f16", "bf16"),
    step=16,
    sm=80,
    dynamic=True,
    tile_kv=TILE_KV,
    tunable=(
        replace(TILE_Q, says="query rows a block, 16 or 32 for each warp"),
        WARPS,
        Parameter("stages", "tiles of K and V in shared memory at once", None, (2, 3)),
    ),
    prefer=prefer,
    limits=limits,
)
