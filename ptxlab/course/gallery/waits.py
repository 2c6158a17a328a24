"""Exhibits of Hopper's asynchronous machines: who waits for whom, for how many bytes, and by which way to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, f16, f32, kernel, u32, u64
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.kernels.warpgroup import Panels, product

COLUMNS, TILE = 32, 8
"""Columns of V, one per thread, and keys of a tile."""
STAGES = 2
ROW_BYTES = 4 * COLUMNS
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"


def wait(k: Builder, bar: Ptr[Any], parity: Any) -> None:
    """Waits until the phase of that parity is over."""
    with k.while_(lambda: ~k.op("mbarrier.try_wait.parity.shared::cta.b64", bar, parity)):
        pass


# -- 31, 33: tiles on their way ----------------------------------------------------------------------------------------


def stream(bug: str, case: Case) -> Kernel:
    """o = p V for one row of weights: thread 0 has bulk copies bring tiles of V to two stages, ahead of the sums."""

    @kernel(arch=case.arch)
    def stream(k: Builder, p: Ptr[f32], value: Ptr[f32], o: Ptr[f32], keys: u32) -> None:
        tile = k.shared(f32, STAGES * TILE * COLUMNS, align=128)
        full = k.shared(u64, STAGES)
        column = k.tid.x
        with k.if_(column == 0):
            for n in range(STAGES):
                k.op("mbarrier.init.shared::cta.b64", full + n, 1)
        k.barrier()
        tiles: Any = (keys + (TILE - 1)) // TILE

        def bring(t: Any) -> None:
            stage, first = t % STAGES, t * TILE
            left: Any = keys - first
            size = k.min(left, TILE) * ROW_BYTES
            expected = TILE * ROW_BYTES if bug == "bytes" else size
            k.op("mbarrier.arrive.expect_tx.shared::cta.b64", full + stage, expected)
            k.op(LOAD, tile + stage * (TILE * COLUMNS), value + first * COLUMNS, size, full + stage)

        with k.if_(column == 0):
            with k.loop(k.min(tiles, STAGES)) as ahead:
                bring(ahead)

        total = k.var(f32, 0.0)
        with k.loop(tiles) as t:
            stage = t % STAGES
            wait(k, full + stage, 0 if bug == "phase" else (t // STAGES) & 1)
            here, weights = tile + (stage * (TILE * COLUMNS) + column), p + t * TILE
            left: Any = keys - t * TILE
            with k.loop(k.min(left, TILE)) as j:
                total.set(k.fma(weights[j], here[j * COLUMNS], total))
            k.barrier()  # the stage is free
            with k.if_((column == 0) & (t + STAGES < tiles)):
                bring(t + STAGES)
        o[column] = total

    return stream()


def _streams(bug: str) -> Callable[[bool, Case], Kernel]:
    return lambda fixed, case: stream("" if fixed else bug, case)


def _streamed(built: Any, case: Case) -> Trial:
    random = np.random.default_rng(7)
    p = random.random(case.keys, np.float32)
    v = random.standard_normal((case.keys, COLUMNS)).astype(np.float32)
    o = np.zeros(COLUMNS, np.float32)
    return finders.checked("synccheck", case, built, 1, COLUMNS, p, v, o, case.keys, output=o, right=p @ v)


# -- 32: two ways to memory --------------------------------------------------------------------------------------------


def divide(fixed: bool, case: Case) -> Kernel:
    """The end of attention: 128 threads divide O by its row's sum into a tile, which a bulk copy takes away."""
    D = case.dim

    @kernel(arch=case.arch)
    def divide(k: Builder, acc: Ptr[f32], total: Ptr[f32], o: Ptr[f32]) -> None:
        tile = k.shared(f32, 128 * D, align=128)
        row = k.tid.x
        share = k.rcp(total[row])
        for d in range(D):
            tile[row * D + d] = acc[row * D + d] * share
        if fixed:
            k.op("fence.proxy.async.shared::cta")
        else:
            with k.if_(row == 0):
                k.op("fence.proxy.async.shared::cta")
        k.barrier()
        with k.if_(row == 0):
            k.op(STORE, o, tile, 4 * 128 * D)
            k.op("cp.async.bulk.commit_group")
            k.op("cp.async.bulk.wait_group.read", 0)

    return divide()


def _divided(built: Any, case: Case) -> Trial:
    random = np.random.default_rng(8)
    acc = random.standard_normal((128, case.dim)).astype(np.float32)
    total = random.uniform(1, 9, 128).astype(np.float32)
    o = np.zeros_like(acc)
    return finders.checked("synccheck", case, built, 1, 128, acc, total, o, output=o, right=acc / total[:, None])


# -- 34: registers in flight -------------------------------------------------------------------------------------------

KEYS, DEPTH = 16, 64
"""Keys of a tile, and elements of a row."""


