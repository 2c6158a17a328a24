"""Loads and stores in all ways: rows that guards cut, numbers that wrap around, blocks of all shapes, faults."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy as np
import pytest
import random_accesses
import random_affine
from agreement import OPTIONS, Programs
from emulate_programs import WAYS, agreed, kernel, launch, run
from guard_pages import between_guard_pages
from slow_cases import slow

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("optimized" not in WAYS, reason="needs llvmlite: there is one engine only")

# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [0, 2_000_300, *(pytest.param(at, marks=pytest.mark.rest) for at in (6, 12)), *slow(range(18, 1000, 60))]
)
def test_random_accesses(first: int) -> None:
    assert random_accesses.differences(first, 60 if 18 <= first < 1000 else 6) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(at, marks=pytest.mark.rest) for at in (2, 4)), *slow(range(6, 206, 50))]
)
def test_random_programs_of_affine_values(first: int) -> None:
    assert random_affine.differences(first, 2 if first < 6 else 50) == []


# fmt: off
# -- rows of blocks of all shapes --------------------------------------------------------------------------------------

PROGRAMS = Programs()
program = PROGRAMS.add
WIDE = np.arange(1024, dtype=np.uint32) * 7
Y = "mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r5, 32, %r6; mad.lo.u32 %r7, %r2, 160, %r7;"
"""%r7: the thread's number in a grid of blocks of 32 x 5."""
Z = """
    mov.u32 %r5, %tid.y; mov.u32 %r6, %tid.z; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z;
    mad.lo.u32 %r7, %r6, %r8, %r5; mad.lo.u32 %r7, %r7, %r3, %r1;
    mul.lo.u32 %r8, %r8, %r3; mul.lo.u32 %r8, %r8, %r9; mad.lo.u32 %r7, %r2, %r8, %r7;"""
"""The same in blocks of several slices along z."""
WRITES = "mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r7;"
LOAD = "cvt.s64.s32 %rd6, %r9; add.u64 %rd6, %rd6, %rd2; ld.global.u{bits} %r10, [%rd6];"
FOURTH = "setp.ge.u32 %p1, %r2, 3; selp.b32 %r8, {then}, {before}, %p1;"
"""%r8: one number in the first three blocks, another from the fourth on."""
ROWS = FOURTH + "mul.lo.u32 %r9, %r5, %r8; mad.lo.u32 %r9, %r6, {width}, %r9;" + LOAD + "st.global.u32 [%rd1], %r10;"
"""Loads from `x`, whose rows are %r8 bytes apart."""
ASKEW = (FOURTH + "sub.u32 %r9, %r5, %r6; mul.lo.u32 %r9, %r9, %r8; mad.lo.u32 %r9, %r1, 4, %r9;"
         "add.u32 %r9, %r9, 256;" + LOAD.format(bits=32) + WRITES.replace("], %r7", "], %r10"))
"""Loads from `x`, forth along y and back along z: the first warp and the last load from one row."""
UPDATE = "ld.global.u32 %r8, [%rd3]; add.u32 %r8, %r8, %r4; st.global.u32 [%rd3], %r8;"

