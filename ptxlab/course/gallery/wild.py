"""Exhibits found in the wild: mistakes that stand, or stood, in public code, in kernels of our own that have the same.

The project, the file and the kernel are named; the code is not theirs. What is shown is the mistake and nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.builder import Builder, Kernel, Ptr, f16, f32, kernel, u32, u64
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit

LOG2E = math.log2(math.e)
TILE = 32
SHAPE = "m16n16k16"


# -- 25: a scan in place -----------------------------------------------------------------------------------------------


def scan(fixed: bool, case: Case) -> Kernel:
    """y[i] = x[0] + ... + x[i], in one block: in each step a thread adds what stands `stride` places before it."""
    threads = case.rows

    @kernel
    def scan(k: Builder, x: Ptr[f32], y: Ptr[f32]) -> None:
        thread = k.tid.x
        sums = k.shared(f32, threads)
        sums[thread] = x[thread]
        stride = 1
        while stride < threads:
            k.barrier()
            if fixed:
                before = k.var(f32, 0.0)
                with k.if_(thread >= stride):
                    before.set(sums[thread - stride])
                k.barrier()
                sums[thread] = sums[thread] + before
            else:
                with k.if_(thread >= stride):
                    sums[thread] = sums[thread] + sums[thread - stride]
            stride *= 2
        y[thread] = sums[thread]

    return scan()


def _scanned(built: Any, case: Case) -> Trial:
    x = np.arange(1, case.rows + 1, dtype=np.float32)
    y = np.zeros_like(x)
    return finders.checked("racecheck", case, built, 1, case.rows, x, y, output=y, right=np.cumsum(x))


# -- 26: a lock --------------------------------------------------------------------------------------------------------

LOCK = """\
.version 7.0
.target sm_80
.address_size 64

.visible .entry total(
    .param .u64 mutex,
    .param .u64 sum,
    .param .u64 x
)
{
    .reg .pred %taken;
    .reg .u32 %block, %old;
    .reg .u64 %mutex, %sum, %x;
    .reg .f32 %own, %so_far;

    ld.param.u64 %mutex, [mutex];
    ld.param.u64 %sum, [sum];
    ld.param.u64 %x, [x];
    mov.u32 %block, %ctaid.x;
    mad.wide.u32 %x, %block, 4, %x;
    ld.global.f32 %own, [%x];

TRY:
    atom.global.cas.b32 %old, [%mutex], 0, 1;
    setp.ne.u32 %taken, %old, 0;
    @%taken bra TRY;
{fence}
    ld.global.f32 %so_far, [%sum];
    add.rn.f32 %so_far, %so_far, %own;
    st.global.f32 [%sum], %so_far;
{fence}
    atom.global.exch.b32 %old, [%mutex], 0;
    ret;
}
"""


def lock(fixed: bool, case: Case) -> str:
    """Each block adds its number to a sum, one block after the other."""
    return LOCK.replace("{fence}\n", "    fence.acq_rel.gpu;\n" if fixed else "")


def _locked(built: Any, case: Case) -> Trial:
    x, total = np.arange(1, case.rows + 1, dtype=np.float32), np.zeros(1, np.float32)
    mutex = np.zeros(1, np.uint32)
    return finders.checked(
        "racecheck", case, built, case.rows, 1, mutex, total, x, output=total, right=x.sum(keepdims=True)
    )


# -- 27: an mbarrier that is not there yet -----------------------------------------------------------------------------


def mirror(fixed: bool, case: Case) -> Kernel:
    """y is x from its end: each thread takes the number of its mirror image when all have arrived at an mbarrier."""

    @kernel
    def mirror(k: Builder, x: Ptr[f32], y: Ptr[f32]) -> None:
        arrived, numbers, thread = k.shared(u64, 1), k.shared(f32, 64), k.tid.x
        with k.if_(thread == 0):
            k.op("mbarrier.init.shared.b64", arrived, 64)
        if fixed:
            k.barrier()
        numbers[thread] = x[thread]
        state = k.op("mbarrier.arrive.shared.b64", arrived)
        with k.while_(lambda: ~k.op("mbarrier.test_wait.shared.b64", arrived, state)):
            pass
        y[thread] = numbers[63 - thread]

    return mirror()


def _mirrored(built: Any, case: Case) -> Trial:
    x = np.arange(64, dtype=np.float32)
    y = np.zeros_like(x)
    return finders.checked("racecheck", case, built, 1, 64, x, y, output=y, right=x[::-1])


# -- 28: two barriers, one on each side of a branch --------------------------------------------------------------------

BRANCH = """\
.version 7.0
.target sm_80
.address_size 64

