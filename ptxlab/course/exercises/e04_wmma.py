"""Exercises of notebook 04: matrix products whose fragments are opaque."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ptxlab.attention.prefill import attention
from ptxlab.course.causes import Known
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.longer_product import DEEP, SETUP, pieces
from ptxlab.course.exercises.tensor_cores import executed, half, layouts
from ptxlab.text import Instruction, Name, Vector, parse


def _products(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int, int]:
        return int(r.integers(1, 200)), int(r.integers(1, 200)), 16 * int(r.integers(1, 3))

    for rows, keys, D in g.vary(((64, 64, 16), (64, 65, 16), (100, 200, 32)), hidden, count=3, edges=((65, 64, 16),)):
        q = np.zeros((1, 1, rows, D), np.float16)
        k = np.zeros((1, 1, keys, D), np.float16)
        run = attention(q, k, k, kernel="wmma", device="cpu", counters=True).run
        found, blocks = executed(run, "wmma.mma"), -(-rows // 64)
        tiles = -(-keys // 64)
        says = (
            f"The launch has {blocks} block{'s' * (blocks > 1)} of 4 warps, "
            f"and {tiles} tile{'s' * (tiles > 1)} of 64 keys."
        )

        def count(high: int, wide: int, rows: int = rows, keys: int = keys, D: int = D) -> int:
            return 2 * (-(-rows // high) * high // 16) * (-(-keys // wide) * wide // 16) * (D // 16)

        known = (
            (
                count(16, 16),
                "You round up to 16. Whom does a block of 64 rows, and a tile of 64 keys, compute besides?",
            ),
            (count(16, 64), "You round rows up to 16. How many warps has a block, also where rows are missing?"),
            (count(64, 16), "You round keys up to 16. How many does a tile compute, also where keys are missing?"),
            (found // 2, "You count one of attention's two products."),
            (4 * (rows // 64) * (keys // 64) * D // 2, "You leave out what is not whole, and it is computed."),
        )
        if g.predict(answer, (rows, keys, D), found, says, known=known):
            g.note(f"{rows} rows, {keys} keys, D = {D}: {found} products of 16 x 16 matrices.")


PRODUCTS = Exercise(
    name="04-products",
    title="How many products?",
    kind="predict",
    level=1,
    prompt="""
The kernel `wmma` runs on one head with `rows` query rows, `keys` keys and head dimension `D`. A block has 4 warps and
64 rows, a tile has 64 keys, a product is 16 × 16 × 16. How many `wmma.mma` instructions do all warps together
execute, for both products of attention?