for name, block, body in (
    ("half a warp is a block", 16, f"setp.ge.u32 %p1, %r4, 999; @%p1 bra END; {UPDATE} END:"),
    ("the last warp of a block is not full", 100, f"""
        setp.ge.u32 %p1, %r4, 870; setp.lt.u32 %p2, %r4, 3; or.pred %p1, %p1, %p2; @%p1 bra END; {UPDATE} END:"""),
    ("lanes of a warp that is not full exit", 77, """
        and.b32 %r8, %r4, 5; setp.eq.u32 %p1, %r8, 4; @%p1 bra END;
        ld.global.u32 %r9, [%rd2+8]; add.u32 %r8, %r9, %r4;
        setp.gt.u32 %p1, %r8, 500; @%p1 exit;
        st.global.u32 [%rd3], %r8; END:"""),
    ("inactive lanes would wrap around", 16, """
        add.s32 %r10, %r1, 0x7ffffff0; mul.wide.s32 %rd6, %r10, 4; add.s64 %rd6, %rd6, %rd2;
        ld.global.u32 %r11, [%rd6+-0x1ffffffc0]; st.global.u32 [%rd3], %r11;"""),
    ("a tile of less than a warp", (5, 5), """
        mov.u32 %r5, %tid.y; mad.lo.u32 %r7, %r5, 5, %r1; mad.lo.u32 %r7, %r2, 25, %r7;""" + WRITES),
    ("a tile and its border", (16, 10), """
        mov.u32 %r5, %tid.y; mad.lo.u32 %r6, %r2, 16, %r1;
        setp.lt.u32 %p1, %r6, 3; setp.ge.u32 %p2, %r6, 121; or.pred %p1, %p1, %p2;
        setp.ge.u32 %p2, %r5, 6; or.pred %p1, %p1, %p2; @%p1 bra END;
        mad.lo.u32 %r7, %r5, 144, %r6; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd7, %rd6, %rd2; add.u64 %rd6, %rd6, %rd1;
        mov.u32 %r8, 0;""" + "".join(f"ld.global.u32 %r9, [%rd7+{at}]; mad.lo.u32 %r8, %r8, 33, %r9;"
                                     for at in (0, -4, 4, 8, -8, -12)) + "st.global.u32 [%rd6], %r8; END:"),
    ("a number wraps around twice before it is compared", (32, 5), f"""{Y}
        shl.b32 %r8, %r5, 30; add.u32 %r8, %r8, %r2; setp.lt.s32 %p1, %r8, 0; @%p1 bra END; {WRITES} END:"""),
    ("a number of 64 bits wraps around before it is compared", (32, 5), f"""{Y}
        cvt.u64.u32 %rd8, %r5; shl.b64 %rd8, %rd8, 62; cvt.u64.u32 %rd9, %r2; add.u64 %rd8, %rd8, %rd9;
        setp.lt.u64 %p1, %rd8, 100; @!%p1 bra END; {WRITES} END:"""),
    ("warps along y and z", (32, 2, 3), Z + WRITES),
    ("slices at a border", (16, 4, 3), f"""{Z}
        add.u32 %r9, %r6, %r2; setp.lt.s32 %p1, %r9, 1; setp.gt.s32 %p2, %r9, 9; or.pred %p1, %p1, %p2;
        setp.gt.s32 %p2, %r1, 20; or.pred %p1, %p1, %p2; @%p1 bra END; {WRITES} END:"""),
    ("forth along y and back along z", (32, 2, 2), Z + ASKEW.format(then=128, before=64)),
    ("one number along y is compared with another along z", (32, 2, 2), f"""{Z}
        add.u32 %r9, %r5, %r2; add.u32 %r8, %r6, 4; setp.gt.s32 %p1, %r9, %r8; @%p1 bra END; {WRITES} END:"""),
    ("equal in the middle", (32, 5),
     f"{Y} add.u32 %r8, %r5, %r2; setp.eq.u32 %p1, %r8, 4; @%p1 bra END; {WRITES} END:"),
    ("a row wraps around before it is widened", 160, """
        add.u32 %r8, %r4, 0x7ffffe00; cvt.s64.s32 %rd6, %r8; sub.s64 %rd6, %rd6, 0x7ffffe00;
        setp.lt.u64 %p1, %rd6, 1000; shl.b64 %rd6, %rd6, 2; add.u64 %rd6, %rd6, %rd2;
        @%p1 ld.global.u32 %r8, [%rd6]; st.global.u32 [%rd3], %r8;"""),
    ("of a row whose index wraps around only the lanes behind lie in memory", 32, """
        add.u32 %r5, %r1, 0x7FFFFFF0; mul.wide.s32 %rd6, %r5, 4; add.s64 %rd6, %rd6, 0x200000000;
        add.s64 %rd6, %rd6, %rd2; setp.ge.u32 %p1, %r1, 16; mov.u32 %r6, 7;
        @%p1 ld.global.u32 %r6, [%rd6]; @%p1 add.u32 %r6, %r6, 1; st.global.u32 [%rd3], %r6;"""),
    ("of a row whose index wraps around only the lanes before lie in memory", 32, """
        add.u32 %r5, %r1, 0x7FFFFFF0; mul.wide.s32 %rd6, %r5, 4; sub.s64 %rd6, %rd6, 0x200000000;
        add.s64 %rd6, %rd6, %rd2; setp.lt.u32 %p1, %r1, 16; mov.u32 %r6, 7;
        @%p1 ld.global.u32 %r6, [%rd6+64]; @%p1 add.u32 %r6, %r6, 1; st.global.u32 [%rd3], %r6;"""),
    ("a stride brings the second row of 16 back into shared memory", (16, 2), """
        .shared .align 4 .b32 tile[16];
        mov.u32 %r10, %tid.x; mov.u32 %r11, %tid.y; shl.b32 %r12, %r10, 2; mov.u32 %r13, tile;
        ld.global.u32 %r14, [%rd2]; add.u32 %r14, %r14, 0x80000000;      // x[0] is 0
        add.u32 %r15, %r13, %r12; mad.lo.u32 %r16, %r11, %r14, %r15; add.u32 %r16, %r16, %r14;
        setp.eq.u32 %p1, %r11, 1; @%p1 st.shared.u32 [%r15], %r10; bar.sync 0;
        mov.u32 %r6, 99; @%p1 ld.shared.u32 %r6, [%r16];
        mad.lo.u32 %r7, %r11, 16, %r10; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd6, %rd1;
        st.global.u32 [%rd6], %r6;"""),
    ("a barrier behind an access", 128, """
        ld.global.u32 %r8, [%rd3]; setp.lt.u32 %p1, %r4, 300; @%p1 add.u32 %r8, %r8, %r4; st.global.u32 [%rd3], %r8;
        bar.sync 0;
        xor.b32 %r5, %r4, 32; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd6, %rd1; ld.global.u32 %r9, [%rd6];
        bar.sync 0; st.global.u32 [%rd3], %r9;"""),
    ("lanes that are known as numbers", 96, """
        and.b32 %r5, %r1, 31; setp.lt.u32 %p1, %r5, 20; selp.b32 %r20, %r5, 100, %p1;  // 0 to 31 in each warp
        and.b32 %r6, %r1, -32; sub.u32 %r7, %r1, %r6; mad.lo.u32 %r20, %r20, 3, %r7;
        add.u32 %r8, %r1, %r2; sub.u32 %r9, %r1, %r1; mad.lo.u32 %r20, %r20, 3, %r9;
        sub.u32 %r10, %r8, %r1; mad.lo.u32 %r20, %r20, 3, %r10; sub.u32 %r11, %r1, %r8; mad.lo.u32 %r20, %r20, 3, %r11;
        setp.eq.u32 %p2, %r7, 31; @!%p2 bra L; add.u32 %r20, %r20, 7; L:
        bar.sync 0; setp.ne.u32 %p3, %r5, 0; @%p3 bra M; add.u32 %r20, %r20, %r10; M:
        st.global.u32 [%rd3], %r20;"""),
    ("bits by a table of what is the same in all lanes", 32, """
        shl.b32 %r5, %r2, 4; lop3.b32 %r6, %r5, %r3, %r2, 0x1B; shl.b32 %r7, %r6, 3;
        add.u32 %r8, %r7, %r1; st.global.u32 [%rd3], %r8;"""),
    ("lanes times a number in a register", 64, """
        mov.u32 %r5, 2; mul.lo.u32 %r6, %r1, %r5; mov.u32 %r7, 0x10000001; mul.lo.u32 %r8, %r1, %r7;
        mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r9, [%rd6];
        mad.lo.u32 %r9, %r9, %r7, %r8; st.global.u32 [%rd3], %r9;"""),
):
    program(name, body, threads=block, blocks=9, x=WIDE)