.visible .entry combine(
    .param .u64 x,
    .param .u64 y
)
.maxntid 64, 1, 1
{
    .reg .pred %combines;
    .reg .u32 %thread, %own;
    .reg .u64 %x, %y;
    .reg .f32 %number, %other;
    .shared .align 4 .f32 numbers[64];

    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    mov.u32 %thread, %tid.x;
    mad.wide.u32 %x, %thread, 4, %x;
    mad.wide.u32 %y, %thread, 4, %y;
    mov.u32 %own, numbers;
    mad.lo.u32 %own, %thread, 4, %own;
    ld.global.f32 %number, [%x];
    st.shared.f32 [%own], %number;
    setp.lt.u32 %combines, %thread, 32;
{meet}    @!%combines bra OTHERS;
{here}    ld.shared.f32 %other, [%own+128];
    add.rn.f32 %number, %number, %other;
    st.global.f32 [%y], %number;
    bra END;
OTHERS:
{here}END:
    ret;
}
"""


def combine(fixed: bool, case: Case) -> str:
    """The first warp adds the numbers of the second one to its own."""
    barrier = "    bar.sync 0;\n"
    return BRANCH.replace("{meet}", barrier if fixed else "").replace("{here}", "" if fixed else barrier)


def _combined(built: Any, case: Case) -> Trial:
    x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    return finders.checked("synccheck", case, built, 1, 64, x, y, output=y, right=x[:32] + x[32:])


# -- 29: a fragment stored, and read at once ---------------------------------------------------------------------------


def stored(fixed: bool, case: Case) -> Kernel:
    """The sum of each row of A B, 16 x 16: the warp stores the product to shared memory, and a lane reads a row."""

    @kernel
    def stored(k: Builder, a: Ptr[f16], b: Ptr[f16], y: Ptr[f32]) -> None:
        tile, lane = k.shared(f32, (16, 16)), k.tid.x
        left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a, 16)
        right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b, 16)
        product = k.vars(f32, 8, 0.0)
        k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, product, into=product)
        k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.shared.f32", tile, product, 16)
        if fixed:
            k.op("bar.warp.sync", 0xFFFFFFFF)
        with k.if_(lane < 16):
            total = k.var(f32, 0.0)
            for column in range(16):
                total += tile[lane, column]
            y[lane] = total

    return stored()


def _stored(built: Any, case: Case) -> Trial:
    random = np.random.default_rng(4)
    a, b = (random.integers(-2, 3, (16, 16)).astype(np.float16) for _ in range(2))
    y = np.zeros(16, np.float32)
    right = (a.astype(np.float32) @ b.astype(np.float32)).sum(axis=1)
    return finders.checked("racecheck", case, built, 1, 32, a, b, y, output=y, right=right)


# -- 30: tiles without a guard -----------------------------------------------------------------------------------------


def heads(fixed: bool, case: Case) -> Kernel:
    """Attention, a block of 32 threads for each head: tiles of 32 keys, and of 32 query rows, a thread for each."""
    D = case.dim

    @kernel
    def heads(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32) -> None:
        thread, start, last = k.tid.x, k.ctaid.x * n * D, n - 1
        k_tile, v_tile = k.shared(f32, (TILE, D)), k.shared(f32, (TILE, D))
        with k.loop(n, step=TILE) as first_row:
            row = first_row + thread
            query = k.load(q + start + k.min(row, last) * D, D)
            acc, row_max, row_sum = k.vars(f32, D, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
            with k.loop(n, step=TILE) as first:
                k.barrier()
                mine = start + (k.min(first + thread, last) if fixed else first + thread) * D
                for d in range(D):
                    k_tile[thread, d], v_tile[thread, d] = key[mine + d], value[mine + d]
                k.barrier()
                count = k.mov(TILE, u32)
                if fixed:
                    count = k.min(n - first, TILE)
                with k.loop(count) as j:
                    score = k.var(f32, 0.0)
                    for d in range(D):
                        score.set(k.fma(query[d], k_tile[j, d], score))
                    score *= scale * LOG2E
                    new_max = k.max(row_max, score)
                    rescale, weight = k.exp2(row_max - new_max), k.exp2(score - new_max)
                    row_sum.set(k.fma(row_sum, rescale, weight))
                    for d in range(D):
                        acc[d].set(k.fma(weight, v_tile[j, d], acc[d] * rescale))
                    row_max.set(new_max)
            with k.if_(row < n):
                for d in range(D):
                    o[start + row * D + d] = acc[d] / row_sum

    return heads()


def _heads(built: Any, case: Case) -> Trial:
    q, k, v = (x[0] for x in reference.random_inputs(1, 2, 2, case.rows, case.rows, case.dim, sigma=1.0, seed=8))
    o = np.zeros_like(q)
    right = reference.attention(q[None], k[None], v[None]).o[0]
    args = q, k, v, o, case.rows, case.dim**-0.5
    return finders.checked("memcheck", case, built, 2, TILE, *args, output=o, right=right)


EXHIBITS = (
    Exhibit(
        25, "A scan reads what its neighbour is writing", "racecheck",
        "In each step of a Kogge-Stone scan a thread adds the number `stride` places before its own, in place. The "
        "barrier before the step lets the sums of the last one be read. Nothing keeps a neighbour in another warp from "
        "storing its new sum first: the reading and the writing also need a barrier between them.",
        scan, _scanned, (Case("64 numbers", rows=64),),
        place="Programming Massively Parallel Processors, 3rd edition, Kogge_Stone_scan_kernel, and the many programs "
        "that follow it. The repair, a second barrier, is that of the 4th edition.",
    ),
    Exhibit(
        26, "A lock hands over the lock, not the data", "racecheck",
        "Each block takes a lock with an atomic compare-and-swap, adds its number to a sum, and gives the lock back "
        "with an atomic exchange. Atomics order themselves; the ordinary load and store between them are not ordered "
        "with them. The next block may hold the lock and read an old sum, which a fence on either side forbids.",
        lock, _locked, (Case("three blocks", rows=3),), (Case("one block", rows=1),),
        place="CUDA by Example, appendix A, lock.h, struct Lock, as in wlandau/gpu, Code/CUDA_C/common/lock.h. The "
        "book's errata add the two fences.",
    ),
    Exhibit(
        27, "An mbarrier is used before it is there", "racecheck",
        "Thread 0 makes an mbarrier, and all threads arrive at it. A warp that is faster than warp 0 arrives at eight "
        "bytes of which nobody knows what they hold: the count is lost, and a thread waits for ever. Between the "
        "making and the first arrival all threads have to meet.",
        mirror, _mirrored, (Case("64 threads", rows=64),),
        place="NVIDIA/Fuser, the kernel of the test MbarrierTest.Simple, which hung on an H100: "
        "https://github.com/NVIDIA/Fuser/issues/1552. Its repair is a __syncthreads().",
    ),
    Exhibit(
        28, "A barrier on each side of a branch", "synccheck",
        "Half of the warps combine partial results, the others have nothing to do, and each side of the branch has a "
        "barrier of its own. The numbers come out right where the hardware only counts arrivals. What is promised is a "
        "barrier that all threads of the block execute: one, in front of the branch.",
        combine, _combined, (Case("two warps", rows=64),),
        place="ggml-org/llama.cpp, ggml/src/ggml-cuda/fattn-mma-f16.cuh, flash_attn_ext_f16_process_tile: "
        "https://github.com/ggml-org/llama.cpp/issues/27678. The backend's tests passed.",
    ),
    Exhibit(
        29, "A fragment is stored, and read at once", "racecheck",
        "A warp stores its product with wmma.store, and each lane reads a row of it. All lanes execute the store "
        "together, which says nothing about when the others' elements can be seen. A bar.warp.sync does.",
        stored, _stored, (Case("one warp"),),
        place="JustVugg/colibri, c/backend_cuda.cu, grouped_s4_wmma; the two kernels beside it have the __syncwarp(): "
        "https://github.com/JustVugg/colibri/issues/1099.",
    ),
    Exhibit(
        30, "Whole tiles of a sequence that is not whole", "memcheck",
        "The number of tiles is rounded up, and each tile is loaded and used whole. After a head's last key comes "
        "the next head's first one, so its keys get weights in rows that must not see them. After the last head "
        "there is nothing.",
        heads, _heads, (Case("40 rows, two heads", rows=40),), (Case("32 rows, two heads", rows=32),),
        place="tspeterkim/flash-attention-minimal, flash.cu, forward_kernel, which its benchmark calls with 64 rows.",
    ),
)  # fmt: skip
