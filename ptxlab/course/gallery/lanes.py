"""Exhibits of threads that work together: the softmax of a row over a warp, exchanges between lanes and warps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, Var, f16, f32, kernel, u32
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit

LOG2E = math.log2(math.e)
ALL_LANES = 0xFFFFFFFF


def total(k: Builder, x: Var[f32]) -> None:
    """`x` becomes its sum over the warp, in every lane."""
    for distance in (16, 8, 4, 2, 1):
        x += k.shfl(x, distance, 31, ALL_LANES, mode="bfly")


# -- 2: a softmax for each thread --------------------------------------------------------------------------------------


def warp_row(fixed: bool, case: Case) -> Kernel:
    """Attention with one warp per row: lane n takes the keys n, n + 32, ..., and the lanes' rows are added up."""
    D = case.dim

    @kernel
    def warp_row(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], keys: u32, scale: f32) -> None:
        row, lane = k.ctaid.x, k.tid.x
        scale_log2e = scale * LOG2E
        query = k.load(q + row * D, D)
        acc = k.vars(f32, D, 0.0)
        row_max = k.var(f32, -math.inf)
        row_sum = k.var(f32, 0.0)
        with k.loop(keys, start=lane, step=32) as j:
            offset = j * D
            key_row, value_row = key + offset, value + offset
            score = k.var(f32, 0.0)
            for d in range(D):
                score.set(k.fma(query[d], key_row[d], score))
            score *= scale_log2e
            new_max = k.max(row_max, score)
            rescale = k.exp2(row_max - new_max)
            weight = k.exp2(score - new_max)
            row_sum.set(k.fma(row_sum, rescale, weight))
            for d in range(D):
                acc[d] *= rescale
                acc[d].set(k.fma(weight, value_row[d], acc[d]))
            row_max.set(new_max)

        if fixed:
            warp_max = k.var(f32, k.copy(row_max))
            for distance in (16, 8, 4, 2, 1):
                warp_max.set(k.max(warp_max, k.shfl(warp_max, distance, 31, ALL_LANES, mode="bfly")))
            shrink = k.exp2(row_max - warp_max)
            row_sum *= shrink
            for d in range(D):
                acc[d] *= shrink
            total(k, row_sum)
        share = k.rcp(k.select(row_sum > 0.0, row_sum, 1.0))
        o_row = o + row * D
        for d in range(D):
            acc[d] *= share
            total(k, acc[d])
            with k.guard(lane == 0):
                o_row[d] = acc[d]

    return warp_row()


def _warp_row(built: Any, case: Case) -> Trial:
    def attend(q: finders.Array, k: finders.Array, v: finders.Array) -> finders.Array:
        o = np.zeros_like(q)
        finders.launch(built, len(q), 32, q, k, v, o, len(k), case.dim**-0.5, device="step")
        return o

    return finders.by_key(attend, case)


# -- 9: the wrong row of P ---------------------------------------------------------------------------------------------


