"""Planted races in shared memory, in the notation of `planted_bug.py`."""

from __future__ import annotations

from planted_bug import Planted

SHARED = Planted("shared", "racecheck")
bug = SHARED.add

# fmt: off
bug("another warp's element before a barrier", "RAW", body="""
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("overwritten while another warp still reads", "WAR", body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    st.shared.u32 [%r10], 77; //1
    st.global.u32 [%rd3], %r6;""")
bug("one word stored by two warps", "WAW", one_line=True, body="""
    - @%p3 st.shared.u32 [tile], %r1; //1
    + @%p1 st.shared.u32 [tile], %r1;""")
bug("all lanes store to one word", "WAW", threads=32, one_line=True, body="""
    - st.shared.u32 [tile], %r1; //1
    + st.shared.u32 [%r10], %r1;""")
bug("two lanes of a store share a word", "WAW", threads=32, one_line=True, body="""
    shr.u32 %r6, %r1, 1; mad.lo.u32 %r6, %r6, 4, %r20;
    - st.shared.u32 [%r6], %r1; //1
    + st.shared.u32 [%r10], %r1;""")
bug("two lanes of a 16-byte store share a place", "WAW", threads=32, one_line=True, body="""
    shr.u32 %r6, %r1, 1;
    - mad.lo.u32 %r6, %r6, 16, %r20;
    + mad.lo.u32 %r6, %r1, 16, %r20;
    st.shared.v4.u32 [%r6], {%r1, %r1, %r1, %r1}; //1""")
for trans in ("", ".trans"):
    bug(f"two warps store a matrix that differs in one value{trans}", "WAW", one_line=True, target="sm_90", body=f"""
    mad.lo.u32 %r15, %r21, 16, %r20;
    - setp.eq.u32 %p6, %r1, 45;
    + setp.eq.u32 %p6, %r21, 13;
    selp.u32 %r6, 99, %r21, %p6;
    stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r15], {{%r21, %r6, %r21, %r3}}; //1""")
bug("another lane's element without bar.warp.sync", "RAW", threads=32, body="""
    st.shared.u32 [%r10], %r1; //2
    + bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [%r11]; //1
    st.global.u32 [%rd3], %r6;""")
bug("overwritten while another lane still reads", "WAR", threads=32, body="""
    st.shared.u32 [%r10], %r1;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [%r11]; //2
    + bar.warp.sync 0xffffffff;
    st.shared.u32 [%r10], %r6; //1""")
bug("two lanes store to a word one after the other", "WAW", threads=32, body="""
    setp.eq.u32 %p6, %r21, 1;
    @%p3 st.shared.u32 [tile], 1; //2
    + bar.warp.sync 0xffffffff;
    @%p6 st.shared.u32 [tile], 2; //1""")
bug("stored in a branch, loaded behind it", "RAW", threads=32, body="""
    @!%p3 bra JOIN;
    st.shared.u32 [tile], 7; //2
JOIN:
    + bar.warp.sync 0xffffffff;
    ld.shared.u32 %r6, [tile]; //1
    st.global.u32 [%rd3], %r6;""")
bug("16-byte accesses", "RAW", body="""
    mad.lo.u32 %r13, %r1, 16, %r20; xor.b32 %r6, %r1, 32; mad.lo.u32 %r14, %r6, 16, %r20;
    st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1}; //2
    + bar.sync 0;
    ld.shared.v4.u32 {%r15, %r16, %r17, %r18}, [%r14]; //1
    st.global.u32 [%rd3], %r15;""")

bug("the last word of 16 bytes", "RAW", body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    xor.b32 %r6, %r1, 32;
    mad.lo.u32 %r14, %r6, 16, %r20;
    st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1}; //2
    + bar.sync 0;
    ld.shared.u32 %r15, [%r14+12]; //1
    st.global.u32 [%rd3], %r15;
