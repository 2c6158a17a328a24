"""Planted reads of local memory and of registers that nothing has been written to, as `planted_bug.py` writes them."""

from __future__ import annotations

from typing import Any

from planted_bug import TILE, Planted

LOCAL = Planted("local memory", "initcheck")
REGISTERS = Planted("registers", "initcheck")
OVERRUNS = Planted("array overrun", "initcheck")

FUNCTION = """
.func (.param .b32 result) twice(.param .align 8 .b8 given[8])
{
    .reg .b32 %a<3>;
    ld.param.b32 %a1, [given+4]; //1
    add.u32 %a2, %a1, %a1;
    st.param.b32 [result], %a2;
    ret;
}
"""


def local(name: str, *, body: str, **options: Any) -> None:
    """A load of local memory that has not been written."""
    LOCAL.add(name, "uninitialised read", body=".local .align 16 .b8 own[64];" + body, **options)


def register(name: str, *, body: str, **options: Any) -> None:
    """A use of a register that nothing has been written to."""
    REGISTERS.add(name, "uninitialised register", body=body, **options)


def overrun(name: str, *, body: str, **options: Any) -> None:
    """An access that runs from one array of shared memory into the next."""
    before = ".shared .align 16 .b8 tile[256];\n.shared .align 4 .b8 next[256];"
    uses = "mov.u32 %r23, next;\nmad.lo.u32 %r24, %r22, 4, %r23;\nst.shared.u32 [%r24], 9;\nbar.sync 0;\n"
    OVERRUNS.add(name, "array overrun", body=uses + body, **({"before": before} | options))


DEPOT = """
    .local .align 16 .b8 __local_depot0[64]; .reg .b64 %SP, %SPL;
    mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL;
    st.local.v4.u32 [%SPL], {%r1, %r1, %r1, %r1};
    st.local.v4.u32 [%SPL+16], {%r1, %r1, %r1, %r1};
    st.local.v4.u32 [%SPL+32], {%r1, %r1, %r1, %r1};
    st.local.v4.u32 [%SPL+48], {%r1, %r1, %r1, %r1};
    and.b32 %r7, %r1, 7;
    - add.u32 %r7, %r7, 1;
    mul.wide.u32 %rd8, %r7, 4;
"""
"""Two arrays of eight words as nvcc lays them out, and an index in bytes, one too large in some threads."""


def local_overrun(name: str, *, body: str) -> None:
    """An access that runs from one array of local memory into the next."""
    OVERRUNS.add(name, "array overrun", body=DEPOT + body)


# fmt: off
local("a variable", body="""
    + st.local.u32 [own+4], %r1;
    ld.local.u32 %r6, [own+4]; //1
    st.global.u32 [%rd3], %r6;""")
local("an index beyond what is filled", body="""
    mov.u32 %r6, own; and.b32 %r7, %r1, 3; mad.lo.u32 %r6, %r7, 4, %r6;
    st.local.v2.u32 [own], {%r1, %r1};
    + st.local.v2.u32 [own+8], {%r1, %r1};
    ld.local.u32 %r7, [%r6]; //1
    st.global.u32 [%rd3], %r7;""")
local("one lane's only", body="""
    - @!%p3 st.local.u64 [own+8], 7;
    + st.local.u64 [own+8], 7;
    ld.local.u64 %rd6, [own+8]; //1
    st.global.u32 [%rd3], %rd6;""")
local("a byte", body="""
    + st.local.u8 [own+3], 1;
    ld.local.u8 %r6, [own+3]; //1
    st.global.u32 [%rd3], %r6;""")
local("through a generic address", body="""
    cvta.local.u64 %rd6, own;
    + st.u32 [%rd6+8], %r1;
    ld.u32 %r6, [%rd6+8]; //1
    st.global.u32 [%rd3], %r6;""")
local("added to", body="""
    cvta.local.u64 %rd6, own;
    + st.local.u32 [own], %r1;
    ld.u32 %r6, [%rd6]; //1
    add.u32 %r6, %r6, 1;
    st.u32 [%rd6], %r6;
    ld.u32 %r7, [%rd6];
    st.global.u32 [%rd3], %r7;""")
