"""Planted races of bulk copies, and copies past an array, in the notation of `planted_mbarriers.py`."""

from __future__ import annotations

from typing import Any

from planted_bug import Bug, Planted
from planted_bulk import ARRIVE, LOAD, REDUCE, STORE, TO_PEER
from planted_mbarriers import GATES, MEET, PEER, made, wait
from planted_proxy import NO_FENCE

RACES = Planted("bulk race", "racecheck", **GATES)
ARRAYS = Planted("bulk array", "initcheck", **GATES)
race = RACES.add

# fmt: off
# -- races with copies -------------------------------------------------------------------------------------------------

race("another warp reads and has not waited", "RAW|WAR", body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
    - selp.u32 %r30, 1, 400, %p2;
    - LATER: sub.u32 %r30, %r30, 1;
    - setp.ne.u32 %p9, %r30, 0;
    - @%p9 bra LATER;
    - @!%p2 bra READ;
{wait("WAIT")}
READ: ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
race("sent before all have stored", "RAW|WAR", body=f"""
    st.shared.u32 [%r10], %r1; //2
    fence.proxy.async.shared::cta;
    + bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 256; //1
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;""")
race("another warp does not know that the copy was waited for", "WAR|RAW", body=f"""
    @%p2 st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 128; //2
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;
    + bar.sync 0;
    @!%p2 st.shared.u32 [%r12], %r1; //1""")
race("a stage is given back before it was read", "WAR|RAW|WAW", body=made(1, 32) + f"""
    mov.u32 %r30, 0;
ROUND: and.b32 %r31, %r30, 1; xor.b32 %r32, %r31, 1; @!%p6 bra CONSUME;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], %r32;
    @!%p8 bra EMPTY;
    {ARRIVE} [gate], 256;
    {LOAD} [%r20], [%rd2], 256, [gate]; //1
CONSUME: @%p2 bra NEXT;
{wait("FULL", parity="%r31")}
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
    ld.shared.u32 %r6, [%r12]; //2
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;""")
race("a copy into the other block, which has not given its stage back", "WAR|RAW", blocks=2, cluster=2,
    body=made(1) + PEER + f"""
    @%p6 {ARRIVE} [gate], 256;
    st.shared.u32 [%r10], %r1;
    st.shared.u32 [%r10+1024], %r1;
    fence.proxy.async.shared::cta;
{MEET}
    ld.shared.u32 %r6, [%r12+1024]; //2
    + barrier.cluster.arrive;
    + barrier.cluster.wait;
    add.u32 %r38, %r35, 1024;
    @%p6 {TO_PEER} [%r38], [%r20], 256, [%r37]; //1
{wait("WAIT")}
    ld.shared.u32 %r6, [%r10+1024];
    st.global.u32 [%rd3], %r6;
{MEET}""")

# -- what a copy releases ----------------------------------------------------------------------------------------------


def behind(name: str, kind: str = "RAW|WAR", *, late: str, reader: str, before: str = "", copy: str = "",
           **options: Any) -> None:
    """Thread 0 brings a tile, and does something behind that (`late`) which warp 1, who waits for the tile, relies on:
    the copy may be there before."""
    race(name, kind, **{"threads": 64} | options, body=made(1, 32) + f"""
    {before}
    @!%p6 bra WAIT;
    {ARRIVE} [gate], 256;
    + {late}
    {copy or f"{LOAD} [%r20], [%rd2], 256, [gate];"}
    - {late}
{wait("WAIT")}
    {reader}
    @%p7 st.global.u32 [%rd3], %r6;""")


READ_LATE = "@%p7 ld.shared.u32 %r6, [%r20+1024]; //1"
behind("a store behind the copy", late="st.shared.u32 [%r20+1024], 7; //2", reader=READ_LATE)
behind("an atomic operation behind the copy", before="@%p6 st.shared.u32 [%r20+1024], 0;",
       late="atom.shared.add.u32 %r6, [%r20+1024], 7; //2", reader=READ_LATE)
behind("a store to global memory behind the copy", late="st.global.u32 [%rd1+256], 7; //2",
       reader="@%p7 ld.global.u32 %r6, [%rd1+256]; //1")
behind("read behind the copy, overwritten by who has waited", "WAR|RAW", before="@%p6 st.shared.u32 [%r20+1024], 0;",
       late="ld.shared.u32 %r7, [%r20+1024]; //2",
       reader="mov.u32 %r6, 7; @%p7 st.shared.u32 [%r20+1024], 7; //1")
race("a store between two copies, and the wait is for the first", "RAW|WAR", body=made(1, 1) + f"""
    @!%p6 bra WAIT;
    {ARRIVE} [gate], 256;
    {LOAD} [%r20], [%rd2], 256, [gate];
    st.shared.u32 [%r20+1024], 7; //2
    {ARRIVE} [gate+8], 256;
    {LOAD} [%r20+256], [%rd2], 256, [gate+8];
{wait("WAIT")}
    + {wait("NEXT", 1)}
    {READ_LATE}
    @%p7 st.global.u32 [%rd3], %r6;""")
behind("what another warp has told its thread behind the copy", threads=96, before="""
    setp.lt.u32 %p9, %r1, 64; @%p9 bra GO;
    st.shared.u32 [%r20+1024], 7; //2
    mbarrier.arrive.shared::cta.b64 _, [gate+8];
    bra WAIT;
GO:""", late="TOLD: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0; @!%p8 bra TOLD;", reader=READ_LATE)
race("one warp waits for the copy and tells nobody", "RAW|WAR", threads=96, body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
    bar.sync 0;
    @%p2 bra END;
    setp.ge.u32 %p9, %r1, 64; @%p9 bra READ;
{wait("WAIT")}
READ:
    + bar.sync 1, 64;
    ld.shared.u32 %r6, [%r20]; //1
    st.global.u32 [%rd3], %r6;
END: bar.warp.sync -1;""")

# -- copies and global memory ------------------------------------------------------------------------------------------

FROM_GLOBAL = Bug("synccheck", NO_FENCE, **GATES, body=made(1) + f"""
    st.global.u32 [%rd11], %r1; //2
    + fence.proxy.async;
    bar.sync 0;
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd1], 256, [gate]; //1
{wait("WAIT")}""")
"""Found with racecheck, which knows who has stored to global memory."""
race("a copy of what another warp stores to global memory", "RAW|WAR", body=made(1) + f"""
    st.global.u32 [%rd11], %r1; //2
    fence.proxy.async;
    + bar.sync 0;
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd1], 256, [gate]; //1
{wait("WAIT")}""")
race("two blocks send to one place", "WAW", blocks=2, one_line=True, body=f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mul.wide.u32 %rd20, %r2, 256;
    - mov.u64 %rd20, 0;
    add.u64 %rd20, %rd20, %rd1;
    @%p1 {STORE} [%rd20], [%r20], 256; //1
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;""")