""")

for _type, _size, _register in (("u8", 1, "%r15"), ("u16", 2, "%r15"), ("u64", 8, "%rd15")):
    bug(f"{_size}-byte accesses", "RAW", body=f"""
    mad.lo.u32 %r13, %r1, {_size}, %r20; xor.b32 %r6, %r1, 32; mad.lo.u32 %r14, %r6, {_size}, %r20;
    mov.{"u64" if _size == 8 else "u32"} {_register}, 3;
    st.shared.{_type} [%r13], {_register}; //2
    + bar.sync 0;
    ld.shared.{_type} {_register}, [%r14]; //1
    {"cvt.u32.u64 %r15, %rd15;" if _size == 8 else ""}
    st.global.u32 [%rd3], %r15;""")
bug("a word of all, stored and loaded", "RAW", body="""
    @%p1 st.shared.u32 [tile+64], %r3; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [tile+64]; //1
    st.global.u32 [%rd3], %r6;""")
bug("through generic addresses", "RAW", body="""
    cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6; cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd7, %rd7;
    st.u32 [%rd6], %r1; //2
    + bar.sync 0;
    ld.u32 %r6, [%rd7]; //1
    st.global.u32 [%rd3], %r6;""")
bug("dynamic memory", "RAW", before=".extern .shared .align 16 .b8 tile[];", shared=256, body="""
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a sum read before all have added", "RAW|WAR", body="""
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    red.shared.add.u32 [tile], 1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [tile]; //1
    st.global.u32 [%rd3], %r6;""")
bug("added to before it is zeroed", "WAW", body="""
    @%p1 st.shared.u32 [tile], 0; //2
    + bar.sync 0;
    red.shared.add.u32 [tile], 1; //1""")
