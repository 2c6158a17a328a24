"""Exercises of notebook 18: sectors of a load, loads of a row, and a sum that is fused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.launch.run import Run, launch

SETUP = "import numpy as np\n"
"""What the notebook has imported beside the usual."""
_HEAD = (
    ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 a, .param .u32 b)\n"
)


def _run(body: str, x: Any, a: int, b: int = 0) -> Run:
    """Runs one warp of a kernel with three parameters."""
    registers = "{ .reg .pred %p; .reg .u64 %x; .reg .u32 %l, %a, %b, %i; .reg .f32 %f, %g, %h, %s, %t;\n"
    loads = "ld.param.u64 %x, [x]; ld.param.u32 %a, [a]; ld.param.u32 %b, [b]; mov.u32 %l, %tid.x;\n"
    return launch(_HEAD + registers + loads + body + "ret; }", 1, 32, x, a, b, device="step", counters=True, checks=())


def _sectors_of(stride: int) -> int:
    """Sectors of one load of which lane l reads x[l * stride]."""
    body = "mul.lo.u32 %i, %l, %a; mad.wide.u32 %x, %i, 4, %x; ld.global.f32 %f, [%x];\n"
    counters = _run(body, np.zeros(32 * stride, np.float32), stride).counters
    assert counters is not None, "counters were asked for"
    return counters.global_sectors


def _sectors(g: Grading, answer: Any) -> None:
    for (stride,) in g.vary(((1,), (100,), (4,)), lambda r: (int(r.integers(1, 40)),), 6, edges=((7,), (8,))):
        known = (
            (
                len({lane * stride // 32 for lane in range(32)}),
                "You divide the index by 32. How many bytes has a float?",
            ),
            (4 * stride, "You count as if each of the sectors from the first to the last were touched."),
            (31 * stride * 4 // 32 + 1, "You count all sectors from the first to the last. Which are touched?"),
            (32 if stride > 7 else 4, "You know two cases. How many sectors are touched between them?"),
            (4 if stride == 1 else 32, "You know two cases. How many sectors are touched between them?"),
            (min(32, stride), "You count the stride. How many different sectors do 32 addresses touch?"),
            (len({lane * stride // 16 for lane in range(32)}), "A sector has 32 bytes. Yours has 64."),
        )
        says = f"The lanes' addresses are {4 * stride} bytes apart."
        g.predict(answer, (stride,), _sectors_of(stride), says, known=known)
    g.note("A warp a row reads with stride 1. A thread a row reads with the length of the row.")


SECTORS = Exercise(
    name="18-sectors",
    title="What does a thread a row cost?",
    kind="predict",
    level=1,
    prompt="""
In one load of a warp, lane $l$ reads the float `x[l * stride]`; `x` begins at a multiple of 256 bytes. How many
sectors of 32 bytes does the load touch?

With a thread a row, `stride` is the length of a row; with a warp a row it is 1. Shown cases: `stride` = 1, 100, 4.
""",
    starter='''
def sectors(stride):
    """Sectors that one load of a warp touches."""
    return 4
''',
    solution='''
def sectors(stride):
    """Sectors that one load of a warp touches."""
    return len({lane * stride * 4 // 32 for lane in range(32)})
''',
    answer="sectors",
    hints=(
        "Which sector does the float with index i lie in?",
        "Its address is 4 * i bytes, so it is sector 4 * i // 32. How many different ones are there among 32 lanes?",
    ),
    graded=("the machine's sectors, for three strides that you see and eight that you do not",),
    grade=_sectors,
)


def _loads_of(columns: int, passes: int) -> int:
    """Loads of a warp that reads a row in rounds of 32, that many times."""
    body = """again: mov.u32 %i, %l;
round: setp.ge.u32 %p, %i, %a; @%p bra done; mad.wide.u32 %x, %i, 0, %x; ld.global.f32 %f, [%x];
add.u32 %i, %i, 32; bra round;
done: sub.u32 %b, %b, 1; setp.ne.u32 %p, %b, 0; @%p bra again;
"""
    counters = _run(body, np.zeros(1, np.float32), columns, passes).counters
    assert counters is not None, "counters were asked for"
    return counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]


def _loads(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[int, int]:
        return int(r.integers(1, 300)), int(r.integers(1, 4))

    for columns, passes in g.vary(((100, 3), (128, 1), (32, 3)), hidden, 6, edges=((1, 1), (33, 2))):
        says = f"A row of {columns} floats, read {passes} times, 32 lanes at a time."
        known = (
            (-(-columns * passes // 32), "You round up once. How many loads does each pass take?"),
            (passes + columns // 32, "You add the passes. How often is the row read?"),
            (-(-columns // 32), "You count one pass."),
            (passes * (columns // 32), "You leave out the load of which some lanes are past the end."),
            (passes * (columns // 32 + 1), "You add a round where the row ends with a whole one."),
        )
        g.predict(answer, (columns, passes), _loads_of(columns, passes), says, known=known)
    g.note("The softmax in CUDA C++ reads a row three times; in Triton the row stays in registers and is read once.")


LOADS = Exercise(
    name="18-loads",
    title="How often is a row read?",
    kind="predict",
    level=2,
    prompt="""
