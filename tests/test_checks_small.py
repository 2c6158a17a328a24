"""Small kernels in every idiom that orders threads, each right or wrong in one way: the checks tell them apart.

Before a body come, for thread t of n: %r10 &tile[t], %r11 &tile[t ^ 1], %r12 &tile[t + 32], %r20 tile, %r21 lane, %r22
warp; %p1 t == 0, %p2 t < 32, %p3 lane 0, %p4 lane < 16.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel

import ptxlab as pl

ALL = ("memcheck", "initcheck", "racecheck", "synccheck")
SHARED = """
.shared .align 16 .b8 tile[8192];
.shared .align 8 .b32 flag[64];
"""
PROLOGUE = """
    mov.u32 %r20, tile;
    mad.lo.u32 %r10, %r1, 4, %r20;
    add.u32 %r5, %r1, 32;
    rem.u32 %r5, %r5, %r3;
    mad.lo.u32 %r12, %r5, 4, %r20;
    xor.b32 %r5, %r1, 1;
    mad.lo.u32 %r11, %r5, 4, %r20;
    and.b32 %r21, %r1, 31;
    shr.u32 %r22, %r1, 5;
    setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r1, 32;
    setp.eq.u32 %p3, %r21, 0;
    setp.lt.u32 %p4, %r21, 16;
    mov.u32 %r6, 0;
"""


@dataclass
class Small:
    """A body; the (check, kind) of which one at least is found, a kind of "" being any; none: it is clean."""

    body: str
    finds: tuple[tuple[str, str], ...] = ()
    blocks: int = 1
    threads: int = 64
    before: str = ""


KERNELS: dict[str, Small] = {}


def clean(name: str, body: str, before: str = "") -> None:
    KERNELS[f"clean: {name}"] = Small(body, before=before)


def wrong(name: str, body: str, *finds: tuple[str, str], blocks: int = 1, threads: int = 64) -> None:
    KERNELS[f"wrong: {name}"] = Small(body, finds, blocks, threads)


RAW, WAR, WAW = (("racecheck", kind) for kind in ("RAW", "WAR", "WAW"))
UNWRITTEN, ANY_SYNC = ("initcheck", "uninitialised read"), ("synccheck", "")

TWICE = """
.func (.reg .u32 %o) twice(.reg .u32 %i)
{
    .reg .b32 %q;
    .local .align 4 .b8 m[8];
    .reg .b64 %a;
    mov.u64 %a, m;
    st.local.u32 [%a], %i;
    ld.local.u32 %q, [%a];
    add.u32 %o, %q, %q;
    ret;
}
"""

clean(
    "warp reduction",
    """
    mov.u32 %r6, %r1;
    shfl.sync.down.b32 %r7, %r6, 16, 31, -1;
    add.u32 %r6, %r6, %r7;
    shfl.sync.down.b32 %r7, %r6, 8, 31, -1;
    add.u32 %r6, %r6, %r7;
    mad.lo.u32 %r8, %r22, 4, %r20;
    @%p3 st.shared.u32 [%r8], %r6;
    bar.sync 0;
    @!%p2 bra E;
    mad.lo.u32 %r8, %r21, 4, %r20;
    setp.lt.u32 %p5, %r21, 2;
    @%p5 ld.shared.u32 %r6, [%r8];
