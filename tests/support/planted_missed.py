"""Bugs that no check finds today: those that `docs/machine.md` says are not found; see `planted_bug.py`."""

from __future__ import annotations

from planted_bug import TILE, Planted
from planted_bulk import ARRIVE, LOAD, STORE, TO_PEER
from planted_mbarriers import GATES as AT_GATES
from planted_mbarriers import MEET, PEER, made
from planted_proxy import COMMIT, DONE, FENCE, FILLED, GROUP, PRODUCT, RESULT, TILES

# fmt: off
MISSED = Planted("missed", "racecheck")
GATES = f"{TILE} .shared .align 8 .b64 gate, other_gate;"
ARRAYS = f"{TILE} .shared .align 16 .b8 other[4096];"

for name, instruction, target in (
    ("a shuffle", "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;", "sm_80"),
    ("a vote", "vote.sync.ballot.b32 %r6, %p1, -1;", "sm_80"),
    ("an election", "elect.sync %r6|%p6, -1;", "sm_90"),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r20];", "sm_80"),
):
    MISSED.add(f"{name} in place of bar.warp.sync", "RAW", threads=32, target=target, body=f"""
    mad.lo.u32 %r20, %r21, 16, %r20;
    st.shared.v4.u32 [%r20], {{%r1, %r1, %r1, %r1}};
    bar.sync 0;
    st.shared.u32 [%r10+2048], %r1;
    {instruction}
    + bar.warp.sync -1;
    ld.shared.u32 %r6, [%r11+2048];
    st.global.u32 [%rd3], %r6;""")

MISSED.add("two rows of one stmatrix at one place", "WAW", threads=32, target="sm_90", body="""
    - mov.u32 %r15, %r20;
    + mad.lo.u32 %r15, %r21, 16, %r20;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r15], {%r21};""")

FLAG = """
    @!%p1 bra END;
    @!%p5 bra WAIT;
    st.global.u32 [%rd1+8], 7;
    {gives}
    bra END;
WAIT:
    {sees}
    ld.global.u32 %r7, [%rd1+8];
    st.global.u32 [%rd1+12], %r7;
END:"""
AGAIN = "setp.ne.u32 %p6, %r6, 6; @%p6 bra WAIT;"
for name, gives, sees, target in (
    ("an atomic addition polls, and no fence follows", "st.release.gpu.global.u32 [%rd1], 6;",
     f"atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 0; {AGAIN}\n    + fence.acq_rel.gpu;", "sm_80"),
    ("a volatile load polls, and no fence follows", "st.release.gpu.global.u32 [%rd1], 6;",
     f"ld.volatile.global.u32 %r6, [%rd1]; {AGAIN}\n    + fence.acq_rel.gpu;", "sm_80"),
    ("a flag of two clusters has the scope of one",
     "- st.release.cluster.global.u32 [%rd1], 6;\n    + st.release.gpu.global.u32 [%rd1], 6;",
     f"ld.acquire.gpu.global.u32 %r6, [%rd1]; {AGAIN}", "sm_90"),
    ("a flag is read and not waited for", "st.release.gpu.global.u32 [%rd1], 6;",
     f"ld.acquire.gpu.global.u32 %r6, [%rd1];\n    + {AGAIN}", "sm_80"),
    ("the block has released something nine times since", "st.release.gpu.global.u32 [%rd1], 6;\n    "
     "st.global.u32 [%rd1+8], 8;\n" + "st.release.gpu.global.u32 [%rd1+4], 6;" * 9, "- ld.acquire.gpu.global.u32 %r6, "
     f"[%rd1];\n    + ld.acquire.gpu.global.u32 %r6, [%rd1+4];\n    {AGAIN}", "sm_80"),
    ("a word 16 KB from the one that was released", "st.release.gpu.global.u32 [%rd2+16408], 6;", "- ld.acquire.gpu."
     f"global.u32 %r6, [%rd2+24];\n    + ld.acquire.gpu.global.u32 %r6, [%rd2+16408];\n    {AGAIN}", "sm_90"),
):
    threads = 1024 if "KB" in name else 1
    MISSED.add(name, "RAW", threads=threads, blocks=2, target=target, body=FLAG.format(gives=gives, sees=sees))

MISSED.add("two warps take two locks", "RAW", body="""
    @!%p3 bra END;
    mov.u64 %rd6, %rd1;
    - mad.wide.u32 %rd6, %r1, 4, %rd1;
TAKE: atom.acquire.gpu.global.cas.b32 %r6, [%rd6], 5, 1; setp.ne.u32 %p6, %r6, 5; @%p6 bra TAKE;
    ld.global.u32 %r7, [%rd1+8];
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd1+8], %r7;
    fence.acq_rel.gpu;
    st.release.gpu.global.u32 [%rd6], 5;
END:""")
MISSED.add("the cache of constants is asked for what the kernel has written", "RAW", body="""
    st.global.u32 [%rd3], %r1;
    bar.sync 0;
    - ld.global.nc.u32 %r6, [%rd12];
    + ld.global.u32 %r6, [%rd12];
    st.global.u32 [%rd3+256], %r6;""")
