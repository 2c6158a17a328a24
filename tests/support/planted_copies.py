"""Planted reads of asynchronous copies that have not come yet, in the notation of `planted_bug.py`."""

from __future__ import annotations

from typing import Any

from planted_bug import TILE, Planted

COPIES = Planted("copy", "synccheck")
OWN = """
    mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd2, %rd6;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
"""
"""Each thread copies its element of x into its element of the tile."""


def bug(name: str, *, body: str, **options: Any) -> None:
    """What is done to the target of a copy that is still in flight."""
    COPIES.add(name, "asynchronous copy", body=body, **options)


# fmt: off
LATE = Planted("late copy", "racecheck", before=".shared .align 16 .b8 tile[4096];")
LATE.add("a store of what is there before the copy comes", "WAW", body="""
    st.shared.u32 [%r10], 7;
    bar.sync 0;
    @%p2 cp.async.ca.shared.global [%r10], [%rd2], 4; //2
    @%p2 cp.async.wait_all;
    + bar.sync 0;
    @!%p2 st.shared.u32 [%r12], 7; //1
    bar.sync 0;
    st.global.u32 [%rd3], %r1;""")


def flight(name: str, *, between: str, behind: str = "", kind: str = "asynchronous copy", **options: Any) -> None:
    """Threads copy from `out`, which they may write to as well, and read what came. %rd13: another warp's source."""
    COPIES.add(name, kind, **options, body=f"""
    xor.b32 %r30, %r1, 32; mul.wide.u32 %rd6, %r30, 4; add.u64 %rd13, %rd1, %rd6;
    cp.async.ca.shared.global [%r10], [%rd11], 4; //2
    cp.async.commit_group;
    {between}
    cp.async.wait_group 0;
    {behind}
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3+256], %r6;""")


WAIT = "+ cp.async.wait_group 0;"
flight("the source is overwritten", between=f"{WAIT}\n    st.global.u32 [%rd11], 7; //1", blocks=1)
flight("the source is overwritten by another warp, behind a barrier", between=f"""{WAIT}
    bar.sync 0;
    st.global.u32 [%rd13], 7; //1""")
flight("the source is changed by an atomic operation", between=f"{WAIT}\n    red.global.add.u32 [%rd11], 7; //1")
flight("one of two groups is waited for, and its successor's source overwritten", between="""
    cp.async.ca.shared.global [%r10+256], [%rd2], 4;
    cp.async.commit_group;
    - cp.async.wait_group 2;
    + cp.async.wait_group 1;
    st.global.u32 [%rd11], 7; //1""")
flight("a second copy to the same place", between=f"""{WAIT}
    cp.async.ca.shared.global [%r10], [%rd13], 4; //1
    cp.async.commit_group;""")
flight("in the second block that runs", blocks=2, between=f"""{WAIT}
    red.shared.add.u32 [%r10], 1; //1""")
flight("one lane in two waits for its group", between="""
    and.b32 %r31, %r1, 1; setp.eq.u32 %p9, %r31, 0;
    - @%p9 cp.async.wait_group 0;
    + cp.async.wait_group 0;
    bar.sync 0;
    st.global.u32 [%rd13], 7; //1""")
