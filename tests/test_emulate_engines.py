"""One corpus of small PTX programs with known results, run on every engine of the CPU machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run


@dataclass
class Case:
    """A program and what it must leave in `out`."""

    body: str
    expected: Callable[[], Any]
    threads: int | tuple[int, ...] = 32
    blocks: int = 1
    before: str = ""
    shared: int = 0
    x: np.ndarray | None = None
    out: np.ndarray | None = field(default=None)


T = np.arange(32)
CASES: dict[str, Case] = {}


def case(name: str, body: str, expected: Callable[[], Any], **options: Any) -> None:
    CASES[name] = Case(body, expected, **options)


# -- control flow ------------------------------------------------------------------------------------------------------

case("nested if", """
    setp.lt.u32 %p1, %r1, 16;
    and.b32 %r5, %r1, 1;
    setp.eq.u32 %p2, %r5, 1;
    @!%p1 bra ELSE;
    @%p2 bra ODD;
    mov.u32 %r6, 2;
    bra INNER;
ODD:
    mov.u32 %r6, 1;
INNER:
    add.u32 %r6, %r6, 100;
    bra JOIN;
ELSE:
    mov.u32 %r6, 3;
JOIN:
    activemask.b32 %r7;
    popc.b32 %r7, %r7;
    mad.lo.u32 %r6, %r7, 1000, %r6;
    st.global.u32 [%rd3], %r6;
""", lambda: 32000 + np.where(T < 16, np.where(T % 2 == 1, 101, 102), 3))  # fmt: skip

case("loops with different trip counts meet again", """
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
LOOP:
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    add.u32 %r6, %r6, %r5;
    add.u32 %r5, %r5, 1;
    bra LOOP;
DONE:
    activemask.b32 %r7;
    popc.b32 %r7, %r7;
    mad.lo.u32 %r6, %r7, 1000, %r6;
    st.global.u32 [%rd3], %r6;
""", lambda: 32000 + T * (T - 1) // 2)  # fmt: skip

case("early exit", """
    and.b32 %r5, %r1, 1;
    setp.eq.u32 %p1, %r5, 1;
    @%p1 exit;
    activemask.b32 %r6;
    st.global.u32 [%rd3], %r6;
    setp.gt.u32 %p1, %r1, 10;
    @%p1 ret;
    mov.u32 %r6, 7;
    st.global.u32 [%rd3], %r6;
""", lambda: np.where(T % 2, 0, np.where(T > 10, 0x55555555, 7)))  # fmt: skip

case("guards", """
    setp.lt.u32 %p1, %r1, 5;
    mov.u32 %r5, 1;
    @%p1 mov.u32 %r5, 2;
    @!%p1 add.u32 %r5, %r5, %r1;
    st.global.u32 [%rd3], 99;
    @%p1 st.global.u32 [%rd3], %r5;
    setp.eq.u32 %p2, %r1, 500;
    @%p2 st.global.u32 [%rd3], 1234;
    @!%p1 st.global.u32 [%rd3], %r5;
""", lambda: np.where(T < 5, 2, 1 + T))  # fmt: skip

case("branch by index", """
TABLE: .branchtargets A, B, C, B;
    and.b32 %r5, %r1, 3;
    brx.idx %r5, TABLE;
A:  mov.u32 %r6, 10;
    bra JOIN;
B:  mov.u32 %r6, 20;
    bra JOIN;
C:  mov.u32 %r6, 30;
JOIN:
    st.global.u32 [%rd3], %r6;
""", lambda: np.array([10, 20, 30, 20])[T % 4])  # fmt: skip

case("a partial warp", """
    activemask.b32 %r5;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(32, 0xFFFFFFFF), np.full(11, 0x7FF)], threads=43)  # fmt: skip

