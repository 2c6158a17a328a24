"""Exercise 04-deep: a product whose sum is longer than a fragment, and what the usual mistakes make of it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.exercises.tensor_cores import executed, half, layouts
from ptxlab.course.values import counted

SETUP = 'SHAPE = "m16n16k16"'
"""What the notebook has defined when the exercises come."""


def _pieces(x: Any, offset: int, stride: int, count: int) -> Any:
    """`count` pieces of 16 x 16 that begin `offset` elements apart, with rows `stride` apart; 0 past the end of x."""
    flat = np.zeros(offset * count + 16 * stride + 16, np.float32)
    flat[: x.size] = x.reshape(-1)[: flat.size]
    within = stride * np.arange(16)[:, None] + np.arange(16)
    return [flat[offset * n + within] for n in range(count)]


def _deep_mistake(a: Any, b: Any, c: Any, K: int) -> str:
    """Which mistake makes C of A and B, in words; "" if it is none of the usual ones."""
    count = K // 16
    right = {"left": (a, 16, K), "right": (b, 256, 16)}
    for told, where, offset, stride in (
        (
            f"an A whose rows begin 16 elements apart. In memory they begin {K} apart: that is A's stride.",
            "left",
            16,
            16,
        ),
        ("an A whose pieces begin at the same place: the piece of a step begins at a + step.", "left", 0, K),
        (
            f"a B whose rows begin {K} elements apart. In memory they begin 16 apart: that is B's stride.",
            "right",
            256,
            K,
        ),
        ("a B whose pieces begin 16 elements apart: 16 rows of 16 lie between them, b + step * 16.", "right", 16, 16),
        ("a B whose pieces begin at the same place: the piece of a step begins at b + step * 16.", "right", 0, 16),
    ):
        used = right | {where: (right[where][0], offset, stride)}
        left, below = (_pieces(*used[side], count) for side in ("left", "right"))
        if np.array_equal(c, sum(x @ y for x, y in zip(left, below, strict=True))):
            return f"What came out is the product with {told}"
    whole = [x @ y for x, y in zip(_pieces(*right["left"], count), _pieces(*right["right"], count), strict=True)]
    for n, piece in ((0, "first"), (-1, "last")):
        if np.array_equal(c, whole[n]):
            return f"What came out is the product of the {piece} pieces alone: {count} are to be added up."
    return ""


def _deep(g: Grading, answer: Any) -> None:
    for K in g.vary((16, 48), hidden=lambda r: 16 * int(r.integers(2, 9))):
        a, b, c = half(g, 16, K), half(g, K, 16), np.full((16, 16), np.nan, np.float32)
        run = g.launch(answer, 1, 32, a, b, c, build={"K": K}, counters=True)
        if run is None:
            continue
        told = functools.partial(_deep_mistake, a, b, c, K)
        if g.equal(f"right for K = {K}", c, a.astype(np.float32) @ b.astype(np.float32), run=run, says=told):
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
        "for step in range(0, K, 16): the piece of A begins at a + step, and its rows are K elements apart",
        "the piece of B begins at b + step * 16, its rows are 16 apart; the mma adds to total (into=)",
    ),
    graded=("the right product for any K, exactly", "K / 16 products on tensor cores, and one store"),
    grade=_deep,
)
