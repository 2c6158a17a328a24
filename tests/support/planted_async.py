"""Planted bugs of the asynchronous world, in the notation of `planted_bug.py`: bulk copies, the async proxy, `wgmma`.

gate[0..3] are mbarriers, %p6 is warp 0's first thread, %p7 warp 1's, as in `planted_mbarriers.py`. The styles are those
of real kernels: a copy there and back, rings of stages with a producer and a consumer, clusters that multicast.
"""

from __future__ import annotations

from typing import Any

from planted_bug import Bug, Planted
from planted_mbarriers import GATES, made

LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
ARRIVE = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
PROXY = Planted("proxy", "synccheck", **GATES)
FLIGHT = Planted("bulk copy", "synccheck", **GATES)
BYTES = Planted("bytes", "synccheck", **GATES)
RACES = Planted("bulk race", "racecheck", **GATES)
EXITED = Planted("bulk fault", "memcheck", **GATES)
NO_FENCE, COPY = "async proxy without a fence", "asynchronous copy"


def wait(label: str, gate: int = 0, parity: str = "0", mark: str = "") -> str:
    """A loop that waits for a phase of an mbarrier."""
    return f"""
{label}:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+{8 * gate}], {parity}; {mark}
    @!%p8 bra {label};
"""


def unfenced(name: str, *, stores: str, copy: str = f"{STORE} [%rd1], [%r20], 256;", **options: Any) -> None:
    """Thread 0 sends the tile to global memory."""
    PROXY.add(
        name,
        NO_FENCE,
        body=f"""
    {stores}
    @!%p1 bra END;
    {copy} //1
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:
    """,
        **options,
    )


def in_flight(name: str, kind: str = COPY, *, body: str, **options: Any) -> None:
    """What happens to memory that a copy is still moving."""
    FLIGHT.add(name, kind, body=body, **options)


# fmt: off
# -- the async proxy ---------------------------------------------------------------------------------------------------