MISSED.add("the first block takes all the work", "RAW", threads=1, blocks=2, body="""
MORE: atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 1; setp.gt.u32 %p6, %r6, 9; @%p6 bra END;
    - ld.global.u32 %r7, [%rd1+8]; add.u32 %r7, %r7, %r6; st.global.u32 [%rd1+8], %r7;
    + red.relaxed.gpu.global.add.u32 [%rd1+8], %r6;
    bra MORE;
END:""")
MISSED.add("a plain store to an mbarrier", "mbarrier in use", threads=1, before=GATES, body="""
    mbarrier.init.shared.b64 [gate], 1;
    ld.shared.b64 %rd6, [gate];
    - st.shared.b64 [gate], %rd6;
    mbarrier.arrive.shared.b64 %rd7, [gate];""")
MISSED.add("a lane releases for its warp, and eight times more", "RAW", before=GATES, body=f"""
    @%p1 mbarrier.init.shared.b64 [gate], 1;
    @%p1 mbarrier.init.shared.b64 [other_gate], 100;
    bar.sync 0;
    @!%p2 bra WAIT;
    st.shared.u32 [%r10], %r1;
    + bar.warp.sync -1;
    @%p3 mbarrier.arrive.shared.b64 %rd6, [gate];
    {"@%p3 mbarrier.arrive.shared.b64 %rd6, [other_gate];" * 8}
    bra END;
WAIT: mbarrier.test_wait.parity.shared.b64 %p6, [gate], 0; @!%p6 bra WAIT;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
END:""")
MISSED.add("a copy that was waited for behind the barrier, four waits ago", "RAW", body=f"""
    @!%p2 bra READ;
    cp.async.ca.shared.global [%r10], [%rd2], 4;
    cp.async.commit_group;
    + cp.async.wait_group 0;
    bar.sync 1, 64;
    {"cp.async.wait_group 0; cp.async.commit_group;" * 5}
    bra END;
READ: bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;
END:""")

# -- what has been forgotten counts as ordered -------------------------------------------------------------------------

MISSED.add("the third reader of a word", "WAR", threads=4, body="""
    setp.eq.u32 %p6, %r1, 1; setp.eq.u32 %p7, %r1, 2; setp.eq.u32 %p8, %r1, 3;
    @%p1 st.shared.u32 [%r20], 1;
    bar.sync 0;
    @%p1 ld.shared.u32 %r6, [%r20];
    @%p6 ld.shared.u32 %r6, [%r20];
    @%p7 ld.shared.u32 %r6, [%r20];
    - @!%p7 bar.warp.sync 11;
    + bar.warp.sync 15;
    @%p8 st.shared.u32 [%r20], 7;""")
MISSED.add("lanes that two overlapping sets do not order", "RAW", threads=4, body="""
    setp.gt.u32 %p7, %r1, 0; setp.lt.u32 %p8, %r1, 3;
    st.shared.u32 [%r10], %r1;
    + bar.warp.sync 15;
    @%p7 bar.warp.sync 14;
    @%p8 bar.warp.sync 7;
    ld.shared.u32 %r6, [%r11];
    st.global.u32 [%rd3], %r6;""")
MISSED.add("the clock of the block has run out", "RAW", body=f"""
    mov.u32 %r30, 0; mov.u32 %r31, 1; shl.b32 %r31, %r31, %r21;
    st.shared.u32 [%r10], 0;
    @!%p2 bra ON;
MORE: {"bar.warp.sync %r31; " * 4}
    add.u32 %r30, %r30, 1; setp.lt.u32 %p6, %r30, 1030; @%p6 bra MORE;
ON: bar.sync 0;
    st.shared.u32 [%r10], %r1;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12];
    st.global.u32 [%rd3], %r6;""")
SENDS = f"@%p1 {STORE} [%rd1], [%r20], 256; @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"
for name, fences in (
    ("a warp fences five times beside the copy", f"bar.sync 0;\n    @!%p2 bra ON;\n    {FENCE * 5}\n    ON:"),
    ("the first lane of each warp fences for its warp", f"@%p3 {FENCE}\n    bar.sync 0;"),
):
    MISSED.add(name, "async proxy without a fence", **AT_GATES, body=f"""
    st.shared.u32 [%r10], %r1;
    + {FENCE}
    {fences}
    {SENDS}""")
