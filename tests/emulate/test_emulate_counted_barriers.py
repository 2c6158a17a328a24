"""Barriers that wait for some warps of a block complete when these have arrived: later ones wait for the next phase."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import WAYS, fault_of, kernel, run
from random_barriers import differences
from slow_cases import slow

WARP = "shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1; setp.eq.u32 %p3, %r5, 2;"
HALF = "and.b32 %r6, %r1, 31; setp.lt.u32 %p4, %r6, 16;"
ENDS = {
    # what three warps do -> the warps that wait for ever
    "two of three": ("bar.sync 1, 64;", [2]),
    "two of three, diverged": (HALF + "@%p4 bra A; barrier.sync 1, 64; bra B; A: barrier.sync 1, 64; B:", [2]),
    "three": ("bar.sync 1, 96;", []),
    "two arrive, the third waits for the next phase": ("@%p3 bra A; bar.arrive 1, 64; ret; A: bar.sync 1, 64;", [2]),
    "one arrives, one waits": ("@%p1 bra A; @%p2 bra B; ret; A: bar.arrive 1, 64; ret; B: bar.sync 1, 64;", []),
    "one arrives twice": (
        "@%p1 bra A; @%p2 bra B; ret; A: bar.arrive 1, 64; bar.arrive 1, 64; ret; B: bar.sync 1, 64;",
        [],
    ),
    "half a warp arrives after the other": (
        HALF + "@%p1 bra A; @%p2 bra B; ret; A: @%p4 bra C; barrier.arrive 1, 64; C: @!%p4 bra D; barrier.arrive 1, 64;"
        "D: ret; B: bar.sync 1, 64;",
        [],
    ),
    "phases one after the other": ("bar.sync 1, 32; bar.sync 1, 32; bar.sync 0; bar.sync 1, 96;", []),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ENDS)
def test_who_waits(name: str, way: str) -> None:
    body, waiting = ENDS[name]
    text = kernel(f"{WARP} {body} st.global.u32 [%rd3], %r1;")
    engine: Any = way
    if not waiting:
        run(engine, text, threads=96)
        return
    caught = fault_of(engine, text, threads=96)
    assert caught.kind == "deadlock"
    for warp in range(3):
        assert (f"warp {warp}, lanes" in str(caught)) == (warp in waiting)


def test_who_arrives_goes_on_when_the_others_have_had_their_turns(way: str) -> None:
    """So it is in both engines, and what they find of races is the same."""
    text = kernel(
        "st.global.u32 [%rd1], %r1; bar.arrive 1, 64; ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd3+4], %r5;"
    )
    out, _ = run(way, text, threads=64, out=np.zeros(65, np.uint32))
    assert set(out[1:].tolist()) == {63}


@pytest.mark.long
@pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [0, 5, 10, *slow(range(15, 300, 5))])
def test_random_programs(first: int) -> None:
    assert differences(first, 5) == []
