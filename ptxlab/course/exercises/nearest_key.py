"""The nearest key: attention's skeleton without its arithmetic, and the exercise that takes one barrier out of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.values import counted


@kernel
def nearest(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *, T: int = 64) -> None:
    """y[i] = the distance from x[i] to the nearest of m keys; blocks of T threads, tiles of T keys."""
    tile = k.shared(f32, T)
    i, t = k.thread_index(), k.tid.x
    mine = x[k.min(i, n - 1)]
    best = k.var(f32, math.inf)
    with k.loop(m, step=T) as first:
        count = k.min(m - first, T)
        k.barrier()
        with k.if_(t < count):
            tile[t] = key[first + t]
        k.barrier()
        with k.loop(count) as j:
            best.set(k.min(best, abs(mine - tile[j])))
    with k.if_(i < n):
        y[i] = best


def points(g: Grading, n: int, m: int) -> tuple[Any, Any, Any]:
    """n points, m keys and the distance from each point to its nearest key."""
    x, key = (g.rng.standard_normal(size).astype(np.float32) * scale for size, scale in ((n, 1), (m, 3)))
    return x, key, np.abs(x[:, None] - key).min(axis=1)


def _one_barrier(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int, int]:
        return int(r.integers(1, 200)), int(r.integers(100, 400)), 32 * int(r.integers(1, 4))

    for n, m, T in g.vary(((64, 64, 64), (64, 300, 32), (100, 257, 64)), hidden):
        x, key, right = points(g, n, m)
        y = np.full_like(x, np.nan)
        blocks, tiles = -(-n // T), -(-m // T)
        run = g.launch(answer, blocks, T, x, key, y, n, m, build={"T": T}, counters=True, orders=True)
        if run is None:
            continue
        case = f"{n} points, {m} keys, tiles of {T}"
        if not np.array_equal(y, right):
            g.equal(f"right for {case}", y, right, run=run)
            continue
        warps = blocks * (T // 32)
        says = f"({tiles} tiles and {warps} warps, each counted for itself; one barrier more is allowed.)"
        few = g.at_most(f"one barrier per tile: {case}", run, "barriers", (tiles + 1) * warps, says)
        own = 2 * (-(-n // 8)) + warps  # points and results, and one sector for each warp of idle threads
        if few:
            g.at_most(f"each block reads a key once: {case}", run, "sectors", blocks * -(-m // 8) + own)
            assert run.counters is not None
            barriers = counted(run.counters.opcodes["bar.sync"][0] // warps, "barrier")
            g.note(f"{case}: {barriers} per warp for {counted(tiles, 'tile')}.")


_NEAREST = '''
@kernel
def swift(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *, T: int = 64):
    """y[i] = the distance from x[i] to the nearest of m keys; blocks of T threads, tiles of T keys."""
{body}
    with k.if_(i < n):
        y[i] = best
'''

ONE_BARRIER = Exercise(
    name="02-one-barrier",
    title="One barrier per tile",
    kind="optimise",
    level=3,
    prompt="""
Two barriers per tile are needed because each tile is written where the one before is still being read. A block has room
for more than one tile of this size. Rewrite `nearest` so that **one** barrier per tile is enough (one more in all is
allowed), for any number of tiles. Each block may still read a key only once.

Before you write it, finish this sentence: "When a thread writes tile $i + 2$, all others have finished with tile $i$,
because they have all arrived at ..."
""",
    starter=_NEAREST.format(
        body="""    tile = k.shared(f32, T)
    i, t = k.thread_index(), k.tid.x
    mine = x[k.min(i, n - 1)]
    best = k.var(f32, math.inf)

    with k.loop(m, step=T) as first:
        count = k.min(m - first, T)
        k.barrier()  # everyone has finished with the tile before
        with k.if_(t < count):
            tile[t] = key[first + t]
        k.barrier()  # the tile is complete
        with k.loop(count) as j:
            best.set(k.min(best, abs(mine - tile[j])))
"""
    ),
    solution=_NEAREST.format(
        body="""    tiles = k.shared(f32, 2 * T)
    i, t = k.thread_index(), k.tid.x
    mine = x[k.min(i, n - 1)]
    best = k.var(f32, math.inf)

    with k.loop(m, step=T) as first:
        count = k.min(m - first, T)
        tile = tiles + (first // T) % 2 * T  # even tiles here, odd ones there
        with k.if_(t < count):
            tile[t] = key[first + t]
        k.barrier()  # this tile is complete, and everyone has finished with the one before
        with k.loop(count) as j:
            best.set(k.min(best, abs(mine - tile[j])))
"""
    ),
    answer="swift",
    hints=(
        "two tiles side by side, and the copy goes to the one that nobody reads",
        "first // T is the number of the tile; whether it is odd decides where it goes",
    ),
    graded=(
        "the right distances, for any number of points and keys, under a shuffled schedule",
        "no race",
        "at most one barrier a tile, and one more",
        "each key read once per block",
    ),
    grade=_one_barrier,
)