case(
    "blocks and threads in three dimensions",
    """
    mov.u32 %r5, %tid.y;
    mov.u32 %r6, %tid.z;
    mov.u32 %r7, %ntid.x;
    mov.u32 %r8, %ntid.y;
    mad.lo.u32 %r9, %r6, %r8, %r5;
    mad.lo.u32 %r9, %r9, %r7, %r1;
    mul.lo.u32 %r10, %r6, 100;
    mad.lo.u32 %r10, %r5, 10, %r10;
    add.u32 %r10, %r10, %r1;
    mul.wide.u32 %rd5, %r9, 4;
    add.u64 %rd5, %rd1, %rd5;
    st.global.u32 [%rd5], %r10;
""",
    lambda: [z * 100 + y * 10 + x for z in range(2) for y in range(3) for x in range(7)],
    threads=(7, 3, 2),
)

# -- memory ------------------------------------------------------------------------------------------------------------

case(
    "shared memory and a barrier",
    """
    mov.u32 %r5, tile;
    shl.b32 %r6, %r1, 2;
    add.u32 %r6, %r5, %r6;
    ld.global.u32 %r7, [%rd2];
    add.u32 %r7, %r7, %r1;
    st.shared.u32 [%r6], %r7;
    bar.sync 0;
    sub.u32 %r8, 95, %r1;
    shl.b32 %r8, %r8, 2;
    add.u32 %r8, %r5, %r8;
    ld.shared.u32 %r9, [%r8];
    st.global.u32 [%rd3], %r9;
""",
    lambda: np.tile(np.arange(96)[::-1], 3),
    threads=96,
    blocks=3,
    before=".shared .align 4 .b8 tile[384];",
)

case("dynamic shared memory behind a static array", """
    mov.u32 %r5, dynamic;
    mad.lo.u32 %r6, %r1, 4, %r5;
    st.shared.u32 [%r6], %r1;
    st.shared.u32 [fixed], 5;
    bar.sync 0;
    xor.b32 %r7, %r1, 7;
    mad.lo.u32 %r6, %r7, 4, %r5;
    ld.shared.u32 %r8, [%r6];
    ld.shared.u32 %r9, [fixed];
    mad.lo.u32 %r8, %r8, 10, %r9;
    st.global.u32 [%rd3], %r8;
""", lambda: (T ^ 7) * 10 + 5, shared=128,
     before=".shared .align 4 .b8 fixed[20];\n.extern .shared .align 16 .b8 dynamic[];")  # fmt: skip

case("local memory", """
    .local .align 4 .b8 stack[64];
    mov.u64 %rd5, stack;
    mov.u32 %r5, 0;
FILL:
    mad.lo.u32 %r6, %r5, 100, %r1;
    mul.wide.u32 %rd6, %r5, 4;
    add.u64 %rd7, %rd5, %rd6;
    st.local.u32 [%rd7], %r6;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 16;
    @%p1 bra FILL;
    and.b32 %r7, %r1, 15;
    mul.wide.u32 %rd6, %r7, 4;
    add.u64 %rd7, %rd5, %rd6;
    ld.local.u32 %r8, [%rd7];
    st.global.u32 [%rd3], %r8;
""", lambda: (T % 16) * 100 + T)  # fmt: skip

case("generic addresses of three spaces in one instruction", """
    .local .align 4 .b8 mine[8];
    mov.u64 %rd5, mine;
    cvta.local.u64 %rd6, %rd5;
    mov.u64 %rd7, tile;
    cvta.shared.u64 %rd8, %rd7;
    st.shared.u32 [tile+4], 222;
    st.local.u32 [mine+4], 333;
    rem.u32 %r5, %r1, 3;
    setp.eq.u32 %p1, %r5, 0;
    setp.eq.u32 %p2, %r5, 1;
    selp.b64 %rd9, %rd6, %rd8, %p1;
    selp.b64 %rd9, %rd9, %rd2, %p2;
    @%p1 mov.b64 %rd9, %rd6;
    ld.u32 %r6, [%rd9+4];
    st.u32 [%rd3], %r6;
    st.u32 [%rd9+4], %r6;
    cvta.to.shared.u64 %rd10, %rd8;
    sub.u64 %rd10, %rd10, %rd7;
    cvt.u32.u64 %r7, %rd10;
    add.u32 %r6, %r6, %r7;
    st.global.u32 [%rd3], %r6;
""", lambda: np.array([333, 222, 1])[T % 3], before=".shared .align 4 .b8 tile[16];")  # fmt: skip

