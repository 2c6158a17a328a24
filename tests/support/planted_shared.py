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
