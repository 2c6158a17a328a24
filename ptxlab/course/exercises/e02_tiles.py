"""Exercises of notebook 02: tiles, barriers, tails."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.nearest_key import ONE_BARRIER, nearest, points
from ptxlab.launch.run import launch


def _sectors(g: Grading, answer: Any) -> None:
    cases = ((64, 64, 64), (65, 64, 64), (300, 100, 32))

    def hidden(r: np.random.Generator) -> tuple[int, int, int]:
        return int(r.integers(1, 500)), int(r.integers(1, 300)), 32 * int(r.integers(1, 5))

    for n, m, T in g.vary(cases, hidden, count=3):
        x, key, _ = points(g, n, m)
        blocks = -(-n // T)
        run = launch(nearest(T=T), blocks, T, x, key, np.zeros_like(x), n, m, device="cpu", counters=True)
        assert run.counters is not None
        loads = [line for line in run.counters.by_line.values() if line.opcode == "ld.global.f32"]  # of x, then of keys
        says = f"The launch has {blocks} block{'s' * (blocks > 1)}, and the {m} keys take {4 * m} bytes."
        known = (
            (-(-m // 8), "You count one block."),
            (blocks * (m // 8), "You leave out the last sector, which is not full, and it is loaded."),
            (n // T * -(-m // 8), "You leave out the last block, which is not full, and it loads."),
            (blocks * -(-m // T) * T // 8, "You round the keys up to whole tiles. What is loaded past the last key?"),
        )
        if g.predict(answer, (n, m, T), loads[1].sectors, says, known=known):
            g.note(f"{n} points, {m} keys, T = {T}: {loads[1].sectors} sectors in {loads[1].requests} loads of a warp.")


SECTORS = Exercise(
    name="02-sectors",
    title="How much does a tile read?",
    kind="predict",
    level=1,
    prompt="""
`nearest` from above runs with $n$ points, $m$ keys, blocks of $T$ threads and tiles of $T$ keys ($T$ is a multiple of
32). How many sectors of 32 bytes do its loads of **keys** request, in all blocks together? The loads of points do not
count; the keys begin where a sector begins.

Write a function. It is compared with the machine's count for `(n, m, T)` = (64, 64, 64), (65, 64, 64), (300, 100, 32)
and for sizes that you do not see.
""",
    starter='''
def sectors(n, m, T):
    """Sectors that the loads of keys request."""
    return 0
''',
    solution='''
def sectors(n, m, T):
    """Sectors that the loads of keys ask for."""
    blocks = -(-n // T)  # rounded up; every block reads all keys once
    return blocks * -(-m // 8)  # 8 floats a sector, the last one perhaps not full
''',
    answer="sectors",
    hints=(
        "what does one block read, and how many blocks are there?",
        "one point more than a full block is another block, and one key more than a full sector is another sector",
    ),
    graded=("the number that the machine counts, for three sizes that you see and three that you do not",),
    grade=_sectors,
)


def _smooth(g: Grading, answer: Any) -> None:
    shown = ((64, 1), (40, 3), (100, 5))
    for n, rounds in g.vary(shown, hidden=lambda r: (int(r.integers(2, 129)), int(r.integers(2, 7)))):
        block = -(-n // 32) * 32
        x = g.rng.integers(-8, 9, n).astype(np.float32)
        y, right = np.full_like(x, np.nan), x.astype(np.float64)
        for _ in range(rounds):
            padded = np.pad(right, 1, mode="edge")
            right = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        run = g.launch(answer, 1, block, x, y, n, rounds, counters=True, orders=True)
        if run is not None and g.close(f"right for {n} numbers and {rounds} rounds", y, right, run=run):
            limit = (2 * rounds + 1) * (block // 32)
            g.at_most(
                f"two barriers per round, {n} numbers", run, "barriers", limit,
                f"({rounds} rounds, {block // 32} warps, each counted for itself.)"
            )  # fmt: skip
            g.note(
                f"{n} numbers, {rounds} rounds: right, no race, and {block - n} idle threads arrived at every barrier."
            )


SMOOTH = Exercise(
    name="02-smooth",
    title="A barrier too few, in the wrong place",
    kind="fix",
    level=2,
    prompt="""