case("constants and initialised globals", """
    mul.wide.u32 %rd5, %r1, 4;
    mov.u64 %rd6, table;
    add.u64 %rd6, %rd6, %rd5;
    ld.const.u32 %r5, [%rd6];
    ld.global.u64 %rd7, [pointer];
    ld.global.u32 %r6, [%rd7];
    ld.global.u32 %r7, [counter];
    add.u32 %r5, %r5, %r6;
    add.u32 %r5, %r5, %r7;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[10, 20, 30, 40] + 40 + 7, threads=4, before="""
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.global .align 4 .u32 data[3] = {5, 40};
.global .align 8 .u64 pointer = data+4;
.global .align 4 .u32 counter = 7;
""")  # fmt: skip

case("vectors and narrow loads", """
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+16];
    ld.global.s8 %r9, [%rd2+1];
    ld.global.u8 %r10, [%rd2+1];
    ld.global.s16 %r11, [%rd2];
    add.u32 %r5, %r5, %r8;
    mad.lo.u32 %r12, %r1, 20, 0;
    cvt.u64.u32 %rd5, %r12;
    add.u64 %rd5, %rd1, %rd5;
    st.global.u32 [%rd5], %r5;
    st.global.u32 [%rd5+4], %r9;
    st.global.u32 [%rd5+8], %r10;
    st.global.u32 [%rd5+12], %r11;
    st.global.u16 [%rd5+16], %r7;
    st.global.u8 [%rd5+18], %r6;
""", lambda: [0x11 + 0x44, 0xFFFFFFFE, 0xFE, 0xFFFFFE01, 0x00220033] * 2, threads=2, out=np.zeros(10, np.uint32),
     x=np.array([0x0000FE01, 0, 0, 0, 0x11, 0x22, 0x33, 0x44], np.uint32))  # fmt: skip

case("two lanes store to one address: the higher one is seen", """
    shr.u32 %r5, %r1, 1;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd5, %rd1, %rd5;
    st.global.u32 [%rd5], %r1;
""", lambda: np.where(T < 16, 2 * T + 1, 0))  # fmt: skip

# -- atomics -----------------------------------------------------------------------------------------------------------

case("atomics come in lane order", """
    atom.global.add.u32 %r5, [%rd2], %r1;
    st.global.u32 [%rd3], %r5;
""", lambda: np.cumsum(T) - T)  # fmt: skip

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
    mad.lo.u32 %r13, %r7, 10, %r8;
    mad.lo.u32 %r13, %r9, 100, %r13;
    mad.lo.u32 %r13, %r10, 10000, %r13;
    st.global.u32 [%rd3], %r13;
    ld.global.u32 %r14, [%rd2+32];
    setp.eq.u32 %p1, %r1, 6;
    @%p1 st.global.u32 [%rd3], %r14;
    setp.eq.u32 %p1, %r1, 7;
    @%p1 st.global.u32 [%rd3], %r12;
""", lambda: [
        10 * inc + dec + 100 * exch + 10000 * cas
        for inc, dec, exch, cas in (
            (3, 4, 5, 6), (4, 3, 0, 60), (5, 2, 1, 60), (0, 1, 2, 60), (1, 0, 3, 60), (2, 4, 4, 60)
        )
     ] + [8, int(np.float32(9 + 4).view(np.uint32))],
     threads=8, x=np.r_[np.arange(9, dtype=np.uint32), np.float32(9).view(np.uint32)].astype(np.uint32))  # fmt: skip

case("a lock within a warp", """
TRY:
    atom.global.cas.b32 %r5, [%rd2], 0, 1;
    setp.ne.u32 %p1, %r5, 0;
    @%p1 bra TRY;
    ld.volatile.global.u32 %r6, [%rd2+4];
    add.u32 %r6, %r6, 1;
    st.volatile.global.u32 [%rd2+4], %r6;
    st.global.u32 [%rd3], %r6;
    membar.gl;
    atom.global.exch.b32 %r7, [%rd2], 0;
""", lambda: T + 1, x=np.zeros(2, np.uint32))  # fmt: skip

