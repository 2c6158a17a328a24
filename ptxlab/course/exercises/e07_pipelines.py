"""The exercises of notebook 07: which groups have arrived, waiting for the right one, short tiles, free buffers."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.value_watch import LANES, Watch
from ptxlab.launch.run import Run, launch


@kernel
def _groups(k: Builder, x: Ptr[f32], y: Ptr[f32], *, sizes: tuple[int, ...] = (1,), n: int = 0) -> None:
    """Starts groups of these numbers of copies, waits until at most n groups are in flight, and reads each copy."""
    lane = k.tid.x
    tiles = k.shared(f32, (sum(sizes) + 1, 128))
    copy = 0
    for size in sizes:
        for _ in range(size):
            k.op("cp.async.cg.shared.global", tiles.row(copy) + lane * 4, x + lane * 4, 16)
            copy += 1
        k.op("cp.async.commit_group")
    k.op("cp.async.wait_group", n)
    for at in range(copy):
        (y + at * 32)[lane] = tiles[at, lane * 4]


def _arrived(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[list[int], int]:
        sizes = [int(s) for s in rng.integers(0, 4, int(rng.integers(2, 6)))]
        return sizes, int(rng.integers(0, len(sizes) + 1))

    edges = (([2, 1, 3], 0), ([2, 1], 2), ([3, 1, 2], 1), ([1, 0, 2], 2), ([2, 1], 3))
    for sizes, n in g.vary((([1, 1, 1, 1], 1), ([2, 1, 3], 1), ([2, 2, 0], 1)), hidden=draw, count=4, edges=edges):
        total = sum(sizes)
        x, y = np.zeros(128, np.float32), np.zeros(32 * max(total, 1), np.float32)
        run = launch(_groups(sizes=tuple(sizes), n=n), 1, 32, x, y, checks=("synccheck",), device="step")
        early = sum(finding.count for finding in run.findings)
        says = (
            f"A run with groups of {sizes} copies and wait_group {n}: of {total} reads, synccheck found {early} "
            "that came too early."
        )
        known = (
            (max(0, len(sizes) - n), "You count groups. How many copies has each?"),
            (sum(sizes[:-n]), "Right but for n = 0: in Python, sizes[:-0] is empty."),
            (sum(sizes[-n:]), "You count the youngest groups. Are they in flight, or have they arrived?"),
            (sum(sizes[n:]), "You leave out the oldest groups. Which ones may still be in flight?"),
            (sum(sizes[:n]), "You count n groups. How many may still be in flight?"),
            (sum(sizes[:1]), "You count the oldest group alone."),
            (
                sum([s for s in sizes if s][: max(0, sum(map(bool, sizes)) - n)]),
                "You leave out empty groups. Does wait_group count them?",
            ),
            (total - n, "You count n copies. What does wait_group count?"),
        )
        g.predict(answer, (sizes, n), total - early, says, known=known)
    g.note("The number counts groups, the youngest first, and an empty group is a group.")


ARRIVED = Exercise(
    name="07-arrived",
    title="How many copies have arrived?",
    kind="predict",
    level=1,
    prompt="""
A thread starts copies and commits them in groups, one after the other: `sizes[0]` copies in the first group,
then `sizes[1]`, and so on. A group may be empty. Then it executes `cp.async.wait_group n`. **How many copies have
arrived for certain?**

The check runs it, reads every copy, and lets `synccheck` count the reads that came too early.
""",
    starter='''
def arrived(sizes, n):
    """The number of copies that have surely arrived after wait_group n."""
    return sum(sizes)
''',
    solution='''
def arrived(sizes, n):
    """The number of copies that have surely arrived after wait_group n."""
    return sum(sizes[: max(0, len(sizes) - n)])
''',
    answer="arrived",
    hints=(
        "n says how many groups may still be in flight. Which ones, the oldest or the youngest?",
        "All groups but the n youngest have arrived, with all of their copies. An empty group counts as a group.",
    ),
    graded=("the number, for other groups and n, empty groups among them",),
    grade=_arrived,
)

# -- the job of the other four -----------------------------------------------------------------------------------------

_HEAD = '''
@kernel
def pipe(k: Builder, x: Ptr[f32], y: Ptr[f32], {count}: u32, *, W: int = 2):
    """32 * W threads; y[tile * T + thread] = the sum of the 4 numbers of a tile that thread T - 1 - thread copied."""
    T = 32 * W
    thread = k.tid.x
    stages = k.shared(f32, (2, T, 4))

    def fetch(tile, stage):
        """Starts this thread's copy of a tile: 16 bytes."""
        to = stages.row(stage).row(thread)
        {body}k.op("cp.async.cg.shared.global", to, x + (tile * T + thread) * 4, 16{size})

    def add_up(tile, stage):
        """Adds up what the mirror image has copied."""
        a, b, c, d = k.load(stages.row(stage).row(T - 1 - thread), 4, vector=4)
        y[tile * T + thread] = (a + b) + (c + d)

