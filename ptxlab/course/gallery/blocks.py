"""Exhibits of memory: small kernels that reach past what is theirs, leave an output unwritten, or queue at one bank."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, u32
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.launch.buffers import out

LOG2E = 1.4426950408889634
WARPS = 4


# -- 7: shared memory from absolute 0 ----------------------------------------------------------------------------------


def normalise(fixed: bool, case: Case) -> Kernel:
    """Divides 32 weights by their sum, which every thread takes from shared memory."""

    @kernel(arch=case.arch)
    def normalise(k: Builder, x: Ptr[f32], o: Ptr[f32]) -> None:
        tile = k.shared(f32, 32)
        thread = k.tid.x
        weights = tile if fixed else k.pointer(f32, k.mov(0, u32), "shared")
        own = x[thread]
        weights[thread] = own
        k.barrier()
        total = k.var(f32, 0.0)
        with k.loop(32) as i:
            total += weights[i]
        o[thread] = own / total

    return normalise()


def _normalised(built: Any, case: Case) -> Trial:
    x = np.arange(1, 33, dtype=np.float32)
    o = np.zeros_like(x)
    return finders.checked("memcheck", case, built, 1, 32, x, o, output=o, right=x / x.sum())


# -- 10: one value a lane ----------------------------------------------------------------------------------------------


def product(fixed: bool, case: Case) -> Kernel:
    """One warp computes the 16 x D output of P V; lane n has the elements n, n + 32, n + 64, ..."""
    D = case.dim

    @kernel
    def product(k: Builder, p: Ptr[f32], value: Ptr[f32], o: Ptr[f32], keys: u32) -> None:
        lane = k.tid.x
        row, column = lane // D, lane % D
        count = 16 * D // 32
        weights = [p + (row + i * (32 // D)) * keys for i in range(count)]
        acc = k.vars(f32, count, 0.0)
        with k.loop(keys) as j:
            element = value[j * D + column]
            for i in range(count):
                acc[i].set(k.fma(weights[i][j], element, acc[i]))
        for i in range(count if fixed else 1):
            o[lane + 32 * i] = acc[i]

    return product()


def _product(built: Any, case: Case) -> Trial:
    random = np.random.default_rng(3)
    p = random.random((16, case.keys), np.float32)
    v = random.standard_normal((case.keys, case.dim)).astype(np.float32)
    o = np.zeros((16, case.dim), np.float32)
    return finders.checked("unwritten", case, built, 1, 32, p, v, out(o), case.keys, output=o, right=p @ v)


# -- 14: the merge ----------------------------------------------------------------------------------------------------


def merge(fixed: bool, case: Case) -> Kernel:
    """Four warps each sum their share of the values, and the block adds the four sums through shared memory."""
    D = case.dim

    @kernel
    def merge(k: Builder, value: Ptr[f32], o: Ptr[f32], keys: u32) -> None:
        partial = k.shared(f32, WARPS * D)
        thread = k.tid.x
        warp, lane = thread >> 5, thread & 31
        acc = k.vars(f32, D // 32, 0.0)
        with k.loop(keys, start=warp, step=WARPS) as j:
            row = value + (j * D + lane)
            for i in range(D // 32):
                acc[i] += row[32 * i]
        own = partial + (warp * D + lane)
        for i in range(D // 32):
            own[32 * i] = acc[i]
        k.barrier()
        if fixed:
            k.return_if(thread >= D)
        column = partial + thread
        total = k.var(f32, 0.0)
        for w in range(WARPS):
            total += column[w * D]
        if not fixed:
            k.return_if(thread >= D)
        o[thread] = total

    return merge()


def _merged(built: Any, case: Case) -> Trial:
    _, _, v = finders.inputs(case)
    o = np.zeros(case.dim, np.float32)
    return finders.checked(
        "memcheck", case, built, 1, 32 * WARPS, v, o, case.keys, output=o, right=v.astype(np.float64).sum(axis=0)
    )


# -- 17: the next head -------------------------------------------------------------------------------------------------


def softmax(fixed: bool, case: Case) -> Kernel:
    """The softmax of every row of scores [heads, n, D], in place: one thread per row, one grid row per head."""
    D = case.dim

    @kernel
    def softmax(k: Builder, scores: Ptr[f32], n: u32) -> None:
        row = k.thread_index()
        if fixed:
            k.return_if(row >= n)
        line = scores + (k.ctaid.y * n + row) * D
        values = k.load(line, D)
        row_max = k.var(f32, values[0])
        for d in range(1, D):
            row_max.set(k.max(row_max, values[d]))
        row_sum = k.var(f32, 0.0)
        weights = []
        for d in range(D):
            weights.append(k.exp2((values[d] - row_max) * LOG2E))
            row_sum += weights[d]
        for d in range(D):
            line[d] = weights[d] / row_sum

    return softmax()


def _softmax(built: Any, case: Case) -> Trial:
    """`case.choice` rows more than are used lie after the last one."""
    random = np.random.default_rng(4)
    used = case.heads * case.rows
    scores = random.standard_normal((used + case.choice, case.dim)).astype(np.float32)
    weights = np.exp(scores[:used].astype(np.float64))
    weights /= weights.sum(axis=1, keepdims=True)
    grid = -(-case.rows // 32), case.heads
    return finders.checked("memcheck", case, built, grid, 32, scores, case.rows, output=scores[:used], right=weights)


# -- 18: one bank ------------------------------------------------------------------------------------------------------


def scores(fixed: bool, case: Case) -> Kernel:
    """The scores of one query with 32 keys: one thread per key, K's rows in shared memory."""
    D = case.dim
    stride = D + 1 if fixed else D

    @kernel
    def scores(k: Builder, q: Ptr[f32], key: Ptr[f32], o: Ptr[f32]) -> None:
        tile = k.shared(f32, 32 * stride)
        lane = k.tid.x
        with k.loop(32) as j:
            tile[j * stride + lane] = key[j * D + lane]
        k.barrier()
        row = tile + lane * stride
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(q[d], row[d], score))
        o[lane] = score

    return scores()


