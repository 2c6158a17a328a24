"""CTAs that are 16, 8 or 4 threads wide: their rows are loaded and stored as vectors."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, improve, kernel, run
from guard_pages import between_guard_pages

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")

BODY = """
    mov.u32 %r6, %tid.y;
    mov.u32 %r8, %ntid.y;
    mad.lo.u32 %r8, %r2, %r8, %r6;
    ld.global.u32 %r7, [%rd2];
    mad.lo.u32 %r9, %r8, %r7, %r1;
    mul.wide.u32 %rd6, %r9, {size};
    add.u64 %rd7, %rd2, %rd6;
    add.u64 %rd8, %rd1, %rd6;
    ld.global.{type} {registers}, [%rd7+16];
    mov.u32 %r11, tile;
    mad.lo.u32 %r11, %r6, {pitch}, %r11;
    mad.lo.u32 %r11, %r1, {size}, %r11;
    st.shared.{type} [%r11], {registers};
    ld.shared.{type} {registers}, [%r11];
    st.global.{type} [%rd8], {registers};
"""
"""A row of the block moves through a row of shared memory that is longer; x[0] is the length of a row in global memory,
in elements."""
TYPES = {
    "u8": (1, "%h1"),
    "u16": (2, "%h1"),
    "u32": (4, "%r10"),
    "f64": (8, "%fd1"),
    "v2.u32": (8, "{%r10, %r12}"),
    "v4.f32": (16, "{%f1, %f2, %f3, %f4}"),
}
SHARED = ".shared .align 16 .b8 tile[8192];"


def text(type_: str) -> str:
    """The kernel for elements of a type."""
    size, registers = TYPES[type_]
    return kernel(BODY.format(type=type_, size=size, registers=registers, pitch=size * 12), SHARED)


def _agree(program: str, block: tuple[int, ...], x: np.ndarray) -> None:
    """All engines write the same, and something."""
    improve(program, block, False, ())
    step, *others = (
        run("step" if way == "step" else "jit", program, threads=block, blocks=2, x=x, out=np.zeros(8192, np.uint32))[0]
        for way in WAYS
    )
    assert step.any()
    for other in others:
        assert np.array_equal(step, other)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("stride", [8, 40, 5, 0], ids=["dense", "apart", "overlapping", "one row"])
@pytest.mark.parametrize("block", [(8, 8), (4, 16), (8, 3), (4, 2)])
@pytest.mark.parametrize("type_", TYPES)
def test_rows(type_: str, block: tuple[int, int], stride: int) -> None:
    program = text(type_)
    x = np.random.default_rng(1).integers(0, 1 << 30, 8192, np.uint32)
    x[0] = stride
    _agree(program, block, x)


LEAVE = """
    mov.u32 %r6, %tid.y;
    mad.lo.u32 %r5, %r6, 3, %r1;
    rem.u32 %r5, %r5, 5;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra END;"""
"""Some lanes of each row leave."""


@pytest.mark.sweep(7)
@pytest.mark.parametrize("block", [(8, 8), (4, 16), (16, 6), (8, 4, 3), (16, 4, 2)])
@pytest.mark.parametrize("type_", TYPES)
def test_rows_of_which_lanes_are_missing(type_: str, block: tuple[int, ...]) -> None:
    size, registers = TYPES[type_]
    program = kernel(LEAVE + BODY.format(type=type_, size=size, registers=registers, pitch=size * 20) + "END:", SHARED)
    x = np.random.default_rng(1).integers(0, 1 << 30, 8192, np.uint32)
    x[0] = block[0] * 3
    _agree(program, block, x)


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
    improve(program, block, False, ())
    expected = np.zeros(1024, np.uint32)
    for row in range(block[1]):
        at = row * 40 + np.arange(block[0] - 1)
        expected[at] = x[at]
    for way in WAYS:
        engine = "step" if way == "step" else "jit"
        out = run(engine, program, threads=block, x=x, out=np.zeros(1024, np.uint32))[0]
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
    improve(program, (width, height), False, ())
    expected = np.add.outer(pitch * np.arange(height), apart * np.arange(width)).ravel() + (count - 1 - last)
    for _ in range(2):  # the first launch may still run the code that was built first
        assert np.array_equal(run("jit", program, threads=(width, height), x=x)[0], expected)