The machine counts for `(rows, keys, D)` = (64, 64, 16), (64, 65, 16), (100, 200, 32), and for others. There is no
causal mask.
""",
    starter='''
def products(rows, keys, D):
    """wmma.mma instructions that all warps execute."""
    return 0
''',
    solution='''
def products(rows, keys, D):
    """wmma.mma instructions that all warps execute."""
    warps = 4 * -(-rows // 64)
    tiles = -(-keys // 64)
    scores = 64 // 16 * (D // 16)  # 4 columns of S, D / 16 steps each
    output = D // 16 * (64 // 16)  # D / 16 columns of O, 4 steps each
    return warps * tiles * (scores + output)
''',
    answer="products",
    hints=(
        "a warp has 16 rows: how many 16 x 16 pieces has its part of S, and how many products does each need?",
        "one row more than fits needs another block, one key more another tile, and each is computed whole",
    ),
    graded=("the number that the machine counts, for three cases that you see and three that you do not",),
    grade=_products,
)


def _read(q: Any, key: Any) -> Known:
    """What comes out where the pieces of K are read key by key, and from other places."""
    (n, D), count = key.shape, key.shape[1] // 16
    for first, step, row, says in (
        (0, 1, D, "Each block took keys 0 to 15. Where does its first key lie?"),
        (1, D, D, "Keys begin D numbers apart, and steps 16. Which of `first` and `step` counts keys?"),
        (1, 16, 16, "K was read as if a key had 16 numbers. How many has it in memory?"),
    ):
        blocks = [pieces(key.reshape(-1)[first * at :], 16 * step, row, count) for at in range(0, n, 16)]
        yield np.hstack([sum(map(np.matmul, pieces(q, 16, D, count), np.swapaxes(b, 1, 2))) for b in blocks]), says


def _keys(g: Grading, answer: Any) -> None:
    for n, D in g.vary(((16, 16), (48, 32)), hidden=lambda r: (16 * int(r.integers(1, 5)), 16 * int(r.integers(1, 5)))):
        q, key, s = half(g, 16, D), half(g, n, D), np.full((16, n), np.nan, np.float32)
        right = q.astype(np.float32) @ key.astype(np.float32).T
        run = g.launch(answer, n // 16, 32, q, key, s, n, build={"D": D}, counters=True)
        if run is None:
            continue

        says = "In memory a row of K has D numbers, and a row of S has n."
        known = [*_read(q, key)]
        if n == D:
            whole = q.astype(np.float32) @ key.astype(np.float32)
            known += [(whole, "What came out is Q K, not Q K': the rows of K were taken for rows.")]
        if g.equal(f"right for {n} keys of {D}", s, right, run=run, says=says, known=known):
            found, needed = executed(run, "wmma.mma"), n // 16 * (D // 16)
            g.part(
                f"tensor cores do it, {n} keys of {D}",
                found == needed,
                f"{found} wmma.mma were executed; {needed} are needed.",
            )
            layouts(g, run, f"{n} keys of {D}")
            g.note(f"{n} keys of {D}: right, and nothing was transposed in memory.")


_KEYS = '''
@kernel
def keys(k: Builder, q: Ptr[f16], key: Ptr[f16], s: Ptr[f32], n: u32, *, D: int = 32):
    """S = Q K' for 16 rows and n keys of D numbers; a block (one warp) for each 16 keys."""
    first = k.ctaid.x * 16  # the first key of this block
    total = k.vars(f32, 8, 0.0)
    for step in range(0, D, 16):
        left = k.op(f"wmma.load.a.sync.aligned.row.{{SHAPE}}.global.f16", q + step, D)
{load}
    k.op(f"wmma.store.d.sync.aligned.row.{{SHAPE}}.global.f32", s + first, total, n)
'''

KEYS = Exercise(
    name="04-keys",
    title="Rows taken for columns",
    kind="fix",
    level=2,
    prompt="""
This kernel should compute $S = Q K^T$ for 16 query rows and any number of keys; K lies in memory key by key. It runs
without an error and is wrong. It loads K in the wrong layout, which shows in four places of two lines. No element
needs to move in memory.
""",
    starter=_KEYS.format(
        load="""        right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", key + step * 16 + first, 16)
        k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)"""
    ),
    solution=_KEYS.format(
        load="""        # column n of K' is key n: D numbers in a row, beginning at (first + n) * D
        right = k.op(f"wmma.load.b.sync.aligned.col.{SHAPE}.global.f16", key + first * D + step, D)
        k.op(f"wmma.mma.sync.aligned.row.col.{SHAPE}.f32.f32", left, right, total, into=total)"""
    ),
    answer="keys",
    hints=(
        "B is 16 numbers deep and 16 keys wide; which of the two lies side by side in memory?",
        "B is column-major: .col, both in the load and in the mma, and its stride is from key to key",
    ),
    graded=("the right scores for any number of keys and any D, exactly", "on tensor cores"),
    grade=_keys,
)


def _reuse(g: Grading, answer: Any) -> None:
    for K in g.vary((32, 64), hidden=lambda r: 16 * int(r.integers(1, 8))):
        a, b, c = half(g, 32, K), half(g, K, 32), np.full((32, 32), np.nan, np.float32)
        run = g.launch(answer, 1, 32, a, b, c, build={"K": K}, counters=True)
        if run is None:
            continue
        right = a.astype(np.float32) @ b.astype(np.float32)
        if not np.array_equal(c, right):
            moved = right.reshape(2, 16, 2, 16).transpose(2, 1, 0, 3).reshape(32, 32)
            told = "The blocks at the top right and the bottom left have changed places. Where is each stored?"
            g.equal(f"right for K = {K}", c, right, run=run, known=((moved, told),))
            continue
        loads, products = executed(run, "wmma.load"), executed(run, "wmma.mma")
        g.part(
            f"one load per product, K = {K}", products == K // 4 and loads <= products,
            f"{products} products took {loads} loads of fragments; {K // 4} loads are enough for the {K // 4} "
            "products that are needed.", sort="cost"
        )  # fmt: skip
        layouts(g, run, f"K = {K}")
        g.note(f"K = {K}: {loads} loads for {products} products.")


_REUSE = '''
@kernel
def square(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32], *, K: int = 32):
    """C = A B, with A 32 x K and B K x 32, both row-major; one warp."""
