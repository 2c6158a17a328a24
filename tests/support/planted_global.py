"""Planted races in global memory, of threads and of blocks, in the notation of `planted_bug.py`."""

from __future__ import annotations

from planted_bug import TILE, Planted

GLOBAL = Planted("global", "racecheck")
bug = GLOBAL.add

# fmt: off
bug("one word stored by two blocks", "WAW", blocks=3, one_line=True, body="""
    - @%p1 st.global.u32 [%rd1], %r2; //1
    + @%p1 st.global.u32 [%rd3], %r2;""")
bug("every block stores the same elements", "WAW", blocks=2, one_line=True, body="""
    - st.global.u32 [%rd11], %r2; //1
    + st.global.u32 [%rd3], %r2;""")
bug("another block's element", "RAW|WAR", blocks=2, body="""
    st.global.u32 [%rd3], %r1; //2
    - ld.global.u32 %r6, [%rd12]; //1
    + ld.global.u32 %r6, [%rd3];
    st.shared.u32 [%r10], %r6;""")
bug("another warp's element before a barrier", "RAW", body="""
    st.global.u32 [%rd3], %r1; //2
    + bar.sync 0;
    xor.b32 %r6, %r1, 32; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //1
    st.shared.u32 [%r10], %r7;""")
bug("overwritten while another warp still reads", "WAR", body="""
    xor.b32 %r6, %r1, 32; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //2
    + bar.sync 0;
    st.global.u32 [%rd3], %r7; //1""")
bug("another lane's element without bar.warp.sync", "RAW", threads=32, body="""
    st.global.u32 [%rd3], %r1; //2
    + bar.warp.sync 0xffffffff;
    xor.b32 %r6, %r1, 1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6;
    ld.global.u32 %r7, [%rd6]; //1
    st.shared.u32 [%r10], %r7;""")
bug("all lanes store to one word", "WAW", threads=32, one_line=True, body="""
    - st.global.u32 [%rd1], %r1; //1
    + st.global.u32 [%rd3], %r1;""")
bug("a counter that is not atomic", "RAW|WAR", threads=1, blocks=3, body="""
    - ld.global.u32 %r6, [%rd1]; //1
    - add.u32 %r6, %r6, 1;
    - st.global.u32 [%rd1], %r6; //2
    + red.global.add.u32 [%rd1], 1;""")
bug("a sum that takes the place of what is added", "RAW|WAR", threads=1, blocks=3, body="""
    - ld.global.u32 %r6, [%rd1]; //1
    - add.u32 %r22, %r6, %r22;
    - st.global.u32 [%rd1], %r22; //2
    + red.global.add.u32 [%rd1], %r22;""")
bug("a sum read while blocks still add", "RAW|WAR", threads=32, blocks=2, body="""
    - red.global.add.u32 [%rd1], 1; //2
    - ld.global.u32 %r6, [%rd1]; //1
    + atom.global.add.u32 %r6, [%rd1], 1;
    st.shared.u32 [%r10], %r6;""")
