"""Exhibits of the tiled kernel: all threads of a block load K and V into shared memory, and wait for each other.

One kernel, and the barriers, the threads past the end and the size of the tiles that are got wrong in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Kernel, Ptr, Shared, f32, kernel, u32
from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit

LOG2E = math.log2(math.e)
KIB = 1024


def tiled(bug: str, case: Case, tile: int = 32) -> Kernel:
    """Attention of one head, one thread per row, K and V in shared memory, in blocks of `case.choice` threads."""
    D, T, block = case.dim, tile, case.choice

    @kernel
    def attention(
        k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, keys: u32, scale: f32
    ) -> None:
        k_tile: Shared[f32]
        v_tile: Shared[f32]
        if 8 * T * D > 48 * KIB and bug != "static":
            k_tile = k.dynamic_shared(f32)
            v_tile = k_tile + T * D
        else:
            k_tile = k.shared(f32, T * D)
            v_tile = k.shared(f32, T * D)
        thread = k.tid.x
        index = k.thread_index()
        if bug == "exit":
            k.return_if(index >= n)
            row = index
        else:
            inside = index < n
            row = k.min(index, n - 1)
        scale_log2e = scale * LOG2E
        query = k.load(q + row * D, D)
        acc = k.vars(f32, D, 0.0)
        row_max = k.var(f32, -math.inf)
        row_sum = k.var(f32, 0.0)

        with k.loop(keys, step=T) as first:
            count = k.min(keys - first, T)
            if bug != "one barrier":
                k.barrier()
            tile_start = first * D
            key_tile, value_tile = key + tile_start, value + tile_start
            with k.loop(count * D, start=thread, step=block) as i:
                k_tile[i] = key_tile[i]
                v_tile[i] = value_tile[i]
            if bug == "branch":
                with k.if_(inside):
                    k.barrier()
            else:
                k.barrier()

            with k.loop(count) as j:
                offset = j * D
                key_row, value_row = k_tile + offset, v_tile + offset
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

        share = k.rcp(row_sum)
        if bug != "exit":
            k.return_if(index >= n)
        o_row = o + row * D
        for d in range(D):
            o_row[d] = acc[d] * share

    return attention()


def _build(bug: str, tile: int = 32) -> Callable[[bool, Case], Kernel]:
    return lambda fixed, case: tiled("" if fixed else bug, case, tile)


def _checked(check: str) -> Callable[[Any, Case], Trial]:
    """A trial that runs the kernel under all checks."""

    def trial(built: Any, case: Case) -> Trial:
        q, k, v = finders.inputs(case)
        o, block = np.zeros_like(q), case.choice
        args = q, k, v, o, case.rows, case.keys, case.dim**-0.5
        return finders.checked(
            check, case, built, -(-case.rows // block), block, *args, output=o, right=finders.exact(q, k, v)
        )

    return trial


def _assembled(built: Any, case: Case) -> Trial:
    return finders.assembled(built, case.arch, "every line is right, and the assembler refuses the whole")


EXHIBITS = (
    Exhibit(
        1, "Threads past the end leave before they have loaded", "initcheck",
        "The usual first line, `if (row >= n) return`, sends threads home that were also to load K and V. In the last "
        "block the tiles stay half empty, and the rows that are left compute with whatever is there. The barrier "
        "itself does not hang: it counts the threads that have not exited.",
        _build("exit"), _checked("initcheck"),
        (Case("S = 40, block 32", rows=40, keys=40, choice=32),),
        (Case("S = 32, block 32", choice=32), Case("S = 64, block 32", rows=64, keys=64, choice=32)),
    ),
    Exhibit(
        11, "One barrier where two are needed", "racecheck",
        "There is a barrier after the loads, so that no thread reads a tile that is not complete. The one before them "
        "is missing: a warp that is ahead loads the next tile over the one that a slower warp still reads. With one "
        "tile there is no next one.",
        _build("one barrier"), _checked("racecheck"),
        (Case("two tiles, two warps", rows=64, keys=64, choice=64),),
        (Case("one tile, two warps", rows=64, keys=32, choice=64),),
    ),
    Exhibit(
        13, "A barrier inside a branch", "synccheck",
        "The barrier is inside `if (row < n)`. As long as all lanes of a warp agree it is a barrier like any "
        "other. In the last block some lanes come and others do not, and `bar.sync` is a promise of all threads: a GPU "
        "may hang, or let threads through too early. On an H100 eight kernels with this "
        "mistake ended as if nothing were wrong.",
        _build("branch"), _checked("synccheck"),
        (Case("40 rows, block 32", rows=40, choice=32),),
        (Case("64 rows, block 32", rows=64, choice=32),),
    ),
    Exhibit(
        20, "More static shared memory than 48 KiB", "assembler message",
        "Tiles of 64 keys of K and V in f32 take 32 KiB for head dimension 64 and 64 KiB for 128. A block of a modern "
        "GPU can have that much, but only as dynamic shared memory: arrays of a fixed size may take 48 KiB together.",
        _build("static", 64), _assembled,
        (Case("head dimension 128", dim=128, choice=64),), (Case("head dimension 64", dim=64, choice=64),),
    ),
)  # fmt: skip