'''

REUSE = Exercise(
    name="04-reuse",
    title="One load per product",
    kind="optimise",
    level=2,
    prompt="""
A warp computes a 32 × 32 matrix: four fragments of C. The kernel makes them one after the other, and loads two
fragments for each product. Notebook 03 had the remedy for numbers, and it also works for matrices. Get down to
**one load for each product**.
""",
    starter=_REUSE
    + """
    for top in (0, 16):
        for side in (0, 16):
            total = k.vars(f32, 8, 0.0)
            for step in range(0, K, 16):
                left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a + (top * K + step), K)
                right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b + (step * 32 + side), 32)
                k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)
            k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c + (top * 32 + side), total, 32)
""",
    solution=_REUSE
    + """
    total = {(top, side): k.vars(f32, 8, 0.0) for top in (0, 16) for side in (0, 16)}
    for step in range(0, K, 16):
        left = {top: k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a + (top * K + step), K)
                for top in (0, 16)}
        right = {side: k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b + (step * 32 + side), 32)
                 for side in (0, 16)}
        for (top, side), part in total.items():
            k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left[top], right[side], part, into=part)
    for (top, side), part in total.items():
        k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c + (top * 32 + side), part, 32)
""",
    answer="square",
    hints=(
        "a piece of h x w fragments needs h + w loads for h * w products",
        "keep all four sums at once, and let the loop over `step` be the outermost one",
    ),
    graded=("the right product, exactly", "no more loads of fragments than products, and no product too many"),
    grade=_reuse,
)


def _pried(kernel: Any) -> Instruction | None:
    """The first instruction that treats the elements of a wmma fragment unlike each other: it stores one, sends it to
    another lane, or brings two of them together."""
    module = parse(kernel) if isinstance(kernel, str) else kernel.module
    held: set[str] = set()  # registers of fragments, and what was made of them element by element
    for function in module.kernels:
        for i in function.instructions() if function.body is not None else ():
            named = [_registers(operand) for operand in i.operands]
            if i.name == "wmma":
                held.update(named[0])
                continue
            read = named if i.name == "st" else named[1:]
            elements = {register for group in read for register in group} & held
            if elements and (i.name in ("st", "shfl") or len(elements) > 1):
                return i
            if elements and named:
                held.update(named[0])
    return None


def _registers(operand: Any) -> list[str]:
    if isinstance(operand, Vector):
        return [str(element) for element in operand.elements]
    return [str(operand)] if isinstance(operand, Name) else []


def _divided(product: Any) -> Known:
    """What the usual mistakes make of the rows of a product that are divided by their sums."""
    halves = product.reshape(16, 2, 8).sum(axis=2)
    return (
        (product / product.sum(axis=0), "Each *column* adds up to 1. Which way does the lane walk through the matrix "
         "in shared memory?"),
        (product / halves.repeat(8, axis=1), "Each *half* of a row adds up to 1. Two lanes have a row; which number "
         "must they share?"),
        (product / (halves + halves[np.arange(16) ^ 8]).repeat(8, axis=1), "What came out divides row 0 by half of "
         "itself and half of row 8. Which lane has the rest of lane 0's row?"),
        (product, "What came out is the product. By what is each row to be divided?"),
    )  # fmt: skip


def _rows(g: Grading, answer: Any) -> None:
    built = g.build(answer)
    if built is None:
        return
    for case in g.vary((0, 1), hidden=lambda r: int(r.integers(2, 1000))):
        a = g.rng.integers(0, 4, (16, 16)).astype(np.float16)
        b = g.rng.integers(1, 5, (16, 16)).astype(np.float16)
        a[:, 0] += 1  # no row adds up to 0
        c = np.full((16, 16), np.nan, np.float32)
        run = g.launch(built, 1, 32, a, b, c, counters=True, orders=True)
        if run is None:
            continue
        product = a.astype(np.float64) @ b.astype(np.float64)
        right = product / product.sum(axis=1, keepdims=True)
        says, known = f"Row 0 adds up to {c.sum(axis=1)[0]:.4g}.", functools.partial(_divided, product)
        if g.close("right", c, right, run=run, rtol=1e-5, says=says, known=known):
            g.part("tensor cores do it", executed(run, "wmma.mma") == 1, "No wmma.mma was executed, or too many.")
            layouts(g, run, f"run {case}")
            pried = _pried(built)
            g.part(
                "the fragment stays closed",
                pried is None,
                lambda: [
                    "This instruction takes single elements out of a fragment, as if it knew where they lie:",
                    g.place(run, pried.line if pried else 0),
                ],
            )
            g.note("Every row adds up to 1, on any GPU: nothing relies on which lane holds which element.")


_ROWS = '''
@kernel
def shares(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32]):
    """C = A B, and then each row divided by its sum; 16 x 16, one warp."""
    left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a, 16)
    right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b, 16)
    total = k.vars(f32, 8, 0.0)
    k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)
