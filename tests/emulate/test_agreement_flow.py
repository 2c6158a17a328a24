"""Control flow on all ways: loops and conditions that lanes or warps take differently, exits, barriers, calls."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import OPTIONS, Programs
from emulate_programs import WAYS, call, ended, function, kernel

pytestmark = pytest.mark.skipif("optimized" not in WAYS, reason="needs llvmlite: there is one engine only")
PROGRAMS = Programs()
program = PROGRAMS.add

# fmt: off
# -- loops and conditions that the lanes of a warp take differently ----------------------------------------------------

ONE_BY_ONE = """
    mov.u32 %r10, %r1; mov.u32 %r11, 0;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0; @%p1 bra LOOP;"""
program("lanes leave a loop one by one", ONE_BY_ONE, "%r11")

COUNTER = """
    and.b32 %r10, %r1, 7; mov.u32 %r11, 0; mov.u32 %r12, 1;
LOOP:
    mad.lo.u32 %r12, %r12, 3, %r11;
    add.u32 %r11, %r11, 1;
    setp.lt.u32 %p1, %r11, %r10; @%p1 bra LOOP;"""
program("a counter that nobody reads afterwards", COUNTER, "%r12")
program("a counter that is read afterwards", COUNTER + " add.u32 %r12, %r12, %r11;", "%r12")

NESTED = """
    mov.u32 %r13, 0; mov.u32 %r10, 0;
OUTER:
    mad.lo.u32 %r11, %r1, 7, %r10; and.b32 %r11, %r11, 3;
INNER:
    {read}
    setp.eq.u32 %p2, %r11, 2; @%p2 bra EVEN;
    mad.lo.u32 %r13, %r13, 31, 1; bra BOTH;
EVEN:
    mad.lo.u32 %r13, %r13, 17, %r11;
BOTH:
    activemask.b32 %r14; xor.b32 %r13, %r13, %r14;
    sub.u32 %r11, %r11, 1;
    setp.ge.s32 %p1, %r11, 0; @%p1 bra INNER;
    add.u32 %r10, %r10, 1; and.b32 %r15, %r1, 5;
    setp.le.u32 %p1, %r10, %r15; @%p1 bra OUTER;"""
program("a loop in a loop", NESTED.format(read=""), "%r13")
# Rounds that might wait for others count for more: lanes that were passed over get time slices again and again.
POLLS = NESTED.format(read="ld.volatile.global.u32 %r15, [%rd2]; add.u32 %r13, %r13, %r15;")
program("rounds that might wait", POLLS, "%r13")

LEAVES = "mad.lo.u32 %r10, %r10, 7, {k}; setp.lt.u32 %p1, %r11, {limit}; @%p1 bra END;"
CHAIN = "mov.u32 %r10, 1; and.b32 %r11, %r1, 15;" + "".join(
    LEAVES.format(k=k, limit=limit) for k, limit in enumerate((2, 5, 9, 12))
)
MORE = "".join(f"mad.lo.u32 %r10, %r10, 5, {k}; setp.eq.u32 %p1, %r1, {k}; @%p1 bra END;" for k in range(96))
program("a hundred conditions that lead to one place", f"{CHAIN} {MORE} add.u32 %r10, %r10, 9; END:", "%r10")

program("two ways back to the head of a loop", """
    mov.u32 %r10, 0; mov.u32 %r11, %r1;
LOOP:
    add.u32 %r10, %r10, 1; mad.lo.u32 %r11, %r11, 1664525, 1013904223;
    setp.gt.u32 %p2, %r10, 20; @%p2 bra OUT;
    and.b32 %r12, %r11, 0x30000; setp.ne.u32 %p1, %r12, 0; @%p1 bra LOOP;
    activemask.b32 %r14; xor.b32 %r11, %r11, %r14;
    and.b32 %r12, %r11, 0x100; setp.ne.u32 %p1, %r12, 0; @%p1 bra LOOP;
