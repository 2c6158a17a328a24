"""Kernels of numba-cuda with one mistake each that people make: `MISTAKES`, each (kernel, grid, block, arguments)."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32


@cuda.jit
def past_the_end(x):
    """No guard: the last block has threads without an element."""
    i = cuda.grid(1)
    x[i] = i


@cuda.jit
def no_barrier(x):
    """The neighbour's element is read before it has surely been written."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    x[t] = tile[63 - t]


@cuda.jit
def barrier_of_some(x):
    """A barrier that only the first half of a block reaches."""
    t = cuda.threadIdx.x
    if t < 32:
        x[t] += 1
        cuda.syncthreads()
    else:
        x[t] += 2
        cuda.syncthreads()


@cuda.jit
def unwritten_shared(x):
    """A sum over a tile of which half was filled."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < 32:
        tile[t] = x[t]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for j in range(64):
            total += tile[j]
        x[0] = total


@cuda.jit
def sum_without_atomic(x, out):
    """All threads add to one element, without an atomic."""
    out[0] += x[cuda.grid(1)]


MISTAKES = {
    "past_the_end": (past_the_end, 2, 64, lambda: [np.zeros(100, np.float32)]),
    "no_barrier": (no_barrier, 1, 64, lambda: [np.ones(64, np.float32)]),
    "barrier_of_some": (barrier_of_some, 1, 64, lambda: [np.ones(64, np.float32)]),
    "unwritten_shared": (unwritten_shared, 1, 64, lambda: [np.ones(64, np.float32)]),
    "sum_without_atomic": (sum_without_atomic, 1, 64, lambda: [np.ones(64, np.float32), np.zeros(1, np.float32)]),
}
