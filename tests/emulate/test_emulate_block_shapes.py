"""Rows that the threads of blocks of all shapes load and store: guards, borders, indices that wrap around, faults, and
CTAs that touch what others have."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("optimized" not in WAYS, reason="needs llvmlite")
Y = "mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r5, 32, %r6; mad.lo.u32 %r7, %r2, 160, %r7;"
"""%r7: the thread's number in a grid of blocks of 32 x 5."""
Z = """
    mov.u32 %r5, %tid.y;
    mov.u32 %r6, %tid.z;
    mov.u32 %r8, %ntid.y;
    mad.lo.u32 %r7, %r6, %r8, %r5;
    mad.lo.u32 %r7, %r7, %r3, %r1;
    mul.lo.u32 %r8, %r8, %r3;
    mov.u32 %r9, %ntid.z;
    mul.lo.u32 %r8, %r8, %r9;
    mad.lo.u32 %r7, %r2, %r8, %r7;"""
"""The same in blocks of several slices along z."""
WRITES = "mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r7;"
ROWS = """
    setp.ge.u32 %p1, %r2, 3;
    selp.b32 %r8, {step}, 128, %p1;
    mul.lo.u32 %r9, %r5, %r8;
    mad.lo.u32 %r9, %r6, {width}, %r9;
    cvt.s64.s32 %rd6, %r9;
    add.u64 %rd6, %rd6, %rd2;
    ld.global.u{bits} %r8, [%rd6];
    st.global.u32 [%rd1], %r8;"""
"""Loads from `x`, whose rows are so many bytes apart from the fourth block on."""

ASKEW = """
    setp.ge.u32 %p1, %r2, 3;
    selp.b32 %r8, {step}, 64, %p1;
    sub.u32 %r9, %r5, %r6;
    mul.lo.u32 %r9, %r9, %r8;
    mad.lo.u32 %r9, %r1, 4, %r9;
    add.u32 %r9, %r9, 256;
    cvt.s64.s32 %rd6, %r9;
    add.u64 %rd6, %rd6, %rd2;
    ld.global.u32 %r10, [%rd6];
    mul.wide.u32 %rd6, %r7, 4;
    add.u64 %rd6, %rd6, %rd1;
    st.global.u32 [%rd6], %r10;"""
"""Loads from `x`, forth along y and back along z: the first warp and the last load from one row."""

