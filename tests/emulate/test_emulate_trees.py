"""Steps of trees and scans: some lanes of a warp move elements a constant apart; the others would leave the memory."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
WORDS = 256
SHARED = f".shared .align 16 .b8 tile[{4 * WORDS}];"
TREE = """
    mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6;
    st.shared.u32 [%r7], %r4; st.shared.u32 [%r7+384], %r1; setp.lt.u32 %p1, %r1, 64; @%p1 st.shared.u32 [%r7+768], %r2;
    ld.global.u32 %r10, [%rd2]; ld.global.u32 %r11, [%rd2+4]; ld.global.u32 %r15, [%rd2+8];
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r10; and.b32 %r12, %r1, %r11; setp.ne.u32 %p2, %r12, 0; or.pred %p3, %p1, %p2;
    @%p3 bra OVER;
    {at}
    ld.{space}.{kind} {a}, [{base}]; add.{kind} {a}, {a}, {a}; st.{space}.{kind} [{base}], {a};
    OVER: bar.sync 0;
    ld.shared.u32 %r20, [%r7]; ld.shared.u32 %r21, [%r7+384]; mad.lo.u32 %r20, %r20, 3, %r21;
    @%p1 mov.u32 %r22, 0; @!%p1 mov.u32 %r22, 9; add.u32 %r20, %r20, %r22;
    st.global.u32 [%rd3], %r20;
"""
AT = {
    "shared": ("shared", "mad.lo.s32 %r13, %r1, {apart}, %r5; add.u32 %r13, %r13, %r15;"),
    "global": (
        "global",
        "mul.wide.s32 %rd5, %r1, {apart}; cvt.s64.s32 %rd7, %r15; add.s64 %rd6, %rd2, %rd5; add.s64 %rd6, %rd6, %rd7;",
    ),
    "shared by 64 bits": (  # as numba has it
        "shared",
        "mul.wide.s32 %rd5, %r1, {apart}; cvt.s64.s32 %rd7, %r15; mov.u64 %rd6, tile; add.s64 %rd6, %rd6, %rd5;"
        "add.s64 %rd6, %rd6, %rd7;",
    ),
}
"""Where elements lie, by %r13 or %rd6."""
LANES = (
    (1, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (16, 0),
    (17, 0),
    (31, 0),
    (32, 0),
    (40, 0),
    (64, 0),
    (32, 1),
    (32, 7),
    (20, 18),
)
"""How many threads take part, and which bits of their numbers must be 0."""


def outcome(
    way: str, place: str, kind: str, apart: int, last: int, some: tuple[int, int], checks: tuple[str, ...]
) -> object:
    """What a launch leaves and finds, or its fault. The last thread that takes part accesses element `last`."""
    threads, mask = some
    size = int(kind[1:]) // 8
    (*_, highest) = (t for t in range(threads) if not t & mask)
    (space, at), base, a = AT[place], "%r13" if place == "shared" else "%rd6", {4: "%r14", 8: "%rd7"}[size]
    text = kernel(TREE.format(at=at.format(apart=apart), base=base, a=a, space=space, kind=kind), SHARED)
    x = np.arange(WORDS, dtype=np.uint32)
    x[:3] = threads, mask, (last * size - highest * apart) % (1 << 32)
    counters = some == (31, 0)
    if way == "good":
        improve(text, (96,), counters, checks)
    try:
        out, report = run(
            "step" if way == "step" else "jit", text, threads=96, blocks=3, x=x, checks=checks, counters=counters
        )
    except DeviceFault as fault:
        return str(fault)
    return out.tolist(), x.tolist(), report.counters, sorted({(f.check, f.kind) for f in report.findings})


@pytest.mark.long
@pytest.mark.sweep(29)
@pytest.mark.parametrize("place", AT)
@pytest.mark.parametrize(("kind", "apart"), [
    ("u32", 8), ("u32", 4), ("u32", -4), ("u32", 64), ("u64", 16), ("u64", -8),
    *(pytest.param(*each, marks=pytest.mark.rest) for each in (("u32", 16), ("u32", 12), ("u32", -32), ("u64", 8))),
])  # fmt: skip
def test_only_lanes_that_take_part_have_to_be_inside(kind: str, apart: int, place: str) -> None:
    size, faults = int(kind[1:]) // 8, 0
    end = 4 * WORDS // size
    for some in LANES:
        reaches = (max(t for t in range(some[0]) if not t & some[1]) * abs(apart)) // size
        if reaches >= end:
            continue
        inside, outside = (end - 1, end) if apart > 0 else (0, -1)
        for last in (inside, outside):
            checks = ALL_CHECKS if some == (17, 0) else ("memcheck",)
            expected = outcome("step", place, kind, apart, last, some, checks)
            assert outcome("good", place, kind, apart, last, some, checks) == expected, (some, last)
            faults += isinstance(expected, str)
    assert faults > 3
