"""The exercises of notebook 14: a clamp in PTX, a sum that only one lane has, a row read once, rotary embedding."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ptxlab.course.causes import Known, exchanged
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading


def _clamp(g: Grading, answer: Any) -> None:
    for n, limit in g.vary(
        ((32, 1.0), (50, 0.5)), hidden=lambda r: (int(r.integers(1, 200)), float(r.uniform(0.2, 2)))
    ):
        x = (2 * g.rng.standard_normal(n)).astype(np.float32)
        if n > 1:
            x[:2] = 9.0, -9.0
        want = np.clip(x, -np.float32(limit), np.float32(limit))
        y = x.copy()
        run = g.launch(answer, -(-n // 32), 32, y, n, limit)
        if run is None:
            continue
        wrong = np.flatnonzero(y != want)
        at = int(wrong[0]) if len(wrong) else 0
        side = "above" if x[at] > limit else "below" if x[at] < -limit else "inside of"
        says = f"{n} numbers, limit {limit:.3g}: x[{at}] was {x[at]:.4g}, {side} the limits."
        g.equal(f"{n} numbers, limit {limit:.3g}", y, want, says=says)
    g.note("A negation, a maximum, a minimum: no branch for the values, one for the threads past the end.")


_CLAMP = '''
clamp = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry clamp(.param .u64 x, .param .u32 n, .param .f32 limit)
{
    .reg .pred  %outside;
    .reg .u32   %block, %thread, %i, %n;
    .reg .u64   %x;
    .reg .f32   %v, %limit, %low;

    ld.param.u64   %x, [x];
    ld.param.u32   %n, [n];
    ld.param.f32   %limit, [limit];
    mov.u32        %block, %ctaid.x;
    mov.u32        %thread, %tid.x;
    mad.lo.u32     %i, %block, 32, %thread;
MISSING    mad.wide.u32   %x, %i, 4, %x;
    ld.global.f32  %v, [%x];
LINES    st.global.f32  [%x], %v;
    ret;
}
"""
'''
CLAMP = Exercise(
    name="14-clamp",
    title="Four lines of PTX",
    kind="fill",
    level=1,
    prompt="""
Write the missing lines of PTX: threads past the end leave before they touch memory (there are `n` elements,
blocks of 32), and each element is clamped to the range from `-limit` to `limit`. The registers that you need are
declared.

Your answer is text, as it would stand in a `%%ptx` cell.
""",
    starter=_CLAMP.replace("MISSING", "    // threads past the end leave here\n").replace(
        "LINES", "    // the clamp\n"
    ),
    solution=_CLAMP.replace("MISSING", "    setp.ge.u32    %outside, %i, %n;\n    @%outside ret;\n").replace(
        "LINES",
        "    neg.f32        %low, %limit;\n    max.f32        %v, %v, %low;\n    min.f32        %v, %v, %limit;\n",
    ),
    answer="clamp",
    hints=(
        "Notebook 00 has the first two lines. The clamp is a minimum and a maximum.",
        "setp.ge.u32 compares, @%outside ret leaves. neg.f32 makes -limit; then max.f32 and min.f32.",
    ),
    graded=("every element, for other n and limits", "no access past the end"),
    grade=_clamp,
)


def _norm(x: Any, w: Any, eps: float) -> Any:
    """RMSNorm in float64."""
    x = x.astype(np.float64)
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * w


def _summed(x: Any, w: Any) -> Known:
    """What the usual mistakes of the sum make of RMSNorm."""
    (rows, n), every = x.shape, (16, 8, 4, 2, 1)
    own = np.pad(x.astype(float) ** 2, ((0, 0), (0, -n % 32))).reshape(rows, -1, 32).sum(axis=1)
    root, halves = np.sqrt((x.astype(float) ** 2).mean(axis=1, keepdims=True) + 1e-5), np.arange(n) % 32
    return [(x / root, "`w` is missing: the rows are divided and not yet weighed."),
            (x / np.sqrt(own.sum(axis=1, keepdims=True) / 32 + 1e-5) * w, "A row has more than 32 elements: by what is "
             "the sum of squares to be divided?"),
            (x * root * w, "What came out is multiplied by the root. RMSNorm divides by it."),
            *((x / np.sqrt(sums[:, halves] / n + 1e-5) * w, says) for sums, says in (
        (own, "Each lane divided by the squares of its own elements. What do the other 31 lanes know?"),
        (exchanged(own, every, np.add, "down"), "Only column 0 of each 32 is right: lane 0 alone has the whole sum."),
        (exchanged(own, every, np.add, "up"), "Now only lane 31 has the whole sum: each lane hears from lanes below "
         "it. In which exchange do both sides hear?"),
        (exchanged(own, every, np.add, "idx"), "All lanes hear lane 16, then lane 8, ... Whom should each hear?"),
        (exchanged(own, every[1:], np.add),
         "Two groups of 16 lanes have two different sums. Which distance joins them?"),
        (own.sum(axis=1, keepdims=True) * np.full(32, n),
         "What came out is divided by the root of the sum of squares. RMSNorm takes their mean."),
    ))]  # fmt: skip


def _down(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, float]:
        return int(rng.integers(1, 5)), int(rng.integers(33, 200)), 1.0

    for rows, n, sigma in g.vary(((2, 64, 1.0),), hidden=draw, edges=((1, 40, 0.0),)):
        x = (sigma * g.rng.standard_normal((rows, n))).astype(np.float32)
        w, y = g.rng.standard_normal(n).astype(np.float32), np.full((rows, n), np.nan, np.float32)
        run = g.launch(answer, rows, 32, x, w, y, n, 1e-5, allow=lambda finding: finding.check == "synccheck")
        if run is None:
            continue
        says, known = f"{rows} rows of {n}; element i is lane i % 32's.", functools.partial(_summed, x, w)
        g.close(f"{rows} rows of {n}", y, _norm(x, w, 1e-5), rtol=1e-3, atol=1e-4, says=says, known=known)
    g.note("A butterfly leaves the sum in all lanes, a shuffle down only in lane 0.")


_CUDA = '''
fixed = pl.cuda("""
extern "C" __global__ void rms_norm(const float *x, const float *w, float *y, int n, float eps) {{
    const float *row = x + blockIdx.x * n;
    float total = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32)
        total += row[i] * row[i];
    for (int distance = 16; distance; distance /= 2)
        total += {shuffle};
    float scale = rsqrtf(total / n + eps);
    for (int i = threadIdx.x; i < n; i += 32)
        y[blockIdx.x * n + i] = row[i] * scale * w[i];
}}
""")
'''
DOWN = Exercise(
    name="14-down",
    title="The sum is in one lane only",
    kind="fix",
    level=2,
    prompt="""
CUDA C++ this time. The sum of squares of a row is added up over the warp in the way that most tutorials show. Yet
only one column of 32 is right. Fix it; one word is enough.
""",
    starter=_CUDA.format(shuffle="__shfl_down_sync(0xffffffff, total, distance)"),
    solution=_CUDA.format(shuffle="__shfl_xor_sync(0xffffffff, total, distance)"),
    answer="fixed",
    hints=(
        "Compare the first 32 elements of a row with what they should be. Which ones are right, and which lane "
        "stored them?",
        "With shfl_down lane i receives from lane i + distance. What does lane 31 receive?",
    ),
    graded=("all elements of all rows, for other lengths",),
    grade=_down,
)


def _kept(x: Any, w: Any) -> Known:
    """What the usual mistakes make of a row that stays in registers."""
    lanes, scaled = np.arange(x.shape[1]) % 32, _norm(x, np.ones_like(w), 1e-5)
    return (
        (scaled[:, lanes - 32] * w, "All elements of a lane are its last one: y[0], y[32] and y[64] differ only by "
         "`w`. How many registers hold the row?"),
        (scaled[:, lanes] * w, "y[0], y[32] and y[64] are the same element of x. Which of them does each turn need?"),
        (scaled * w[lanes], "The first 32 columns are right; the others have their weights."),
        *_summed(x, w),
    )  # fmt: skip


def _once(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, float]:
        return int(rng.integers(1, 6)), int(rng.choice([64, 256, 384])), 1.0

    for rows, n, sigma in g.vary(((4, 128, 1.0),), hidden=draw, edges=((1, 32, 0.0),)):
        x = (sigma * g.rng.standard_normal((rows, n))).astype(np.float32)
        w, y = g.rng.standard_normal(n).astype(np.float32), np.full((rows, n), np.nan, np.float32)
        run = g.launch(answer, rows, 32, x, w, y, 1e-5, build={"N": n}, counters=True)
        if run is None:
            continue
        known = functools.partial(_kept, x, w)
        if g.close(f"{rows} rows of {n}", y, _norm(x, w, 1e-5), rtol=1e-3, atol=1e-4, known=known):
            g.at_most(
                f"x is read once: {rows} rows of {n}", run, "sectors", rows * 3 * n // 8,
                f"x, w and y are {n // 8} sectors each for a row, {rows * 3 * n // 8} in all."
            )  # fmt: skip
    g.note("The row stayed in registers between the sum and the scaling.")


_ROW = '''
@kernel
def norm(k: Builder, x: Ptr[f32], w: Ptr[f32], y: Ptr[f32], eps: f32, *, N: int = 128):
    """One warp = one row of N elements, N a multiple of 32."""
    lane = k.tid.x
    start = k.ctaid.x * N + lane
    total = k.var(f32, 0.0)
