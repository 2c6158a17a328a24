"""The stepping engine's translation of a program, which launches share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ptxlab as pl

LOOP = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
ROUND:
    shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;
    add.u32 %r3, %r3, %r4;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra ROUND;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
"""


def launched(rounds: int, **options: object) -> np.ndarray:
    """What 64 threads write after so many rounds."""
    out = np.zeros(64, np.uint32)
    pl.launch(LOOP, 1, 64, out, rounds, device="step", **options)
    return out


def expected(rounds: int) -> np.ndarray:
    """The same, computed with numpy."""
    return rounds * (np.arange(64) ^ 1)


def test_launches_with_checks_and_without_follow_each_other() -> None:
    for checks in ("memcheck", "all", "memcheck", "all"):
        np.testing.assert_array_equal(launched(3, checks=checks), expected(3))
        np.testing.assert_array_equal(launched(2, checks=checks, counters=True), expected(2))


def test_launches_at_the_same_time() -> None:
    with ThreadPoolExecutor(4) as threads:
        for rounds, out in zip(range(1, 17), threads.map(launched, range(1, 17)), strict=True):
            np.testing.assert_array_equal(out, expected(rounds))
