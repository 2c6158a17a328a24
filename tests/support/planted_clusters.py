"""Planted accesses to memory of a block that may have exited, or may not have begun; see `planted_bug.py`."""

from __future__ import annotations

from planted_bug import Planted

# fmt: off
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
    CLUSTERS.add(name, "block may have exited", body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {before} {SYNC}
    @%p5 bra END;
    {access} //1
END:
    {LAST}""")


bug("read", "ld.shared::cluster.u32 %r6, [%r13];")
bug("read through a generic address", "ld.u32 %r6, [%rd7];",
    "cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6; mapa.u64 %rd7, %rd6, 0;")
bug("written", "st.shared::cluster.u32 [%r13], 7;")
bug("added to", "atom.shared::cluster.add.u32 %r6, [%r13], 7;")
CLUSTERS.add("it arrives, and does not wait", "block may have exited", body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {SYNC}
    @!%p5 ld.shared::cluster.u32 %r6, [%r13]; //1
    barrier.cluster.arrive.release.aligned;
    - @%p5 exit;
    barrier.cluster.wait.acquire.aligned;
""")
CLUSTERS.add("a relaxed arrival after the access", "block may have exited", body=f"""
    st.shared.u32 [%r10], %r1;
    {FIRST_OF_ALL} {SYNC}
    @!%p5 ld.shared::cluster.u32 %r6, [%r13]; //1
    - barrier.cluster.arrive.relaxed.aligned;
    + barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
""")
CLUSTERS.add("one warp's flag for another's reads", "block may have exited", body=f"""
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
""", before=".shared .align 16 .b8 tile[4096];\n.shared .align 4 .u32 flag;")
CLUSTERS.add("a relaxed arrival without a fence for the mbarrier it announces", "WAW",
    before=".shared .align 8 .b64 gate;\n.shared .align 16 .b8 tile[4096];", body="""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 64; //2
    + @%p1 fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
    mov.u32 %r33, %cluster_ctarank; xor.b32 %r33, %r33, 1;
    mov.u32 %r14, gate; mapa.shared::cluster.u32 %r14, %r14, %r33;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14]; st.global.u32 [%rd3], 7; //1
""" + SYNC)
CLUSTERS.add("a fence for mbarriers alone", "RAW", body=f"""
    mapa.shared::cluster.u32 %r13, %r12, 1; {SYNC}
    st.shared.u32 [%r10], %r1; //2
    - fence.mbarrier_init.release.cluster;
    + fence.acq_rel.cluster;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
    ld.shared::cluster.u32 %r6, [%r13]; st.global.u32 [%rd3], %r6; //1
    {SYNC}""")
CLUSTERS.add("a cluster of one block that does not wait", "RAW", cluster=1, body="""
    st.shared.u32 [%r10], %r1; //2
    barrier.cluster.arrive.release.aligned;
    + barrier.cluster.wait.acquire.aligned;
    ld.shared.u32 %r6, [%r12]; st.global.u32 [%rd3], %r6; //1
    - barrier.cluster.wait.acquire.aligned;
""")
CLUSTERS.add("the source of a copy for which the other block has waited", "WAR",
    before=".shared .align 8 .b64 gate;\n.shared .align 16 .b8 tile[4096];", body=f"""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1; @%p1 fence.mbarrier_init.release.cluster;
    st.shared.u32 [%r10], %r1; fence.proxy.async; {SYNC} bar.sync 0;
    mov.u32 %r33, %cluster_ctarank; xor.b32 %r33, %r33, 1;
    mov.u32 %r14, gate; mapa.shared::cluster.u32 %r14, %r14, %r33;
    mapa.shared::cluster.u32 %r15, %r20, %r33; add.u32 %r15, %r15, 1024;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 256;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r15], [%r20], 256, [%r14]; //2
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p6, [gate], 0; @!%p6 bra WAIT;
    {LAST}
    st.shared.u32 [%r10], 7; //1
    {SYNC}""")

# -- before the other block has begun ----------------------------------------------------------------------------------

BEGUN = Planted("cluster begins", "racecheck", target="sm_90", blocks=2, cluster=2)
OTHER = """
    mov.u32 %r33, %cluster_ctarank; xor.b32 %r34, %r33, 1; mul.wide.u32 %rd8, %r33, 4; mul.wide.u32 %rd9, %r34, 4;
    add.u64 %rd8, %rd8, %rd1; add.u64 %rd9, %rd9, %rd1; cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6;
    mapa.shared::cluster.u32 %r13, %r10, %r34; mapa.u64 %rd7, %rd6, %r34;
"""
"""%r13 and %rd7: this thread's element in the other block. %rd8, %rd9: a word of global memory for each of the two."""
ENTRY = SYNC.replace("    barrier", "    + barrier")
HALF = "barrier.cluster.arrive.release.aligned; @%p2 barrier.cluster.wait.acquire.aligned;"
for name, before, access, behind in (
    ("a store", ENTRY, "st.shared::cluster.u32 [%r13], 7;", ""),
    ("a store, and one warp waits for all", f"+ {HALF}\n    + bar.sync 0;", "st.u32 [%rd7], 7;",
        "+ @!%p2 barrier.cluster.wait.acquire.aligned;"),
    ("a store of some lanes, in a loop", f"{ENTRY} L: add.u32 %r22, %r22, 1;",
        "@%p4 st.shared::cluster.u32 [%r13], 7;", "setp.lt.u32 %p6, %r22, 70; @%p6 bra L;"),
    ("an atomic operation", ENTRY, "red.shared::cluster.and.b32 [%r13], 7;", ""),
    ("a flag of the other block", """
    @%p1 red.release.gpu.global.add.u32 [%rd8], 1;
    + POLL: ld.acquire.gpu.global.u32 %r6, [%rd9];
    + setp.eq.u32 %p6, %r6, 5; @%p6 bra POLL;""", "st.shared::cluster.u32 [%r13], 7;", ""),
):
    BEGUN.add(name, "block may not have begun", body=f"{OTHER}{before}\n    {access} //1\n    {behind}\n{SYNC}")
BEGUN.add("an arrival", "block may not have begun",
    stops=True, before=".shared .align 8 .b64 gate;\n.shared .align 16 .b8 tile[4096];", body=f"""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    {OTHER} {ENTRY}
    mov.u32 %r14, gate; mapa.shared::cluster.u32 %r14, %r14, %r34;
    @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14]; //1
{SYNC}""")
