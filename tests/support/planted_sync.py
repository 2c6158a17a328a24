"""Planted misuse of barriers, lane masks and shuffles, in the notation of `planted_bug.py`."""

from __future__ import annotations

from planted_bug import Planted

BARRIERS = Planted("barrier", "synccheck")
MASKS = Planted("mask", "synccheck")
SHUFFLES = Planted("shuffle", "synccheck")

# fmt: off
# -- barriers ----------------------------------------------------------------------------------------------------------

BARRIERS.add("in a branch of half a warp", "divergent barrier", threads=32, body="""
    - @!%p4 bra SKIP;
    bar.sync 0; //1
SKIP: st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("with a guard of half a warp", "divergent barrier", threads=32, body="""
    - @%p4 bar.sync 0; //1
    + bar.sync 0;
    st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("one in each branch", "divergent barrier", threads=32, body="""
    - @%p4 bra OTHER;
    bar.sync 0; //2
    st.global.u32 [%rd3], 1;
    - bra END;
    - OTHER:
    - bar.sync 0; //1
    - st.global.u32 [%rd3], 2;
    - END:
    - mov.u32 %r6, 0;""")
BARRIERS.add("lanes go round a different number of times", "divergent barrier", threads=32, body="""
    - and.b32 %r7, %r1, 3;
    + mov.u32 %r7, 3;
ROUND: bar.sync 0; //1
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
    st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("a round that some lanes skip", "divergent barrier", threads=32, body="""
    mov.u32 %r7, 0;
ROUND: add.u32 %r8, %r21, %r7; and.b32 %r8, %r8, 1;
    - setp.eq.u32 %p6, %r8, 0;
    + setp.eq.u32 %p6, %r7, 0;
    @%p6 bra NEXT;
    bar.sync 0; //1
NEXT: add.u32 %r7, %r7, 1; //2
    setp.lt.u32 %p7, %r7, 2; @%p7 bra ROUND;""")
BARRIERS.add("barrier.sync.aligned of half a warp", "divergent barrier", threads=32, body="""
    - @!%p4 bra SKIP;
    barrier.sync.aligned 0; //1
SKIP: st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("a vote of the block in a branch", "divergent barrier", threads=32, body="""
    - @!%p4 bra SKIP;
    bar.red.popc.u32 %r6, 0, %p1; //1
SKIP: st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("an arrival of half a warp", "divergent barrier", threads=32, body="""
    - @%p4 bar.arrive 1, 64; //1
    + bar.arrive 1, 64;
    st.global.u32 [%rd3], %r1; //2""")
BARRIERS.add("threads past the end have exited", "barrier after exit", body="""
    setp.ge.u32 %p6, %r1, 40;
    - @%p6 exit;
    bar.sync 0; //1
    + @%p6 exit;
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("threads return from a branch", "barrier after exit", body="""
    setp.lt.u32 %p6, %r1, 40;
    - @%p6 bra GO;
    - st.global.u32 [%rd3], 0;
    - ret;
    - GO:
    bar.sync 0; //1
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("the other half exits", "barrier after exit", threads=32, body="""
    - @%p4 bra GO;
    - exit;
    - GO:
    bar.sync 0; //1
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("half a warp exits before a loop", "barrier after exit", body="""
    - @!%p4 exit;
    + @!%p2 exit;
    mov.u32 %r7, 3;
ROUND: bar.sync 0; //1
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("warps disagree on the count", "barrier count", body="""
    @%p2 bra OTHER;
    - bar.sync 1, 32; //1
    - bra END;
OTHER: bar.sync 1, 64; //2
END:""")
BARRIERS.add("a count against all threads", "barrier count", body="""
    @%p2 bra OTHER;
    - bar.sync 1; //1
    - bra END;
OTHER: bar.sync 1, 64; //2
END:""")
BARRIERS.add("a loop that warps leave after different rounds", "divergent block", body="""
    shr.u32 %r7, %r1, 5;
    - add.u32 %r7, %r7, 1;
    + mov.u32 %r7, 2;
ROUND: bar.sync 0; //1
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
    bar.sync 0; //2
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("a loop that a warp leaves to exit", "divergent block", body="""
    shr.u32 %r7, %r1, 5;
    - add.u32 %r7, %r7, 1;
    + mov.u32 %r7, 2;
ROUND: bar.sync 0; //1
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("a warp leaves an unrolled loop to exit", "divergent block", body="""
    - not.pred %p6, %p2;
    + setp.gt.u32 %p6, %r1, 63;
    .loc 1 7 9
    bar.sync 0;
    .loc 1 8 9
    @%p6 exit;
    st.global.u32 [%rd3], %r1;
    .loc 1 7 9
    bar.sync 0; //1
    .loc 1 8 9
    @%p6 exit;
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("a warp exits before its last round", "divergent block", body="""
    mov.u32 %r7, 3;
ROUND: bar.sync 0; //1
    - setp.eq.and.u32 %p6, %r7, 2, %p2;
    - @%p6 exit;
    bar.sync 0;
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("a loop that a warp without work skips", "divergent block", body="""
    mov.u32 %r7, 2;
    - @%p2 bra DONE;
ROUND: bar.sync 0; //1
    sub.u32 %r7, %r7, 1; setp.gt.s32 %p6, %r7, 0; @%p6 bra ROUND;
DONE: bar.sync 0; //2
    st.global.u32 [%rd3], %r1;""")
BARRIERS.add("each warp in a branch of its own", "divergent block", body="""
    - @%p2 bra OTHER;
    bar.sync 0; //1
    st.global.u32 [%rd3], 1;
    - bra END;
    - OTHER:
    - bar.sync 0; //2
    - st.global.u32 [%rd3], 2;
    - END:
    mov.u32 %r6, 0;""")
BARRIERS.add("one warp asks for a vote, the other does not", "divergent block", body="""
    - @%p2 bra OTHER;
    bar.red.popc.u32 %r6, 0, %p1; //1
    - bra END;
    - OTHER:
    - bar.sync 0; //2
    - END:
    st.global.u32 [%rd3], %r1;""")

# -- two groups, or two phases, at one barrier -------------------------------------------------------------------------

APART = Planted("shared barrier", "synccheck", threads=128)
"""Warps arrive at a barrier with a count, and nothing makes them come after those of its phase before."""
PAIRS = "setp.lt.u32 %p2, %r1, 64; shr.u32 %r30, %r1, 6; add.u32 %r30, %r30, 1; st.shared.u32 [%r10], %r1;"
for _name, _there in {
    "bar.sync": "bar.sync %r30, 64;", "barrier.sync": "barrier.sync %r30, 64;",
    "bar.red": "bar.red.popc.u32 %r7, %r30, 64, %p1;",
}.items():
    APART.add(f"{_name} of two pairs of warps", "barrier shared", one_line=True, body=f"""
    {PAIRS}
    - mov.u32 %r30, 1;
    {_there} //1""")
for _name, _between in {
    "a barrier of all": "+ bar.sync 0;", "an mbarrier": """
    @%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    @%p2 bra END;
    + TOLD: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra TOLD;""", "a flag": """
    setp.eq.u32 %p6, %r1, 32;
    @%p6 fence.acq_rel.cta;
    @%p6 st.relaxed.cta.shared.u32 [flag], 1;
    @%p2 bra END;
    + POLL: ld.acquire.cta.shared.u32 %r6, [flag];
    + setp.eq.u32 %p6, %r6, 0; @%p6 bra POLL;""",
}.items():
    APART.add(f"one pair after the other, {_name} between", "barrier shared", target="sm_90",
        before=".shared .align 8 .b64 gate;\n.shared .align 4 .u32 flag;\n.shared .align 16 .b8 tile[4096];", body=f"""
    {PAIRS}
    @%p1 mbarrier.init.shared::cta.b64 [gate], 64;
    @%p1 st.shared.u32 [flag], 0;
    bar.sync 2;
    @%p2 bar.sync 1, 64; //2
    {_between}
    @!%p2 bar.sync 1, 64; //1
END:""")
APART.add("a pair, then all", "barrier shared", body=f"""
    {PAIRS}
    - @%p2 bar.sync 0, 64; //2
    + @%p2 bar.sync 1, 64;
    bar.sync 0; //1""")
APART.add("arrived at twice, without an answer", "barrier shared", threads=64, body="""
    mov.u32 %r30, 0;
ROUND: @!%p2 bra READS;
    bar.arrive 1, 64; //1
    + bar.sync 2, 64;
    bra NEXT;
READS: bar.sync 1, 64; //2
    + bar.arrive 2, 64;
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;""")

# -- masks -------------------------------------------------------------------------------------------------------------

for _name, _line in {
    "shuffle": "shfl.sync.bfly.b32 %r6, %r1, 1, 31, MASK;", "vote": "vote.sync.ballot.b32 %r6, %p1, MASK;",
    "bar.warp.sync": "bar.warp.sync MASK;", "redux": "redux.sync.add.s32 %r6, %r1, MASK;",
    "match": "match.any.sync.b32 %r6, %r1, MASK;",
}.items():
    _all, _lower = _line.replace("MASK", "0xffffffff"), _line.replace("MASK", "0x0000ffff")
    MASKS.add(f"a {_name} that leaves out executing lanes", "mask omits lane", threads=32, body=f"""
    - {_lower} //1
    + {_all}""")
    MASKS.add(f"a {_name} that names exited lanes", "mask names exited lane", threads=32, body=f"""
    @!%p4 exit;
    - {_all} //1
    + {_lower}""")
    MASKS.add(f"a {_name} that names lanes which exit while it waits", "mask names exited lane", threads=32, body=f"""
    @!%p4 bra END;
    - {_all} //1
    + {_lower}
END: mov.u32 %r7, 0;""")

# -- shuffles ----------------------------------------------------------------------------------------------------------

SHUFFLES.add("clamp 32 instead of 31", "shuffle range", threads=32, body="""
    - shfl.sync.idx.b32 %r6, %r1, 5, 32, 0xffffffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 5, 31, 0xffffffff;""")
SHUFFLES.add("a lane that the block does not have", "shuffle source", threads=20, body="""
    - shfl.sync.down.b32 %r6, %r1, 16, 31, 0x000fffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 0, 31, 0x000fffff;""")
SHUFFLES.add("from a lane that the mask does not name", "shuffle source", threads=32, body="""
    @!%p4 bra END;
    - shfl.sync.idx.b32 %r6, %r1, 20, 31, 0x0000ffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 10, 31, 0x0000ffff;
END: mov.u32 %r7, 0;""")
SHUFFLES.add("exchanged with the half that went elsewhere", "shuffle source", threads=32, body="""
    @!%p4 bra END;
    - shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0x0000ffff; //1
    + shfl.sync.bfly.b32 %r6, %r1, 8, 31, 0x0000ffff;
END: mov.u32 %r7, 0;""")
SHUFFLES.add("from a lane that has exited", "shuffle source", threads=32, body="""
    setp.gt.u32 %p6, %r21, 29;
    @%p6 exit;
    - shfl.sync.idx.b32 %r6, %r1, 31, 31, 0x3fffffff; //1
    + shfl.sync.idx.b32 %r6, %r1, 29, 31, 0x3fffffff;""")
SHUFFLES.add("the halves exchange in two places", "shuffle source", threads=32, body="""
    @!%p4 bra HIGH;
    - shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0x0000ffff; //1
    + shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0xffffffff;
    bra END;
HIGH:
    - shfl.sync.bfly.b32 %r6, %r1, 8, 31, 0xffff0000;
    + shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0xffffffff;
END: mov.u32 %r7, 0;""")
