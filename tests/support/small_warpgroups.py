"""A small program with a product of `wgmma`, for tests of what goes wrong around it."""

from __future__ import annotations

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"


def program(body: str) -> str:
    """A kernel whose %db describes a tile of ones and %da one of twos, neither swizzled; each thread stores its %d0."""
    return f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry example(.param .u64 out)
{{
    .reg .b32 %r<9>; .reg .f32 %d<4>; .reg .b64 %rd<9>, %da, %db; .reg .pred %p<4>;
    .shared .align 1024 .b16 a[1024]; .shared .align 1024 .b16 b[128];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; shr.u32 %r2, %r1, 5;
    mov.b32 %r3, 0x40004000; mov.b32 %r4, 0x3C003C00; mov.u32 %r5, a; mad.lo.u32 %r6, %r1, 16, %r5;
    st.shared.v4.b32 [%r6], {{%r3, %r3, %r3, %r3}};
    setp.lt.u32 %p1, %r1, 16; mov.u32 %r7, b; mad.lo.u32 %r6, %r1, 16, %r7;
    @%p1 st.shared.v4.b32 [%r6], {{%r4, %r4, %r4, %r4}};
    mov.b64 %rd3, 0x0000001000080000; cvt.u64.u32 %rd4, %r5; shr.u64 %rd4, %rd4, 4;
    or.b64 %da, %rd3, %rd4; cvt.u64.u32 %rd4, %r7; shr.u64 %rd4, %rd4, 4; or.b64 %db, %rd3, %rd4;
    mov.f32 %d0, 0f42280000; mov.f32 %d1, 0f00000000; mov.f32 %d2, 0f00000000;
    mov.f32 %d3, 0f00000000; setp.ne.u32 %p2, 0, 0;
    fence.proxy.async;
    bar.sync 0;
    wgmma.fence.sync.aligned;
{body}
    st.global.f32 [%rd1], %d0;
    ret;
}}
"""


MULTIPLY = f"    {PRODUCT} {{%d0, %d1, %d2, %d3}}, %da, %db, %p2, 1, 1, 0, 0;\n"
COMMIT, WAIT = "    wgmma.commit_group.sync.aligned;\n", "    wgmma.wait_group.sync.aligned 0;\n"