LATE.add("the barrier stands in front of the wait", "RAW|WAR", body=OWN + """
    cp.async.commit_group;
    - bar.sync 0;
    cp.async.wait_group 0;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
LATE.add("lanes meet in front of the wait", "RAW|WAR", threads=32, body=OWN.replace("%r10", "%r11") + """
    cp.async.commit_group;
    - bar.warp.sync -1;
    cp.async.wait_all;
    + bar.warp.sync -1;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
GATE = ".shared .align 8 .b64 gate;" + TILE
LATE.add("arrives in front of the wait", "RAW|WAR", target="sm_90", before=GATE, body="""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 32;
    bar.sync 0;
    @!%p2 bra READ;
""" + OWN + """
    cp.async.commit_group;
    - mbarrier.arrive.shared::cta.b64 _, [gate];
    cp.async.wait_group 0;
    + mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
READ: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra READ;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END: bar.warp.sync -1;""")
LATE.add("raises a flag in front of the wait", "RAW|WAR", threads=64, body="""
    @%p1 st.shared.u32 [%r20+2048], 0;
    bar.sync 0;
    @!%p2 bra READ;
    """ + OWN + """
    cp.async.commit_group;
    - membar.cta; bar.warp.sync -1;
    - @%p1 st.volatile.shared.u32 [%r20+2048], 1;
    cp.async.wait_group 0;
    + membar.cta; bar.warp.sync -1;
    + @%p1 st.volatile.shared.u32 [%r20+2048], 1;
    bra END;
READ: ld.volatile.shared.u32 %r7, [%r20+2048];
    setp.eq.u32 %p9, %r7, 0; @%p9 bra READ;
    membar.cta;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END: bar.warp.sync -1;""")
bug("read before any wait", threads=32, body=OWN + """
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("committed and not waited for", threads=32, body=OWN + """
    cp.async.commit_group;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("waits for all groups but the one that is read", threads=32, body=OWN + """
    cp.async.commit_group;
    - cp.async.wait_group 1;
    + cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("waits for groups, and has committed none", threads=32, body=OWN + """
    + cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a barrier instead of a wait", body=OWN + """
    + cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("16 bytes, their last word", threads=32, body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    + cp.async.wait_all;
    ld.shared.u32 %r6, [%r13+12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a matrix loaded while it is copied", threads=32, body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd2], 16; //2
    cp.async.commit_group;
    + cp.async.wait_group 0;
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r15;""")
bug("overwritten before it has come", body="""
    mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
    + cp.async.wait_all;
    st.shared.u32 [%r10], 5; //1
    - cp.async.wait_all;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;""")
bug("the second of two groups", threads=32, body="""
    mul.wide.u32 %rd6, %r1, 16; add.u64 %rd6, %rd2, %rd6; mad.lo.u32 %r13, %r1, 16, %r20;
    cp.async.cg.shared.global [%r13], [%rd6], 16; //2
    cp.async.commit_group;
    cp.async.cg.shared.global [%r13+1024], [%rd6], 16;
    cp.async.commit_group;
    - cp.async.wait_group 2;
    + cp.async.wait_group 1;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r14}, [%r13]; //1
    st.global.u32 [%rd3], %r6;
    cp.async.wait_all;""")
bug("zeros that a copy fills in", threads=32, body="""
    mul.wide.u32 %rd6, %r1, 16; add.u64 %rd6, %rd2, %rd6; mad.lo.u32 %r13, %r1, 16, %r20; mov.u32 %r8, 4;
    cp.async.cg.shared.global [%r13], [%rd6], 16, %r8; //2
    + cp.async.wait_all;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r14}, [%r13]; //1
    st.global.u32 [%rd3], %r14;""")
GENERIC = """
    mov.u64 %rd7, tile; cvta.shared.u64 %rd7, %rd7; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd8, %rd7, %rd5;
    mul.wide.u32 %rd9, %r1, 60; and.b64 %rd9, %rd9, 124; add.u64 %rd9, %rd7, %rd9; selp.b64 %rd10, %rd8, %rd3, %p4;
"""
for _name, _access in {
    "one place": "ld.u32 %r6, [%rd7];", "in a row": "ld.u32 %r6, [%rd8];", "anywhere": "ld.u32 %r6, [%rd9];",
    "two spaces": "ld.u32 %r6, [%rd10];", "a store": "st.u32 [%rd8], %r1;",
}.items():
    bug(f"generic addresses, {_name}", threads=32, body=f"""{OWN}
    + cp.async.wait_all;
    + bar.warp.sync -1;
    {GENERIC}
    {_access} //1
    st.global.u32 [%rd3], %r1;""")

for _name, _space, _base in (("shared memory", ".shared", "%r20"), ("a generic address", "", "%rd7")):
    bug(f"a tile loaded by wmma while it is copied, {_name}", threads=32, body=f"""
    cvt.u64.u32 %rd7, %r20; cvta.shared.u64 %rd7, %rd7; mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd2, %rd5; shl.b32 %r7, %r1, 4; add.u32 %r7, %r7, %r20;
    cp.async.cg.shared.global [%r7], [%rd6], 16; //2
    + cp.async.wait_all;
    bar.warp.sync -1;
    wmma.load.a.sync.aligned.row.m16n16k16{_space}.f16 {{%r6, %r8, %r9, %r13, %r14, %r15, %r16, %r17}}, [{_base}]; //1
    cp.async.wait_all;
    st.global.u32 [%rd3], %r6;""")
