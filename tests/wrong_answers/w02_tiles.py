"""Wrong answers to the exercises of notebook 02, each with a phrase of the feedback that it must get."""

from __future__ import annotations

from ptxlab.course.exercises.e02_tiles import COPY, ONE_BARRIER, SMOOTH
from wrong_answers import but

_SUM = """
@kernel
def blocksum(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, *, B: int = 128):
    tile = k.shared(f32, B)
    i, t = k.thread_index(), k.tid.x
"""

WRONG = {
    "02-sectors": (
        ("def sectors(n, m, T):\n    return n * m // 8\n", "the machine says"),  # every thread reads every key
        ("def sectors(n, m, T):\n    return n // T * (m // 8)\n",
         "sectors(65, 64, 64): you say 8, the machine says 16"),
        ("def sectors(n, m, T):\n    return -(-n // T) * m\n", "keys take 256 bytes"),
    ),
    "02-smooth": (
        (SMOOTH.starter, "a thread overwrites what another warp reads"),
        # out of the branch, but one barrier only
        (
            """
@kernel
def smooth(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, rounds: u32):
    tile = k.shared(f32, 256)
    t = k.tid.x
    tile[t] = x[k.min(t, n - 1)]
    left, right = k.max(t, 1) - 1, k.min(t + 1, n - 1)
    with k.loop(rounds):
        k.barrier()
        mean = (tile[left] + tile[t] + tile[right]) / 3.0
        tile[t] = mean
    with k.if_(t < n):
        y[t] = tile[t]
""",
            "WAR hazard in shared memory",
        ),
        # two barriers, inside of the branch
        (
            """
@kernel
def smooth(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, rounds: u32):
    tile = k.shared(f32, 256)
    t = k.tid.x
    with k.if_(t < n):
        tile[t] = x[t]
        left, right = k.max(t, 1) - 1, k.min(t + 1, n - 1)
        with k.loop(rounds):
            k.barrier()
            mean = (tile[left] + tile[t] + tile[right]) / 3.0
            k.barrier()
            tile[t] = mean
        y[t] = tile[t]
""",
            "synccheck",
        ),
        # barriers everywhere
        (SMOOTH.solution.replace("    with k.loop(rounds):\n", "    with k.loop(rounds):\n        k.barrier()\n"),
         "barriers; at most 14 are allowed"),
    ),
    "02-copy": (
        # a row a thread: right where a block has as many threads as the tile has rows, and scattered
        (
            COPY.starter.replace(
                "        # your copy: from key to tile, all threads together",
                "        with k.if_(t < count):\n"
                "            for d in range(D):\n"
                "                tile[t * D + d] = key[(first + t) * D + d]",
            ),
            "sectors; at most",
        ),
        # the whole tile, whether there are so many keys or not
        (
            COPY.starter.replace(
                "        # your copy: from key to tile, all threads together",
                "        with k.loop(T * D, start=t, step=threads) as e:\n            tile[e] = (key + first * D)[e]",
            ),
            "key",
        ),
        # one element a thread
        (
            COPY.starter.replace(
                "        # your copy: from key to tile, all threads together",
                "        with k.if_(t < count * D):\n            tile[t] = (key + first * D)[t]",
            ),
            "initcheck: a thread reads shared memory that has not been written",
        ),
    ),
    "02-blocksum": (
        # one thread adds them all
        (
            _SUM
            + """
    mine = k.var(f32, 0.0)
    with k.if_(i < n):
        mine.set(x[i])
    tile[t] = mine
    k.barrier()
    with k.if_(t == 0):
        total = k.var(f32, 0.0)
        with k.loop(B) as j:
            total += tile[j]
        y[k.ctaid.x] = total
""",
            "takes longer",
        ),
        # no barrier between the steps
        (but("02-blocksum", ("        k.barrier()  # the numbers of the step before are there\n", ""),
             ("    tile[t] = mine\n", "    tile[t] = mine\n    k.barrier()\n")), "hazard in shared memory"),
        # threads past the end leave
        (but("02-blocksum", ("    with k.if_(i < n):\n        mine.set(x[i])\n", "    k.return_if(i >= n)\n    mine.set(x[i])\n")),
         "initcheck"),
    ),
    "02-one-barrier": (
        # the first barrier simply left out
        (ONE_BARRIER.starter.replace("        k.barrier()  # everyone has finished with the tile before\n", ""),
         "hazard in shared memory"),
        # no tile at all
        (
            """
@kernel
def swift(k: Builder, x: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *, T: int = 64):
    i = k.thread_index()
    mine = x[k.min(i, n - 1)]
    best = k.var(f32, math.inf)
    with k.loop(m) as j:
        best.set(k.min(best, abs(mine - key[j])))
    with k.if_(i < n):
        y[i] = best
""",
            "sectors; at most",
        ),
        # two tiles, and still two barriers
        (ONE_BARRIER.solution.replace("        count =", "        k.barrier()\n        count ="),
         "one barrier more is allowed"),
    ),
}  # fmt: skip