for name, block, body in (
    ("the last warp of a block reads behind the end", 160, """
        mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2;
        ld.global.u32 %r8, [%rd6+1536]; st.global.u32 [%rd3], %r8;"""),
    ("the first warp of a block writes before the beginning", 160, """
        sub.u32 %r8, 700, %r4; mul.wide.s32 %rd6, %r8, 4; add.u64 %rd6, %rd6, %rd2; st.global.u32 [%rd6], %r4;"""),
    ("rows between the first and the last are misaligned", (32, 5),
     Y + ROWS.format(then=130, before=128, width=4, bits=32)),
    ("bytes between the first and the last are far away", (32, 5),
     Y + ROWS.format(then=1 << 30, before=128, width=1, bits=8)),
    ("only warps between the first slice and the last are far away", (32, 2, 2),
     Z + ASKEW.format(then=1 << 29, before=64)),
    ("slices are misaligned", (32, 2, 3),
     Z + ROWS.replace("%r5, %r8", "%r6, %r8").replace("%r6, {width}", "%r1, 4").format(then=130, before=128, bits=32)),
    ("sums behind the end", 160, """
        mul.wide.u32 %rd6, %r4, 4; add.u64 %rd6, %rd6, %rd2; red.global.add.u32 [%rd6+1536], 1;"""),
):
    program(name, body, threads=block, blocks=9, x=WIDE, fault="thread (")