case("one lane waits for another lane's flag", """
    setp.eq.u32 %p1, %r1, 31;
    @%p1 bra GIVE;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra WAIT;
    bra JOIN;
GIVE:
    st.volatile.global.u32 [%rd2], 5;
    mov.u32 %r5, 6;
JOIN:
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T == 31, 6, 5), x=np.zeros(1, np.uint32))  # fmt: skip

case("a warp waits for a later warp", """
    shr.u32 %r5, %r1, 5;
    setp.eq.u32 %p1, %r5, 1;
    @%p1 st.volatile.global.u32 [%rd2], 5;
    @%p1 exit;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra WAIT;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(32, 5), np.zeros(32)], threads=64, x=np.zeros(1, np.uint32))  # fmt: skip

case("a block waits for a later block", """
    setp.eq.u32 %p1, %r2, 2;
    @%p1 st.volatile.global.u32 [%rd2], 5;
    @%p1 exit;
WAIT:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra WAIT;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(64, 5), np.zeros(32)], blocks=3, x=np.zeros(1, np.uint32))  # fmt: skip

# -- across lanes ------------------------------------------------------------------------------------------------------

case("shuffles", """
    shfl.sync.down.b32 %r5, %r1, 3, 31, -1;
    shfl.sync.up.b32 %r6|%p1, %r1, 2, 0, -1;
    shfl.sync.bfly.b32 %r7, %r1, 5, 31, -1;
    shfl.sync.idx.b32 %r8, %r1, 9, 31, -1;
    selp.u32 %r9, 1, 0, %p1;
    mad.lo.u32 %r5, %r6, 100, %r5;
    mad.lo.u32 %r5, %r7, 10000, %r5;
    mad.lo.u32 %r5, %r8, 1000000, %r5;
    mad.lo.u32 %r5, %r9, 100000000, %r5;
    st.global.u32 [%rd3], %r5;
""", lambda: (
        np.where(T + 3 < 32, T + 3, T) + 100 * np.where(T >= 2, T - 2, T) + 10000 * (T ^ 5) + 9000000
        + 100000000 * (T >= 2)
     ))  # fmt: skip

case("tiles of a warp vote, match and reduce with masks of their own", """
    and.b32 %r5, %r1, 28;
    mov.u32 %r6, 15;
    shl.b32 %r6, %r6, %r5;              // the four lanes of this tile
    setp.gt.u32 %p1, %r1, 13;
    vote.sync.ballot.b32 %r7, %p1, %r6;
    vote.sync.any.pred %p2, %p1, %r6;
    vote.sync.all.pred %p3, %p1, %r6;
    selp.u32 %r8, 1, 0, %p2;
    selp.u32 %r9, 2, 0, %p3;
    or.b32 %r8, %r8, %r9;
    and.b32 %r9, %r1, 5;
    match.any.sync.b32 %r10, %r9, %r6;
    match.all.sync.b32 %r11|%p4, %r5, %r6;
    redux.sync.add.u32 %r12, %r1, %r6;
    xor.b32 %r7, %r7, %r10;
    xor.b32 %r7, %r7, %r11;
    mad.lo.u32 %r7, %r12, 65536, %r7;
    add.u32 %r7, %r7, %r8;
    st.global.u32 [%rd3], %r7;
""", lambda: [
    ((sum((k > 13) << k for k in tile) ^ sum((k & 5 == t & 5) << k for k in tile) ^ sum(1 << k for k in tile))
     + (sum(tile) << 16) + any(k > 13 for k in tile) + 2 * all(k > 13 for k in tile)) & 0xFFFFFFFF
    for t in range(32) for tile in [range(t // 4 * 4, t // 4 * 4 + 4)]
])  # fmt: skip

case("two variables side by side are two allocations", """
    setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r5, 7;
    @%p1 bra READ;
    st.global.u32 [first], %r5;
    st.global.u32 [second], %r1;
READ:
    bar.sync 0;
    ld.global.u32 %r6, [first];
    ld.global.u32 %r7, [second];
    mad.lo.u32 %r6, %r6, 10, %r7;
    st.global.u32 [%rd3], %r6;
""", lambda: [70] * 32, before=".global .u32 second = 5;\n.global .u32 first;")  # fmt: skip

case("a vector of one element is that element", """
    mov.b32 %r5, {%r1};
    st.global.b32 [%rd3], {%r5};
    ld.global.b32 {%r6}, [%rd3];
    add.u32 {%r6}, %r6, 1;
    st.global.u32 [%rd3], %r6;
""", lambda: T + 1)  # fmt: skip

case("a difference leaves the carry of its addition: 1 where nothing is borrowed", """
    sub.cc.u32 %r5, %r1, 16;
    addc.u32 %r6, 0, 0;
    add.cc.u32 %r5, %r1, 0xFFFFFFF0;
    subc.u32 %r7, 0, 0;
    sub.cc.u32 %r5, %r1, 16;
    subc.cc.u32 %r8, 5, 5;
    addc.u32 %r9, 0, 0;
    mad.lo.u32 %r6, %r9, 2, %r6;
    mad.lo.u32 %r6, %r7, 100, %r6;
    mad.lo.u32 %r6, %r8, 10000, %r6;
    st.global.u32 [%rd3], %r6;
""", lambda: np.where(T < 16, 2**32 - 10100, 3))  # fmt: skip

case("votes", """
    setp.lt.u32 %p1, %r1, 12;
    vote.sync.ballot.b32 %r5, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1;
    selp.u32 %r6, 0x10000, 0, %p2;
    selp.u32 %r7, 0x20000, 0, %p3;
    or.b32 %r5, %r5, %r6;
    or.b32 %r5, %r5, %r7;
    st.global.u32 [%rd3], %r5;
""", lambda: np.full(32, 0x10FFF))  # fmt: skip

case("a shuffle waits for lanes that come another way", """
    setp.lt.u32 %p1, %r1, 16;
    mov.u32 %r5, %r1;
    @%p1 bra JOIN;
    mov.u32 %r6, 0;
SPIN:
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, %r1;
    @%p2 bra SPIN;
    add.u32 %r5, %r6, 100;
JOIN:
    shfl.sync.bfly.b32 %r7, %r5, 16, 31, -1;
    st.global.u32 [%rd3], %r7;
""", lambda: np.where(T < 16, T + 116, T - 16))  # fmt: skip

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
""", lambda: np.where(T < 16, 2016 + T, 1000 + T - 16 + 1))  # fmt: skip

