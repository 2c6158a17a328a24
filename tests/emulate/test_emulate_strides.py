"""Accesses of lanes that are a stride apart which is known only when the kernel runs: rows, gathers, faults, counts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run
from guard_pages import between_guard_pages

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
SHARED = ".shared .align 16 .b8 tile[4096];"
WORDS = 1024
NARROW = """
    mov.u32 %r6, %tid.y; mov.u32 %r9, %ntid.x; mov.u32 %r5, %ntid.y; mad.lo.u32 %r5, %r2, %r5, %r6;
    mad.lo.u32 %r4, %r5, %r9, %r1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd3, %rd1, %rd4;
    ld.global.u32 %r7, [%rd2]; ld.global.u32 %r8, [%rd2+4]; setp.eq.u32 %p9, %r2, 2;
    selp.b32 %r7, %r7, 8, %p9; selp.b32 %r8, %r8, 16, %p9;  // the stride is x[0], the first element x[1]
    mad.lo.s32 %r10, {row}, %r7, {column}; add.s32 %r10, %r10, %r8;
"""
"""Of the third block: in those before it, accesses learn where memory is."""
ADDRESS = "mul.wide.{kind}32 %rd5, %r10, {size}; add.s64 %rd6, %rd2, %rd5;\n"
MADE = {
    "signed": NARROW + ADDRESS.format(kind="s", size=4),
    "unsigned": NARROW + ADDRESS.format(kind="u", size=4),
    "bytes": NARROW + ADDRESS.format(kind="s", size=1),
    "wide": NARROW
    + """
        cvt.u64.u32 %rd5, {row}; cvt.s64.s32 %rd6, %r7; mul.lo.s64 %rd5, %rd5, %rd6; cvt.s64.s32 %rd6, %r8;
        add.s64 %rd5, %rd5, %rd6; mov.u32 %r5, {column}; cvt.u64.u32 %rd6, %r5; add.s64 %rd5, %rd5, %rd6;
        shl.b64 %rd5, %rd5, 2; add.s64 %rd6, %rd2, %rd5;
    """,
}
LOADS = {
    "one": "ld.global.u32 %r20, [%rd6];",
    "four": "ld.global.u32 %r20, [%rd6]; ld.global.u32 %r21, [%rd6+4]; ld.global.u32 %r22, [%rd6+8];\n"
    "ld.global.u32 %r23, [%rd6+12]; mad.lo.u32 %r20, %r20, 3, %r21; mad.lo.u32 %r20, %r20, 3, %r22;\n"
    "mad.lo.u32 %r20, %r20, 3, %r23;",
    "store": "ld.global.u32 %r20, [%rd6]; st.global.u32 [%rd6], %r4;",
    "loop": "mov.u32 %r24, 0; mov.u32 %r20, 0; L: ld.global.u32 %r21, [%rd6]; mad.lo.u32 %r20, %r20, 3, %r21;\n"
    "add.s64 %rd6, %rd6, 4; add.u32 %r24, %r24, 1; setp.lt.u32 %p1, %r24, 3; @%p1 bra L;",
    "some": "setp.lt.u32 %p1, %r1, 11; @%p1 ld.global.u32 %r20, [%rd6];",
}


def outcome(way: str, body: str, block: tuple[int, ...], stride: int, first: int, **options: Any) -> Any:
    """What a kernel leaves, counts and finds, or the fault."""
    text = kernel(body + "\nst.global.u32 [%rd3], %r20;", SHARED)
    x = np.arange(WORDS, dtype=np.uint32) * 7
    x[:2] = stride % (1 << 32), first % (1 << 32)
    try:
        out, report = run(way, text, threads=block, blocks=3, x=x, **options)
    except DeviceFault as fault:
        return str(fault)
    return out.tolist(), x.tolist(), report.counters, sorted({(f.check, f.kind) for f in report.findings})


@pytest.mark.sweep(11)
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(("made", "block"), [
    ("signed", (32,)), ("signed", (16, 4)), ("bytes", (32,)), ("wide", (32,)),
    *(pytest.param(*each, marks=pytest.mark.rest)
      for each in (("unsigned", (16, 4)), ("wide", (8, 4)), ("signed", (24, 2)))),
])  # fmt: skip
def test_a_stride_that_is_known_when_it_runs(made: str, block: tuple[int, ...], load: str) -> None:
    row, column = ("%r1", "0") if len(block) == 1 else ("%r6", "%r1")
    body = MADE[made].format(row=row, column=column) + LOADS[load]
    given = {"four": {"counters": True}, "store": {"checks": ALL_CHECKS}}.get(load, {})
    ways = (1, 2), (5, 100), (8, 100), (0, 9), (-8, 600), (-1, 300), (24, 1030), (3, -1), (24, 1000)
    for stride, first in ways[: -1 if load == "four" else None]:  # which of four faults, engines see otherwise
        expected = outcome("step", body, block, stride, first, **given)
        assert outcome("optimized", body, block, stride, first, **given) == expected, (stride, first)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("stride", "first"), [
    (0x08000001, 5), (0x7FFFFFFF, 5), (-0x80000000, 5), (0x40000000, 5), (0x10000000, 8), (-0x10000000, 8),
    (2, 0x7FFFFFF0),
])  # fmt: skip
@pytest.mark.parametrize("made", ["signed", "unsigned", "wide"])
def test_lanes_that_wrap_around(made: str, stride: int, first: int) -> None:
    """Those that are still inside after it: they load, wherever the others went."""
    body = (
        MADE[made].format(row="%r1", column="0")
        + f"""
        sub.s64 %rd7, %rd6, %rd2; setp.lt.u64 %p1, %rd7, {4 * WORDS}; mov.u32 %r20, 77;
        @%p1 ld.global.u32 %r20, [%rd6]; @!%p1 bra END; ld.global.u32 %r21, [%rd6]; add.u32 %r20, %r20, %r21;
        END:"""
    )
    assert outcome("optimized", body, (32,), stride, first) == outcome("step", body, (32,), stride, first)
    every = MADE[made].format(row="%r1", column="0") + LOADS["one"]
    assert outcome("optimized", every, (32,), stride, first) == outcome("step", every, (32,), stride, first)


@pytest.mark.parametrize(
    ("kind", "first"), [("s", 0x7FFFFFF0), ("u", 0xFFFFFFF0), ("s", 0x7FFFFF00), ("u", 0x7FFFFFF0)]
)
@pytest.mark.parametrize("block", [(32,), (16, 2)])
def test_lanes_that_would_be_inside_had_they_not_wrapped_around(block: tuple[int, ...], kind: str, first: int) -> None:
    row, column = ("%r1", "0") if len(block) == 1 else ("%r6", "%r1")
    body = NARROW.format(row=row, column=column) + ADDRESS.format(kind=kind, size=4)
    body += f"mul.wide.{kind}32 %rd7, %r8, 4; sub.s64 %rd6, %rd6, %rd7;" + LOADS["one"]
    expected = outcome("step", body, block, 5, first)
    assert isinstance(expected, str) == (first % 256 > 0 and (kind, first) != ("u", 0x7FFFFFF0))
    assert outcome("optimized", body, block, 5, first) == expected


@pytest.mark.long
@pytest.mark.parametrize(("stride", "first"), [(1, 0), (4, 8), (5, 3), (-4, 200), (31, 100), (32, 0), (0x40000000, 0)])
def test_a_stride_in_shared_memory(stride: int, first: int) -> None:
    body = (
        NARROW.format(row="%r1", column="0")
        + """
        shl.b32 %r11, %r1, 2; mov.u32 %r12, tile; add.u32 %r13, %r12, %r11; mov.u32 %r14, 0;
        F: st.shared.u32 [%r13], %r13; add.u32 %r13, %r13, 128; add.u32 %r14, %r14, 1; setp.lt.u32 %p1, %r14, 32;
        @%p1 bra F; shl.b32 %r15, %r10, 2; add.u32 %r16, %r15, %r12; bar.sync 0; ld.shared.u32 %r20, [%r16];
        st.shared.u32 [%r16], %r1; ld.shared.u32 %r21, [%r16]; mad.lo.u32 %r20, %r20, 3, %r21;"""
    )
    for given in ({"counters": True}, {"checks": ALL_CHECKS}):
        assert outcome("optimized", body, (32,), stride, first, **given) == outcome(
            "step", body, (32,), stride, first, **given
        )


COPY = """
    shl.b32 %r11, %r1, 2; mov.u32 %r12, tile; add.u32 %r13, %r12, %r11; mov.u32 %r14, 0; cvt.u64.u32 %rd7, %r11;
    add.u64 %rd7, %rd7, %rd2;
    {name}: {move} add.u32 %r13, %r13, 128; add.u64 %rd7, %rd7, 128; add.u32 %r14, %r14, 1;
    setp.lt.u32 %p1, %r14, 32; @%p1 bra {name}; bar.sync 0;