# -- the stride of lanes is known when the kernel runs -----------------------------------------------------------------

STRIDE = """
    mov.u32 %r6, %tid.y; mov.u32 %r9, %ntid.x; mov.u32 %r5, %ntid.y; mad.lo.u32 %r5, %r2, %r5, %r6;
    mad.lo.u32 %r4, %r5, %r9, %r1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd3, %rd1, %rd4;
    ld.global.u32 %r7, [%rd2]; ld.global.u32 %r8, [%rd2+4]; setp.eq.u32 %p9, %r2, 2;
    selp.b32 %r7, %r7, 8, %p9; selp.b32 %r8, %r8, 16, %p9;
    mad.lo.s32 %r10, {row}, %r7, {column}; add.s32 %r10, %r10, %r8;
    mul.wide.{kind}32 %rd5, %r10, 4; add.s64 %rd6, %rd2, %rd5;"""
"""%rd6: an element of `x`. In the third block the stride is x[0], the first element x[1]; before, accesses learn where
memory is."""
INSIDE = """
    sub.s64 %rd7, %rd6, %rd2; setp.lt.u64 %p1, %rd7, 4096; mov.u32 %r20, 77;
    @%p1 ld.global.u32 %r20, [%rd6]; @!%p1 bra END; ld.global.u32 %r21, [%rd6]; add.u32 %r20, %r20, %r21; END:"""
"""Lanes that are inside load, wherever the others are."""
ALL = "ld.global.u32 %r20, [%rd6];"


def strided(stride: int, first: int) -> np.ndarray:
    """`x` of such a program."""
    x = WIDE.copy()
    x[:2] = stride % (1 << 32), first % (1 << 32)
    return x


for stride, first in ((0x08000001, 5), (0x7FFFFFFF, 5), (-0x80000000, 5), (0x40000000, 5), (-0x10000000, 8),
                      (2, 0x7FFFFFF0), (5, 0xFFFFFFF0)):
    for kind in "su":
        program(f"lanes wrap around: {stride:#x}, {first:#x}, {kind}32",
                STRIDE.format(row="%r1", column="0", kind=kind) + INSIDE, "%r20", threads=32, blocks=3,
                x=strided(stride, first))
for block, row, column in (((32,), "%r1", "0"), ((16, 2), "%r6", "%r1")):
    for stride, first in ((1, 2), (8, 100), (-8, 600), (-1, 300), (0, 9)):
        program(f"rows of {block[0]}: {stride}, {first}", STRIDE.format(row=row, column=column, kind="s") + ALL, "%r20",
                threads=block, blocks=3, x=strided(stride, first))
    for stride, first in ((24, 1030), (3, -1), (0x40000000, 5), (40, 1000)):
        program(f"rows of {block[0]} that leave the array: {stride:#x}, {first}",
                STRIDE.format(row=row, column=column, kind="s") + ALL, "%r20", threads=block, blocks=3,
                x=strided(stride, first), fault="load of 4 bytes")
    for kind, first, ends in (("s", 0x7FFFFFF0, True), ("u", 0xFFFFFFF0, True), ("s", 0x7FFFFF00, False),
                              ("u", 0x7FFFFFF0, False)):
        back = f"mul.wide.{kind}32 %rd7, %r8, 4; sub.s64 %rd6, %rd6, %rd7;"
        program(f"rows of {block[0]} would be inside had they not wrapped around: {kind}32, {first:#x}",
                STRIDE.format(row=row, column=column, kind=kind) + back + ALL, "%r20", threads=block, blocks=3,
                x=strided(5, first), fault="load of 4 bytes" if ends else "")