case("a guarded shuffle", """
    setp.ne.u32 %p1, %r1, 5;
    mov.u32 %r5, 77;
    @%p1 shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xFFFFFFDF;
    activemask.b32 %r6;
    popc.b32 %r6, %r6;
    mad.lo.u32 %r5, %r6, 100, %r5;
    st.global.u32 [%rd3], %r5;
""", lambda: 3200 + np.where(T == 5, 77, T ^ 1))  # fmt: skip

case("a guarded shuffle that waits", """
    setp.lt.u32 %p1, %r1, 16;
    setp.ne.u32 %p2, %r1, 5;
    mov.u32 %r5, 77;
    mov.u32 %r6, 0;
    @%p1 bra JOIN;
SPIN:
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 20;
    @%p3 bra SPIN;
JOIN:
    @%p2 shfl.sync.bfly.b32 %r5, %r1, 16, 31, 0xFFFFFFDF;
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T == 5, 77, T ^ 16))  # fmt: skip

case("lop3 with a predicate", """
    setp.lt.u32 %p1, %r1, 8;
    lop3.or.b32 %r5|%p2, %r1, 3, 4, 0x80, %p1;
    lop3.and.b32 _|%p3, %r1, 4, 4, 0x80, %p1;
    selp.u32 %r5, 1, 0, %p2;
    selp.u32 %r6, 10, 0, %p3;
    add.u32 %r5, %r5, %r6;
    st.global.u32 [%rd3], %r5;
""", lambda: (T < 8) + 10 * ((T < 8) & (T & 4 != 0)))  # fmt: skip

case("a NaN keeps its bits", """
    mov.f32 %f1, 0f7F812345;
    mov.b32 %r5, %f1;
    st.global.u32 [%rd3], %r5;
""", lambda: np.full(32, 0x7F812345))  # fmt: skip

case("warp barrier in two branches", """
    mov.u32 %r5, tile;
    mad.lo.u32 %r6, %r1, 4, %r5;
    xor.b32 %r7, %r1, 31;
    mad.lo.u32 %r7, %r7, 4, %r5;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    st.shared.u32 [%r6], %r1;
    bar.warp.sync -1;
    bra JOIN;
LOW:
    add.u32 %r8, %r1, 500;
    st.shared.u32 [%r6], %r8;
    bar.warp.sync -1;
JOIN:
    ld.shared.u32 %r9, [%r7];
    st.global.u32 [%rd3], %r9;
""", lambda: np.where(T < 16, 31 - T, 531 - T), before=".shared .align 4 .b8 tile[128];")  # fmt: skip

# -- barriers ----------------------------------------------------------------------------------------------------------

case(
    "a barrier does not wait for warps that ended",
    """
    setp.ge.u32 %p1, %r1, 64;
    @%p1 exit;
    mov.u32 %r5, tile;
    mad.lo.u32 %r6, %r1, 4, %r5;
    st.shared.u32 [%r6], %r1;
    bar.sync 0;
    xor.b32 %r7, %r1, 32;
    mad.lo.u32 %r7, %r7, 4, %r5;
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd3], %r8;
""",
    lambda: np.r_[np.arange(64) ^ 32, np.zeros(64)],
    threads=128,
    before=".shared .align 4 .b8 tile[256];",
)

case("barriers in two branches", """
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra LOW;
    bar.sync 0;
    mov.u32 %r5, 1;
    bra JOIN;
