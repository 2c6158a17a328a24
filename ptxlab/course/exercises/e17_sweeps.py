"""Exercises of notebook 17: points of a sweep, what a taller tile saves, where splitting begins, the best row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.attention.heuristics import split_count
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.launch.run import launch
from ptxlab.sweeps import Shape
from ptxlab.sweeps.plan import Refusals, parameters_of, points

_VALUES: dict[str, list[Any]] = {
    "tile_kv": [16, 32, 64],
    "causal": [False, True],
    "arch": ["sm_80", "sm_86", "sm_90"],
    "splits": [1, 2, 4],
}
_KERNELS = ("scalar", "tiled2d", "mma", "decode_split")
_HOW = {"device": "step", "checks": [], "seed": 0}


def _points(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[list[str], dict[str, int], int]:
        grid = {name: int(r.integers(1, len(values) + 1)) for name, values in _VALUES.items()}
        return [str(k) for k in r.choice(_KERNELS, 3, replace=False)] + ["decode_split"], grid, int(r.integers(1, 4))

    shown: tuple[tuple[list[str], dict[str, int], int], ...] = (
        (["tiled2d"], {"tile_kv": 3, "causal": 2}, 2),
        (["scalar", "mma"], {"tile_kv": 3}, 1),
        (["tiled2d", "decode_split"], {"tile_kv": 2, "arch": 3, "splits": 3}, 2),
    )
    for names, counts, lengths in g.vary(
        shown, hidden, 4, edges=((["scalar", "mma"], {"tile_kv": 2}, 1), (["mma"], {"tile_kv": 3, "arch": 1}, 3))
    ):
        chosen = list(dict.fromkeys(names))
        grid = {name: _VALUES[name][:count] for name, count in counts.items()}
        takes = [[name for name in (*_VALUES, "head_dim") if name in parameters_of(kernel)] for kernel in chosen]
        shapes = [Shape(64 * (n + 1)) for n in range(lengths)]
        truth = len(list(points(chosen, grid, shapes, _HOW, Refusals())))
        sums = sum(lengths * sum(len(values) for n, values in grid.items() if n in names) for names in takes)
        unused = lengths * sum(not set(names) & set(grid) for names in takes)
        known = (
            (truth // lengths, "You count one shape."),
            (truth // lengths + lengths, "You add the number of shapes. How often is each combination measured?"),
            (truth - unused, "A kernel that takes none of the parameters counts 0 there. How often is it measured?"),
            (
                lengths * int(np.prod([len(v) for names in takes for n, v in grid.items() if n in names])),
                "You multiply the kernels' points. Each kernel is measured by itself.",
            ),
            (sums + lengths * len(takes), "You add the numbers of values. How many combinations are there?"),
            (sums, "You add the numbers of values. How many combinations are there?"),
            (
                len(takes) * lengths * int(np.prod([len(values) for values in grid.values()])),
                "You let each kernel take every parameter. Which of them does each kernel take?",
            ),
        )
        g.predict(answer, (takes, grid, lengths), truth, f"The kernels are {', '.join(chosen)}.", known=known)
    g.note("A kernel without a parameter takes part once, whatever its values. Each further parameter multiplies.")


POINTS = Exercise(
    name="17-points",
    title="How many points?",
    kind="predict",
    level=1,
    prompt="""
`takes` has a list for each kernel: the parameters that it takes. `grid` maps parameters to the values to try, and
`lengths` is the number of shapes. All combinations are legal. How many points does the sweep measure? A kernel that
does not take a parameter of the grid takes part once, whatever that parameter's values.
""",
    starter='''
def count(takes, grid, lengths):
    """Points of a sweep."""
    total = len(takes) * lengths
    for values in grid.values():
        total *= len(values)
    return total
''',
    solution='''
def count(takes, grid, lengths):
    """Points of a sweep."""
    total = 0
    for names in takes:
        points = lengths
        for name, values in grid.items():
            if name in names:
                points *= len(values)
        total += points
    return total
''',
    answer="count",
    hints=(
        "How many points has scalar, which takes no tile_kv, if the grid has three values for it?",
        "Count each kernel by itself, and add the counts.",
    ),
    graded=("the number of points that `pl.sweep` plans, for three sweeps that you see and six that you do not",),
    grade=_points,
)


_READ_ALL = """.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 loads) {
.reg .pred %p; .reg .u64 %x; .reg .u32 %l, %n; .reg .f32 %f;
ld.param.u64 %x, [x]; ld.param.u32 %n, [loads]; mov.u32 %l, %tid.x; mad.wide.u32 %x, %l, 4, %x;
again: ld.global.f32 %f, [%x]; add.u64 %x, %x, 128; sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra again;
ret; }"""
"""Each block reads an array once, a warp at a time: what a prefill kernel does with K and V."""


def _traffic_of(rows: int, head_dim: int, tile_q: int) -> int:
    """Sectors of K and V that a grid of row blocks reads."""
    kv = np.zeros(2 * rows * head_dim, np.float32)
    counters = launch(
        _READ_ALL, -(-rows // tile_q), 32, kv, kv.size // 32, device="step", counters=True, checks=()
    ).counters
    assert counters is not None, "counters were asked for"
    return counters.global_sectors


def _traffic(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int, int]:
        return int(r.integers(10, 60)), 16 * int(r.integers(1, 3)), int(r.integers(4, 40))

    for case in g.vary(((64, 32, 16), (64, 32, 64), (40, 16, 16)), hidden, 4, edges=((33, 16, 32), (8, 16, 32))):
        rows, head_dim, tile_q = case
        says = f"{rows} rows in blocks of {tile_q}: {-(-rows // tile_q)} blocks, and each reads all of K and V."
        truth = _traffic_of(rows, head_dim, tile_q)
        part = rows * 2 * rows * head_dim * 4 // 32 // tile_q, "You count a part of a block for the last one."
        g.predict(answer, case, truth, says, known=(part, (truth // 2, "You count one of K and V.")))
    g.note(
        "Twice the rows in a block, half the blocks, half the reads. The width of the key tile is not in the formula."
    )


TRAFFIC = Exercise(
    name="17-traffic",
    title="What does a taller tile save?",
    kind="predict",
    level=2,
    prompt="""
