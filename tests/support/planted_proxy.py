"""Planted bugs of the async proxy, and of `wgmma`, which reads by it; in the notation of `planted_mbarriers.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted_bug import Bug, Planted
from planted_bulk import ARRIVE, FLIGHT, LOAD, REDUCE, STORE, TO_PEER, in_flight
from planted_mbarriers import GATES, MEET, MISSES, PEER, made, wait

PROXY = Planted("proxy", "synccheck", **GATES)
NO_FENCE = "async proxy without a fence"

# fmt: off


def unfenced(name: str, *, stores: str, copy: str = f"{STORE} [%rd1], [%r20], 256;", **options: Any) -> None:
    """Thread 0 sends the tile to global memory."""
    PROXY.add(name, NO_FENCE, **options, body=f"""
    {stores}
    @!%p1 bra END;
    {copy} //1
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:""")


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
    copy=f"{REDUCE} [%rd1], [%r20], 256;")
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
unfenced("before the wait for a cp.async", stores="""
    cp.async.ca.shared.global [%r10], [%rd2], 4; //2
    fence.proxy.async;
    cp.async.wait_all;
    + fence.proxy.async;
    bar.sync 0;""")
unfenced("a matrix of stmatrix", stores="""
    and.b32 %r31, %r1, 7; mul.lo.u32 %r31, %r31, 16; shr.u32 %r32, %r1, 5;
    mad.lo.u32 %r31, %r32, 128, %r31; add.u32 %r31, %r31, %r20;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r31], {%r1}; //2
    + fence.proxy.async.shared::cta;
    bar.sync 0;""")
# -- the fence lies on the way from the stores to the copy -------------------------------------------------------------

FENCE = "fence.proxy.async.shared::cta;"
BESIDE = "a fence beside the copy: "
for name, behind in {"of the other warp": "@!%p2", "of the other warp's last lane": "@%p9"}.items():
    for barrier in ("bar.sync 0;", "bar.sync 1, 64;"):
        unfenced(f"{BESIDE}{name}, {barrier}", stores=f"""{STORED}
    setp.eq.u32 %p9, %r1, 63;
    {barrier}
    {behind} {FENCE}
    + {barrier}""")
unfenced("a fence beside the store, by the other warp", stores=f"""
    st.shared.u32 [%r10], %r1;
    {FENCE}
    bar.sync 0;
    @%p2 {STORED}
    @!%p2 {FENCE}
    + @%p2 {FENCE}
    bar.sync 0;""")
unfenced("a fence of who was told by an mbarrier, and tells nobody", stores=made(32, 32) + f"""
    {STORED}
    @%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    @%p2 bra ON;
{wait("TOLD")}
    {FENCE}
    mbarrier.arrive.shared::cta.b64 _, [gate+8];
    bra END;
ON:
    + {wait("TELL", 1)}""", copy=f"{STORE} [%rd1], [%r20], 128;")
PROXY.add("in the second round", NO_FENCE, body=f"""
    mov.u32 %r30, 0;
ROUND: setp.eq.u32 %p9, %r30, 0;
    st.shared.u32 [%r10], %r30; //2
    - @%p9 fence.proxy.async.shared::cta;
    + fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 {STORE} [%rd1], [%r20], 256; //1
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;
    bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;
    @%p1 cp.async.bulk.wait_group 0;""")
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
PROXY.add("one of four warps fences for all", NO_FENCE, **GROUP, body=made(1) + TILES + f"""
    st.shared.v4.b32 [%r31], {{%r30, %r30, %r30, %r30}};
    {FENCE}
    @%p8 st.shared.v4.b32 [%r31+2048], {{%r30, %r30, %r30, %r30}}; //2
    bar.sync 0;
    @%p2 {FENCE}
    + bar.sync 0;
    wgmma.fence.sync.aligned;
    {PRODUCT} //1
    {COMMIT}
    {DONE}
{RESULT}""")
EARLIER, FREED = DONE.replace("0;", "1;"), "@%p6 mbarrier.arrive.shared::cta.b64 _, [gate+8];"
for name, gives_back in (
    ("gives a stage back before its product is done", f"- {FREED}\n    {DONE}\n    + {FREED}"),
    ("gives a stage back when the product before is done", f"- {EARLIER}\n    + {DONE}\n    {FREED}\n    {DONE}"),
):
    MISSES.add(f"one thread of four warps {name}", "mbarrier missed", **GROUP | {"threads": 160},
        body=made(1, 1) + TILES + f"""
    mov.u32 %r32, 0; and.b32 %r33, %r1, 127; setp.eq.u32 %p6, %r33, 0; setp.ge.u32 %p2, %r1, 128;
    @!%p2 bra FILL;
NEXT: xor.b32 %r34, %r32, 1; and.b32 %r34, %r34, 1;
{wait("EMPTY", 1, "%r34")}
    @%p6 mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    add.u32 %r32, %r32, 1; setp.lt.u32 %p8, %r32, 3; @%p8 bra NEXT;
    bra END;
FILL: {FILLED}
    fence.proxy.async.shared::cta;
    bar.sync 1, 128;
ROUND: and.b32 %r34, %r32, 1;
{wait("FULL", 0, "%r34", "//1")}
    wgmma.fence.sync.aligned;
    {PRODUCT}
    {COMMIT}
    {gives_back}
    add.u32 %r32, %r32, 1; setp.lt.u32 %p8, %r32, 3; @%p8 bra ROUND;
END:
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

STORES_OVER = "one of two warpgroups that read a tile has waited"
in_flight(STORES_OVER, "wgmma in flight", threads=256, target="sm_90a",
    body=TILES + f"""
    setp.lt.u32 %p2, %r1, 128; setp.eq.u32 %p7, %r1, 255;
    st.shared.v4.b32 [%r31], {{%r30, %r30, %r30, %r30}};
    {FENCE}
    bar.sync 0;
    @!%p2 bar.sync 1, 256;
    wgmma.fence.sync.aligned;
    {PRODUCT} //2
    {COMMIT}
    @%p2 bar.sync 1, 256;
    - @%p2 bra WAITED;
    {DONE}
    - WAITED:
    bar.sync 0;
    @%p7 st.shared.u32 [%r20+2048], 0; //1
    bar.sync 0;
    - {DONE}
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
STORED_OVER = FLIGHT[f"bulk copy: {STORES_OVER}"]
STORED_OVER = replace(STORED_OVER, body=STORED_OVER.body.replace("//1\n    bar.sync 0;", "//1"))
"""The same of a store: the other warpgroup may wait for its product before."""