E:
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "warp exchange",
    """
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    ld.shared.u32 %r6, [%r11];
    bar.warp.sync -1;
    st.shared.u32 [%r10], %r6;
""",
)
wrong(
    "warp exchange unsynced",
    """
    st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r11];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
wrong(
    "warp exchange WAR",
    """
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    ld.shared.u32 %r6, [%r11];
    st.shared.u32 [%r10], %r6;
""",
    WAR,
)
clean(
    "named barriers",
    """
    mov.u32 %r30, 0;
L:
    @!%p2 bra CONS;
    setp.gt.u32 %p8, %r30, 0;
    @%p8 bar.sync 2, 64;
    st.shared.u32 [%r10], %r30;
    bar.arrive 1, 64;
    bra N;
CONS:
    bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
    setp.lt.u32 %p8, %r30, 2;
    @%p8 bar.arrive 2, 64;
N:
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 3;
    @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "named barriers, no answer",
    """
    mov.u32 %r30, 0;
L:
    @!%p2 bra CONS;
    st.shared.u32 [%r10], %r30;
    bar.arrive 1, 64;
    bra N;
CONS:
    bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
N:
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 3;
    @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""",
    ANY_SYNC,
    RAW,
    WAR,
)
clean(
    "lock with fences",
    """
    mov.u32 %r30, 0;
    @%p1 st.shared.u32 [flag], 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    setp.ne.u32 %p5, %r21, 0;
    @%p5 bra E;
A:
    atom.shared.cas.b32 %r7, [flag], 0, 1;
    setp.ne.u32 %p5, %r7, 0;
    @%p5 bra A;
    membar.cta;
    ld.shared.u32 %r6, [tile];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6;
    membar.cta;
    atom.shared.exch.b32 %r7, [flag], 0;
E:
    bar.sync 0;
    ld.shared.u32 %r6, [tile];
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "lock acquire release",
    """
    mov.u32 %r30, 0;
    @%p1 st.shared.u32 [flag], 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    setp.ne.u32 %p5, %r21, 0;
    @%p5 bra E;
A:
    atom.acquire.cta.shared.cas.b32 %r7, [flag], 0, 1;
    setp.ne.u32 %p5, %r7, 0;
    @%p5 bra A;
    ld.shared.u32 %r6, [tile];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6;
    st.release.cta.shared.u32 [flag], 0;
E:
    bar.sync 0;
    ld.shared.u32 %r6, [tile];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "lock without fence",
    """
    mov.u32 %r30, 0;
    @%p1 st.shared.u32 [flag], 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    setp.ne.u32 %p5, %r21, 0;
    @%p5 bra E;
A:
    atom.shared.cas.b32 %r7, [flag], 0, 1;
    setp.ne.u32 %p5, %r7, 0;
    @%p5 bra A;
    ld.shared.u32 %r6, [tile];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6;
    atom.shared.exch.b32 %r7, [flag], 0;
E:
    bar.sync 0;
    ld.shared.u32 %r6, [tile];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
    WAR,
    WAW,
)
clean(
    "volatile flag",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    membar.cta;
    @%p1 st.volatile.shared.u32 [flag], 1;
    bra E;
W:
    ld.volatile.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    membar.cta;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
)
clean(
    "release acquire",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    @%p1 st.release.cta.shared.u32 [flag], 1;
    bra E;
W:
    ld.acquire.cta.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
)
clean(
    "relaxed with fences",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    fence.acq_rel.cta;
    @%p1 st.relaxed.cta.shared.u32 [flag], 1;
    bra E;
W:
    ld.relaxed.cta.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    fence.acq_rel.cta;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
)
clean(
    "red and atom flag",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    fence.acq_rel.cta;
    @%p1 red.shared.add.u32 [flag], 1;
    bra E;
W:
    ld.relaxed.cta.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    fence.acq_rel.cta;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
)
wrong(
    "relaxed flag, no fence",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    @%p1 st.relaxed.cta.shared.u32 [flag], 1;
    bra E;
W:
    ld.relaxed.cta.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
    RAW,
)
wrong(
    "volatile flag, no fence at all",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    @%p1 st.volatile.shared.u32 [flag], 1;
    bra E;
W:
    ld.volatile.shared.u32 %r7, [flag];
    setp.eq.u32 %p5, %r7, 0;
    @%p5 bra W;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
E:
""",
    RAW,
)
clean(
    "counter of arrivals",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    st.shared.u32 [%r10], %r1;
    atom.release.cta.shared.add.u32 %r7, [flag], 1;
W:
    ld.acquire.cta.shared.u32 %r7, [flag];
    setp.lt.u32 %p5, %r7, 64;
    @%p5 bra W;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "cp.async, first group",
    """
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+0];
    st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""",
)
clean(
    "cp.async, own data without barrier",
    """
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+1024];
    st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""",
)
wrong(
    "cp.async, second group too early",
    """
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+1024];
    st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""",
    ("synccheck", "asynchronous copy"),
)
wrong(
    "cp.async, other warp without barrier",
    """
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
    cp.async.wait_all;
""",
    RAW,
)
clean(
    "vectors",
    """
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    xor.b32 %r8, %r1, 33;
    shl.b32 %r8, %r8, 4;
    add.u32 %r8, %r8, %r20;
    ld.shared.v2.u32 {%r6, %r9}, [%r8+8];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "vectors that overlap",
    """
    shl.b32 %r7, %r1, 3;
    add.u32 %r7, %r7, %r20;
    and.b32 %r8, %r1, 1;
    setp.eq.u32 %p5, %r8, 0;
    st.shared.v2.u32 [%r7], {%r1, %r1};
    @%p5 st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
""",
    WAW,
)
wrong(
    "middle of a vector",
    """
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
    xor.b32 %r8, %r1, 32;
    shl.b32 %r8, %r8, 4;
    add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8+8];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