for stride in (8, -8):
    program(f"a warp that diverges and reconverges keeps the stride {stride}",
            STRIDE.format(row="%r1", column="0", kind="s") + """
    setp.lt.u32 %p1, %r1, 13; @%p1 bra A; bar.warp.sync 0xffffe000; add.s64 %rd6, %rd6, 4; bra B;
    A: bar.warp.sync 0x1fff; add.s64 %rd6, %rd6, 4; B: bar.warp.sync -1;""" + ALL, "%r20", threads=32, blocks=3,
            x=strided(stride, 400))
for size in (1, 4):
    program(f"each half of a warp has an array of its own: {size}", f"""
    mov.u32 %r6, %tid.y; sub.s64 %rd5, %rd2, %rd1; cvt.u64.u32 %rd6, %r6; mul.lo.s64 %rd5, %rd5, %rd6;
    mul.wide.u32 %rd7, %r1, {4 * size}; add.s64 %rd6, %rd1, %rd5; add.s64 %rd6, %rd6, %rd7;
    ld.global.u32 %r20, [%rd6]; ld.global.u32 %r21, [%rd6+256]; mad.lo.u32 %r20, %r20, 3, %r21;
    st.global.u32 [%rd6+512], %r20; ld.global.u32 %r22, [%rd6+768];
    setp.lt.u32 %p1, %r1, 5; @%p1 st.global.u32 [%rd6+1024], %r22;""", threads=(16, 2), blocks=1, x=WIDE, out=WIDE + 3)
for block in ((8, 8), (16, 4)):
    program(f"lanes that are missing in rows of {block[0]} lie outside", """
    mov.u32 %r6, %tid.y; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;
    ld.global.u32 %r7, [%rd2]; mad.lo.u32 %r9, %r6, %r7, %r1; mul.wide.u32 %rd6, %r9, 4;
    add.u64 %rd7, %rd2, %rd6; add.u64 %rd8, %rd1, %rd6;
    ld.global.u32 %r10, [%rd7+-4]; st.global.u32 [%rd8+-4], %r10; END:""",
            threads=block, blocks=1, x=strided(40, 3), out=np.zeros(1024, np.uint32))

# -- which access a fault names ----------------------------------------------------------------------------------------

for offset in (4096, 2):
    loads = "".join(f"add.s64 %rd{10 + k}, %rd5, {at}; ld.global.u32 %r{10 + k}, [%rd{10 + k}];\n"
                    for k, at in enumerate((0, 4, offset, 8)))
    program(f"the third of four loads is wrong by {offset}", f"mad.wide.u32 %rd5, %r1, 4, %rd2; {loads}", threads=64,
            x=WIDE[:96], fault="ld.global.u32 %r12, [%rd12]")
for place in ("mul.lo.u32 %r5, %r1, %r1; and.b32 %r5, %r5, 15;", "mov.u32 %r5, %r1;"):
    program(f"the second of two rows is misaligned: {place}", f"""{place}
    mov.u32 %r6, tile; mad.lo.u32 %r7, %r5, 16, %r6; mad.lo.u32 %r8, %r5, 8, %r6;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [%r7];
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r8+16];""", threads=64, fault="[%r8+16]")
for length, fault in ((1024, ""), (1023, "ld.global.u32 %r6, [%rd5+60]")):
    loads = "".join(f"ld.global.u32 %r6, [%rd5+{4 * k}]; add.u32 %r7, %r7, %r6;\n" for k in range(16))
    program(f"16 loads from one base of {length} words", f"""
    mul.lo.u32 %r5, %r1, 5; and.b32 %r5, %r5, 63; mad.wide.u32 %rd5, %r5, 64, %rd2;\n{loads}""", "%r7", threads=64,
            blocks=1, x=WIDE[:length], fault=fault)
OWN = """.local .align 16 .b8 own[256]; mov.u32 %r5, own; mad.lo.u32 %r7, %r1, 16, %r5; add.u32 %r8, %r5, 2;
    ld.global.u32 %r9, [%rd2+128]; mul.lo.u32 %r9, %r9, 8;"""