"""
SMALL = {"u8": ("%r20", 1), "u16": ("%h1", 2), "b32": ("%r20", 4), "b64": ("%rd20", 8)}


@pytest.mark.sweep(12)
@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("element", SMALL)
@pytest.mark.parametrize("times", [2, 3, 4, -1])
def test_elements_apart_and_rows_backwards(times: int, element: str, space: str, end: str) -> None:
    """Up to both ends of an array."""
    register, size = SMALL[element]
    first = 0 if end == "first" else 4 * WORDS - (31 * abs(times) + 1) * size
    out = COPY.format(name="OUT", move="ld.shared.u32 %r15, [%r13]; st.global.u32 [%rd7], %r15;")
    body = (
        COPY.format(name="IN", move="ld.global.u32 %r15, [%rd7]; st.shared.u32 [%r13], %r15;")
        + f"""
        {"not.b32 %r15, %r1; add.u32 %r15, %r15, 32;" if times < 0 else "mov.u32 %r15, %r1;"}
        mul.lo.u32 %r15, %r15, {abs(times) * size}; add.u32 %r16, %r12, %r15; cvt.u64.u32 %rd6, %r15;
        add.u64 %rd6, %rd6, %rd2;
        ld.{space}.{element} {register}, [{"%r16" if space == "shared" else "%rd6"}+{first}];
        mul.lo.u32 %r16, %r1, {size}; cvt.u64.u32 %rd6, %r16; add.u64 %rd6, %rd6, %rd2; add.u32 %r16, %r16, %r12;
        bar.sync 0; st.{space}.{element} [{"%r16" if space == "shared" else "%rd6"}+1024], {register}; bar.sync 0;
        {"" if space == "global" else out}
        mov.u32 %r20, 0;"""
    )
    assert outcome("optimized", body, (32,), 3, 5) == outcome("step", body, (32,), 3, 5)


IN_TILE = """
    mad.lo.u32 %r11, %r6, %r9, %r1; shl.b32 %r11, %r11, 2; mov.u32 %r12, tile; add.u32 %r13, %r12, %r11;
    mov.u32 %r14, 0; {name}: {move} add.u32 %r13, %r13, {bytes}; add.u32 %r14, %r13, -4096;
    setp.lt.u32 %p1, %r14, %r12; @%p1 bra {name}; bar.sync 0;
