"""Stores of neighbouring elements by lanes that may meet those of others, and what a fault between them leaves."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

from ptxlab.emulate import DeviceFault, Memory, execute
from ptxlab.text import parse

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
START = """
    mul.lo.u32 %r9, %r1, 3; mad.lo.u32 %r9, %r2, 1024, %r9; cvt.u64.u32 %rd5, %r9; add.u64 %rd6, %rd2, %rd5;
    add.u64 %rd5, %rd1, %rd5; mov.u32 %r8, 1;
"""
"""Pointers to three bytes: %rd5 in `out`, %rd6 in `x`. Blocks are 1024 bytes apart."""


def outcomes(body: str, threads: int | tuple[int, ...] = 32) -> list[tuple[list[int], str]]:
    """What is in `out`, and why the program stopped, in each way to run it."""
    found, x = [], (np.arange(8192) * 7 % 251).astype(np.uint8)
    for way in WAYS:
        out, stopped = (np.arange(8192) % 253).astype(np.uint8), ""
        try:
            out, _ = run(way, kernel(body), threads=threads, blocks=4, out=out, x=x)
        except DeviceFault as fault:
            stopped = str(fault)
        found.append((out.tolist(), stopped))
    return found


@pytest.mark.sweep(3)
@pytest.mark.parametrize("far", [0, 1, 2, 3, 4, -1, -3, -4, 64])
def test_lanes_that_meet_those_of_others(far: int) -> None:
    """The distance is known when the kernel runs: of lanes that write the same byte the last store counts."""
    body = f"""
        ld.global.u32 %r10, [%rd2]; and.b32 %r10, %r10, 0; add.u32 %r10, %r10, {far * 4}; mul.lo.u32 %r9, %r1, %r10;
        mul.lo.u32 %r11, %r2, {2048 if abs(far) < 64 else 0}; add.u32 %r9, %r9, %r11;
        cvt.s64.s32 %rd5, %r9; add.u64 %rd5, %rd5, %rd1; add.u64 %rd5, %rd5, {1024 if far < 64 else 0};
        st.global.u32 [%rd5], %r1; mul.lo.u32 %r11, %r1, 33; st.global.u32 [%rd5+4], %r11;
        st.global.u32 [%rd5+8], %r4; add.u32 %r11, %r11, 5; st.global.u32 [%rd5+12], %r11;
    """
    expected, *others = outcomes(body)
    assert others == [expected] * len(others)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("apart", [4, 20, 5, 3, 1, 0, -4, -9])
@pytest.mark.parametrize(("kind", "count"), [("u8", 4), ("u8", 8), ("u16", 2), ("u16", 4)])
def test_bytes_and_halves_that_fill_words(kind: str, count: int, apart: int) -> None:
    """How far lanes are apart, in elements, is known when the kernel runs."""
    size = int(kind[1:]) // 8
    body = f"""
        sub.u32 %r10, %r3, {32 - apart * size}; mul.lo.u32 %r9, %r1, %r10; mul.lo.u32 %r11, %r2, 2048;
        add.u32 %r9, %r9, %r11; add.u32 %r9, %r9, 600;
        cvt.s64.s32 %rd5, %r9; add.u64 %rd6, %rd5, %rd2; add.u64 %rd5, %rd5, %rd1;
    """ + "".join(
        f"""
        ld.global.{kind} %h{k % 4 + 1}, [%rd6+{k * size}]; xor.b16 %h{k % 4 + 1}, %h{k % 4 + 1}, {k + 85};
        st.global.{kind} [%rd5+{k * size}], %h{k % 4 + 1};"""
        for k in range(count)
    )
    expected, *others = outcomes(body)
    assert others == [expected] * len(others)
    assert expected[0] != outcomes("")[0][0]


def test_a_store_apart_from_the_others_that_meets_them() -> None:
    """Element 4 of a lane is element 0 of the next, which is stored after it."""
    body = """
        mul.wide.u32 %rd5, %r1, 16; mul.wide.u32 %rd6, %r2, 1024; add.u64 %rd5, %rd5, %rd6; add.u64 %rd5, %rd5, %rd1;
        mov.u32 %r9, 7; st.global.u32 [%rd5+8], %r9; st.global.u32 [%rd5+16], %r1; st.global.u32 [%rd5], %r9;
        st.global.u32 [%rd5+12], %r9;
    """
    expected, *others = outcomes(body)
    assert others == [expected] * len(others)


@pytest.mark.parametrize(
    "load",
    [
        "mul.wide.u32 %rd7, %r2, 8192; add.u64 %rd6, %rd6, %rd7; {} ld.global.u8 %r10, [%rd6];",
        "mul.lo.u32 %r10, %r2, 65536; {} ld.shared.u8 %r10, [%r10+1024];",
    ],
)
def test_a_fault_between_stores_finds_those_before_it_made(load: str) -> None:
    """The second block loads outside, between its stores."""
    memory, stores = [], "st.global.u8 [%rd5], %r8;"
    text = kernel(START + load.format(stores) + "st.global.u8 [%rd5+1], %r8; st.global.u8 [%rd5+2], %r8;")
    for way in WAYS:
        held, out, x = Memory(), np.zeros(4096, np.uint8), np.zeros(4096, np.uint8)
        addresses = [held.allocate(a.nbytes, name, a).address for name, a in (("out", out), ("x", x))]
        with pytest.raises(DeviceFault):
            execute(
                parse(text),
                "k",
                engine=way,
                grid=(2,),
                block=(32,),
                shared=2048,
                params=np.array(addresses, np.uint64).tobytes(),
                memory=held,
                workers=1,
            )
        memory.append((out[:96].tolist(), out[1024:1120].tolist()))
    assert memory == [([1] * 96, [1, 0, 0] * 32)] * len(WAYS)
