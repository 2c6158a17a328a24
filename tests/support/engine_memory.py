"""Programs with known results: every space of memory, and atomics."""

from __future__ import annotations

import numpy as np
from engine_case import Cases, T

MEMORY = Cases()
case = MEMORY.add

# fmt: off
# -- memory ------------------------------------------------------------------------------------------------------------

case("shared memory and a barrier", """
    mov.u32 %r5, tile;
    shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6;
    ld.global.u32 %r7, [%rd2]; add.u32 %r7, %r7, %r1; st.shared.u32 [%r6], %r7;
    bar.sync 0;
    sub.u32 %r8, 95, %r1;
    shl.b32 %r8, %r8, 2; add.u32 %r8, %r5, %r8; ld.shared.u32 %r9, [%r8];
    st.global.u32 [%rd3], %r9;
""", lambda: np.tile(np.arange(96)[::-1], 3), threads=96, blocks=3, before=".shared .align 4 .b8 tile[384];")

case("dynamic shared memory behind a static array", """
    mov.u32 %r5, dynamic; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r1;
    st.shared.u32 [fixed], 5;
    bar.sync 0;
    xor.b32 %r7, %r1, 7;
    mad.lo.u32 %r6, %r7, 4, %r5; ld.shared.u32 %r8, [%r6];
    ld.shared.u32 %r9, [fixed]; mad.lo.u32 %r8, %r8, 10, %r9; st.global.u32 [%rd3], %r8;
""", lambda: (T ^ 7) * 10 + 5,
    shared=128, before=".shared .align 4 .b8 fixed[20];\n.extern .shared .align 16 .b8 dynamic[];")

case("local memory", """
    .local .align 4 .b8 stack[64];
    mov.u64 %rd5, stack; mov.u32 %r5, 0;
FILL:
    mad.lo.u32 %r6, %r5, 100, %r1;
    mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd5, %rd6; st.local.u32 [%rd7], %r6;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 16; @%p1 bra FILL;
    and.b32 %r7, %r1, 15;
    mul.wide.u32 %rd6, %r7, 4; add.u64 %rd7, %rd5, %rd6; ld.local.u32 %r8, [%rd7];
    st.global.u32 [%rd3], %r8;
""", lambda: (T % 16) * 100 + T)

case("generic addresses of three spaces in one instruction", """
    .local .align 4 .b8 mine[8];
    mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5;
    mov.u64 %rd7, tile; cvta.shared.u64 %rd8, %rd7;
    st.shared.u32 [tile+4], 222;
    st.local.u32 [mine+4], 333;
    rem.u32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, 0;
    setp.eq.u32 %p2, %r5, 1;
    selp.b64 %rd9, %rd6, %rd8, %p1; selp.b64 %rd9, %rd9, %rd2, %p2;
    @%p1 mov.b64 %rd9, %rd6;
    ld.u32 %r6, [%rd9+4]; st.u32 [%rd3], %r6;
    st.u32 [%rd9+4], %r6;
    cvta.to.shared.u64 %rd10, %rd8; sub.u64 %rd10, %rd10, %rd7; cvt.u32.u64 %r7, %rd10;
    add.u32 %r6, %r6, %r7; st.global.u32 [%rd3], %r6;
""", lambda: np.array([333, 222, 1])[T % 3], before=".shared .align 4 .b8 tile[16];")

case("constants and initialised globals", """
    mul.wide.u32 %rd5, %r1, 4;
    mov.u64 %rd6, table; add.u64 %rd6, %rd6, %rd5;
    ld.const.u32 %r5, [%rd6];
    ld.global.u64 %rd7, [pointer]; ld.global.u32 %r6, [%rd7];
    ld.global.u32 %r7, [counter];
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd3], %r5;
""", lambda: np.r_[10, 20, 30, 40] + 40 + 7, threads=4, before="""
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.global .align 4 .u32 data[3] = {5, 40};
.global .align 8 .u64 pointer = data+4;
.global .align 4 .u32 counter = 7;
""")

case("vectors and narrow loads", """
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+16];
    ld.global.s8 %r9, [%rd2+1];
    ld.global.u8 %r10, [%rd2+1];
    ld.global.s16 %r11, [%rd2];
    add.u32 %r5, %r5, %r8;
    mad.lo.u32 %r12, %r1, 20, 0;
    cvt.u64.u32 %rd5, %r12; add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r5;
    st.global.u32 [%rd5+4], %r9; st.global.u32 [%rd5+8], %r10; st.global.u32 [%rd5+12], %r11;
    st.global.u16 [%rd5+16], %r7;
    st.global.u8 [%rd5+18], %r6;
""", lambda: [0x11 + 0x44, 0xFFFFFFFE, 0xFE, 0xFFFFFE01, 0x00220033] * 2,
    threads=2, out=np.zeros(10, np.uint32), x=np.array([0x0000FE01, 0, 0, 0, 0x11, 0x22, 0x33, 0x44], np.uint32))

case("two lanes store to one address: the higher one is seen", """
    shr.u32 %r5, %r1, 1;
    mul.wide.u32 %rd5, %r5, 4; add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r1;
""", lambda: np.where(T < 16, 2 * T + 1, 0))