OUT:""", "%r11")
program("so many rounds that time slices end in the loop", """
    and.b32 %r10, %r1, 3; mul.lo.u32 %r10, %r10, 1500; mov.u32 %r11, 0;
LOOP:
    activemask.b32 %r14; mad.lo.u32 %r11, %r11, 5, %r14;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0; @%p1 bra LOOP;
    activemask.b32 %r14; mad.lo.u32 %r11, %r11, 7, %r14;""", "%r11")

SOME_LEAVE = """
    mov.u32 %r10, %r1; mov.u32 %r11, 0;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10; st.global.u32 [%rd3], %r11;
    {who} @%p2 bra END;
    activemask.b32 %r14; xor.b32 %r11, %r11, %r14;
    sub.u32 %r10, %r10, 3;
    setp.gt.s32 %p1, %r10, 0; @%p1 bra LOOP;
    bar.sync 0;
    activemask.b32 %r14; xor.b32 %r11, %r11, %r14; st.global.u32 [%rd3], %r11;
END:"""
program("some lanes exit in a loop", SOME_LEAVE.format(who="and.b32 %r12, %r10, 15; setp.eq.u32 %p2, %r12, 9;"))
program("two warps exit in a loop", SOME_LEAVE.format(who="shr.u32 %r12, %r1, 5; setp.eq.u32 %p2, %r12, 0;"))
program("all lanes exit, in two loops", """
    and.b32 %r10, %r1, 7;
    setp.lt.u32 %p1, %r1, 11; @%p1 bra DOWN;
UP:
    add.u32 %r10, %r10, 1; st.global.u32 [%rd3], %r10;
    setp.gt.u32 %p2, %r10, 9; @%p2 bra END;
    setp.lt.u32 %p3, %r10, 100; @%p3 bra UP;
    bra BOTH;
DOWN:
    sub.u32 %r10, %r10, 1;
    setp.lt.s32 %p2, %r10, 0; @%p2 bra END;
    setp.lt.s32 %p3, %r10, 100; @%p3 bra DOWN;
BOTH:
    st.global.u32 [%rd3], %r1;
END:""")
for number, fault in ((4_000_000_000, ""), (0, "trap"), (83, "trap")):
    traps = f"LOOP: setp.eq.u32 %p2, %r11, {number}; @!%p2 bra FINE; trap; FINE:"
    program(f"a trap at {number}", ONE_BY_ONE.replace("LOOP:", traps), "%r11", fault=fault)

program("memory in a loop", """
    mov.u32 %r10, %r1; mov.u32 %r11, 0;
    mov.u32 %r12, tile; shl.b32 %r13, %r1, 2; add.u32 %r12, %r12, %r13; st.shared.u32 [%r12], %r1;
LOOP:
    ld.shared.u32 %r14, [%r12]; add.u32 %r11, %r11, %r14; st.shared.u32 [%r12], %r11;
    and.b32 %r15, %r11, 31; mul.wide.u32 %rd6, %r15, 4; add.u64 %rd6, %rd2, %rd6;
    ld.global.u32 %r16, [%rd6]; mad.lo.u32 %r11, %r11, 3, %r16;
    sub.u32 %r10, %r10, 3;
    setp.gt.s32 %p1, %r10, 0; @%p1 bra LOOP;""", "%r11")
# Every instruction gives %r11 the same value in all lanes that execute it, and some lanes go around one.
program("steps that some lanes leave out", """
    mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0;
LOOP:
    mad.lo.u32 %r13, %r1, 7, %r10;
    and.b32 %r14, %r13, 5; setp.eq.u32 %p1, %r14, 1; @%p1 bra AROUND;
    and.b32 %r14, %r13, 3; setp.eq.u32 %p2, %r14, 0; @%p2 bra AROUND;
    add.u32 %r11, %r11, 1; activemask.b32 %r14; mad.lo.u32 %r12, %r12, 5, %r14;
