"""Loops in which lanes walk through rows of their own, an element in each round: pieces of the rows are loaded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
SHARED = ".shared .align 16 .b8 tile[4096];"
WORDS = 4096
THREADS, BLOCKS = 80, 2
"""CTAs whose last warp is half empty."""
ADDED = "mad.lo.u32 %r20, %r20, 31, %r21;"
LOADS = {
    "u8": "ld.global.u8 %r21, [{at}];" + ADDED,
    "u16": "ld.global.u16 %h1, [{at}]; cvt.u32.u16 %r21, %h1;" + ADDED,
    "u32": "ld.global.u32 %r21, [{at}];" + ADDED,
    "u64": "ld.global.u64 %rd10, [{at}]; cvt.u32.u64 %r21, %rd10; shr.u64 %rd10, %rd10, 32; cvt.u32.u64 %r22, %rd10;"
    "xor.b32 %r21, %r21, %r22;" + ADDED,
}
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
BEGIN = """
    ld.global.u32 %r6, [%rd2]; ld.global.u32 %r7, [%rd2+4]; ld.global.s32 %r8, [%rd2+8]; ld.global.u32 %r9, [%rd2+12];
    mad.lo.s32 %r10, %r4, %r6, %r7; cvt.s64.s32 %rd5, %r10; add.s64 %rd6, %rd2, %rd5; cvt.s64.s32 %rd7, %r8;
    mov.u32 %r20, 0; mov.u32 %r11, 0;
"""
"""x begins with the bytes from row to row, those before the first, those from round to round, and the rounds."""
LOOP = "L{n}: {body} add.s64 %rd6, %rd6, %rd7; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, %r9; @%p1 bra L{n};"
END = "st.global.u32 [%rd3], %r20;"


def walk(body: str, n: int = 0) -> str:
    """The loop around what each round does."""
    return LOOP.format(n=n, body=body)


def words(*numbers: int) -> np.ndarray:
    """The array x."""
    x = np.random.default_rng(1).integers(0, 1 << 32, WORDS, np.uint64).astype(np.uint32)
    x[: len(numbers)] = [n % (1 << 32) for n in numbers]
    return x


def left(way: str, text: str, x: np.ndarray, **options: Any) -> Any:
    """What a kernel leaves, counts and finds, or the fault."""
    x = x.copy()
    if way == "good":
        improve(text, (THREADS,), options.get("counters", False), options.get("checks", ("memcheck",)))
    try:
        out, report = run("step" if way == "step" else "jit", text, threads=THREADS, blocks=BLOCKS, x=x, **options)
    except DeviceFault as fault:
        return str(fault), x.tolist()
    return out.tolist(), x.tolist(), report.lines, report.counters, sorted({(f.check, f.kind) for f in report.findings})


def agree(body: str, *numbers: int, **options: Any) -> Any:
    """Both engines leave the same; what that is."""
    text, x = kernel(BEGIN + body + END, SHARED), words(*numbers)
    step, *others = (left(way, text, x, **options) for way in WAYS)
    assert others == [step] * len(others)
    return step


@pytest.mark.sweep(5)
@pytest.mark.parametrize("step", [1, 2, -1, 0, 40], ids=["next", "every second", "back", "stays", "far"])
@pytest.mark.parametrize(("stride", "first"), [(64, 64), (64, 72), (48, 80), (40, 64), (0, 96), (-64, 12800), (8, 64)])
@pytest.mark.parametrize("type_", LOADS)
def test_rows(type_: str, stride: int, first: int, step: int) -> None:
    first += 40 * SIZES[type_] if step < 0 else 0
    agree(walk(LOADS[type_].format(at="%rd6")), stride, first, step * SIZES[type_], 11)


CHANGED = "st.global.u32 [%rd6+-8], %r20; ld.global.u32 %r21, [%rd6+-8];"
BODIES = {
    "a neighbour, too": walk(LOADS["u32"].format(at="%rd6") + LOADS["u32"].format(at="%rd6+4")),
    "a row far away": walk(LOADS["u32"].format(at="%rd6") + LOADS["u32"].format(at="%rd6+2048")),
    "bytes and words": walk(LOADS["u32"].format(at="%rd6") + LOADS["u8"].format(at="%rd6+3")),
    "stores to it": walk(LOADS["u32"].format(at="%rd6") + "st.global.u32 [%rd6+4], %r20;"),
    "generic stores to it": walk(LOADS["u32"].format(at="%rd6") + "st.u32 [%rd6+4], %r20;"),
    "an atomic operation on it": walk(LOADS["u32"].format(at="%rd6") + "red.global.add.u32 [%rd6+4], 5;"),
    "stores elsewhere": walk("st.shared.u32 [tile], 5;" + LOADS["u32"].format(at="%rd6")),
    "written before it is read again": walk(LOADS["u32"].format(at="%rd6")) + CHANGED + "mov.u32 %r11, 3;"
        "sub.s64 %rd6, %rd6, 16; add.u32 %r9, %r9, 4;" + walk(LOADS["u32"].format(at="%rd6"), 1),
    "written in an outer loop": "mov.u32 %r12, 3; AGAIN: mov.u32 %r11, 0;" + walk(LOADS["u32"].format(at="%rd6"))
        + "sub.s64 %rd6, %rd6, 32; st.global.u32 [%rd6+4], %r20; sub.u32 %r12, %r12, 1; setp.ne.u32 %p2, %r12, 0;"
        "@%p2 bra AGAIN;",
    "lanes that leave": walk(LOADS["u32"].format(at="%rd6") + "and.b32 %r13, %r20, 15; setp.eq.u32 %p3, %r13, 3;"
        "@%p3 bra OUT;") + "OUT:",
    "lanes that load at times": walk("and.b32 %r13, %r20, 1; setp.eq.u32 %p3, %r13, 1; @%p3 ld.global.u32 %r21, [%rd6];"
        + ADDED + LOADS["u32"].format(at="%rd6")),
    "two branches": walk("and.b32 %r13, %r11, 1; setp.eq.u32 %p3, %r13, 1; @%p3 bra ODD;"
        + LOADS["u32"].format(at="%rd6") + "bra.uni ON; ODD:" + LOADS["u32"].format(at="%rd6+4") + "ON:"),
}  # fmt: skip


@pytest.mark.sweep(5)
@pytest.mark.parametrize(
    "options",
    [{}, {"counters": True}, {"checks": ALL_CHECKS}, {"seed": 7}],
    ids=["plain", "counters", "checks", "short quanta"],
)
@pytest.mark.parametrize("name", BODIES)
def test_what_else_a_loop_does(name: str, options: dict[str, Any]) -> None:
    agree(BODIES[name], 64, 64, 4, 12, **options)


@pytest.mark.parametrize(
    ("stride", "first", "rounds"), [(64, 6100, 30), (96, 1024, 40), (64, 6144, 20), (64, 6156, 20)]
)
def test_beyond_the_array(stride: int, first: int, rounds: int) -> None:
    """Some lanes leave it, at different rounds: the fault of the first, and memory as it was before."""
    told, *_ = agree(walk(LOADS["u32"].format(at="%rd6")), stride, first, 4, rounds)
    assert isinstance(told, str), "a fault"