case("two variables side by side are two allocations", """
    setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r5, 7;
    @%p1 bra READ;
    st.global.u32 [first], %r5;
    st.global.u32 [second], %r1;
READ:
    bar.sync 0;
    ld.global.u32 %r6, [first];
    ld.global.u32 %r7, [second]; mad.lo.u32 %r6, %r6, 10, %r7; st.global.u32 [%rd3], %r6;
""", lambda: [70] * 32, before=".global .u32 second = 5;\n.global .u32 first;")

case("a vector of one element is that element", """
    mov.b32 %r5, {%r1};
    st.global.b32 [%rd3], {%r5};
    ld.global.b32 {%r6}, [%rd3];
    add.u32 %r6, %r6, 1; st.global.u32 [%rd3], %r6;
""", lambda: T + 1)

case("a copy takes a cache policy behind its size, with or without a size of the source", """
    .shared .align 16 .b8 tile[1024];
    mov.u32 %r5, tile; mad.lo.u32 %r5, %r1, 16, %r5;
    st.global.u32 [%rd3], %r1;
    createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
    cp.async.ca.shared.global.L2::cache_hint [%r5], [%rd3], 4, %rd5;
    cp.async.ca.shared.global.L2::cache_hint [%r5+4], [%rd3], 4, 2, %rd5;
    mov.u32 %r6, 0; setp.eq.u32 %p1, %r6, 0;
    cp.async.ca.shared.global.L2::cache_hint [%r5+8], [%rd3], 4, %p1, %rd5;
    cp.async.wait_all;
    ld.shared.v2.u32 {%r6, %r7}, [%r5];
    ld.shared.u32 %r8, [%r5+8];
    mad.lo.u32 %r6, %r7, 100, %r6; mad.lo.u32 %r6, %r8, 10000, %r6;
    st.global.u32 [%rd3], %r6;
""", lambda: 101 * T)

# -- atomics -----------------------------------------------------------------------------------------------------------

case("atomics come in lane order", """
    atom.global.add.u32 %r5, [%rd2], %r1;
    st.global.u32 [%rd3], %r5;
""", lambda: np.cumsum(T) - T)

case("atomic operations", """
    atom.global.max.s32 %r5, [%rd2+4], -5;
    atom.global.min.u32 %r6, [%rd2+8], 1;
    atom.global.inc.u32 %r7, [%rd2+12], 5;
    atom.global.dec.u32 %r8, [%rd2+16], 4;
    atom.global.exch.b32 %r9, [%rd2+20], %r1;
    atom.global.cas.b32 %r10, [%rd2+24], 6, 60;
    atom.global.or.b32 %r11, [%rd2+28], 8;
    red.global.xor.b32 [%rd2+32], 1;
    atom.global.add.f32 %f1, [%rd2+36], 0f3F000000;
    ld.global.u32 %r12, [%rd2+36];
    bar.sync 0;
    mad.lo.u32 %r13, %r7, 10, %r8; mad.lo.u32 %r13, %r9, 100, %r13; mad.lo.u32 %r13, %r10, 10000, %r13;
    st.global.u32 [%rd3], %r13;
    ld.global.u32 %r14, [%rd2+32];
    setp.eq.u32 %p1, %r1, 6; @%p1 st.global.u32 [%rd3], %r14;
    setp.eq.u32 %p1, %r1, 7; @%p1 st.global.u32 [%rd3], %r12;
""", lambda: [
        10 * inc + dec + 100 * exch + 10000 * cas
        for inc, dec, exch, cas in (
            (3, 4, 5, 6), (4, 3, 0, 60), (5, 2, 1, 60), (0, 1, 2, 60), (1, 0, 3, 60), (2, 4, 4, 60)
        )
     ] + [8, int(np.float32(9 + 4).view(np.uint32))], threads=8,
    x=np.r_[np.arange(9, dtype=np.uint32), np.float32(9).view(np.uint32)].astype(np.uint32))

case("a lock within a warp", """
TRY:
    atom.global.cas.b32 %r5, [%rd2], 0, 1;
    setp.ne.u32 %p1, %r5, 0; @%p1 bra TRY;
    ld.volatile.global.u32 %r6, [%rd2+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd2+4], %r6;
    st.global.u32 [%rd3], %r6;
    membar.gl;
    atom.global.exch.b32 %r7, [%rd2], 0;
""", lambda: T + 1, x=np.zeros(2, np.uint32))

case("one lane waits for another lane's flag", """
    setp.eq.u32 %p1, %r1, 31; @%p1 bra GIVE;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    bra JOIN;
GIVE:
    st.volatile.global.u32 [%rd2], 5;
    mov.u32 %r5, 6;
JOIN:
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T == 31, 6, 5), x=np.zeros(1, np.uint32))

case("a warp waits for a later warp", """
    shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 1;
    @%p1 st.volatile.global.u32 [%rd2], 5;
    @%p1 exit;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(32, 5), np.zeros(32)], threads=64, x=np.zeros(1, np.uint32))

case("a block waits for a later block", """
    setp.eq.u32 %p1, %r2, 2; @%p1 st.volatile.global.u32 [%rd2], 5;
    @%p1 exit;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(64, 5), np.zeros(32)], blocks=3, x=np.zeros(1, np.uint32))
