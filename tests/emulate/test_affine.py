"""Registers that are a scalar and a constant for each lane: which ones are found, and that results stay the same."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from random_affine import differences
from slow_cases import slow

from ptxlab.emulate import lower
from ptxlab.text import parse

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
K = list(range(32))
LOADED = "ld.global.u32 %r5, [%rd2];"
"""%r5 is the same in all lanes, and nothing is known of it."""


def form_of_r9(
    body: str, block: tuple[int, int, int] = (64, 1, 1), grid: tuple[int, int, int] = (2, 1, 1)
) -> tuple[list[int], str] | None:
    """What lanes of %r9 or %rd9 add to lane 0, and how their sum is extended; None where it is not affine, or they add
    multiples of a stride."""
    apart, extension, times = stride_of_r9(body, block, grid) or ([], "", [1])
    return None if times else (apart, extension)


def stride_of_r9(
    body: str, block: tuple[int, int, int] = (64, 1, 1), grid: tuple[int, int, int] = (2, 1, 1)
) -> tuple[list[int], str, list[int]] | None:
    """The same, with the strides that lanes add."""
    from ptxlab.emulate.jit.affine.block_rows import Rows
    from ptxlab.emulate.jit.analysis.analyses import analyses

    program = lower(parse(kernel(body)))
    known = analyses(program, Rows.of(block, grid))
    found = known.affine
    (r,) = (r.index for r in program.registers if r.name in ("%r9", "%rd9"))
    if known.uniform[r]:
        return [0] * 32, "", []
    return (list(found[r].apart), found[r].extension, list(found[r].times)) if r in found else None


@pytest.mark.parametrize(("body", "expected"), [
    ("add.u32 %r9, %r1, 7;", (K, "")),
    ("mov.u32 %r9, %laneid;", (K, "")),
    ("mad.lo.s32 %r9, %r1, -12, %r2;", ([-12 * k for k in K], "")),
    ("sub.u32 %r8, %r1, %r2; sub.u32 %r9, %r8, %r1;", ([0] * 32, "")),
    ("mul.lo.u32 %r9, %r1, %r3;", None),  # the factor is not known when the kernel is built
    ("xor.b32 %r9, %r1, 1;", ([(k ^ 1) - 1 for k in K], "")),
    ("shl.b32 %r8, %r1, 2; xor.b32 %r9, %r8, 148;", ([(4 * k ^ 20) - 20 for k in K], "")),
    ("xor.b32 %r9, 64, %r1;", (K, "")),
    ("xor.b32 %r9, %r1, -1;", ([-k for k in K], "")),
    ("xor.b32 %r9, %r1, %r2;", None),  # which bits it has is not known
    ("shl.b32 %r8, %r2, 5; xor.b32 %r9, %r1, %r8;", (K, "")),
    ("add.u32 %r8, %r1, 1; xor.b32 %r9, %r8, 2;", None),  # a step meets the base
    ("xor.b32 %r8, %r1, 1; xor.b32 %r9, %r8, 2;", None),
    ("mul.lo.u32 %r9, %r1, 0x10000000;", None),  # lanes too far apart
    # bits: %tid.x begins at a multiple of 32
    ("and.b32 %r9, %r1, 31;", (K, "")),
    ("and.b32 %r9, %r1, 127;", (K, "")),
    ("and.b32 %r9, %r1, -4;", ([k & -4 for k in K], "")),
    ("shr.u32 %r9, %r1, 5;", ([0] * 32, "")),
    ("shr.s32 %r9, %r1, 2;", ([k >> 2 for k in K], "")),
    ("shr.u32 %r9, %r1, 32;", ([0] * 32, "")),
    ("shl.b32 %r8, %r2, 5; or.b32 %r9, %r8, %r1;", (K, "")),
    ("shl.b32 %r8, %r2, 4; or.b32 %r9, %r8, %r1;", None),  # bit 4 may be 1 in both
    ("shl.b32 %r8, %r2, 8; and.b32 %r7, %r1, 127; or.b32 %r6, %r8, %r7; or.b32 %r9, %r6, 128;", (K, "")),
    ("or.b32 %r9, %r1, 64;", (K, "")),
    *((f"shl.b32 %r8, %r2, 5; {op} %r7, %r8, 8; or.b32 %r9, %r7, %r1;", None) for op in ("or.b32", "add.u32")),
    ("shl.b32 %r8, %r2, 5; and.b32 %r7, %r8, 96; or.b32 %r9, %r7, %r1;", (K, "")),
    ("or.b32 %r9, %r1, 1;", None),
    ("shl.b32 %r8, %r1, 1; or.b32 %r9, %r8, 1;", ([2 * k for k in K], "")),  # the left child of a node
    ("shl.b32 %r8, %r1, 2; or.b32 %r9, %r8, 3;", ([4 * k for k in K], "")),
    ("shl.b32 %r8, %r1, 2; or.b32 %r9, %r8, 5;", None),
    ("mul.lo.u32 %r8, %r1, 12; or.b32 %r9, %r8, 3;", ([12 * k for k in K], "")),
    ("mul.lo.u32 %r8, %r1, 12; or.b32 %r9, %r8, 4;", None),
    *((f"shl.b32 %r8, %r2, 16; shl.b32 %r7, %r1, 8; add.s32 %r6, %r8, %r7; mul.wide.s32 %rd8, %r6, 4; {more}", expected)
      for more, expected in (
        ("or.b64 %rd9, %rd8, 32;", ([1024 * k for k in K], "sext")),  # a row of 1 kB for each thread
        ("add.s64 %rd7, %rd8, 512; or.b64 %rd9, %rd7, 511;", ([1024 * k for k in K], "sext")),
        ("cvt.u64.u32 %rd7, %r2; and.b64 %rd6, %rd7, 3; or.b64 %rd9, %rd6, %rd8;", ([1024 * k for k in K], "sext")),
        ("or.b64 %rd9, %rd8, 1024;", None), ("or.b64 %rd9, %rd8, -1024;", None), ("or.b64 %rd9, %rd8, %rd2;", None),
        ("add.s64 %rd7, %rd8, 512; or.b64 %rd9, %rd7, 512;", None),
        ("add.s64 %rd7, %rd8, %rd2; or.b64 %rd9, %rd7, 1;", None),
        ("cvt.u64.u32 %rd7, %r1; add.s64 %rd6, %rd8, %rd7; or.b64 %rd9, %rd6, 1;", None),
        ("add.s64 %rd7, %rd8, %rd2; shl.b64 %rd6, %rd7, 4; or.b64 %rd9, %rd6, 15;", ([16384 * k for k in K], "sext")),
        ("add.s64 %rd7, %rd8, %rd2; shl.b64 %rd6, %rd7, 4; or.b64 %rd9, %rd6, 16;", None),
      )),
    # `t / 32` and `t % 32` of a signed number: nvcc asks for its sign
    ("shr.s32 %r8, %r1, 31; shr.u32 %r7, %r8, 27; add.s32 %r6, %r1, %r7; shr.s32 %r9, %r6, 5;", ([0] * 32, "")),
    ("shr.s32 %r8, %r1, 31; shr.u32 %r7, %r8, 27; add.s32 %r6, %r1, %r7; and.b32 %r5, %r6, -32; sub.s32 %r9, %r1, %r5;",
     (K, "")),
    ("add.u32 %r5, %r1, 5; shr.s32 %r8, %r5, 31; shr.u32 %r7, %r8, 27; add.s32 %r6, %r5, %r7; shr.s32 %r9, %r6, 5;",
     None),
    ("and.b32 %r8, %r1, -32; and.b32 %r7, %r1, 31; or.b32 %r9, %r8, %r7;", (K, "")),
    ("mul.lo.u32 %r8, %r1, 12; shr.u32 %r9, %r8, 2;", None),  # steps of 12 to 372 meet a base that is a multiple of 128
    ("shl.b32 %r8, %r1, 2; shr.u32 %r9, %r8, 3;", ([k >> 1 for k in K], "")),
    ("add.u32 %r8, %r1, 1; shr.u32 %r9, %r8, 5;", None),
    ("add.u32 %r8, %r1, %r2; shr.u32 %r9, %r8, 5;", None),  # where it begins is not known
    ("add.u32 %r8, %r1, 96; shr.u32 %r9, %r8, 5;", ([0] * 32, "")),
    ("mov.u32 %r8, %r1; L: add.u32 %r8, %r8, 64; setp.lt.u32 %p1, %r2, 9; @%p1 bra L; and.b32 %r9, %r8, 31;", (K, "")),
    ("mov.u32 %r8, %r1; L: add.u32 %r8, %r8, %r3; setp.lt.u32 %p1, %r2, 9; @%p1 bra L; and.b32 %r9, %r8, 31;", (K, "")),
    (f"{LOADED} mov.u32 %r8, %r1; L: add.u32 %r8, %r8, %r5; setp.lt.u32 %p1, %r2, 9; @%p1 bra L; and.b32 %r9, %r8, 31;",
     None),
    ("add.u32 %r8, %r1, 1; mul.wide.s32 %rd8, %r8, 4; add.s64 %rd9, %rd8, %rd1;", ([4 * k for k in K], "")),
    (f"{LOADED} add.u32 %r8, %r1, %r5; mul.wide.s32 %rd8, %r8, 4; add.s64 %rd9, %rd8, %rd1;",
     ([4 * k for k in K], "sext")),
    ("mul.wide.s32 %rd8, %r1, 4; add.s64 %rd9, %rd8, %rd1;", ([4 * k for k in K], "")),  # %tid is small
    ("cvt.u64.u32 %rd8, %r1; shl.b64 %rd8, %rd8, 3; sub.s64 %rd9, %rd2, %rd8;", None),  # two forms of %rd8
    ("cvt.u64.u32 %rd8, %r1; shl.b64 %rd7, %rd8, 3; sub.s64 %rd9, %rd2, %rd7;", ([-8 * k for k in K], "")),
    ("mov.u32 %r8, %r1; L: cvt.s64.s32 %rd9, %r8; add.u32 %r8, %r8, 8; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;",
     (K, "sext")),
    ("mul.wide.u32 %rd8, %r1, 4; cvt.u32.u64 %r9, %rd8;", ([4 * k for k in K], "")),
    ("add.u32 %r8, %r1, 1; mul.wide.u32 %rd8, %r8, 4; add.s64 %rd9, %rd8, %rd8;", ([8 * k for k in K], "")),
    (f"{LOADED} add.u32 %r8, %r1, %r5; mul.wide.u32 %rd8, %r8, 4; add.s64 %rd9, %rd8, %rd8;", None),  # maybe wrapped
    # of two sums one may have wrapped around
    (f"{LOADED} add.u32 %r8, %r1, %r5; cvt.s64.s32 %rd8, %r8; cvt.s64.s32 %rd7, %r1; add.s64 %rd9, %rd8, %rd7;",
     ([2 * k for k in K], "sext")),
    (f"{LOADED} add.u32 %r8, %r1, %r5; mul.wide.s32 %rd8, %r8, -4; cvt.s64.s32 %rd7, %r1; sub.s64 %rd6, %rd7, %rd8;"
     "shl.b64 %rd9, %rd6, 1;", ([10 * k for k in K], "sext")),
    (f"{LOADED} add.u32 %r8, %r1, %r5; cvt.s64.s32 %rd8, %r8; cvt.s64.s32 %rd7, %r1; add.s64 %rd6, %rd8, %rd7;"
     "sub.s64 %rd5, %rd6, %rd7; sub.s64 %rd10, %rd5, %rd7; cvt.u32.u64 %r9, %rd10;", ([0] * 32, "")),
    # numba's indices, from the end where they are negative: %tid is not, nor is its sum with a number
    ("cvt.s64.s32 %rd8, %r1; cvt.u32.u64 %r8, %rd8; and.b32 %r7, %r8, 0x80000000; add.u32 %r9, %r8, %r7;", (K, "")),
    *((f"cvt.s64.s32 %rd8, %r1; add.s64 %rd7, %rd8, {more}; and.b64 %rd6, %rd7, 0x8000000000000000;"
       "shr.u64 %rd5, %rd6, 55; add.s64 %rd9, %rd8, %rd5;", expected)
      for more, expected in ((16, (K, "")), (0x7FFFFFFF, (K, "")), (-16, None), (0x80000001, (K, "")),
                             (0x7FFFFFFFFFFFFFF1, None))),
    ("cvt.s64.s32 %rd8, %r1; add.s64 %rd7, %rd8, 5; and.b64 %rd9, %rd7, 0x80000000;", ([0] * 32, "")),
    ("cvt.s64.s32 %rd8, %r1; add.s64 %rd7, %rd8, 0x7FFFFFFF; and.b64 %rd9, %rd7, 0x80000000;", None),
    ("cvt.s64.s32 %rd8, %r1; add.s64 %rd7, %rd8, 5; and.b64 %rd9, %rd7, 0x100000000;", ([0] * 32, "")),
    ("cvt.s64.s32 %rd8, %r1; L: add.s64 %rd8, %rd8, 16; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;"
     "and.b64 %rd9, %rd8, 0x8000000000000000;", None),
    # 0 to 31, until the loop adds to it
    ("and.b32 %r8, %r1, 31; L: mul.wide.s32 %rd8, %r8, 4; add.s64 %rd9, %rd1, %rd8; add.u32 %r8, %r8, 32;"
     "setp.lt.u32 %p1, %r2, 9; @%p1 bra L;", ([4 * k for k in K], "sext")),
    # a loop: every writer gives lanes of the same form
    ("mov.u32 %r9, %r1; L: add.u32 %r9, %r9, 64; setp.lt.u32 %p1, %r9, %r2; @%p1 bra L;", (K, "")),
    ("mov.u32 %r9, %r1; L: add.u32 %r9, %r9, %r1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;", None),
    # behind a branch that some lanes take: what it leaves is no longer affine, what it has for itself is
    ("mov.u32 %r9, %r1; setp.lt.u32 %p1, %r1, 5; @%p1 bra L; add.u32 %r9, %r9, 3; L: st.global.u32 [%rd3], %r9;", None),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra L; add.u32 %r9, %r1, 3; st.global.u32 [%rd3], %r9; L:", (K, "")),
    ("setp.lt.u32 %p1, %r1, 5; mov.u32 %r9, %r1; @%p1 add.u32 %r9, %r1, 3;", None),
    ("setp.lt.u32 %p1, %r2, 5; mov.u32 %r9, %r1; @%p1 add.u32 %r9, %r1, 3;", (K, "")),
])  # fmt: skip
def test_what_is_affine(body: str, expected: tuple[list[int], str] | None) -> None:
    assert form_of_r9(body) == expected


@pytest.mark.parametrize(("body", "expected"), [
    ("mul.lo.u32 %r9, %r1, %r3;", (0, "", 1)),
    ("and.b32 %r8, %r1, 31; mul.lo.u32 %r9, %r8, %r3;", (0, "", 1)),
    ("mul.lo.u32 %r9, %r3, %r4;", (0, "", 1)),  # %r4 is %r1 and a scalar
    ("mad.lo.u32 %r9, %r1, %r3, %r1;", (1, "", 1)),
    ("mul.lo.u32 %r8, %r1, %r3; sub.u32 %r9, %r2, %r8;", (0, "", 1)),  # of which the stride is negative
    ("mul.lo.u32 %r8, %r1, -12; mul.lo.u32 %r9, %r8, %r3;", (0, "", -1)),
    ("mul.lo.u32 %r8, %r1, %r3; mul.lo.u32 %r7, %r8, %r2; shl.b32 %r9, %r7, 3;", (0, "", 1)),
    ("mad.lo.u32 %r8, %r1, %r3, %r1; mul.lo.u32 %r9, %r8, %r2;", None),  # two strides
    ("mul.lo.u32 %r8, %r1, %r3; add.u32 %r9, %r8, %r8;", None),
    ("mul.lo.u32 %r8, %r1, %r3; and.b32 %r9, %r8, 31;", None),
    ("mul.lo.u32 %r8, %r1, 0x100000; add.u32 %r8, %r8, %r1; mul.lo.u32 %r9, %r8, %r3;", None),  # too far apart
    ("mad.lo.u32 %r8, %r1, %r3, %r2; mul.wide.s32 %rd8, %r8, 4; add.s64 %rd9, %rd1, %rd8;", (0, "sext", 1)),
    ("mad.lo.u32 %r8, %r1, %r3, %r1; mul.wide.u32 %rd8, %r8, 4; sub.s64 %rd9, %rd1, %rd8;", (-4, "zext", 1)),
    ("mad.lo.u32 %r8, %r1, %r3, %r1; mul.wide.u32 %rd8, %r8, 4; cvt.u32.u64 %r9, %rd8;", (4, "", 1)),
    ("cvt.u64.u32 %rd8, %r1; mul.lo.s64 %rd9, %rd8, %rd2;", (0, "", 1)),
    ("cvt.u64.u32 %rd8, %r4; mul.lo.s64 %rd9, %rd8, %rd2;", (0, "", 1)),
    (f"{LOADED} add.u32 %r8, %r1, %r5; cvt.u64.u32 %rd8, %r8; mul.lo.s64 %rd9, %rd8, %rd2;", None),  # maybe wrapped
    # a pointer to a row and an index in it
    ("mul.lo.u32 %r8, %r1, %r3; cvt.s64.s32 %rd8, %r8; cvt.s64.s32 %rd7, %r4; add.s64 %rd6, %rd8, %rd7;"
     "shl.b64 %rd5, %rd6, 2; add.s64 %rd9, %rd1, %rd5;", (4, "sext", 1)),
    ("mul.lo.u32 %r8, %r1, %r3; cvt.s64.s32 %rd8, %r8; cvt.s64.s32 %rd7, %r4; sub.s64 %rd9, %rd7, %rd8;",
     (1, "sext", 1)),
    # two strides
    ("mul.lo.u32 %r8, %r1, %r3; cvt.s64.s32 %rd8, %r8; cvt.s64.s32 %rd7, %r4; mul.lo.s64 %rd6, %rd7, %rd2;"
     "add.s64 %rd9, %rd8, %rd6;", None),
    ("mul.lo.u32 %r9, %r1, %r3; L: add.u32 %r9, %r9, %r2; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;", (0, "", 1)),
    ("mul.lo.u32 %r9, %r1, %r3; L: add.u32 %r9, %r9, %r1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;", None),
])  # fmt: skip
def test_lanes_a_stride_apart(body: str, expected: tuple[int, str, int] | None) -> None:
    found = expected and ([expected[0] * k for k in K], expected[1], [expected[2] * k for k in K])
    assert stride_of_r9(body) == found


@pytest.mark.parametrize(("grid", "times", "extension"), [
    ((1 << 18, 1, 1), 1, ""), ((1 << 18, 65535, 65535), 4, ""), ((1 << 18, 1, 1), 8, "sext"),
    (((1 << 18) + 1, 1, 1), 1, "sext"),
])  # fmt: skip
def test_indices_are_below_a_bound_unless_the_grid_is_huge(
    grid: tuple[int, int, int], times: int, extension: str
) -> None:
    index = f"mad.lo.s32 %r8, %r2, %r3, %r1; mul.lo.s32 %r7, %r8, {times}; cvt.s64.s32 %rd9, %r7;"
    assert form_of_r9(index, (64, 1, 1), grid) == ([times * k for k in K], extension)


@pytest.mark.parametrize("body", [  # not below 2^31 whatever the loop does, or one of two writers
    "mov.u32 %r8, %r1; L: add.u32 %r8, %r8, 0x10000000; cvt.s64.s32 %rd9, %r8; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;",
    "mov.u32 %r6, 0; L: add.u32 %r6, %r6, 0x10000000; add.u32 %r8, %r6, %r1; cvt.s64.s32 %rd9, %r8;"
    "setp.lt.u32 %p1, %r2, 9; @%p1 bra L;",
    "mov.u32 %r8, %r1; setp.lt.u32 %p1, %r2, 5; @%p1 sub.u32 %r8, %r1, 9; cvt.s64.s32 %rd9, %r8;",
    "sub.u32 %r8, %r1, 5; cvt.s64.s32 %rd9, %r8;",
])  # fmt: skip
def test_no_bound_is_known(body: str) -> None:
    assert form_of_r9(body) == (K, "sext")


def test_what_is_loaded_where_all_lanes_agree_is_a_scalar() -> None:
    from ptxlab.emulate.jit.affine.block_rows import Rows
    from ptxlab.emulate.jit.analysis.analyses import analyses

    body = """
        shr.u32 %r5, %r1, 5; mad.lo.u32 %r6, %r2, 4, %r5; mul.wide.u32 %rd5, %r6, 4; add.u64 %rd6, %rd2, %rd5;
        ld.global.u32 %r7, [%rd6]; ld.global.u32 %r8, [%rd6+4]; and.b32 %r10, %r1, 31; add.u32 %r9, %r7, %r10;
        L: add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %r8; @%p1 bra L;
    """
    program = lower(parse(kernel(body)))
    names = {r.name: r.index for r in program.registers}
    for width, expected in ((32, True), (0, False)):
        found = analyses(program, Rows(width))
        assert [found.uniform[names[name]] for name in ("%r7", "%r8", "%p1")] == [expected] * 3
        assert (names["%r9"] in found.affine) == expected


@pytest.mark.parametrize(("axis", "block", "expected"), [
    ("x", (48, 1, 1), K), ("x", (32, 3, 1), K), ("y", (32, 3, 1), [0] * 32), ("x", (16, 4, 1), [k % 16 for k in K]),
    ("y", (16, 5, 1), [k // 16 for k in K]), ("y", (8, 4, 3), [k // 8 for k in K]), ("x", (16, 3, 2), None),
    ("z", (16, 4, 2), [0] * 32), ("x", (20, 4, 1), None), ("x", (1, 64, 1), [0] * 32), ("y", (1, 64, 1), K),
])  # fmt: skip
def test_rows_of_a_block(axis: str, block: tuple[int, int, int], expected: list[int] | None) -> None:
    found = form_of_r9(f"mov.u32 %r9, %tid.{axis};", block)
    assert (found and found[0]) == expected


@pytest.mark.parametrize(("body", "block", "expected"), [
    ("shr.u32 %r9, %r8, 1;", (16, 4, 1), [0] * 32), ("shr.u32 %r9, %r8, 1;", (8, 8, 1), [k // 16 for k in K]),
    ("shr.u32 %r9, %r8, 1;", (32, 4, 1), [0] * 32), ("or.b32 %r9, %r8, 4;", (8, 8, 1), [k // 8 for k in K]),
    ("mul.lo.u32 %r7, %r8, 3; shr.u32 %r9, %r7, 1;", (16, 4, 1), None),  # 3 and a base of 6 meet in bit 1
    ("add.u32 %r7, %r8, %r1; shr.u32 %r9, %r7, 1;", (8, 8, 1), None),  # steps up to 10, a base that is a multiple of 4
])  # fmt: skip
def test_where_rows_begin(body: str, block: tuple[int, int, int], expected: list[int] | None) -> None:
    found = form_of_r9(f"mov.u32 %r8, %tid.y; {body}", block)
    assert (found and found[0]) == expected


@pytest.mark.parametrize(("body", "block", "expected"), [
    ("shr.u32 %r9, %r4, 5;", (96, 1, 1), [0] * 32), ("and.b32 %r9, %r4, 7;", (64, 2, 1), [k % 8 for k in K]),
    ("shr.u32 %r9, %r4, 4;", (16, 4, 1), [0] * 32), ("shr.u32 %r9, %r4, 1;", (48, 1, 1), None),
    ("shr.u32 %r9, %r4, 6;", (64, 1, 1), [0] * 32),  # of which it is not known that blocks begin at multiples of 64
    ("shr.u32 %r9, %r4, 5;", (20, 4, 1), None), ("shr.s32 %r5, %r4, 31; shr.u32 %r6, %r5, 27; add.s32 %r7, %r4, %r6;"
     "shr.s32 %r9, %r7, 5;", (64, 1, 1), [0] * 32),
])  # fmt: skip
def test_the_index_of_a_thread_in_the_grid(body: str, block: tuple[int, int, int], expected: list[int] | None) -> None:
    """%r4 is `%ctaid.x * %ntid.x + %tid.x`."""
    found = form_of_r9(body, block)
    assert (found and found[0]) == expected


def test_lanes_that_are_known_as_numbers() -> None:
    from emulate_programs import WAYS, improve, run

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


def test_bits_by_a_table_of_what_is_the_same_in_all_lanes() -> None:
    """`lop3`, whose table is a number and no operand: what is known of low bits asks for it."""
    from emulate_programs import WAYS, improve, run

    body = """
        shl.b32 %r5, %r2, 4; lop3.b32 %r6, %r5, %r3, %r2, 0x1B; shl.b32 %r7, %r6, 3;
        add.u32 %r8, %r7, %r1; st.global.u32 [%rd3], %r8;"""
    text, found = kernel(body), []
    improve(text, (32,), False, ("memcheck",))
    for way in WAYS:
        out, _ = run("step" if way == "step" else "jit", text, blocks=3)
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