AROUND:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 20; @%p3 bra LOOP;
    activemask.b32 %r14; mad.lo.u32 %r12, %r12, 31, %r11; xor.b32 %r12, %r12, %r14;""", "%r12")

ASKS = """
    mad.lo.u32 %r10, %r1, 13, 5; and.b32 %r10, %r10, 15; mov.u32 %r11, 1;
    and.b32 %r12, %r1, 1; setp.eq.u32 %p3, %r12, 0; selp.b32 %r18, 0x55555555, 0xAAAAAAAA, %p3;
LOOP:
    mad.lo.u32 %r11, %r11, 5, %r10;
    activemask.b32 %r12; and.b32 %r18, %r18, %r12;
    and.b32 %r13, %r11, 8; setp.ne.u32 %p2, %r13, 0;
    {before}
    vote.sync.ballot.b32 %r14, %p2, {mask};
    match.any.sync.b32 %r15, %r13, {mask};
    redux.sync.add.u32 %r16, %r11, {mask};
    vote.sync.any.pred %p4, %p2, {mask}; selp.b32 %r17, 3, 5, %p4;
    mad.lo.u32 %r11, %r16, 7, %r14; mad.lo.u32 %r11, %r15, %r17, %r11;
    sub.u32 %r10, %r10, 1;
    setp.gt.s32 %p1, %r10, 0; @%p1 bra LOOP;"""
"""Lanes that leave a loop one by one ask each other there: those that name lanes which have left wait until these have
exited."""
LOAD, CARRY = (
    "ld.global.u32 %r16, [%rd2]; add.u32 %r11, %r11, %r16;",
    "add.cc.u32 %r9, %r11, %r11; addc.u32 %r11, %r11, 0;",
)
program("asking those that are there", ASKS.format(before="", mask="%r12"), "%r11")
program("asking every second lane", ASKS.format(before="", mask="%r18"), "%r11")
program("asking all lanes", ASKS.format(before="", mask="-1"), "%r11")
program("asking behind a load", ASKS.format(before=LOAD, mask="%r12"), "%r11")
program("asking behind a carry", ASKS.format(before=CARRY, mask="-1"), "%r11")

program("a carry that is left over", """
    add.cc.u32 %r20, %r4, 0xffffffff; addc.u32 %r11, %r4, 0;
    setp.ne.u32 %p1, %r2, 2; @%p1 bra JOIN;
    sub.cc.u32 %r20, 0, 1;
JOIN:""", "%r11", threads=64, blocks=4)
program("a register that is not written everywhere", """
    setp.ne.u32 %p1, %r2, 1; @%p1 bra JOIN;
    mov.u32 %r30, 7; add.u32 %r31, %r4, 7;
JOIN:
    add.u32 %r11, %r30, %r31;""", "%r11", threads=64, blocks=4)

# -- blocks and warps of all shapes, barriers, faults ------------------------------------------------------------------

WARP = "shr.u32 %r20, %r1, 5; mad.lo.u32 %r21, %r2, 4, %r20;"
"""%r20: the warp's number in its block, %r21: one that each warp has for itself; 17 is the second of block 4."""
PUT = "mov.u32 %r10, tile; shl.b32 %r11, %r1, 2; add.u32 %r12, %r10, %r11; st.shared.u32 [%r12], %r4;"
"""Each thread's number goes into shared memory, at %r12; `tile` is %r10."""
for threads, blocks in ((1, 9), (77, 6), (1024, 3), (64, 200), (64, (3, 3)), (64, (1, 4, 2)), (64, (300, 2))):
    program(f"{blocks} blocks of {threads}", """
    mov.u32 %r20, %ctaid.y; mov.u32 %r21, %ctaid.z; mov.u32 %r22, %nctaid.x; mov.u32 %r23, %nctaid.y;
    mad.lo.u32 %r24, %r21, %r23, %r20; mad.lo.u32 %r24, %r24, %r22, %r2; mad.lo.u32 %r24, %r24, %r3, %r1;
    mul.wide.u32 %rd5, %r24, 4; add.u64 %rd3, %rd5, %rd1;
    mad.lo.u32 %r25, %r20, 1000, %r2; mad.lo.u32 %r11, %r21, 100000, %r25;""", "%r11", threads=threads, blocks=blocks)