MISSED.add("behind a copy to the other block, before its bytes are there", "RAW", **AT_GATES, blocks=2, cluster=2,
    body=made(1) + PEER + f"""
    @%p6 {ARRIVE} [gate], 128;
    @%p2 st.shared.u32 [%r10], %r1;
    @%p2 {FENCE}
    {MEET}
    + @%p6 st.shared::cluster.u32 [%r35+512], 7;
    @%p6 {TO_PEER} [%r35+256], [%r20], 128, [%r37];
    - @%p6 st.shared::cluster.u32 [%r35+512], 7;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT;
    @%p6 ld.shared.u32 %r6, [%r20+512];
    {MEET}""")
MISSED.add("nobody uses what a test of an mbarrier answers", "asynchronous copy", **AT_GATES, body=made(1) + f"""
    @%p6 {ARRIVE} [gate], 256;
    @%p6 {LOAD} [%r20], [%rd2], 256, [gate];
    + TEST:
    mbarrier.test_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra TEST;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
MISSED.add("the stride of a tile that threads have stored", "wgmma descriptor", **GROUP, before=TILE, body=TILES + f"""
    - xor.b64 %rd20, %rd20, 0x0000001800000000;
{FILLED}
    {FENCE}
    bar.sync 0;
    wgmma.fence.sync.aligned;
    {PRODUCT}
    {COMMIT}
    {DONE}
{RESULT}""")
OTHER = f"{PRODUCT.replace('%rd21', '%rd22')} {COMMIT} {DONE} "
MISSED.add("a tile is read, then another one seventeen times", "wgmma in flight", threads=192, target="sm_90a",
    before=f".shared .u32 flag; {TILE}", body=TILES + f"""
    add.u64 %rd22, %rd21, 16; mov.u32 %r32, flag; setp.ge.u32 %p2, %r1, 128; setp.eq.u32 %p6, %r1, 128;
    @%p1 st.shared.u32 [%r32], 0;
    @%p2 bra FULL;
{FILLED}
    @%p8 st.shared.v4.b32 [%r31+2304], {{%r30, %r30, %r30, %r30}};
    {FENCE}
FULL: bar.sync 0;
    @%p2 bra OVER;
    wgmma.fence.sync.aligned;
    {PRODUCT} {COMMIT}
    - bar.arrive 1, 192;
    {DONE}
    + bar.arrive 1, 192;
    {OTHER * 17}
    @%p1 st.relaxed.cta.shared.u32 [%r32], 1;
    bra END;
OVER: ld.relaxed.cta.shared.u32 %r33, [%r32]; setp.ne.u32 %p7, %r33, 1;
    bar.red.or.pred %p7, 2, 64, %p7; @%p7 bra OVER;
    bar.sync 1, 192;
    @%p6 st.shared.u32 [%r20+2048], 0;
END:""")

UNWRITTEN = Planted("missed value", "initcheck", out="out")
UNWRITTEN.add("bits cleared where nothing was written", "uninitialised read", body="""
    + st.shared.u32 [%r10], %r1;
    red.shared.and.b32 [%r10], 1;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
UNWRITTEN.add("a carry", "uninitialised read", body="""
    + st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10];
    add.cc.u32 %r6, %r6, %r1;
    addc.u32 %r7, 0, 0;
    st.global.u32 [%rd3], %r7;""")
UNWRITTEN.add("an access jumps over the gap between two arrays", "array overrun", before=ARRAYS, body="""
    mov.u32 %r13, other; mad.lo.u32 %r13, %r1, 4, %r13;
    st.shared.u32 [%r10], %r1;
    st.shared.u32 [%r13], %r1;
    st.shared.u32 [%r13+256], %r1;
    bar.sync 0;
    - add.u32 %r10, %r10, 5248;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
UNWRITTEN.add("a bulk copy of what was not written", "uninitialised read", before=GATES, target="sm_90", body="""
    @%p1 mbarrier.init.shared.b64 [gate], 1;
    + st.global.u32 [%rd3], %r1;
    fence.proxy.async;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd6, [gate], 256;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [gate];
WAIT: mbarrier.try_wait.parity.shared.b64 %p6, [gate], 0; @!%p6 bra WAIT;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
for name, size in (("a word", "32"), ("its bytes", "8")):
    UNWRITTEN.add(f"padding of a structure, copied by {name}", "uninitialised read", body=f"""
    st.shared.u8 [%r10], %r1;
    + st.shared.u32 [%r10], %r1;
    ld.shared.u{size} %r6, [%r10];
    ld.shared.u8 %r7, [%r10+1];
    st.global.u{size} [%rd3], %r6;
    st.global.u8 [%rd3+1], %r7;""")
MISSED |= UNWRITTEN
