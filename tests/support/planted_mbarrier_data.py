"""Planted bugs with what mbarriers guard, copies and plain data, in the notation of `planted_mbarriers.py`."""

from __future__ import annotations

from typing import Any

from planted_bug import Planted
from planted_mbarriers import GATES, MEET, PEER, made, wait

MBARRIER_COPIES = Planted("mbarrier", "synccheck", **GATES)
MBARRIER_RACES = Planted("mbarrier", "racecheck", **GATES)
race = MBARRIER_RACES.add


def copied(name: str, *, body: str, **options: Any) -> None:
    """A copy that is used before it has come."""
    MBARRIER_COPIES.add(name, "asynchronous copy", body=body, **options)


# fmt: off
copied("a copy is read without waiting for its mbarrier", body=made(64) + """
    mul.wide.u32 %rd20, %r1, 4; add.u64 %rd20, %rd2, %rd20;
    cp.async.ca.shared.global [%r10], [%rd20], 4; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT:
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
copied("a copy is read before its second phase", body=made(64) + """
    mul.wide.u32 %rd20, %r1, 4; add.u64 %rd20, %rd2, %rd20;
    cp.async.ca.shared.global [%r10], [%rd20], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r7, [%r10];
    cp.async.ca.shared.global [%r10+2048], [%rd20+4], 4; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
    + AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1;
    + @!%p8 bra AGAIN;
    ld.shared.u32 %r6, [%r10+2048]; //1
    st.global.u32 [%rd3], %r6;""")
copied("a copy is loaded as a matrix without waiting", threads=32, body=made(32) + """
    mov.u32 %r30, 0; shl.b32 %r31, %r1, 4; add.u32 %r31, %r31, %r20; mul.wide.u32 %rd20, %r1, 4;
    shl.b64 %rd20, %rd20, 2; add.u64 %rd20, %rd2, %rd20;
    cp.async.cg.shared.global [%r31], [%rd20], 16; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT:
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r30;
    + @!%p8 bra WAIT;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r31]; //1
    st.global.u32 [%rd3], %r6;""")
race("nobody waits for the data", "RAW|WAR", body=made(32) + """
    @!%p2 bra READ;
    st.shared.u32 [%r10], %r1; //2
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
READ:
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("arrives before it has written", "RAW|WAR", body=made(32) + """
    @!%p2 bra READ;
    - mbarrier.arrive.shared::cta.b64 _, [gate];
    st.shared.u32 [%r10], %r1; //2
    + mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
READ: WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("waits for the phase before the first", "WAR|RAW", body=made(32) + """
    @%p2 bra READ;
    st.shared.u32 [%r10], %r1; //2
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
READ:
    - WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1;
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("waits for another mbarrier", "RAW|WAR", body=made(32, 32) + """
    @!%p2 bra READ;
    mbarrier.arrive.shared::cta.b64 _, [gate+8];
    st.shared.u32 [%r10], %r1; //2
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
READ:
    - WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0;
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("overwritten before the readers arrive", "WAR|RAW", body=made(32, 32) + """
    @!%p2 bra READ;
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 _, [gate];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0;
    @!%p8 bra WAIT;
    st.shared.u32 [%r10], 7; //1
    bra END;
READ: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra READ;
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
    ld.shared.u32 %r6, [%r12]; //2
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
    st.global.u32 [%rd3], %r6;
END:""")
race("used by a warp that has not seen it made", "RAW|WAW|WAR", body="""
    setp.eq.u32 %p6, %r1, 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //2
    + bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    st.global.u32 [%rd3], %r1;""")

# -- relaxed arrivals release what a fence before them covers ----------------------------------------------------------

RELAXED, RELEASED = (f"mbarrier.arrive{order}.shared::cta.b64 _, [gate];" for order in (".relaxed.cta", ""))
for name, arrives in {
    "without a fence": f"+ fence.acq_rel.cta;\n    {RELAXED}",
    "in place of a release": f"- {RELAXED}\n    + {RELEASED}",
    "behind a barrier, which is no fence": f"+ fence.acq_rel.cta;\n    bar.sync 1, 64;\n    {RELAXED}",
    "of one thread, which has to fence": f"bar.sync 1, 64;\n    + fence.acq_rel.cta;\n    @%p6 {RELAXED}",
    "without bytes to wait for": f"""bar.sync 1, 64;
    @%p6 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [gate], 16;
    - @%p6 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [gate], 16;
    - @%p6 {RELAXED}
    + @%p6 {RELEASED}
    + @%p6 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [gate], 16;""",
}.items():
    race(f"a relaxed arrival {name}", "RAW|WAR", threads=96, body=made(1 if "@%p6" in arrives else 64) + f"""
    setp.ge.u32 %p9, %r1, 64; @%p9 bra READ;
    st.shared.u32 [%r10], %r1; //2
    {arrives}
    bra END;
READ: {wait("WAIT")}
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("a relaxed wait without a fence behind it", "RAW|WAR", body=made(32) + f"""
    @!%p2 bra READ;
    st.shared.u32 [%r10], %r1; //2
    {RELEASED}
    bra END;
READ: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p8, [gate], 0; @!%p8 bra READ;
    + fence.acq_rel.cta;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
race("a relaxed arrival at another block", "RAW|WAR", blocks=2, cluster=2, threads=32, body=f"""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 32;
    @%p1 fence.mbarrier_init.release.cluster;
{MEET}{PEER}
    mapa.shared::cluster.u32 %r38, %r10, %r34; @%p5 bra WAIT;
    st.shared.u32 [%r10], %r1; //2
    + fence.acq_rel.cluster;
    mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r37];
    bra DONE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT;
    ld.shared::cluster.u32 %r6, [%r38]; //1
DONE:
{MEET}
    st.global.u32 [%rd3], %r1;""")

# -- some lanes of a warp release what they have done themselves, and what their warp did before it synchronized -------

SYNC, OWN = "+ bar.warp.sync -1;", "@%p3 st.shared.u32 [%r20+2048], %r1;"
STORED, FLAG = "st.shared.u32 [%r10], %r1; //2", "ld.acquire.cta.shared.u32 %r7, [%r20+1024];"
for name, (count, releases) in {
    "one lane arrives": (1, f"{SYNC}\n    {OWN}\n    @%p3 {RELEASED}"),
    "half of the lanes arrive": (16, f"{SYNC}\n    {OWN}\n    @%p4 {RELEASED}"),
    "half of the lanes synchronize": (1, f"""
    - @%p4 bar.warp.sync 0xffff;
    {SYNC}
    {OWN}
    @%p3 {RELEASED}"""),
    "one lane arrives, relaxed": (1, f"{SYNC}\n    {OWN}\n    fence.acq_rel.cta;\n    @%p3 {RELAXED}"),
    "one lane arrives twice": (2, f"{SYNC}\n    {OWN}\n    @%p3 {RELEASED}\n    @%p3 {RELEASED}"),
}.items():
    race(f"{name} for all", "RAW", body=made(count) + f"""
    @!%p2 bra READ;
    {STORED}
    {releases}
    bra END;
READ: {wait("WAIT")}
    ld.shared.u32 %r6, [%r12]; //1
    ld.shared.u32 %r7, [%r20+2048];
    st.global.u32 [%rd3], %r6;
END:""")
AT_PEER, FENCED = (
    f"mbarrier.arrive.{order}.cluster.shared::cluster.b64 _, [%r37];" for order in ("release", "relaxed")
)
for name, (count, releases) in {
    "one lane arrives": (1, f"@%p3 {AT_PEER}"),
    "half of the lanes arrive": (16, f"@%p4 {AT_PEER}"),
    "one lane arrives, relaxed": (1, f"fence.acq_rel.cluster;\n    @%p3 {FENCED}"),
    "one lane arrives twice": (2, f"@%p3 {AT_PEER}\n    @%p3 {AT_PEER}"),
}.items():
    race(f"{name} at another block for all", "RAW", blocks=2, cluster=2, threads=32, body=f"""
    @%p1 mbarrier.init.shared::cta.b64 [gate], {count};
    @%p1 fence.mbarrier_init.release.cluster;
{MEET}{PEER}
    mapa.shared::cluster.u32 %r38, %r11, %r34; @%p5 bra WAIT;
    {STORED}
    {SYNC}
    {OWN}
    {releases}
    bra DONE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT;
    ld.shared::cluster.u32 %r6, [%r38]; //1
    mapa.shared::cluster.u32 %r38, %r20, %r34; ld.shared::cluster.u32 %r7, [%r38+2048];
DONE:
{MEET}
    st.global.u32 [%rd3], %r1;""")
for name, releases in {
    "sets a flag": "@%p3 st.release.cta.shared.u32 [%r20+1024], 1;",
    "sets a flag behind a fence of all": """fence.acq_rel.cta;
    @%p3 red.relaxed.cta.shared.add.u32 [%r20+1024], 1;""",
}.items():
    race(f"one lane {name} for all", "RAW", body=f"""
    @%p1 st.shared.u32 [%r20+1024], 0;
    bar.sync 0;
    @!%p2 bra READ;
    {STORED}
    {SYNC}
    {OWN}
    {releases}
    bra END;
READ: {FLAG}
    setp.eq.u32 %p8, %r7, 0; @%p8 bra READ;
    ld.shared.u32 %r6, [%r12]; //1
    ld.shared.u32 %r7, [%r20+2048];
    st.global.u32 [%rd3], %r6;
END:""")
race("one lane frees what all have read", "WAR", body=made(32, 1) + f"""
    @!%p2 bra READ;
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 _, [gate];
    {wait("FREE", 1)}
    st.shared.u32 [%r10], 7; //1
    bra END;
READ: {wait("WAIT")}
    ld.shared.u32 %r6, [%r12]; //2
    {SYNC}
    @%p3 mbarrier.arrive.shared::cta.b64 _, [gate+8];
    st.global.u32 [%rd3], %r6;
END:""")