bug("a flag without a fence", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    st.global.u32 [%rd1+8], 9; //2
    + fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [%rd1+4], 1;
    bra END;
WAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
    fence.acq_rel.gpu;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("a flag polled without a fence after it", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    st.global.u32 [%rd1+8], 9; //2
    st.release.gpu.global.u32 [%rd1+4], 1;
    bra END;
WAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
    + fence.acq_rel.gpu;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("a flag that is released, data after it", "RAW|WAR", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    + st.global.u32 [%rd1+8], 9;
    st.release.gpu.global.u32 [%rd1+4], 1;
    - st.global.u32 [%rd1+8], 9; //2
    bra END;
WAIT: ld.acquire.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("a flag stored plainly", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    - st.global.u32 [%rd1+4], 1; //2
    + st.volatile.global.u32 [%rd1+4], 1;
    bra END;
WAIT: ld.volatile.global.u32 %r6, [%rd1+4]; //1
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
END:""")
bug("the last block sums without a fence", "RAW", threads=1, blocks=3, body="""
    st.global.u32 [%rd3+16], %r2; //2
    + membar.gl;
    atom.global.inc.u32 %r6, [%rd1], 99;
    setp.ne.u32 %p6, %r6, 7; @%p6 bra END;
    ld.global.u32 %r7, [%rd1+16]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("a lock given back without a fence", "RAW|WAR|WAW", threads=1, blocks=3, body="""
LOCK: atom.global.cas.b32 %r6, [%rd1+4], 5, 1;
    setp.ne.u32 %p6, %r6, 5; @%p6 bra LOCK;
    membar.gl;
    ld.global.u32 %r7, [%rd1]; //1
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd1], %r7; //2
    + membar.gl;
    atom.global.exch.b32 %r6, [%rd1+4], 5;""")
bug("a variable of the module", "WAW", blocks=2, one_line=True,
    before=TILE + "\n.global .align 4 .u32 shared_by_all;", body="""
    mov.u64 %rd6, shared_by_all;
    - @%p1 st.global.u32 [%rd6], %r2; //1
    + @%p1 red.global.add.u32 [%rd6], %r2;""")
bug("16-byte stores that overlap others", "WAW", threads=16, one_line=True, body="""
    - mul.wide.u32 %rd6, %r4, 8;
    + mul.wide.u32 %rd6, %r4, 16;
    - and.b64 %rd6, %rd6, -16;
    add.u64 %rd6, %rd1, %rd6;
    st.global.v4.u32 [%rd6], {%r1, %r1, %r1, %r1}; //1""")
bug("a halo of two blocks", "WAW", threads=1, blocks=2, body="""
    mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd1, %rd6;
    st.global.u32 [%rd6], %r2; //2
    - st.global.u32 [%rd6+4], %r2; //1
    + st.global.u32 [%rd6+8], %r2;""")
bug("bytes through generic addresses", "RAW", body="""
    cvt.u64.u32 %rd6, %r1; add.u64 %rd6, %rd1, %rd6; xor.b32 %r6, %r1, 32; cvt.u64.u32 %rd7, %r6;
    add.u64 %rd7, %rd1, %rd7;
    st.u8 [%rd6], %r1; //2
    + bar.sync 0;
    ld.u8 %r7, [%rd7]; //1
    st.shared.u32 [%r10], %r7;""")

LAST = """
    @%p1 atom.global.add.u32 %r8, [%rd1+512], 1;
    @%p1 st.shared.u32 [%r20], %r8;
    bar.sync 0;
    ld.shared.u32 %r8, [%r20];
    setp.ne.u32 %p6, %r8, 6; @%p6 bra END;
    ld.global.u32 %r6, [%rd12]; //1
END: mov.u32 %r7, 0;
"""
"""Thread 0 takes a ticket (the first is 5); the last of two blocks reads what the other one has stored."""

bug("the last block's ticket is taken without a barrier", "RAW", blocks=2, body="""
    st.global.u32 [%rd3], %r1; //2
    membar.gl;
    + bar.sync 0;
""" + LAST)
bug("lane 0 takes the ticket of its warp before the others have stored", "RAW", blocks=2, threads=32, body="""
    st.global.u32 [%rd3], %r1; //2
    membar.gl;
    + bar.warp.sync 0xffffffff;
""" + LAST.replace("+512", "+256"))
bug("only the lanes that have synchronized are covered by the ticket", "RAW", blocks=2, threads=32, body="""
    st.global.u32 [%rd3], %r1; //2
    membar.gl;
    - @%p4 bar.warp.sync 0xffff;
    + bar.warp.sync 0xffffffff;
""" + LAST.replace("+512", "+256"))
bug("only thread 0 waits for the flag", "RAW", blocks=2, body="""
    @!%p5 bra WAIT;
    st.global.u32 [%rd3], %r1; //2
    membar.gl;
    bar.sync 0;
    @%p1 st.volatile.global.u32 [%rd1+512], 7;
    bra END;
WAIT: @!%p1 bra ON;
AGAIN: ld.acquire.gpu.global.u32 %r6, [%rd1+512];
    setp.ne.u32 %p6, %r6, 7; @%p6 bra AGAIN;
    ON:
    + bar.sync 0;
    ld.global.u32 %r6, [%rd12]; //1
    st.global.u32 [%rd3], %r6;
    END:""")
bug("thread 0's fence comes before the barrier", "RAW", blocks=2, body="""
    st.global.u32 [%rd3], %r1; //2
    - @%p1 membar.gl;
    bar.sync 0;
    + @%p1 membar.gl;
""" + LAST)
bug("the last block's ticket is taken without any fence", "RAW", blocks=2, body="""
    st.global.u32 [%rd3], %r1; //2
    + membar.gl;
    bar.sync 0;
""" + LAST)
bug("another block's flag, seen by a warp that no barrier joins", "RAW", blocks=2, threads=96, body="""
    @!%p5 bra SEES;
    st.global.u32 [%rd11+64], %r1; //2
    bar.sync 0;
    @%p1 st.release.gpu.global.u32 [%rd2], 77;
    bra END;
SEES: @!%p2 bra OTHERS;
POLL: ld.acquire.gpu.global.u32 %r6, [%rd2]; setp.ne.u32 %p7, %r6, 77; @%p7 bra POLL;
    + bar.sync 3, 96;
    bra END;
OTHERS: bar.sync 2, 64; bar.sync 2, 64;
    + bar.sync 3, 96;
    ld.global.u32 %r7, [%rd11+64]; //1
    st.shared.u32 [%r10], %r7;
END:""")
