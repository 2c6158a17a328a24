"""Exercises of notebook 16: phases, expected bytes, releases and rings of mbarriers."""

from __future__ import annotations

import functools
import re
from itertools import pairwise
from typing import Any

import numpy as np

from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.launch.run import Run, launch
from ptxlab.static import inspect

SETUP = "from ptxlab.builder import TensorMap, f32, u32\n"
"""What the notebook has imported beside the usual."""
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


@kernel(arch="sm_90a")
def rounds(k: Builder, x: Ptr[f32], out: Ptr[u32], n: u32, *, stages: int = 2) -> None:
    """One thread has both roles; out[round] = the stage, and the parities that the consumer and the producer name."""
    tile = k.shared(f32, 4 * stages, align=16)
    ring = k.pipeline(stages, arrivals=1)
    k.barrier()
    with k.if_(k.tid.x == 0):
        fills, reads = ring.producer(), ring.consumer()
        with k.loop(n) as at:
            fills.wait()
            fills.expect(16)
            k.op(LOAD, tile + fills.stage * 4, x, 16, fills.full)
            reads.wait()
            for place, value in enumerate((reads.stage, reads.phase, fills.phase)):
                out[at * 3 + place] = value
            reads.release()
            reads.next()
            fills.next()


def _phases(stages: int, n: int) -> Any:
    """[round] -> (stage, the consumer's parity, the producer's parity), as a run says."""
    out = np.zeros((n, 3), np.uint32)
    launch(rounds(stages=stages), 1, 32, np.zeros(4, np.float32), out, n, device="step", checks=())
    return out


