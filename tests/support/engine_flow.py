"""Programs with known results: branches, loops, exits, blocks of threads, functions."""

from __future__ import annotations

import numpy as np
from engine_case import Cases, T

FLOW = Cases()
case = FLOW.add

# fmt: off
# -- control flow ------------------------------------------------------------------------------------------------------

case("nested if", """
    setp.lt.u32 %p1, %r1, 16;
    and.b32 %r5, %r1, 1; setp.eq.u32 %p2, %r5, 1;
    @!%p1 bra ELSE;
    @%p2 bra ODD;
    mov.u32 %r6, 2;
    bra INNER;
ODD:
    mov.u32 %r6, 1;
INNER:
    add.u32 %r6, %r6, 100;
    bra JOIN;
ELSE:
    mov.u32 %r6, 3;
JOIN:
    activemask.b32 %r7;
    popc.b32 %r7, %r7; mad.lo.u32 %r6, %r7, 1000, %r6; st.global.u32 [%rd3], %r6;
""", lambda: 32000 + np.where(T < 16, np.where(T % 2 == 1, 101, 102), 3))

case("lanes reconverge after loops with different trip counts", """
    mov.u32 %r5, 0; mov.u32 %r6, 0;
LOOP:
    setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE;
    add.u32 %r6, %r6, %r5;
    add.u32 %r5, %r5, 1;
    bra LOOP;
DONE:
    activemask.b32 %r7;
    popc.b32 %r7, %r7; mad.lo.u32 %r6, %r7, 1000, %r6; st.global.u32 [%rd3], %r6;
""", lambda: 32000 + T * (T - 1) // 2)

case("early exit", """
    and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1; @%p1 exit;
    activemask.b32 %r6;
    st.global.u32 [%rd3], %r6;
    setp.gt.u32 %p1, %r1, 10; @%p1 ret;
    mov.u32 %r6, 7; st.global.u32 [%rd3], %r6;
""", lambda: np.where(T % 2, 0, np.where(T > 10, 0x55555555, 7)))

case("guards", """
    setp.lt.u32 %p1, %r1, 5;
    mov.u32 %r5, 1;
    @%p1 mov.u32 %r5, 2; @!%p1 add.u32 %r5, %r5, %r1;
    st.global.u32 [%rd3], 99; @%p1 st.global.u32 [%rd3], %r5;
    setp.eq.u32 %p2, %r1, 500; @%p2 st.global.u32 [%rd3], 1234;
    @!%p1 st.global.u32 [%rd3], %r5;
""", lambda: np.where(T < 5, 2, 1 + T))

case("branch by index", """
TABLE: .branchtargets A, B, C, B;
    and.b32 %r5, %r1, 3;
    brx.idx %r5, TABLE;
A:  mov.u32 %r6, 10;
    bra JOIN;
B:  mov.u32 %r6, 20;
    bra JOIN;
C:  mov.u32 %r6, 30;
JOIN:
    st.global.u32 [%rd3], %r6;
""", lambda: np.array([10, 20, 30, 20])[T % 4])

case("a partial warp", """
    activemask.b32 %r5;
    st.global.u32 [%rd3], %r5;
""", lambda: np.r_[np.full(32, 0xFFFFFFFF), np.full(11, 0x7FF)], threads=43)

case("blocks and threads in three dimensions", """
    mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.z; mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y;
    mad.lo.u32 %r9, %r6, %r8, %r5; mad.lo.u32 %r9, %r9, %r7, %r1;
    mul.lo.u32 %r10, %r6, 100; mad.lo.u32 %r10, %r5, 10, %r10; add.u32 %r10, %r10, %r1;
    mul.wide.u32 %rd5, %r9, 4; add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r10;
""", lambda: [z * 100 + y * 10 + x for z in range(2) for y in range(3) for x in range(7)], threads=(7, 3, 2))

# -- functions ---------------------------------------------------------------------------------------------------------

FUNCTIONS = """
.func (.param .b32 result) square(.param .b32 a)
{
    .reg .b32 %r<4>; .reg .pred %p<2>;
    ld.param.b32 %r1, [a]; setp.gt.u32 %p1, %r1, 20;
    mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2;
    @%p1 ret;
    add.u32 %r2, %r2, 1; st.param.b32 [result], %r2;
    ret;
}
.func (.param .b32 result) twice(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    {
        .param .b32 p; .param .b32 q;
        st.param.b32 [p], %r1;
        call.uni (q), square, (p);
        ld.param.b32 %r2, [q];
    }
    add.u32 %r2, %r2, %r2; st.param.b32 [result], %r2;
    ret;
}
"""

case("functions, called from diverged lanes", """
    {
        .param .b32 p; .param .b32 q;
        st.param.b32 [p], %r1;
        setp.lt.u32 %p1, %r1, 10; @%p1 bra OTHER;
        call.uni (q), twice, (p);
        bra DONE;
OTHER:
        call.uni (q), square, (p);
DONE:
        ld.param.b32 %r5, [q];
    }
    st.global.u32 [%rd3], %r5;
""", lambda: np.where(T < 10, T * T + 1, 2 * (T * T + (T <= 20))), before=FUNCTIONS)

case("registers as arguments", """
    call (%r5), add_one, (%r1);
    call (%r5), add_one, (%r5);
    st.global.u32 [%rd3], %r5;
""", lambda: T + 2, before="""
.func (.reg .u32 %result) add_one(.reg .u32 %a)
{
    add.u32 %result, %a, 1;
    ret;
}
""")
