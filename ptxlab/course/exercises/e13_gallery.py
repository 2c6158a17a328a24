"""The exercises of notebook 13: which keys are dropped, who left too early, block after block, inputs that convict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.builder import Builder, Kernel, Ptr, f32, kernel, u32
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.launch.run import launch

Array = NDArray[Any]
LOG2E = math.log2(math.e)


# -- the suspects ------------------------------------------------------------------------------------------------------


def _suspect(bug: str, *, dim: int, tile: int, columns: int) -> Kernel:
    """Attention of one head, one thread a row, tiles of `tile` keys, with a bug; "" for none."""
    kept = min(dim, columns) if bug == "columns" else dim

    @kernel
    def attention(
        k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, keys: u32, scale: f32
    ) -> None:
        row = k.thread_index()
        k.return_if(row >= n)
        scale_log2e = scale * LOG2E
        query = k.load(q + row * dim, dim)
        acc = k.vars(f32, dim, 0.0)
        row_max, row_sum = k.var(f32, -math.inf), k.var(f32, 0.0)
        tiles = keys // tile if bug == "tail" else (keys + (tile - 1)) // tile
        with k.loop(tiles) as t:
            first = t * tile
            count = k.min(keys - first, tile)
            with k.loop(count) as i:
                offset = (first + i) * dim
                score = k.var(f32, 0.0)
                for d in range(dim):
                    score.set(k.fma(query[d], (key + offset)[d], score))
                score *= scale_log2e
                new_max = k.max(row_max, score)
                if bug == "alias":
                    row_max.set(new_max)
                rescale = k.exp2(row_max - new_max)
                weight = k.exp2(score - new_max)
                row_sum.set(k.fma(row_sum, rescale, weight))
                for d in range(kept):
                    if bug != "output":
                        acc[d] *= rescale
                    acc[d].set(k.fma(weight, (value + offset)[dim - 1 if bug == "offset" else d], acc[d]))
                row_max.set(new_max)
        for d in range(dim):
            (o + row * dim)[d] = acc[d] / (k.max(row_sum, 1.0) if bug == "tail" else row_sum)

    return attention()


def _attend(built: Kernel, q: Array, k: Array, v: Array) -> Array:
    """Runs a suspect."""
    o = np.zeros_like(q)
    launch(built, -(-len(q) // 32), 32, q, k, v, o, len(q), len(k), q.shape[1] ** -0.5, device="cpu")
    return o


# -- 13-dropped --------------------------------------------------------------------------------------------------------


def _dropped(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(1, 50)), int(rng.choice([4, 8, 12, 16]))

    for keys, tile in g.vary(((32, 16), (20, 16), (5, 16)), hidden=draw, count=4):
        built = _suspect("tail", dim=4, tile=tile, columns=4)
        zero, truth = np.zeros((1, 4), np.float32), []
        for first in range(0, keys, 4):  # unit vectors as values: the output is the weights of four keys
            v = np.zeros((keys, 4), np.float32)
            for d in range(min(4, keys - first)):
                v[first + d, d] = 1
            weights = _attend(built, zero, np.zeros((keys, 4), np.float32), v)[0]
            truth += [first + d for d in range(min(4, keys - first)) if weights[d] == 0]
        says = (
            f"{keys} keys, tiles of {tile}: the kernel was run with unit vectors for values, and {len(truth)} keys "
            f"had the "
            f"weight 0{f', from key {truth[0]} on' if truth else ''}."
        )
        g.predict(answer, (keys, tile), truth, says)
    g.note("An integer division rounds down, and what it rounds away is the end of somebody's text.")


DROPPED = Exercise(
    name="13-dropped",
    title="Who is missing?",
    kind="predict",
    level=1,
    prompt="""
The kernel of round 2 computes its number of tiles as `keys // tile`. Which keys get no weight at all? Write a
function that returns their numbers as a list, in order; an empty one if nobody is missing.

