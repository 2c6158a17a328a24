"""Lanes that exit while the rest of their warp goes on: because of what they have loaded, `if (x[i] < 0) return;`, or
by indices that part the lanes of most warps, `if ((i + j) % 2) return;`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("optimized" not in WAYS, reason="needs llvmlite")
WORDS = 2048
SHARED = ".shared .align 4 .b8 tile[4096];"
LOADED = (
    "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r5, [%rd6];",
    "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r5, [%rd6]; mov.u32 %r6, tile;"
    "shl.b32 %r7, %r1, 2; add.u32 %r6, %r6, %r7; st.shared.u32 [%r6], %r5; bar.sync 0; ld.shared.u32 %r5, [%r6];",
    "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r5, [%rd2+12];",
)
"""%r5: an element of `x` for each thread, by way of shared memory, or one for all."""
CONDITIONS = (
    "setp.lt.u32 %p1, %r5, {n};",
    "and.b32 %r8, %r5, 3; setp.eq.u32 %p1, %r8, 1;",
    "add.u32 %r8, %r5, %r1; and.b32 %r8, %r8, 64; setp.ne.u32 %p1, %r8, 0;",
    "setp.ge.u32 %p1, %r4, {n};",
    "setp.eq.u32 %p1, %r5, 4000000;",
    "and.b32 %r8, %r4, 1; setp.eq.u32 %p1, %r8, 1;",
    "add.u32 %r8, %r4, %r2; and.b32 %r8, %r8, 1; setp.eq.u32 %p1, %r8, 0; setp.ge.u32 %p2, %r4, {n};"
    "or.pred %p1, %p1, %p2;",
    "mul.lo.u32 %r8, %r1, %r1; setp.gt.u32 %p1, %r8, {n}; setp.eq.u32 %p2, %r2, 3; or.pred %p1, %p2, %p1;",
)
PARTS = (
    "mad.lo.u32 %r10, %r10, 33, %r5;",
    "ld.global.u32 %r8, [%rd6+4]; add.u32 %r10, %r10, %r8;",
    "st.global.u32 [%rd6], %r10;",
    "red.global.add.u32 [%rd2+8], %r5;",
    "atom.global.add.u32 %r8, [%rd2], 1; xor.b32 %r10, %r10, %r8;",
    "and.b32 %r8, %r5, 255; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd7, %rd7, %rd2; ld.global.u32 %r8, [%rd7];"
    "add.u32 %r10, %r10, %r8;",
    "setp.gt.u32 %p2, %r5, {n}; @%p2 add.u32 %r10, %r10, 7;",
    "setp.gt.u32 %p2, %r5, {n}; @%p2 bra OVER{k}; mul.lo.u32 %r10, %r10, 5; OVER{k}:",
    "setp.gt.u32 %p2, %r5, {n}; @%p2 bra ELSE{k}; mul.lo.u32 %r10, %r10, 5; bra.uni JOIN{k};"
    "ELSE{k}: add.u32 %r10, %r10, %r5; JOIN{k}:",
    "setp.gt.u32 %p2, %r5, {n}; @%p2 bra LESS{k}; bra.uni MORE{k}; MORE{k}: mul.lo.u32 %r10, %r10, 3;"
    "mov.u32 %r9, %r10; bra.uni BOTH{k}; LESS{k}: sub.u32 %r9, %r10, %r5; bra.uni LAST{k};"
    "LAST{k}: add.u32 %r10, %r10, %r9; BOTH{k}: xor.b32 %r10, %r10, %r9;",
    "setp.gt.u32 %p2, %r2, 2; @%p2 bra ALL{k}; mul.lo.u32 %r10, %r10, 3; ALL{k}:",
    "cvt.rn.f32.u32 %f1, %r5; sqrt.rn.f32 %f1, %f1; cvt.rzi.u32.f32 %r8, %f1; add.u32 %r10, %r10, %r8;",
    "activemask.b32 %r8; xor.b32 %r10, %r10, %r8;",
)
LEAVES = ("@%p1 bra END;", "@!%p1 bra END;", "@%p1 bra END;", "@%p1 exit;", "@!%p1 bra LAST;")
BLOCKS: tuple[tuple[int, ...], ...] = ((256,), (128,), (96,), (100,), (32,), (16, 16), (32, 4))


def program(seed: int) -> str:
    """Loads, then parts between branches by which lanes exit."""
    draw = random.Random(seed)
    lines = ["mov.u32 %r10, %r1;", draw.choice(LOADED)]
    for k in range(draw.randint(1, 4)):
        given = {"n": draw.choice((0, 100, 1000, 3000, 9000)), "k": k}
        lines += [draw.choice(CONDITIONS).format(**given), draw.choice(LEAVES)]
        lines += [part.format(**given) for part in draw.sample(PARTS[: draw.choice((6, 12, 13))], draw.randint(0, 2))]
    return "\n".join([*lines, "st.global.u32 [%rd3], %r10; END: ret; LAST:"])


def outcome(way: str, block: tuple[int, ...], body: str, **options: Any) -> tuple[Any, ...]:
    """What a launch leaves and what has run, or its fault."""
    text, x = kernel(body, SHARED), np.arange(WORDS, dtype=np.uint32) * 7 % 4001
    try:
        out, report = run(way, text, threads=block, blocks=7, x=x, **options)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    found = [str(each) for each in report.findings]
    counted = report.counters if options.get("counters") else None
    return out.tolist(), x.tolist(), report.lines, report.warp_instructions, report.thread_instructions, found, counted


@pytest.mark.sweep(9)
@pytest.mark.parametrize("seed", [*range(24), 1003, 1016, 1017])
def test_both_engines_agree(seed: int) -> None:
    body = program(seed)
    for block in random.Random(seed).sample(BLOCKS, 2):
        expected = outcome("step", block, body)
        assert isinstance(expected[0], list), expected
        assert outcome("optimized", block, body) == expected, (block, body)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("options", [{"counters": True}, {"checks": ALL_CHECKS}])
@pytest.mark.parametrize("seed", range(100, 106))
def test_with_counters_and_checks(options: dict[str, Any], seed: int) -> None:
    body = program(seed)
    assert outcome("optimized", (96,), body, **options) == outcome("step", (96,), body, **options), body


FILTER = LOADED[0] + CONDITIONS[1] + "@%p1 bra END; {more} st.global.u32 [%rd6], %r1; END:"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("block", [(256,), (100,), (16, 8)])
def test_two_workers(block: tuple[int, ...]) -> None:
    body = FILTER.format(more="red.global.add.u32 [%rd2+16000000], 1;")
    assert outcome("optimized", block, body, workers=2)[0] == outcome("step", block, body)[0]
    body = FILTER.format(more="mul.lo.u32 %r1, %r1, 3;")
    assert outcome("optimized", block, body, workers=2) == outcome("step", block, body)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "what",
    [
        "setp.lt.u32 %p3, %r5, 3900; @%p3 bra FINE; mul.wide.u32 %rd7, %r5, 0x100000; add.u64 %rd7, %rd7, %rd2;"
        " st.global.u32 [%rd7], %r5; FINE:",
        "setp.gt.u32 %p3, %r5, 3900; @%p3 trap;",
        "ld.global.u32 %r8, [%rd6+7000];",
        "st.global.u32 [%rd6+7000], %r1;",
        "st.global.u32 [%rd6+2], %r1;",
    ],
)
def test_faults_of_those_that_are_left(what: str) -> None:
    body = FILTER.format(more=what)
    for block in ((128,), (256,)):
        expected = outcome("step", block, body)
        assert isinstance(expected[0], str)
        assert outcome("optimized", block, body) == expected


def test_those_that_exit_touch_nothing() -> None:
    """Where only lanes that have exited would lie outside, nobody faults."""
    body = LOADED[0] + "setp.ge.u32 %p1, %r4, 50; setp.lt.u32 %p2, %r5, 300; or.pred %p1, %p1, %p2; @%p1 bra END;"
    body += "mul.wide.u32 %rd7, %r4, 4; add.u64 %rd7, %rd7, %rd2; st.global.u32 [%rd7+7992], %r1; END:"
    assert outcome("optimized", (128,), body) == outcome("step", (128,), body)
