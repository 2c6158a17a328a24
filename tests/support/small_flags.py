"""Small kernels in which threads wait for words in memory: locks, flags, counters and other atomics.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import RAW, WAR, WAW, Kernels

FLAGS = Kernels()
clean, wrong = FLAGS.clean, FLAGS.wrong


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


# fmt: off
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

clean("volatile flag", body=announced(
    "st.volatile.shared.u32 [flag], 1;", "ld.volatile.shared.u32 %r7, [flag];", fence="membar.cta;"))

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
    ld.shared.u32 %r6, [%r12]; st.global.u32 [%rd3], %r6;
""")
clean("volatile polling of a word of this warp", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    @%p1 st.volatile.shared.u32 [flag], 1;
    bar.warp.sync -1;
    ld.volatile.shared.u32 %r6, [flag]; st.global.u32 [%rd3], %r6;
""")
clean("histogram", body="""
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    and.b32 %r7, %r1, 7; mad.lo.u32 %r7, %r7, 4, %r20;
    atom.shared.add.u32 %r8, [%r7], 1;
    red.shared.add.u32 [%r7+4], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r10]; st.global.u32 [%rd3], %r6;
""")
wrong("atomic, then a plain write", WAW, body="""
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    atom.shared.add.u32 %r7, [tile], 1;
    @%p1 st.shared.u32 [tile], 9;
""")
clean("128-bit atom exchange word", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    atom.shared.exch.b32 %r6, [flag], %r1;
    bar.sync 0;
    ld.shared.u32 %r7, [flag]; st.global.u32 [%rd3], %r7;
""")
clean("all say the same", body="""
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 0;
    st.shared.u32 [flag], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [flag]; st.global.u32 [%rd3], %r6;
""")
clean("bits of a word that nobody writes whole", body="""
    shl.b32 %r7, 1, %r22; not.b32 %r8, %r7;
    @%p3 red.shared.and.b32 [flag], %r8;
    bar.sync 0;
    @%p3 red.release.cta.shared.or.b32 [flag], %r7;
W: ld.acquire.cta.shared.u32 %r6, [flag];
    and.b32 %r6, %r6, 3; setp.ne.u32 %p5, %r6, 3; @%p5 bra W; st.global.u32 [%rd3], %r6;
""")
