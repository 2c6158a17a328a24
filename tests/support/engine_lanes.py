"""Programs with known results: lanes and warps that exchange, vote and synchronize, and memory of one lane."""

from __future__ import annotations

import numpy as np
from engine_case import Cases, T

LANES = Cases()
case = LANES.add

# fmt: off
# -- across lanes ------------------------------------------------------------------------------------------------------

case("shuffles", """
    shfl.sync.down.b32 %r5, %r1, 3, 31, -1;
    shfl.sync.up.b32 %r6|%p1, %r1, 2, 0, -1;
    shfl.sync.bfly.b32 %r7, %r1, 5, 31, -1;
    shfl.sync.idx.b32 %r8, %r1, 9, 31, -1;
    selp.u32 %r9, 1, 0, %p1;
    mad.lo.u32 %r5, %r6, 100, %r5; mad.lo.u32 %r5, %r7, 10000, %r5; mad.lo.u32 %r5, %r8, 1000000, %r5;
    mad.lo.u32 %r5, %r9, 100000000, %r5; st.global.u32 [%rd3], %r5;
""", lambda: (
        np.where(T + 3 < 32, T + 3, T) + 100 * np.where(T >= 2, T - 2, T) + 10000 * (T ^ 5) + 9000000
        + 100000000 * (T >= 2)
     ))

case("tiles of a warp vote, match and reduce with masks of their own", """
    and.b32 %r5, %r1, 28;
    mov.u32 %r6, 15;
    shl.b32 %r6, %r6, %r5;              // the four lanes of this tile
    setp.gt.u32 %p1, %r1, 13;
    vote.sync.ballot.b32 %r7, %p1, %r6;
    vote.sync.any.pred %p2, %p1, %r6;
    vote.sync.all.pred %p3, %p1, %r6;
    selp.u32 %r8, 1, 0, %p2;
    selp.u32 %r9, 2, 0, %p3; or.b32 %r8, %r8, %r9;
    and.b32 %r9, %r1, 5;
    match.any.sync.b32 %r10, %r9, %r6;
    match.all.sync.b32 %r11|%p4, %r5, %r6;
    redux.sync.add.u32 %r12, %r1, %r6;
    xor.b32 %r7, %r7, %r10; xor.b32 %r7, %r7, %r11;
    mad.lo.u32 %r7, %r12, 65536, %r7; add.u32 %r7, %r7, %r8;
    st.global.u32 [%rd3], %r7;
""", lambda: [
    ((sum((k > 13) << k for k in tile) ^ sum((k & 5 == t & 5) << k for k in tile) ^ sum(1 << k for k in tile))
     + (sum(tile) << 16) + any(k > 13 for k in tile) + 2 * all(k > 13 for k in tile)) & 0xFFFFFFFF
    for t in range(32) for tile in [range(t // 4 * 4, t // 4 * 4 + 4)]
])

case("votes", """
    setp.lt.u32 %p1, %r1, 12;
    vote.sync.ballot.b32 %r5, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1;
    selp.u32 %r6, 0x10000, 0, %p2;
    selp.u32 %r7, 0x20000, 0, %p3;
    or.b32 %r5, %r5, %r6; or.b32 %r5, %r5, %r7; st.global.u32 [%rd3], %r5;
""", lambda: np.full(32, 0x10FFF))

case("a shuffle waits for lanes that come another way", """
    setp.lt.u32 %p1, %r1, 16;
    mov.u32 %r5, %r1;
    @%p1 bra JOIN;
    mov.u32 %r6, 0;
SPIN:
    add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r1; @%p2 bra SPIN;
    add.u32 %r5, %r6, 100;
JOIN:
    shfl.sync.bfly.b32 %r7, %r5, 16, 31, -1;
    st.global.u32 [%rd3], %r7;
""", lambda: np.where(T < 16, T + 116, T - 16))

case("lanes exchange from two shuffles", """
    setp.lt.u32 %p1, %r1, 16;
    add.u32 %r5, %r1, 1000;
    add.u32 %r6, %r1, 2000;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r7, %r6, 16, 31, -1;
    add.u32 %r7, %r7, 1;
    bra JOIN;
LOW:
    shfl.sync.bfly.b32 %r7, %r5, 16, 31, -1;
JOIN:
    st.global.u32 [%rd3], %r7;
""", lambda: np.where(T < 16, 2016 + T, 1000 + T - 16 + 1))

case("a guarded shuffle", """
    setp.ne.u32 %p1, %r1, 5;
    mov.u32 %r5, 77;
    @%p1 shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xFFFFFFDF;
    activemask.b32 %r6;
    popc.b32 %r6, %r6; mad.lo.u32 %r5, %r6, 100, %r5; st.global.u32 [%rd3], %r5;
""", lambda: 3200 + np.where(T == 5, 77, T ^ 1))

case("a guarded shuffle that waits", """
    setp.lt.u32 %p1, %r1, 16;
    setp.ne.u32 %p2, %r1, 5;
    mov.u32 %r5, 77; mov.u32 %r6, 0;
    @%p1 bra JOIN;
SPIN:
    add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 20; @%p3 bra SPIN;
JOIN:
    @%p2 shfl.sync.bfly.b32 %r5, %r1, 16, 31, 0xFFFFFFDF;
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T == 5, 77, T ^ 16))

case("warp barrier in two branches", """
    mov.u32 %r5, tile; mad.lo.u32 %r6, %r1, 4, %r5;
    xor.b32 %r7, %r1, 31; mad.lo.u32 %r7, %r7, 4, %r5;
    setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    st.shared.u32 [%r6], %r1;
    bar.warp.sync -1;
    bra JOIN;
LOW:
    add.u32 %r8, %r1, 500; st.shared.u32 [%r6], %r8;
    bar.warp.sync -1;
JOIN:
    ld.shared.u32 %r9, [%r7]; st.global.u32 [%rd3], %r9;
""", lambda: np.where(T < 16, 31 - T, 531 - T), before=".shared .align 4 .b8 tile[128];")

# -- barriers ----------------------------------------------------------------------------------------------------------

case("a barrier does not wait for warps that ended", """
    setp.ge.u32 %p1, %r1, 64; @%p1 exit;
    mov.u32 %r5, tile; mad.lo.u32 %r6, %r1, 4, %r5; st.shared.u32 [%r6], %r1;
    bar.sync 0;
    xor.b32 %r7, %r1, 32;
    mad.lo.u32 %r7, %r7, 4, %r5; ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd3], %r8;
""", lambda: np.r_[np.arange(64) ^ 32, np.zeros(64)], threads=128, before=".shared .align 4 .b8 tile[256];")

case("barriers in two branches", """
    setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    bar.sync 0;
    mov.u32 %r5, 1;
    bra JOIN;
LOW:
    bar.sync 0;
    mov.u32 %r5, 2;
JOIN:
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(16, 2), np.full(48, 1)], threads=64)