STORED = "st.shared.u32 [%r10], %r1; //2"
unfenced("nobody fences", stores=f"""{STORED}
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
unfenced("one thread fences, for itself", stores=f"""{STORED}
    - @%p1 fence.proxy.async.shared::cta;
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
unfenced("the fence stands in front of the stores", stores=f"""
    - fence.proxy.async.shared::cta;
    {STORED}
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
unfenced("a fence that is not one of proxies", stores=f"""{STORED}
    - fence.acq_rel.cta;
    + fence.proxy.async;
    bar.sync 0;""")
unfenced("behind the barrier is soon enough", stores=f"""{STORED}
    bar.sync 0;
    + @%p1 fence.proxy.async.shared::cta;""")
unfenced("a reduction", stores=f"""{STORED}
    + fence.proxy.async.shared::cta;
    bar.sync 0;""",
    copy="cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r20], 256;")
for operation in (
    "red.shared.add.u32 [%r10], 1;",
    "red.shared.add.noftz.f16x2 [%r10], %r1;",
    "red.shared::cluster.or.b32 [%r10], 1;",
    "red.add.u32 [%rd20], 1;",
    "atom.shared.add.u32 %r31, [%r10], 1;",
    "atom.shared.cas.b32 %r31, [%r10], 0, 7;",
    "atom.exch.b32 %r31, [%rd20], 7;",
):
    unfenced(f"an atomic operation: {operation}", stores=f"""
    st.shared.u32 [%r10], 0;
    cvt.u64.u32 %rd20, %r10; cvta.shared.u64 %rd20, %rd20;
    fence.proxy.async.shared::cta;
    {operation} //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
unfenced("an atomic operation at one address", stores="""
    st.shared.u32 [%r10], 0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    red.shared.add.u32 [tile], 1; //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
unfenced("a matrix of stmatrix", stores="""
    and.b32 %r31, %r1, 7; mul.lo.u32 %r31, %r31, 16; shr.u32 %r32, %r1, 5;
    mad.lo.u32 %r31, %r32, 128, %r31; add.u32 %r31, %r31, %r20;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r31], {%r1}; //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
PROXY.add("in the second round", NO_FENCE, body=f"""
    mov.u32 %r30, 0;
ROUND: setp.eq.u32 %p9, %r30, 0;
    st.shared.u32 [%r10], %r30; //2
    - @%p9 fence.proxy.async.shared::cta;
    + fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 256; //1
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read 0;
    bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;
    @%p1 cp.async.bulk.wait_group 0;""")

PEER = """
    mov.u32 %r33, %cluster_ctarank; xor.b32 %r34, %r33, 1;
    mapa.shared::cluster.u32 %r35, %r20, %r34; mov.u32 %r36, gate;
    mapa.shared::cluster.u32 %r37, %r36, %r34;
"""
"""%r33 is this block's rank in a cluster of two; %r35 and %r37 are the tile and the mbarriers of the other block."""
MEET = "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
TO_PEER = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"

PROXY.add("a copy to the other block of a cluster", NO_FENCE, blocks=2, cluster=2, body=made(1) + PEER + f"""
    @%p6 {ARRIVE} [gate], 256;
    st.shared.u32 [%r10], %r1; //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;
{MEET}
    add.u32 %r38, %r35, 1024;
    @%p6 {TO_PEER} [%r38], [%r20], 256, [%r37]; //1
{wait("WAIT")}
    ld.shared.u32 %r6, [%r10+1024];
    st.global.u32 [%rd3], %r6;
{MEET}""")

# -- wgmma -------------------------------------------------------------------------------------------------------------

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd20, %rd21, %p9, 1, 1, 0, 0;"
TILES = """
    mov.b32 %r30, 0x3C003C00; mad.lo.u32 %r31, %r1, 16, %r20; setp.lt.u32 %p8, %r1, 16;
    cvt.u64.u32 %rd22, %r20; shr.u64 %rd22, %rd22, 4; or.b64 %rd20, %rd22, 0x0000001000080000;
    add.u64 %rd21, %rd20, 128; mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000;
    mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000; setp.ne.u32 %p9, 0, 0;
"""
"""A lies in the first 2,048 bytes of the tile, B in 256 bytes behind it; %rd20 and %rd21 are their descriptors."""
FILLED = """
    st.shared.v4.b32 [%r31], {%r30, %r30, %r30, %r30};
    @%p8 st.shared.v4.b32 [%r31+2048], {%r30, %r30, %r30, %r30};
"""
GROUP: dict[str, Any] = {"threads": 128, "target": "sm_90a"}
COMMIT, DONE = "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
RESULT = "    st.global.f32 [%rd3], %f0;"

PROXY.add("a product reads what threads have stored", NO_FENCE, **GROUP, body=made(1) + TILES + f"""
    st.shared.v4.b32 [%r31], {{%r30, %r30, %r30, %r30}};
    fence.proxy.async.shared::cta;
    @%p8 st.shared.v4.b32 [%r31+2048], {{%r30, %r30, %r30, %r30}}; //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;
    wgmma.fence.sync.aligned;
    {PRODUCT} //1
    {COMMIT}
    {DONE}
{RESULT}""")
in_flight("a stage is given back before the product is done", "wgmma in flight", **GROUP, body=made(1, 128) + TILES
    + FILLED + f"""
    fence.proxy.async.shared::cta;
    bar.sync 0;
    wgmma.fence.sync.aligned;
    {PRODUCT} //2
    {COMMIT}
    + {DONE}
    mbarrier.arrive.shared::cta.b64 _, [gate+8];
    @!%p6 bra BEHIND;
{wait("EMPTY", 1)}
    {ARRIVE} [gate], 256;
    {LOAD} [%r20], [%rd2], 256, [gate]; //1
BEHIND: bar.warp.sync 0xffffffff;
    - {DONE}
{wait("FULL")}
{RESULT}""")

GIVEN_BACK = Bug("synccheck", "wgmma in flight", threads=160, target="sm_90a", before=GATES["before"],
    body=made(1, 128) + TILES + f"""
    setp.ge.u32 %p2, %r1, 128; @%p2 bra PRODUCE;
{FILLED}
    fence.proxy.async.shared::cta;
    bar.sync 1, 128;
    wgmma.fence.sync.aligned;
    {PRODUCT} //2
    {COMMIT}
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
    {DONE}
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
    bra FULL;
PRODUCE:
{wait("EMPTY", 1)}
    setp.eq.u32 %p3, %r1, 128;
    @%p3 {ARRIVE} [gate], 256;
    @%p3 {LOAD} [%r20], [%rd2], 256, [gate]; //1
{wait("FULL")}
{RESULT}""")
"""Seen with racecheck only: the readers arrive in front of their wait, but have waited when the copy is issued."""

# -- copies in flight --------------------------------------------------------------------------------------------------

BROUGHT = f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
"""
in_flight("read before the wait", body=made(1) + BROUGHT + f"""
    - ld.shared.u32 %r6, [%r10]; //1
{wait("WAIT")}
    + ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
in_flight("overwritten before the wait", body=made(1) + BROUGHT + f"""
    - st.shared.u32 [%r10], %r1; //1
{wait("WAIT")}
    + st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
in_flight("the wait is for another mbarrier", body=made(1, 1) + f"""
    @%p6 mbarrier.arrive.shared::cta.b64 _, [gate+8];
    {BROUGHT}
    - WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0;
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
in_flight("two copies to one place", body=made(1, 1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
    @%p6 {ARRIVE} [gate+8], 256;
    - @%p6 {LOAD} [%r20], [%rd2], 256, [gate+8]; //1
    + @%p6 {LOAD} [%r20+256], [%rd2], 256, [gate+8];
{wait("ONE")}
{wait("TWO", 1)}
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")


def sent(name: str, *, between: str, behind: str = "", again: str = "") -> None:
    """Thread 0 sends the tile to global memory; what comes before all threads overwrite it."""
    in_flight(name, body=f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 256; //2
    {between}
    bar.sync 0;
    st.shared.u32 [%r10], 7; //1
    {behind}
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;""")


sent("the source is overwritten", between="""
    @%p1 cp.async.bulk.commit_group;
    + @%p1 cp.async.bulk.wait_group.read 0;""")
sent("the copy was not committed", between="""
    + @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read 0;""")
sent("one group too many may be on its way", between="""
    @%p1 cp.async.bulk.commit_group;
    - @%p1 cp.async.bulk.wait_group.read 1;
    + @%p1 cp.async.bulk.wait_group.read 0;""")
sent("another thread waits for it", between="""
    @%p1 cp.async.bulk.commit_group;
    setp.eq.u32 %p9, %r1, 1;
    - @%p9 cp.async.bulk.wait_group.read 0;
    + @%p1 cp.async.bulk.wait_group.read 0;""")
in_flight("a copy overwrites what another one still reads", body=made(1) + f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p6 bra FULL;
    {STORE} [%rd1], [%r20], 256; //2
    cp.async.bulk.commit_group;
    + cp.async.bulk.wait_group.read 0;
    {ARRIVE} [gate], 256;
    {LOAD} [%r20], [%rd2], 256, [gate]; //1
{wait("FULL")}
    @%p6 cp.async.bulk.wait_group 0;""")
in_flight("the block ends", body=f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 256; //1
    @%p1 cp.async.bulk.commit_group;
    + @%p1 cp.async.bulk.wait_group 0;""")
in_flight("the block ends before a copy has come", body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //1
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;""")

# -- phases ------------------------------------------------------------------------------------------------------------


def ring(name: str, kind: str, *, parity: str, first: str, second: str, stages: int = 1) -> None:
    """Thread 0 brings four tiles to stages, warp 1 reads them. In round %r30: %r31 is the stage, %r32 the parity. The
    finding names the lines `first` and `second`."""
    in_flight(name, kind, stops=True, body=(made(1, *[1] * (stages - 1), *[32] * stages) + f"""
    mov.u32 %r30, 0;
ROUND: rem.u32 %r31, %r30, {stages}; div.u32 %r32, %r30, {stages}; and.b32 %r32, %r32, 1;
    xor.b32 %r33, %r32, 1; mov.u32 %r34, gate; mad.lo.u32 %r34, %r31, 8, %r34;
    mad.lo.u32 %r35, %r31, 256, %r20; @!%p6 bra CONSUME;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r34+{8 * stages}], %r33;
    @!%p8 bra EMPTY;
    {ARRIVE} [%r34], 256; //announces
    {LOAD} [%r35], [%rd2], 256, [%r34]; //copies
CONSUME: @%p2 bra NEXT;
    {parity}
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r34], %r32; //waits
    @!%p8 bra FULL;
    and.b32 %r36, %r1, 31; mad.lo.u32 %r36, %r36, 4, %r35;
    ld.shared.u32 %r6, [%r36]; //reads
    mbarrier.arrive.shared::cta.b64 _, [%r34+{8 * stages}];
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 4; @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;""").replace(f"//{first}", "//1").replace(f"//{second}", "//2"))


WAITS: dict[str, Any] = {"kind": "mbarrier phase", "first": "waits", "second": "announces"}
READS: dict[str, Any] = {"kind": COPY, "first": "reads", "second": "copies"}
ring("the phase is not flipped", parity="- mov.u32 %r32, 0;", **WAITS)
ring("the phase flips with every tile, not every turn", stages=2, parity="- and.b32 %r32, %r30, 1;", **WAITS)
ring("the first wait asks for the phase before the first", stages=2, parity="- xor.b32 %r32, %r32, 1;", **READS)

# -- bytes -------------------------------------------------------------------------------------------------------------


def counted(name: str, kind: str, *, announce: str, copies: str, count: int = 1, **options: Any) -> None:
    """Thread 0 announces bytes and brings them."""
    BYTES.add(name, kind, body=made(count) + f"""
    @!%p6 bra WAIT;
    {announce}
    {copies}
{wait("WAIT", mark="//1" if options.get("stops") else "")}
    bar.sync 0;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""", **options)


ENDLESS, COUNT = "mbarrier wait", "mbarrier bytes"
counted("more are announced than come", ENDLESS, stops=True, copies=f"{LOAD} [%r20], [%rd2], 256, [gate];",
    announce=f"- {ARRIVE} [gate], 512; //2\n    + {ARRIVE} [gate], 256;")
counted("fewer are announced than come", ENDLESS, stops=True, copies=f"{LOAD} [%r20], [%rd2], 256, [gate];",
    announce=f"- {ARRIVE} [gate], 128; //2\n    + {ARRIVE} [gate], 256;")
counted("K is announced and V is not", COUNT, announce=f"- {ARRIVE} [gate], 256; //2\n    + {ARRIVE} [gate], 512;",
    copies=f"{LOAD} [%r20], [%rd2], 256, [gate];\n    {LOAD} [%r20+256], [%rd2], 256, [gate]; //1")
counted("elements are counted, not bytes", ENDLESS, stops=True, copies=f"{LOAD} [%r20], [%rd2], 256, [gate];",
    announce=f"- {ARRIVE} [gate], 64; //2\n    + {ARRIVE} [gate], 256;")
BYTES.add("a plain arrival instead of expect_tx", COPY, body=made(1) + f"""
    - @%p6 mbarrier.arrive.shared::cta.b64 _, [gate];
    + @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
{wait("WAIT")}
    - @%p6 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [gate], 256;
    ld.shared.u32 %r6, [%r10]; //1
    - AGAIN: mbarrier.test_wait.parity.shared::cta.b64 %p8, [gate], 1;
    st.global.u32 [%rd3], %r6;""")
BYTES.add("copies that nobody announces", COUNT, body=made(1) + f"""
    + @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //1
    - @%p6 mbarrier.test_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;""")
BYTES.add("all lanes announce instead of one", "mbarrier arrivals", stops=True, body=made(1) + f"""
    - @%p2 {ARRIVE} [gate], 256; //1
    + @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate];
{wait("WAIT")}
""".replace("//1", "//1 //2"))
BYTES.add("more than an mbarrier counts", COUNT, stops=True, body=made(1) + f"""
    - @%p6 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [gate], 1048576; //1
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate];
{wait("WAIT")}""")
BYTES.add("made invalid before the copy is there", "mbarrier in use", body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate]; //2
    - @%p6 mbarrier.inval.shared::cta.b64 [gate]; //1
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;
    bar.sync 0;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 1;
    + @%p6 mbarrier.inval.shared::cta.b64 [gate];""")
BYTES.add("the producer of one stage does not come back", ENDLESS, stops=True, body=made(1, 32) + f"""
    mov.u32 %r30, 0;
ROUND: and.b32 %r31, %r30, 1; @!%p6 bra CONSUME;
    - setp.eq.u32 %p9, %r30, 1;
    - @%p9 bra CONSUME;
    {ARRIVE} [gate], 256; //2
    {LOAD} [%r20], [%rd2], 256, [gate];
CONSUME: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; //1
    @!%p8 bra CONSUME;
    bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;""")

# -- races with copies -------------------------------------------------------------------------------------------------

race = RACES.add
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

# -- a block that has exited
# ----------------------------------------------------------------------------------------------

EXITED.add("a store to a block that has exited", "invalid access", blocks=2, cluster=2, stops=True,
    body=made(1) + PEER + f"""
    @%p6 {ARRIVE} [gate], 4;
{MEET}
    - setp.eq.u32 %p9, %r33, 1;
    - @%p9 exit;
    - mov.u32 %r30, 9000;
    - BUSY: sub.u32 %r30, %r30, 1;
    - setp.ne.u32 %p9, %r30, 0;
    - @%p9 bra BUSY;
    @%p6 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r35], %r33, [%r37]; //1
{wait("WAIT")}
{MEET}""")

# -- a scope that does not reach the other block -----------------------------------------------------------------------

ARRIVES, WAITS = "mbarrier.arrive.release.{}.shared::cluster.b64 _, [%r37];", "mbarrier.try_wait.parity.acquire.{}"
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
    - {WAITS.format(waits)}.shared::cta.b64 %p8, [gate], 0; //1
    + {WAITS.format("cluster")}.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared::cluster.u32 %r6, [%r38];
DONE:
{MEET}
    st.global.u32 [%rd3], %r6;""")
# fmt: on