"""
PAIRS = {
    "u8": ("%r20", "%r21", 1),
    "u16": ("%h1", "%h2", 2),
    "b32": ("%r20", "%r21", 4),
    "b64": ("%rd20", "%rd21", 8),
    "v2.u32": ("{%r20, %r21}", "{%r22, %r23}", 8),
}


@pytest.mark.long
@pytest.mark.sweep(35)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("element", PAIRS)
@pytest.mark.parametrize(("times", "block"), [
    (2, (16, 4)), (3, (16, 4)), (4, (16, 4)), (5, (16, 4)), (1, (8, 8)), (3, (8, 8)), (2, (4, 8)), (3, (16, 3)),
])  # fmt: skip
def test_rows_narrower_than_a_warp(times: int, element: str, block: tuple[int, int], space: str) -> None:
    """Every element, every second, ...: up to the end of memory and behind it; rows that overlap, that go backwards and
    that lie apart. What lies between is left as it was."""
    (a, b, size), threads = PAIRS[element], block[0] * block[1]
    fill, read = "st.shared.u32 [%r13], %r13;", "ld.shared.u32 %r15, [%r13]; mad.lo.u32 %r20, %r20, 3, %r15;"
    before, after = (
        IN_TILE.format(name=name, move=move, bytes=4 * threads) for name, move in (("A", fill), ("B", read))
    )
    at = "%rd6" if space == "global" else "%r17"
    body = f"""
        mul.lo.u32 %r16, %r1, {times}; {NARROW.format(row="%r6", column="%r16")} {ADDRESS.format(kind="s", size=size)}
        {before if space == "shared" else ""}
        mul.lo.u32 %r17, %r10, {size}; mov.u32 %r12, tile; add.u32 %r17, %r17, %r12;
        ld.{space}.{element} {a}, [{at}]; ld.{space}.{element} {b}, [{at}+{size}];
        st.{space}.{element} [{at}], {b}; st.{space}.{element} [{at}+{size}], {a};
        {"" if "%r20" in a else "mov.u32 %r20, 0;"} {"bar.sync 0;" + after if space == "shared" else ""}"""
    row, rows, last = block[0] * times, block[1] - 1, (block[0] - 1) * times + 2
    end = 4 * WORDS // size - rows * (row + 3) - last
    for stride, first, given in (
        (row, 16, {"checks": ALL_CHECKS}),
        (row, 15, {"counters": True}),
        (5, 17, {}),
        (-row, rows * row + 16, {}),
        (row + 3, end, {}),
        (row + 3, end + 1, {}),
    ):
        expected = outcome("step", body, block, stride, first, **given)
        assert outcome("optimized", body, block, stride, first, **given) == expected, (stride, first)
        assert isinstance(expected, str) == (first == end + 1)


def test_a_warp_that_diverges_and_reconverges_keeps_the_stride() -> None:
    """Lanes take both sides of a branch that calls for the function for diverged warps, and go on along their rows."""
    body = (
        MADE["signed"].format(row="%r1", column="0")
        + """
        setp.lt.u32 %p1, %r1, 13; @%p1 bra A; bar.warp.sync 0xffffe000; add.s64 %rd6, %rd6, 4; bra B;
        A: bar.warp.sync 0x1fff; add.s64 %rd6, %rd6, 4; B: bar.warp.sync -1;"""
        + LOADS["four"]
    )
    for stride in (8, 5, -8):
        assert outcome("optimized", body, (32,), stride, 400) == outcome("step", body, (32,), stride, 400)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_each_half_of_a_warp_has_an_array_of_its_own(size: int) -> None:
    """The stride is the distance of two arrays: the lanes' addresses are affine, and in two allocations."""
    columns = f"mul.wide.u32 %rd7, %r1, {4 * size};"
    body = f"""
        mov.u32 %r6, %tid.y; sub.s64 %rd5, %rd2, %rd1; cvt.u64.u32 %rd6, %r6; mul.lo.s64 %rd5, %rd5, %rd6;
        {columns} add.s64 %rd6, %rd1, %rd5; add.s64 %rd6, %rd6, %rd7;
        ld.global.u32 %r20, [%rd6]; ld.global.u32 %r21, [%rd6+256]; mad.lo.u32 %r20, %r20, 3, %r21;
        st.global.u32 [%rd6+512], %r20; ld.global.u32 %r22, [%rd6+768];
        setp.lt.u32 %p1, %r1, 5; @%p1 st.global.u32 [%rd6+1024], %r22;
    """
    out, x = (np.arange(WORDS, dtype=np.uint32) * n for n in (3, 5))
    lanes = np.arange(16) * size
    wrote, also = out.copy(), x.copy()
    for array in (wrote, also):
        array[lanes + 128] = array[lanes] * 3 + array[lanes + 64]
        array[lanes[:5] + 256] = array[lanes[:5] + 192]
    text = kernel(body)
    for engine in ENGINES:
        there = x.copy()
        found, _ = run(engine, text, threads=(16, 2), out=out, x=there)
        assert (found.tolist(), there.tolist()) == (wrote.tolist(), also.tolist()), engine


