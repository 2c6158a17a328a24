"""Planted reads of memory that has not been written, in the notation of `planted_bug.py`."""

from __future__ import annotations

from typing import Any

from planted_bug import Planted

UNWRITTEN = Planted("unwritten", "initcheck")


def bug(name: str, *, body: str, **options: Any) -> None:
    """An uninitialised read."""
    UNWRITTEN.add(name, "uninitialised read", body=body, **options)


# fmt: off
bug("shared memory", body="""
    + st.shared.u32 [%r10], %r1;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;""")
bug("loaded before it is stored", body="""
    - ld.shared.u32 %r6, [%r10]; //1
    st.shared.u32 [%r10], %r1;
    + ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
bug("the threads of the tail do not load their share", body="""
    setp.lt.u32 %p6, %r1, 40;
    - @%p6 st.shared.u32 [%r10], %r1;
    + st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("one byte of a word", threads=32, body="""
    - st.shared.u8 [%r10], 1;
    + st.shared.u32 [%r10], 1;
    ld.shared.u32 %r6, [%r10]; //1
    add.u32 %r6, %r6, %r1;
    st.global.u32 [%rd3], %r6;""")
bug("the last word of a 16-byte load", body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    st.shared.v2.u32 [%r13], {%r1, %r1};
    - st.shared.u32 [%r13+8], %r1;
    + st.shared.v2.u32 [%r13+8], {%r1, %r1};
    ld.shared.v4.u32 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r18;""")
bug("one address for all lanes", body="""
    + @%p1 st.shared.u32 [tile+256], 1;
    bar.sync 0;
    ld.shared.u32 %r6, [tile+256]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a half", body="""
    mad.lo.u32 %r13, %r1, 2, %r20;
    + st.shared.u16 [%r13], 1;
    ld.shared.u16 %r6, [%r13]; //1
    st.global.u32 [%rd3], %r6;""")
bug("every other double", threads=32, body="""
    mad.lo.u32 %r13, %r1, 8, %r20; and.b32 %r6, %r1, 1; setp.eq.u32 %p6, %r6, 0;
    - @%p6 st.shared.u64 [%r13], 1;
    + st.shared.u64 [%r13], 1;
    ld.shared.f64 %fd1, [%r13]; //1
    cvt.rn.f32.f64 %f1, %fd1;
    st.global.f32 [%rd3], %f1;""")
bug("added to in shared memory", body="""
    + @%p1 st.shared.u32 [tile], 0;
    bar.sync 0;
    red.shared.add.u32 [tile], 1; //1""")
bug("dynamic shared memory", before=".extern .shared .align 16 .b8 tile[];", shared=256, body="""
    + st.shared.u32 [%r10], %r1;
    + bar.sync 0;
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;""")
bug("shared memory through a generic address", body="""
    cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6;
    + st.u32 [%rd6], %r1;
    ld.u32 %r6, [%rd6]; //1
    st.global.u32 [%rd3], %r6;""")
bug("rows of a matrix", threads=32, body="""
    mad.lo.u32 %r13, %r1, 16, %r20;
    - @%p4 st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1};
    + st.shared.v4.u32 [%r13], {%r1, %r1, %r1, %r1};
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r15, %r16, %r17, %r18}, [%r13]; //1
    st.global.u32 [%rd3], %r17;""")
bug("a device buffer", out="empty", body="""
    + st.global.u32 [%rd3], %r1;
    ld.global.u32 %r6, [%rd3]; //1
    setp.eq.u32 %p6, %r6, 3;
    @%p6 st.shared.u32 [%r10], %r6;""")
bug("an output is added to", out="out", body="""
    - ld.global.u32 %r6, [%rd3]; //1
    - add.u32 %r6, %r6, 1;
    - st.global.u32 [%rd3], %r6;
    + st.global.u32 [%rd3], 1;""")
bug("every other element of an output", out="out", body="""
    and.b32 %r6, %r1, 1; setp.eq.u32 %p6, %r6, 0;
    - @%p6 st.global.u32 [%rd3], %r1;
    + st.global.u32 [%rd3], %r1;
    ld.global.u32 %r7, [%rd3]; //1
    st.global.u32 [%rd3+256], %r7;""")
bug("one element of a buffer, for all lanes", out="empty", body="""
    + @%p1 st.global.u32 [%rd1+8], 1;
    bar.sync 0;
    ld.global.u32 %r6, [%rd1+8]; //1
    - and.b32 %r6, %r6, 1;
    + and.b32 %r6, %r6, 0;
    bar.sync %r6;""")
bug("a device buffer is added to", out="empty", body="""
    + st.global.u32 [%rd3], 0;
    red.global.add.u32 [%rd3], 1; //1""")
bug("a device buffer through a generic address", out="empty", body="""
    + st.u32 [%rd3], 0;
    ld.u32 %r6, [%rd3]; //1
    setp.gt.u32 %p6, %r6, 7;
    @%p6 st.shared.u32 [%r10], 1;""")
bug("copied asynchronously from a device buffer", out="empty", body="""
    + st.global.u32 [%rd3], 0;
    cp.async.ca.shared.global [%r10], [%rd3], 4; //1
    cp.async.wait_all;
    ld.shared.u32 %r6, [%r10];
    setp.gt.u32 %p6, %r6, 1;
    @%p6 st.shared.u32 [%r10], 0;""")
bug("bits of a word that nobody clears", body="""
    mov.u32 %r7, 1; @!%p2 mov.u32 %r7, 2;
    not.b32 %r8, %r7;
    + @%p3 red.shared.and.b32 [tile], %r8;
    bar.sync 0;
    @%p3 red.shared.or.b32 [tile], %r7; //1
    bar.sync 0;
    ld.shared.u32 %r6, [tile];
    and.b32 %r6, %r6, 3;
    st.global.u32 [%rd3], %r6;""")

# -- what becomes of values: half of the lanes, or of the words, have none
HALF = "@%p4 st.shared.u32 [%r10], %r1;\n"
bug("values: one is selected", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    + selp.u32 %r6, %r6, 0, %p4;
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd3], %r6; //2""")
bug("values: lanes without one leave", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    + @!%p4 bra OUT;
    setp.gt.u32 %p6, %r6, 3;
    @%p6 st.global.u32 [%rd3], %r6; //2
    OUT:""")
bug("values: masked", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    selp.u32 %r7, -1, 0, %p4;
    + and.b32 %r6, %r6, %r7;
    mul.lo.u32 %r6, %r6, 3;
    st.global.u32 [%rd3], %r6; //2""")
bug("values: times zero", threads=32, body=HALF + """
    ld.shared.f32 %f1, [%r10]; //1
    + selp.f32 %f1, %f1, 0f00000000, %p4;
    mul.f32 %f1, %f1, 0f00000000;
    st.global.f32 [%rd3], %f1; //2""")
bug("values: a predicate decides", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    - setp.lt.u32 %p6, %r6, 99;
    + setp.lt.and.u32 %p6, %r6, 99, %p4;
    @%p6 st.global.u32 [%rd3], 1; //2""")
bug("values: half of a vector", threads=32, body="""
    mad.lo.u32 %r13, %r1, 8, %r20; st.shared.u32 [%r13], %r1;
    ld.shared.v2.u32 {%r6, %r7}, [%r13]; //1
    - st.global.u32 [%rd3], %r7; //2
    + st.global.u32 [%rd3], %r6;""")
bug("values: fetched ahead", threads=32, body="""
    st.shared.u32 [%r20], 1; st.shared.u32 [%r20+4], 2; mov.u32 %r7, %r20; mov.u32 %r8, 0; mov.u32 %r9, 0;
    add.u32 %r15, %r20, 8;
    - add.u32 %r15, %r15, 4;
    ld.shared.u32 %r6, [%r7];
NEXT: add.u32 %r8, %r8, %r6; add.u32 %r7, %r7, 4; setp.lt.u32 %p6, %r7, %r15;
    ld.shared.u32 %r6, [%r7]; //1
    @%p6 bra NEXT;
    st.global.u32 [%rd3], %r8; //2""")
bug("values: a tile is copied with its padding", out="empty", threads=32, body="""
    @%p4 st.global.u32 [%rd3], %r1;
    ld.global.u32 %r6, [%rd3]; //1
    st.shared.u32 [%r10], %r6;
    bar.sync 0;
    ld.shared.u32 %r7, [%r10];
    setp.eq.u32 %p6, %r7, 3;
    - @%p6 bra OUT; //2
    + @%p4 bra OUT;
    st.global.u32 [%rd3], 1;
    OUT:""")
bug("values: copied asynchronously with its padding", out="empty", threads=32, body="""
    @%p4 st.global.u32 [%rd3], %r1;
    cp.async.ca.shared.global [%r10], [%rd3], 4; //1
    cp.async.wait_all; bar.sync 0;
    ld.shared.u32 %r7, [%r10];
    + selp.u32 %r7, %r7, 0, %p4;
    and.b32 %r7, %r7, 28; add.u32 %r7, %r7, %r20;
    ld.shared.u32 %r8, [%r7]; //2""")
bug("values: a sum of lanes", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    + selp.u32 %r6, %r6, 7, %p4;
    shfl.sync.bfly.b32 %r7, %r6, 16, 31, -1; add.u32 %r6, %r6, %r7;
    @%p3 st.global.u32 [%rd3], %r6; //2""")
bug("values: lanes that have one", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r10]; //1
    - shfl.sync.idx.b32 %r7, %r6, 16, 31, -1;
    + shfl.sync.idx.b32 %r7, %r6, 3, 31, -1;
    st.global.u32 [%rd3], %r7; //2""")
bug("values: a field of bits", threads=32, body="""
    ld.shared.u32 %r6, [%r10]; //1
    bfi.b32 %r6, %r1, %r6, 4, 6; st.shared.u32 [%r10], %r6; ld.shared.u32 %r7, [%r10];
    - bfe.u32 %r7, %r7, 4, 7;
    + bfe.u32 %r7, %r7, 4, 6;
    setp.eq.u32 %p6, %r7, 5;
    @%p6 st.global.u32 [%rd3], 1; //2""")
bug("values: bytes of a word", threads=32, body="""
    st.shared.u16 [%r10+2], 5;
    ld.shared.u32 %r6, [%r10]; //1
    - prmt.b32 %r7, %r6, 0, 0x4431;
    + prmt.b32 %r7, %r6, 0, 0x4432;
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd3], %r7; //2""")
bug("values: the number of a barrier", threads=32, body=HALF + """
    ld.shared.u32 %r6, [%r20+128]; //1
    - and.b32 %r6, %r6, 1;
    + and.b32 %r6, %r6, 0;
    bar.sync %r6; //2""")
PRODUCT = """
    mad.lo.u32 %r13, %r1, 16, %r20; st.shared.u32 [%r13], 0; st.shared.u32 [%r13+8], 0;
    ld.shared.v4.b32 {%r15, %r16, %r17, %r18}, [%r13]; //1
    mov.b32 %r6, 0; mov.f32 %f4, 0f00000000; mov.f32 %f5, %f4; mov.f32 %f6, %f4;
"""
MMA = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
bug("values: rows of a product", threads=32, body=f"""{PRODUCT} mov.f32 %f7, %f4;
    {MMA} {{%f4, %f5, %f6, %f7}}, {{%r15, %r16, %r17, %r18}}, {{%r6, %r6}}, {{%f4, %f5, %f6, %f7}};
    - st.global.f32 [%rd3], %f6; //2
    + st.global.f32 [%rd3], %f5;""")
bug("values: columns of a product", threads=32, body=f"""{PRODUCT} mov.f32 %f7, %f4; setp.lt.u32 %p6, %r21, 28;
    + selp.b32 %r16, %r16, 0, %p6;
    {MMA} {{%f4, %f5, %f6, %f7}}, {{%r6, %r6, %r6, %r6}}, {{%r15, %r16}}, {{%f4, %f5, %f6, %f7}};
    and.b32 %r7, %r21, 3; setp.eq.u32 %p6, %r7, 3;
    @%p6 st.global.f32 [%rd3], %f5; //2""")