def tensor_product(fixed: bool, case: Case) -> Kernel:
    """O = P V on a tensor core: P is 16 x 16, V 16 x 8, and every lane loads its part of the fragments."""

    @kernel
    def tensor_product(k: Builder, p: Ptr[f16], value: Ptr[f16], o: Ptr[f32]) -> None:
        lane = k.tid.x
        group, member = lane >> 2, lane & 3
        v_row = member * 2
        a, b = [], []
        for beside in (0, 8):
            for below in (0, 8):
                if fixed:
                    low = p + ((group + below) * 16 + v_row + beside)
                    a.append(k.pack(low[0], low[1]))
                else:
                    low = p + (v_row + beside) * 16
                    a.append(k.pack(low[0], low[16]))
            at = value + (v_row * 8 + group)
            b.append(k.pack(at[8 * beside], at[8 * beside + 8]))
        c = k.vars(f32, 4, 0.0)
        k.op("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, c, into=c)
        o_row = o + (group * 8 + v_row)
        for n, offset in enumerate((0, 1, 64, 65)):
            o_row[offset] = c[n]

    return tensor_product()


def _tensor_product(built: Any, case: Case) -> Trial:
    """`case.choice`: 1 for a P whose elements are all the same."""
    random = np.random.default_rng(2)
    p = random.random((16, 16)).astype(np.float16)
    if case.choice:
        p[:] = np.float16(1 / 16)
    v = random.standard_normal((16, 8)).astype(np.float16)
    o = np.zeros((16, 8), np.float32)
    finders.launch(built, 1, 32, p, v, o, device="step")
    return finders.by_element(o, p.astype(np.float64) @ v.astype(np.float64), case.tolerance)


# -- 12: one word for two warps ----------------------------------------------------------------------------------------


def two_warps(fixed: bool, case: Case) -> Kernel:
    """The sum of 64 weights: both warps pass their sums to the block through the same word of shared memory."""

    @kernel
    def two_warps(k: Builder, x: Ptr[f32], o: Ptr[f32]) -> None:
        word = k.shared(f32, 1)
        thread = k.tid.x
        warp, lane = thread >> 5, thread & 31
        own = k.var(f32, x[thread])
        total(k, own)
        with k.if_((warp == 0) & (lane == 0)):
            word[0] = own
        k.barrier()
        first = word[0]
        if fixed:
            k.barrier()
        with k.if_((warp == 1) & (lane == 0)):
            word[0] = own
        k.barrier()
        second = word[0]
        o[thread] = first + second

    return two_warps()


def _two_warps(built: Any, case: Case) -> Trial:
    x = np.arange(64, dtype=np.float32)
    o = np.zeros_like(x)
    return finders.checked("racecheck", case, built, 1, 64, x, o, output=o, right=x.sum())


# -- 16: the clamp of a shuffle ----------------------------------------------------------------------------------------


def broadcast(fixed: bool, case: Case) -> Kernel:
    """Subtracts the score of one lane, `case.choice`, from those of all."""

    @kernel
    def broadcast(k: Builder, x: Ptr[f32], o: Ptr[f32]) -> None:
        lane = k.tid.x
        score = x[lane]
        from_lane = k.shfl(score, case.choice, 31 if fixed else 32, ALL_LANES, mode="idx")
        o[lane] = score - from_lane

    return broadcast()


def _broadcast(built: Any, case: Case) -> Trial:
    x = np.arange(32, dtype=np.float32)
    o = np.zeros_like(x)
    return finders.checked("synccheck", case, built, 1, 32, x, o, output=o, right=x - x[case.choice])


EXHIBITS = (
    Exhibit(
        2, "A softmax for each thread instead of each row", "error by key",
        "The keys of a row are spread over the lanes of a warp. Each lane keeps a maximum and a sum of its own, "
        "divides by its own sum, and the results are added: 32 softmaxes instead of one. The lanes must agree on a "
        "maximum and a sum before anyone divides.",
        warp_row, _warp_row, (Case("40 keys", rows=4, keys=40),), (Case("one key a row", rows=4, keys=1),),
    ),
    Exhibit(
        9, "The tensor core is given column 0 of P", "error plot",
        "A fragment of P is loaded with the index of V's row where P's row belongs: P[v_row * 16] is column 0, in the "
        "wrong row. With a constant P, which is what an untrained model or a test with equal keys gives, every "
        "element is as good as any other.",
        tensor_product, _tensor_product, (Case("any P"),), (Case("constant P", choice=1),),
    ),
    Exhibit(
        12, "Two warps share one word", "racecheck",
        "Warp 0 leaves its sum in a word of shared memory, a barrier, everyone reads it. Then warp 1 leaves its own "
        "in the same word. Nothing makes it wait until warp 0 has read: when warp 1 is ahead, warp 0 reads the wrong "
        "sum. On most runs it is not.",
        two_warps, _two_warps, (Case("any"),),
    ),
    Exhibit(
        16, "shfl.sync with clamp 32", "synccheck",
        "The last operand of a shuffle is not the number of lanes but the last lane that may be read, in five bits. "
        "32 is 0 there: only lane 0 may be read, and a lane that asks for another gets its own value back. No error, "
        "just zeros.",
        broadcast, _broadcast, (Case("from lane 5", choice=5),), (Case("from lane 0", choice=0),),
    ),
)  # fmt: skip