'''
_ADD_UP = """    for distance in (16, 8, 4, 2, 1):
        total += k.shfl(total, distance, 31, -1, mode="bfly")
    scale = k.rsqrt(total * (1.0 / N) + eps, approx=True)
"""
ONCE = Exercise(
    name="14-once",
    title="Keep what you have read",
    kind="optimise",
    level=2,
    prompt="""
This RMSNorm reads each row twice. `N` is known when the kernel is written, so a lane knows how many elements it
has: `N / 32`. Keep them in registers. The budget allows each row to load `x` and `w` and to store `y` once.
""",
    starter=_ROW
    + """    for d in range(0, N, 32):
        v = (x + start)[d]
        total.set(k.fma(v, v, total))
"""
    + _ADD_UP
    + """    for d in range(0, N, 32):
        (y + start)[d] = (x + start)[d] * scale * (w + lane)[d]
""",
    solution=_ROW
    + """    row = [(x + start)[d] for d in range(0, N, 32)]
    for v in row:
        total.set(k.fma(v, v, total))
"""
    + _ADD_UP
    + """    for d, v in zip(range(0, N, 32), row, strict=True):
        (y + start)[d] = v * scale * (w + lane)[d]
""",
    answer="norm",
    hints=(
        "Which lines load from x? What is in a Python list of registers?",
        "Load all of a lane's elements into a list first; then one loop for the squares, and later one for the "
        "results.",
    ),
    graded=("all rows, for other N", "sectors: x once, w once per row, y once"),
    grade=_once,
)


def _turned(x: Any, cos: Any, sin: Any) -> Known:
    """What the usual mistakes make of the rotation."""
    half = x.shape[1] // 2
    a, b, even, odd = (part.astype(float) for part in (x[:, :half], x[:, half:], x[:, ::2], x[:, 1::2]))

    def turned(a: Any, b: Any, cos: Any = cos, sin: Any = sin) -> tuple[Any, Any]:
        return a * cos - b * sin, b * cos + a * sin

    (first, second), (back, forth) = turned(a, b), turned(a, b, sin=-sin)
    mixed, compare = np.stack(turned(even, odd), axis=2).reshape(x.shape), "Compare the two signs with the formula."
    return [(np.hstack(halves), says) for halves, says in (
        ((back, second), f"The second half is right; the first is turned the other way. {compare}"),
        ((first, forth), f"The first half is right; the second is turned the other way. {compare}"),
        ((second, first), "The two halves of the result have changed places."),
        ((back, forth), "Both halves are turned by the angle, the other way round."),
        ((first, b * cos + first * sin),
         "The first half is right. Was the second computed from the old first element, or from the new one?"),
        (turned(a, b, sin, cos), "Sine and cosine have changed places."),
        ((first, b), "The first half is right, and the second was copied as it is."),
        (turned(a, b, cos[0], sin[0]), "Row 0 is right. The other rows were turned by row 0's angles."),
        ((mixed,), f"What came out turns element 0 with element 1. Here element 0 turns with element {half}."),
    )]  # fmt: skip


def _rope(g: Grading, answer: Any) -> None:
    for rows, half in g.vary(((3, 32),), hidden=lambda r: (int(r.integers(1, 6)), int(r.choice([16, 32, 64, 128])))):
        x = g.rng.standard_normal((rows, 2 * half)).astype(np.float32)
        angle = np.arange(rows)[:, None] * 100.0 ** (-np.arange(half) / half) + g.rng.uniform(0, 3)
        cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        y = np.full_like(x, np.nan)
        run = g.launch(answer, rows, half, x, cos, sin, y, half, counters=True)
        if run is None:
            continue
        a, b = x[:, :half].astype(float), x[:, half:].astype(float)
        want = np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)
        says, known = (
            f"Element i of the first half turns with element i + {half}.",
            functools.partial(_turned, x, cos, sin),
        )
        if g.close(f"{rows} rows of {2 * half}", y, want, rtol=1e-4, atol=1e-5, says=says, known=known):
            g.at_most(
                f"everything is read once: {rows} rows of {2 * half}", run, "sectors", rows * 6 * half // 8,
                f"x and y are {2 * half // 8} sectors per row, cos and sin {half // 8} each."
            )  # fmt: skip
    g.note("Each thread turned one pair: two loads, two angles, two stores.")


ROPE = Exercise(
    name="14-rope",
    title="Turn the queries",
    kind="write",
    level=3,
    prompt="""
Before attention, most models *rotate* queries and keys by an angle that depends on their position (rotary embedding,
RoPE). A row `x` of $2h$ elements is seen as $h$ pairs, element $i$ with element $i + h$, and pair $i$ of row $r$
is turned by its angle:

$$ y_i = x_i \\cos_{r,i} - x_{i+h} \\sin_{r,i}, \\qquad y_{i+h} = x_{i+h} \\cos_{r,i} + x_i \\sin_{r,i} $$

`cos` and `sin` are tables `[rows, h]`. Write it **in whatever language you like**: a function with `@kernel`, PTX
text, or `pl.cuda(...)`. It is launched with a block of $h$ threads for each row, and the parameters `x, cos, sin,
y, h`. Load nothing twice.
""",
    starter='''
@kernel
def rope(k: Builder, x: Ptr[f32], cos: Ptr[f32], sin: Ptr[f32], y: Ptr[f32], h: u32):
    """One block = one row, one thread = one pair."""
    i, row = k.tid.x, k.ctaid.x
    y[row * h * 2 + i] = x[row * h * 2 + i]
''',
    solution='''
@kernel
def rope(k: Builder, x: Ptr[f32], cos: Ptr[f32], sin: Ptr[f32], y: Ptr[f32], h: u32):
    """One block = one row, one thread = one pair."""
    i, row = k.tid.x, k.ctaid.x
    first = row * h * 2 + i
    a, b = x[first], x[first + h]
    c, s = cos[row * h + i], sin[row * h + i]
    y[first] = a * c - b * s
    y[first + h] = b * c + a * s
''',
    answer="rope",
    hints=(
        "Which two elements of x does thread i need, and which entry of the tables?",
        "Load both elements of the pair before you store either, and keep them.",
    ),
    graded=("all rows, for other h", "every number is read once", "no check finds anything"),
    grade=_rope,
)

EXERCISES = (CLAMP, DOWN, ONCE, ROPE)