program("a warp arrives in two places and goes on", f"""{WARP} {PUT}
    setp.eq.u32 %p1, %r20, 0; @!%p1 bra SECOND;
    setp.lt.u32 %p2, %r1, 9; @%p2 bra FEW;
    barrier.arrive 1, 64; bra.uni END;
FEW:
    barrier.arrive 1, 64; bra.uni END;
SECOND:
    bar.sync 1, 64; xor.b32 %r13, %r12, 128; ld.shared.u32 %r14, [%r13]; st.global.u32 [%rd3], %r14;
END:""", threads=64, blocks=5)
program("votes at barriers again and again", """
    mov.u32 %r22, 0; mov.u32 %r23, 0;
AGAIN:
    add.u32 %r24, %r4, %r22; and.b32 %r24, %r24, 7; setp.lt.u32 %p1, %r24, %r22;
    bar.red.popc.u32 %r21, 0, %p1; mad.lo.u32 %r23, %r23, 5, %r21;
    bar.red.and.pred %p2, 1, %p1; @%p2 add.u32 %r23, %r23, 1;
    bar.sync 0;
    bar.red.or.pred %p2, 0, %p1; @%p2 add.u32 %r23, %r23, 2;
    add.u32 %r22, %r22, 1;
    setp.lt.u32 %p3, %r22, 9; @%p3 bra AGAIN;""", "%r23", threads=96, blocks=7)
program("a warp brings nothing to the vote at a barrier", f"""{WARP}
    setp.eq.u32 %p1, %r20, 1; setp.lt.u32 %p2, %r1, 50; mov.u32 %r21, 77; @%p1 bra PLAIN;
    bar.red.popc.u32 %r21, 0, %p2; bra JOIN;
PLAIN:
    bar.sync 0;
JOIN:""", "%r21", threads=96, blocks=7)
FAR = "mov.u64 %rd6, %rd3; @%p1 add.u64 %rd6, %rd6, 100000; st.global.u32 [%rd6], %r4;"
for name, body in {
    "beyond an array": FAR, "a trap": "@%p1 trap;", "a trap behind a barrier": "bar.sync 0; @%p1 trap;",
    "beyond an array, behind a barrier": f"bar.sync 0; {FAR}", "a deadlock": "@%p1 bar.sync 1, 64; bar.sync 0;",
}.items():
    counts = "setp.eq.u32 %p1, %r21, 18; red.global.add.u32 [%rd2], 1;"
    program(f"{name} in the third warp of block 4", f"{WARP} {counts} {body}", threads=128, blocks=9,
            fault="block (4, 0, 0)")

# -- lanes that exit --------------------------------------------------------------------------------------------------

LOADED = "mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r5, [%rd6];"
"""%r5: what lies in `x` for this thread of the block: its number."""
program("those that exit touch nothing",
        f"{LOADED} setp.ge.u32 %p1, %r1, 30; @%p1 bra END; st.global.u32 [%rd6+136], %r1; END:", "%r1", threads=60)

# -- functions ---------------------------------------------------------------------------------------------------------

