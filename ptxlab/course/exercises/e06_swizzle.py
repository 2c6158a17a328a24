"""Exercises of notebook 06: banks, padding and swizzles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.values import counted
from ptxlab.errors import PtxlabError
from ptxlab.launch.run import Run, launch
from ptxlab.static import inspect

Array = NDArray[Any]


def _conflicts(run: Run, prefix: str = "") -> int:
    """Wavefronts that bank conflicts added, of opcodes that begin so."""
    assert run.counters is not None
    return sum(line.conflicts for line in run.counters.by_line.values() if line.opcode.startswith(prefix))


def _shared(g: Grading, name: str, built: Any, limit: int) -> bool:
    """A part: a kernel declares at most `limit` bytes of shared memory."""
    try:
        found = inspect(built).shared
    except PtxlabError as error:
        return g.part(name, False, str(error))
    return g.part(name, found <= limit, f"The kernel declares {found} bytes of shared memory; {limit} are allowed.")


@kernel
def read(k: Builder, out: Ptr[f32], *, row: int = 8, wide: int = 8) -> None:
    """Lane n reads column n % wide of row n // wide of a tile whose rows begin `row` floats apart."""
    tile, lane = k.shared(f32, 32 * 96), k.tid.x
    out[lane] = tile[lane // wide * row + lane % wide]


def _wavefronts(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int]:
        wide = int(r.choice((2, 4, 8, 16)))
        return int(r.integers(wide, 97)), wide

    shown = ((8, 8), (32, 8), (36, 8), (40, 8), (33, 4), (20, 4), (64, 2), (48, 16))
    for row, wide in g.vary(shown, hidden, 8, edges=((12, 1), (34, 2), (17, 16), (96, 4))):
        counters = launch(
            read(row=row, wide=wide), 1, 32, np.zeros(32, np.float32), device="step", counters=True
        ).counters
        assert counters is not None
        truth = next(line.wavefronts for line in counters.by_line.values() if line.opcode.startswith("ld.shared"))
        says = f"The lanes read {counted(32 // wide, 'row')} of {counted(wide, 'float')}."
        starts, one = [lane // wide * row % 32 for lane in range(32)], math.gcd(row, 32)
        banks = {(lane // wide * row + lane % wide) % 32 for lane in range(32)}
        rule = "You go on from the rule for one column. Which lanes meet in a bank here?"
        known = (
            (one, "That is the rule for one column. Here the lanes of a row lie side by side."),
            (max(map(starts.count, starts)), "You count rows' first banks alone. Which lanes lie beside them?"),
            (len({*starts}), "You count the banks in which rows begin. How many lanes ask for one bank?"),
            (32 // wide if row % 32 == 0 else 1, "You say 1 unless 32 divides `row`. Which other rows meet in a bank?"),
            (len(banks), "You count the banks that are used."),
            (32 // len(banks), "You share 32 lanes evenly among the banks that are used. Which one is asked most?"),
            (max(1, one * wide // 32), rule),
            (max(1, one // wide), rule),
            (-(-(32 // wide * row) // 32), "You count all words from the first row to the last. Which are read?"),
            (32 // wide, "That is the number of rows. Which of them begin in the same bank?"),
        )
        if g.predict(answer, (row, wide), truth, says, known=known):
            g.note(f"{counted(32 // wide, 'row')} of {wide}, {row} floats apart: {counted(truth, 'wavefront')}.")


WAVEFRONTS = Exercise(
    name="06-wavefronts",
    title="How many wavefronts?",
    kind="predict",
    level=1,
    prompt="""
A warp rarely reads one column. Let it read a piece of a tile: lane $n$ reads one float, column `n % wide` of row
`n // wide`, and the rows of the tile begin `row` floats apart (`wide` is a power of two, and `row` is at least `wide`).
How many wavefronts does the load take?

Shown cases: `(row, wide)` = (8, 8), (32, 8), (36, 8), (40, 8), (33, 4), (20, 4), (64, 2), (48, 16). With `wide` 1 it is
the column from above.
""",
    starter='''
def wavefronts_of(row, wide):
    """Wavefronts of a load of 32 / wide rows of `wide` floats."""
    return math.gcd(row, 32)  # right for one column
''',
    solution='''
def wavefronts_of(row, wide):
    """Wavefronts of a load of 32 / wide rows of `wide` floats."""
    banks = [(lane // wide * row + lane % wide) % 32 for lane in range(32)]
    return max(banks.count(bank) for bank in banks)  # no word is read twice: a bank serves one lane in each wavefront
''',
    answer="wavefronts_of",
    hints=(
        "in which banks do the lanes of row 0 lie, and in which those of row 1?",
        "a wavefront serves each bank once: which bank is asked by the most lanes?",
    ),
    graded=("the number that the machine counts, for eight cases that you see and eight that you do not",),
    grade=_wavefronts,
)


def _transpose(g: Grading, answer: Any, room: int, why: str) -> None:
    built = g.build(answer)
    if built is None:
        return
    for blocks in g.vary((1, 3), hidden=lambda r: int(r.integers(1, 6))):
        x = g.rng.standard_normal((blocks, 32, 32)).astype(np.float32)
        y = np.full_like(x, np.nan)
        run = g.launch(built, blocks, (32, 8), x, y, counters=True, orders=True)
        if run is None:
            continue
        right = x.transpose(0, 2, 1)
        if not np.array_equal(y, right):
            g.equal(
                f"right for {blocks} matrices", y, right, run=run, says=lambda x=x, y=y, right=right: _from(x, y, right)
            )
            continue
        if not g.at_most(
            f"each byte once, {blocks} matrices", run, "sectors", 2 * blocks * 128,
            "Lanes that are neighbours must read, and write, neighbours in global memory."
        ):  # fmt: skip
            continue
        stores, loads = _conflicts(run, "st.shared"), _conflicts(run, "ld.shared")
        g.part(
            f"no bank conflict, {blocks} matrices", stores == loads == 0,
            f"{stores} wavefronts too many in stores to shared memory, {loads} in loads.", why
        )  # fmt: skip
        g.note(f"{counted(blocks, 'matrix', 'matrices')}: right, every sector full, no conflict.")
    if not g.failed:
        _shared(g, f"at most {room} bytes of shared memory", built, room)


def _from(x: Array, y: Array, right: Array) -> str:
    """Where the first wrong element of a transpose comes from."""
    at = tuple(int(n) for n in np.argwhere(y != right)[0])
    found = np.argwhere(x == y[at])
    if not len(found):
        return ""
    block, row, column = (int(n) for n in found[0])
    return f"That is x[{block}, {row}, {column}]: is each element loaded from the place where it was stored?"


_TRANSPOSE = '''
@kernel
def {name}(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """y = x transposed, a block of 32 x 8 threads for each matrix of 32 x 32; through shared memory, row by row."""
    column, line = k.tid.x, k.tid.y  # this thread's column, and the first of its four rows: line, line + 8, ...
    start = k.ctaid.x * 1024
{body}
'''

_COPIED = """
    for n in range(0, 32, 8):
        tile[line + n, column] = x[start + (line + n) * 32 + column]
    k.barrier()
    for n in range(0, 32, 8):
        y[start + (line + n) * 32 + column] = tile[column, line + n]"""

PAD = Exercise(
    name="06-pad",
    title="A transpose with bank conflicts",
    kind="fix",
    level=1,
    prompt="""
To transpose a matrix, a block reads it row by row into shared memory and writes it out column by column, so that global
memory is read and written in whole sectors. The result is right, but each load from shared memory takes 32
wavefronts. Fix it with one more float per row.
""",
    starter=_TRANSPOSE.format(
        name="transpose",
        body="    tile = k.shared(f32, (32, 32))" + _COPIED,
    ),
    solution=_TRANSPOSE.format(
        name="transpose",
        body="    tile = k.shared(f32, (32, 33))  # a row of 33: going down a column, each row is one bank further"
        + _COPIED,
    ),
    answer="transpose",
    hints=(
        "32 lanes read down a column of the tile: in which banks do its elements lie?",
        "with which row length does each row begin one bank further than the row before?",
    ),
    graded=(
        "the transpose, with full sectors in global memory",
        "no bank conflict in stores or loads",
        "at most 32 × 33 floats of shared memory",
    ),
    grade=lambda g, answer: _transpose(
        g, answer, 32 * 33 * 4, "Going down a column, each row should be in another bank."
    ),
)

XOR = Exercise(
    name="06-xor",
    title="The same, without padding",
    kind="write",
    level=2,
    prompt="""
The same transpose, in exactly 32 × 32 floats of shared memory and without a bank conflict, neither in the stores (row
by row) nor in the loads (column by column). Element `(r, c)` need not lie at place `(r, c)`. Where do you put it, so
that the elements of a row lie in 32 different banks, and those of a column as well?
""",
    starter=_TRANSPOSE.format(
        name="swizzled",
        body="    tile = k.shared(f32, (32, 32))" + _COPIED,
    ),
    solution=_TRANSPOSE.format(
        name="swizzled",
        body="""    tile = k.shared(f32, (32, 32))
    for n in range(0, 32, 8):
        row = line + n
        tile[row, column ^ row] = x[start + row * 32 + column]  # element (r, c) lies at place c ^ r of row r
    k.barrier()
    for n in range(0, 32, 8):
        row = line + n
        y[start + row * 32 + column] = tile[column, row ^ column]  # element (column, row)""",
    ),
    answer="swizzled",
    hints=(
        "a Latin square of 32 x 32: each place once in each row and in each column",
        "element (r, c) at place c ^ r of row r; both the store and the load must know it",
    ),
    graded=(
        "the transpose, with full sectors in global memory",
        "no bank conflict in stores or loads",
        "at most 32 × 32 floats of shared memory",
    ),
    grade=lambda g, answer: _transpose(
        g, answer, 32 * 32 * 4, "The elements of a row should lie in 32 different banks, and those of a column as well."
    ),
)


def _half(g: Grading, answer: Any) -> None:
    for rows in g.vary((16, 32), hidden=lambda r: 16 * int(r.integers(1, 5))):
        built = g.build(answer, rows=rows)
        if built is None:
            continue
        x = g.rng.integers(0, 65536, (rows, 32)).astype(np.uint16)
        out = np.zeros((rows // 16, 2, 32, 4), np.uint32)
        run = g.launch(built, 1, 32, x.view(np.uint32), out, counters=True)
        if run is None:
            continue
        group, t = np.arange(32) // 4, np.arange(32) % 4
        right = np.zeros_like(out)
        for part, half, register in np.ndindex(rows // 16, 2, 4):
            row = 16 * part + 8 * (register % 2) + group
            first = 16 * half + 8 * (register // 2) + 2 * t
            right[part, half, :, register] = x[row, first] | x[row, first + 1].astype(np.uint32) << 16
        if not np.array_equal(out, right):
            wrong = int((out != right).sum())
            g.part(
                f"right for {rows} rows",
                False,
                f"{wrong} of {out.size} registers hold something else than their elements of the matrix: two chunks "
                "lie in one place, or a chunk is looked for where it was not put.",
            )
            continue
        stores, loads = _conflicts(run, "st.shared"), _conflicts(run, "ldmatrix")
        g.part(
            f"no conflict when it is written, {rows} rows",
            stores == 0,
            f"{stores} wavefronts too many: eight neighbouring lanes write two rows of four chunks.",
        )
        g.part(
            f"no conflict when it is read, {rows} rows",
            loads == 0,
            f"{loads} wavefronts too many: ldmatrix reads one chunk of eight rows, "
            "and rows r and r + 2 begin in the same bank.",
        )
        if not g.failed:
            _shared(g, f"no more than {rows} rows of 64 bytes", built, 64 * rows)
        g.note(f"{rows} rows: no conflict, and not a byte is wasted.")


_HALF = '''
def place(row, chunk):
    """Where chunk 0 to 3 of a row lies in its row, 0 to 3. row and chunk are numbers or registers: use & ^ >> only."""
    return {place}


@kernel
def half(k: Builder, x: Ptr[b32], out: Ptr[b32], *, rows: int = 16):
    """Rows of 64 bytes into shared memory, and out again as fragments: out[part, half, lane, register]."""
    tile = k.shared(b32, rows * 16, align=128)
    lane = k.tid.x
    for first in range(0, rows, 8):  # eight rows at a time: four lanes per row, 16 bytes each
        row, chunk = lane // 4 + first, lane % 4
        four = k.load(x + row * 16 + chunk * 4, 4, vector=4)
        k.store(tile + row * 16 + place(row, chunk) * 4, four, vector=4)
    k.op("bar.warp.sync", 0xFFFFFFFF)
    for part in range(rows // 16):
        for side in range(2):
            row, chunk = lane % 16 + 16 * part, lane // 16 + 2 * side
            address = tile + row * 16 + place(row, chunk) * 4
            got = k.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", address)
            for n in range(4):
                out[part * 256 + side * 128 + lane * 4 + n] = got[n]
'''

HALF = Exercise(
    name="06-half",
    title="Rows of half the length",
    kind="fill",
    level=3,
    prompt="""
With head dimension 32 a row has 64 bytes: four chunks, so two rows fill all 32 banks. `c ^ (r & 7)` does not work,
because there is no chunk 7. Find the function `place(row, chunk)` with which neither the stores (eight neighbouring
lanes write two rows) nor `ldmatrix` (the same chunk of eight rows) has a conflict. Use no more memory than the rows
have.

Draw it first: eight groups of banks side by side, two rows in each line. Where can chunk 0 of rows 0 to 7 lie?
""",
    starter=_HALF.format(place="chunk"),
    solution=_HALF.format(place="chunk ^ (row >> 1 & 3)  # rows 2 n and 2 n + 1 share a line; the line decides"),
    answer="half",
    hints=(
        "even rows have the left four groups of banks, odd rows the right four: only four even rows compete",
        "rows 0, 2, 4, 6 need four different places for the same chunk: which bits of the row's "
        "number count them 0, 1, 2, 3?",
    ),
    graded=(
        "every register holds its elements",
        "no bank conflict, in stores and in ldmatrix",
        "no more shared memory than the rows have",
    ),
    grade=_half,
)


def _walk(g: Grading, answer: Any) -> None:
    built = g.build(answer)
    if built is None:
        return
    for _ in g.vary((0, 1), hidden=lambda r: int(r.integers(100))):
        x = g.rng.integers(-99, 100, (32, 32)).astype(np.float32)
        y = np.full(32, np.nan, np.float32)
        run = g.launch(built, 1, 32, x, y, counters=True)
        if run is None:
            continue
        assert run.counters is not None
        if not np.array_equal(y, x.sum(axis=1)):
            g.equal("right", y, x.sum(axis=1), run=run)
            continue
        loads = [line for line in run.counters.by_line.values() if line.opcode.startswith("ld.shared")]
        kept = g.part(
            "the tile stays swizzled", sum(line.bytes for line in loads) >= 4096 and not _conflicts(run),
            f"{_conflicts(run)} bank conflicts; {sum(line.bytes for line in loads)} bytes were read from the "
            "tile, which has 4096.", sort="cost"
        )  # fmt: skip
        if kept:
            g.at_most(
                "at most 140 instructions", run, "warp instructions", 140,
                "The eight loads and 32 additions are 40 of them."
            )  # fmt: skip
            g.note(f"{run.counters.warp_instructions} instructions.")


_WALK = '''
@kernel
def walk(k: Builder, x: Ptr[f32], y: Ptr[f32]):
    """y[r] = the sum of row r of x, 32 x 32; x lies swizzled in shared memory, chunk c of row r at c ^ (r & 7)."""
    tile = k.shared(f32, 1024, align=128)
    lane = k.tid.x
    row, chunk = lane // 8, lane % 8
    to = tile + row * 32
    for n in range(0, 32, 4):  # four rows at a time, eight lanes per row
        four = k.load(x + lane * 4 + n * 32, 4, vector=4)
        k.store(to + n * 32 + (chunk ^ (row + n & 7)) * 4, four, vector=4)
    k.op("bar.warp.sync", 0xFFFFFFFF)

    total = k.var(f32, 0.0)
{walk}
    y[lane] = total
'''

WALK = Exercise(
    name="06-walk",
    title="One xor per chunk",
    kind="optimise",
    level=3,
    prompt="""
Each lane adds up its row of a swizzled tile, chunk after chunk. The starter computes each place from scratch. Use
that

$$ (c \\oplus r) \\oplus d = (c \\oplus d) \\oplus r $$

and that a row begins at a multiple of 128 bytes: the address of chunk $d$ is the address of chunk 0 with a *constant*
xor. Get down from 173 instructions of the warp to **140**.

`k.address(p)` is the address of a pointer as a number, `k.pointer(f32, address, "shared")` makes a pointer of it.
""",
    starter=_WALK.format(
        walk="""    for d in range(8):
        place = (lane & 7) ^ d
        for v in k.load(tile + lane * 32 + place * 4, 4, vector=4):
            total += v"""
    ),
    solution=_WALK.format(
        walk="""    first = k.address(tile + lane * 32 + (lane & 7) * 4)  # chunk 0 of row `lane`
    for d in range(8):
        at = k.pointer(f32, first ^ d * 16, "shared") if d else k.pointer(f32, first, "shared")
        for v in k.load(at, 4, vector=4):
            total += v"""
    ),
    answer="walk",
    hints=(
        "beside the load and the additions, what does a turn of the second loop compute, and what of it depends on d?",
        "the address of chunk 0 once, before the loop; the address of chunk d is one xor away",
    ),
    graded=(
        "the right sums, exactly",
        "all of the tile read, without a bank conflict",
        "at most 140 instructions of the warp",
    ),
    grade=_walk,
)

EXERCISES = (WAVEFRONTS, PAD, XOR, HALF, WALK)
