"""The last warp of a CTA whose threads do not fill it, in code of full quality: it loads and stores rows, too."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import WAYS, improve, kernel, run

pytest.importorskip("llvmlite")

ROWS = """
    mov.u32 %r11, tile;
    mad.lo.u32 %r11, %r1, {size}, %r11;
    st.shared.{type} [%r11], {zero};
    mul.wide.u32 %rd6, %r4, {size};
    add.u64 %rd6, %rd2, %rd6;
    ld.global.{type} {register}, [%rd6];
    st.shared.{type} [%r11], {register};
    ld.shared.{type} {register}, [%r11];
    mul.wide.u32 %rd7, %r4, {size};
    add.u64 %rd7, %rd1, %rd7;
    st.global.{type} [%rd7], {register};
"""
"""Each thread moves one element to shared memory and back."""
TYPES = {"u8": (1, "%h1"), "u16": (2, "%h1"), "u32": (4, "%r10"), "f32": (4, "%f1"), "u64": (8, "%rd8")}

WRAPS = """
    add.s32 %r10, %r4, 0x7ffffff0;
    mul.wide.s32 %rd6, %r10, 4;
    add.s64 %rd6, %rd6, %rd2;
    ld.global.u32 %r11, [%rd6+-0x1ffffffc0];
    st.global.u32 [%rd3], %r11;
"""
"""The index of lane 16 would wrap around."""


def text(type_: str) -> str:
    """A kernel that moves rows of elements."""
    size, register = TYPES[type_]
    zero = {"%f1": "0f00000000"}.get(register, register)
    return kernel(ROWS.format(type=type_, size=size, register=register, zero=zero), ".shared .align 16 .b8 tile[1024];")


def moved(way: str, program: str, threads: int, size: int) -> np.ndarray:
    """What the threads of three CTAs have moved out of an array that ends behind the last of them."""
    if way == "good":
        improve(program, (threads,), False, ())
    x = np.random.default_rng(1).integers(0, 256, 3 * threads * size, np.uint8)
    engine = "step" if way == "step" else "jit"
    out, _ = run(engine, program, threads=threads, blocks=3, x=x, out=np.zeros_like(x))
    return out


@pytest.mark.sweep(4)
@pytest.mark.parametrize("threads", [1, 8, 33, 48, 100])
@pytest.mark.parametrize("type_", TYPES)
def test_rows_of_some_lanes(type_: str, threads: int) -> None:
    size, program = TYPES[type_][0], text(type_)
    expected = np.random.default_rng(1).integers(0, 256, 3 * threads * size, np.uint8)
    for way in WAYS:
        assert np.array_equal(moved(way, program, threads, size), expected), way


@pytest.mark.parametrize("threads", [5, 16])
def test_inactive_lanes_may_wrap_around(threads: int) -> None:
    program, x = kernel(WRAPS), np.arange(64, dtype=np.uint32)
    improve(program, (threads,), False, ())
    for way in ("step", "jit"):
        assert run(way, program, threads=threads, x=x)[0].tolist() == x[:threads].tolist()
