"""The exercises of notebook 13: dropped keys, threads that exited early, turns, lost digits, inputs that find bugs."""

from __future__ import annotations

import itertools
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
    """Attention of one head, one thread per row, tiles of `tile` keys, with a bug; "" for none."""
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
            f"{keys} keys, tiles of {tile}: the kernel was run with unit vectors as values, and {len(truth)} keys had "
            f"the weight 0{f', from key {truth[0]} on' if truth else ''}."
        )
        whole = keys // tile * tile
        known = (
            (list(range(keys - tile, keys)), "You leave out a whole tile. How many whole tiles does it do?"),
            ([keys - whole] if keys > whole else [], "You say how many keys are missing. Which ones?"),
            (list(range(whole + 1, keys)), f"Whole tiles end before key {whole}. Who looks at that one?"),
            (list(range(whole)), "You name the keys that it looks at."),
        )
        g.predict(answer, (keys, tile), truth, says, known=known)
    g.note("An integer division rounds down, and the keys that it drops are the last ones of the text.")


DROPPED = Exercise(
    name="13-dropped",
    title="Which keys are missing?",
    kind="predict",
    level=1,
    prompt="""
The kernel of round 3 computes the number of tiles as `keys // tile`. Which keys get no weight at all? Write a
function that returns their numbers as a list, in order. If no key is missing, the list is empty.

The check runs the kernel with unit vectors as values, so its output shows the weight of each key.
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
        "It goes through keys // tile whole tiles. The first key after them is the first that is dropped.",
    ),
    graded=("the list, for other lengths and tiles, also where no key is missing and where all are",),
    grade=_dropped,
)


def _leave(g: Grading, answer: Any) -> None:
    for n in g.vary((32, 40), hidden=lambda rng: int(rng.integers(1, 90))):
        x = g.rng.integers(-9, 9, n).astype(np.float32)
        y = np.full(n, np.nan, np.float32)
        run = g.launch(answer, -(-n // 32), 32, x, y, n, counters=True, orders=True)
        if run is None:
            continue
        padded = np.zeros(-(-n // 32) * 32, np.float32)
        padded[:n] = x
        sums = padded.reshape(-1, 32).sum(axis=1)
        want = x - np.repeat(sums, 32)[:n]
        last = n // 32
        says = f"{n} numbers in blocks of 32: block {last} has {n - 32 * last} of them." if n % 32 else ""
        g.equal(f"{n} numbers", y, want, says=says)
    g.note("Every thread wrote to the tile, and only those with a number of their own stored a result.")


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
    title="Threads that leave too early",
    kind="fix",
    level=2,
    prompt="""
Each thread stores one number to shared memory, then it adds up all 32 numbers of its block. With 32 numbers the result
is right. With 40, the second block has only 8 numbers, and its results are wrong.

Fix it: numbers past the end count as zeros, and nothing is read or written past the end.
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
        "Which words of `tile` does no thread write in the second block?",
        "A thread past the end must write a zero to the tile and wait at the barrier. Only the load and the store need "
        "a condition.",
    ),
    graded=("y, for other n", "no uninitialised read, no access past the end"),
    grade=_leave,
)


def _turns(g: Grading, answer: Any) -> None:
    for blocks in g.vary((1, 3), hidden=lambda rng: int(rng.integers(2, 12)), edges=(7,)):
        x = g.rng.integers(-9, 10, (blocks, 32)).astype(np.float32)
        turn, y = np.zeros(1, np.uint32), np.zeros(32, np.float32)
        run = g.launch(answer, blocks, 32, x, turn, y, orders=True)
        if run is not None:
            g.equal(f"{blocks} blocks", y, x.sum(axis=0), says=f"In the end it was the turn of block {turn[0]}.")
    g.note("The sum is visible before the turn is passed on, and the next block reads it after it has got the turn.")


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
    title="Blocks that take turns",
    kind="fix",
    level=2,
    prompt="""
Some split-K kernels add up their parts in a fixed order, so that the result is the same in every run. Each block waits
for its turn, adds its part to the sum in memory, and passes the turn on. Here the turn is the number of a block. Lane 0
reads it with an atomic compare-and-swap and passes it on with an atomic exchange. (An ordinary launch does not
promise that its blocks run at the same time. Such a kernel relies on blocks that start in the order of their numbers.)

The sums are right, but `racecheck` reports a race: the turn is atomic, the sum is not. Fix it. All accesses stay where
they are; only fences are missing.
""",
    starter=_TURNS.format(taken="", passed=""),
    solution=_TURNS.format(
        taken="    " + _FENCE.format("what the blocks before have stored is visible from here on"),
        passed=_FENCE.format("each lane: what I have stored is visible before the turn is passed on"),
    ),
    answer="add_up",
    hints=(
        "When a block has its turn, the block before it has stored the sum. Does this block see it?",
        "One block must make its sum visible before it passes the turn on (release). The next must not read the sum "
        "before it has the turn (acquire).",
    ),
    graded=("the sums, for other numbers of blocks", "no race between blocks"),
    grade=_turns,
)


