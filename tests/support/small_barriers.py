"""Small kernels with barriers of the block: named ones, counts, rounds, buffers.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import ANY_SYNC, RAW, WAR, Kernels

BARRIERS = Kernels()
clean, wrong = BARRIERS.clean, BARRIERS.wrong

# fmt: off
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
    st.global.u32 [%rd3], %r6;
""")
wrong("named barriers, no answer", ANY_SYNC, RAW, WAR, body="""
    mov.u32 %r30, 0;
L: @!%p2 bra CONS;
    st.shared.u32 [%r10], %r30;
    bar.arrive 1, 64;
    bra N;
CONS: bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
N: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""")
clean("a warp exits, the others synchronize", body="""
    @!%p2 bra E;
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r11];
    bar.sync 0;
    st.global.u32 [%rd3], %r6;
E:
""")
clean("barrier.sync from two places", body="""
    st.shared.u32 [%r10], %r1;
    @%p4 bra A;
    barrier.sync 0;
    bra B;
A: barrier.sync 0;
B: ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""")
clean("barrier.sync from two places, warp by warp", body="""
    st.shared.u32 [%r10], %r1;
    @%p2 bra A;
    barrier.sync 0;
    bra B;
A: barrier.sync 0;
B: ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""")
clean("bar.sync from two places, with a count", body="""
    st.shared.u32 [%r10], %r1;
    @%p2 bra A;
    bar.sync 1, 64;
    bra B;
A: bar.sync 1, 64;
B: ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""")
clean("a barrier in turn", body="""
    st.shared.u32 [%r10], 1;
    bar.sync 1;
    ld.shared.u32 %r6, [%r12];
    bar.sync 2;
    st.shared.u32 [%r10], 2;
    bar.red.popc.u32 %r7, 3, %p2;
    ld.shared.u32 %r6, [%r12];
""")
clean("two buffers, one barrier a round", body="""
    mov.u32 %r30, 0;
L: and.b32 %r31, %r30, 1; shl.b32 %r31, %r31, 11; add.u32 %r32, %r10, %r31;
    add.u32 %r33, %r12, %r31;
    st.shared.u32 [%r32], %r30;
    bar.sync 0;
    ld.shared.u32 %r6, [%r33];
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 5; @%p9 bra L; st.global.u32 [%rd3], %r6;
""")
wrong("uneven rounds", ANY_SYNC, body="""
    mov.u32 %r30, 0; add.u32 %r31, %r22, 1;
L: bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, %r31; @%p9 bra L;
    bar.sync 0, 64;
    st.global.u32 [%rd3], %r6;
""")
clean("warps that exit before a loop", body="""
    @!%p2 exit;
    mov.u32 %r31, 3;
L: bar.sync 0;
    sub.u32 %r31, %r31, 1; setp.gt.s32 %p9, %r31, 0; @%p9 bra L; st.global.u32 [%rd3], %r1;
""")