clean(
    "generic",
    """
    cvt.u64.u32 %rd5, %r10;
    cvta.shared.u64 %rd6, %rd5;
    cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd8, %rd7;
    st.u32 [%rd6], %r1;
    bar.sync 0;
    ld.u32 %r6, [%rd8];
    st.u32 [%rd3], %r6;
""",
)
wrong(
    "generic without barrier",
    """
    cvt.u64.u32 %rd5, %r10;
    cvta.shared.u64 %rd6, %rd5;
    cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd8, %rd7;
    st.u32 [%rd6], %r1;
    ld.u32 %r6, [%rd8];
    st.u32 [%rd3], %r6;
""",
    RAW,
)
wrong(
    "generic store, shared load",
    """
    cvt.u64.u32 %rd5, %r10;
    cvta.shared.u64 %rd6, %rd5;
    cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd8, %rd7;
    st.u32 [%rd6], %r1;
    ld.shared.u32 %r6, [%r12];
    st.u32 [%rd3], %r6;
""",
    RAW,
)
clean(
    "local memory",
    """
    .local .align 4 .b8 mine[64];
    mov.u32 %r7, mine;
    st.local.u32 [%r7], %r1;
    st.local.u32 [%r7+4], %r1;
    ld.local.u32 %r6, [%r7];
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "generic local memory",
    """
    .local .align 4 .b8 mine[64];
    mov.u64 %rd5, mine;
    cvta.local.u64 %rd6, %rd5;
    st.u32 [%rd6], %r1;
    ld.u32 %r6, [%rd6];
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "ldmatrix",
    """
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    xor.b32 %r8, %r1, 32;
    shl.b32 %r8, %r8, 4;
    add.u32 %r8, %r8, %r20;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r9, %r13, %r14}, [%r8];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "ldmatrix, half written",
    """
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    st.shared.v2.u32 [%r7], {%r1, %r1};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r9, %r13, %r14}, [%r7];
    st.global.u32 [%rd3], %r6;
""",
    UNWRITTEN,
)
clean(
    "early exit, activemask",
    """
    setp.gt.u32 %p5, %r21, 19;
    @%p5 bra E;
    activemask.b32 %r7;
    shfl.sync.bfly.b32 %r6, %r1, 1, 31, %r7;
    st.global.u32 [%rd3], %r6;
E:
""",
)
clean(
    "a warp leaves, the others meet",
    """
    @!%p2 bra E;
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r11];
    bar.sync 0;
    st.global.u32 [%rd3], %r6;
E:
""",
)
clean(
    "barrier.sync from two places",
    """
    st.shared.u32 [%r10], %r1;
    @%p4 bra A;
    barrier.sync 0;
    bra B;
A:
    barrier.sync 0;
