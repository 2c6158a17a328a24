"""Shuffles whose lanes are known when the kernel runs: results of every mode, and what compiled code makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import WAYS, kernel, run
from engine_case import T

CLAMPS = {
    "the warp": 31, "no more than 20": 20, "eights": 0x181F, "eights up to 5": 0x1805, "up": 0,
    "up in fours": 0x1C00,
}  # fmt: skip
"""What c packs: a segment mask and the last legal lane, or the first for `up`."""


def expected(mode: str, b: np.ndarray, c: int, x: np.ndarray) -> np.ndarray:
    """What the manual's pseudocode gives: the lane that is read, and 1 where it was legal."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    least, most = T & segment, T & segment | clamp & ~segment & 31
    lane = {"up": T - b, "down": T + b, "bfly": T ^ b, "idx": least | b & ~segment & 31}[mode]
    legal = lane >= most if mode == "up" else lane <= most
    return x[np.where(legal, lane, T)] * 2 + legal


@pytest.mark.long
@pytest.mark.sweep(7)
@pytest.mark.parametrize("which", ["one", "any"])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_lanes_that_a_kernel_computes(mode: str, which: str) -> None:
    """b is the same in all lanes, the counter of a loop, or differs in each; c stands in the text, or was loaded."""
    x = np.random.default_rng(3).integers(0, 1 << 30, 64, dtype=np.uint32)
    lanes = [1, 2, 4, 7, 16, 31, 33]
    for clamp in CLAMPS.values():
        for given in (str(clamp), "%r9"):
            other = "mad.lo.u32 %r10, %r1, 5, %r10;" if which == "any" else ""
            text = kernel(f"""
                add.u64 %rd6, %rd2, %rd4; ld.global.u32 %r5, [%rd6]; ld.global.u32 %r9, [%rd2+128];
                mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u64 %rd7, %rd2;
                LOOP: ld.global.u32 %r10, [%rd7+132]; {other}
                shfl.sync.{mode}.b32 %r11|%p1, %r5, %r10, {given}, -1;
                selp.u32 %r12, 1, 0, %p1; mad.lo.u32 %r12, %r11, 2, %r12; mad.lo.u32 %r6, %r6, 3, %r12;
                add.u64 %rd7, %rd7, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, {len(lanes)}; @%p2 bra LOOP;
                st.global.u32 [%rd3], %r6;""")
            x[32], x[33 : 33 + len(lanes)] = clamp, lanes
            wanted = np.zeros(32, np.uint64)
            for b in lanes:
                taken = T * 5 + b if which == "any" else np.full(32, b)
                wanted = wanted * 3 + expected(mode, taken, clamp, x.astype(np.uint64))
            for way in WAYS:
                found, _ = run(way, text, x=x)
                assert found.tolist() == (wanted & 0xFFFFFFFF).tolist(), (way, clamp, given)