@pytest.mark.parametrize("block", [(8, 8), (16, 4)])
def test_lanes_that_are_missing_lie_outside(block: tuple[int, int]) -> None:
    """The left neighbours of a tile at the left border, whose first column has none: of its first row it would lie
    before the array."""
    program = kernel("""
        mov.u32 %r6, %tid.y;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra END;
        ld.global.u32 %r7, [%rd2];
        mad.lo.u32 %r9, %r6, %r7, %r1;
        mul.wide.u32 %rd6, %r9, 4;
        add.u64 %rd7, %rd2, %rd6;
        add.u64 %rd8, %rd1, %rd6;
        ld.global.u32 %r10, [%rd7+-4];
        st.global.u32 [%rd8+-4], %r10;
        END:""")
    x = np.arange(40, 40 + 1024, dtype=np.uint32)
    expected = np.zeros(1024, np.uint32)
    for row in range(block[1]):
        at = row * 40 + np.arange(block[0] - 1)
        expected[at] = x[at]
    for way in WAYS:
        out = run(way, program, threads=block, x=x, out=np.zeros(1024, np.uint32))[0]
        assert np.array_equal(out, expected)


@pytest.mark.skipif(sys.platform != "linux", reason="for Linux")
@pytest.mark.parametrize(("apart", "width"), [(2, 16), (3, 16), (4, 8), (3, 4)])
def test_what_lies_behind_the_last_row_is_not_read(apart: int, width: int) -> None:
    """An array ends with the last element of the last row, and a page that allows no access begins."""
    height, pitch = 64 // width, apart * width + 5
    last = (height - 1) * pitch + (width - 1) * apart
    count = -(-(last + 1) // 32) * 32
    body = f"""
        mov.u32 %r6, %tid.y;
        mul.lo.u32 %r5, %r1, {apart};
        mad.lo.u32 %r9, %r6, {pitch}, %r5;
        mul.wide.u32 %rd6, %r9, 4;
        add.u64 %rd7, %rd2, %rd6;
        ld.global.u32 %r10, [%rd7+{4 * (count - 1 - last)}];
        mad.lo.u32 %r8, %r6, {width}, %r1;
        mul.wide.u32 %rd8, %r8, 4;
        add.u64 %rd8, %rd1, %rd8;
        st.global.u32 [%rd8], %r10;"""
    program, x = kernel(body), between_guard_pages(4 * count, at_end=True).view(np.uint32)
    x[:] = np.arange(count)
    expected = np.add.outer(pitch * np.arange(height), apart * np.arange(width)).ravel() + (count - 1 - last)
    for _ in range(2):  # the first launch may still run the code that was built first
        assert np.array_equal(run("jit", program, threads=(width, height), x=x)[0], expected)