One block of threads smooths a row of numbers: in each round, every number becomes the mean of itself and its two
neighbours (at the ends the number itself stands in for the neighbour that is not there). The block has `n` threads,
rounded up to whole warps, at most 256.

With one round and a full block it is right. With more rounds, or with idle threads, it is not. Two things are wrong.
Fix both, with no more than two barriers per round.
""",
    starter='''
@kernel
def smooth(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, rounds: u32):
    """Each number becomes the mean of itself and its neighbours, `rounds` times."""
    tile = k.shared(f32, 256)
    t = k.tid.x
    with k.if_(t < n):
        tile[t] = x[t]
        left, right = k.max(t, 1) - 1, k.min(t + 1, n - 1)
        with k.loop(rounds):
            k.barrier()
            mean = (tile[left] + tile[t] + tile[right]) / 3.0
            tile[t] = mean
        y[t] = tile[t]
''',
    solution='''
@kernel
def smooth(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, rounds: u32):
    """Each number becomes the mean of itself and its neighbours, `rounds` times."""
    tile = k.shared(f32, 256)
    t = k.tid.x
    tile[t] = x[k.min(t, n - 1)]  # an idle thread repeats the last number
    left, right = k.max(t, 1) - 1, k.min(t + 1, n - 1)
    with k.loop(rounds):
        k.barrier()  # everyone has written
        mean = (tile[left] + tile[t] + tile[right]) / 3.0
        k.barrier()  # everyone has read
        tile[t] = mean
    with k.if_(t < n):
        y[t] = tile[t]
''',
    answer="smooth",
    hints=(
        "which threads must arrive at a barrier, and which ones do here?",
        "within a round everyone first reads three places and then writes one; has the neighbour read already?",
    ),
    graded=(
        "the right numbers, for full blocks and others, under a shuffled schedule",
        "no race, no barrier that only some threads reach, no read of what was never written",
        "at most two barriers per round",
    ),
    grade=_smooth,
)


def _copied(q: Any, key: Any, T: int, threads: int) -> Iterator[tuple[Any, str]]:
    """What the usual mistakes of the copy make of the sums."""
    (m, D), flat = key.shape, key.reshape(-1)
    places: tuple[tuple[Callable[[int, Any], Any], str], ...] = (
        (lambda first, e: e, "has the first rows of `key` in each tile. What tells one round from the next?"),
        (lambda first, e: first + e, "has tiles that begin at number `first` of `key`. How many numbers is a row?"),
        (
            lambda first, e: first * D + e % threads,
            "repeats the first `threads` numbers of a tile. What is a thread's second?",
        ),
        (lambda first, e: (first + e // D) * D, "has D equal numbers in each row of a tile. What does `e` count?"),
    )
    for place, says in places:
        tiles = [flat[place(first, np.arange(min(T, m - first) * D))] for first in range(0, m, T)]
        yield np.abs(q @ np.concatenate(tiles).reshape(-1, D).T).sum(axis=1), f"What came out {says}"


def _copy_signs(found: Any, m: int, T: int, D: int, threads: int) -> str:
    """What a finding or a fault says of the copy."""
    unread = re.search(r"byte (\d+) of 'tile'", getattr(found, "where", ""))
    if found.kind == "uninitialised read" and unread:
        count = min(m, T)
        number, last = int(unread[1]) // 4, "`count` counts rows. What does the loop count?"
        ends = {threads: f"{threads} threads copied one number each. Who copies the others?", count: last}
        return f"Of {count * D} numbers of the first tile number {number} was never written. {ends.get(number, '')}"
    if found.kind == "memcheck" and "past the end of 'key'" in str(found) and m % T:
        return f"`key` ends in the last tile, which has {m % T} of its {T} rows. How far does the copy go there?"
    return ""


def _copy(g: Grading, answer: Any) -> None:
    shown = ((32, 32, 64, 32, 4), (20, 50, 32, 16, 8), (70, 33, 64, 48, 3))

    def hidden(r: np.random.Generator) -> tuple[int, int, int, int, int]:
        n, m, warps, tile, dim = (int(r.integers(1, high)) for high in (100, 100, 4, 60, 12))
        return n, m, 32 * warps, tile, dim

    for n, m, block, T, D in g.vary(shown, hidden):
        q, key = (g.rng.integers(-4, 5, (rows, D)).astype(np.float32) for rows in (n, m))
        y = np.full(n, np.nan, np.float32)
        blocks = -(-n // block)
        signs = functools.partial(_copy_signs, m=m, T=T, D=D, threads=block)
        options: dict[str, Any] = {"counters": True, "orders": True, "signs": signs}
        run = g.launch(answer, blocks, block, q, key, y, n, m, build={"D": D, "T": T}, **options)
        if run is None:
            continue
        case = f"{m} keys of {D}, tiles of {T}, blocks of {block}"
        if not g.close(f"right for {case}", y, np.abs(q @ key.T).sum(axis=1), run=run, known=_copied(q, key, T, block)):
            continue
        # Each tile, each turn of the threads: as many sectors as its bytes touch.
        ideal = 0
        for first in range(0, m, T):
            count = min(T, m - first) * D
            for start in range(0, count, 32):
                low, high = first * D + start, first * D + min(start + 32, count) - 1
                ideal += high // 8 - low // 8 + 1
        own = _own_sectors(n, D, block)
        g.at_most(
            f"neighbours load neighbouring elements: {case}", run, "sectors", ideal * blocks + own,
            f"The copy needs {ideal} sectors per block when 32 lanes take 32 elements side by side."
        )  # fmt: skip
        g.note(f"{case}: right, with {ideal} sectors of keys per block.")


def _own_sectors(n: int, D: int, block: int) -> int:
    """Sectors of the loads of q and the stores of y, which the exercise leaves as they are."""
    total = 0
    for first in range(0, -(-n // block) * block, 32):
        rows = np.minimum(np.arange(first, first + 32), n - 1)
        total += sum(len(set((rows * D + d) // 8)) for d in range(D))
        if first < n:
            total += (min(first + 32, n) - 1) // 8 - first // 8 + 1
    return total


_COPY = '''
@kernel
def agreement(k: Builder, q: Ptr[f32], key: Ptr[f32], y: Ptr[f32], n: u32, m: u32, *, D: int = 8, T: int = 16):
    """y[i] = the sum of |q_i . key_j| over m keys; q and key have rows of D numbers, a tile has T rows."""
    tile = k.shared(f32, T * D)
    i, t, threads = k.thread_index(), k.tid.x, k.ntid.x
    query = k.load(q + k.min(i, n - 1) * D, D)
    total = k.var(f32, 0.0)

    with k.loop(m, step=T) as first:
        count = k.min(m - first, T)  # rows of this tile
        k.barrier()
{copy}
        k.barrier()
        with k.loop(count) as j:
            row = tile + j * D
            score = k.var(f32, 0.0)
            for d in range(D):
                score.set(k.fma(query[d], row[d], score))
            total += abs(score)

    with k.if_(i < n):
        y[i] = total
'''

COPY = Exercise(
    name="02-copy",
    title="Copy a tile, all together",
    kind="fill",
    level=2,
    prompt="""