The check runs the kernel with unit vectors for values, so that its output says how much weight each key has got.
""",
    starter='''
def dropped(keys, tile):
    """The numbers of the keys that no row looks at."""
    return []
''',
    solution='''
def dropped(keys, tile):
    """The numbers of the keys that no row looks at."""
    return list(range(keys // tile * tile, keys))
''',
    answer="dropped",
    hints=(
        "With 20 keys and tiles of 16: how many tiles does the kernel go through, and which keys are in them?",
        "It goes through keys // tile whole tiles. The first key behind them is the first that is dropped.",
        "list(range(keys // tile * tile, keys)).",
    ),
    graded=("the list, for other lengths and tiles, also where nobody is missing and where all are",),
    grade=_dropped,
)

# -- 13-leave ----------------------------------------------------------------------------------------------------------


def _leave(g: Grading, answer: Any) -> None:
    for n in g.vary((32, 40), hidden=lambda rng: int(rng.integers(1, 90))):
        x = g.rng.integers(-9, 9, n).astype(np.float32)
        y = np.full(n, np.nan, np.float32)
        run = g.launch(answer, -(-n // 32), 32, x, y, n, counters=True)
        if run is None:
            continue
        padded = np.zeros(-(-n // 32) * 32, np.float32)
        padded[:n] = x
        sums = padded.reshape(-1, 32).sum(axis=1)
        want = x - np.repeat(sums, 32)[:n]
        last = n // 32
        says = f"{n} numbers in blocks of 32: block {last} has {n - 32 * last} of them."
        g.equal(f"{n} numbers", y, want, says=says)
    g.note("Every thread brought its word, and only those with a number of their own stored a result.")


_LEAVE = '''
@kernel
def centred(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32):
    """y[i] = x[i] - the sum of its block's 32 numbers; past the end there are zeros."""
    thread, i = k.tid.x, k.thread_index()
    tile = k.shared(f32, 32)
'''
_SUM = """    k.barrier()
    total = k.var(f32, 0.0)
    with k.loop(32) as j:
        total += tile[j]
"""
LEAVE = Exercise(
    name="13-leave",
    title="Nobody leaves before the work is done",
    kind="fix",
    level=2,
    prompt="""
Each thread brings a number to shared memory, then each adds up all 32 of its block. With 32 numbers all is well.
With 40, the second block has 8 numbers, and its results are anything.

Mend it: for the threads past the end there are zeros in the sum, and nothing is read or written past the end.
""",
    starter=_LEAVE
    + """    k.return_if(i >= n)
    tile[thread] = x[i]
"""
    + _SUM
    + "    y[i] = x[i] - total\n",
    solution=_LEAVE
    + """    tile[thread] = 0.0
    with k.if_(i < n):
        tile[thread] = x[i]
"""
    + _SUM
    + """    with k.if_(i < n):
        y[i] = x[i] - total
""",
    answer="centred",
    hints=(
        "Which words of `tile` has nobody written in the second block?",
        "A thread past the end has to bring a zero and to wait at the barrier. Only the load and the store need a "
        "condition.",
        "tile[thread] = 0.0; with k.if_(i < n): tile[thread] = x[i]; barrier and sum for all; with k.if_(i < n): "
        "y[i] = ...",
    ),
    graded=("y, for other n", "no uninitialised read, no access past the end"),
    grade=_leave,
)

# -- 13-turns ----------------------------------------------------------------------------------------------------------


def _turns(g: Grading, answer: Any) -> None:
    for blocks in g.vary((1, 3), hidden=lambda rng: int(rng.integers(2, 12)), edges=(7,)):
        x = g.rng.integers(-9, 10, (blocks, 32)).astype(np.float32)
        turn, y = np.zeros(1, np.uint32), np.zeros(32, np.float32)
        run = g.launch(answer, blocks, 32, x, turn, y)
        if run is not None:
            g.equal(f"{blocks} blocks", y, x.sum(axis=0), says=f"In the end it was the turn of block {turn[0]}.")
    g.note(
        "What a block has stored is seen before it passes the turn on, and the next one looks after it has its turn."
    )


_TURNS = '''
@kernel
def add_up(k: Builder, x: Ptr[f32], turn: Ptr[u32], y: Ptr[f32]):
    """One warp = 32 elements of a part; y becomes the sum of all blocks' parts, in the order of the blocks."""
    lane, block = k.tid.x, k.ctaid.x
    own = x[block * 32 + lane]
    with k.if_(lane == 0):
        with k.while_(lambda: k.op("atom.global.cas.b32", turn, block, block) != block):
            pass  # not this block's turn: ask again
{taken}    k.op("bar.warp.sync", -1)
    y[lane] = y[lane] + own
{passed}    k.op("bar.warp.sync", -1)
    with k.if_(lane == 0):
        k.op("atom.global.exch.b32", turn, block + 1)
