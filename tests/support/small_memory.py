"""Small kernels with accesses of every width and kind of address, with copies, and with words that threads wait for.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import RAW, WAR, WAW, Kernels

MEMORY = Kernels()
clean, wrong = MEMORY.clean, MEMORY.wrong

# fmt: off
# -- accesses ----------------------------------------------------------------------------------------------------------

wrong("vectors that overlap", WAW, body="""
    shl.b32 %r7, %r1, 3; add.u32 %r7, %r7, %r20; and.b32 %r8, %r1, 1; setp.eq.u32 %p5, %r8, 0;
    st.shared.v2.u32 [%r7], {%r1, %r1};
    @%p5 st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};""")
clean("bytes side by side", body="""
    add.u32 %r7, %r20, %r1;
    st.shared.u8 [%r7], %r1;
    bar.sync 0;
    shl.b32 %r8, %r21, 1; and.b32 %r8, %r8, 60; add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8]; st.global.u32 [%rd3], %r6;""")
wrong("a byte of a word", WAW, body="""
    st.shared.u32 [%r10], %r1;
    st.shared.u8 [%r12+2], 7;""")
wrong("generic store, shared load", RAW, body="""
    cvt.u64.u32 %rd5, %r10; cvta.shared.u64 %rd6, %rd5;
    st.u32 [%rd6], %r1;
    ld.shared.u32 %r6, [%r12];
    st.u32 [%rd3], %r6;""")
wrong("wmma store read at once", RAW, body="""
    mov.f32 %f1, 0f3F800000; @!%p2 bra A;
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};
A: ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
wrong("a halo of two blocks", WAW, blocks=2, threads=1, body="""
    mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r2;
    st.global.u32 [%rd6+4], %r2;""")

# -- locks, flags, counters and other atomics --------------------------------------------------------------------------

def locked(take: str, give: str, *, fence: str = "") -> str:
    """The first lane of each warp counts in tile[0] under a lock: it has it when `take` puts 0 into %r7."""
    return f"""
    mov.u32 %r30, 0;
    @%p1 st.shared.u32 [flag], 0;
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    setp.ne.u32 %p5, %r21, 0; @%p5 bra E;
A:
    {take}
    setp.ne.u32 %p5, %r7, 0; @%p5 bra A;
    {fence}
    ld.shared.u32 %r6, [tile];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6;
    {fence}
    {give}
E: bar.sync 0;
    ld.shared.u32 %r6, [tile]; st.global.u32 [%rd3], %r6;
"""


def announced(store: str, load: str, *, fence: str = "") -> str:
    """Warp 0 stores its elements and then, by `store`, the flag; warp 1 sees it by `load` and reads the elements."""
    return f"""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @!%p2 bra W;
    st.shared.u32 [%r10], %r1;
    bar.warp.sync -1;
    {fence}
    @%p1 {store}
    bra E;
W:
    {load}
    setp.eq.u32 %p5, %r7, 0; @%p5 bra W;
    {fence}
    ld.shared.u32 %r6, [%r12]; st.global.u32 [%rd3], %r6;
E:
"""


clean("lock with fences", body=locked(
    "atom.shared.cas.b32 %r7, [flag], 0, 1;", "atom.shared.exch.b32 %r7, [flag], 0;", fence="membar.cta;"))

clean("lock acquire release", body=locked(
    "atom.acquire.cta.shared.cas.b32 %r7, [flag], 0, 1;", "st.release.cta.shared.u32 [flag], 0;"))

wrong("lock without fence", RAW, WAR, WAW, body=locked(
    "atom.shared.cas.b32 %r7, [flag], 0, 1;", "atom.shared.exch.b32 %r7, [flag], 0;"))

wrong("lock taken without fence", RAW, WAR, WAW, body=locked(
    "atom.shared.cas.b32 %r7, [flag], 0, 1;", "membar.cta;\n    atom.shared.exch.b32 %r7, [flag], 0;"))

clean("lock with a fence behind the loop", body=locked(
    "atom.relaxed.cta.shared.cas.b32 %r7, [flag], 0, 1;", "st.relaxed.cta.shared.u32 [flag], 0;",
    fence="fence.acq_rel.cta;"))

clean("release acquire", body=announced(
    "st.release.cta.shared.u32 [flag], 1;", "ld.acquire.cta.shared.u32 %r7, [flag];"))

clean("relaxed with fences", body=announced(
    "st.relaxed.cta.shared.u32 [flag], 1;", "ld.relaxed.cta.shared.u32 %r7, [flag];", fence="fence.acq_rel.cta;"))

clean("red and atom flag", body=announced(
    "red.shared.add.u32 [flag], 1;", "ld.relaxed.cta.shared.u32 %r7, [flag];", fence="fence.acq_rel.cta;"))

wrong("relaxed flag, no fence", RAW, body=announced(
    "st.relaxed.cta.shared.u32 [flag], 1;", "ld.relaxed.cta.shared.u32 %r7, [flag];"))

clean("counter of arrivals", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    st.shared.u32 [%r10], %r1;
    atom.release.cta.shared.add.u32 %r7, [flag], 1;
W: ld.acquire.cta.shared.u32 %r7, [flag];
    setp.lt.u32 %p5, %r7, 64; @%p5 bra W;
    ld.shared.u32 %r6, [%r12]; st.global.u32 [%rd3], %r6;""")
clean("volatile polling of a word of this warp", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @%p1 st.volatile.shared.u32 [flag], 1;
    bar.warp.sync -1;
    ld.volatile.shared.u32 %r6, [flag]; st.global.u32 [%rd3], %r6;""")
wrong("atomic, then a plain write", WAW, body="""
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    atom.shared.add.u32 %r7, [tile], 1;
    @%p1 st.shared.u32 [tile], 9;""")
clean("all say the same", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    st.shared.u32 [flag], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [flag]; st.global.u32 [%rd3], %r6;""")
clean("bits of a word that nobody writes whole", body="""
    shl.b32 %r7, 1, %r22; not.b32 %r8, %r7;
    @%p3 red.shared.and.b32 [flag], %r8;
    bar.sync 0;
    @%p3 red.release.cta.shared.or.b32 [flag], %r7;
W: ld.acquire.cta.shared.u32 %r6, [flag];
    and.b32 %r6, %r6, 3; setp.ne.u32 %p5, %r6, 3; @%p5 bra W; st.global.u32 [%rd3], %r6;""")

# -- asynchronous copies -----------------------------------------------------------------------------------------------

PLACES = """
    mul.wide.u32 %rd5, %r1, 16; add.u64 %rd6, %rd2, %rd5; shl.b32 %r7, %r1, 4;
    add.u32 %r7, %r7, %r20;
"""
"""%rd6 and %r7 are the 16 bytes of this thread in x and in the tile."""

clean("cp.async, first group", body=PLACES + """
    cp.async.cg.shared.global [%r7], [%rd6], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r7+1024], [%rd6], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7+0]; st.global.u32 [%rd3], %r6;
    cp.async.wait_all;""")
clean("cp.async that fills with zeros", body=PLACES + """
    mov.u32 %r8, 4;
    cp.async.cg.shared.global [%r7], [%rd6], 16, %r8;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r6, %r8, %r9, %r13}, [%r7]; st.global.u32 [%rd3], %r13;""")