A prefill kernel without a mask has one head with `rows` queries and as many keys, in f32. Each block takes `tile_q`
rows and reads all of K and V once, whole sectors of 32 bytes at a time. How many sectors of K and V do all blocks ask
for?

Shown cases: `(rows, head_dim, tile_q)` = (64, 32, 16), (64, 32, 64), (40, 16, 16). The last block may be partly empty.
""",
    starter='''
def sectors(rows, head_dim, tile_q):
    """Sectors of K and V that all blocks ask for."""
    return 2 * rows * head_dim * 4 // 32
''',
    solution='''
def sectors(rows, head_dim, tile_q):
    """Sectors of K and V that all blocks ask for."""
    blocks = -(-rows // tile_q)
    return blocks * 2 * rows * head_dim * 4 // 32
''',
    answer="sectors",
    hints=(
        "How often is K read, if there are four blocks?",
        "Once for each block. How many blocks are there for 40 rows, 16 in a block?",
    ),
    graded=("the machine's sectors, for three problems that you see and six that you do not",),
    grade=_traffic,
)


LONGEST = 2048
"""Keys up to which the exercise looks for a length."""


def _shortest_of(blocks: int, processors: int) -> int:
    """The first multiple of 64 keys that the library splits; 0 where it splits none."""
    lengths = range(64, LONGEST + 1, 64)
    return next((keys for keys in lengths if split_count(blocks, processors, keys) > 1), 0)


def _shortest(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int]:
        processors = int(r.integers(10, 140))
        return int(r.integers(1, processors)), processors

    edges = ((80, 100), (50, 100), (1, 1), (70, 100), (66, 100), (79, 100))
    for blocks, processors in g.vary(((8, 108), (60, 108), (100, 108)), hidden, 8, edges=edges):
        most = min(LONGEST // 64, 2 * processors // blocks)
        shares = [blocks * s / processors / max(1, -(-blocks * s // processors)) for s in range(1, max(3, most) + 1)]
        says = f"{blocks} blocks on {processors} multiprocessors: with 1, 2 and 3 parts "
        says += f"{', '.join(f'{share:.0%}' for share in shares[:3])} of them are busy."
        best = next(s for s, share in enumerate(shares, 1) if share >= 0.95 * max(shares[:most]))
        told = "That is the length with the best share. From which length on is a cache split at all?"
        known = ((64 * best if best > 1 and blocks < 0.8 * processors else 0, told),)
        g.predict(answer, (blocks, processors), _shortest_of(blocks, processors), says, known=known)
    g.note("Few blocks gain from the first cut. A grid that is half full needs three parts, and so a longer cache.")


SHORTEST = Exercise(
    name="17-shortest",
    title="For which length does splitting pay?",
    kind="predict",
    level=3,
    prompt="""
Decode without splitting has `blocks` blocks on a GPU with `processors` multiprocessors. The library splits a cache by
this rule:

- a grid that fills 80 % of the multiprocessors is not split;
- a part has at least 64 keys, and all parts together at most two blocks for each multiprocessor;
- with `s` parts there are `waves = blocks * s / processors` waves, rounded up when they run. The share of the
  multiprocessors that is busy is `waves` over `waves` rounded up (at least 1);
- the smallest `s` that reaches 95 % of the best share is taken.

