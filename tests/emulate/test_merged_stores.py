"""Stores of neighbouring elements, which compiled code makes together with the last one where nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run
from random_merged_stores import differences
from slow_cases import slow

from ptxlab.emulate import DeviceFault, Memory, execute
from ptxlab.text import parse

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
START = """
    mul.lo.u32 %r9, %r1, 3; mad.lo.u32 %r9, %r2, 1024, %r9; cvt.u64.u32 %rd5, %r9; add.u64 %rd6, %rd2, %rd5;
    add.u64 %rd5, %rd1, %rd5; mov.u32 %r8, 1;
"""
"""Pointers to three bytes: %rd5 in `out`, %rd6 in `x`. Blocks are 1024 bytes apart: the first warp of a launch finds
out where memory lies, and makes no stores late."""
COLOURS = """
    ld.global.u8 %r10, [%rd6]; sub.u32 %r10, 255, %r10; st.global.u8 [%rd5], %r10;
    ld.global.u8 %r11, [%rd6+1]; sub.u32 %r11, 255, %r11; st.global.u8 [%rd5+1], %r11;
    ld.global.u8 %r12, [%rd6+2]; sub.u32 %r12, 255, %r12; st.global.u8 [%rd5+2], %r12;
"""


def outcomes(body: str, threads: int | tuple[int, ...] = 32) -> list[tuple[list[int], str]]:
    """What is in `out`, and why the program stopped, in each way to run it."""
    found, x = [], (np.arange(8192) * 7 % 251).astype(np.uint8)
    for way in WAYS:
        out, stopped = (np.arange(8192) % 253).astype(np.uint8), ""
        if way == "good":
            improve(
                kernel(body), (threads,) if isinstance(threads, int) else threads, counters=False, checks=("memcheck",)
            )
        try:
            out, _ = run("step" if way == "step" else "jit", kernel(body), threads=threads, blocks=4, out=out, x=x)
        except DeviceFault as fault:
            stopped = str(fault)
        found.append((out.tolist(), stopped))
    return found


def pointer(at: str) -> str:
    """A pointer that follows another path than %rd5, to a place near it, and that has been loaded from."""
    return f"cvt.u64.u32 %rd7, %r9; add.u64 %rd7, %rd1, %rd7; add.u64 %rd7, %rd7, {at}; ld.global.u8 %r13, [%rd7];"


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "before",
    [
        "ld.global.u8 %r20, [%rd5+96];",  # what the next warp stores to
        "ld.global.u8 %r20, [%rd5+96]; bar.sync 0;",
        "ld.global.u8 %r20, [%rd5+1024];",  # what another block does
        "setp.lt.u32 %p1, %r1, 7; @%p1 st.global.u8 [%rd5+100], 3;",
        "",
    ],
)
@pytest.mark.parametrize("behind", ["", "bar.sync 0; ld.global.u8 %r21, [%rd5+4];", "ld.global.u8 %r21, [%rd5+97];"])
def test_stores_that_are_made_together_are_checked_and_counted_as_one_by_one(before: str, behind: str) -> None:
    body, x, found = START + before + COLOURS + behind, np.arange(8192).astype(np.uint8), []
    for way in WAYS:
        if way == "good":
            improve(kernel(body), (64,), counters=True, checks=ALL_CHECKS)
        given = {"threads": 64, "blocks": 4, "counters": True, "checks": ALL_CHECKS}
        out, report = run("step" if way == "step" else "jit", kernel(body), out=x.copy(), x=x, **given)
        found.append((out.tolist(), list(map(str, report.findings)), str(report.counters)))
    assert all(each == found[0] for each in found)
    racy = ("bar" not in before and before) or "97" in behind
    assert bool(found[0][1]) == bool(racy)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("at", ["0", "1", "2", "3", "-1", "-3", "93", "96", "-96", "-93", "1000"])
@pytest.mark.parametrize("threads", [32, 48, (16, 2)])
def test_loads_that_may_meet_the_stores(at: str, threads: int | tuple[int, ...]) -> None:
    body = START.replace("%rd1, %rd5;", "%rd1, %rd5; add.u64 %rd5, %rd5, 512;") + pointer(f"{512 + int(at)}")
    expected, *others = outcomes(body + COLOURS.replace("%rd6", "%rd7"), threads)
    assert others == [expected] * len(others)
    assert expected[0] != outcomes(body, threads)[0][0]


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
    """Element 4 of a lane is element 0 of the next, which is stored before elements 2 to 4 come late."""
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
        if way == "good":
            improve(text, (32,), counters=False, checks=("memcheck",))
        with pytest.raises(DeviceFault):
            execute(
                parse(text),
                "k",
                engine="step" if way == "step" else "jit",
                grid=(2,),
                block=(32,),
                shared=2048,
                params=np.array(addresses, np.uint64).tobytes(),
                memory=held,
                workers=1,
            )
        memory.append((out[:96].tolist(), out[1024:1120].tolist()))
    assert memory == [([1] * 96, [1, 0, 0] * 32)] * len(WAYS)


@pytest.mark.parametrize("first", [0, *slow(range(40, 400, 40))])
def test_random_stores(first: int) -> None:
    assert differences(first, 3 if first == 0 else 40) == []
