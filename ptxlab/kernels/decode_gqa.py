"""Rung 14: the query heads that share keys become the rows of a matrix, and each key is read once for all of them.

With 32 query heads and 8 key/value heads the rungs before read every key four times, once for each query head. Here one
block serves a key/value head: the query heads of its group are rows of a 16-row tile, scores are a product of matrices
again, and the tensor cores of rungs 5 and 6 do it. A group of 4 leaves 12 rows empty, so three quarters of the products
are wasted. That is no loss: decode waits for memory, and memory is asked for a quarter of the bytes.

Each warp has its own keys, 16 at a time, and its own ring of stages in shared memory, filled by `cp.async` a few tiles
ahead. No other warp reads them, so there is no barrier of the block in the loop: `cp.async.wait_group` says that this
lane's copies have arrived, `bar.warp.sync` that those of the other lanes have too, and that all lanes are done with the
stage that is filled next. At the end the warps merge as in rung 11, and splits as in rung 13.

How many bytes must be in flight? A load takes most of a microsecond, and in this time an H200 could bring 30 KB to
each of its multiprocessors. At head_dim 128 a tile of keys and values has 8 KB; four warps with two or three tiles each
ahead of the one that they multiply ask for 64 to 96 KB, and where two blocks fit on a multiprocessor for twice that.

From sm_90 on, `copy="tma"` fills the rings by tensor maps instead of `cp.async`: see `decode_tma`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ptxlab import targets
from ptxlab.builder import Builder, Kernel, Ptr, TensorMap, Var, b32, bf16, f16, f32, kernel, s32, u32
from ptxlab.errors import TargetError
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels import decode_tma as tma
from ptxlab.kernels.decode_lanes import LOWEST, WARP, key_count, rounded
from ptxlab.kernels.decode_paged import Rows, page_finder, places_of
from ptxlab.kernels.decode_spec import DecodeConfig, DecodeSpec, Sums, Table, entry_name, next_may_start
from ptxlab.kernels.decode_split import part
from ptxlab.kernels.decode_tma import KEYS
from ptxlab.kernels.fragments import across, matrix, multiply
from ptxlab.kernels.fragments import rounded as weights_of
from ptxlab.kernels.mods import Here, fragments
from ptxlab.kernels.rung import NOWHERE, Parameter, Slots
from ptxlab.kernels.softmax import LN2, RowState, mask, sign_of, update
from ptxlab.kernels.tiles import CHUNK, Copy, Layout, Spot

ROWS = 16
"""Rows of the tile of queries: those of an MMA."""
PAD = 8
"""Floats between the rows of a merge, which keeps them in different banks."""
Half = TypeVar("Half", f16, bf16)
"""The type of q, o and the cache."""
Keys = TypeVar("Keys", bound=Any)
"""What key and value are: pointers (see `decode_spec.Cache`), or with copy="tma" tensor maps."""
Result = TypeVar("Result", bound=Ptr[Any] | None)
Statistics = TypeVar("Statistics", bound=Ptr[f32] | None)
Partial = TypeVar("Partial", bound=Ptr[f32] | None)
"""`o` and `lse`, or where the kernel is one of several splits, `partial`; what a build does not have is None."""


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim
    element: type[Any] = config.element
    layout = Layout(D, swizzled=True)
    resident = D <= 128  # Q's fragments stay in registers; a wide head leaves no room for them beside O
    tile_bytes = layout.bytes(KEYS)

    by_tma = config.copy == "tma"
    pointer: Any = Ptr
    types = config.types() | {"Half": element}
    types["Keys"] = TensorMap if by_tma else pointer[types["Cache"]]
    if config.partial:
        types["Partial"] = Ptr[f32]
    else:
        types |= {"Result": pointer[element], "Statistics": Ptr[f32]}

    @kernel(name=entry_name("decode_gqa", config), arch=config.arch, probes=config.probes, types=types)
    def decode_gqa(
        k: Builder, q: Ptr[Half], key: Keys, value: Keys, table: Table, lengths: Ptr[s32],
        o: Result, lse: Statistics, partial: Partial, Hq: u32, Hkv: u32, width: u32, splits: u32, scale: f32,
        slots: Slots, sums: Sums,
    ) -> None:  # fmt: skip
        """One block = up to 16 query heads that share a key/value head, and one part of its keys."""
        k.launch_bounds(config.threads)
        q_tile = k.dynamic_shared(b32, align=1024 if by_tma else 128)
        thread = k.tid.x
        lane, warp = thread & 31, thread >> 5
        ring = q_tile + layout.bytes(ROWS) // 4 + warp * (ring_bytes(config) // 4)  # this warp's own

        batch, split = k.ctaid.y, k.ctaid.z
        group = Hq // Hkv  # query heads that share a key/value head
        tiles = (group + (ROWS - 1)) // ROWS
        kv_head = k.ctaid.x // tiles
        first_in_group = (k.ctaid.x % tiles) * ROWS
        rows = k.min(group - first_in_group, ROWS)
        first_row = batch * Hq + kv_head * group + first_in_group
        keys = key_count(k, lengths, batch)
        both = (0, 8) if config.mods else ()  # rows of a lane; one past the group has the head of its last one
        heads = [first_row - batch * Hq + k.min((lane >> 2) + below, rows - 1) for below in both]
        here = Here.decoding(k, config, batch, heads, keys, scale, split, config.part_step)
        first, last = part(k, keys, splits, split, config.part_step, here.span)

        if not by_tma:
            page_of, place = places_of(k, config, key, value, table, batch, kv_head, Hkv, width)
            to_key = layout.spot(k, ring, lane >> 3, lane & 7)

        # The ring: the first stages are asked for before anything else, because they take longest to come.
        step = config.warps * KEYS
        write, ahead = k.var(u32, 0), k.var(u32, first + warp * KEYS)
        if by_tma:
            copies = tma.TensorRing(k, config, ring, (key, value), lane, warp, ahead, step, last)
            page_of = page_finder(k, config, table, batch, width) if config.cache == "paged" else None
            fetch = copies.fetcher(tma.Places(k, config, page_of, batch, kv_head, ahead, last))
        else:
            fetch = fetcher(k, layout, page_of, place, to_key, lane, ahead, step, last)
        with k.loop(config.stages - 1):
            fetch(write)
            write += 2 * tile_bytes

        # Meanwhile Q into shared memory; rows past the group become zeros.
        factor = here.factor(scale)
        q_copy = Copy(layout, ROWS, config.threads)
        q_row, q_chunk = thread >> 3, thread & 7
        q_at = layout.spot(k, q_tile, q_row, q_chunk)
        q_from = q.cast(b32) + k.mul(first_row + q_row, D // 2, wide=True) + q_chunk * 4
        with k.if_(q_row < ROWS):
            q_copy.load(k, q_from, q_at, q_row, q_chunk, rows, flip=sign_of(k, scale))
        k.barrier()

        # where this lane points ldmatrix: at row `lane % 8` of one of 2 x 2 matrices of 8 x 8
        row8, below8, beside8 = lane & 7, (lane >> 3) & 1, lane >> 4
        query_at = layout.spot(k, q_tile, below8 * 8 + row8, beside8)
        cached = copies.panels.layout if by_tma else layout
        key_at = cached.spot(k, ring, beside8 * 8 + row8, below8)
        value_at = cached.spot(k, ring + tile_bytes // 4, below8 * 8 + row8, beside8)
        query = [matrix(k, query_at.moved(chunks=2 * step)) for step in range(D // 16)] if resident else []

        def chunks(spot: Spot, number: int) -> Ptr[Any]:
            """So many chunks to the right of a spot in a tile of keys or values."""
            return copies.panels.chunk(spot, 0, number) if by_tma else spot.moved(chunks=number)

        acc = [k.vars(f32, 4, 0.0) for _ in range(D // 8)]  # 16 output rows, not yet divided by their sums
        state = RowState.empty(k)
        if config.mods:
            here.begin(state.row_max, state.row_sum, factor, (lane & 3) | warp)
        read = k.var(u32, 0)
        start = k.var(u32, first + warp * KEYS)
        # All lanes agree on going round; the vote lets the assembler know it, which saves registers on older targets.
        with k.while_(lambda: k.vote(start < last, -1, mode="any")):
            if by_tma:
                copies.wait()
            else:
                k.op("cp.async.wait_group", config.stages - 2)  # this lane's part of the oldest tile is here
            k.op("bar.warp.sync", -1)  # so are the others' parts, and no lane reads the stage that is filled next
            fetch(write)

            k_at, v_at = key_at.shifted(read), value_at.shifted(read)
            scores = [k.vars(f32, 4, 0.0) for _ in range(KEYS // 8)]
            for n in range(D // 16):  # S = Q K'
                a = query[n] if resident else matrix(k, query_at.moved(chunks=2 * n))
                b = matrix(k, chunks(k_at, 2 * n))
                multiply(k, scores[0], a, b[:2], config.dtype)
                multiply(k, scores[1], a, b[2:], config.dtype)
            if config.mods:
                here.at(start + (lane & 3) * 2).change(fragments(scores))
                here.hide(fragments(scores))

            with k.if_(start + KEYS > last):  # the last tile may be short
                left = k.bitcast(s32, last - start - (lane & 3) * 2)
                mask(k, scores, [left, left])
                if by_tma:
                    copies.clear(ring + (tile_bytes // 4) + (read >> 2), last - start)
            update(k, scores, acc, state, factor)

            p = weights_of(k, scores[0], scores[1], config.dtype)
            for n in range(D // 16):  # O += P V
                b = matrix(k, chunks(v_at, 2 * n), trans=True)
                multiply(k, acc[2 * n], p, b[:2], config.dtype)
                multiply(k, acc[2 * n + 1], p, b[2:], config.dtype)

            start += step
            for at in (read, write):
                at += 2 * tile_bytes
                at.set(k.select(at == config.stages * 2 * tile_bytes, 0, at))

        if config.partial:
            next_may_start(k)  # decode_reduce, while this block merges
        if not by_tma:
            # The warps' states, each where its ring was.
            k.op("cp.async.wait_all")
        k.op("bar.warp.sync", -1)
        mine = ring.cast(f32)
        for n, below in enumerate((0, 8)):
            across(k, state.row_sum[n], "add")
            row = (lane >> 2) + below
            for m, c in enumerate(acc):
                k.store(mine + row * (D + PAD) + (lane & 3) * 2 + 8 * m, c[2 * n : 2 * n + 2], vector=2)
            with k.guard((lane & 3) == 0):
                statistics = mine + row * 2 + ROWS * (D + PAD)
                statistics[0] = state.row_max[n] * factor
                statistics[1] = state.row_sum[n]
        k.barrier()

        states = (q_tile + layout.bytes(ROWS) // 4).cast(f32)
        with k.loop(rows * D, start=thread, step=config.threads) as i:
            row, column = i // D, i % D
            row_max, row_sum, scales = merge(k, config, states, row)
            total = k.var(f32, 0.0)
            shares = states + row * (D + PAD) + column
            for w, share in enumerate(scales):
                total.set(k.fma(shares[w * ring_bytes(config) // 4], share, total))
            if partial is not None:
                result = partial + k.mul((first_row + row) * splits + split, D + 2, wide=True)
                result[column] = total
                with k.guard(column == 0):
                    result[D] = row_max * LN2
                    result[D + 1] = row_sum
            if o is not None and lse is not None:
                divisor = k.select(row_sum > 0.0, row_sum, 1.0)
                o_row = o + k.mul(first_row + row, D, wide=True)
                o_row[column] = rounded(k, total / divisor, element)
                with k.guard(column == 0):
                    lse[first_row + row] = (row_max + k.log2(divisor)) * LN2

        if slots is not None and sums is not None:
            with k.loop(rows * (config.warps * D), start=thread, step=config.threads) as i:
                row, teller, column = i // (config.warps * D), i // D % config.warps, i % D
                slot = slots[first_row + row]
                share = states + teller * (ring_bytes(config) // 4) + row * (D + PAD) + column
                with k.guard(slot != NOWHERE):
                    (sums + k.mul(slot, config.warps * D, wide=True))[teller * D + column] = share[0]
            with k.loop(rows * config.warps, start=thread, step=config.threads) as i:
                row, teller = i // config.warps, i % config.warps
                row_max, row_sum, scales = merge(k, config, states, row)
                slot = slots[first_row + row]
                own = states + teller * (ring_bytes(config) // 4) + row * 2 + ROWS * (D + PAD)
                own_max, own_sum = own[0], own[1]
                with k.guard(slot != NOWHERE):
                    k.probe(slot, teller, config.warps, own_max, own_sum, k.exp2(own_max - k.max(row_max, LOWEST)))

    return decode_gqa(extra=config.extra)


def fetcher(
    k: Builder,
    layout: Layout,
    page_of: Callable[[Any], Any] | None,
    place: Callable[[Any, Any], Rows],
    to_key: Spot,
    lane: u32,
    ahead: Var[u32],
    stride: int,
    last: u32,
) -> Callable[[Any], None]:
    """The function that starts the copies of the next 16 keys and values, those from `ahead` on, into a stage.

    Eight lanes copy a row, so each lane has a piece of four rows. A row past the end is filled with zeros. The pages of
    a paged cache are looked up one tile in advance: the table's answer has all the time of a tile to come back.
    """
    copy = Copy(layout, KEYS, WARP)
    row, chunk = lane >> 3, lane & 7
    piece = chunk * (CHUNK // 4)
    newest = last - 1  # stands in for keys past the end
    rows = range(0, KEYS, WARP // 8)
    next_page: list[Any] = [None for _ in rows] if page_of is None else k.vars(u32, len(rows), 0)

    def look_up() -> None:
        if page_of is not None:
            with k.if_(ahead < last):
                own = ahead + row
                for page, down in zip(next_page, rows, strict=True):
                    j = k.min(own + down if down else own, newest)
                    page.set(page_of(j))

    def fetch(stage: Any) -> None:
        with k.if_(ahead < last):
            to = to_key.shifted(stage)
            own = ahead + row
            for page, down in zip(next_page, rows, strict=True):
                j = own + down if down else own
                size = k.select(j < last, CHUNK, 0, type=u32)
                k_row, v_row = (p.cast(b32) + piece for p in place(page, k.min(j, newest)))
                for step in copy.steps():
                    if step[0] == down:
                        inside = copy.inside(k, row, chunk, step)
                        for source, below in ((k_row, 0), (v_row, KEYS)):  # the values' tile lies after the keys'
                            start_copy(k, to.moved(down + below, step[1]), source + 4 * step[1], size, inside)
        k.op("cp.async.commit_group")
        ahead.set(ahead + stride)
        look_up()

    look_up()
    return fetch


def start_copy(k: Builder, to: Ptr[Any], source: Ptr[Any], size: Any, inside: Any) -> None:
    """One `cp.async` of 16 bytes, of which `size` are read and the rest are zeros."""
    if inside is None:
        k.op("cp.async.cg.shared.global", to, source, CHUNK, size)
    else:
        with k.guard(inside):
            k.op("cp.async.cg.shared.global", to, source, CHUNK, size)


def merge(k: Builder, config: DecodeConfig, states: Ptr[f32], row: u32) -> tuple[Any, Any, list[Any]]:
    """Maximum and sum of a row over all warps, and what each warp's share is multiplied with."""
    at = states + row * 2 + ROWS * (config.head_dim + PAD)
    found = [k.load(at + w * ring_bytes(config) // 4, 2, vector=2) for w in range(config.warps)]
    row_max = k.var(f32, found[0][0])
    for warp_max, _ in found[1:]:
        row_max.set(k.max(row_max, warp_max))
    shift = k.max(row_max, LOWEST)  # -inf - (-inf) would be NaN
    scales = [k.exp2(warp_max - shift) for warp_max, _ in found]
    row_sum = k.var(f32, 0.0)
    for (_, warp_sum), share in zip(found, scales, strict=True):
        row_sum.set(k.fma(warp_sum, share, row_sum))
    return row_max, row_sum, scales


# -- shared memory -----------------------------------------------------------------------------------------------------


def ring_bytes(config: DecodeConfig) -> int:
    """Bytes of a warp's ring: a tile of K and of V in each stage. The warp's state fits in two stages."""
    return config.stages * 2 * Layout(config.head_dim, swizzled=True).bytes(KEYS)


def shared_bytes(config: DecodeConfig) -> int:
    """Bytes of dynamic shared memory: Q and the rings."""
    return Layout(config.head_dim, swizzled=True).bytes(ROWS) + config.warps * ring_bytes(config)


def fit(config: DecodeConfig) -> DecodeConfig:
    """Four warps, and as many of 4 stages as leave room for a second block beside the first.

    While one block waits for its first keys or merges its warps, the other reads. Where two blocks would have fewer
    than 3 stages each, one has the memory for itself; and where its rings do not fit either, two warps share it.
    """
    if config.partial and config.probes:
        raise TargetError("decode_gqa: with partial=True each split stores its state anyway; leave out probes")
    if config.copy == "tma":
        tma.check(config)
    target = targets.get(config.arch)
    limit, half = target.optin_shared, target.shared_per_sm // 2 - target.reserved_shared
    warps = (config.warps,) if config.warps else (4, 2)
    stages = (config.stages,) if config.stages else (4, 3, 2)
    tries = [(4, n, half) for n in (4, 3)] if not (config.warps or config.stages) else []
    tries += [(w, n, limit) for w in warps for n in stages]
    for w, n, most in tries:
        fitted = replace(config, warps=w, stages=n)
        if shared_bytes(fitted) + (8 * w * n if config.copy == "tma" else 0) <= most:  # an mbarrier for each stage
            return fitted
    raise TargetError(
        f"decode_gqa: warps={fitted.warps} and stages={fitted.stages} with head_dim={config.head_dim} need "
        f"{shared_bytes(fitted)} bytes of shared memory; {config.arch} has {limit}"
    )


def one_block_a_group(batch: int, heads_q: int, heads_kv: int, splits: int) -> tuple[int, int, int]:
    """Grid (Hkv, B, splits), with more blocks in x for groups of more than 16 heads."""
    return heads_kv * -(-(heads_q // heads_kv) // ROWS), batch, splits


HEAD_DIM = replace(spec.HEAD_DIM, minimum=16, step=16)
ARCH = Parameter("arch", "the target", "sm_80", tuple(t.name for t in targets.TARGETS.values() if t.number >= 80))
STAGES = Parameter("stages", "tiles of 16 keys in a warp's ring; by default at most 4", None, minimum=2, maximum=8)
PARTIAL = Parameter("partial", "store partial results for decode_reduce instead of o and lse", False, (False, True))
COPY = Parameter(
    "copy", "what brings keys and values; 'tma': tensor maps, from sm_90 on", "cp.async", ("cp.async", "tma")
)
WARPS = Parameter("warps", "warps per block; by default 4, or 2 where their rings do not fit", None, (1, 2, 4, 8))

SPEC = DecodeSpec(
    name="decode_gqa",
    rung=14,
    title="The heads of a group as the rows of an MMA",
    question="Why is reading K and V once worth wasting half an MMA?",
    idea="one block for all query heads of a group",
    brings=("cp.async with zero fill", "cp.async.wait_group", "bar.warp.sync"),
    look=(
        "the sectors, compared with the other rungs: nearly as many times fewer as there are heads that share keys; "
        "and the loop, which waits for copies and for its own warp but never for the block"
    ),
    opens="cp.async.wait_group",
    make=make,
    takes=(
        HEAD_DIM,
        spec.HALVES,
        ARCH,
        spec.PROBES,
        WARPS,
        STAGES,
        spec.cache_parameter("dense", "paged", "pointers"),
        spec.PAGE_SIZE,
        PARTIAL,
        COPY,
    ),
    grid=one_block_a_group,
    shared_bytes=shared_bytes,
    fit=fit,
    warp_of=lambda config, keys: keys // KEYS % config.warps,
)
