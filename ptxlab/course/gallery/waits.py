"""Exhibits of Hopper's asynchronous machines: who waits for whom, for how many bytes, and by which way to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, f16, f32, kernel, u32, u64
from ptxlab.course.gallery import look
from ptxlab.course.gallery.exhibit import Case, Exhibit, Trial
from ptxlab.kernels.warpgroup import Panels, product

COLUMNS, TILE = 32, 8
"""Columns of V, one a thread, and keys of a tile."""
STAGES = 2
ROW_BYTES = 4 * COLUMNS
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"


def wait(k: Builder, bar: Ptr[Any], parity: Any) -> None:
    """Waits until the phase of that parity is over."""
    with k.while_(lambda: ~k.op("mbarrier.try_wait.parity.shared::cta.b64", bar, parity)):
        pass


# -- 25, 27: tiles on their way ----------------------------------------------------------------------------------------


def stream(bug: str, case: Case) -> Kernel:
    """o = p V for one row of weights: thread 0 has bulk copies bring tiles of V to two stages, ahead of the sums."""

    @kernel(arch=case.arch)
    def stream(k: Builder, p: Ptr[f32], value: Ptr[f32], o: Ptr[f32], keys: u32) -> None:
        tile = k.shared(f32, STAGES * TILE * COLUMNS, align=128)
        full = k.shared(u64, STAGES)
        column = k.tid.x
        with k.if_(column == 0):
            for stage in range(STAGES):
                k.op("mbarrier.init.shared::cta.b64", full + stage, 1)
        k.barrier()
        tiles = (keys + (TILE - 1)) // TILE

        def bring(t: Any) -> None:
            stage, first = t % STAGES, t * TILE
            size = k.min(keys - first, TILE) * ROW_BYTES
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
            with k.loop(k.min(keys - t * TILE, TILE)) as j:
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
    return look.checked(
        "synccheck", built, 1, COLUMNS, p, v, o, case.keys, judge=lambda: look.judged(o, p @ v, case.tolerance)
    )


# -- 26: two ways to memory --------------------------------------------------------------------------------------------


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
    return look.checked(
        "synccheck", built, 1, 128, acc, total, o, judge=lambda: look.judged(o, acc / total[:, None], case.tolerance)
    )


# -- 28: registers in flight -------------------------------------------------------------------------------------------

KEYS, DEPTH = 16, 64


def tensor_scores(fixed: bool, case: Case) -> Kernel:
    """S = Q K' by wgmma, for 64 rows, 16 keys and 64 elements of a row; S is left as its fragments lie in registers."""

    @kernel(arch=case.arch)
    def tensor_scores(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32]) -> None:
        query = Panels(k.dynamic_shared(u32, align=1024), 64, DEPTH)
        keys = Panels(query.tile + query.bytes // 4, KEYS, DEPTH)
        thread = k.tid.x
        query.load(k, q.cast(u32), thread, k.mov(64, u32))
        keys.load(k, key.cast(u32), thread, k.mov(KEYS, u32))
        scores = [k.vars(f32, 4, 0.0) for _ in range(KEYS // 8)]
        adds = k.ntid.x > 0
        k.op("fence.proxy.async.shared::cta")
        k.barrier()
        k.op("wgmma.fence.sync.aligned")
        a, b = query.descriptor(k), keys.descriptor(k)
        for step in range(DEPTH // 16):
            product(k, scores, a + query.along_row(step), b + keys.along_row(step), "f16", adds=adds)
        k.op("wgmma.commit_group.sync.aligned")
        k.op("wgmma.wait_group.sync.aligned", 0 if fixed else 1)
        for n, score in enumerate(value for of_eight in scores for value in of_eight):
            s[n * 128 + thread] = score

    return tensor_scores()


def _tensor_scores(built: Any, case: Case) -> Trial:
    random = np.random.default_rng(9)
    q, key = (random.standard_normal((rows, DEPTH)).astype(np.float16) for rows in (64, KEYS))
    s = np.zeros((KEYS // 8, 2, 2, 4, 8, 4), np.float32)  # eight keys, below, beside, then warp, row and pair of keys
    exact = q.astype(np.float64) @ key.T.astype(np.float64)
    fragments = exact.reshape(4, 2, 8, KEYS // 8, 4, 2).transpose(3, 1, 5, 0, 2, 4)
    return look.checked(
        "synccheck", built, 1, 128, q, key, s, shared=2 * DEPTH * (64 + KEYS),
        judge=lambda: look.judged(s, fragments, case.tolerance),
    )  # fmt: skip


EXHIBITS = (
    Exhibit(
        25, "A wait whose phase is never flipped", "synccheck",
        "Tiles of V come to two stages, and each stage has an mbarrier whose phases alternate between parity 0 and 1. "
        "The loop always waits for parity 0. The first tile of each stage is waited for; for the next one the phase of "
        "parity 0 is long over, the wait passes at once, and the sums read the old tile.",
        _streams("phase"), _streamed, (Case("4 tiles", keys=32, arch="sm_90"),),
        (Case("2 tiles", keys=16, arch="sm_90"),),
    ),
    Exhibit(
        26, "No fence between a store and a bulk copy", "synccheck",
        "The threads store O to shared memory, meet at a barrier, and a bulk copy takes the tile to global memory. The "
        "barrier orders threads; the copy reads shared memory by another way, the async proxy, and may see what was "
        "there before. It mostly does not, so tests pass.",
        divide, _divided, (Case("D = 4", arch="sm_90"),),
    ),
    Exhibit(
        27, "More bytes expected than come", "synccheck",
        "Each copy is announced with the bytes of a whole tile. The last tile may be shorter, and its copy is: the "
        "missing bytes never come, the phase does not end, and the kernel hangs. With lengths that are multiples of "
        "the tile all is well.",
        _streams("bytes"), _streamed, (Case("20 keys, tile 8", keys=20, arch="sm_90"),),
        (Case("16 keys, tile 8", keys=16, arch="sm_90"),),
    ),
    Exhibit(
        28, "Sums of a wgmma are read while it runs", "synccheck",
        "wgmma.wait_group takes the number of groups that may stay in flight. With 1 the only group may, so nothing is "
        "waited for: the scores are read while the tensor cores still compute them. Somebody had two groups in flight "
        "here, and removed one.",
        tensor_scores, _tensor_scores, (Case("64 rows, 16 keys", arch="sm_90a", tolerance=1e-4),),
    ),
)  # fmt: skip
