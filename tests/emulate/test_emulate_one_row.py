"""Loads of lanes that are in one row of memory, in any order, as of `x[t / 2]`: compiled code loads the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
BYTES = 1024
ELEMENTS = {
    "u8": ("%r20", "%r22", 1, ""),
    "u16": ("%r20", "%r22", 2, ""),
    "u32": ("%r20", "%r22", 4, ""),
    "u64": ("%rd20", "%rd22", 8, "shr.u64 %rd20, %rd20, 9; cvt.u32.u64 %r20, %rd20; cvt.u32.u64 %r22, %rd22;"),
    "v2.u32": ("{%r20, %r21}", "{%r22, %r23}", 8, "mad.lo.u32 %r20, %r20, 3, %r21; add.u32 %r22, %r22, %r23;"),
}
"""Two registers, the bytes of an element, and how a word is made of each."""
INDICES = {
    "and.b32 %r9, %r1, -2;": lambda t: t & -2,
    "shr.u32 %r9, %r1, 2;": lambda t: t >> 2,
    "and.b32 %r9, %r1, -11;": lambda t: t & -11,
    "and.b32 %r9, %r1, 21;": lambda t: t & 21,
}


def outcome(way: str, body: str, threads: int, x: np.ndarray, **options: Any) -> Any:
    """What a kernel leaves, counts and finds, or the fault."""
    text = kernel(body + "\nst.global.u32 [%rd3], %r20;", f".shared .align 16 .b8 tile[{BYTES}];")
    if way == "good":
        improve(text, (threads,), options.get("counters", False), options.get("checks", ("memcheck",)))
    try:
        out, report = run("step" if way == "step" else "jit", text, threads=threads, blocks=3, x=x.copy(), **options)
    except DeviceFault as fault:
        return str(fault)
    return out.tolist(), report.counters, sorted({(f.check, f.kind) for f in report.findings})


@pytest.mark.long
@pytest.mark.sweep(13)
@pytest.mark.parametrize("threads", [32, 48, 64])
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("index", INDICES)
def test_lanes_in_one_row(index: str, element: str, space: str, threads: int) -> None:
    """Up to the end of memory, where lanes that are not there would be behind it, and beyond; under a guard, too."""
    a, b, size, made = ELEMENTS[element]
    at = "%rd6" if space == "global" else "%r11"
    body = f"""
        shl.b32 %r10, %r1, 2; cvt.u64.u32 %rd5, %r10; add.u64 %rd5, %rd5, %rd2; mov.u32 %r12, tile;
        add.u32 %r11, %r12, %r10;
        COPY: ld.global.u32 %r13, [%rd5]; st.shared.u32 [%r11], %r13; add.u64 %rd5, %rd5, {4 * threads};
        add.u32 %r11, %r11, {4 * threads}; sub.u32 %r14, %r11, %r12; setp.lt.u32 %p1, %r14, {BYTES}; @%p1 bra COPY;
        bar.sync 0;
        ld.global.u32 %r7, [%rd2]; {index} add.u32 %r9, %r9, %r7;  // x[0] is the first element
        mul.wide.u32 %rd5, %r9, {size}; add.u64 %rd6, %rd2, %rd5; mul.lo.u32 %r11, %r9, {size};
        add.u32 %r11, %r11, %r12; setp.lt.u32 %p1, %r1, 11; mov.u32 %r22, 0; mov.u32 %r23, 0; mov.u64 %rd22, 0;
        ld.{space}.{element} {a}, [{at}]; @%p1 ld.{space}.{element} {b}, [{at}+{size}];
        {made} mad.lo.u32 %r20, %r20, 5, %r22;"""
    x = np.random.default_rng(3).integers(0, 1 << 32, BYTES // 4, dtype=np.uint32)
    if space == "shared" and threads == 48:
        x = np.concatenate([x, x[:64]])  # the copy goes on to the end of a round
    end = x.nbytes // size - 1 - max(max(INDICES[index](t) for t in range(threads)), 11)
    if space == "shared":
        end = BYTES // size - 1 - max(INDICES[index](t) for t in range(threads))
    for first, given in ((5, {"checks": ALL_CHECKS}), (6, {"counters": True}), (end, {}), (end + 12, {})):
        x[0] = first
        expected, *others = (outcome(way, body, threads, x, **given) for way in WAYS)
        assert others == [expected] * len(others), first
        assert isinstance(expected, str) == (first == end + 12)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("threads", [32, 48, 64, 96, 100])
@pytest.mark.parametrize("shift", [1, 3, 5, 7])
def test_parts_of_the_index_of_a_thread_in_the_grid(threads: int, shift: int) -> None:
    """`i / 8` where `i` is `blockIdx.x * blockDim.x + threadIdx.x`: blocks of full warps begin at multiples of 32."""
    body = f"""
        shr.u32 %r9, %r4, {shift}; mul.wide.u32 %rd5, %r9, 4; add.u64 %rd5, %rd5, %rd2; ld.global.u32 %r20, [%rd5];
        and.b32 %r10, %r4, {(1 << shift) - 1}; mad.lo.u32 %r20, %r10, 1000, %r20;"""
    x = np.arange(BYTES, dtype=np.uint32) * 7
    at = np.arange(3 * threads)
    for way in WAYS:
        found = outcome(way, body, threads, x)[0]
        assert found == ((at % (1 << shift)) * 1000 + 7 * (at >> shift)).tolist()