The kernel adds up $|q_i \\cdot k_j|$ over all keys. Everything is there but the copy: bring rows `first` to
`first + count - 1` of `key` (each `D` numbers) into `tile`. A block has `threads` threads, and that number has
nothing to do with `T` or `D`: a tile may have more elements than there are threads, or fewer.

Copy so that neighbouring threads load neighbouring elements: the sectors are counted.
""",
    starter=_COPY.format(copy="        # your copy: from key to tile, all threads together"),
    solution=_COPY.format(
        copy="        source = key + first * D\n"
        "        with k.loop(count * D, start=t, step=threads) as e:\n"
        "            tile[e] = source[e]"
    ),
    answer="agreement",
    hints=(
        "forget rows and columns: for the copy, the tile is count * D numbers in a row, in global and in shared memory",
        "thread t takes element t, then t + threads, t + 2 * threads, ... : k.loop(stop, start=..., step=...)",
    ),
    graded=(
        "the right sums for any number of keys, tile, block and D",
        "no access outside of the arrays, no read of what nobody wrote, no race",
        "no more sectors than a copy by neighbours needs",
    ),
    grade=_copy,
)


def _blocksum(g: Grading, answer: Any) -> None:
    shown = ((64, 64), (200, 128), (1000, 256))
    for n, B in g.vary(shown, hidden=lambda r: (int(r.integers(1, 900)), 2 ** int(r.integers(5, 9)))):
        x = g.rng.integers(-50, 51, n).astype(np.float32)
        blocks = -(-n // B)
        y = np.full(blocks, np.nan, np.float32)
        right = np.pad(x, (0, blocks * B - n)).reshape(blocks, B).sum(axis=1)
        run = g.launch(answer, blocks, B, x, y, n, build={"B": B}, counters=True, orders=True)
        steps, warps = int(math.log2(B)), blocks * (B // 32)
        parts = np.pad(x, (0, blocks * B - n)).reshape(blocks, 2, -1).sum(axis=2)
        even = np.pad(x, (0, blocks * B - n)).reshape(blocks, -1, 2).sum(axis=1)[:, 0]
        known = (
            (
                np.where(np.arange(blocks), np.pad(x, (0, blocks * B - n))[::B], right),
                "Block 0 is right; the others store their first number. Is `t` or `i` the place in the block?",
            ),
            (even, "What came out is the sum of every second number: the last step is missing."),
            (parts[:, 0], "What came out is the sum of the first half. Which step adds the second?"),
        )
        if run is not None and g.close(f"right for {n} numbers in blocks of {B}", y, right, run=run, known=known):
            g.at_most(f"{steps + 1} barriers a warp in blocks of {B}", run, "barriers", (steps + 1) * warps)
            each = 24 + 12 * steps
            g.at_most(
                f"a tree, not a queue: {B} threads", run, "warp instructions", each * warps,
                f"That is {each} for each warp; adding {B} numbers one by one takes longer."
            )  # fmt: skip
            assert run.counters is not None
            g.note(f"{n} numbers, blocks of {B}: {run.counters.warp_instructions // warps} instructions per warp.")


BLOCKSUM = Exercise(
    name="02-blocksum",
    title="Add up a block",
    kind="write",
    level=2,
    prompt="""