case("reductions at a barrier", """
    setp.lt.u32 %p1, %r1, 40;
    bar.red.popc.u32 %r5, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.u32 %r6, 100, 0, %p2;
    selp.u32 %r7, 1000, 0, %p3;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd3], %r5;
""", lambda: np.full(70, 1040), threads=70)

case("producers and consumers at named barriers", """
    mov.u32 %r5, tile;
    and.b32 %r6, %r1, 31; mad.lo.u32 %r7, %r6, 4, %r5;
    setp.lt.u32 %p1, %r1, 32;
    mov.u32 %r8, 0; mov.u32 %r10, 0;
    @%p1 bra CONSUME;
PRODUCE:
    bar.sync 1, 64;
    mad.lo.u32 %r9, %r8, 100, %r6; st.shared.u32 [%r7], %r9;
    bar.arrive 2, 64;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 5; @%p2 bra PRODUCE;
    exit;
CONSUME:
    bar.arrive 1, 64;
    bar.sync 2, 64;
    ld.shared.u32 %r9, [%r7]; add.u32 %r10, %r10, %r9;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 5; @%p2 bra CONSUME;
    st.global.u32 [%rd3], %r10;
""", lambda: np.r_[1000 + 5 * T, np.zeros(32)], threads=64, before=".shared .align 4 .b8 tile[128];")

# -- state of a lane ---------------------------------------------------------------------------------------------------

case("the carry flag belongs to a lane", """
    ld.global.u32 %r5, [%rd2];
    setp.lt.u32 %p1, %r1, 16;
    add.cc.u32 %r6, %r5, %r1;
    @%p1 add.cc.u32 %r7, %r5, 0;
    addc.u32 %r8, 10, 0; st.global.u32 [%rd3], %r8;
""", lambda: np.where(T < 16, 10, 11), x=np.array([0xFFFFFFF0], np.uint32))

case("registers wider and narrower than the instruction", """
    mov.b64 %rd5, {%r1, 7};
    mov.b64 {%r5, %r6}, %rd5;
    mov.b32 {%h1, %h2}, %r5;
    cvt.u32.u16 %r7, %h1; cvt.s32.s8 %r8, %r7;
    mov.b32 %f1, %r6;
    mov.b32 %r9, %f1; add.u32 %r9, %r9, %r8;
    add.u32 %r9, %r9, %r7; st.global.u32 [%rd3], %r9;
""", lambda: 2 * T + 7)

case("a difference leaves the carry of its addition: 1 where nothing is borrowed", """
    sub.cc.u32 %r5, %r1, 16;
    addc.u32 %r6, 0, 0;
    add.cc.u32 %r5, %r1, 0xFFFFFFF0;
    subc.u32 %r7, 0, 0;
    sub.cc.u32 %r5, %r1, 16;
    subc.cc.u32 %r8, 5, 5;
    addc.u32 %r9, 0, 0;
    mad.lo.u32 %r6, %r9, 2, %r6; mad.lo.u32 %r6, %r7, 100, %r6; mad.lo.u32 %r6, %r8, 10000, %r6;
    st.global.u32 [%rd3], %r6;
""", lambda: np.where(T < 16, 2**32 - 10100, 3))

case("lop3 with a predicate", """
    setp.lt.u32 %p1, %r1, 8; lop3.or.b32 %r5|%p2, %r1, 3, 4, 0x80, %p1;
    lop3.and.b32 _|%p3, %r1, 4, 4, 0x80, %p1;
    selp.u32 %r5, 1, 0, %p2;
    selp.u32 %r6, 10, 0, %p3; add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5;
""", lambda: (T < 8) + 10 * ((T < 8) & (T & 4 != 0)), version="8.2")

case("a NaN keeps its bits", """
    mov.f32 %f1, 0f7F812345; mov.b32 %r5, %f1; st.global.u32 [%rd3], %r5;
""", lambda: np.full(32, 0x7F812345))