MIXED = "activemask.b32 %n7; mad.lo.u32 %n0, %n0, 5, %n7;"
FIBONACCI = function(
    "fibonacci",
    f"setp.lt.s32 %p, %n0, 2; @%p bra DONE; sub.u32 %n1, %n0, 1; {call('fibonacci', '%n1', '%n2')} "
    f"sub.u32 %n3, %n0, 2; {call('fibonacci', '%n3', '%n4')} add.u32 %n0, %n4, %n2; {MIXED} DONE:",
)
MUTUAL = ".func (.param .b32 r) odd(.param .b32 n);\n" + "".join(
    function(
        name,
        f"setp.eq.u32 %p, %n0, 0; @%p bra DONE; sub.u32 %n1, %n0, 1; {call(other, '%n1', '%n2')} "
        f"mad.lo.u32 %n0, %n2, {factor}, %n0; {MIXED} DONE:",
    )
    for name, other, factor in (("even", "odd", 3), ("odd", "even", 7))
)
EARLY = function(
    "early",
    f"setp.lt.u32 %p, %n0, 9; mov.u32 %n1, 0; @%p bra DONE; and.b32 %n1, %n0, 7; LOOP: add.u32 %n0, %n0, %n1; {MIXED} "
    "setp.eq.u32 %q, %n1, 0; @%q bra DONE; sub.u32 %n1, %n1, 1; and.b32 %n3, %n0, 64; setp.ne.u32 %q, %n3, 0; "
    "@%q bra LOOP; DONE:",
)
EXCHANGE = function(
    "exchange",
    "setp.lt.s32 %p, %n0, 1; @%p bra DONE; st.local.u32 [own+4], %n0; ld.local.u32 %n1, [own]; "
    "activemask.b32 %n7; redux.sync.add.u32 %n6, %n0, %n7; st.local.u32 [own], %n6; ld.local.u32 %n2, [own+4]; "
    f"sub.u32 %n3, %n2, 1; {call('exchange', '%n3', '%n4')} ld.local.u32 %n5, [own]; add.u32 %n0, %n5, %n4; DONE:",
).replace(".reg .pred", ".local .align 16 .b8 own[16]; .reg .pred")
POINTERS = "".join(
    function(name, f"{body} {MIXED}")
    for name, body in (("one", "add.u32 %n0, %n0, 3;"), ("two", "xor.b32 %n0, %n0, 9;"), ("three", "not.b32 %n0, %n0;"))
)
THROUGH = (
    "mov.u64 %rd5, one; mov.u64 %rd6, two; mov.u64 %rd7, three; mov.u32 %r5, 5; mov.u32 %r6, %r1; "
    "P: .callprototype (.param .b32 _) _ (.param .b32 _); LOOP: and.b32 %r7, %r6, 3; setp.eq.u32 %p1, %r7, 0; "
    "setp.eq.u32 %p2, %r7, 1; selp.b64 %rd8, %rd5, %rd6, %p1; selp.b64 %rd8, %rd8, %rd7, %p2; {wrong} "
    f"{{{call('%rd8', '%r6', '%r6').replace('(a);', '(a), P;')}}} sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; "
    "@%p1 bra LOOP;"
)
"""A loop of calls through a register. wrong: what some lanes may do to it before."""
WRONG = "setp.eq.u32 %p3, %r5, 2; setp.ge.and.u32 %p3, %r1, {first}, %p3; selp.b64 %rd8, 64, %rd8, %p3;"
NO_FUNCTION = "holds no address of a function"
for name, (before, body) in {
    "recursion": (FIBONACCI, f"and.b32 %r5, %r1, 7; {call('fibonacci', '%r5', '%r6')}"),
    "two depths": (FIBONACCI, f"and.b32 %r5, %r1, 1; mad.lo.u32 %r5, %r5, 3, 4; {call('fibonacci', '%r5', '%r6')}"),
    "two functions": (MUTUAL, f"and.b32 %r5, %r1, 11; {call('even', '%r5', '%r6')}"),
    "calls in a loop": (EARLY, f"mov.u32 %r5, %r1; mov.u32 %r7, 1; LOOP: {call('early', '%r5', '%r6')}"
                        " mad.lo.u32 %r7, %r7, 3, %r6; sub.u32 %r5, %r5, 3; setp.gt.s32 %p1, %r5, 0; @%p1 bra LOOP;"
                        " mov.u32 %r6, %r7;"),
    "calls in two places": (EARLY, f"{call('early', '%r1', '%r6')} and.b32 %r5, %r6, 3; setp.ne.u32 %p1, %r5, 0;"
                            f" @%p1 bra ON; {call('early', '%r6', '%r7')} add.u32 %r6, %r6, %r7; ON:"
                            " activemask.b32 %r7; xor.b32 %r6, %r6, %r7;"),
    "guarded calls": (EARLY, f"setp.gt.u32 %p1, %r1, 7; {call('early', '%r1', '%r6', '@%p1 ')}"
                      f" setp.gt.u32 %p2, %r6, 50; {call('early', '%r6', '%r7', '@!%p2 ')} add.u32 %r6, %r6, %r7;"),
    "calls in eleven places": (
        EARLY,
        "and.b32 %r5, %r1, 15; W: .branchtargets " + ", ".join(f"W{k}" for k in range(11)) + ";"
        "min.u32 %r5, %r5, 10; brx.idx %r5, W;"
        + "".join(f"W{k}: {call('early', '%r1', '%r6')} add.u32 %r6, %r6, {k}; bra ON;" for k in range(11))
        + "ON: activemask.b32 %r7; xor.b32 %r6, %r6, %r7;",
    ),
    "an exchange between accesses of a frame": (EXCHANGE, f"and.b32 %r5, %r1, 7; {call('exchange', '%r5', '%r6')}"),
    "functions by their addresses": (POINTERS, THROUGH.format(wrong="")),
    "some lanes call what is no function": (POINTERS, THROUGH.format(wrong=WRONG.format(first=45))),
    "all lanes call what is no function": (POINTERS, THROUGH.format(wrong=WRONG.format(first=0))),
}.items():
    program(name, body, "%r6", before=before, fault=NO_FUNCTION if "no function" in name else "")