A warp reads a row of `columns` floats, lane $l$ the elements $l, l + 32, l + 64, \\dots$, and does so `passes` times.
How many loads does the warp execute? (A load of which some lanes are past the end is a load.)

Shown cases: `(columns, passes)` = (100, 3), (128, 1), (32, 3).
""",
    starter='''
def loads(columns, passes):
    """Loads that the warp executes for one row."""
    return columns // 32
''',
    solution='''
def loads(columns, passes):
    """Loads that the warp executes for one row."""
    return passes * -(-columns // 32)
''',
    answer="loads",
    hints=(
        "How many rounds does lane 0 make? It makes the most.",
        "Lane 0 reads elements 0, 32, 64, ... below columns: columns / 32 of them, rounded up.",
    ),
    graded=("the machine's loads, for three rows that you see and eight that you do not",),
    grade=_loads,
)


def _fused_of(values: tuple[float, float, float, float]) -> tuple[float, float]:
    """What lanes 0 and 1 have after the exchange of a fused sum of products."""
    x = np.array(values, np.float32)
    body = """and.b32 %i, %l, 1; mad.wide.u32 %x, %i, 8, %x; ld.global.f32 %f, [%x]; ld.global.f32 %g, [%x+4];
mul.rn.f32 %h, %f, %g; shfl.sync.bfly.b32 %s, %h, 1, 31, -1; fma.rn.f32 %t, %f, %g, %s;
bar.warp.sync -1; setp.lt.u32 %p, %l, 2; @%p st.global.f32 [%x], %t;
"""
    _run(body, x, 0)
    return float(x[0]), float(x[2])


def _fused(g: Grading, answer: Any) -> None:
    def hidden(r: np.random.Generator) -> tuple[float, ...]:
        return tuple(float(np.float32(v)) for v in r.standard_normal(4))

    shown = ((0.1, 0.1, 0.2, 0.2), (1.5, 2.0, 0.5, 4.0), (0.1, 0.1, 0.7, 1.1))
    given = tuple(tuple(float(np.float32(v)) for v in case) for case in shown)
    edges = ((0.0, 1.0, 0.1, 0.1), (0.1, 0.3, -0.1, 0.3))
    for case in g.vary(given, hidden, 6, edges=[tuple(float(np.float32(v)) for v in case) for case in edges]):
        a, b, c, d = case
        says = f"Lane 0 has {a:.3g} * {b:.3g}, lane 1 has {c:.3g} * {d:.3g}."
        x, y, both = np.float32(a * b), np.float32(c * d), float(np.float32(a * b + c * d))
        known = (
            ((a * b + c * d,) * 2, "You round nothing. What does a lane send?"),
            ((both, both), "You round neither product. What does a lane send?"),
            ((float(x + y), float(x + y)), "You round both products. Is a lane's own product rounded before the sum?"),
            (_fused_of((c, d, a, b)), "Yours are exchanged: which product comes rounded from the other lane?"),
        )
        g.predict(answer, case, _fused_of((a, b, c, d)), says, known=known)
    g.note("Each lane rounds the other's product and not its own. So the two lanes may have different sums.")


FUSED = Exercise(
    name="18-fused",
    title="Two lanes, two sums",
    kind="predict",
    level=3,
    prompt="""
Lane 0 has `a * b`, lane 1 has `c * d`. Each sends its product, rounded to f32, to the other lane. Then each adds
*fused*: its own product is not rounded, the sum is. So does Triton's `tl.sum(x * y)`. Which sums do the two lanes have?

Return `(lane 0's, lane 1's)` as numbers that are f32 exactly. A product of two f32 is exact in f64; you may take the
sum in f64, and round it once.
""",
    starter='''
def fused(a, b, c, d):
    """(the sum in lane 0, the sum in lane 1)."""
    total = float(np.float32(a * b + c * d))
    return total, total
''',
    solution='''
def fused(a, b, c, d):
    """(the sum in lane 0, the sum in lane 1)."""
    first, second = float(np.float32(a * b)), float(np.float32(c * d))  # what the lanes send
    return float(np.float32(a * b + second)), float(np.float32(c * d + first))
''',
    answer="fused",
    hints=(
        "What does a lane get from the other one: the product, or the product rounded to f32?",
        "What arrives in lane 0 is rounded. Is its own product rounded before the sum?",
    ),
    graded=("the machine's sums, bit by bit, for three cases that you see and eight that you do not",),
    grade=_fused,
)

EXERCISES = (SECTORS, LOADS, FUSED)
