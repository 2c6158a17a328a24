"""Registers that are a scalar and a constant for each lane: which ones are found, and that results stay the same."""

from __future__ import annotations

import pytest
from emulate_programs import ENGINES, WAYS, improve, kernel, run
from random_affine import differences
from slow_cases import slow

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")


def test_lanes_that_are_known_as_numbers() -> None:
    body = """
        and.b32 %r5, %r1, 31; setp.lt.u32 %p1, %r5, 20; selp.b32 %r20, %r5, 100, %p1;  // 0 to 31 in each warp
        and.b32 %r6, %r1, -32; sub.u32 %r7, %r1, %r6; mad.lo.u32 %r20, %r20, 3, %r7;
        add.u32 %r8, %r1, %r2; sub.u32 %r9, %r1, %r1; mad.lo.u32 %r20, %r20, 3, %r9;
        sub.u32 %r10, %r8, %r1; mad.lo.u32 %r20, %r20, 3, %r10; sub.u32 %r11, %r1, %r8; mad.lo.u32 %r20, %r20, 3, %r11;
        setp.eq.u32 %p2, %r7, 31; @!%p2 bra L; add.u32 %r20, %r20, 7; L:
        bar.sync 0;
        setp.ne.u32 %p3, %r5, 0; @%p3 bra M; add.u32 %r20, %r20, %r10; M:
        add.u32 %r20, %r20, %r7; st.global.u32 [%rd3], %r20;"""
    text, found = kernel(body), []
    improve(text, (96,), False, ("memcheck",))
    for way in WAYS:
        out, _ = run("step" if way == "step" else "jit", text, threads=96, blocks=3)
        found.append(out.tolist())
    assert found[1:] == found[:1] * (len(WAYS) - 1)


@pytest.mark.parametrize("active", ["ge", "lt"])
def test_lanes_on_both_sides_of_where_an_index_wraps_around(active: str) -> None:
    """Of a row that is extended with its sign the active lanes lie in memory, the others 2^34 bytes away."""
    beyond = 1 << 33 if active == "ge" else -(1 << 33)
    body = f"""
        add.u32 %r5, %r1, 0x7FFFFFF0; mul.wide.s32 %rd5, %r5, 4; add.s64 %rd5, %rd5, {beyond}; add.s64 %rd5, %rd5, %rd2;
        setp.{active}.u32 %p1, %r1, 16; mov.u32 %r6, 7;
        @%p1 ld.global.u32 %r6, [%rd5+{0 if active == "ge" else 64}]; @%p1 add.u32 %r6, %r6, 1;
        st.global.u32 [%rd3], %r6;"""
    text, found = kernel(body), []
    improve(text, (32,), False, ("memcheck",))
    for way in WAYS:
        out, _ = run("step" if way == "step" else "jit", text)
        found.append(out.tolist())
    assert found[1:] == found[:1] * (len(WAYS) - 1)
    assert 7 in found[0]


def test_a_row_that_a_stride_brings_back_into_shared_memory() -> None:
    """Rows of 16: the first of the two lies 2^31 bytes away, where no lane is active, and a stride leads back."""
    body = """
        .shared .align 4 .b32 tile[16];
        mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; shl.b32 %r12, %r10, 2; mov.u32 %r13, tile;
        ld.global.u32 %r14, [%rd2]; add.u32 %r14, %r14, 0x80000000;      // x[0] is 0
        add.u32 %r15, %r13, %r12; mad.lo.u32 %r16, %r11, %r14, %r15; add.u32 %r16, %r16, %r14;
        setp.eq.u32 %p1, %r11, 1; @%p1 st.shared.u32 [%r15], %r10; bar.sync 0;
        mov.u32 %r6, 99; @%p1 ld.shared.u32 %r6, [%r16];
        mad.lo.u32 %r17, %r11, 16, %r10; mul.wide.u32 %rd5, %r17, 4; add.u64 %rd5, %rd5, %rd1;
        st.global.u32 [%rd5], %r6;"""
    text = kernel(body)
    improve(text, (16, 2), False, ("memcheck",))
    for way in WAYS:
        out, _ = run("step" if way == "step" else "jit", text, threads=(16, 2))
        assert out.tolist() == [99] * 16 + list(range(16))


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 2),
        *(pytest.param(*given, marks=pytest.mark.rest) for given in ((2, 2), (4, 4), (8, 4))),
        *slow((at, 100) for at in (12, 112)),
    ],
)
def test_random_programs_of_affine_values(first: int, count: int) -> None:
    assert differences(first, count) == []