SIXTEEN_DIGITS = 1e-15
"""The relative error of an f64 after two or three roundings; each is at most 2^-53, about 1.1e-16."""


def _digits(g: Grading, answer: Any) -> None:
    cases = g.vary(((32, 1.0), (40, 100.0)), hidden=lambda rng: (int(rng.integers(1, 100)), 9.0), edges=((64, 1e200),))
    for n, size in cases:
        m, l = size * (0.5 + g.rng.random(n)), 1 + 9 * g.rng.random(n)
        lse = np.full(n, np.nan)
        run = g.launch(answer, -(-n // 32), 32, m, l, lse, n)
        if run is None:
            continue
        want = (m + l) * np.log(2.0)
        known = (
            (m + l, "What came out is m + l. In which units is it?"),
            ((m + l) / np.log(2.0), "What came out is (m + l) / ln 2. Which of the two units is larger?"),
            (
                (m + l) * np.uint64(0x3F317218 << 32).view(float),
                "The literal is an f32's bits and zeros. Is it a number near 0.69?",
            ),
            ((m + l) * 0.6931472, "The sum has 64 bits, and the literal is right in seven digits."),
            (np.add(m, l, dtype="f4") * np.log([2.0]), "The literal is right. Which instructions round to an f32?"),
            (m + l * np.log(2.0), "The logarithm is in natural units there, and m is not."),
            ((m + m) * np.log(2.0), "What came out is 2 m ln 2. Where is l?"),
        )
        case = f"{n} rows, m around {size:g}"
        g.close(case, lse, want, rtol=SIXTEEN_DIGITS, atol=0.0, run=run, known=known)
    g.note("All sixteen digits are right: every literal and every instruction has 64 bits.")


_NATURAL = '''
natural = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry natural(.param .u64 m, .param .u64 l, .param .u64 lse, .param .u32 n)
{{
    .reg .pred  %outside;
    .reg .u32   %block, %thread, %i, %n;
    .reg .u64   %m, %l, %lse, %at;
    .reg .f32   %a, %b;
    .reg .f64   %max, %log, %sum;

    mov.u32        %block, %ctaid.x;
    mov.u32        %thread, %tid.x;
    mad.lo.u32     %i, %block, 32, %thread;
    ld.param.u32   %n, [n];
    setp.ge.u32    %outside, %i, %n;
    @%outside ret;
    ld.param.u64   %m, [m];
    mad.wide.u32   %at, %i, 8, %m;
    ld.global.f64  %max, [%at];
    ld.param.u64   %l, [l];
    mad.wide.u32   %at, %i, 8, %l;
    ld.global.f64  %log, [%at];
{sum}
    ld.param.u64   %lse, [lse];
    mad.wide.u32   %at, %i, 8, %lse;
    st.global.f64  [%at], %sum;
    ret;
}}
"""
'''
DIGITS = Exercise(
    name="13-digits",
    title="Seven digits of sixteen",
    kind="fix",
    level=2,
    prompt="""
This f64 kernel is the last step of a softmax in powers of two. Each thread has the maximum `m` of a row and the binary
logarithm `l` of its sum, and stores the log-sum-exp in natural units: $(m + l) \\ln 2$.

Only seven digits are right, and with large numbers none. Two things have the precision of an f32. Find both, and fix
them. (`0f` and 8 digits are the 32 bits of an f32, `0d` and 16 digits the 64 bits of an f64. PTX also takes decimal
numbers, such as `0.125`.)
""",
    starter=_NATURAL.format(
        sum="""    cvt.rn.f32.f64 %a, %max;
    cvt.rn.f32.f64 %b, %log;
    add.rn.f32     %a, %a, %b;              // m + l
    cvt.f64.f32    %sum, %a;
    mul.rn.f64     %sum, %sum, 0f3F317218;  // ln 2"""
    ),
    solution=_NATURAL.format(
        sum="""    add.rn.f64     %sum, %max, %log;                // m + l
    mul.rn.f64     %sum, %sum, 0d3FE62E42FEFA39EF;  // ln 2"""
    ),
    answer="natural",
    hints=(
        "How many bits has the literal in the multiplication? And which instructions have `.f32` in their names?",
        "add.rn.f64 adds two f64 without a conversion. For the literal: "
        "np.float64(np.log(2)).view(np.uint64) are its 64 bits.",
    ),
    graded=("the log-sum-exp to sixteen digits, also for numbers that no f32 can hold", "no access past the end"),
    grade=_digits,
)


_BUGS = {
    "tail": "the keys after the last whole tile are dropped",
    "columns": "columns from number `columns` on are never computed",
    "alias": "the old maximum is overwritten before the rescale is computed from it",
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
            return f"{name} must be a whole number from 1 to {most}, found {value!r} in {case!r}"
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
        problem = "the result must be a list of cases" if not isinstance(cases, list | tuple) else ""
        problem = problem or ("at most 3 cases, found " + str(len(cases)) if len(cases) > 3 else "")
        problem = problem or next((w for w in map(_wrong, cases) if w), "")
        where = f"tile {tile}, {columns} columns"
        if not g.part(f"{where}: the cases are valid", not problem, f"`inputs`: {problem}."):
            continue
        fails: dict[str, tuple[int, ...]] = {}
        for bug in _BUGS:
            errors = []
            for case in cases:
                q, k, v = _inputs(tuple(case))
                exact = reference.attention(q[None, None], k[None, None], v[None, None]).o[0, 0]
                found = _attend(_suspect(bug, dim=q.shape[1], tile=tile, columns=columns), q, k, v)
                errors.append(float(np.max(np.abs(found - exact))))
            fails[bug] = tuple(n for n, error in enumerate(errors, 1) if error > 0.05)
            said = f"Tiles of {tile} keys, {columns} columns. Your cases do not find the kernel in which {_BUGS[bug]}: "
            said += "; ".join(f"{tuple(c)}: error {e:.3g}" for c, e in zip(cases, errors, strict=True))
            g.part(f"{where}: finds '{bug}'", fails[bug], said + ". The error must be above 0.05.")
        for bug, other in itertools.combinations(_BUGS, 2):
            if {bug, other} != {"alias", "output"} and fails[bug] and fails[other]:
                cases_of = " and ".join(map(str, fails[bug]))
                said = (
                    f"Tiles of {tile} keys, {columns} columns: two kernels fail in case {cases_of} and in no other. In "
                )
                said += f"one {_BUGS[bug]}, in the other {_BUGS[other]}. Which case could tell them apart?"
                g.part(f"{where}: tells '{bug}' from '{other}'", fails[bug] != fails[other], said)
    g.note("Three cases, and whatever fails says what is wrong: dropped keys, columns, rescale, or offset.")


CONVICT = Exercise(
    name="13-convict",
    title="Inputs that tell bugs apart",
    kind="write",
    level=3,
    prompt="""
Now write the test. There are five attention kernels, each with one bug:

- the keys after the last whole tile are dropped;
- the columns from number `columns` on are never computed;
- the old maximum is overwritten before the rescale is computed from it, so the rescale is always 1;
- the output is not rescaled when the maximum grows;
- every column of the output is the last column of V.

One case with odd sizes and large logits fails for all of them, and then you know nothing about the kernel but that it
is wrong. Write a function that returns **at most three cases** `(rows, keys, dim, sigma)` that say *what* is wrong. A
kernel fails in a case if its error is above 0.05. Each kernel must fail in some case, and no two of them in the same
ones. (Only the third and the fourth may: both are about the rescale.) `tile` is the number of keys per tile, `columns`
is at least 2, `sigma` the standard deviation of the logits. Limits: 64 rows, 200 keys, `dim` 48, `sigma` 20.
""",
    starter='''
def inputs(tile, columns):
    """At most three cases (rows, keys, dim, sigma) that tell what is wrong with a kernel."""
    return [(32, 2 * tile - 1, columns + 2, 4.0)]  # finds them all, and tells nothing
''',
    solution='''
def inputs(tile, columns):
    """At most three cases (rows, keys, dim, sigma) that tell what is wrong with a kernel."""
    rescale = (32, 2 * tile, 1, 4.0)  # whole tiles, and a single column is also the last one
    columns_or_offset = (32, tile, columns + 4, 0.01)  # small logits: every rescale is 1, or nearly
    all_but_columns = (8, 2 * tile - 1, 2, 4.0)
    return [rescale, columns_or_offset, all_but_columns]
''',
    answer="inputs",
    hints=(
        "What does each bug depend on: the number of keys, dim, or sigma? With which values can it not show?",
        "With dim = 1, which kernels cannot fail? And with whole tiles, and with logits that are nearly equal?",
    ),
    graded=("each of the five kernels is found, also with other tiles and columns", "which one it is can be told"),
    grade=_convict,
)

EXERCISES = (DROPPED, LEAVE, TURNS, DIGITS, CONVICT)