PROGRAMS: dict[str, tuple[Any, str]] = {
    "half a warp is a block": (16, """
        setp.ge.u32 %p1, %r4, 999;
        @%p1 bra END;
        ld.global.u32 %r8, [%rd3];
        add.u32 %r8, %r8, %r4;
        st.global.u32 [%rd3], %r8;
        END:"""),
    "the last warp of a block is not full": (100, """
        setp.ge.u32 %p1, %r4, 870;
        setp.lt.u32 %p2, %r4, 3;
        or.pred %p1, %p1, %p2;
        @%p1 bra END;
        ld.global.u32 %r8, [%rd3];
        add.u32 %r8, %r8, %r4;
        st.global.u32 [%rd3], %r8;
        END:"""),
    "lanes of a warp that is not full exit": (77, """
        and.b32 %r8, %r4, 5;
        setp.eq.u32 %p1, %r8, 4;
        @%p1 bra END;
        ld.global.u32 %r9, [%rd2+8];
        add.u32 %r8, %r9, %r4;
        setp.gt.u32 %p1, %r8, 500;
        @%p1 exit;
        st.global.u32 [%rd3], %r8;
        END:"""),
    "inactive lanes would wrap around": (16, """
        add.s32 %r10, %r1, 0x7ffffff0;
        mul.wide.s32 %rd6, %r10, 4;
        add.s64 %rd6, %rd6, %rd2;
        ld.global.u32 %r11, [%rd6+-0x1ffffffc0];
        st.global.u32 [%rd3], %r11;"""),
    "a tile of less than a warp": ((5, 5), """
        mov.u32 %r5, %tid.y;
        mad.lo.u32 %r7, %r5, 5, %r1;
        mad.lo.u32 %r7, %r2, 25, %r7;""" + WRITES),
    "warps along y": ((32, 5), Y + WRITES),
    "a tile and its border": ((16, 10), """
        mov.u32 %r5, %tid.y;
        mad.lo.u32 %r6, %r2, 16, %r1;
        setp.lt.u32 %p1, %r6, 3;
        setp.ge.u32 %p2, %r6, 121;
        or.pred %p1, %p1, %p2;
        setp.ge.u32 %p2, %r5, 6;
        or.pred %p1, %p1, %p2;
        @%p1 bra END;
        mad.lo.u32 %r7, %r5, 144, %r6;
        mul.wide.u32 %rd6, %r7, 4;
        add.u64 %rd7, %rd6, %rd2;
        add.u64 %rd6, %rd6, %rd1;
        ld.global.u32 %r8, [%rd7];
        ld.global.u32 %r9, [%rd7+-4]; mad.lo.u32 %r8, %r8, 33, %r9;
        ld.global.u32 %r9, [%rd7+4]; mad.lo.u32 %r8, %r8, 33, %r9;
        ld.global.u32 %r9, [%rd7+8]; mad.lo.u32 %r8, %r8, 33, %r9;
        ld.global.u32 %r9, [%rd7+-8]; mad.lo.u32 %r8, %r8, 33, %r9;
        ld.global.u32 %r9, [%rd7+-12]; mad.lo.u32 %r8, %r8, 33, %r9;
        st.global.u32 [%rd6], %r8;
        END:"""),
    "a number wraps around twice before it is compared": ((32, 5), Y + """
        shl.b32 %r8, %r5, 30;
        add.u32 %r8, %r8, %r2;
        setp.lt.s32 %p1, %r8, 0;
        @%p1 bra END;""" + WRITES + "END:"),
    "a number of 64 bits wraps around before it is compared": ((32, 5), Y + """
        cvt.u64.u32 %rd8, %r5;
        shl.b64 %rd8, %rd8, 62;
        cvt.u64.u32 %rd9, %r2;
        add.u64 %rd8, %rd8, %rd9;
        setp.lt.u64 %p1, %rd8, 100;
        @!%p1 bra END;""" + WRITES + "END:"),
    "warps along y and z": ((32, 2, 3), Z + WRITES),
    "slices of one warp": ((16, 2, 4), Z + WRITES),
    "slices at a border": ((16, 4, 3), Z + """
        add.u32 %r9, %r6, %r2;
        setp.lt.s32 %p1, %r9, 1;
        setp.gt.s32 %p2, %r9, 9;
        or.pred %p1, %p1, %p2;
        setp.gt.s32 %p2, %r1, 20;
        or.pred %p1, %p1, %p2;
        @%p1 bra END;""" + WRITES + "END:"),
    "forth along y and back along z": ((32, 2, 2), Z + ASKEW.format(step=128)),
    "the first slice and the last do not tell of those between": ((32, 2, 2), Z + """
        sub.u32 %r9, %r5, %r6;
        add.u32 %r9, %r9, %r2;
        setp.gt.s32 %p1, %r9, 4;
        @%p1 bra END;""" + WRITES + "END:"),
    "one number along y is compared with another along z": ((32, 2, 2), Z + """
        add.u32 %r9, %r5, %r2;
        add.u32 %r8, %r6, 4;
        setp.gt.s32 %p1, %r9, %r8;
        @%p1 bra END;""" + WRITES + "END:"),
    "a number wraps around along z before it is compared": ((32, 2, 3), Z + """
        shl.b32 %r8, %r6, 31;
        add.u32 %r8, %r8, %r2;
        setp.lt.s32 %p1, %r8, 0;
        @%p1 bra END;""" + WRITES + "END:"),
    "equal in the middle": ((32, 5), Y + """
        add.u32 %r8, %r5, %r2;
        setp.eq.u32 %p1, %r8, 4;
        @%p1 bra END;""" + WRITES + "END:"),
    "a row wraps around before it is widened": (160, """
        add.u32 %r8, %r4, 0x7ffffe00;
        cvt.s64.s32 %rd6, %r8;
        sub.s64 %rd6, %rd6, 0x7ffffe00;
        setp.lt.u64 %p1, %rd6, 1000;
        shl.b64 %rd6, %rd6, 2;
        add.u64 %rd6, %rd6, %rd2;
        @%p1 ld.global.u32 %r8, [%rd6];
        st.global.u32 [%rd3], %r8;"""),
    "rows that lie backwards": (160, """
        sub.u32 %r8, 159, %r1;
        mul.wide.s32 %rd6, %r8, 4;
        add.u64 %rd6, %rd6, %rd2;
        ld.global.u32 %r8, [%rd6];
        st.global.u32 [%rd3], %r8;"""),
    "a barrier behind an access": (128, """
        ld.global.u32 %r8, [%rd3];
        setp.lt.u32 %p1, %r4, 300;
        @%p1 add.u32 %r8, %r8, %r4;
        st.global.u32 [%rd3], %r8;
        bar.sync 0;
        xor.b32 %r5, %r4, 32;
        mul.wide.u32 %rd6, %r5, 4;
        add.u64 %rd6, %rd6, %rd1;
        ld.global.u32 %r9, [%rd6];
        bar.sync 0;
        st.global.u32 [%rd3], %r9;"""),
    "warps come to their barrier from two places": (160, """
        shr.u32 %r5, %r1, 5;
        add.u32 %r6, %r5, %r2;
        setp.eq.u32 %p1, %r6, 7;
        st.global.u32 [%rd3], %r4;
        @%p1 bra OTHER;
        bar.sync 0;
        st.global.u32 [%rd3], %r5;
        bra END;
        OTHER:
        bar.sync 0;
        st.global.u32 [%rd3], %r6;
        END:"""),
    "lanes leave before the barrier in one block": (160, """
        setp.eq.u32 %p1, %r4, 701;
        @%p1 exit;
        st.global.u32 [%rd3], %r4;
        bar.sync 0;
        st.global.u32 [%rd3], %r2;"""),
    "bytes and halves": (160, """
        cvt.u64.u32 %rd6, %r4;
        add.u64 %rd6, %rd6, %rd2;
        ld.global.u8 %h1, [%rd6];
        mul.wide.u32 %rd7, %r4, 2;
        add.u64 %rd7, %rd7, %rd2;
        st.global.u16 [%rd7+1024], %h1;
        cvt.u32.u16 %r8, %h1;
        st.global.u32 [%rd3], %r8;"""),
}  # fmt: skip
"""What: threads of a block, body."""