Write a kernel that adds up the numbers of each block: with blocks of `B` threads (a power of two from 32 to 256),
`y[b]` is the sum of `x[b * B]` to `x[b * B + B - 1]`. `x` has `n` numbers, and `n` need not be a multiple of `B`, so
the last block may have fewer.

Do it as a tree in shared memory: the lower half of the threads each add one number of the upper half, then half of
them do, and so on. `B` is a Python number, so a Python `for width in ...` can write the steps one after the other.
""",
    starter='''
@kernel
def blocksum(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, *, B: int = 128):
    """y[b] = the sum of the numbers of block b."""
    tile = k.shared(f32, B)
    i, t = k.thread_index(), k.tid.x
''',
    solution='''
@kernel
def blocksum(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, *, B: int = 128):
    """y[b] = the sum of the numbers of block b."""
    tile = k.shared(f32, B)
    i, t = k.thread_index(), k.tid.x
    mine = k.var(f32, 0.0)  # past the end: nothing to add
    with k.if_(i < n):
        mine.set(x[i])
    tile[t] = mine

    width = B // 2
    while width:
        k.barrier()  # the numbers of the step before are there
        with k.if_(t < width):
            tile[t] = tile[t] + tile[t + width]
        width //= 2

    with k.if_(t == 0):
        y[k.ctaid.x] = tile[0]
''',
    answer="blocksum",
    hints=(
        "which number should a thread past the end put into the tile, so that no sum changes?",
        "one barrier per step is enough: within a step, no place that one thread reads is written by another",
    ),
    graded=(
        "the right sums, exactly, also where the last block is not full",
        "no race, whatever the schedule; every thread reaches every barrier",
        "at most log2(B) + 1 barriers, and so few instructions that it must be a tree",
    ),
    grade=_blocksum,
)


EXERCISES = (SECTORS, SMOOTH, COPY, BLOCKSUM, ONE_BARRIER)