B:
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "bar.sync in half a warp",
    """
    @%p4 bra A;
    bar.sync 0;
A:
    st.global.u32 [%rd3], %r1;
""",
    ANY_SYNC,
)
wrong(
    "bar.sync skipped by a guard",
    """
    @%p4 bar.sync 0;
    st.global.u32 [%rd3], %r1;
""",
    ANY_SYNC,
)
clean(
    "a barrier in turn",
    """
    st.shared.u32 [%r10], 1;
    bar.sync 1;
    ld.shared.u32 %r6, [%r12];
    bar.sync 2;
    st.shared.u32 [%r10], 2;
    bar.red.popc.u32 %r7, 3, %p2;
    ld.shared.u32 %r6, [%r12];
""",
)
clean(
    "histogram",
    """
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    and.b32 %r7, %r1, 7;
    mad.lo.u32 %r7, %r7, 4, %r20;
    atom.shared.add.u32 %r8, [%r7], 1;
    red.shared.add.u32 [%r7+4], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "atomic, then a plain read",
    """
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    atom.shared.add.u32 %r7, [tile], 1;
    ld.shared.u32 %r6, [tile];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
    WAR,
)
wrong(
    "atomic, then a plain write",
    """
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    atom.shared.add.u32 %r7, [tile], 1;
    @%p1 st.shared.u32 [tile], 9;
""",
    WAW,
)
clean(
    "all say the same",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    st.shared.u32 [flag], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [flag];
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "bytes side by side",
    """
    add.u32 %r7, %r20, %r1;
    st.shared.u8 [%r7], %r1;
    bar.sync 0;
    shl.b32 %r8, %r21, 1;
    and.b32 %r8, %r8, 60;
    add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8];
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "a byte of a word",
    """
    st.shared.u32 [%r10], %r1;
    st.shared.u8 [%r12+2], 7;
""",
    WAW,
)
clean(
    "two barriers a round",
    """
    mov.u32 %r30, 0;
L:
    st.shared.u32 [%r10], %r30;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    bar.sync 0;
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 4;
    @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "one barrier a round",
    """
    mov.u32 %r30, 0;
L:
    st.shared.u32 [%r10], %r30;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 4;
    @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""",
    RAW,
    WAR,
)
clean(
    "two buffers, one barrier a round",
    """
    mov.u32 %r30, 0;
L:
    and.b32 %r31, %r30, 1;
    shl.b32 %r31, %r31, 11;
    add.u32 %r32, %r10, %r31;
    add.u32 %r33, %r12, %r31;
    st.shared.u32 [%r32], %r30;
    bar.sync 0;
    ld.shared.u32 %r6, [%r33];
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 5;
    @%p9 bra L;
    st.global.u32 [%rd3], %r6;
""",
)
clean(
    "own slot",
    """
    st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [%r10], %r6;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
    ld.global.u32 %r7, [%rd3];
""",
)
clean(
    "global within a block",
    """
    st.global.u32 [%rd3], %r1;
    bar.sync 0;
    xor.b32 %r5, %r1, 33;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r6, [%rd6];
    bar.sync 0;
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "global within a block, no barrier",
    """
    st.global.u32 [%rd3], %r1;
    xor.b32 %r5, %r1, 33;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r6, [%rd6];
""",
    RAW,
)
wrong(
    "a halo of two blocks",
    """
    mul.wide.u32 %rd5, %r2, 4;
    add.u64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r2;
    st.global.u32 [%rd6+4], %r2;
""",
    WAW,
    blocks=2,
    threads=1,
)
wrong(
    "a vector with a hole",
    """
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    st.shared.v2.u32 [%r7], {%r1, %r1};
    st.shared.u32 [%r7+12], %r1;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7];
    st.global.u32 [%rd3], %r6;
""",
    UNWRITTEN,
)
clean(
    "cp.async that fills with zeros",
    """
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5;
    shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
    mov.u32 %r8, 4;
    cp.async.cg.shared.global [%r7], [%rd6], 16, %r8;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7];
    st.global.u32 [%rd3], %r13;
""",
)
wrong(
    "shuffle from a lane in the other branch",
    """
    @%p4 bra A;
    mov.u32 %r6, 5;
    bra B;
A:
    shfl.sync.idx.b32 %r6, %r1, 20, 31, 0xffff;
B:
    st.global.u32 [%rd3], %r6;
""",
    ("synccheck", "shuffle source"),
)
clean(
    "shuffle inside half a warp",
    """
    @%p4 bra A;
    mov.u32 %r6, 5;
    bra B;
A:
    shfl.sync.idx.b32 %r6, %r1, 3, 31, 0xffff;
B:
    st.global.u32 [%rd3], %r6;
""",
)
wrong(
    "ballot with a lane that left",
    """
    setp.gt.u32 %p5, %r21, 29;
    @%p5 bra E;
    vote.sync.ballot.b32 %r6, %p4, -1;
    st.global.u32 [%rd3], %r6;
E:
""",
    ANY_SYNC,
)
wrong(
    "a mask without the lane itself",
    """
    mov.u32 %r7, 0x0000fffe;
    @!%p4 bra E;
    vote.sync.any.pred %p5, %p2, %r7;
    selp.u32 %r6, 1, 0, %p5;
    st.global.u32 [%rd3], %r6;
E:
""",
    ("synccheck", "mask omits lane"),
)
wrong(
    "different barriers",
    """
    st.shared.u32 [%r10], %r1;
    @%p2 bra A;
    bar.sync 1, 32;
    bra B;
A:
    bar.sync 2, 32;