'''
_FENCE = '    k.op("fence.acq_rel.gpu")  # {}\n'
TURNS = Exercise(
    name="13-turns",
    title="Block after block",
    kind="fix",
    level=2,
    prompt="""
Split-K kernels that want the same result every time add up their parts in order: a block waits for its turn, adds what
it has to the sum in memory, and passes the turn on. Here the turn is a number that lane 0 asks for with a
compare-and-swap and passes on with an exchange.

The sums are right, and `racecheck` objects: the turn is atomic, the sum is not. Mend it without changing who does what.
""",
    starter=_TURNS.format(taken="", passed=""),
    solution=_TURNS.format(
        taken="    " + _FENCE.format("what those before have stored is seen from here on"),
        passed=_FENCE.format("each lane: what I have stored is seen before the turn is passed on"),
    ),
    answer="add_up",
    hints=(
        "When a block has its turn, what has the block before done, and what of that can be seen?",
        "One side must make its sums visible before it passes the turn on, the other must not look before its turn.",
        "A fence on each side, for the whole GPU and not for the block: k.op('fence.acq_rel.gpu'). Who has stored, and "
        "who has asked?",
    ),
    graded=("the sums, for other numbers of blocks", "no race between blocks"),
    grade=_turns,
)

# -- 13-convict --------------------------------------------------------------------------------------------------------

_BUGS = {
    "tail": "the keys behind the last whole tile are dropped",
    "columns": "columns from a certain one on are never computed",
    "alias": "the old maximum is overwritten before the rescale is taken from it",
    "output": "the output is not rescaled when the maximum grows",
    "offset": "every column of the output is the last column of V",
}


def _inputs(case: tuple[int, int, int, float]) -> tuple[Array, Array, Array]:
    rows, keys, dim, sigma = case
    q, k, v = reference.random_inputs(1, 1, 1, rows, keys, dim, sigma=sigma, seed=11)
    return q[0, 0], k[0, 0], v[0, 0]


def _wrong(case: Any) -> str:
    """What is wrong with a case, or ""."""
    if not isinstance(case, list | tuple) or len(case) != 4:
        return f"a case is (rows, keys, dim, sigma), found {case!r}"
    rows, keys, dim, sigma = case
    for name, value, most in (("rows", rows, 64), ("keys", keys, 200), ("dim", dim, 48)):
        if not isinstance(value, int | np.integer) or not 1 <= value <= most:
            return f"{name} is a whole number from 1 to {most}, found {value!r} in {case!r}"
    return (
        "" if isinstance(sigma, int | float) and 0 < sigma <= 20 else f"sigma is above 0 and at most 20, not {sigma!r}"
    )


def _convict(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.choice([4, 8, 12, 32])), int(rng.integers(2, 20))

    for tile, columns in g.vary(((16, 8),), hidden=draw, count=1, edges=((4, 19),)):
        cases = g.call(answer, tile, columns)
        if cases is None:
            continue
        problem = "a list of cases is wanted" if not isinstance(cases, list | tuple) else ""
        problem = problem or ("at most 2 cases, found " + str(len(cases)) if len(cases) > 2 else "")
        problem = problem or next((w for w in map(_wrong, cases) if w), "")
        if not g.part(f"tile {tile}, {columns} columns: the cases are valid", not problem, f"`inputs`: {problem}."):
            continue
        for bug, says in _BUGS.items():
            worst, said = 0.0, []
            for case in cases:
                q, k, v = _inputs(tuple(case))
                exact = reference.attention(q[None, None], k[None, None], v[None, None]).o[0, 0]
                found = _attend(_suspect(bug, dim=q.shape[1], tile=tile, columns=columns), q, k, v)
                error = float(np.max(np.abs(found - exact)))
                worst = max(worst, error)
                said.append(f"{tuple(case)}: error {error:.2g}")
            g.part(
                f"tile {tile}, {columns} columns: convicts '{bug}'",
                worst > 0.05,
                f"Tiles of {tile} keys, {columns} columns. The kernel in which {says} went free: "
                + "; ".join(said)
                + ". An error of 0.05 would be proof.",
            )
    g.note("Keys that fill no tile, more columns than the kernel knows, logits that are large: none went free.")


CONVICT = Exercise(
    name="13-convict",
    title="Inputs that convict",
    kind="write",
    level=3,
    prompt="""
Now write the test. Five attention kernels are before you, each with one bug: one drops the keys behind the last
whole tile, one never computes the columns from number `columns` on, one never rescales, one does not rescale its
output, one reads the same column of V for all.

Write a function that returns **at most two cases** `(rows, keys, dim, sigma)` such that each of the five is off
by more than 0.05 on at least one of them. `tile` is the number of keys a tile; `sigma` the standard deviation of
the logits. Limits: 64 rows, 200 keys, `dim` 48, `sigma` 20.
""",
    starter='''
def inputs(tile, columns):
    """At most two cases (rows, keys, dim, sigma) that convict all five kernels."""
    return [(32, 2 * tile, 4, 0.1)]  # what the author of the kernels has tried
''',
    solution='''
def inputs(tile, columns):
    """At most two cases (rows, keys, dim, sigma) that convict all five kernels."""
    return [(32, 2 * tile - 1, columns + 2, 4.0)]
''',
    answer="inputs",
    hints=(
        "What does each bug depend on? The first on the number of keys, the second on dim. And the next two?",
        "A rescale of 1 is wrong only if the maximum grows by something that matters: large logits.",
        "Keys that are no multiple of the tile (and more than one tile), dim above `columns`, sigma of 3 or more.",
    ),
    graded=("each of the five kernels is convicted, also with other tiles and columns", "at most two cases"),
    grade=_convict,
)

EXERCISES = (DROPPED, LEAVE, TURNS, CONVICT)
