"""Loops and conditions that lanes take differently, in code of full quality: as the stepping engine runs them."""

from __future__ import annotations

from typing import Any

import pytest
from emulate_programs import ALL_CHECKS, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytest.importorskip("llvmlite")

LEFT_ONE_BY_ONE = """
    mov.u32 %r10, %r1;
    mov.u32 %r11, 0;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0;
    @%p1 bra LOOP;
    st.global.u32 [%rd3], %r11;
"""
"""Lane k makes k rounds."""

COUNTER = """
    and.b32 %r10, %r1, 7;
    mov.u32 %r11, 0;
    mov.u32 %r12, 1;
LOOP:
    mad.lo.u32 %r12, %r12, 3, %r11;
    add.u32 %r11, %r11, 1;
    setp.lt.u32 %p1, %r11, %r10;
    @%p1 bra LOOP;
    {after}
    st.global.u32 [%rd3], %r12;
"""
"""%r11 is the same in all lanes as long as they are in the loop."""

NESTED = """
    mov.u32 %r13, 0;
    mov.u32 %r10, 0;
OUTER:
    mad.lo.u32 %r11, %r1, 7, %r10;
    and.b32 %r11, %r11, 3;
INNER:
    setp.eq.u32 %p2, %r11, 2;
    @%p2 bra EVEN;
    mad.lo.u32 %r13, %r13, 31, 1;
    bra BOTH;
EVEN:
    mad.lo.u32 %r13, %r13, 17, %r11;
BOTH:
    activemask.b32 %r14;
    xor.b32 %r13, %r13, %r14;
    sub.u32 %r11, %r11, 1;
    setp.ge.s32 %p1, %r11, 0;
    @%p1 bra INNER;
    add.u32 %r10, %r10, 1;
    and.b32 %r15, %r1, 5;
    setp.le.u32 %p1, %r10, %r15;
    @%p1 bra OUTER;
    st.global.u32 [%rd3], %r13;
"""

CHAIN = """
    mov.u32 %r10, 1;
    and.b32 %r11, %r1, 15;
    setp.lt.u32 %p1, %r11, 2;
    @%p1 bra END;
    mad.lo.u32 %r10, %r10, 7, 2;
    setp.lt.u32 %p1, %r11, 5;
    @%p1 bra END;
    mad.lo.u32 %r10, %r10, 7, 3;
    setp.lt.u32 %p1, %r11, 9;
    @%p1 bra END;
    mad.lo.u32 %r10, %r10, 7, 4;
    setp.lt.u32 %p1, %r11, 12;
    @%p1 bra END;
    mad.lo.u32 %r10, %r10, 7, 5;
END:
    st.global.u32 [%rd3], %r10;
"""
"""Conditions that all leave to one place, and that share the code for lanes which have diverged."""

CONTINUES = """
    mov.u32 %r10, 0;
    mov.u32 %r12, %r1;
LOOP:
    add.u32 %r10, %r10, 1;
    mad.lo.u32 %r12, %r12, 1664525, 1013904223;
    setp.gt.u32 %p2, %r10, 20;
    @%p2 bra OUT;
    and.b32 %r11, %r12, 0x30000;
    setp.ne.u32 %p1, %r11, 0;
    @%p1 bra LOOP;
    activemask.b32 %r14;
    xor.b32 %r12, %r12, %r14;
    and.b32 %r11, %r12, 0x100;
    setp.ne.u32 %p1, %r11, 0;
    @%p1 bra LOOP;
OUT:
    st.global.u32 [%rd3], %r12;
"""
"""Two ways back to the head of a loop: lanes in it are in different rounds."""

LONG = """
    and.b32 %r10, %r1, 3;
    mul.lo.u32 %r10, %r10, 1500;
    mov.u32 %r11, 0;
LOOP:
    activemask.b32 %r14;
    mad.lo.u32 %r11, %r11, 5, %r14;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0;
    @%p1 bra LOOP;
    activemask.b32 %r14;
    mad.lo.u32 %r11, %r11, 7, %r14;
    st.global.u32 [%rd3], %r11;
"""
"""So many rounds that lanes at the join get turns before the others arrive, and that quanta end in the loop."""