LOW:
    bar.sync 0;
    mov.u32 %r5, 2;
JOIN:
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(16, 2), np.full(48, 1)], threads=64)  # fmt: skip

case("reductions at a barrier", """
    setp.lt.u32 %p1, %r1, 40;
    bar.red.popc.u32 %r5, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.u32 %r6, 100, 0, %p2;
    selp.u32 %r7, 1000, 0, %p3;
    add.u32 %r5, %r5, %r6;
    add.u32 %r5, %r5, %r7;
    st.global.u32 [%rd3], %r5;
""", lambda: np.full(70, 1040), threads=70)  # fmt: skip

case("producers and consumers at named barriers", """
    mov.u32 %r5, tile;
    and.b32 %r6, %r1, 31;
    mad.lo.u32 %r7, %r6, 4, %r5;
    setp.lt.u32 %p1, %r1, 32;
    mov.u32 %r8, 0;
    mov.u32 %r10, 0;
    @%p1 bra CONSUME;
PRODUCE:
    bar.sync 1, 64;
    mad.lo.u32 %r9, %r8, 100, %r6;
    st.shared.u32 [%r7], %r9;
    bar.arrive 2, 64;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p2, %r8, 5;
    @%p2 bra PRODUCE;
    exit;
CONSUME:
    bar.arrive 1, 64;
    bar.sync 2, 64;
    ld.shared.u32 %r9, [%r7];
    add.u32 %r10, %r10, %r9;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p2, %r8, 5;
    @%p2 bra CONSUME;
    st.global.u32 [%rd3], %r10;
""", lambda: np.r_[1000 + 5 * T, np.zeros(32)], threads=64, before=".shared .align 4 .b8 tile[128];")  # fmt: skip

# -- functions ---------------------------------------------------------------------------------------------------------

FUNCTIONS = """
.func (.param .b32 result) square(.param .b32 a)
{
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    ld.param.b32 %r1, [a];
    setp.gt.u32 %p1, %r1, 20;
    mul.lo.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    @%p1 ret;
    add.u32 %r2, %r2, 1;
    st.param.b32 [result], %r2;
    ret;
}
.func (.param .b32 result) twice(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    {
        .param .b32 p;
        .param .b32 q;
        st.param.b32 [p], %r1;
        call.uni (q), square, (p);
        ld.param.b32 %r2, [q];
    }
    add.u32 %r2, %r2, %r2;
    st.param.b32 [result], %r2;
    ret;
}
"""

