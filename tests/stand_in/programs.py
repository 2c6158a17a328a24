"""Small kernels for the tests of the stand-in."""

from __future__ import annotations

HEAD = """\
.version 7.8
.target {target}
.address_size 64
"""

BUMP = (
    HEAD.format(target="sm_75")
    + """\
.visible .entry bump(.param .u64 data, .param .u32 amount)
{
    .reg .b64 %rd<3>; .reg .b32 %r<6>;
    ld.param.u64 %rd0, [data];
    ld.param.u32 %r0, [amount];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
    mul.wide.u32 %rd1, %r1, 4; add.u64 %rd2, %rd0, %rd1;
    ld.global.u32 %r4, [%rd2];
    add.u32 %r4, %r4, %r0;
    st.global.u32 [%rd2], %r4;
    ret;
}
"""
)
"""Adds `amount` to one number of `data` for each thread."""

COUNT = (
    HEAD.format(target="sm_75")
    + """\
.global .u32 next;
.visible .entry count(.param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<3>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; mov.u64 %rd2, next;
    atom.global.add.u32 %r1, [%rd2], 1;
    st.global.u32 [%rd0], %r1;
    ret;
}
"""
)
"""Each thread takes the next number of a counter that is a variable of the module."""

PRINT = (
    HEAD.format(target="sm_75")
    + """\
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[10] = {98, 108, 111, 99, 107, 32, 37, 117, 10, 0};
.visible .entry say()
{
    .local .align 8 .b8 place[8]; .reg .b64 %rd<4>; .reg .b32 %r<3>;
    mov.u64 %rd0, place; cvta.local.u64 %rd1, %rd0; mov.u32 %r0, %ctaid.x;
    st.local.u32 [%rd0], %r0;
    mov.u64 %rd2, format; cvta.global.u64 %rd3, %rd2;
    {
        .param .b64 first; .param .b64 second; .param .b32 result;
        st.param.b64 [first], %rd3;
        st.param.b64 [second], %rd1;
        call.uni (result), vprintf, (first, second);
    }
    ret;
}
"""
)
"""Each thread prints its block."""

TRAP = (
    HEAD.format(target="sm_75")
    + """\
.visible .entry stop()
{
    trap;
    ret;
}
"""
)

BEYOND = (
    HEAD.format(target="sm_75")
    + """\
.shared .align 4 .b8 tile[64];
.visible .entry beyond()
{
    .reg .b32 %r<3>;
    mov.u32 %r0, tile; add.u32 %r0, %r0, 1048576;
    st.shared.u32 [%r0], %r0;
    ret;
}
"""
)
"""Stores to shared memory that a block does not have."""

CLUSTER = (
    HEAD.format(target="sm_90")
    + """\
.visible .entry cluster(.param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %clusterid.x; mad.lo.u32 %r1, %r2, 16, %r1;
    st.global.u32 [%rd0], %r1;
    ret;
}
"""
)
"""Each block writes down its place: 16 times its cluster's number, plus its own in the cluster."""

LOOP = (
    HEAD.format(target="sm_75")
    + """\
.visible .entry loop()
{
    .reg .b32 %r<2>; .reg .pred %p<2>;
    mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 99;
AGAIN:
    @%p0 bra AGAIN;
    ret;
}
"""
)
"""Never ends."""