def tensor_scores(fixed: bool, case: Case) -> Kernel:
    """The sums of S = Q K' over two tiles of keys, by wgmma: the scores of a tile are added while the next one's are
    computed. They are left as their fragments lie in registers."""

    @kernel(arch=case.arch)
    def tensor_scores(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32], tiles: u32) -> None:
        query = Panels(k.dynamic_shared(u32, align=1024), 64, DEPTH)
        keys = Panels(query.tile + query.bytes // 4, 2 * KEYS, DEPTH)
        thread = k.tid.x
        query.load(k, q.cast(u32), thread, k.mov(64, u32))
        keys.load(k, key.cast(u32), thread, tiles * KEYS)
        scores = [k.vars(f32, 4, 0.0) for _ in range(KEYS // 8)]
        total = [k.vars(f32, 4, 0.0) for _ in range(KEYS // 8)]
        adds, replaces = thread < 128, thread >= 128
        k.op("fence.proxy.async.shared::cta")
        k.barrier()
        of_query, of_keys = query.descriptor(k), keys.descriptor(k)
        with k.loop(tiles) as t:
            if fixed:
                k.op("wgmma.wait_group.sync.aligned", 0)
            for sums, values in zip(total, scores, strict=True):  # of the tile before; zeros at first
                for n in range(4):
                    sums[n] += values[n]
            k.op("wgmma.fence.sync.aligned")
            of_tile = of_keys + k.cvt(u64, t) * keys.down(1)
            for step in range(DEPTH // 16):
                a, b = of_query + query.along_row(step), of_tile + keys.along_row(step)
                product(k, scores, a, b, "f16", adds=adds if step else replaces)
            k.op("wgmma.commit_group.sync.aligned")
        k.op("wgmma.wait_group.sync.aligned", 0)
        for eighth, (sums, values) in enumerate(zip(total, scores, strict=True)):
            for n in range(4):
                s[(4 * eighth + n) * 128 + thread] = sums[n] + values[n]

    return tensor_scores()


def _tensor_scores(built: Any, case: Case) -> Trial:
    """`case.choice` tiles of keys."""
    random = np.random.default_rng(9)
    q, key = (random.standard_normal((rows, DEPTH)).astype(np.float16) for rows in (64, case.choice * KEYS))
    s = np.zeros((KEYS // 8, 2, 2, 4, 8, 4), np.float32)  # eight keys, below, beside, then warp, row and pair of keys
    exact = q.astype(np.float64) @ key.astype(np.float64).reshape(-1, KEYS, DEPTH).sum(axis=0).T
    fragments = exact.reshape(4, 2, 8, KEYS // 8, 4, 2).transpose(3, 1, 5, 0, 2, 4)
    args, shared = (q, key, s, case.choice), 2 * DEPTH * (64 + 2 * KEYS)
    return finders.checked("synccheck", case, built, 1, 128, *args, shared=shared, output=s, right=fragments)


EXHIBITS = (
    Exhibit(
        31, "A wait whose phase is never flipped", "synccheck",
        "Tiles of V come to two stages, and each stage has an mbarrier whose phases alternate between parity 0 and 1. "
        "The loop always waits for parity 0. The first tile of each stage is waited for; for the next one the phase of "
        "parity 0 is long over, the wait passes at once, and the sums read the old tile.",
        _streams("phase"), _streamed, (Case("4 tiles", keys=32, arch="sm_90"),),
        (Case("2 tiles", keys=16, arch="sm_90"),),
    ),
    Exhibit(
        32, "One thread fences for all", "synccheck",
        "The threads store O to shared memory, meet at a barrier, and a bulk copy takes the tile to global memory. The "
        "barrier orders threads; the copy reads shared memory by another way, the async proxy, and sees what a thread "
        "has stored after that thread's fence.proxy.async. Here only the thread that starts the copy executes one, "
        "before the barrier: it covers its own stores.",
        divide, _divided, (Case("D = 4", arch="sm_90"),),
    ),
    Exhibit(
        33, "More bytes expected than come", "synccheck",
        "Each copy is announced with the bytes of a whole tile. The last tile may be shorter, and its copy is: the "
        "missing bytes never come, the phase does not end, and the kernel hangs. With lengths that are multiples of "
        "the tile all is well.",
        _streams("bytes"), _streamed, (Case("20 keys, tile 8", keys=20, arch="sm_90"),),
        (Case("16 keys, tile 8", keys=16, arch="sm_90"),),
    ),
    Exhibit(
        34, "Sums of a wgmma are read while it runs", "synccheck",
        "The scores of one tile are to be added up while the tensor cores compute those of the next. But both are in "
        "the same registers, and from the second round on the loop reads these before it has waited. One wait stands "
        "after the loop: with a single tile it is enough.",
        tensor_scores, _tensor_scores, (Case("2 tiles", arch="sm_90a", choice=2, tolerance=1e-4),),
        (Case("1 tile", arch="sm_90a", choice=1, tolerance=1e-4),),
    ),
)  # fmt: skip
