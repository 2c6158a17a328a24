"""The exercises of notebook 00: two lines each, in PTX by hand, as a guard, and with the builder."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading


def _square(g: Grading, answer: Any) -> None:
    for count in g.vary((32,), hidden=lambda rng: int(rng.integers(2, 31)), edges=(1, 31)):
        x = g.rng.integers(-9, 10, count).astype(np.float32)
        x[0] = 3.0
        was = x.copy()
        if g.launch(answer, 1, count, x) is None:
            continue

        known = (
            (2 * was, "Each number was doubled. Which word multiplies?"),
            (2 * was + 1, "Each number was doubled before 1 was added. Which word multiplies?"),
            (was * was, "Each number was squared; 1 is still to be added."),
            (was + 1, "1 was added, and nothing was squared."),
            (was * was + was, "x was added to the square. What is to be added?"),
            (was**4, "The square was squared once more. What is to be added to it?"),
            ((was * was) ** 2 + 1, "Each number was squared twice before 1 was added."),
            (2 * was * was, "The square was doubled. What is to be added to it?"),
            (was, "No number has changed: each was stored as it was loaded."),
            ((was + 1) ** 2, "What came out is (x + 1) squared. Which of your two lines comes first?"),
        )
        says = f"Thread 0 had the number 3. Its square is 9; now it is {x[0]:g}."
        g.equal(f"{count} numbers", x, was * was + 1, says=says, known=known)
    g.note("Every thread squared its own number and added 1. You have written PTX.")


_FIRST = '''
square = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry square(.param .u64 x)
{
    .reg .u32       %i;
    .reg .u64       %x, %at;
    .reg .f32       %v;

    mov.u32         %i, %tid.x;          // which thread am I?
    ld.param.u64    %x, [x];
    mad.wide.u32    %at, %i, 4, %x;      // the address of my number: x + 4 * i
    ld.global.f32   %v, [%at];
LINES
    st.global.f32   [%at], %v;
    ret;
}
"""
'''
SQUARE = Exercise(
    name="00-square",
    title="two lines of PTX",
    kind="fill",
    level=1,
    prompt="""
This program runs in 32 threads at once, one per number of `x`, and doubles each number. Make it compute $x^2 + 1$
instead: change the line that doubles, and put one more line after it. `mul.f32` multiplies; a constant may be in
the place of a register, as in `add.f32 %v, %v, 0.5;`.
""",
    starter=_FIRST.replace("LINES", "    add.f32         %v, %v, %v;          // change this line, add another"),
    solution=_FIRST.replace("LINES", "    mul.f32         %v, %v, %v;\n    add.f32         %v, %v, 1.0;"),
    answer="square",
    hints=(
        "`add.f32 %v, %v, %v` reads: v becomes v + v. Which word makes it v times v?",
        "After mul.f32 %v, %v, %v the square is in %v. The next line adds 1.0 to it.",
    ),
    graded=("every number is squared and has 1 added, for other counts of threads",),
    grade=_square,
)


def _guard(g: Grading, answer: Any) -> None:
    for n in g.vary((50,), hidden=lambda rng: int(rng.integers(2, 200)), edges=(64, 33, 1)):
        z = np.full(n, 9999, np.uint32)
        if g.launch(answer, -(-n // 32), 32, z, n) is None:
            continue
        g.equal(f"{n} elements", z, np.arange(n, dtype=np.uint32), says="A thread with i < n must store its number.")
    g.note("Threads past the end left before the store: the guard held.")


_NUMBER = '''
number = """
.version 7.0
.target sm_80
.address_size 64

.visible .entry number(.param .u64 z, .param .u32 n)
{
    .reg .pred      %outside;
    .reg .u32       %block, %size, %thread, %i, %n;
    .reg .u64       %z, %at;

    mov.u32         %block, %ctaid.x;
    mov.u32         %size, %ntid.x;
    mov.u32         %thread, %tid.x;
    mad.lo.u32      %i, %block, %size, %thread;
    ld.param.u32    %n, [n];
LINES
    ld.param.u64    %z, [z];
    mad.wide.u32    %at, %i, 4, %z;
    st.global.u32   [%at], %i;
    ret;
}
"""
'''
GUARD = Exercise(
    name="00-guard",
    title="only threads that have an element",
    kind="fill",
    level=1,
    prompt="""
The same kernel, with the number of elements as a parameter. Add the two lines that keep threads without an element
from storing: compare `%i` with `%n`, then leave. The comparison is in `saxpy` above. There, a guarded `bra` jumps
to the end; here, a guarded `ret` does the same. The predicate `%outside` is declared.
""",
    starter=_NUMBER.replace("LINES", "    // compare; leave"),
    solution=_NUMBER.replace("LINES", "    setp.ge.u32     %outside, %i, %n;\n    @%outside ret;"),
    answer="number",
    hints=(
        "Which instruction of saxpy writes the predicate %outside?",
        "Threads past the end have a number that is not less than n. Which comparison is true for them, and what "
        "does a guard in front of `ret` do?",
    ),
    graded=("every element has its number, and no thread stores outside, for other lengths",),
    grade=_guard,
)


def _relu(g: Grading, answer: Any) -> None:
    def case(rng: np.random.Generator) -> tuple[int, float]:
        return int(rng.integers(2, 100)), float(rng.integers(-4, 5))

    for n, a in g.vary(((40, -0.5),), hidden=case, edges=((1, 2.0), (32, -3.0), (33, 1.0))):
        x = g.rng.integers(-9, 10, n).astype(np.float32)
        y = g.rng.integers(-9, 10, n).astype(np.float32)
        x[0], y[0] = 4.0, -1.0
        before, linear = y.copy(), np.float32(a) * x + y
        if g.launch(answer, -(-n // 32), 32, x, y, a, n) is None:
            continue

        def says(x: Any = x, y: Any = y, before: Any = before, linear: Any = linear, a: float = a) -> str:
            at = int(np.flatnonzero(y != np.maximum(linear, 0))[0])
            return f"Element {at}: a = {a:g}, x = {x[at]:g}, y = {before[at]:g}, so a*x + y = {linear[at]:g}."

        known = (
            (np.minimum(linear, 0), "What came out is the smaller of the two."),
            (linear, "What came out is a*x + y. What becomes of it where it is negative?"),
            (np.maximum(np.float32(a) * before + x, 0), "x and y have changed places: a belongs to x."),
            (np.maximum(np.float32(a) * x, 0), "y was not added."),
            (np.maximum(x * before + np.float32(a), 0), "x was multiplied by y, and a was added. What is a factor?"),
            (np.abs(linear), "What came out is the absolute value. What becomes of negative numbers?"),
            (np.maximum(np.float32(a) * x, 0) + before, "What was clipped at zero is the product, not the sum."),
            (np.float32(a) * np.maximum(x, 0) + before, "What was clipped at zero is x, not the sum."),
            (np.float32(a) * x + np.maximum(before, 0), "What was clipped at zero is y, not the sum."),
        )
        g.equal(f"{n} elements, a = {a:g}", y, np.maximum(linear, 0), says=says, known=known)
    g.note("The builder wrote the guard, the addresses and the fma; you wrote what is to be computed.")


_RELU = '''
@kernel
def relu(k: Builder, x: Ptr[f32], y: Ptr[f32], a: f32, n: u32):
    """y = max(a*x + y, 0), one thread per element."""
    i = k.thread_index()
LINES
'''
RELU = Exercise(
    name="00-relu",
    title="two lines of Python",
    kind="write",
    level=1,
    prompt="""
Write $y_i \\leftarrow \\max(a\\,x_i + y_i,\\; 0)$ with the builder, in blocks of 32 threads. Two lines are missing: one
lets threads past the end leave, one computes and stores. `k.max(a, b)` is the larger of two numbers.
""",
    starter=_RELU.replace("LINES", "    # leave, if i is past the end; compute and store"),
    solution=_RELU.replace("LINES", "    k.return_if(i >= n)\n    y[i] = k.max(k.fma(a, x[i], y[i]), 0.0)"),
    answer="relu",
    hints=(
        "Two lines of saxpy above are nearly what you need. What is around k.fma(...) now?",
        "Leave first, as saxpy does. Then store the larger of two numbers: which two?",
    ),
    graded=("every element, for other lengths and other a", "no thread past the end touches memory"),
    grade=_relu,
)

EXERCISES = (SQUARE, GUARD, RELU)