LEAVES = """
    mov.u32 %r10, %r1;
    mov.u32 %r11, 0;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10;
    st.global.u32 [%rd3], %r11;
    and.b32 %r12, %r10, 15;
    setp.eq.u32 %p2, %r12, {number};
    @%p2 bra END;
    activemask.b32 %r14;
    xor.b32 %r11, %r11, %r14;
    sub.u32 %r10, %r10, 3;
    setp.gt.s32 %p1, %r10, 0;
    @%p1 bra LOOP;
    bar.sync 0;
    activemask.b32 %r14;
    xor.b32 %r11, %r11, %r14;
    st.global.u32 [%rd3], %r11;
END:
"""
"""Some lanes leave the kernel in the loop, the others meet behind it."""

ALL_LEAVE = """
    and.b32 %r10, %r1, 7;
    setp.lt.u32 %p1, %r1, {number};
    @%p1 bra DOWN;
UP:
    add.u32 %r10, %r10, 1;
    st.global.u32 [%rd3], %r10;
    setp.gt.u32 %p2, %r10, 9;
    @%p2 bra END;
    setp.lt.u32 %p3, %r10, 100;
    @%p3 bra UP;
    bra BOTH;
DOWN:
    sub.u32 %r10, %r10, 1;
    setp.lt.s32 %p2, %r10, 0;
    @%p2 bra END;
    setp.lt.s32 %p3, %r10, 100;
    @%p3 bra DOWN;
BOTH:
    st.global.u32 [%rd3], %r1;
END:
"""
"""All lanes leave the kernel on two sides of a branch, in loops."""

TRAPS = LEFT_ONE_BY_ONE.replace(
    "LOOP:",
    """LOOP:
    setp.eq.u32 %p2, %r11, {number};
    @!%p2 bra FINE;
    trap;
FINE:""",
)
"""A number that no lane comes to, or some, stops the kernel."""

POLLS = NESTED.replace("INNER:\n", "INNER:\n    ld.volatile.global.u32 %r15, [%rd2];\n    add.u32 %r13, %r13, %r15;\n")
"""Rounds that might wait for others count for more: lanes that were passed over get turns again and again."""

MEMORY = """
    mov.u32 %r10, %r1;
    mov.u32 %r11, 0;
    mov.u32 %r12, tile;
    shl.b32 %r13, %r1, 2;
    add.u32 %r12, %r12, %r13;
    st.shared.u32 [%r12], %r1;
LOOP:
    ld.shared.u32 %r14, [%r12];
    add.u32 %r11, %r11, %r14;
    st.shared.u32 [%r12], %r11;
    and.b32 %r15, %r11, 31;
    mul.wide.u32 %rd6, %r15, 4;
    add.u64 %rd6, %rd2, %rd6;
    ld.global.u32 %r16, [%rd6];
    mad.lo.u32 %r11, %r11, 3, %r16;
    sub.u32 %r10, %r10, 3;
    setp.gt.s32 %p1, %r10, 0;
    @%p1 bra LOOP;
    st.global.u32 [%rd3], %r11;
"""

STEPS = """
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
    mov.u32 %r12, 0;
LOOP:
    mad.lo.u32 %r13, %r1, 7, %r10;
    and.b32 %r14, %r13, 5;
    setp.eq.u32 %p1, %r14, 1;
    @%p1 bra AROUND;
    and.b32 %r14, %r13, 3;
    setp.eq.u32 %p2, %r14, 0;
    @%p2 bra AROUND;
    add.u32 %r11, %r11, 1;
    activemask.b32 %r14;
    mad.lo.u32 %r12, %r12, 5, %r14;
AROUND:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 20;
    @%p3 bra LOOP;
    activemask.b32 %r14;
    mad.lo.u32 %r12, %r12, 31, %r11;
    xor.b32 %r12, %r12, %r14;
    st.global.u32 [%rd3], %r12;
"""
"""Every instruction gives %r11 the same value in all lanes that execute it, and some lanes go around one."""

ASKS = """
    mad.lo.u32 %r10, %r1, 13, 5;
    and.b32 %r10, %r10, 15;
    mov.u32 %r11, 1;
    and.b32 %r12, %r1, 1;
    setp.eq.u32 %p3, %r12, 0;
    selp.b32 %r18, 0x55555555, 0xAAAAAAAA, %p3;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10;
    activemask.b32 %r12;
    and.b32 %r18, %r18, %r12;
    and.b32 %r13, %r11, 8;
    setp.ne.u32 %p2, %r13, 0;
    {before}
    vote.sync.ballot.b32 %r14, %p2, {mask};
    match.any.sync.b32 %r15, %r13, {mask};
    redux.sync.add.u32 %r16, %r11, {mask};
    vote.sync.any.pred %p4, %p2, {mask};
    selp.b32 %r17, 3, 5, %p4;
    mad.lo.u32 %r11, %r16, 7, %r14;
    mad.lo.u32 %r11, %r15, %r17, %r11;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0;
    @%p1 bra LOOP;
    st.global.u32 [%rd3], %r11;
"""
"""Lanes that leave a loop one by one ask each other there: those that name lanes which have left wait until these have
exited."""

