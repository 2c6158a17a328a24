"""Planted bugs with bulk copies, in the notation of `planted_mbarriers.py`: memory in flight, phases and bytes.

The styles are those of real kernels: a copy there and back, rings of stages with a producer and a consumer.
"""

from __future__ import annotations

from typing import Any

from planted_bug import Planted
from planted_mbarriers import GATES, MEET, PEER, made, wait

LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
ARRIVE = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
TO_PEER = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
FLIGHT = Planted("bulk copy", "synccheck", **GATES)
BYTES = Planted("bytes", "synccheck", **GATES)
EXITED = Planted("bulk fault", "memcheck", **GATES)
COPY = "asynchronous copy"

# fmt: off


def in_flight(name: str, kind: str = COPY, *, body: str, **options: Any) -> None:
    """What happens to memory that a copy is still moving."""
    FLIGHT.add(name, kind, body=body, **options)


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
    + {wait("WAIT")}""")

# -- the target of a copy to global memory -----------------------------------------------------------------------------


def arriving(name: str, *, use: str, copy: str = STORE, waits: str = "", **options: Any) -> None:
    """Thread 0 sends the tile, and waits until it has been read; what all threads do then with where it goes."""
    in_flight(name, **{"out": "array"} | options, body=made(1) + f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async;
    bar.sync 0;
    @!%p1 bra SENT;
    {copy} [%rd1], [%r20], 256; //2
    cp.async.bulk.commit_group;
    {waits or "cp.async.bulk.wait_group.read 0;"}
    + cp.async.bulk.wait_group 0;
SENT: fence.proxy.async;
    bar.sync 0;
    {use}
    @%p1 cp.async.bulk.wait_group 0;""")


arriving("what was sent is loaded", use="ld.global.u32 %r6, [%rd11]; //1\n    st.global.u32 [%rd11+256], %r6;")
arriving("what was sent is overwritten", use="st.global.u32 [%rd11], 7; //1")
arriving("what is added is loaded", copy=REDUCE, use="ld.global.u32 %r6, [%rd11]; //1")
arriving("what is added is changed by atomics", copy=REDUCE, use="red.global.add.u32 [%rd11], 7; //1")
arriving("what was sent is copied elsewhere", use="cp.async.ca.shared.global [%r10+1024], [%rd11], 4; //1\n"
    "    cp.async.wait_all;")
arriving("what was sent is brought back", use=f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20+1024], [%rd1], 256, [gate]; //1
{wait("BACK")}""")
arriving("the wait leaves one group", waits="cp.async.bulk.wait_group 1;", use="ld.global.u32 %r6, [%rd11]; //1")
in_flight("sent twice to one place", one_line=False, body=f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async;
    bar.sync 0;
    @!%p1 bra SENT;
    {STORE} [%rd1], [%r20], 256; //2
    cp.async.bulk.commit_group;
    - cp.async.bulk.wait_group.read 0;
    + cp.async.bulk.wait_group 0;
    {STORE} [%rd1], [%r20], 256; //1
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
SENT: bar.sync 0;""")
in_flight("all lanes send, and not the same", one_line=True, body=f"""
    st.shared.u32 [%r10], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mov.u32 %r30, %r20;
    - mad.lo.u32 %r30, %r21, 16, %r20;
    @%p2 {STORE} [%rd1], [%r30], 256; //1
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;""")
in_flight("the source in global memory is overwritten", body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd1], 256, [gate]; //2
    - @%p6 st.global.u32 [%rd1], 7; //1
{wait("WAIT")}
    + @%p6 st.global.u32 [%rd1], 7;
    bar.sync 0;""")

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
    + {wait("WAIT")}""")
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
    + {wait("WAIT")}
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

# -- a block that has exited -------------------------------------------------------------------------------------------

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