FAULTS: dict[str, tuple[Any, str]] = {
    "the last warp of a block reads behind the end": (160, """
        mul.wide.u32 %rd6, %r4, 4;
        add.u64 %rd6, %rd6, %rd2;
        ld.global.u32 %r8, [%rd6+1536];
        st.global.u32 [%rd3], %r8;"""),
    "the first warp of a block writes before the beginning": (160, """
        sub.u32 %r8, 700, %r4;
        mul.wide.s32 %rd6, %r8, 4;
        add.u64 %rd6, %rd6, %rd2;
        st.global.u32 [%rd6], %r4;"""),
    "rows between the first and the last are misaligned": ((32, 5), Y + ROWS.format(step=130, width=4, bits=32)),
    "bytes between the first and the last are far away": ((32, 5), Y + ROWS.format(step=1 << 30, width=1, bits=8)),
    "only warps between the first slice and the last are far away": (
        (32, 2, 2), Z + ASKEW.format(step=1 << 29)
    ),
    "slices are misaligned": ((32, 2, 3), Z + """
        setp.ge.u32 %p1, %r2, 3;
        selp.b32 %r8, 130, 128, %p1;
        mul.lo.u32 %r9, %r6, %r8;
        mad.lo.u32 %r9, %r1, 4, %r9;
        cvt.s64.s32 %rd6, %r9;
        add.u64 %rd6, %rd6, %rd2;
        ld.global.u32 %r8, [%rd6];
        st.global.u32 [%rd1], %r8;"""),
    "sums behind the end": (160, """
        mul.wide.u32 %rd6, %r4, 4;
        add.u64 %rd6, %rd6, %rd2;
        red.global.add.u32 [%rd6+1536], 1;
        st.global.u32 [%rd3], %r4;"""),
}  # fmt: skip
"""The same, of programs that end with a fault in the fourth block or behind it."""


