"""Kernels of numba-cuda with one mistake each that people make, and their repaired twins.

Each takes `x`, 4,096 numbers, `out`, as many zeros, and whether it is to be `right`. `MISTAKES` says how it is
launched, in which check it is found, and what is said of it; the finding names the line marked `here`.
"""

from __future__ import annotations

from numba import cuda, float32, int32


@cuda.jit
def past_the_end(x, out, right):
    i = cuda.grid(1)
    if not right or i < out.size:
        out[i] = x[0]  # here


@cuda.jit
def no_barrier(x, out, right):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    if right:
        cuda.syncthreads()
    out[t] = tile[63 - t]  # here


@cuda.jit
def no_barrier_of_the_warp(x, out, right):
    tile, t = cuda.shared.array(64, float32), cuda.threadIdx.x
    tile[t] = x[t]
    if right:
        cuda.syncwarp()
    out[cuda.grid(1)] = tile[t ^ 1]  # here


@cuda.jit
def no_barrier_between_rounds(x, out, right):
    tile, t = cuda.shared.array(64, float32), cuda.threadIdx.x
    total = float32(0)
    for r in range(x[0] + 4):
        tile[t] = x[64 * r + t]
        cuda.syncthreads()
        total += tile[63 - t]  # here
        if right:
            cuda.syncthreads()
    out[t] = total


@cuda.jit
def barrier_of_some(x, out, right):
    t = cuda.threadIdx.x
    if t < 40 or right:
        out[t] = x[t]
        cuda.syncthreads()  # here


@cuda.jit
def warps_leave_a_loop_sooner(x, out, right):
    t = cuda.threadIdx.x
    for r in range(x[1] + (0 if right else t // 32)):
        out[t] += r
        cuda.syncthreads()  # here


@cuda.jit
def mask_of_half_a_warp(x, out, right):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_down_sync(0xFFFFFFFF if right else 0xFFFF, x[t], 1)  # here


@cuda.jit
def half_a_tile(x, out, right):
    tile, t = cuda.shared.array(64, float32), cuda.threadIdx.x
    if right or t < 32:
        tile[t] = x[t]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for j in range(64):
            total += tile[j]  # here
        out[0] = total


@cuda.jit
def counts_without_zeros(x, out, right):
    counts, t = cuda.shared.array(64, int32), cuda.threadIdx.x
    if right:
        counts[t] = 0
        cuda.syncthreads()
    cuda.atomic.add(counts, x[t] & 63, 1)  # here
    cuda.syncthreads()
    out[t] = counts[t]


@cuda.jit
def sum_without_atomic(x, out, right):
    if right:
        cuda.atomic.add(out, 0, x[cuda.grid(1)])
    else:
        out[0] += x[cuda.grid(1)]  # here


@cuda.jit
def largest_by_if(x, out, right):
    value = x[cuda.grid(1)]
    if right:
        cuda.atomic.max(out, 0, value)
    elif value > out[0]:
        out[0] = value  # here


@cuda.jit
def last_block_without_fence(x, out, right):
    if cuda.threadIdx.x == 0:
        out[1 + cuda.blockIdx.x] = x[cuda.blockIdx.x]
        if right:
            cuda.threadfence()
        if cuda.atomic.add(out, 0, 1) == cuda.gridDim.x - 1:
            cuda.threadfence()
            total = 0
            for j in range(cuda.gridDim.x):
                total += out[1 + j]  # here
            out[100] = total


@cuda.jit
def lock_without_fence(x, out, right):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(out, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[1] += x[cuda.blockIdx.x]  # here
        if right:
            cuda.threadfence()
        cuda.atomic.exch(out, 0, 0)


@cuda.jit
def neighbours_of_another_block(x, out, right):
    i = cuda.grid(1)
    out[i] = x[i]
    if right:
        cuda.cg.this_grid().sync()
    if i > 0:
        out[2048 + i] = out[i - 1]  # here


RACE, SYNC, INIT = "racecheck", "synccheck", "initcheck"
MISTAKES = {
    past_the_end: (64, 128, "memcheck", "past the end of 'out'"),
    no_barrier: (1, 64, RACE, "write cuda.syncthreads() between"),
    no_barrier_of_the_warp: (2, 64, RACE, "write cuda.syncwarp() between the two"),
    no_barrier_between_rounds: (
        1,
        64,
        RACE,
        "write cuda.syncthreads() between",
    ),
    barrier_of_some: (1, 64, SYNC, "keep it out of branches"),
    warps_leave_a_loop_sooner: (1, 64, SYNC, "all threads of a block must go through a loop"),
    mask_of_half_a_warp: (1, 32, SYNC, "the mask 0x0000ffff does not name it"),
    half_a_tile: (1, 64, INIT, "shared memory that has not been written"),
    counts_without_zeros: (1, 64, INIT, "shared memory that has not been written"),
    sum_without_atomic: (2, 64, RACE, "write cuda.atomic.add(array, index, value) in place of"),
    largest_by_if: (2, 64, RACE, "write cuda.atomic.max(array, index, value) in place of"),
    last_block_without_fence: (4, 32, RACE, "cuda.threadfence()"),
    lock_without_fence: (4, 32, RACE, "cuda.threadfence()"),
    neighbours_of_another_block: (4, 64, RACE, "use cuda.cg.this_grid().sync()"),
}
