"""Planted accesses to the shared memory of a block that may have exited, in the notation of `planted_bug.py`."""

from __future__ import annotations

from planted_bug import Planted

CLUSTERS = Planted("cluster", "racecheck", target="sm_90", blocks=2, cluster=2)

SYNC = """
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
"""
LAST = """
    + barrier.cluster.arrive.release.aligned;
    + barrier.cluster.wait.acquire.aligned;
"""
FIRST_OF_ALL = "mapa.shared::cluster.u32 %r13, %r10, 0;\n"
"""%r13: this thread's element in the first block."""


def bug(name: str, access: str, before: str = "") -> None:
    """The second block accesses the shared memory of the first."""
    CLUSTERS.add(
        name,
        "block may have exited",
        body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {before} {SYNC}
    @%p5 bra END;
    {access} //1
END:
    {LAST}""",
    )


bug("read", "ld.shared::cluster.u32 %r6, [%r13];")
bug(
    "read through a generic address",
    "ld.u32 %r6, [%rd7];",
    """
    cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6;
    mapa.u64 %rd7, %rd6, 0;""",
)
bug("written", "st.shared::cluster.u32 [%r13], 7;")
bug("added to", "atom.shared::cluster.add.u32 %r6, [%r13], 7;")
CLUSTERS.add(
    "it arrives, and does not wait",
    "block may have exited",
    body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {SYNC}
    @!%p5 ld.shared::cluster.u32 %r6, [%r13]; //1
    barrier.cluster.arrive.release.aligned;
    - @%p5 exit;
    barrier.cluster.wait.acquire.aligned;
""",
)
CLUSTERS.add(
    "a relaxed arrival after the access",
    "block may have exited",
    body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {SYNC}
    @!%p5 ld.shared::cluster.u32 %r6, [%r13]; //1
    - barrier.cluster.arrive.relaxed.aligned;
    + barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
""",
)
CLUSTERS.add(
    "one warp's flag for another's reads",
    "block may have exited",
    body=f"""
    st.shared.u32 [%r10], %r1;
    mov.u32 %r14, flag;
    @%p1 st.shared.u32 [%r14], 0;
    {FIRST_OF_ALL}
    mapa.shared::cluster.u32 %r15, %r14, 0;
    {SYNC}
    @%p5 bra WAIT;
    + ld.shared::cluster.u32 %r6, [%r13];
    + bar.sync 0;
    - ld.shared::cluster.u32 %r6, [%r13]; //1
    @%p1 red.release.cluster.shared::cluster.add.u32 [%r15], 1;
    bra END;
WAIT: ld.acquire.cluster.shared.u32 %r6, [%r14];
    setp.eq.u32 %p6, %r6, 0; @%p6 bra WAIT;
END:
""",
    before=".shared .align 16 .b8 tile[4096];\n.shared .align 4 .u32 flag;",
)
