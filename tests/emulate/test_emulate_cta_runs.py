"""CTAs that follow each other in one loop, asked for all together: what they leave, and where one of them stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("good" not in WAYS, reason="needs llvmlite")
ROW = "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd7, %rd6, %rd2; ld.global.u32 %r5, [%rd7];"
TILE = """
    mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ntid.y; mov.u32 %r8, %tid.y; mad.lo.u32 %r6, %r6, %r7, %r8;
    mov.u32 %r7, %nctaid.x; mul.lo.u32 %r7, %r7, %r3; mad.lo.u32 %r4, %r6, %r7, %r4;
    mul.wide.u32 %rd6, %r4, 4; add.u64 %rd3, %rd6, %rd1;"""
BODIES = {
    "a row": ROW + "mad.lo.u32 %r5, %r5, 3, %r2; st.global.u32 [%rd3], %r5;",
    "tiles": TILE + ROW + "mad.lo.u32 %r5, %r5, 3, %r2; st.global.u32 [%rd3], %r5;",
    "in place": TILE + ROW + "add.u32 %r5, %r5, 7; st.global.u32 [%rd7], %r5; st.global.u32 [%rd3], %r5;",
    "as far as n": "setp.ge.u32 %p1, %r4, 1500; @%p1 bra END;" + ROW + "st.global.u32 [%rd3], %r5; END:",
    "some lanes, because of data": ROW + "and.b32 %r6, %r5, 1023; setp.eq.u32 %p1, %r6, 700; @%p1 bra END;"
    "activemask.b32 %r6; bar.warp.sync %r6; st.global.u32 [%rd3], %r6; END:",
    "every third": "mul.lo.u32 %r6, %r4, 3; rem.u32 %r6, %r4, 3; setp.eq.u32 %p1, %r6, 1; @%p1 bra END;"
    + ROW + "st.global.u32 [%rd3], %r5; END:",
    "an index by the CTA": "shr.u32 %r6, %r2, 2; and.b32 %r7, %r2, 3; mad.lo.u32 %r6, %r6, 40, %r7;"
    "add.u32 %r6, %r6, %r1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd6, %rd2; ld.global.u32 %r5, [%rd7];"
    "st.global.u32 [%rd3], %r5;",
    "backwards": "not.b32 %r6, %r4; add.s32 %r6, %r6, 4480; mul.wide.s32 %rd6, %r6, 4; add.s64 %rd7, %rd6, %rd2;"
    "ld.global.u32 %r5, [%rd7]; st.global.u32 [%rd3], %r5;",
    "the array ends": "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd7, %rd6, %rd2; ld.global.u32 %r5, [%rd7+13000];"
    "st.global.u32 [%rd3], %r5;",
    "an element lies elsewhere": ROW + "setp.eq.u32 %p1, %r5, 900; selp.b32 %r6, 0x10000000, %r5, %p1;"
    "mul.wide.u32 %rd8, %r6, 4; add.u64 %rd8, %rd8, %rd2; ld.global.u32 %r7, [%rd8]; st.global.u32 [%rd3], %r7;",
    "it counts": ROW + "red.global.add.u32 [%rd2], %r2; st.global.u32 [%rd3], %r5;",
}  # fmt: skip
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((32,), (70,)), ((64,), (70,)), ((96,), (40,)), ((4, 16), (35, 2)), ((8, 4), (33, 3)), ((16, 8), (34,)),
)  # fmt: skip


BESIDE: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((64,), (70,)), ((4, 16), (35, 2)), ((16, 16), (17,)), ((160,), (28,)), ((288,), (15,)),
    ((16,), (70,)), ((5, 4), (35, 2)),
)  # fmt: skip
"""With checks and counters: CTAs of one warpgroup, of two and of three, and of less than a warp."""
CHECKED = {
    **BODIES,
    "warps in turn read one array and the other": "shr.u32 %r6, %r1, 5; add.u32 %r6, %r6, %r2; and.b32 %r6, %r6, 1;"
    "setp.eq.u32 %p1, %r6, 1; selp.b64 %rd9, %rd2, %rd1, %p1; mul.wide.u32 %rd6, %r4, 4; add.u64 %rd7, %rd9, %rd6;"
    "ld.global.u32 %r5, [%rd7+128]; mul.lo.u32 %r5, %r5, 0; st.global.u32 [%rd3], %r5;",
    "the CTA before reads it, too": ROW + "ld.global.u32 %r6, [%rd7+512]; add.u32 %r5, %r5, %r6;"
    "st.global.u32 [%rd7], %r5; st.global.u32 [%rd3], %r5;",
    "nobody has written it": "ld.global.u32 %r6, [%rd3]; "
    + ROW
    + "mad.lo.u32 %r5, %r5, 0, %r6; st.global.u32 [%rd3], %r5;",
}


def outcome(way: str, body: str, block: tuple[int, ...], grid: tuple[int, ...], **options: Any) -> tuple[Any, ...]:
    """What a launch leaves, what has run and what was found, or its fault."""
    text, x = kernel(body), np.arange(4480, dtype=np.uint32)
    if way == "good":
        improve(text, block, options.get("counters", False), options.get("checks", ("memcheck",)))
    engine = "step" if way == "step" else "jit"
    out = np.zeros(max(4480, int(np.prod(block)) * int(np.prod(grid))), np.uint32)
    try:
        out, report = run(engine, text, threads=block, blocks=grid, x=x, out=out, **options)
    except DeviceFault as fault:
        return (str(fault),)
    found = [str(each) for each in report.findings]
    counted = report.counters if options.get("counters") else None
    left = out.tolist(), x.tolist()
    return *left, report.lines, report.warp_instructions, report.thread_instructions, found, counted


@pytest.mark.sweep(4)
@pytest.mark.parametrize("what", BODIES)
def test_both_engines_agree(what: str) -> None:
    faults = 0
    for block, grid in SHAPES:
        expected = outcome("step", BODIES[what], block, grid)
        faults += len(expected) == 1
        assert outcome("good", BODIES[what], block, grid) == expected, (block, grid)
    assert faults > 0 if what in ("the array ends", "an element lies elsewhere") else faults < len(SHAPES)


@pytest.mark.sweep(13)
@pytest.mark.parametrize(
    "options", [{"counters": True}, {"checks": ALL_CHECKS}, {"counters": True, "checks": ALL_CHECKS}]
)
@pytest.mark.parametrize("what", CHECKED)
def test_with_counters_and_checks(what: str, options: dict[str, Any]) -> None:
    for block, grid in BESIDE:
        expected = outcome("step", CHECKED[what], block, grid, **options)
        assert outcome("good", CHECKED[what], block, grid, **options) == expected, (block, grid)


@pytest.mark.parametrize("what", ["a row", "tiles", "as far as n"])
def test_two_workers(what: str) -> None:
    for block, grid in SHAPES[1:4]:
        assert outcome("good", BODIES[what], block, grid, workers=2) == outcome("step", BODIES[what], block, grid)


def test_a_launch_again_and_again() -> None:
    """Each counts all that it runs, and no more."""
    block, grid = SHAPES[1]
    expected = outcome("step", BODIES["a row"], block, grid)
    for _ in range(4):
        assert outcome("good", BODIES["a row"], block, grid) == expected