def _phase(g: Grading, answer: Any) -> None:
    truth = {stages: _phases(stages, 24) for stages in (1, 2, 3, 4)}

    def hidden(r: np.random.Generator) -> tuple[int, int]:
        return int(r.integers(24)), int(r.integers(1, 5))

    for n, stages in g.vary(((0, 2), (1, 2), (2, 2), (5, 2), (3, 1), (7, 3), (11, 4)), hidden, 8):
        found = tuple(int(value) for value in truth[stages][n])
        says, (stage, parity, _) = f"With {stages} stages this is filling number {n // stages} of its stage.", found
        known = (
            ((stage, parity, parity), "The producer's wait and the consumer's are for different phases."),
            ((stage, 1 - parity, parity), "Yours are exchanged: which of the two waits passes at once?"),
            (
                (stage, parity, (n + 1) // stages % 2),
                "When does the producer's parity flip: with the round, or with the ring?",
            ),
            ((stage, n % 2, 1 - n % 2), "Yours flip in each round. How often does a stage come?"),
        )
        g.predict(answer, (n, stages), found, says, known=known)
    g.note("Each time around the ring the parity flips. The producer is one phase behind: its first wait passes.")


PHASE = Exercise(
    name="16-phase",
    title="Which phase is meant?",
    kind="predict",
    level=1,
    prompt="""
A ring has `stages` stages, each with two mbarriers, `full` and `empty`. In round `n` (from 0) one stage is filled and
read. Say which: `(stage, parity of the consumer's wait for full, parity of the producer's wait for empty)`.

A wait for parity $p$ passes when the phase of that parity is over. A new mbarrier is in phase 0, so a wait for parity 1
passes at once. The producer needs that in its first turn, since every stage is still empty.

Shown cases: `(n, stages)` = (0, 2), (1, 2), (2, 2), (5, 2), (3, 1), (7, 3), (11, 4).
""",
    starter='''
def waits(n, stages):
    """(stage, parity of the wait for full, parity of the wait for empty) in round n."""
    return n % stages, 0, 0
''',
    solution='''
def waits(n, stages):
    """(stage, parity of the wait for full, parity of the wait for empty) in round n."""
    parity = n // stages % 2  # flips each time around
    return n % stages, parity, 1 - parity
''',
    answer="waits",
    hints=(
        "How often was this stage filled before round n?",
        "n // stages times. The first filling is phase 0 of full, the second phase 1, the third phase 0 again.",
    ),
    graded=("what the machine's threads wait for, in seven rounds that you see and eight that you do not",),
    grade=_phase,
)

# -- the job of the other three ----------------------------------------------------------------------------------------

COLUMNS, ROWS = 64, 8


def _sum(g: Grading, answer: Any, rows: int, maps: int, **options: Any) -> Run | None:
    """Runs an answer; y should be the sum over the rows of x, or of x times w."""
    given = [g.rng.integers(-4, 5, (rows, COLUMNS)).astype(np.float32) for _ in range(maps)]
    y = np.full(COLUMNS, np.nan, np.float32)
    kernel = g.build(answer)
    if kernel is None:
        return None
    signs = functools.partial(_signs, kernel)
    run = g.launch(kernel, 1, 96, *given, y, rows, budget=100_000, orders=True, signs=signs, **options)
    if run is not None:
        whole = np.prod(given, axis=0)
        sums = np.add.reduceat(whole, np.arange(0, rows, ROWS), axis=0)
        known = [(whole.sum(axis=0) + (sums[:-1:2] - sums[1::2][: len(sums[:-1:2])]).sum(axis=0), _SAME_PLACE)]
        g.equal(f"y for {rows} rows", y, whole.sum(axis=0), known=known if len(sums) > 1 else ())
    return run


_SAME_PLACE = (
    "Tile 0 was added twice and tile 1 never: consumers read place 0 in every turn. The producer wrote tile 1 to which "
    "place?"
)


def _signs(kernel: Any, found: Any) -> str:
    """What a finding or a fault says of a ring."""
    says, room = str(found), inspect(kernel).shared
    past = re.search(r"(\d+) bytes past the end of 'tile' \((\d+) bytes", says)
    if "not been initialised" in says and room < 4096:
        return (
            f"The kernel has {room:,} bytes of shared memory, and two tiles have 4,096. The copy of tile 1 was written "
            "over the mbarriers behind `tile`, and they are gone."
        )
    if past and getattr(found, "kind", "") == "memcheck":
        return (
            f"The second place begins {int(past[1]) + int(past[2]):,} bytes behind the first; a tile has 2,048 bytes."
        )
    if "overwrites what another bulk copy" in says and "byte 0 of 'tile'" in says:
        return "Two tiles went to place 0, so place 1 was never written. Which place does the producer give a tile?"
    lines = kernel.module.kernels[0].instructions()
    counts = {str(i.operands[-1]) for i in lines if i.opcode.startswith("mbarrier.init")} - {"1", "64"}
    if counts and getattr(found, "kind", "").startswith("mbarrier"):
        return f"64 threads release a stage, and {counts.pop()} are counted in each phase. What does an mbarrier count?"
    return ""


_KERNEL = '''
@kernel(arch="sm_90a")
def {name}(k: Builder, x: TensorMap, {more}y: Ptr[f32], n: u32):
    """y[column] = the sum over n rows of {what}. Thread 0 fetches tiles of 8 x 64 floats, threads 32 to 95 add up."""
    x.box(8, 64)
    {boxes}tile = k.shared(f32, {stages} * {floats}, align=128)
    ring = k.pipeline({stages}, arrivals={arrivals})
    tiles = (n + 7) // 8
    k.barrier()
    with k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(tiles) as t:
            turn.wait()
            turn.expect({expect})
            {fetch}
            turn.next()
    with k.if_(k.tid.x >= 32):
        column = k.tid.x - 32
        total = k.var(f32, 0.0)
        turn = ring.consumer()
        with k.loop(tiles) as t:
            turn.wait()
            here = tile + {at}column
            for row in range(8):
                {adds}
            turn.release()
            turn.next()
        y[column] = total
'''
_PLAIN = {
    "name": "added", "more": "", "what": "x", "boxes": "", "floats": "512", "stages": "2",
    "arrivals": "64", "expect": "8 * 64 * 4",
    "fetch": "x.load(tile + turn.stage * 512, turn.full, t * 8, 0)", "at": "turn.stage * 512 + ",
    "adds": "total.set(total + here[row * 64])",
}  # fmt: skip
_PAIR = _PLAIN | {
    "name": "products",
    "more": "w: TensorMap, ",
    "what": "x times w",
    "boxes": "w.box(8, 64)\n    ",
    "floats": "1024",
    "fetch": "x.load(tile + turn.stage * 1024, turn.full, t * 8, 0)\n            "
    "w.load(tile + turn.stage * 1024 + 512, turn.full, t * 8, 0)",
    "at": "turn.stage * 1024 + ",
    "adds": "total.set(total + here[row * 64] * here[row * 64 + 512])",
}


def _bytes(g: Grading, answer: Any) -> None:
    for rows in g.vary((16, 20), hidden=lambda r: int(r.integers(17, 60)), edges=(1,)):
        _sum(g, answer, rows, 2)
    g.note("Both boxes count, whole: outside of the tensor zeros are written, and these count.")


BYTES = Exercise(
    name="16-bytes",
    title="How many bytes will come?",
    kind="fill",
    level=2,
    prompt="""
Two tensor copies fill one stage, a tile of `x` and one of `w`, and report to the same mbarrier. The author announces
the bytes of the rows that are left, so fewer for the last tile of a length that is not a multiple of 8. With 16 rows
the result is right; with 20 the last phase ends when only a part of the bytes has come.

Fix the argument of `turn.expect`.
""",
    starter=_KERNEL.format(**_PAIR | {"expect": "k.min(n - t * 8, 8) * (2 * 64 * 4)"}),
    solution=_KERNEL.format(**_PAIR | {"expect": "2 * 8 * 64 * 4"}),
    answer="products",
    hints=(
        "Count the copies that report to this mbarrier in one round.",
        "Does a copy at the edge of a tensor write fewer bytes to shared memory? Look at what it does with the rest.",
    ),
    graded=("y, for lengths that fill the last tile and that do not", "every phase ends, with the bytes that come"),
    grade=_bytes,
)


def _release(g: Grading, answer: Any) -> None:
    for rows in g.vary((16, 64), hidden=lambda r: int(r.integers(30, 80))):
        _sum(g, answer, rows, 1)
    g.note("A stage is empty when every thread that reads it has said so.")


RELEASE = Exercise(
    name="16-release",
    title="Empty too early",
    kind="fix",
    level=2,
    prompt="""
Two warps add up what one thread fetches. "Two consumers, so two arrivals", thought the author. With two tiles, one for
each stage, the result is right. With more, `empty` ends a phase after any two *threads*, so it goes through many phases
for one tile. Then the kernel hangs, or a tile is overwritten while a thread still reads it.

How often is `release` executed for each tile? Fix one number.
""",
    starter=_KERNEL.format(**_PLAIN | {"arrivals": "2"}),
    solution=_KERNEL.format(**_PLAIN),
    answer="added",
    hints=(
        "An mbarrier does not know warps. What does it count?",
        "turn.release() is executed by every thread that gets there, and each of them arrives once.",
    ),
    graded=("y, for other numbers of tiles", "no tile is overwritten while it is read"),
    grade=_release,
)


def _ring(g: Grading, answer: Any) -> None:
    for rows in g.vary((16, 64), hidden=lambda r: int(r.integers(30, 80))):
        run = _sum(g, answer, rows, 1, trace=Trace(blocks=None))
        if run is None or run.trace is None or g.failed:
            continue
        barriers = [copy.barrier for copy in run.trace.copies if copy.barrier]
        used = len(set(barriers))
        g.part(
            f"two stages in turn, {rows} rows",
            used == 2 and all(a != b for a, b in pairwise(barriers)),
            f"The {len(barriers)} copies report to {used} mbarrier{'s' if used != 1 else ''}: a copy cannot begin "
            "before the tile that the one before has brought was released.",
        )
    g.note("While one stage is read, the other one is filled.")


RING = Exercise(
    name="16-ring",
    title="A ring of two",
    kind="write",
    level=3,
    prompt="""
This kernel has both roles and one stage: the producer waits until the tile is released, and the consumers wait until
the next one has come. So nothing overlaps. Make it a ring of two stages, each with its own place in shared memory. Both
roles must find the place of their stage: `turn.stage` is its number.
""",
    starter=_KERNEL.format(
        **_PLAIN | {"name": "ringed", "stages": "1", "fetch": "x.load(tile, turn.full, t * 8, 0)", "at": ""}
    ),
    solution=_KERNEL.format(**_PLAIN | {"name": "ringed"}),
    answer="ringed",
    hints=(
        "Three things know how many stages there are: the memory, the pipeline, and the addresses of both roles.",
        "A tile has 512 floats. How many have two, and how many stages is k.pipeline told of?",
    ),
    graded=("y, for other numbers of tiles", "copies go to two stages in turn", "no race, no early read"),
    grade=_ring,
)

EXERCISES = (PHASE, BYTES, RELEASE, RING)
