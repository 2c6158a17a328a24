"""Small kernels in which the lanes of a warp, or the warps of a block, synchronize.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import ANY_SYNC, RAW, WAR, Kernels

SYNCHRONISING = Kernels()
clean, wrong = SYNCHRONISING.clean, SYNCHRONISING.wrong

# fmt: off
# -- lanes: exchange, shuffles, votes, tiles ---------------------------------------------------------------------------

HALVES = """
    selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync %r7;
    xor.b32 %r5, %r1, {other}; mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13]; st.global.u32 [%rd3], %r6;
"""
"""Each half of a warp synchronizes by itself, then reads what the lane `other` away has stored."""
NESTED = """
    and.b32 %r7, %r21, 28; mov.u32 %r8, 15; shl.b32 %r8, %r8, %r7;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync 0xffffffff;
    st.shared.u32 [%r10], %r3;
    bar.warp.sync %r8;
    xor.b32 %r5, %r1, {other}; mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13];
    selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4;
    bar.warp.sync %r7;
    st.shared.u32 [%r10], %r6;
"""
"""Tiles of four lanes synchronize within a warp, and read what the lane `other` away has stored."""

COUNTED = """
    @%p1 st.shared.u32 [%r20], %r6;
    bar.sync 0;
    setp.lt.u32 %p5, %r1, {lanes};
    @%p5 ld.shared.u32 %r6, [%r20];
    {between}
    add.u32 %r6, %r6, 1;
    @%p5 st.shared.u32 [%r20], %r6;
    st.global.u32 [%rd3], %r6;
"""
"""The first lanes of the first warp load a word, add 1, store it: one store may come before another lane's load."""
COUNTED_APART = """
    @%p1 st.shared.u32 [%r20], %r6;
    bar.sync 0;
    setp.ge.u32 %p5, %r1, {lanes}; @%p5 bra E;
    ld.shared.u32 %r6, [%r20];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [%r20], %r6;
E: st.global.u32 [%rd3], %r6;
"""

for some in (2, 3, 16, 31, 32):
    wrong(f"{some} lanes count one word up", WAR, body=COUNTED.format(lanes=some, between=""), threads=32)
    wrong(f"{some} lanes count one word up in a branch", WAR, body=COUNTED_APART.format(lanes=some), threads=32)
    clean(f"{some} lanes read a word, synchronize, store", body=COUNTED.format(lanes=some, between="bar.warp.sync -1;"))
clean("one lane counts a word up", body=COUNTED.format(lanes=1, between=""))
clean("one lane counts a word up in a branch", body=COUNTED_APART.format(lanes=1))

clean("each half of a warp by itself", body=HALVES.format(other=9))

wrong("each half by itself, but read from the other", RAW, body=HALVES.format(other=16))

wrong("one half synchronizes, and reads from the other", RAW, body="""
    st.shared.u32 [%r10], %r1;
    @!%p4 bra A;
    bar.warp.sync 0xffff;
A: xor.b32 %r5, %r1, 16; mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13]; st.global.u32 [%rd3], %r6;""")
clean("tiles of four within halves", body=NESTED.format(other=3))

wrong("tiles of four, read across", RAW, body=NESTED.format(other=4))

clean("a shuffle of the lanes that are left", body="""
    setp.gt.u32 %p5, %r21, 19; @%p5 bra E;
    st.shared.u32 [%r10], %r1;
    activemask.b32 %r7;
    shfl.sync.idx.b32 %r8, %r1, 0, 31, %r7;
    ld.shared.u32 %r6, [%r11]; st.global.u32 [%rd3], %r6;
E:""")
clean("one set of lanes learns of another through a third", body="""
    st.shared.u32 [%r10], %r1;
    setp.lt.u32 %p5, %r21, 16; @!%p5 bra A;
    bar.warp.sync 0x0000ffff;
A: setp.lt.u32 %p5, %r21, 8; @%p5 bra B;
    setp.gt.u32 %p5, %r21, 23; @%p5 bra B;
    bar.warp.sync 0x00ffff00;
    sub.u32 %r5, %r10, 64; setp.gt.u32 %p5, %r21, 15;
    @%p5 ld.shared.u32 %r6, [%r5];
B: st.global.u32 [%rd3], %r6;""")

# -- barriers: named ones, counts, rounds, buffers ---------------------------------------------------------------------

clean("named barriers", body="""
    mov.u32 %r30, 0;
L: @!%p2 bra CONS;
    setp.gt.u32 %p8, %r30, 0;
    @%p8 bar.sync 2, 64;
    st.shared.u32 [%r10], %r30;
    bar.arrive 1, 64;
    bra N;
CONS: bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
    setp.lt.u32 %p8, %r30, 2;
    @%p8 bar.arrive 2, 64;
N: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra L;
    st.global.u32 [%rd3], %r6;""")
wrong("named barriers, no answer", ANY_SYNC, RAW, WAR, body="""
    mov.u32 %r30, 0;
L: @!%p2 bra CONS;
    st.shared.u32 [%r10], %r30;
    bar.arrive 1, 64;
    bra N;
CONS: bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
N: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra L;
    st.global.u32 [%rd3], %r6;""")
clean("a warp exits, the others synchronize", body="""
    @!%p2 bra E;
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r11];
    bar.sync 0;
    st.global.u32 [%rd3], %r6;
E:""")
clean("barrier.sync from two places", body="""
    st.shared.u32 [%r10], %r1;
    @%p4 bra A;
    barrier.sync 0;
    bra B;
A: barrier.sync 0;
B: ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;""")
clean("barrier.sync from two places, warp by warp", body="""
    st.shared.u32 [%r10], %r1;
    @%p2 bra A;
    barrier.sync 0;
    bra B;
A: barrier.sync 0;
B: ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;""")
clean("a barrier in turn", body="""
    st.shared.u32 [%r10], 1;
    bar.sync 1;
    ld.shared.u32 %r6, [%r12];
    bar.sync 2;
    st.shared.u32 [%r10], 2;
    bar.red.popc.u32 %r7, 3, %p2;
    ld.shared.u32 %r6, [%r12];""")
clean("warps that exit before a loop", body="""
    @!%p2 exit;
    mov.u32 %r31, 3;
L: bar.sync 0;
    sub.u32 %r31, %r31, 1; setp.gt.s32 %p9, %r31, 0; @%p9 bra L; st.global.u32 [%rd3], %r1;""")
