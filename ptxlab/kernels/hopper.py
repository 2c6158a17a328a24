"""Rung 9: copies by TMA, and warpgroups with roles: one fetches tiles, the others multiply and exponentiate in turn.

In rung 8 the tensor cores wait for the exponentials, and both wait for memory. Here nobody does what another can do:

    warpgroup 0        producer     one thread starts copies of whole tiles (TMA), and waits for nothing but free stages
    warpgroup 1        consumer     64 query rows: S = Q K', softmax, O += P V
    warpgroup 2 (, 3)  consumer     64 more

A tile goes through a pipeline, a ring of stages with two mbarriers each. The copy itself reports its bytes to `full`;
the warps of the consumers report to `empty` that they have finished. Who waits for whom:

    producer    wait empty | expect bytes | copy K, copy V ... | next stage
    consumer                              wait full | multiply | release | next stage

How the exponentials are hidden, which at head_dim 128 take half as long as the products:

- within a warpgroup, the products of two tiles overlap with one softmax. Q K' of tile j and P V of tile j - 1 begin
  together; while the second still runs, the weights of tile j are computed;
- among the consumers, by taking turns (ping-pong): a warpgroup begins its products when the one before has begun its
  own, so that one exponentiates while the other's products fill the tensor cores. Named barriers hand the turn on.

The producer needs few registers and the consumers many: `setmaxnreg` moves them, when the roles begin.

Causal blocks take longer the further down their rows are. Blocks begin in the order of the grid, so the longest come
first, those of several heads together: as many heads as have keys and values that fit into the L2 cache. The short ones
then fill the gaps at the end. With 16 heads of 4,096 rows at head_dim 128, on 132 multiprocessors and with time counted
in tiles, the last block ends 2 % later than if all were equally busy; head after head it would be 28 %.

Tiles come through tensor maps: a copy is told the coordinates of a box in a tensor of four dimensions, writes it
swizzled as `wgmma` wants to read it, and fills with zeros what lies outside. So no thread computes an address, and
ragged lengths need nothing more than the mask. O goes the same way back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, TensorMap, b32, bf16x2, f16x2, f32, kernel, s32, u32
from ptxlab.kernels.fragments import pair
from ptxlab.kernels.mma import TILE_KV
from ptxlab.kernels.mods import Here, Tiles, fragments
from ptxlab.kernels.rung import Parameter, Slots
from ptxlab.kernels.softmax import RowState, advance, mask, shrink, sign_of, weigh
from ptxlab.kernels.spec import Config, Spec, entry_name
from ptxlab.kernels.two_rows import BELOW, TwoRows
from ptxlab.kernels.warpgroup import PANEL, Panels, product

ROWS, WARPS, THREADS = 64, 4, 128
"""Query rows, warps and threads of a consumer, one warpgroup."""
REGISTERS = {1: (24, 240), 2: (24, 240), 3: (32, 160)}
"""Registers a thread of the producer and of each of so many consumers."""


def make(config: Config) -> Kernel:
    """The kernel for a configuration."""
    D, T, stages, causal = config.head_dim, config.tile_kv, config.stages, config.causal
    two: type[Any] = bf16x2 if config.dtype == "bf16" else f16x2
    consumers = config.tile_q // ROWS
    few, many = REGISTERS[consumers]
    tile_bytes, query_bytes = 2 * T * D, 2 * ROWS * D

    @kernel(name=entry_name("hopper", config), arch=config.arch, probes=config.probes, types=config.types())
    def hopper(
        k: Builder,
        q: TensorMap,
        key: TensorMap,
        value: TensorMap,
        o: TensorMap,
        lse: Ptr[f32],
        B: u32,
        Hq: u32,
        Hkv: u32,
        Sq: u32,
        Sk: u32,
        scale: f32,
        slots: Slots,
    ) -> None:
        """Warpgroup 0 starts the copies; each of the others has 64 query rows, 16 in the registers of each warp."""
        k.launch_bounds(config.threads, 1)
        for tensor, rows in ((q, ROWS), (o, ROWS), (key, T), (value, T)):
            tensor.box(1, 1, rows, PANEL, swizzle=128)  # of [B, H, S, D]: 64 elements of as many rows
        query_tile = k.dynamic_shared(b32, align=1024)
        key_tile = query_tile + consumers * query_bytes // 4
        value_tile = key_tile + stages * tile_bytes // 4

        needed = Sk  # keys that any row of the block sees
        if causal:  # in x and z the heads of all sequences, in y the tiles of those in x, the longest first
            any_head = k.ctaid.z * k.nctaid.x + k.ctaid.x
            head, batch = any_head % Hq, any_head // Hq
            first_row = (k.nctaid.y - 1 - k.ctaid.y) * config.tile_q
            needed = k.max(k.min(first_row + config.tile_q, Sq) + Sk, Sq) - Sq
        else:
            head, batch = k.ctaid.y, k.ctaid.z
            first_row = k.ctaid.x * config.tile_q
        listed = Tiles.of(k, config, head, batch, Hq)

        queries = k.pipeline(stages=1)
        keys = k.pipeline(stages, arrivals=WARPS * consumers)
        values = k.pipeline(stages, arrivals=WARPS * consumers)
        k.barrier()

        with k.warpgroup(0, registers=few), k.if_((k.tid.x == 0) & (listed.any if listed else needed > 0)):
            kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
            query_free, key_free, value_free = queries.producer(), keys.producer(), values.producer()
            query_free.expect(consumers * query_bytes)
            for n in range(consumers):
                panels = Panels(query_tile + n * query_bytes // 4, ROWS, D)
                fetch(q, panels, query_free.full, batch, head, first_row + ROWS * n)
            with listed.loop() if listed else k.loop(needed, step=T) as first:
                for turn, tensor, stage_0 in ((key_free, key, key_tile), (value_free, value, value_tile)):
                    turn.wait()
                    turn.expect(tile_bytes)
                    panels = Panels(stage_0 + turn.stage * (tile_bytes // 4), T, D)
                    fetch(tensor, panels, turn.full, batch, kv_head, first)
                    turn.next()

        with k.warpgroup(*range(1, consumers + 1), registers=many) as warpgroup:
            consumer = warpgroup - 1
            thread = k.tid.x & (THREADS - 1)
            lane, warp = thread & 31, thread >> 5
            group, in_group = lane >> 2, lane & 3  # of a C fragment: its row, and its pair of columns
            row_here = warp * 16 + group
            tile_row = first_row + consumer * ROWS
            row = tile_row + row_here  # this lane's rows: this one and the one 8 below
            head_row = (batch * Hq + head) * Sq  # counted over all batches and heads
            both = TwoRows(row, head_row, in_group, Sq)

            query = Panels(query_tile + consumer * (query_bytes // 4), ROWS, D)
            key_panels, value_panels = Panels(key_tile, T, D), Panels(value_tile, T, D)
            of_query, of_keys, of_values = (panels.descriptor(k) for panels in (query, key_panels, value_panels))
            here = Here.of(k, config, batch, head, row, Sq, Sk, BELOW)
            factor = here.factor(scale)
            acc = [k.vars(f32, 4, 0.0) for _ in range(D // 8)]  # 16 output rows, not yet divided by their sums
            scores = [k.vars(f32, 4, 0.0) for _ in range(T // 8)]
            weights = [k.vars(two, 4, 0) for _ in range(T // 16)]
            state = RowState.empty(k)
            here.begin(state.row_max, state.row_sum, factor, in_group)
            adds, replaces = Sq > 0, Sq == 0  # what a product does with what is there
            visible = both.visible(k, Sk, causal)  # keys that each of the two rows sees
            unmasked = Sk  # and the first row of the warp
            if causal:
                unmasked = k.max(tile_row + warp * 16 + Sk + 1, Sq) - Sq
            if slots is not None:
                recorded = both.recorded(k, slots)
                tiles = (Sk + (T - 1)) // T
            query_turn, key_turn, value_turn = queries.consumer(), keys.consumer(), values.consumer()

            def begin_scores() -> None:
                """S = Q K', 16 elements of a row at a time."""
                k.op("wgmma.fence.sync.aligned")
                stage = of_keys + k.mul(key_turn.stage, tile_bytes // 16, wide=True)
                for step in range(D // 16):
                    a, b = of_query + query.along_row(step), stage + key_panels.along_row(step)
                    product(k, scores, a, b, config.dtype, adds=adds if step else replaces)
                k.op("wgmma.commit_group.sync.aligned")

            def begin_output() -> None:
                """O += P V, 16 keys at a time."""
                k.op("wgmma.fence.sync.aligned")
                stage = of_values + k.mul(value_turn.stage, tile_bytes // 16, wide=True)
                for step, p in enumerate(weights):
                    product(k, acc, p, stage + value_panels.down(step), config.dtype, adds=adds, transposed=True)
                k.op("wgmma.commit_group.sync.aligned")

            def wait(most: int) -> None:
                """Until at most so many of the groups of products are in flight."""
                k.op("wgmma.wait_group.sync.aligned", most)

            def release(turn: Any) -> None:
                """This warp has finished with a tile."""
                with k.if_(lane == 0):
                    turn.release()
                turn.next()

            def exponentiate(first: Any) -> list[Any]:
                """The scores of the keys from `first` on become weights; by how much the sums shrink."""
                if config.mods:
                    here.at(first + in_group * 2).change(fragments(scores))
                part = listed.part if listed else None
                with k.if_(first + T > unmasked if part is None else part):  # only on the diagonal and in the last tile
                    if not here.hide(fragments(scores)):
                        mask(k, scores, [k.bitcast(s32, seen - first - in_group * 2) for seen in visible])
                shrinks, lows = advance(k, scores, state, factor)
                weigh(k, scores, state, lows, factor)
                if slots is not None:
                    both.record(k, recorded, state, shrinks, factor, visible, first, T, tiles)
                return shrinks

            def round_weights() -> None:
                """P, as the A fragments that the second product takes."""
                for step, p in enumerate(weights):
                    for n, (c, low) in enumerate((c, low) for c in scores[2 * step : 2 * step + 2] for low in (0, 2)):
                        p[n].set(pair(k, c[low], c[low + 1], config.dtype))

            # Turns: each consumer waits at its own barrier, at which the one before it arrives when it has begun.
            mine = warpgroup
            after = k.select(consumer == consumers - 1, 1, warpgroup + 1)
            if consumers > 1:
                with k.if_(consumer == consumers - 1):
                    k.op("bar.arrive", after, 2 * THREADS)  # the first consumer begins

            with k.if_(listed.any if listed else needed > 0):
                query_turn.wait()
                with k.if_(scale < 0.0):  # the maximum of the scaled scores is that of the scores of -Q
                    negate(k, query, thread, sign_of(k, scale))
                    k.op("fence.proxy.async.shared::cta")
                    k.op("bar.sync", warpgroup + consumers, THREADS)
                key_turn.wait()
                begin_scores()
                wait(0)
                release(key_turn)
                exponentiate(listed.first(listed.start) if listed else k.mov(0, u32))  # O is empty: nothing shrinks
                round_weights()

                with listed.loop(listed.start + 1) if listed else k.loop(needed, start=T, step=T) as first:
                    key_turn.wait()
                    if consumers > 1:
                        k.op("bar.sync", mine, 2 * THREADS)
                    begin_scores()  # of this tile
                    value_turn.wait()
                    begin_output()  # of the one before
                    if consumers > 1:
                        k.op("bar.arrive", after, 2 * THREADS)
                    wait(1)  # S is complete, O in flight
                    release(key_turn)
                    shrinks = exponentiate(first)
                    wait(0)  # and O
                    release(value_turn)
                    shrink(k, acc, shrinks)
                    round_weights()

                value_turn.wait()
                begin_output()  # of the last tile
                wait(0)
                release(value_turn)

            # O goes to where this warpgroup's rows of Q were, and from there by TMA.
            out_at = query.layout.spot(k, query.tile + in_group, row_here, k.mov(0, u32))
            both.end(k, acc, state, factor, config.dtype, lambda below, m: query.chunk(out_at, below, m), lse)
            k.op("fence.proxy.async.shared::cta")  # what this thread has stored is seen by the copy
            k.op("bar.sync", warpgroup + consumers, THREADS)
            with k.if_(thread == 0):
                for n in range(D // PANEL):
                    o.store(query.tile + n * query.panel_bytes // 4, batch, head, tile_row, n * PANEL)
                k.op("cp.async.bulk.commit_group")
                k.op("cp.async.bulk.wait_group.read", 0)  # the block's shared memory lives as long as the block

    return hopper(extra=config.extra)


def fetch(tensor: TensorMap, panels: Panels, mbarrier: Any, batch: u32, head: u32, row: Any) -> None:
    """Starts the copies of a tile, one for each of its panels."""
    for n in range(panels.head_dim // PANEL):
        tensor.load(panels.tile + n * panels.panel_bytes // 4, mbarrier, batch, head, row, n * PANEL)


def negate(k: Builder, panels: Panels, thread: u32, flip: b32) -> None:
    """Flips the bits of `flip` in every pair of elements of a tile, by a warpgroup."""
    for n in range(panels.bytes // (16 * THREADS)):
        place = panels.tile.moved(16 * THREADS * n) + thread * 4
        bits = k.op("ld.shared.v4.b32", place)
        flipped = [word ^ flip for word in bits]
        k.op("st.shared.v4.b32", place, flipped)


def shared_bytes(config: Config) -> int:
    """Bytes of dynamic shared memory: Q, and the stages of K and V."""
    return 2 * config.head_dim * (config.tile_q + 2 * config.stages * config.tile_kv)


def limits(config: Config) -> str:
    """What this kernel cannot do, or ""."""
    _, many = REGISTERS[config.tile_q // ROWS]
    held = config.head_dim // 2
    if held + 32 >= many:  # beside O a thread has scores, weights, sums and addresses
        return (
            f"tile_q={config.tile_q} leaves {many} registers per thread, of which O alone takes {held} with "
            f"head_dim={config.head_dim}; take tile_q={config.tile_q - ROWS}"
        )
    return ""


L2 = 50 << 20
"""Bytes of the L2 cache of an H100 or H200."""
TILES = {64: (192, 128), 128: (128, 128), 192: (128, 64), 256: (128, 64)}
"""Query rows and keys per tile, by head_dim: what fits into the registers of the consumers, beside O."""


def prefer(config: Config) -> Config:
    """Two consumers, or three where O takes few registers."""
    tile_q, tile_kv = TILES[config.head_dim]
    return replace(config, tile_q=tile_q, tile_kv=tile_kv, stages=2)


def staffed(config: Config) -> Config:
    """The warps that a block has: a producer, and a consumer for every 64 rows."""
    return replace(config, warps=WARPS * (1 + config.tile_q // ROWS))


SPEC = Spec(
    name="hopper",
    rung=9,
    title="Everyone has a role",
    question="How do you hide the exponentials when they take half the time of the products?",
    idea="one warpgroup fetches by TMA, the others multiply and exponentiate in turn; mbarriers hand on the tiles",
    brings=("cp.async.bulk.tensor", "mbarrier", "setmaxnreg", "bar.arrive"),
    look=(
        "who waits for whom, and at which mbarrier; the loop of the consumers: what is in flight while the "
        "exponentials are computed; the producer, which computes no address"
    ),
    opens="mbarrier.try_wait",
    make=make,
    tile=128,
    shared_bytes=shared_bytes,
    dtypes=("f16", "bf16"),
    step=64,
    sm=90,
    arch="sm_90a",
    alone="wgmma and setmaxnreg are instructions",
    dynamic=True,
    longest_first=True,
    l2_bytes=L2,
    tile_kv=TILE_KV,
    tunable=(
        Parameter("tile_q", "query rows per block, 64 for each consumer", None, (64, 128, 192), minimum=64),
        Parameter("stages", "tiles of K and of V in shared memory at once", None, (1, 2, 3, 4)),
    ),
    prefer=prefer,
    limits=limits,
    completed=staffed,
)