for at in ("%r7", "%r7+-4", "%r8", "%r9"):
    for access in (f"ld.local.u32 %r6, [{at}];", f"st.local.v2.u32 [{at}], {{%r1, %r1}};"):
        program(f"beyond local memory, or between elements: {access}", OWN + access, threads=32, fault="memcheck")

# -- structures by value -----------------------------------------------------------------------------------------------

for size in (5, 8, 15):
    turned = f"""
.func (.param .align 8 .b8 r[{size}]) turned(.param .align 8 .b8 a[{size}], .param .b16 h, .param .b8 c)
{{
    .reg .b16 %k<4>;
    ld.param.u8 %k0, [a+{size - 1}]; ld.param.u8 %k1, [c]; ld.param.u16 %k2, [h];
    add.u16 %k0, %k0, %k1; st.param.b8 [r], %k0; add.u16 %k2, %k2, %k0; st.param.b16 [r+2], %k2;
    ld.param.u8 %k3, [a+1]; st.param.b8 [r+{size - 1}], %k3; ret;
}}"""
    call = f"""{{ .param .align 8 .b8 a[{size}]; .param .b16 h; .param .b8 c; .param .align 8 .b8 r[{size}];
    st.param.b32 [a], %r6; cvt.u16.u32 %h1, %r1; st.param.b8 [a+{size - 1}], %h1; st.param.b16 [h], %h1;
    st.param.b8 [c], %h1; call.uni (r), turned, (a, h, c);
    ld.param.b32 %r7, [r]; ld.param.b8 %h2, [r+{size - 1}]; cvt.u32.u16 %r8, %h2; mad.lo.u32 %r6, %r7, 3, %r8; }}"""
    skip = "and.b32 %r9, %r1, 5; setp.eq.u32 %p1, %r9, 1; @%p1 bra OVER;"
    program(f"structures of {size} bytes", f"mov.u32 %r6, %r1; {call} {skip} {call} OVER:", "%r6", threads=45,
            before=turned)

# fmt: on
# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(43)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_ways_agree(name: str, options: str) -> None:
    PROGRAMS.check(name, options)


@pytest.mark.sweep(16)
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_workers_give_the_same(name: str) -> None:
    PROGRAMS.check_workers(name)


# -- what is around memory, and what a fault leaves --------------------------------------------------------------------


@pytest.mark.parametrize(
    "load",
    [
        "mad.wide.u32 %rd6, %r2, 8192, %rd6; {stores} ld.global.u8 %r10, [%rd6];",
        "mul.lo.u32 %r10, %r2, 65536; {stores} ld.shared.u8 %r10, [%r10+1024];",
    ],
)
def test_a_fault_between_stores_finds_those_before_it_made(load: str, way: str) -> None:
    """The second block loads outside, between its stores."""
    text = kernel(f"""
        mul.lo.u32 %r9, %r1, 3; mad.lo.u32 %r9, %r2, 1024, %r9; cvt.u64.u32 %rd5, %r9; add.u64 %rd6, %rd2, %rd5;
        add.u64 %rd5, %rd1, %rd5; mov.u32 %r8, 1; {load.format(stores="st.global.u8 [%rd5], %r8;")}
        st.global.u8 [%rd5+1], %r8; st.global.u8 [%rd5+2], %r8;""")
    out, x = np.zeros(4096, np.uint8), np.zeros(4096, np.uint8)
    with pytest.raises(DeviceFault):
        launch(way, text, out, x, grid=(2,), block=(32,), shared=2048)
    assert (out[:96].tolist(), out[1024:1120].tolist()) == ([1] * 96, [1, 0, 0] * 32)


def test_an_address_of_32_bits_that_wraps_around() -> None:
    body = """.local .align 16 .b8 own[256]; mov.u32 %r5, own;
        st.local.u32 [own+8], %r1; mul.lo.u32 %r7, %r1, 0; sub.u32 %r7, %r7, 4; ld.local.u32 %r6, [%r7+12];
        mov.u32 %r8, -4; ld.local.u32 %r9, [%r8+12]; mad.lo.u32 %r6, %r6, 100, %r9; st.global.u32 [%rd3], %r6;"""
    assert agreed(kernel(body)).out == [101 * t for t in range(32)]


