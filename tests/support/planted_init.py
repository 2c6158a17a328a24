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
    st.global.u32 [%rd3], 1;""")
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
    st.global.u32 [%rd3], %r15;""")
bug("a device buffer", out="empty", body="""
    + st.global.u32 [%rd3], %r1;
    ld.global.u32 %r6, [%rd3]; //1
    st.shared.u32 [%r10], %r6;""")
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
    st.shared.u32 [%r10], %r7;""")
bug("one element of a buffer, for all lanes", out="empty", body="""
    + @%p1 st.global.u32 [%rd1+8], 1;
    bar.sync 0;
    ld.global.u32 %r6, [%rd1+8]; //1
    st.shared.u32 [%r10], %r6;""")
bug("a device buffer is added to", out="empty", body="""
    + st.global.u32 [%rd3], 0;
    red.global.add.u32 [%rd3], 1; //1""")
bug("a device buffer through a generic address", out="empty", body="""
    + st.u32 [%rd3], 0;
    ld.u32 %r6, [%rd3]; //1
    st.shared.u32 [%r10], %r6;""")
bug("copied asynchronously from a device buffer", out="empty", body="""
    + st.global.u32 [%rd3], 0;
    cp.async.ca.shared.global [%r10], [%rd3], 4; //1
    cp.async.wait_all;""")