def _conflicts(built: Any, case: Case) -> Trial:
    q, keys, _ = finders.inputs(case)
    o = np.zeros(32, np.float32)
    run = finders.launch(built, 1, 32, q[0], keys, o, counters=True)
    assert run.counters is not None
    ok, result = finders.judged(o, keys.astype(np.float64) @ q[0], case.tolerance)
    lines = {line: c for line, c in run.counters.by_line.items() if c.conflicts}
    total = run.counters["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
    result += f"; {total} bank conflicts"
    if not lines:
        return Trial(ok, result)
    line, worst = next(iter(lines.items()))
    source = " ".join(built.ptx.splitlines()[line - 1].split("//")[0].split())
    found = (
        f"counter: PTX line {line}: {source} takes {worst.wavefronts // worst.requests} wavefronts where "
        f"{worst.ideal_wavefronts // worst.requests} would do; {len(lines)} such lines, {total} bank conflicts"
    )
    return Trial(False, result, found, line)


EXHIBITS = (
    Exhibit(
        7, "Shared memory from absolute 0", "memcheck",
        "The kernel stores its tile at shared address 0 instead of asking where its array lies. Up to sm_89 the array "
        "is at 0 and all is well. From sm_90 on the first 1024 bytes belong to the system: the array begins at 0x400, "
        "and what the kernel reads and writes is not its own.",
        normalise, _normalised, (Case("sm_90", arch="sm_90"),),
        (Case("sm_80", arch="sm_80"), Case("sm_89", arch="sm_89")),
    ),
    Exhibit(
        10, "Each lane stores one of its values", "unwritten elements of pl.out",
        "A warp computes a tile of 16 x D outputs, several a lane, and each lane stores its first. The 32 values that "
        "are written are right; a test that looks at the beginning of the output passes. The rest of the buffer is "
        "what it was, often the right answer of the run before.",
        product, _product, (Case("D = 8", dim=8, keys=16, tolerance=1e-4),),
    ),
    Exhibit(
        14, "The merge reads past the end of shared memory", "memcheck",
        "At the end 128 threads add up four partial sums, one thread per column. With fewer than 128 columns the last "
        "threads have none, and read on: first the next warp's sums, then past the end of the array. Their results "
        "are thrown away, so the output is right wherever the read does not trap.",
        merge, _merged, tuple(Case(f"D = {dim}", dim=dim) for dim in (32, 64, 96)), (Case("D = 128", dim=128),),
    ),
    Exhibit(
        17, "Rows past the end are the next head's", "memcheck",
        "The grid has whole blocks of 32 rows, and nothing stops the rows past the last one. After one head lies the "
        "next: its first rows are computed twice, in place, by threads that race. After the last head there is "
        "nothing; with one head and a padded buffer nobody notices.",
        softmax, _softmax, (Case("two heads", rows=40, heads=2),),
        (Case("one head, padded", rows=40, choice=24),),
    ),
    Exhibit(
        18, "32 lanes at one bank", "counter",
        "Each thread reads a row of K from shared memory, and a row of 32 floats is exactly as long as there are "
        "banks: all 32 lanes want the same bank at the same time, and are served one after the other. One float of "
        "padding after each row puts them in 32 different banks.",
        scores, _conflicts, (Case("D = 32", dim=32),),
    ),
)  # fmt: skip