@pytest.mark.skipif(sys.platform != "linux", reason="for Linux")
@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize(("apart", "width"), [(2, 16), (3, 16), (4, 8), (3, 4)])
def test_what_lies_behind_the_last_row_is_not_read(apart: int, width: int, way: str) -> None:
    """An array ends with the last element of the last row, and a page that allows no access begins."""
    height, pitch = 64 // width, apart * width + 5
    last = (height - 1) * pitch + (width - 1) * apart
    count = -(-(last + 1) // 32) * 32
    text = kernel(f"""
        mov.u32 %r6, %tid.y; mul.lo.u32 %r5, %r1, {apart}; mad.lo.u32 %r9, %r6, {pitch}, %r5;
        mad.wide.u32 %rd7, %r9, 4, %rd2; ld.global.u32 %r10, [%rd7+{4 * (count - 1 - last)}];
        mad.lo.u32 %r8, %r6, {width}, %r1; mad.wide.u32 %rd8, %r8, 4, %rd1; st.global.u32 [%rd8], %r10;""")
    x = between_guard_pages(4 * count, at_end=True).view(np.uint32)
    x[:] = np.arange(count)
    expected = np.add.outer(pitch * np.arange(height), apart * np.arange(width)).ravel() + (count - 1 - last)
    assert np.array_equal(run(way, text, threads=(width, height), x=x)[0], expected)


FIRST = [-9, -1, 0, 40, 63]


def row_at_the_border(space: str, first: int) -> str:
    """Of 32 lanes in a row those that lie in memory load and store; `x` and the tile have 64 elements."""
    tile, base = ".shared .align 4 .b8 tile[256];", "%rd2" if space == "global" else "%rd12"
    return kernel(
        f"""
        mov.u64 %rd12, tile; mad.wide.u32 %rd14, %r1, 4, %rd12;
        mad.lo.u32 %r5, %r1, 3, 1; st.shared.u32 [%rd14], %r5; st.shared.u32 [%rd14+128], %r5; bar.sync 0;
        add.s32 %r10, %r1, {first}; mul.wide.s32 %rd10, %r10, 4; add.s64 %rd11, {base}, %rd10;
        setp.lt.u32 %p1, %r10, 64; mov.u32 %r20, 5; @!%p1 bra OVER;
        ld.{space}.u32 %r20, [%rd11]; mul.lo.u32 %r21, %r20, 11; st.{space}.u32 [%rd11], %r21;
        OVER: bar.sync 0; ld.shared.u32 %r22, [%rd14]; ld.shared.u32 %r23, [%rd14+128];
        mad.lo.u32 %r20, %r20, 31, %r22; mad.lo.u32 %r20, %r20, 31, %r23; st.global.u32 [%rd3], %r20;""",
        tile,
    )


@pytest.mark.sweep(4)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("space", ["shared", "global"])
def test_a_row_that_would_reach_beyond_memory(space: str, first: int) -> None:
    agreed(row_at_the_border(space, first), blocks=3)


@pytest.mark.sweep(7)
@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="for Linux on x86")
@pytest.mark.parametrize("masks", [True, False], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize("first", FIRST)
def test_what_lies_around_shared_memory_is_not_touched(first: int, masks: bool, monkeypatch: Any) -> None:
    """The pages before and behind the memory of a block allow no access: one would end this process. Code without masks
    loads whole rows, so there is a margin, which belongs to the memory."""
    from ptxlab.emulate.jit.native import code as native
    from ptxlab.emulate.jit.running import workers

    cpu = native.host()
    if not masks:
        cpu = native.Cpu("haswell", ",".join(f for f in cpu.features.split(",") if "avx512" not in f))
    if cpu.wide != masks:
        pytest.skip("this CPU has no AVX-512")
    monkeypatch.setattr(native, "host", lambda: cpu)
    for at_end in (True, False):
        monkeypatch.setattr(workers, "zeroed", lambda size, at_end=at_end: between_guard_pages(size, at_end=at_end))
        agreed(row_at_the_border("shared", first), blocks=3)