case("functions, called from diverged lanes", """
    {
        .param .b32 p;
        .param .b32 q;
        st.param.b32 [p], %r1;
        setp.lt.u32 %p1, %r1, 10;
        @%p1 bra OTHER;
        call.uni (q), twice, (p);
        bra DONE;
OTHER:
        call.uni (q), square, (p);
DONE:
        ld.param.b32 %r5, [q];
    }
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T < 10, T * T + 1, 2 * (T * T + (T <= 20))), before=FUNCTIONS)  # fmt: skip

case("registers as arguments", """
    call (%r5), add_one, (%r1);
    call (%r5), add_one, (%r5);
    st.global.u32 [%rd3], %r5;
""", lambda: T + 2, before="""
.func (.reg .u32 %result) add_one(.reg .u32 %a)
{
    add.u32 %result, %a, 1;
    ret;
}
""")  # fmt: skip

# -- state of a lane ---------------------------------------------------------------------------------------------------

case("the carry flag belongs to a lane", """
    ld.global.u32 %r5, [%rd2];
    setp.lt.u32 %p1, %r1, 16;
    add.cc.u32 %r6, %r5, %r1;
    @%p1 add.cc.u32 %r7, %r5, 0;
    addc.u32 %r8, 10, 0;
    st.global.u32 [%rd3], %r8;
""", lambda: np.where(T < 16, 10, 11), x=np.array([0xFFFFFFF0], np.uint32))  # fmt: skip

case("registers wider and narrower than the instruction", """
    mov.b64 %rd5, {%r1, 7};
    mov.b64 {%r5, %r6}, %rd5;
    mov.b32 {%h1, %h2}, %r5;
    cvt.u32.u16 %r7, %h1;
    cvt.s32.s8 %r8, %r7;
    mov.b32 %f1, %r6;
    mov.b32 %r9, %f1;
    add.u32 %r9, %r9, %r8;
    add.u32 %r9, %r9, %r7;
    st.global.u32 [%rd3], %r9;
""", lambda: 2 * T + 7)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, engine: str) -> None:
    c = CASES[name]
    x = None if c.x is None else c.x.copy()
    found, _ = run(
        engine, kernel(c.body, c.before), threads=c.threads, blocks=c.blocks, shared=c.shared, x=x, out=c.out
    )  # fmt: skip
    assert found.tolist() == [int(value) for value in c.expected()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_programs_do_not_depend_on_the_schedule(engine: str, seed: int) -> None:
    for name in (
        "producers and consumers at named barriers",
        "shared memory and a barrier",
        "a warp waits for a later warp",
    ):
        c = CASES[name]
        x = None if c.x is None else c.x.copy()
        found, _ = run(engine, kernel(c.body, c.before), threads=c.threads, blocks=c.blocks, x=x, seed=seed)
        assert found.tolist() == [int(value) for value in c.expected()]


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_by_line(engine: str) -> None:
    body = """
    setp.lt.u32 %p1, %r1, 8;
    @!%p1 bra SKIP;
    add.u32 %r5, %r1, 1;
SKIP:
    @%p1 st.global.u32 [%rd3], %r5;"""
    text = kernel(body)
    _, report = run(engine, text, threads=48)
    lines = text.splitlines()
    counts = {lines[line - 1].strip(): count for line, count in report.lines.items()}
    assert counts["setp.lt.u32 %p1, %r1, 8;"] == (2, 48)
    assert counts["add.u32 %r5, %r1, 1;"] == (1, 8)
    assert counts["@%p1 st.global.u32 [%rd3], %r5;"] == (2, 48)
    assert report.warp_instructions == sum(warps for warps, _ in report.lines.values())
    assert report.thread_instructions == sum(threads for _, threads in report.lines.values())
