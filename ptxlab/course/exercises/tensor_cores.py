"""What the exercises on tensor cores share: their instruction, small matrices, and the one that chains two products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.launch.run import Run

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SETUP = f'MMA = "{MMA}"'
"""What the notebook has defined when the exercises come."""


def executed(run: Run, prefix: str) -> int:
    """Warp-instructions whose opcode begins so."""
    assert run.counters is not None
    return sum(warps for opcode, (warps, _) in run.counters.opcodes.items() if opcode.startswith(prefix))


def layouts(g: Grading, run: Run, case: str) -> None:
    """A part: A and B are loaded in the layout in which they are multiplied. The manual wants it; this machine, where a
    fragment is the same in both, would not show the mistake."""
    assert run.counters is not None
    opcodes = [opcode.split(".") for opcode in run.counters.opcodes]
    wrong = []
    for matrix, word in (("a", 4), ("b", 5)):
        loads = sorted({words[5] for words in opcodes if words[:3] == ["wmma", "load", matrix]})
        products = sorted({words[word] for words in opcodes if words[:2] == ["wmma", "mma"]})
        if loads != products:
            wrong.append(
                f"{matrix.upper()} is loaded as .{'/.'.join(loads)} and multiplied as .{'/.'.join(products)}. It came "
                "out right on this machine; the manual promises nothing."
            )
    g.part(f"load and product say the same, {case}", not wrong, wrong)


def half(g: Grading, *shape: int) -> Any:
    """Small whole numbers, whose products and sums are exact."""
    return g.rng.integers(-2, 3, shape).astype(np.float16)


def _chained(s: Any, v: Any) -> Iterator[tuple[Any, str]]:
    """What the usual mistakes make of S [16, keys] and V [keys, 16]."""
    p, rows, keys = np.maximum(s, 0), 16, s.shape[1]
    pairs = p.reshape(rows, keys // 2, 2)[:, :, ::-1].reshape(rows, keys)
    halves = p.reshape(rows, keys // 16, 2, 8)[:, :, ::-1].reshape(rows, keys)
    corners = p.reshape(2, 8, keys // 16, 2, 8).transpose(3, 1, 2, 0, 4).reshape(rows, keys)
    right, first = p @ v, np.arange(keys) % 16
    one = np.concatenate([right[:, :8] + right[:, 8:], np.zeros((16, 8))], axis=1)
    strided = v.T.reshape(-1)[16 * np.arange(16) + np.arange(keys)[:, None]]
    yield (
        p @ strided,
        (
            f"Right with 16 keys and wrong with {keys}: what came out reads V as if each column had 16 keys. How far "
            "apart are two columns?"
        ),
    )
    changed = f"Right with 16 keys. With {keys}"
    yield p @ v[first], f"{changed} the weights change with each step, the values do not."
    yield p[:, first] @ v, f"{changed} the values change with each step, the scores do not."
    yield (
        one,
        "Columns 8 to 15 are 0, and columns 0 to 7 have the sum of both. Into which fragment does each `mma` add?",
    )
    for wrong, told in (
        (s @ v, "without the gate: scores below 0 are to become 0."),
        (np.minimum(s, 0) @ v, "with min(S, 0) for max(S, 0)."),
        (np.abs(s) @ v, "with |S| for max(S, 0)."),
        (pairs @ v, "with a P whose neighbours are exchanged: the first source of cvt.rn.f16x2 is the upper half."),
        (halves @ v, "with a P in which keys 8 to 15 come before keys 0 to 7: a[0] and a[1] are of the first eight."),
        (corners @ v, "with a P whose blocks top right and bottom left are exchanged: a[1] lies below a[0]."),
        (p[:, -16:] @ v[-16:], "of the last 16 keys alone: the fragments of O begin before the loop."),
    ):
        yield wrong, f"What came out is the output {told}"


def _chain(g: Grading, answer: Any) -> None:
    for N in g.vary((16, 48), hidden=lambda r: 16 * int(r.integers(2, 7))):
        q, key, v = half(g, 16, 16), half(g, N, 16), half(g, 16, N)
        o = np.full((16, 16), np.nan, np.float32)
        run = g.launch(answer, 1, 32, q, key, v, o, build={"N": N}, counters=True)
        if run is None:
            continue
        s = q.astype(np.float32) @ key.astype(np.float32).T
        value = v.astype(np.float32).T
        if g.equal(f"right for {N} keys", o, np.maximum(s, 0) @ value, run=run, known=_chained(s, value)):
            found, needed = executed(run, "mma."), 4 * (N // 16)
            g.part(f"tensor cores do it, {N} keys", found == needed, f"{found} mma were executed; {needed} are needed.")
            g.at_most(
                f"P stays in registers, {N} keys", run, "shared stores", 0, "Nothing has to go through shared memory."
            )
            g.at_most(f"and in its lane, {N} keys", run, "shuffles", 0)
            g.note(f"{N} keys: {found} products, not a byte of shared memory, not a shuffle.")


_CHAIN = '''
@kernel
def gate(k: Builder, q: Ptr[f16], key: Ptr[f16], v: Ptr[f16], o: Ptr[f32], *, N: int = 16):
    """O = max(Q K', 0) V for 16 rows, N keys, 16 columns; q [16, 16], key [N, 16], v [16, N]: column by column."""
    lane = k.tid.x
    g, t = lane // 4, lane % 4
    q_pairs, key_pairs, v_pairs = q.cast(b32), key.cast(b32), v.cast(b32)
    out = [k.vars(f32, 4, 0.0) for _ in range(2)]  # columns 0 to 7, columns 8 to 15
'''

CHAIN = Exercise(
    name="05-chain",
    title="Attention with a gate",
    kind="write",
    level=3,
    prompt="""
$O = \\max(Q K^T, 0)\\, V$: attention with a gate instead of softmax, for 16 rows, `N` keys (a multiple of 16) and 16
numbers per row. V is stored column by column, so that the pairs that you need are neighbours. Use one warp and the
tensor cores, and keep P in registers: no shared memory, no shuffle.

Go through the keys 16 at a time, and add to the same two fragments of O. `k.max(x, 0.0)` works on each element of C.
""",
    starter=_CHAIN,
    solution=_CHAIN
    + """
    a = [q_pairs[(g + down) * 8 + t + right] for right in (0, 4) for down in (0, 8)]
    for first in range(0, N, 16):
        weights = []
        for side in (0, 8):  # keys `first` to first + 7, then the next eight
            s = k.vars(f32, 4, 0.0)
            b = [key_pairs[(g + first + side) * 8 + t + down] for down in (0, 4)]
            k.op(MMA, a, b, s, into=s)
            weights.append([k.max(x, 0.0) for x in s])
        p = [k.op("cvt.rn.f16x2.f32", c[row + 1], c[row]) for c in weights for row in (0, 2)]
        for side, c in enumerate(out):
            b = [v_pairs[(g + 8 * side) * (N // 2) + t + first // 2 + down] for down in (0, 4)]
            k.op(MMA, p, b, c, into=c)

    for side, c in enumerate(out):
        for i, (down, odd) in enumerate(((0, 0), (0, 1), (8, 0), (8, 1))):
            o[(g + down) * 16 + 8 * side + t * 2 + odd] = c[i]
""",
    answer="gate",
    hints=(
        "`chain` of the notebook is this without the gate, for 16 keys and 8 columns",
        "for 16 keys: two products for S, eight max, four cvt, two products for O; the A fragment of Q is loaded once",
    ),
    graded=(
        "the right output for any number of keys, exactly",
        "four products for each 16 keys",
        "not a byte of shared memory, not a shuffle",
    ),
    grade=_chain,
)