def outcome(way: str, threads: Any, body: str, **options: Any) -> tuple[Any, ...]:
    """What a program leaves in nine blocks: `x`, and `out` and the executed lines, or its fault."""
    text, x = kernel(body), np.arange(1024, dtype=np.uint32) * 7
    try:
        out, report = run(way, text, threads=threads, blocks=9, x=x, **options)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    return out.tolist(), x.tolist(), report.lines


@pytest.mark.sweep(3)
@pytest.mark.parametrize("what", PROGRAMS)
def test_all_code_does_the_same(what: str) -> None:
    expected, *others = (outcome(way, *PROGRAMS[what]) for way in WAYS)
    assert len(expected) == 3
    assert any(expected[0])
    for other in (*others, outcome("optimized", *PROGRAMS[what], workers=2)):
        assert other == expected


@pytest.mark.parametrize("what", FAULTS)
def test_all_code_faults_alike(what: str) -> None:
    expected, *others = (outcome(way, *FAULTS[what]) for way in WAYS)
    assert re.search(r"block \([3-8], 0, 0\)", expected[0])
    for other in others:
        assert other == expected


ROW = "mul.wide.u32 %rd6, %r4, 4; add.u64 %rd7, %rd6, %rd2; ld.global.u32 %r5, [%rd7];"
CTAS = {
    "an index by the CTA": "shr.u32 %r6, %r2, 2; and.b32 %r7, %r2, 3; mad.lo.u32 %r6, %r6, 40, %r7;"
    "add.u32 %r6, %r6, %r1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd6, %rd2; ld.global.u32 %r5, [%rd7];"
    "st.global.u32 [%rd3], %r5;",
    "an element lies elsewhere": ROW + "setp.eq.u32 %p1, %r5, 900; selp.b32 %r6, 0x10000000, %r5, %p1;"
    "mul.wide.u32 %rd8, %r6, 4; add.u64 %rd8, %rd8, %rd2; ld.global.u32 %r7, [%rd8]; st.global.u32 [%rd3], %r7;",
    "it counts": ROW + "red.global.add.u32 [%rd2], %r2; st.global.u32 [%rd3], %r5;",
    "warps in turn read one array and the other": "shr.u32 %r6, %r1, 5; add.u32 %r6, %r6, %r2; and.b32 %r6, %r6, 1;"
    "setp.eq.u32 %p1, %r6, 1; selp.b64 %rd9, %rd2, %rd1, %p1; mul.wide.u32 %rd6, %r4, 4; add.u64 %rd7, %rd9, %rd6;"
    "ld.global.u32 %r5, [%rd7+128]; mul.lo.u32 %r5, %r5, 0; st.global.u32 [%rd3], %r5;",
    "the CTA before reads it, too": ROW + "ld.global.u32 %r6, [%rd7+512]; add.u32 %r5, %r5, %r6;"
    "st.global.u32 [%rd7], %r5; st.global.u32 [%rd3], %r5;",
    "nobody has written it": "ld.global.u32 %r6, [%rd3];" + ROW + "mad.lo.u32 %r5, %r5, 0, %r6;"
    "st.global.u32 [%rd3], %r5;",
}  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize("options", [{"counters": True}, {"checks": ALL_CHECKS}])
@pytest.mark.parametrize("what", CTAS)
def test_with_counters_and_checks(what: str, options: dict[str, Any]) -> None:
    """CTAs of less than a warp, of several warps with and without a rest, and of three warpgroups."""
    text = kernel(CTAS[what])
    for block, blocks in (((5, 4), (35, 2)), ((100,), (28,)), ((16, 16), (17,)), ((288,), (15,))):
        left: list[tuple[Any, ...]] = []
        for way in WAYS:
            x, out = np.arange(4480, dtype=np.uint32), np.zeros(4480, np.uint32)
            try:
                out, report = run(way, text, threads=block, blocks=blocks, x=x, out=out, **options)
            except DeviceFault as fault:
                left.append((str(fault),))
            else:
                found = [str(each) for each in report.findings]
                left.append((out.tolist(), x.tolist(), report.lines, report.counters, found))
        assert [each == left[0] for each in left] == [True] * len(WAYS), block