bug("a barrier that counts one warp only", "RAW", body="""
    st.shared.u32 [%r10], %r1; //2
    - bar.sync 1, 32;
    + bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a barrier of other warps", "RAW", threads=96, body="""
    setp.lt.u32 %p6, %r1, 64;
    st.shared.u32 [%r10], %r1; //2
    - @%p6 bar.sync 1, 64;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("arrives before it has stored", "WAR|RAW", body="""
    @%p2 bra CONSUMER;
    + st.shared.u32 [%r10], %r1;
    bar.arrive 1, 64;
    - st.shared.u32 [%r10], %r1; //2
    bra END;
CONSUMER: bar.sync 1, 64;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")
for name, lines in {
    "behind its bar.arrive": "- bar.arrive 1, 96;\n    {}\n    bar.warp.sync -1;\n    + bar.arrive 1, 96;",
    "before it exits": "{}\n    + bar.arrive 1, 96;",
}.items():
    bug(f"what a warp stores {name}, for two that meet later", "RAW", threads=96, body=f"""
    setp.ge.u32 %p2, %r1, 32; @%p2 bra READ;
    {lines.format("st.shared.u32 [%r10], 5; //2")}
    bra END;
READ: bar.sync 2, 64; bar.sync 2, 64;
    {"" if "exits" not in name else "+ "}bar.sync 1, 96;
    ld.shared.u32 %r6, [tile]; //1
    st.global.u32 [%rd3], %r6;
END:""")
bug("the next round overwrites what is being read", "WAR", body="""
    mov.u32 %r7, 0;
ROUND: add.u32 %r8, %r1, %r7;
    st.shared.u32 [%r10], %r8; //1
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 3; @%p6 bra ROUND;
    st.global.u32 [%rd3], %r6;""")
bug("a sum in a tree without barriers", "RAW|WAR", threads=128, body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    shr.u32 %r7, %r3, 1;
LEVEL: setp.ge.u32 %p6, %r1, %r7; @%p6 bra NEXT;
    mad.lo.u32 %r8, %r7, 4, %r10;
    ld.shared.u32 %r6, [%r8]; //1
    ld.shared.u32 %r9, [%r10];
    add.u32 %r9, %r9, %r6;
    st.shared.u32 [%r10], %r9; //2
NEXT:
    + bar.sync 0;
    shr.u32 %r7, %r7, 1; setp.gt.u32 %p6, %r7, 0; @%p6 bra LEVEL;""")
bug("a flag stored plainly", "RAW", body="""
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    @!%p2 bra WAIT;
    - @%p1 st.shared.u32 [tile], 1; //2
    + @%p1 st.volatile.shared.u32 [tile], 1;
    bra END;
WAIT: ld.volatile.shared.u32 %r6, [tile]; //1
    setp.eq.u32 %p6, %r6, 0; @%p6 bra WAIT;
END:""")
bug("a flag without a fence", "RAW", body="""
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    @!%p2 bra WAIT;
    @%p1 st.shared.u32 [tile+64], 9; //2
    + membar.cta;
    @%p1 st.volatile.shared.u32 [tile], 1;
    bra END;
WAIT: ld.volatile.shared.u32 %r6, [tile];
    setp.eq.u32 %p6, %r6, 0; @%p6 bra WAIT;
    ld.shared.u32 %r7, [tile+64]; //1
    st.global.u32 [%rd3], %r7;
END:""")
bug("matrix loaded before all rows are stored", "RAW", body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1}; //2
    + bar.sync 0;
    xor.b32 %r6, %r1, 32; mad.lo.u32 %r14, %r6, 16, %r20;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r14]; //1
    st.global.u32 [%rd3], %r15;""")
bug("another warp's asynchronous copy", "RAW", body="""
    mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd2, %rd6;
    cp.async.ca.shared.global [%r10], [%rd6], 4; //2
    cp.async.commit_group;
    cp.async.wait_group 0;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("an asynchronous copy over what is still read", "WAR", body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 0;
    cp.async.ca.shared.global [%r10], [%rd2], 4; //1
    cp.async.wait_all;
    st.global.u32 [%rd3], %r6;""")
bug("a warp that has not waited raises the flag of another", "RAW", threads=96, body="""
    @%p1 st.shared.u32 [%r20+2048], 0;
    bar.sync 0;
    setp.gt.u32 %p6, %r1, 63; @%p6 bra READ;
    @!%p2 bra RAISE;
    st.shared.u32 [%r10], %r1; //2
    membar.cta;
    + bar.sync 1, 64;
    bra END;
RAISE:
    + bar.sync 1, 64;
    @%p3 st.volatile.shared.u32 [%r20+2048], 1;
    bra END;
READ: ld.volatile.shared.u32 %r7, [%r20+2048];
    setp.eq.u32 %p7, %r7, 0; @%p7 bra READ;
    ld.shared.u32 %r6, [%r12]; //1
END: mov.u32 %r7, 0;""")

# -- lanes of a warp ---------------------------------------------------------------------------------------------------

for _some in (2, 3, 16, 31, 32):
    bug(f"{_some} lanes count one word up", "WAR", threads=32, body=f"""
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    setp.lt.u32 %p6, %r1, {_some};
    @%p6 ld.shared.u32 %r6, [tile]; //2
    + bar.warp.sync -1;
    add.u32 %r6, %r6, 1;
    @%p6 st.shared.u32 [tile], %r6; //1""")
    bug(f"{_some} lanes count one word up in a branch", "WAR", threads=32, body=f"""
    @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    - setp.ge.u32 %p6, %r1, {_some};
    + setp.ge.u32 %p6, %r1, 1;
    @%p6 bra END;
    ld.shared.u32 %r6, [tile]; //2
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6; //1
END:""")


def across(name: str, *, synchronize: str, lane: str) -> None:
    """Lanes store, synchronize, and read what the lane `lane` away has stored, which must have synchronized, too."""
    bug(name, "RAW", body=f"""
    st.shared.u32 [%r10], %r3;
    bar.warp.sync -1;
    st.shared.u32 [%r10], %r1; //2
    {synchronize}
    {lane}
    mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13]; //1
    selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4;
    bar.warp.sync %r7;
    st.global.u32 [%rd3], %r6;""")


TILES = "and.b32 %r7, %r21, 28; mov.u32 %r8, 15; shl.b32 %r8, %r8, %r7; bar.warp.sync %r8;"
across("each half of a warp by itself, read from the other", lane="- xor.b32 %r5, %r1, 16;\n + xor.b32 %r5, %r1, 9;",
       synchronize="selp.b32 %r7, 0x0000ffff, 0xffff0000, %p4; bar.warp.sync %r7;")
across("one half synchronizes, and reads from the other", lane="xor.b32 %r5, %r1, 16;",
       synchronize="- @%p4 bar.warp.sync 0xffff;\n + bar.warp.sync -1;")
across("tiles of four within a warp, read across", synchronize=TILES,
       lane="- xor.b32 %r5, %r1, 4;\n + xor.b32 %r5, %r1, 3;")
bug("a shuffle of the lanes that are left", "RAW", body="""
    setp.gt.u32 %p6, %r21, 19; @%p6 bra END;
    st.shared.u32 [%r10], %r1; //2
    activemask.b32 %r7;
    + shfl.sync.idx.b32 %r8, %r1, 0, 31, %r7;
    xor.b32 %r5, %r1, 1; mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13]; //1
    st.global.u32 [%rd3], %r6;
END:""")
bug("one set of lanes learns of another through a third", "RAW", body="""
    st.shared.u32 [%r10], %r1; //2
    @!%p4 bra A;
    + bar.warp.sync 0x0000ffff;
A: setp.lt.u32 %p6, %r21, 8; @%p6 bra B;
    setp.gt.u32 %p6, %r21, 23; @%p6 bra B;
    bar.warp.sync 0x00ffff00;
    sub.u32 %r5, %r10, 64; setp.gt.u32 %p6, %r21, 15;
    @%p6 ld.shared.u32 %r6, [%r5]; //1
B: st.global.u32 [%rd3], %r1;""")

# -- barriers ----------------------------------------------------------------------------------------------------------

for _side in ("%p4", "%p2"):
    bug(f"barrier.sync from two places, {_side}", "RAW", body=f"""
    st.shared.u32 [%r10], %r1; //2
    @{_side} bra A;
    + barrier.sync 0;
    bra B;
A:
    + barrier.sync 0;
B:
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a warp exits, the others synchronize", "RAW", threads=96, body="""
    setp.gt.u32 %p6, %r1, 63; @%p6 exit;
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    xor.b32 %r5, %r1, 32; mad.lo.u32 %r13, %r5, 4, %r20;
    ld.shared.u32 %r6, [%r13]; //1
    bar.sync 0;
    st.global.u32 [%rd3], %r6;""")
bug("a barrier in turn", "WAR", body="""
    st.shared.u32 [%r10], 1;
    bar.sync 1;
    ld.shared.u32 %r6, [%r12]; //2
    + bar.sync 2;
    st.shared.u32 [%r10], 2; //1
    bar.red.popc.u32 %r7, 3, %p2;
    ld.shared.u32 %r6, [%r12];""")

# -- accesses of other sizes and kinds ---------------------------------------------------------------------------------

bug("vectors that overlap", "WAW", body="""
    shl.b32 %r7, %r1, 3; add.u32 %r7, %r7, %r20; and.b32 %r8, %r1, 1; setp.eq.u32 %p6, %r8, 0;
    st.shared.v2.u32 [%r7], {%r1, %r1}; //2
    + bar.warp.sync -1;
    @%p6 st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1}; //1""")
bug("bytes side by side", "RAW", body="""
    add.u32 %r7, %r20, %r1;
    st.shared.u8 [%r7], %r1; //2
    + bar.sync 0;
    shl.b32 %r8, %r21, 1; and.b32 %r8, %r8, 60; add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a byte of a word", "WAW", body="""
    st.shared.u32 [%r10], %r1; //2
    + bar.sync 0;
    st.shared.u8 [%r12+2], 7; //1""")
bug("a generic store, a shared load", "RAW", body="""
    cvt.u64.u32 %rd5, %r10; cvta.shared.u64 %rd6, %rd5;
    st.u32 [%rd6], %r1; //2
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a matrix read as soon as it is stored", "RAW", body="""
    mov.f32 %f1, 0f3F800000; @!%p2 bra A;
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}; //2
A:
    + bar.sync 0;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("an atomic operation, then a plain store", "WAW", body="""
    st.shared.u32 [%r10], 0;
    bar.sync 0;
    atom.shared.add.u32 %r7, [tile], 1; //2
    + bar.sync 0;
    @%p1 st.shared.u32 [tile], 9; //1""")
bug("threads do not store the same", "WAW", one_line=True, body="""
    - st.shared.u32 [tile], %r1; //1
    + st.shared.u32 [tile], 1;""")

# -- locks, flags and counters: [tile+2048] ----------------------------------------------------------------------------

FREE = "@%p1 st.shared.u32 [tile+2048], 0; @%p1 st.shared.u32 [tile], 0; bar.sync 0;"


def lock(name: str, take: str, give: str, *, taken: str = "", before: str = "") -> None:
    """The first lane of each warp counts under a lock, which it has when `take` puts 0 into %r7."""
    bug(name, "RAW|WAR|WAW", body=f"""
    {FREE}
    @!%p3 bra END;
LOCK:
    {take}
    setp.ne.u32 %p6, %r7, 0; @%p6 bra LOCK;
    {taken}
    ld.shared.u32 %r6, [tile]; //1
    add.u32 %r6, %r6, 1;
    st.shared.u32 [tile], %r6; //2
    {before}
    {give}
END:""")


CAS, EXCH = "atom.shared.cas.b32 %r7, [tile+2048], 0, 1;", "atom.shared.exch.b32 %r7, [tile+2048], 0;"
lock("a lock without fences", CAS, EXCH, taken="+ membar.cta;", before="+ membar.cta;")
lock("a lock taken without a fence", CAS, EXCH, taken="+ membar.cta;", before="membar.cta;")
RELAXED, ACQUIRE = (CAS.replace(".shared", f".{order}.cta.shared") for order in ("relaxed", "acquire"))
lock("a relaxed lock without fences", RELAXED, "st.relaxed.cta.shared.u32 [tile+2048], 0;",
     taken="+ fence.acq_rel.cta;", before="+ fence.acq_rel.cta;")
lock("a lock that acquires and releases nothing", f"- {RELAXED}\n + {ACQUIRE}",
     "- st.relaxed.cta.shared.u32 [tile+2048], 0;\n + st.release.cta.shared.u32 [tile+2048], 0;")


def flag(name: str, store: str, load: str, fence: str = "") -> None:
    """Warp 0 stores its elements and then, by `store`, a flag; warp 1 sees it by `load` and reads the elements."""
    bug(name, "RAW", body=f"""
    {FREE}
    @!%p2 bra WAIT;
    st.shared.u32 [%r10], %r1; //2
    bar.warp.sync -1;
    {fence}
    {store}
    bra END;
WAIT:
    {load}
    setp.eq.u32 %p6, %r7, 0; @%p6 bra WAIT;
    {fence}
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:""")


SET, SEE = "@%p1 st.relaxed.cta.shared.u32 [tile+2048], 1;", "ld.relaxed.cta.shared.u32 %r7, [tile+2048];"
flag("a relaxed flag without fences", SET, SEE, "+ fence.acq_rel.cta;")
flag("a flag set by red without fences", "@%p1 red.shared.add.u32 [tile+2048], 1;", SEE, "+ fence.acq_rel.cta;")
flag("a flag that releases and acquires nothing", f"- {SET}\n + {SET.replace('relaxed', 'release')}",
     f"- {SEE}\n + {SEE.replace('relaxed', 'acquire')}")
bug("a counter of arrivals that releases nothing", "RAW", body=f"""
    {FREE}
    st.shared.u32 [%r10], %r1; //2
    - atom.relaxed.cta.shared.add.u32 %r7, [tile+2048], 1;
    + atom.release.cta.shared.add.u32 %r7, [tile+2048], 1;
WAIT: ld.acquire.cta.shared.u32 %r7, [tile+2048];
    setp.lt.u32 %p6, %r7, 64; @%p6 bra WAIT;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