'''

ROWS = Exercise(
    name="04-rows",
    title="Rows of an opaque fragment",
    kind="write",
    level=3,
    prompt="""
Compute $C = A B$ on tensor cores and then divide each row of C by its sum, as softmax does at its end. One warp, 16 ×
16. The kernel must be right on *every* GPU: it may not rely on which lane holds which element of a fragment. (The check
looks at which instructions use the registers of a fragment.)

`k.shared(f32, 256)` is room for a matrix, and `k.op("bar.warp.sync", 0xFFFFFFFF)` makes the lanes of the warp wait
for each other. You have 32 lanes and 16 rows.
""",
    starter=_ROWS
    + """
    k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.global.f32", c, total, 16)
""",
    solution=_ROWS
    + """
    tile = k.shared(f32, 256)
    k.op(f"wmma.store.d.sync.aligned.row.{SHAPE}.shared.f32", tile, total, 16)
    k.op("bar.warp.sync", 0xFFFFFFFF)  # the matrix is where every lane can read it

    lane = k.tid.x
    row, side = lane // 2, lane % 2  # two lanes per row, eight elements each
    mine = k.load(tile + row * 16 + side * 8, 8, vector=4)
    row_sum = k.var(f32, 0.0)
    for x in mine:
        row_sum += x
    row_sum += k.shfl(row_sum, 1, 31, 0xFFFFFFFF, mode="bfly")
    out = c + row * 16 + side * 8
    for n, x in enumerate(mine):
        out[n] = x / row_sum
""",
    answer="shares",
    hints=(
        "wmma.store knows the layout: let it put the matrix into shared memory, row by row",
        "after the store and a bar.warp.sync, lane 2 r and lane 2 r + 1 can read the two halves of row r",
    ),
    graded=(
        "the right shares; no race between the lanes",
        "the product comes from a tensor core",
        "no instruction but wmma takes single elements out of a fragment",
    ),
    grade=_rows,
)

EXERCISES = (PRODUCTS, DEEP, KEYS, REUSE, ROWS)
__all__ = ["EXERCISES", "SETUP"]