# -- arrays ------------------------------------------------------------------------------------------------------------

NEXT = ".shared .align 128 .b8 next[256]; .shared .align 16 .b8 third[256];" + GATES["before"]
UNWRITTEN, OVERRUN = "uninitialised read", "array overrun"


def past(name: str, *, bug: str, right: str, **options: Any) -> None:
    """Bytes that come to, or go from, `next` or `third`, which 64 threads have filled."""
    wanted = options.pop("kind", OVERRUN)
    waits = wait("WAIT") if "mbarrier" in bug else "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    ARRAYS.add(name, wanted, **{"before": NEXT} | options, body=made(1) + f"""
    mov.u32 %r30, next; mad.lo.u32 %r31, %r1, 4, %r30; st.shared.u32 [%r31], %r1;
    mov.u32 %r32, third; mad.lo.u32 %r33, %r1, 4, %r32; st.shared.u32 [%r33], %r1;
    add.u32 %r34, %r30, 128; add.u32 %r35, %r32, -16;
    fence.proxy.async;
    bar.sync 0;
    @!%p6 bra BEHIND;
    - {bug} //1
    + {right}
{waits}
BEHIND: bar.sync 0;""")


EXPECT = f"{ARRIVE} [gate], 256; {LOAD}"
past("a copy of more than the array", bug=EXPECT.replace("256", "512") + " [%r30], [%rd2], 512, [gate];",
     right=EXPECT + " [%r30], [%rd2], 256, [gate];")
past("a copy to the middle of the array", bug=EXPECT + " [%r34], [%rd2], 256, [gate];",
     right=EXPECT + " [%r30], [%rd2], 256, [gate];")
past("a copy to the bytes before an array", bug=EXPECT + " [%r35], [%rd2], 256, [gate];",
     right=EXPECT + " [%r32], [%rd2], 256, [gate];")
past("more than the array is stored", bug=f"{STORE} [%rd1], [%r30], 272;", right=f"{STORE} [%rd1], [%r30], 256;")
past("a store begins in the middle of the array", bug=f"{STORE} [%rd1], [%r34], 256;",
     right=f"{STORE} [%rd1], [%r30], 256;")
past("more than the array is added", bug=f"{REDUCE} [%rd1], [%r34], 256;", right=f"{REDUCE} [%rd1], [%r30], 256;")
past("a copy of more than the array, and dynamic memory", shared=512, right=EXPECT + " [%r30], [%rd2], 256, [gate];",
     bug=EXPECT.replace("256", "384") + " [%r30], [%rd2], 384, [gate];",
     before=NEXT + " .extern .shared .align 16 .b8 more[];")


def unwritten(name: str, *, stores: str, copy: str = f"{STORE} [%rd1], [%r20], 256;", **options: Any) -> None:
    """A copy leaves a tile of which not all has been written."""
    ARRAYS.add(name, UNWRITTEN, **options, body=f"""
    {stores}
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p1 bra BEHIND;
    {copy} //1
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
BEHIND: bar.sync 0;""")


unwritten("nobody has stored", stores="+ st.shared.u32 [%r10], %r1;")
unwritten("half of the threads have stored", stores="- @%p2 st.shared.u32 [%r10], 1;\n    + st.shared.u32 [%r10], 1;")
unwritten("the last thread has not stored", stores="""
    setp.lt.u32 %p9, %r1, 63;
    - @%p9 st.shared.u32 [%r10], %r1;
    + st.shared.u32 [%r10], %r1;""")
unwritten("half of a word is missing", stores="- st.shared.u16 [%r10], %r1;\n    + st.shared.u32 [%r10], %r1;")
unwritten("more is sent than was stored", stores="""st.shared.u32 [%r10], %r1;
    + st.shared.u32 [%r10+256], %r1;""", copy=f"{STORE} [%rd1], [%r20], 272;")
unwritten("a sum of what nobody has stored", stores="+ st.shared.u32 [%r10], %r1;",
    copy=f"{REDUCE} [%rd1], [%r20], 256;")

# -- a scope that does not reach the other block -----------------------------------------------------------------------

ARRIVES, WAITS = "mbarrier.arrive.release.{}.shared::cluster.b64 _, [%r37];", "mbarrier.try_wait.parity.acquire.{}"
READ = ".shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT; ld.shared::cluster.u32 %r6, [%r38];"
for scope in ("arrive", "wait"):
    arrives, waits = ("cta", "cluster") if scope == "arrive" else ("cluster", "cta")
    RACES.add(f"the scope of the {scope} is the block", "RAW|WAR|WAW", cluster=2, blocks=2, threads=32, body=f"""
    mov.u32 %r6, 0;
    @%p1 mbarrier.init.shared::cta.b64 [gate], 32;
    @%p1 fence.mbarrier_init.release.cluster;
{MEET}{PEER}
    mapa.shared::cluster.u32 %r38, %r10, %r34; @%p5 bra WAIT;
    st.shared.u32 [%r10], %r1;
    - {ARRIVES.format(arrives)} //2
    + {ARRIVES.format("cluster")}
    bra DONE;
WAIT:
    - {WAITS.format(waits)}{READ} //1
    + {WAITS.format("cluster")}{READ}
DONE:
{MEET}
    st.global.u32 [%rd3], %r6;""")