Which is the shortest cache, a multiple of 64 keys up to 2,048, that is split at all? Return 0 where none is.
Shown cases: `(blocks, processors)` = (8, 108), (60, 108), (100, 108).
""",
    starter='''
def shortest(blocks, processors):
    """Keys of the shortest cache that is split, or 0."""
    return 128 if blocks < 0.8 * processors else 0
''',
    solution='''
def shortest(blocks, processors):
    """Keys of the shortest cache that is split, or 0."""
    def busy(parts):
        waves = blocks * parts / processors
        return waves / max(1, -(-blocks * parts // processors))

    if blocks >= 0.8 * processors:
        return 0
    for parts in range(2, min(2048 // 64, 2 * processors // blocks) + 1):
        if busy(1) < 0.95 * busy(parts):
            return parts * 64
    return 0
''',
    answer="shortest",
    hints=(
        "With 60 blocks on 108 multiprocessors, what share is busy with 1, 2 and 3 parts?",
        "The cache is split as soon as one part's share is less than 95 % of the share of some larger number of parts.",
    ),
    graded=("the library's own rule, for three grids that you see and fourteen that you do not",),
    grade=_shortest,
)


def _row(key: str, status: str, sectors: int | None, conflicts: int | None) -> dict[str, Any]:
    return {"key": key, "status": status, "sectors": sectors, "conflicts": conflicts}


_TABLES: tuple[tuple[list[dict[str, Any]], str, str], ...] = (
    ([_row("a", "ok", 900, 4), _row("b", "wrong", 100, 0), _row("c", "ok", 500, 9)], "sectors", "c"),
    ([_row("a", "refused", None, None), _row("b", "ok", 700, 0), _row("c", "ok", 300, 8)], "conflicts", "b"),
    ([_row("a", "fault", None, None), _row("b", "lost", None, None)], "sectors", ""),
)
_EDGES: tuple[tuple[list[dict[str, Any]], str, str], ...] = (
    ([_row("a", "ok", 50, 1), _row("b", "ok", 80, 2)], "sectors", "a"),
    ([_row("a", "ok", None, 1), _row("b", "ok", 80, 2), _row("c", "ok", 80, 3)], "sectors", "b"),
    ([_row("a", "finding", 10, 0), _row("b", "ok", 80, 2)], "sectors", "b"),
    ([], "sectors", ""),
)


def _best(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[list[dict[str, Any]], str, str]:
        rows = [
            _row(f"row {n}", str(r.choice(("ok", "wrong", "finding"))), int(v), int(v) % 7)
            for n, v in enumerate(r.permutation(90)[:12])
        ]
        good = [row for row in rows if row["status"] == "ok"]
        return rows, "sectors", min(good, key=lambda row: row["sectors"])["key"] if good else ""

    for rows, value, truth in g.vary(_TABLES, hidden, 3, edges=_EDGES):
        statuses = ", ".join(f"{row['key']} is {row['status']} with {row[value]}" for row in rows) or "no row"
        found = g.call(answer, rows, value)
        if found is not None:
            good = [row for row in rows if row["status"] == "ok" and row[value] is not None]
            last = min(reversed(good), key=lambda row: row[value])["key"] if good else ""
            some = min((row for row in good if row[value]), key=lambda row: row[value], default={"key": ""})["key"]
            most = max(good, key=lambda row: row[value])["key"] if good else ""
            g.told(
                f"predicts the best of {len(rows)} rows by {value}", found, truth,
                f"The least {value} of the rows that are ok and have one is {truth!r}, not {found!r}. "
                f"There is: {statuses}.",
                known=(
                    (last, "Of equal ones yours takes the last."), (some, "0 is a number, and yours leaves it out."),
                    (most, "Yours takes the most."),
                ),
            )  # fmt: skip
    g.note("A kernel that is wrong is often the fastest of all: look at the status before the number.")


BEST = Exercise(
    name="17-best",
    title="The fastest wrong kernel",
    kind="fix",
    level=1,
    prompt="""
`best(rows, value)` chooses a row of a sweep by the least `value` and returns its key. It also chooses kernels with a
wrong result, and stops at rows that have no such number (`None`).

Only rows whose status is `"ok"` and that have the number count. If several are equal, return the first.
Return `""` where no row is left.
""",
    starter='''
def best(rows, value):
    """The key of the best row."""
    return min(rows, key=lambda row: row[value])["key"]
''',
    solution='''
def best(rows, value):
    """The key of the best row."""
    good = [row for row in rows if row["status"] == "ok" and row[value] is not None]
    if not good:
        return ""
    return min(good, key=lambda row: row[value])["key"]
''',
    answer="best",
    hints=(
        "Which row has the fewest sectors in the first table, and is its result right?",
        'Keep the rows with row["status"] == "ok" and a number before you take the least. What if none is left?',
    ),
    graded=("the row that is chosen, from seven fixed tables and three that the seed draws",),
    grade=_best,
)

EXERCISES = (POINTS, TRAFFIC, BEST, SHORTEST)