B:
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
wrong(
    "a barrier before, not between",
    """
    bar.sync 0;
    st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r12];
    bar.sync 0;
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
wrong(
    "uneven rounds",
    """
    mov.u32 %r30, 0;
    add.u32 %r31, %r22, 1;
L:
    bar.sync 0;
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, %r31;
    @%p9 bra L;
    bar.sync 0, 64;
    st.global.u32 [%rd3], %r6;
""",
    ANY_SYNC,
)
wrong(
    "wmma store read at once",
    """
    mov.f32 %f1, 0f3F800000;
    @!%p2 bra A;
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};
A:
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
clean(
    "functions and frames",
    """
    call.uni (%r6), twice, (%r1);
    st.global.u32 [%rd3], %r6;
""",
    before=TWICE,
)
clean(
    "128-bit atom exchange word",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    atom.shared.exch.b32 %r6, [flag], %r1;
    bar.sync 0;
    ld.shared.u32 %r7, [flag];
    st.global.u32 [%rd3], %r7;
""",
)
clean(
    "volatile polling of a word of this warp",
    """
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @%p1 st.volatile.shared.u32 [flag], 1;
    bar.warp.sync -1;
    ld.volatile.shared.u32 %r6, [flag];
    st.global.u32 [%rd3], %r6;
""",
)

HALVES = """
    selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync %r7;
    xor.b32 %r5, %r1, {other};
    mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13];
    st.global.u32 [%rd3], %r6;
"""
clean("each half of a warp by itself", HALVES.format(other=9))
wrong("each half by itself, but read from the other", HALVES.format(other=16), RAW)
wrong(
    "one half meets, and reads from the other",
    """
    st.shared.u32 [%r10], %r1;
    @!%p4 bra A;
    bar.warp.sync 0xffff;
A:
    xor.b32 %r5, %r1, 16;
    mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13];
    st.global.u32 [%rd3], %r6;
""",
    RAW,
)
NESTED = """
    and.b32 %r7, %r21, 28;
    mov.u32 %r8, 15;
    shl.b32 %r8, %r8, %r7;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync 0xffffffff;
    st.shared.u32 [%r10], %r3;
    bar.warp.sync %r8;
    xor.b32 %r5, %r1, {other};
    mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13];
    selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4;
    bar.warp.sync %r7;
    st.shared.u32 [%r10], %r6;
"""
clean("tiles of four within halves", NESTED.format(other=3))
wrong("tiles of four, read across", NESTED.format(other=4), RAW)
clean(
    "a shuffle of the lanes that are left",
    """
    setp.gt.u32 %p5, %r21, 19;
    @%p5 bra E;
    st.shared.u32 [%r10], %r1;
    activemask.b32 %r7;
    shfl.sync.idx.b32 %r8, %r1, 0, 31, %r7;
    ld.shared.u32 %r6, [%r11];
    st.global.u32 [%rd3], %r6;
E:
""",
)
CHAIN = """
    st.shared.u32 [%r10], %r1;
    setp.lt.u32 %p5, %r21, 16;
    @!%p5 bra A;
    bar.warp.sync 0x0000ffff;
A:
    setp.lt.u32 %p5, %r21, 8;
    @%p5 bra B;
    setp.gt.u32 %p5, %r21, 23;
    @%p5 bra B;
    bar.warp.sync 0x00ffff00;
    sub.u32 %r5, %r10, 64;
    setp.gt.u32 %p5, %r21, 15;
    @%p5 ld.shared.u32 %r6, [%r5];
B:
    st.global.u32 [%rd3], %r6;
"""
clean("one set of lanes learns of another through a third", CHAIN)


def found(name: str, device: str) -> set[tuple[str, str]]:
    """The checks and kinds that a kernel's findings are of."""
    small = KERNELS[name]
    text = kernel(PROLOGUE + small.body, small.before + SHARED)
    arrays = np.zeros(small.threads * small.blocks + 64, np.uint32), np.arange(4096, dtype=np.uint32)
    try:
        findings = pl.launch(
            text, small.blocks, small.threads, *arrays, device=device, checks=ALL, budget=200_000
        ).findings  # fmt: skip
    except pl.DeviceFault as stopped:
        findings = list(stopped.findings)
    return {(f.check, f.kind) for f in findings}


@pytest.mark.parametrize("device", [
    "step", pytest.param("cpu", marks=[pytest.mark.slow, pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite")])
])  # fmt: skip
@pytest.mark.parametrize("name", KERNELS)
def test_small_kernel(name: str, device: str) -> None:
    seen, wanted = found(name, device), KERNELS[name].finds
    if wanted:
        assert any(check == c and kind in ("", k) for check, kind in wanted for c, k in seen), seen
    else:
        assert seen == set()
