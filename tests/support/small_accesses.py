"""Small kernels with accesses of every width, through every kind of address.

What the registers hold is said in `small_kernels.py`.
"""

from __future__ import annotations

from small_kernels import RAW, WAW, Kernels

ACCESSES = Kernels()
clean, wrong = ACCESSES.clean, ACCESSES.wrong

ROW = """
    shl.b32 %r7, %r1, 4; add.u32 %r7, %r7, %r20;
"""
"""%r7 is the thread's row of 16 bytes in the tile."""
GENERIC = """
    cvt.u64.u32 %rd5, %r10; cvta.shared.u64 %rd6, %rd5; cvt.u64.u32 %rd7, %r12;
    cvta.shared.u64 %rd8, %rd7;
"""
"""%rd6 and %rd8 are the generic addresses of %r10 and %r12."""
TWICE = """
.func (.reg .u32 %o) twice(.reg .u32 %i)
{
    .reg .b32 %q; .local .align 4 .b8 m[8]; .reg .b64 %a;
    mov.u64 %a, m;
    st.local.u32 [%a], %i;
    ld.local.u32 %q, [%a];
    add.u32 %o, %q, %q;
    ret;
}
"""

# fmt: off
clean("own slot", body="""
    st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [%r10], %r6;
    ld.shared.u32 %r6, [%r10]; st.global.u32 [%rd3], %r6;
    ld.global.u32 %r7, [%rd3];
""")
clean("vectors", body=ROW + """
    st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    xor.b32 %r8, %r1, 33; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r20;
    ld.shared.v2.u32 {%r6, %r9}, [%r8+8]; st.global.u32 [%rd3], %r6;
""")
wrong("vectors that overlap", WAW, body="""
    shl.b32 %r7, %r1, 3; add.u32 %r7, %r7, %r20; and.b32 %r8, %r1, 1; setp.eq.u32 %p5, %r8, 0;
    st.shared.v2.u32 [%r7], {%r1, %r1};
    @%p5 st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
""")
wrong("middle of a vector", RAW, body=ROW + """
    st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};
    xor.b32 %r8, %r1, 32; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8+8]; st.global.u32 [%rd3], %r6;
""")
clean("bytes side by side", body="""
    add.u32 %r7, %r20, %r1;
    st.shared.u8 [%r7], %r1;
    bar.sync 0;
    shl.b32 %r8, %r21, 1; and.b32 %r8, %r8, 60; add.u32 %r8, %r8, %r20;
    ld.shared.u32 %r6, [%r8]; st.global.u32 [%rd3], %r6;
""")
wrong("a byte of a word", WAW, body="""
    st.shared.u32 [%r10], %r1;
    st.shared.u8 [%r12+2], 7;
""")
wrong("generic store, shared load", RAW, body=GENERIC + """
    st.u32 [%rd6], %r1;
    ld.shared.u32 %r6, [%r12];
    st.u32 [%rd3], %r6;
""")
clean("local memory", body="""
    .local .align 4 .b8 mine[64];
    mov.u32 %r7, mine;
    st.local.u32 [%r7], %r1;
    st.local.u32 [%r7+4], %r1;
    ld.local.u32 %r6, [%r7]; st.global.u32 [%rd3], %r6;
""")
clean("generic local memory", body="""
    .local .align 4 .b8 mine[64];
    mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5;
    st.u32 [%rd6], %r1;
    ld.u32 %r6, [%rd6]; st.global.u32 [%rd3], %r6;
""")
clean("functions and frames", before=TWICE, body="""
    call.uni (%r6), twice, (%r1); st.global.u32 [%rd3], %r6;
""")
wrong("wmma store read at once", RAW, body="""
    mov.f32 %f1, 0f3F800000; @!%p2 bra A;
    wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};
A: ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""")
wrong("a halo of two blocks", WAW, blocks=2, threads=1, body="""
    mul.wide.u32 %rd5, %r2, 4; add.u64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r2;
    st.global.u32 [%rd6+4], %r2;
""")