local("half of an argument is passed", before=TILE + FUNCTION, body="""
    .param .align 8 .b8 passed[8]; .param .b32 back;
    st.param.b32 [passed], %r1;
    + st.param.b32 [passed+4], %r1;
    call (back), twice, (passed);
    ld.param.b32 %r6, [back];
    st.global.u32 [%rd3], %r6;""")
local("an empty object is copied along with it", body="""
    ld.local.u8 %r30, [own+63];
    st.local.u8 [own+62], %r30;
    - ld.local.u8 %r31, [own+61]; //1
    - st.local.u8 [own+60], %r31;
    - st.global.u32 [%rd3+256], %r31;
    st.global.u32 [%rd3], %r1;""")
local("padding is copied along with it", body="""
    - ld.local.v2.u64 {%rd6, %rd7}, [own+16]; //1
    - st.global.u64 [%rd1], %rd6;
    st.local.u32 [own], %r1;
    st.local.u64 [own+8], %rd1;
    ld.local.v2.u64 {%rd6, %rd7}, [own];
    st.local.v2.u64 [own+32], {%rd6, %rd7};
    ld.local.u32 %r6, [own+32];
    st.global.u32 [%rd3], %r6;""")
register("a sum that does not begin at zero", body="""
    + mov.u32 %r30, 0;
    add.u32 %r30, %r30, %r1; add.u32 %r30, %r30, %r1;
    st.global.u32 [%rd3], %r30; //1""")
register("in the lanes that a guard excludes", body="""
    + mov.u32 %r30, 5;
    @%p2 mov.u32 %r30, %r1; add.u32 %r31, %r30, 1;
    - st.global.u32 [%rd3], %r31; //1
    + @%p2 st.global.u32 [%rd3], %r31;""")
register("excluded lanes that only compute", body="""
    @%p4 mov.u32 %r30, %r1;
    - @!%p4 st.global.u32 [%rd3], %r30; //1
    mul.lo.u32 %r31, %r30, 3; selp.b32 %r32, %r31, 0, %p4;
    st.global.u32 [%rd11+128], %r32;""", threads=32)
register("on one side of a branch", body="""
    @%p4 bra JOIN;
    mov.u32 %r30, %r1;
    JOIN:
    + @%p4 mov.u32 %r30, 7;
    st.global.u32 [%rd3], %r30; //1""")
register("an address", body="""
    + mov.u32 %r30, tile;
    add.u32 %r31, %r30, 16;
    st.shared.u32 [%r31], 1; //1""", threads=1)
register("a guard", body="""
    + setp.ne.u32 %p7, %r1, 3;
    @%p7 st.global.u32 [%rd3], %r1; //1""")
register("a branch", body="""
    + setp.ne.u32 %p7, %r1, 3;
    @%p7 bra BEHIND; //1
    st.global.u32 [%rd3], %r1;
    BEHIND:""")
register("a shuffle", body="""
    + mov.u32 %r30, %r1;
    shfl.sync.bfly.b32 %r31, %r30, 1, 31, 0xffffffff;
    st.global.u32 [%rd3], %r31; //1""")
register("the lane that a shuffle reads", body="""
    mov.u32 %r7, 1;
    - @%p4 mov.u32 %r30, %r1;
    + mov.u32 %r30, %r1;
    shfl.sync.down.b32 %r31|%p6, %r30, %r7, 31, 0xffffffff;
    st.global.u32 [%rd3], %r31; //1""")
register("a vote", body="""
    + setp.ne.u32 %p7, %r1, 3;
    vote.sync.any.pred %p6, %p7, 0xffffffff;
    selp.u32 %r31, 1, 0, %p6;
    st.global.u32 [%rd3], %r31; //1""")
register("added to memory", body="""
    + mov.u32 %r30, 1;
    red.global.add.u32 [%rd3], %r30; //1""")
register("no part of a pair", body="""
    + mov.u32 %r31, 1;
    mov.b64 %rd6, {%r30, %r31};
    shr.u64 %rd6, %rd6, 32;
    st.global.u64 [%rd1], %rd6; //1""", threads=1)
register("the accumulator of a loop", body="""
    mov.u32 %r7, 0;
    + mov.f32 %f5, 0f00000000;
AGAIN: cvt.rn.f32.u32 %f6, %r7; fma.rn.f32 %f5, %f6, %f6, %f5; add.u32 %r7, %r7, 1;
    setp.lt.u32 %p6, %r7, 4; @%p6 bra AGAIN;
    st.global.f32 [%rd3], %f5; //1""")
