"""Exercise 04-deep: a product whose sum is longer than a fragment, and what the usual mistakes make of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.tensor_cores import executed, half, layouts
from ptxlab.course.values import counted

SETUP = 'SHAPE = "m16n16k16"'
"""What the notebook has defined when the exercises come."""


def pieces(x: Any, offset: int, stride: int, count: int) -> Any:
    """`count` pieces of 16 x 16 that begin `offset` elements apart, with rows `stride` apart; 0 past the end of x."""
    flat = np.zeros(offset * count + 16 * stride + 16, np.float32)
    flat[: x.size] = x.reshape(-1)[: flat.size]
    within = stride * np.arange(16)[:, None] + np.arange(16)
    return [flat[offset * n + within] for n in range(count)]


def _deeper(a: Any, b: Any, K: int) -> Iterator[tuple[Any, str]]:
    """What the usual mistakes make of A B."""
    count = K // 16
    right = {"left": (a, 16, K), "right": (b, 256, 16)}
    for told, where, offset, stride in (
        ("Row 0 is right and row 1 is not: A was read as if a row had 16 numbers. It has K.", "left", 16, 16),
        ("Each step took the first 16 columns of A. Where does the piece of a step begin?", "left", 0, K),
        ("B was read as if a row had K numbers. How many has a row of B in memory?", "right", 256, K),
        (
            "The first piece is right. The second piece of B begins at its number 16; where does its row 16 begin?",
            "right",
            16,
            16,
        ),
        ("Each step took the first 16 rows of B. Where does the piece of a step begin?", "right", 0, 16),
    ):
        used = right | {where: (right[where][0], offset, stride)}
        left, below = (pieces(*used[side], count) for side in ("left", "right"))
        yield sum(x @ y for x, y in zip(left, below, strict=True)), told
    whole = [x @ y for x, y in zip(pieces(*right["left"], count), pieces(*right["right"], count), strict=True)]
    yield whole[0], f"What came out is the product for K = 16: {counted(count, 'piece')} are to be added up."
    yield whole[-1], f"What came out is the product of the last pieces alone, of {count}. Which sum do they add to?"


def _deep(g: Grading, answer: Any) -> None:
    for K in g.vary((16, 48), hidden=lambda r: 16 * int(r.integers(2, 9))):
        a, b, c = half(g, 16, K), half(g, K, 16), np.full((16, 16), np.nan, np.float32)
        run = g.launch(answer, 1, 32, a, b, c, build={"K": K}, counters=True)
        if run is None:
            continue
        known = [*_deeper(a, b, K)]
        if executed(run, "wmma.mma"):
            says = (
                "The products were computed, and `total` still has its zeros: nothing took them. Where does an `mma` "
            )
            known.append((not c.any(), says + "put its result?"))
        if g.equal(f"right for K = {K}", c, a.astype(np.float32) @ b.astype(np.float32), run=run, known=known):
            g.part(
                f"tensor cores do it, K = {K}",
                executed(run, "wmma.mma") == K // 16,
                f"{executed(run, 'wmma.mma')} wmma.mma were executed; {K // 16} are needed.",
            )
            g.part(
                f"the sum stays in registers, K = {K}",
                executed(run, "wmma.store") == 1,
                f"{executed(run, 'wmma.store')} wmma.store were executed; one, at the end, is enough.",
            )
            layouts(g, run, f"K = {K}")
            g.note(f"K = {K}: {counted(K // 16, 'product')}, one store.")


_DEEP = '''
@kernel
def deep(k: Builder, a: Ptr[f16], b: Ptr[f16], c: Ptr[f32], *, K: int = 48):
    """C = A B, with A 16 x K and B K x 16, both row-major; one warp."""
    total = k.vars(f32, 8, 0.0)
{body}
    k.op(f"wmma.store.d.sync.aligned.row.{{SHAPE}}.global.f32", c, total, 16)
'''

DEEP = Exercise(
    name="04-deep",
    title="A longer product",
    kind="fill",
    level=1,
    prompt="""
$C = A B$ where A is 16 × K and B is K × 16, and K is any multiple of 16. Cut A into pieces of 16 columns and B into
pieces of 16 rows, and add up their products in the same fragment.

Mind the strides: in A a row has K elements, in B it has 16. `a + 16` is 16 elements further.
""",
    starter=_DEEP.format(body="    # your loop: load a piece of A, load a piece of B, multiply into total"),
    solution=_DEEP.format(
        body="""    for step in range(0, K, 16):
        left = k.op(f"wmma.load.a.sync.aligned.row.{SHAPE}.global.f16", a + step, K)
        right = k.op(f"wmma.load.b.sync.aligned.row.{SHAPE}.global.f16", b + step * 16, 16)
        k.op(f"wmma.mma.sync.aligned.row.row.{SHAPE}.f32.f32", left, right, total, into=total)"""
    ),
    answer="deep",
    hints=(
        "`product` of the notebook is the case K = 16; put its three instructions into a loop",
        "In which element of A does the second piece begin, and in which element of B? How far apart are the rows "
        "of each?",
    ),
    graded=("the right product for any K, exactly", "K / 16 products on tensor cores, and one store"),
    grade=_deep,
)