MORE = (f"mad.lo.u32 %r10, %r10, 5, {k}; setp.eq.u32 %p1, %r1, {k}; @%p1 bra END;" for k in range(96))
LONG_CHAIN = CHAIN.replace("END:\n", "\n".join((*MORE, "END:\n")))
"""A hundred of them, as of a loop that is unrolled and left early."""

BODIES = {
    "left one by one": LEFT_ONE_BY_ONE,
    "a counter that nobody reads afterwards": COUNTER.format(after=""),
    "a counter that is read afterwards": COUNTER.format(after="add.u32 %r12, %r12, %r11;"),
    "nested": NESTED,
    "a chain of conditions": CHAIN,
    "two ways back": CONTINUES,
    "a hundred conditions": LONG_CHAIN,
    "long": LONG,
    "rounds that might wait": POLLS,
    "some leave the kernel": LEAVES.format(number=9),
    "two warps leave it": LEAVES.replace("and.b32 %r12, %r10, 15;", "shr.u32 %r12, %r1, 5;").format(number=0),
    "all leave it": ALL_LEAVE.format(number=11),
    "all leave it, one alone": ALL_LEAVE.format(number=1),
    "a trap that nobody comes to": TRAPS.format(number=4_000_000_000),
    "memory": MEMORY,
    "steps that some lanes leave out": STEPS,
    "asking those that are there": ASKS.format(before="", mask="%r12"),
    "asking every second lane": ASKS.format(before="", mask="%r18"),
    "asking all lanes": ASKS.format(before="", mask="-1"),
    "asking behind a load": ASKS.format(before="ld.global.u32 %r16, [%rd2]; add.u32 %r11, %r11, %r16;", mask="%r12"),
    "asking behind a carry": ASKS.format(before="add.cc.u32 %r9, %r11, %r11; addc.u32 %r11, %r11, 0;", mask="-1"),
}
"""Bodies of kernels (see `emulate_programs.kernel`)."""


def left(way: str, body: str, **options: Any) -> tuple[Any, ...]:
    """What a kernel leaves: results, counts by line, counters, what the checks find."""
    text, threads = kernel(body, ".shared .align 16 .b8 tile[1024];"), 75
    out, report = run(way, text, threads=threads, blocks=2, **options)
    found = sorted({(f.check, f.kind) for f in report.findings})
    return out.tolist(), report.lines, report.counters, found


@pytest.mark.sweep(16)
@pytest.mark.parametrize(
    "options", [{}, {"counters": True}, {"checks": ALL_CHECKS}], ids=["plain", "counters", "checks"]
)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_engines_agree(body: str, options: dict[str, Any]) -> None:
    step, *others = (left(way, body, **options) for way in WAYS)
    assert others == [step] * len(others)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize(
    "body",
    [
        NESTED,
        CONTINUES,
        LONG,
        POLLS,
        LEAVES.format(number=9),
        COUNTER.format(after="add.u32 %r12, %r12, %r11;"),
        MEMORY,
        ASKS.format(before="", mask="%r12"),
        ASKS.format(before="", mask="-1"),
    ],
    ids=[
        "nested",
        "two ways back",
        "long",
        "rounds that might wait",
        "some leave",
        "a counter that is read afterwards",
        "memory",
        "asking those that are there",
        "asking all lanes",
    ],
)
def test_short_quanta(body: str, seed: int) -> None:
    """A seed makes quanta short: warps give up regions anywhere, and go on in them."""
    step, *others = (left(way, body, seed=seed)[:2] for way in WAYS)
    assert others == [step] * len(others)


@pytest.mark.parametrize("number", [0, 83])
def test_traps(number: int) -> None:
    """In a region as elsewhere."""
    found = []
    for way in WAYS:
        with pytest.raises(DeviceFault, match="trap") as fault:
            left(way, TRAPS.format(number=number))
        found.append(str(fault.value))
    assert found == found[:1] * len(found)
