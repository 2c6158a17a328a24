"""Registers that are a scalar and a constant for each lane: which ones are found, and that results stay the same."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from random_affine import differences
from slow_cases import slow

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")


def test_lanes_that_are_known_as_numbers() -> None:
    from emulate_programs import WAYS, run

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
    for way in WAYS:
        out, _ = run(way, text, threads=96, blocks=3)
        found.append(out.tolist())
    assert found[1:] == found[:1] * (len(WAYS) - 1)


def test_bits_by_a_table_of_what_is_the_same_in_all_lanes() -> None:
    """`lop3`, whose table is a number and no operand: what is known of low bits asks for it."""
    from emulate_programs import WAYS, run

    body = """
        shl.b32 %r5, %r2, 4; lop3.b32 %r6, %r5, %r3, %r2, 0x1B; shl.b32 %r7, %r6, 3;
        add.u32 %r8, %r7, %r1; st.global.u32 [%rd3], %r8;"""
    text, found = kernel(body), []
    for way in WAYS:
        out, _ = run(way, text, blocks=3)
        found.append(out.tolist())
    assert found[1:] == found[:1] * (len(WAYS) - 1)


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


def test_a_huge_grid_has_code_of_its_own() -> None:
    body = """
        mad.lo.u32 %r8, %r2, %r3, %r1; shl.b32 %r8, %r8, 2; cvt.u64.u32 %rd8, %r8; add.u64 %rd8, %rd1, %rd8;
        st.global.u32 [%rd8], %r2;
    """
    for blocks in (2, (1 << 18) + 1, 3):
        out, _ = run("jit", kernel(body), blocks=blocks, budget=None)
        assert (out == np.repeat(np.arange(blocks), 32)).all()
