"""Loops: what a warp leaves that stops, diverges, waits or exits in one; lanes that walk through rows of their own,
which they change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")

SUM = """
    mov.u32 %r10, 0; mov.u32 %r11, 1; mov.f64 %fd1, 0d3FF0000000000000; cvt.u64.u32 %rd10, %r1; setp.eq.u32 %p5, %r1, 3;
    LOOP: mad.lo.u32 %r11, %r11, 33, %r1; add.f64 %fd1, %fd1, %fd1; mad.lo.u64 %rd10, %rd10, 5, 1; not.pred %p5, %p5;
    {body}
    add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, {turns}; @%p1 bra LOOP;
    cvt.rzi.u64.f64 %rd11, %fd1; add.u64 %rd10, %rd10, %rd11; cvt.u32.u64 %r12, %rd10; selp.u32 %r13, 7, 9, %p5;
    mad.lo.u32 %r11, %r11, 3, %r12; mad.lo.u32 %r11, %r11, 3, %r13; mad.lo.u32 %r11, %r11, 3, %r10;
    st.global.u32 [%rd3], %r11;
"""
"""A loop with a scalar, lanes of 32 and 64 bits and a predicate that live on, and all of them read behind it."""
BODIES = {
    "nothing": "",
    "sides": "and.b32 %r14, %r10, %r1; setp.eq.u32 %p2, %r14, 0; @%p2 bra ODD; add.u32 %r11, %r11, 77; ODD:",
    "region": """and.b32 %r15, %r1, 7;
        INNER: setp.eq.u32 %p3, %r15, 0; @%p3 bra OUT; sub.u32 %r15, %r15, 1; mad.lo.u32 %r11, %r11, 5, %r15; bra INNER;
        OUT:""",
    "apart": """mov.u32 %r16, 0;
        COUNT: add.u32 %r16, %r16, 1; setp.lt.u32 %p3, %r16, %r1; @%p3 bra COUNT; add.u32 %r11, %r11, %r16;""",
    "shuffle": "shfl.sync.bfly.b32 %r14, %r11, 1, 31, 0xffffffff; add.u32 %r11, %r11, %r14;",
    "some": "setp.ne.u32 %p4, %r1, 5; @%p4 bra ALL; shfl.sync.bfly.b32 %r14, %r11, 0, 31, 0x20;"
    " add.u32 %r11, %r11, %r14; ALL:",
    "exit": "and.b32 %r14, %r1, 15; setp.eq.u32 %p2, %r14, %r10; @%p2 st.global.u32 [%rd3], %r11; @%p2 exit;",
    "barrier": "bar.sync 0;",
    "table": "and.b32 %r14, %r10, 1; LIST: .branchtargets FIRST, SECOND; brx.idx %r14, LIST;"
    " FIRST: add.u32 %r11, %r11, 5; bra BEHIND; SECOND: xor.b32 %r11, %r11, 9; BEHIND:",
    "nested": """mov.u32 %r16, 0;
        AGAIN: mad.lo.u32 %r11, %r11, 3, %r16; add.u32 %r16, %r16, 1; setp.lt.u32 %p3, %r16, 3; @%p3 bra AGAIN;""",
    "load": "shl.b32 %r14, %r10, 2; cvt.u64.u32 %rd12, %r14; add.u64 %rd13, %rd2, %rd12; ld.global.u32 %r15, [%rd13];"
    " add.u32 %r11, %r11, %r15;",
}
WALK = "mul.lo.u32 %r20, %r4, 64; add.u32 %r20, %r20, 64; cvt.u64.u32 %rd14, %r20; add.u64 %rd14, %rd14, %rd2;"
NEXT = "ld.global.u32 %r21, [%rd14]; mad.lo.u32 %r11, %r11, 31, %r21; add.s64 %rd14, %rd14, 4;"
WALKS = {
    "loads": NEXT,
    "neighbours, and a row far away": NEXT + "ld.global.u32 %r21, [%rd14]; ld.global.u32 %r22, [%rd14+2048];"
    "mad.lo.u32 %r11, %r21, %r22, %r11;",
    "bytes and words": NEXT + "ld.global.u8 %r21, [%rd14+3]; add.u32 %r11, %r11, %r21;",
    "stores to it": NEXT + "st.global.u32 [%rd14], %r11;",
    "generic stores to it": NEXT + "st.u32 [%rd14], %r11;",
    "an atomic operation on it": NEXT + "red.global.add.u32 [%rd14], 5;",
    "it goes back": NEXT + "and.b32 %r15, %r10, 3; setp.eq.u32 %p3, %r15, 3; @%p3 sub.s64 %rd14, %rd14, 12;"
    "@%p3 st.global.u32 [%rd14], %r11;",
    "lanes that leave": NEXT + "and.b32 %r15, %r11, 15; setp.eq.u32 %p3, %r15, 3; @%p3 exit;",
    "lanes that load at times": "and.b32 %r15, %r11, 1; setp.eq.u32 %p3, %r15, 1; @%p3 ld.global.u32 %r21, [%rd14];"
    "@%p3 add.u32 %r11, %r11, %r21;" + NEXT,
    "two branches": "and.b32 %r15, %r10, 1; setp.eq.u32 %p3, %r15, 1; @%p3 bra ODD; ld.global.u32 %r21, [%rd14+8];"
    "add.u32 %r11, %r11, %r21; bra.uni ON; ODD: ld.global.u32 %r21, [%rd14+12]; xor.b32 %r11, %r11, %r21; ON:" + NEXT,
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "counters": {"counters": True},
    "checks": {"checks": ALL_CHECKS},
    "seed": {"seed": 3},
}


def outcome(way: str, text: str, options: dict[str, Any], x: np.ndarray | None = None) -> Any:
    """What a kernel leaves, counts and finds, or the fault."""
    given = x if x is None else x.copy()
    try:
        out, report = run(way, text, threads=96, blocks=2, x=given, **options)
    except DeviceFault as fault:
        return str(fault)
    return out.tolist(), report.counters, report.lines, sorted({(f.check, f.kind) for f in report.findings})


@pytest.mark.sweep(6)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("body", BODIES)
def test_what_a_loop_leaves(body: str, options: str) -> None:
    text = kernel(SUM.format(body=BODIES[body], turns=12))
    expected = outcome("step", text, OPTIONS[options])
    assert [outcome(way, text, OPTIONS[options]) == expected for way in WAYS] == [True] * len(WAYS)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("body", WALKS)
def test_rows_of_the_lanes(body: str, options: str) -> None:
    text, x = kernel(WALK + SUM.format(body=WALKS[body], turns=12)), np.arange(4000, dtype=np.uint32) * 2654435761
    expected = outcome("step", text, OPTIONS[options], x)
    assert len(expected) == 4
    assert [outcome(way, text, OPTIONS[options], x) == expected for way in WAYS] == [True] * len(WAYS)
    if (body, options) == ("loads", "plain"):
        for end in (3080, 1540, 20):  # lanes leave the array in several rounds: the fault of the first
            expected = outcome("step", text, OPTIONS[options], x[:end])
            assert "load of 4 bytes" in expected
            assert [outcome(way, text, OPTIONS[options], x[:end]) for way in WAYS] == [expected] * len(WAYS)


def test_a_fault_in_a_loop() -> None:
    text = kernel(SUM.format(body=BODIES["load"], turns=70))  # x has 64 elements
    expected = outcome("step", text, {})
    assert "load of 4 bytes" in expected
    assert [outcome(way, text, {}) for way in WAYS] == [expected] * len(WAYS)


def test_warps_that_wait_for_each_other_in_a_loop() -> None:
    """Each is suspended in it, and goes on with what its registers held."""
    text, left = (
        kernel("""
        mul.lo.u32 %r11, %r1, 3; mov.u32 %r12, 0; mov.u32 %r13, 2; shr.u32 %r14, %r1, 5; sub.u32 %r14, 2, %r14;
        WAIT: ld.volatile.global.u32 %r15, [%rd2]; max.u32 %r12, %r12, %r11; max.u32 %r13, %r13, %r14;
        setp.ne.u32 %p2, %r15, %r14; @%p2 bra WAIT;
        add.u32 %r15, %r15, 1; bar.warp.sync 0xffffffff; st.volatile.global.u32 [%rd2], %r15;
        mad.lo.u32 %r12, %r12, 8, %r13; st.global.u32 [%rd3], %r12;"""),
        [],
    )
    for way in WAYS:
        x = np.zeros(4, np.uint32)
        out, _ = run(way, text, threads=96, x=x)
        left.append((x.tolist(), out.tolist()))
    assert left == [([3, 0, 0, 0], [24 * k + 2 for k in range(96)])] * len(WAYS)


def test_a_loop_with_too_many_registers_for_the_cpu_keeps_none_of_all_lanes() -> None:
    many = "".join(f"mad.lo.u64 %rd{k}, %rd{k}, 3, %rd10; " for k in range(12, 20))
    start = "".join(f"mov.u64 %rd{k}, {k}; " for k in range(12, 20))
    end = "".join(f"add.u64 %rd10, %rd10, %rd{k}; " for k in range(12, 20))
    body = start + SUM.format(body=many, turns=12).replace("cvt.rzi", f"{end} cvt.rzi")
    text = kernel(body)
    expected = outcome("step", text, {})
    assert [outcome(way, text, {}) == expected for way in WAYS] == [True] * len(WAYS)