register("an element of an accumulator", threads=32, body="""
    mov.b32 %r6, 0; mov.f32 %f4, 0f00000000; mov.f32 %f5, %f4; mov.f32 %f6, %f4;
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f4, %f5, %f6, %f7}, {%r6, %r6, %r6, %r6}, {%r6, %r6},
        {%f4, %f5, %f6, %f7};
    - st.global.f32 [%rd3], %f7; //1
    + st.global.f32 [%rd3], %f6;""")
overrun("a store one element too far", body="""
    - st.shared.u32 [%r10+4], %r1; //1
    + st.shared.u32 [%r10], %r1;""")
overrun("a load one element too far", body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    - ld.shared.u32 %r6, [%r10+4]; //1
    + ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
overrun("one lane's, in bytes", body="""
    add.u32 %r6, %r20, 256;
    - @%p1 st.shared.u8 [%r6], 1; //1
    + @%p1 st.shared.u8 [%r6+-1], 1;""")
overrun("in front of an array", body="""
    - @%p1 st.shared.u32 [%r24+-4], 1; //1
    + @%p1 st.shared.u32 [%r24], 1;""")
overrun("one address for all lanes", body="""
    - @%p1 st.shared.u64 [%r20+256], 1; //1
    + @%p1 st.shared.u64 [%r20+248], 1;""")
overrun("an atomic operation", body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    - red.shared.add.u32 [%r10+4], 1; //1
    + red.shared.add.u32 [%r10], 1;""")
overrun("through a generic address", body="""
    cvt.u64.u32 %rd6, %r10; cvta.shared.u64 %rd6, %rd6;
    - st.u32 [%rd6+4], %r1; //1
    + st.u32 [%rd6], %r1;""")
overrun("copied asynchronously", body="""
    - cp.async.ca.shared.global [%r10+4], [%rd3], 4; //1
    + cp.async.ca.shared.global [%r10], [%rd3], 4;
    cp.async.wait_all;""")
overrun("rows of a matrix", threads=32, body="""
    mad.lo.u32 %r13, %r1, 8, %r20;
    st.shared.u64 [%r13], %rd1;
    and.b32 %r14, %r1, 7;
    - mad.lo.u32 %r13, %r14, 48, %r20;
    + mad.lo.u32 %r13, %r14, 32, %r20;
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r15}, [%r13]; //1
    st.global.u32 [%rd3], %r15;""")
local_overrun("a store behind an array of local memory", body="""
    add.u64 %rd6, %SPL, 0; add.u64 %rd7, %SPL, 32; add.u64 %rd9, %rd6, %rd8;
    st.local.u32 [%rd9], %r1; //1
    ld.local.u32 %r6, [%rd7];
    st.global.u32 [%rd3], %r6;""")
local_overrun("a load behind an array of local memory", body="""
    add.u64 %rd6, %SP, 0; add.u64 %rd7, %SP, 32; add.u64 %rd9, %rd6, %rd8;
    ld.u32 %r6, [%rd9]; //1
    ld.u32 %r7, [%rd7];
    st.global.u32 [%rd3], %r6;""")
local_overrun("a load in front of an array of local memory", body="""
    add.u64 %rd6, %SPL, 0; add.u64 %rd7, %SPL, 32; add.u64 %rd9, %rd7, 28; sub.u64 %rd9, %rd9, %rd8;
    ld.local.u32 %r6, [%rd9]; //1
    ld.local.u32 %r7, [%rd6];
    st.global.u32 [%rd3], %r6;""")
local_overrun("the whole warp leaves an array of local memory", body="""
    add.u64 %rd6, %SPL, 0; add.u64 %rd7, %SPL, 32; mov.u64 %rd9, %rd6; mov.u32 %r8, 0;
NEXT: ld.local.u32 %r6, [%rd9]; //1
    add.u64 %rd9, %rd9, 4; add.u32 %r8, %r8, 1;
    - setp.lt.u32 %p6, %r8, 9;
    + setp.lt.u32 %p6, %r8, 8;
    @%p6 bra NEXT;
    ld.local.u32 %r7, [%rd7];
    st.global.u32 [%rd3], %r6;""")
