"""Sides of branches of which it is known which lanes take them: the steps of trees, in CTAs of all shapes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")

WORDS = 2048
SHARED = f".shared .align 4 .b8 tile[{4 * WORDS}];"
BLOCKS: tuple[tuple[int, ...], ...] = ((256,), (128,), (100,), (1024,), (64,), (32, 4), (64, 2), (16, 8), (96, 1, 2))
"""Sizes of blocks: rows of full warps, with a part of a warp at the end, and of two dimensions."""
PUT = """
    mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], %r4;
    st.shared.u32 [%r7+4096], %r1; mov.u32 %r8, 5; add.u32 %r9, %r1, 64; bar.sync 0;
"""
"""Each thread has its word, at %r7."""
CONDITIONS = (
    "setp.ge.u32 %p1, %r1, {n};",
    "setp.lt.s32 %p1, %r1, {n};",
    "setp.ne.u32 %p1, %r1, {n};",
    "and.b32 %r10, %r1, {mask}; setp.ne.u32 %p1, %r10, 0;",
    "shr.u32 %r10, %r1, 5; setp.gt.u32 %p1, %r10, {few};",
    "setp.gt.u32 %p1, %r9, {n};",
    "and.b32 %r10, %r1, 1; setp.eq.b32 %p2, %r10, 1; mov.pred %p3, 0; xor.pred %p1, %p2, %p3;",
    "setp.ge.u32 %p1, %r8, {n};",
    "setp.ge.u32 %p1, %r2, {few};",
)
"""%p1: of the thread's number, of the block's, of what is the same in all."""
SIDES = (
    "ld.shared.u32 %r11, [%r7]; ld.shared.u32 %r12, [%r7+{at}]; mad.lo.u32 %r11, %r11, 3, %r12;"
    "st.shared.u32 [%r7], %r11;",
    "add.u32 %r8, %r8, %r1;",
    "ld.shared.u32 %r11, [%r7]; ld.global.u32 %r12, [%rd2]; add.u32 %r8, %r11, %r12;",
    "red.global.add.u32 [%rd2+8], %r1;",
    "st.global.u32 [%rd3], %r8;",
    "shl.b32 %r13, %r1, 3; add.u32 %r13, %r13, %r5; ld.shared.u32 %r11, [%r13]; st.shared.u32 [%r13+4], %r11;",
)
ENDS = (
    "ld.shared.u32 %r14, [%r7]; add.u32 %r14, %r14, %r8; st.global.u32 [%rd3], %r14;",
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra END; ld.shared.u32 %r14, [%r5]; st.global.u32 [%rd3], %r14; END:",
    "setp.gt.u32 %p1, %r1, 40; @%p1 bra END; ld.shared.u32 %r14, [%r7]; add.u32 %r14, %r14, %r8;"
    " st.global.u32 [%rd3], %r14; END:",
)


def program(seed: int) -> str:
    """Some steps, each of a condition and a side, with barriers between them, and an end."""
    draw = random.Random(seed)
    lines = [PUT]
    if draw.random() < 0.2:
        lines.append("setp.eq.u32 %p1, %r4, 77; @%p1 exit;")
    for k in range(draw.randint(2, 6)):
        n, shift = draw.choice((0, 1, 7, 16, 31, 32, 40, 64, 100)), draw.randint(0, 6)
        lines.append(draw.choice(CONDITIONS).format(n=n, mask=(1 << shift) - 1, few=draw.randint(0, 3)))
        if draw.random() < 0.2:
            lines.append("add.u32 %r15, %r1, %r8;")  # what the side needs, or nobody
        body = " ".join(draw.sample(SIDES, draw.randint(1, 2))).format(at=4 * draw.choice((1, 16, 64, 1024)))
        lines.append(
            f"@{draw.choice(('%p1', '!%p1'))} bra OVER{k}; {body} xor.b32 %r8, %r8, %r15; OVER{k}: bar.sync 0;"
        )
    return "\n".join([*lines, draw.choice(ENDS)])


def outcome(way: str, block: tuple[int, ...], body: str, **options: Any) -> tuple[Any, ...]:
    """What a launch leaves and what has run, or its fault."""
    text, x = kernel(body, SHARED), np.arange(64, dtype=np.uint32)
    if way == "good":
        improve(text, block, False, ("memcheck",))
    try:
        out, report = run("step" if way == "step" else "jit", text, threads=block, blocks=5, x=x, **options)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    return out.tolist(), x.tolist(), report.lines, report.warp_instructions, report.thread_instructions


@pytest.mark.sweep(10)
@pytest.mark.parametrize("seed", range(24))
def test_both_engines_agree(seed: int) -> None:
    body = "mov.u32 %r15, 0;" + program(seed)
    for block in random.Random(seed).sample(BLOCKS, 3):
        expected = outcome("step", block, body)
        assert isinstance(expected[0], list), expected
        assert outcome("good", block, body) == expected, (block, body)


TREE = (
    PUT
    + " ".join(
        f"setp.ge.u32 %p1, %r1, {w}; @%p1 bra OVER{w}; ld.shared.u32 %r11, [%r7]; ld.shared.u32 %r12, [%r7+{4 * w}];"
        f"add.u32 %r11, %r11, %r12; st.shared.u32 [%r7], %r11; {{at{w}}} OVER{w}: bar.sync 0;"
        for w in (64, 32, 16, 8, 4, 2, 1)
    )
    + ENDS[1]
)
STEPS = {f"at{w}": "" for w in (64, 32, 16, 8, 4, 2, 1)}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("block", [(128,), (100,), (32, 4)])
def test_a_tree_of_two_workers(block: tuple[int, ...]) -> None:
    body = TREE.format(**STEPS)
    expected = outcome("step", block, body)
    assert outcome("good", block, body, workers=2) == expected


@pytest.mark.sweep(4)
@pytest.mark.parametrize("w", [64, 16, 1])
@pytest.mark.parametrize(
    "what",
    [
        "ld.shared.u32 %r13, [%r7+8192];",
        "mul.wide.u32 %rd7, %r4, 0x100000; add.u64 %rd7, %rd7, %rd2; st.global.u32 [%rd7], %r11;",
        "setp.eq.u32 %p2, %r2, 3; @%p2 trap;",
    ],
)
def test_a_fault_in_a_side(w: int, what: str) -> None:
    body = TREE.format(**STEPS | {f"at{w}": what})
    for block in ((128,), (256,)):
        expected = outcome("step", block, body)
        assert isinstance(expected[0], str)
        assert outcome("good", block, body) == expected


def test_a_branch_that_has_work_ahead_of_it() -> None:
    ahead = "ld.shared.u32 %r16, [%r7]; st.shared.u32 [%r7+4096], %r16;"
    body = PUT + ahead + "setp.ge.u32 %p1, %r1, 16; @%p1 bra OVER; add.u32 %r8, %r8, %r16; OVER: bar.sync 0;"
    body += "ld.shared.u32 %r16, [%r7+4096]; add.u32 %r8, %r8, %r16;" + ENDS[0]
    assert outcome("good", (128,), body) == outcome("step", (128,), body)


def test_a_carry_ahead_of_a_side() -> None:
    body = PUT + "add.cc.u32 %r16, %r1, 0xffffffff; setp.ge.u32 %p1, %r1, 16; @%p1 bra OVER; add.u32 %r8, %r8, 1;"
    body += "OVER: bar.sync 0; addc.u32 %r8, %r8, 0;" + ENDS[0]
    assert outcome("good", (128,), body) == outcome("step", (128,), body)