# fmt: on
# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(37)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_ways_agree(name: str, options: str) -> None:
    found = PROGRAMS.check(name, options)
    if found.counters is not None:
        assert len(found.counters.issue_slots) == -(-PROGRAMS[name].threads // 128)


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_workers_give_the_same(name: str) -> None:
    PROGRAMS.check_workers(name)


def test_warps_that_wait_for_each_other_in_a_loop() -> None:
    """Each is suspended in it, and goes on with what its registers held; how often it polls is not the same."""
    text = kernel("""
        mul.lo.u32 %r11, %r1, 3; mov.u32 %r12, 0; mov.u32 %r13, 2; shr.u32 %r14, %r1, 5; sub.u32 %r14, 2, %r14;
    WAIT:
        ld.volatile.global.u32 %r15, [%rd2]; max.u32 %r12, %r12, %r11; max.u32 %r13, %r13, %r14;
        setp.ne.u32 %p2, %r15, %r14; @%p2 bra WAIT;
        add.u32 %r15, %r15, 1; bar.warp.sync 0xffffffff; st.volatile.global.u32 [%rd2], %r15;
        mad.lo.u32 %r12, %r12, 8, %r13; st.global.u32 [%rd3], %r12;""")
    for way in WAYS:
        found = ended(way, text, threads=96, x=np.zeros(4, np.uint32))
        assert (found.out, found.x) == ([24 * k + 2 for k in range(96)], [3, 0, 0, 0])


def test_a_budget_ends_blocks_that_would_go_on() -> None:
    """Which thread is told of depends on where the code looks at what is left."""
    text = kernel("AGAIN: bar.sync 0; setp.ge.u32 %p1, %r1, 0; @%p1 bra AGAIN;")
    for way in WAYS:
        assert ended(way, text, threads=64, blocks=3, budget=50_000).fault.startswith("budget: the launch has run its")
