"""Exercises of notebook 05: fragments whose layout is known."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.builder import Builder, Ptr, b32, f16, f32, kernel
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.tensor_cores import CHAIN, MMA, SETUP, executed, half
from ptxlab.launch.run import launch

Array = NDArray[Any]


@kernel
def marks(k: Builder, b: Ptr[f16], c: Ptr[f32]) -> None:
    """Block n multiplies an A that is 0 but for a 1 in half n % 2 of register n // 2 % 4 of lane n // 8."""
    lane, block = k.tid.x, k.ctaid.x
    g, t = lane // 4, lane % 4
    b_pairs = b.cast(b32)
    one = k.select(block % 2 == 0, 0x00003C00, 0x3C000000, type=b32)  # 1.0 in the lower or the upper half
    left = [k.select((block // 8 == lane) & (block // 2 % 4 == i), one, 0) for i in range(4)]
    right = [b_pairs[g * 8 + t + down] for down in (0, 4)]
    total: Any = k.vars(f32, 4, 0.0)
    k.op(MMA, left, right, total, into=total)
    for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
        c[block * 128 + (g + down) * 8 + t * 2 + odd] = total[i]


@functools.cache
def _holders() -> dict[tuple[int, int], tuple[int, int, int]]:
    """For each element of A who holds it: the product with a B whose row r is full of r + 1 says where a 1 was."""
    b = np.tile(np.arange(1, 17, dtype=np.float16), (8, 1))  # column by column
    c = np.zeros((256, 16, 8), np.float32)
    launch(marks, 256, 32, b, c, device="cpu")
    found = {}
    for n in range(256):
        row = int(np.flatnonzero(c[n, :, 0])[0])
        found[row, int(c[n, row, 0]) - 1] = (n // 8, n // 2 % 4, n % 2)
    return found


def _holder(g: Grading, answer: Any) -> None:
    shown = ((0, 0), (1, 3), (9, 2), (0, 8), (15, 15))
    for row, column in g.vary(
        shown, hidden=lambda r: (int(r.integers(16)), int(r.integers(16))), count=6, edges=((8, 7), (7, 8))
    ):
        lane, register, half = _holders()[row, column]
        says = f"With a 1 there and 0 elsewhere, row {row} of the product was row {column} of B."
        far = 4 * (row % 8) + column % 4, register, column // 4 % 2
        right_first = 2 * (register % 2) + register // 2
        known = (
            ((row % 8 + 8 * (column % 8 // 2), register, half), "You number lanes by columns. Which lanes have row 0?"),
            (far, "You put columns c and c + 4 into one register. Which two columns share it?"),
            ((lane, right_first, half), "Register 1 holds what lies below, or what lies to the right?"),
            ((lane, register, row % 2), "Which of two neighbours shares a register: the one below, or beside?"),
        )
        if g.predict(answer, (row, column), (lane, register, half), says, known=known):
            g.note(f"({row}, {column}) lies in lane {lane}, register {register}, half {half}.")


HOLDER = Exercise(
    name="05-holder",
    title="Who holds it?",
    kind="predict",
    level=1,
    prompt="""
In which lane, in which of its four registers, and in which half of it (0 the lower, 1 the upper 16 bits) lies element
`(row, column)` of the 16 × 16 matrix **A** of `mma.m16n8k16`? Write a function that returns the three.

The check finds out by multiplying: it puts a 1 into one half of one register of one lane and 0 everywhere else, and
sees which element of the product is not 0. Shown cases: (0, 0), (1, 3), (9, 2), (0, 8), (15, 15).
""",
    starter='''
def holder(row, column):
    """(lane, register, half) of an element of A."""
    return 0, 0, 0
''',
    solution='''
def holder(row, column):
    """(lane, register, half) of an element of A."""
    lane = 4 * (row % 8) + column % 8 // 2
    register = row // 8 + 2 * (column // 8)  # down first, then to the right
    return lane, register, column % 2
''',
    answer="holder",
    hints=(
        "the lane is 4 g + t: g comes from the row, t from the column",
        "rows 8 to 15 repeat the lanes of rows 0 to 7, columns 8 to 15 those of columns 0 to 7: other registers",
    ),
    graded=(
        "lane, register and half as the machine found them, for five elements that you see and six that you do not",
    ),
    grade=_holder,
)


def _address(g: Grading, answer: Any) -> None:
    for D in g.vary((16, 48), hidden=lambda r: 16 * int(r.integers(2, 7))):
        q, key, s = half(g, 16, D), half(g, 16, D), np.full((16, 16), np.nan, np.float32)
        run = g.launch(answer, 1, 32, q, key, s, build={"D": D}, counters=True)
        if run is None:
            continue
        right = q.astype(np.float32) @ key.astype(np.float32).T
        low, high = (x.astype(np.float32).reshape(2, -1, D // 16, 2, 8) for x in (q, key))
        fours = np.einsum("aicuk,ujcsk->aisj", low, high).reshape(16, 16)  # keys 8 to 15 for the upper eight numbers
        told = "The four matrices come in the order of an A fragment. Which keys does the second one hold there?"
        says = "Matrix j goes into register j of every lane, and b[:2] must be keys 0 to 7."
        if g.equal(f"right for D = {D}", s, right, run=run, says=says, known=((fours, told),)):
            found = executed(run, "ldmatrix")
            g.part(
                f"ldmatrix does it, D = {D}", found == D // 16, f"{found} ldmatrix were executed; {D // 16} are needed."
            )
            g.note(f"D = {D}: one ldmatrix for two products.")


_ADDRESS = '''
@kernel
def scores(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32], *, D: int = 16):
    """S = Q K' for 16 rows and 16 keys of D numbers; one warp. K goes through shared memory and ldmatrix."""
    tile = k.shared(b32, 16 * D // 2)
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    q_pairs, key_pairs = q.cast(b32), key.cast(b32)
    for n in range(0, 16 * D // 2, 32):
        tile[lane + n] = key_pairs[lane + n]
    k.op("bar.warp.sync", 0xFFFFFFFF)

    # Whose address does this lane give? Row `row` (0 to 15) of the tile, and in each 16 numbers chunk 0 or chunk 1.
{where}

    total = [k.vars(f32, 4, 0.0) for _ in range(2)]  # keys 0 to 7, keys 8 to 15
    for step in range(0, D // 2, 8):
        a = [q_pairs[(g + down) * (D // 2) + t + right + step] for right in (0, 4) for down in (0, 8)]
        b = k.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", tile + row * (D // 2) + chunk * 4 + step)
        k.op(MMA, a, b[:2], total[0], into=total[0])
        k.op(MMA, a, b[2:], total[1], into=total[1])

    for side, c in enumerate(total):
        for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
            s[(g + down) * 16 + 8 * side + t * 2 + odd] = c[i]
'''

ADDRESS = Exercise(
    name="05-address",
    title="The address that a lane gives",
    kind="fill",
    level=2,
    prompt="""
One `ldmatrix.x4` should load two B fragments: `b[:2]` for keys 0 to 7 and `b[2:]` for keys 8 to 15, each 16 numbers
deep. That is four 8 × 8 matrices, and lanes $8j$ to $8j + 7$ give the addresses of the rows of matrix $j$.

Fill in `row` and `chunk`. What is there is right for an A fragment, and wrong here. (A chunk is 8 numbers, 16
bytes.)
""",
    starter=_ADDRESS.format(where="    row, chunk = lane % 16, lane // 16"),
    solution=_ADDRESS.format(
        where="    # matrices 0, 1: keys 0 to 7, chunks 0 and 1; matrices 2, 3: keys 8 to 15\n"
        "    row, chunk = lane % 8 + lane // 16 * 8, lane // 8 % 2"
    ),
    answer="scores",
    hints=(
        "what must matrices 0, 1, 2 and 3 hold? b[0] is the upper half of the first B fragment, its first 8 numbers",
        "matrices 0 and 1 are chunks 0 and 1 of keys 0 to 7; matrices 2 and 3 those of keys 8 to 15",
    ),
    graded=("the right scores for any D, exactly", "one ldmatrix for each 16 numbers"),
    grade=_address,
)


def _trans(g: Grading, answer: Any) -> None:
    for N in g.vary((16, 32), hidden=lambda r: 16 * int(r.integers(1, 6))):
        p, v, o = half(g, 16, N), half(g, N, 16), np.full((16, 16), np.nan, np.float32)
        run = g.launch(answer, 1, 32, p, v, o, build={"N": N}, counters=True)
        if run is None:
            continue
        p32, v32 = p.astype(np.float32), v.astype(np.float32)
        swapped = p32.reshape(2, 8, N // 16, 2, 8).transpose(3, 1, 2, 0, 4).reshape(16, N)
        blocks = v32.reshape(N // 8, 8, 2, 8).transpose(0, 3, 2, 1).reshape(N, 16)

        out = "What came out is the product with a"
        known = (
            (
                swapped @ blocks,
                f"{out} V whose 8 x 8 blocks are transposed, and a P of which two blocks are exchanged.",
            ),
            (p32 @ np.roll(v32, 8, axis=1), "Columns 0 to 7 and 8 to 15 have changed places. Whose are b[:2]?"),
            (p32 @ blocks, f"{out} V whose 8 x 8 blocks are transposed."),
            (swapped @ v32, f"{out} P whose blocks top right and bottom left are exchanged."),
        )
        if g.equal(f"right for {N} keys", o, p32 @ v32, run=run, known=known):
            found = executed(run, "ldmatrix")
            g.part(
                f"ldmatrix does it, {N} keys",
                found == N // 16,
                f"{found} ldmatrix were executed; {N // 16} are needed.",
            )
            g.note(f"{N} keys: nothing was transposed in memory.")


_TRANS = '''
@kernel
def output(k: Builder, p: Ptr[f16], v: Ptr[f16], o: Ptr[f32], *, N: int = 16):
    """O = P V for 16 rows, N keys and 16 columns; P and V row by row; one warp."""
    tile = k.shared(b32, N * 8)
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    p_pairs, v_pairs = p.cast(b32), v.cast(b32)
    for n in range(0, N * 8, 32):
        tile[lane + n] = v_pairs[lane + n]
    k.op("bar.warp.sync", 0xFFFFFFFF)

    address = tile + lane % 16 * 8 + lane // 16 * 4  # columns 0 to 7 of 16 keys, then columns 8 to 15
    total = [k.vars(f32, 4, 0.0) for _ in range(2)]
    for step in range(0, N, 16):
{body}
        k.op(MMA, a, b[:2], total[0], into=total[0])
        k.op(MMA, a, b[2:], total[1], into=total[1])

    for side, c in enumerate(total):
        for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
            o[(g + down) * 16 + 8 * side + t * 2 + odd] = c[i]
'''

TRANS = Exercise(
    name="05-trans",
    title="V lies across the sum",
    kind="fix",
    level=2,
    prompt="""
$O = P V$ for 16 rows and `N` keys. V lies in shared memory key by key, and one `ldmatrix` loads two B fragments of
it. Two things are wrong: the order of the registers of **P**, and how **V** is loaded. Fix both. The addresses are
right.
""",
    starter=_TRANS.format(
        body="""        pairs = p_pairs + step // 2
        a = [pairs[(g + down) * (N // 2) + t + right] for down in (0, 8) for right in (0, 4)]
        b = k.op("ldmatrix.sync.aligned.m8n8.x4.shared.b16", address + step * 8)"""
    ),
    solution=_TRANS.format(
        body="""        pairs = p_pairs + step // 2
        a = [pairs[(g + down) * (N // 2) + t + right] for right in (0, 4) for down in (0, 8)]
        b = k.op("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", address + step * 8)"""
    ),
    answer="output",
    hints=(
        "a[1] lies below a[0], not beside it; and in which direction must the pairs of B lie?",
        "in P V the sum goes over keys, so a pair of B is two keys of one column; in memory they are a row apart",
    ),
    graded=("the right output for any number of keys, exactly", "one ldmatrix for each 16 keys"),
    grade=_trans,
)


def _rowmax(g: Grading, answer: Any) -> None:
    for tiles in g.vary((1, 4), hidden=lambda r: int(r.integers(2, 9))):
        s = g.rng.standard_normal((16, 8 * tiles)).astype(np.float32)
        m = np.full(16, np.nan, np.float32)
        run = g.launch(answer, 1, 32, s, m, build={"tiles": tiles}, counters=True)
        if run is None:
            continue
        right = s.max(axis=1)
        case = f"{8 * tiles} keys"
        if not np.array_equal(m, right):
            g.equal(f"right for {case}", m, right, run=run, says=lambda s=s, m=m, right=right: _whence(s, m, right))
            continue
        few = g.at_most(f"four shuffles for {case}", run, "shuffles", 4)
        if few:
            g.at_most(
                f"no shared memory for {case}", run, "shared loads", 0,
                "The four lanes of a row can read each other's registers."
            )  # fmt: skip
        g.note(f"{case}: {executed(run, 'shfl')} shuffles for 16 rows.")


def _whence(s: Array, m: Array, right: Array) -> str:
    """Where the first wrong maximum comes from."""
    row = int(np.argmax(m != right))
    found = np.argwhere(s == m[row])
    if not len(found):
        return "That is not an element of S."
    at, column = (int(n) for n in found[0])
    if at != row:
        return f"That is element ({at}, {column}) of S: lanes of another row took part. Which lanes hold row {row}?"
    best, wrong = int(s[row].argmax()), s[m != right].argmax(axis=1) % 2
    if len(wrong) > 3 and len(set(wrong.tolist())) == 1:
        which = ("even", "odd")[wrong[0]]
        return f"In all {len(wrong)} wrong rows the largest is in an {which} column: in which registers are those?"
    lane = "the same lane" if best % 8 // 2 == column % 8 // 2 else "another lane of the row"
    return f"That is column {column} of the row. The largest is in column {best}, in {lane}."


_ROWMAX = '''
@kernel
def rowmax(k: Builder, s: Ptr[f32], m: Ptr[f32], *, tiles: int = 4):
    """m[r] = the largest of row r of S, 16 x 8*tiles; one warp that holds S in C fragments."""
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    mine = s + t * 2
    scores = [[mine[(g + down) * (8 * tiles) + 8 * n + odd] for down in (0, 8) for odd in (0, 1)] for n in range(tiles)]
{body}'''

ROWMAX = Exercise(
    name="05-rowmax",
    title="Four shuffles for sixteen rows",
    kind="optimise",
    level=2,
    prompt="""
A warp holds scores in C fragments: `scores[n][0]` and `[1]` are of row $g$, `[2]` and `[3]` of row $g + 8$. The
kernel finds the maximum of each row the slow way: every lane writes its scores to shared memory, and sixteen lanes
search there. Do it without shared memory, with at most **four** shuffles for all sixteen rows.
""",
    starter=_ROWMAX.format(
        body="""    tile = k.shared(f32, 16 * 8 * tiles)
    for n, c in enumerate(scores):
        for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
            tile[(g + down) * (8 * tiles) + 8 * n + t * 2 + odd] = c[i]
    k.op("bar.warp.sync", 0xFFFFFFFF)
    with k.if_(lane < 16):
        top = k.var(f32, -math.inf)
        with k.loop(8 * tiles) as j:
            top.set(k.max(top, tile[lane * (8 * tiles) + j]))
        m[lane] = top
"""
    ),
    solution=_ROWMAX.format(
        body="""    for half, row in ((0, g), (2, g + 8)):
        top = k.var(f32, -math.inf)
        for c in scores:
            top.set(k.max(top, k.max(c[half], c[half + 1])))
        for bit in (1, 2):  # the four lanes of a row: t changes, g does not
            top.set(k.max(top, k.shfl(top, bit, 31, 0xFFFFFFFF, mode="bfly")))
        with k.if_(t == 0):
            m[row] = top
"""
    ),
    answer="rowmax",
    hints=(
        "first each lane alone: of row g it has c[0] and c[1] of every fragment, of row g + 8 c[2] and c[3]",
        "which lanes have the rest of row g, and in which bits do their numbers differ?",
    ),
    graded=("the right maxima", "at most four shuffles", "no shared memory"),
    grade=_rowmax,
)


EXERCISES = (HOLDER, ADDRESS, TRANS, ROWMAX, CHAIN)
__all__ = ["EXERCISES", "SETUP"]