'''


def _expected(x: Any, tiles: int, threads: int) -> Any:
    """What y should hold."""
    return x.reshape(tiles, threads, 4).sum(axis=2)[:, ::-1].reshape(-1)


def _wait_signs(ptx: str, found: Any) -> str:
    """What a finding says of a thread that waits for its copies, and reads another's."""
    waits = re.search(r"cp\.async\.wait_(group +0|all)", ptx)
    if waits and "reads memory to which a cp.async" in str(found) and found.first.thread != found.second.thread:
        other = f"Thread {found.second.thread[0]}"
        return f"{other} waits for its own copies. What must come between its wait and another's read of them?"
    return ""


def _pipe(g: Grading, answer: Any, warps: int, tiles: int, **options: Any) -> tuple[Run | None, bool]:
    """Runs an answer on whole tiles; the run and whether y is right."""
    threads = 32 * warps
    x = g.rng.integers(-50, 50, tiles * threads * 4).astype(np.float32)
    y = np.full(tiles * threads, np.nan, np.float32)
    kernel = g.build(answer, W=warps)
    signs = functools.partial(_wait_signs, str(getattr(kernel, "ptx", "")))
    run = kernel and g.launch(kernel, 1, threads, x, y, tiles, orders=True, signs=signs, **options)
    if run is None:
        return None, False
    right = _expected(x, tiles, threads)
    late = np.concatenate([right[:threads], right[:-threads]])
    known = (
        [(late, "Each tile but the first is the tile before it. Which one does a round fetch?")] if tiles > 1 else ()
    )
    return run, g.equal(f"{tiles} tiles, {warps} warps", y, right, known=known)


def _draw(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.choice([1, 2, 4])), int(rng.integers(1, 9))


def _wait(g: Grading, answer: Any) -> None:
    for warps, tiles in g.vary(((2, 4),), hidden=_draw):
        run, right = _pipe(g, answer, warps, tiles, counters=True)
        if run is not None and right:
            g.at_most("one barrier a tile is enough", run, "barriers", warps * (tiles + 1))
    g.note("When the wait comes, the only group on its way is the one that is wanted: none may stay.")


_LOOP = """    fetch(k.mov(0, u32), k.mov(0, u32))
    k.op("cp.async.commit_group")
    with k.loop(tiles) as tile:
        k.op("cp.async.wait_group", {n})
        k.barrier()
        with k.if_(tile + 1 < tiles):
            fetch(tile + 1, (tile + 1) & 1)
        k.op("cp.async.commit_group")
        add_up(tile, tile & 1)
"""
WAIT = Exercise(
    name="07-wait",
    title="One group too many",
    kind="fix",
    level=1,
    prompt="""
A pipeline with two buffers. Its author reasoned: two stages, so one group may be in flight, `wait_group 1`. The
numbers come out right on their machine. `synccheck` disagrees.

How many groups are in flight at the moment of the wait? Fix one line.
""",
    starter=_HEAD.format(count="tiles", body="", size="") + _LOOP.format(n=1),
    solution=_HEAD.format(count="tiles", body="", size="") + _LOOP.format(n=0),
    answer="pipe",
    hints=(
        "Go through the first round: how many groups have been committed before the first wait?",
        "One: that of tile 0, and tile 0 is read next. May it still be in flight?",
    ),
    graded=("y, for other numbers of tiles and warps", "no read of what is still being copied", "one barrier per tile"),
    grade=_wait,
)


def _free(g: Grading, answer: Any) -> None:
    for warps, tiles in g.vary(((2, 6),), hidden=lambda rng: (int(rng.choice([2, 4])), int(rng.integers(3, 9)))):
        run, right = _pipe(g, answer, warps, tiles, counters=True)
        if run is not None and right:
            g.at_most("one barrier a tile is enough", run, "barriers", warps * (tiles + 1))
    g.note("After the barrier everybody has read the tile before, and its buffer is free.")


_EARLY = """    fetch(k.mov(0, u32), k.mov(0, u32))
    k.op("cp.async.commit_group")
    with k.loop(tiles) as tile:
        with k.if_(tile + 1 < tiles):
            fetch(tile + 1, (tile + 1) & 1)
        k.op("cp.async.commit_group")
        k.op("cp.async.wait_group", 1)
        k.barrier()
        add_up(tile, tile & 1)
"""
FREE = Exercise(
    name="07-free",
    title="Too eager",
    kind="fix",
    level=2,
    prompt="""
"The earlier the next copy starts, the better", thought the author, and started it before everything else in the
round. (So `wait_group 1` is right here.) It is also right with one warp. With two, a fast warp fills
a buffer from which a slow one still reads.

Fix it, and keep one barrier per round.
""",
    starter=_HEAD.format(count="tiles", body="", size="") + _EARLY,
    solution=_HEAD.format(count="tiles", body="", size="") + _LOOP.format(n=0),
    answer="pipe",
    hints=(
        "In round j the copy goes to the buffer of tile j - 1. Who may still be reading that?",
        "The barrier of round j is the first place at which all threads have finished with "
        "tile j - 1. What must come after it?",
    ),
    graded=("y, for other numbers of tiles and warps", "no race", "one barrier per tile"),
    grade=_free,
)


def _size_signs(found: Any) -> str:
    """What a fault says of the size of a chunk's source."""
    past = re.search(r"elements (\d+) to \d+ of 'x', which has (\d+)", str(found))
    if "the source size goes from 0 to 16" in str(found):
        return "A chunk has 16 bytes, and `size` says more. How many of them lie before the end of `x`?"
    if past and int(past[1]) > int(past[2]):
        return f"That chunk begins at number {past[1]}, behind all {past[2]}. What is n less that, in a u32?"
    return ""


def _tail(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.choice([1, 2])), int(rng.integers(1, 900))

    for warps, n in g.vary(((1, 256), (1, 200), (1, 201)), hidden=draw, count=3, edges=((2, 513), (1, 300))):
        threads = 32 * warps
        tiles = -(-n // (4 * threads))
        x = g.rng.integers(1, 50, n).astype(np.float32)
        y = np.full(tiles * threads, np.nan, np.float32)
        run = g.launch(answer, 1, threads, x, y, n, build={"W": warps}, orders=True, signs=_size_signs)
        if run is None:
            continue
        whole = np.zeros(tiles * threads * 4, np.float32)
        whole[:n] = x
        says = f"{n} numbers: the last chunk of 16 bytes holds {(n - 1) % 4 + 1} of them, the rest should be zeros."
        in_chunk = np.clip(n - 4 * np.arange(whole.size // 4), 0, 4)[:, None]  # numbers, taken for bytes
        few = np.where(np.arange(16) < in_chunk, whole.view(np.uint8).reshape(-1, 16), 0).astype(np.uint8)
        known = (
            (
                _expected(whole * (np.arange(whole.size) // 4 < n // 4), tiles, threads),
                "The chunk that is not full did not come. How many bytes has it?",
            ),
            (
                _expected(few.ravel().view(np.float32), tiles, threads),
                "Of each chunk only the first number came. In which units is `size`?",
            ),
        )
        g.equal(f"{n} numbers, {warps} warps", y, _expected(whole, tiles, threads), says=says, known=known)
    g.note("Nothing past the end was read, and zeros took its place.")


_SIZE = """    tiles = (n + (4 * T - 1)) // (4 * T)
"""
_TAIL = _HEAD + _SIZE + _LOOP.format(n=0)
TAIL = Exercise(
    name="07-tail",
    title="The last tile is short",
    kind="fill",
    level=2,
    prompt="""
Now there are `n` numbers, and `n` need not fill the last tile, nor the last 16 bytes. `cp.async` can be told how many
bytes its source has, from 0 to 16. It reads that many and fills the rest with zeros: `k.op("cp.async.cg.shared.global",
to, from, 16, size)`.

In `fetch`, compute `size` for this thread's chunk. As it stands, every copy reads 16 bytes, and the last ones
read past the end.
""",
    starter=_TAIL.format(count="n", body="size = k.mov(16, u32)  # how many bytes are there?\n        ", size=", size"),
    solution=_TAIL.format(
        count="n",
        body="first = (tile * T + thread) * 4\n        size = k.min(k.max(n, first) - first, 4) * 4\n        ",
        size=", size",
    ),
    answer="pipe",
    hints=(
        "At which number of x does this thread's chunk begin? How many numbers are left from there on? Perhaps none.",
        "Clamp n - first to 0 ... 4, and remember that a u32 never goes below zero. Four bytes a number.",
    ),
    graded=("y, for n that fill no tile and no chunk", "no read past the end"),
    grade=_tail,
)


def _ahead(watch: Watch, tiles: int) -> list[int]:
    """For each tile that was used: how many chunks of warp 0's lane 0 had been asked for when it was first read."""
    asked, read, used = 0, False, []
    for event in watch.events:
        if event.first != 0 or not event.mask[0]:
            continue
        opcode = event.instruction.opcode
        if opcode.startswith("cp.async.c") and "shared" in opcode:
            asked += 1
        elif opcode.startswith("ld.shared") and not read:
            used.append(asked)
            read = True
        elif opcode.startswith("st.global"):
            read = False
    return used[:tiles]


def _pipeline(g: Grading, answer: Any) -> None:
    for warps, tiles in g.vary(((2, 5),), hidden=lambda rng: (int(rng.choice([2, 4])), int(rng.integers(3, 9)))):
        run, right = _pipe(g, answer, warps, tiles, counters=True)
        if run is None or not right:
            continue
        threads = 32 * warps
        watch = Watch(threads)
        x, y = np.zeros(tiles * threads * 4, np.float32), np.zeros(tiles * threads, np.float32)
        if g.launch(answer, 1, threads, x, y, tiles, build={"W": warps}, trace=watch, device="step") is None:
            continue
        used = _ahead(watch, tiles)
        late = [t for t, asked in enumerate(used[:-1]) if asked < t + 2]
        t = late[0] if late else 0
        g.part(
            f"the next tile is on its way: {tiles} tiles, {warps} warps", not late and len(used) == tiles,
            f"When lane 0 of warp 0 (of {LANES} lanes) read tile {t}, it had asked for {used[t] if used else 0} "
            f"tiles: " f"tile {t + 1} was not yet on its way."
        )  # fmt: skip
        g.at_most(f"one barrier a tile: {tiles} tiles, {warps} warps", run, "barriers", warps * (tiles + 1))
    g.note("Whenever a tile was read, the next one had been asked for, and one barrier a tile kept both promises.")


_SLOW = """    with k.loop(tiles) as tile:
        fetch(tile, tile & 1)
        k.op("cp.async.commit_group")
        k.op("cp.async.wait_group", 0)
        k.barrier()
        add_up(tile, tile & 1)
        k.barrier()
"""
PIPELINE = Exercise(
    name="07-pipeline",
    title="A pipeline of your own",
    kind="write",
    level=3,
    prompt="""
This kernel has two buffers and gains nothing from them: it copies, waits, computes. Make it a pipeline. **When a tile
is read, the copy of the next one must have been started**, with one barrier per tile (and one more, if you like).

`fetch` and `add_up` need no change. Do not copy a tile that does not exist.
""",
    starter=_HEAD.format(count="tiles", body="", size="") + _SLOW,
    solution=_HEAD.format(count="tiles", body="", size="") + _LOOP.format(n=0),
    answer="pipe",
    hints=(
        "The copy of tile 0 must start before the loop. Which copy starts in round j?",
        "Round j: wait for tile j, barrier, start the copy of tile j + 1 (if there is one), then use tile j.",
    ),
    graded=(
        "y, for other numbers of tiles and warps",
        "the next tile is on its way when one is read",
        "no race and no early read",
        "one barrier per tile",
    ),
    grade=_pipeline,
)

EXERCISES = (ARRIVED, WAIT, TAIL, FREE, PIPELINE)
