"""Grid-stride loops: where the turn of a warp ends, on both engines, and what else it may be that warps do there."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run
from random_strides import Program, differences

from ptxlab.errors import DeviceFault

LOOP = """
    mov.u32 %r20, %nctaid.x;
    mul.lo.u32 %r21, %r20, %r3;
    shr.u32 %r22, %r1, 5;
    mov.u32 %r23, %r4;
AGAIN:
    {body}
    add.u32 %r23, %r23, {step};
    setp.lt.u32 %p1, %r23, {n};
    @%p1 bra AGAIN;
"""
ROUND = """
    ld.global.u32 %r24, [%rd1];
    mad.lo.u32 %r24, %r24, 10, %r22;
    st.global.u32 [%rd1], %r24;
"""
"""Appends the warp's number to a decimal number that all share."""


def _loop(body: str = ROUND, step: str = "%r21", n: int = 192, after: str = "") -> str:
    return kernel(LOOP.format(body=body, step=step, n=n) + after)


def _order(way: str, text: str, threads: int = 64, blocks: int = 1, budget: int = 2_000_000) -> int:
    """The numbers of the warps, in the order in which they wrote them."""
    if way == "good":
        improve(text, (threads,), False, ("memcheck",))
    engine, out = "step" if way == "step" else "jit", np.zeros(64, np.uint32)
    out, _ = run(engine, text, threads=threads, blocks=blocks, out=out, budget=budget)
    return int(out[0])


@pytest.mark.parametrize("way", WAYS)
def test_rounds_without_end_spend_the_budget(way: str) -> None:
    text = _loop().replace("@%p1 bra AGAIN;", "bra AGAIN;")
    with pytest.raises(DeviceFault, match="warp-instructions"):
        _order(way, text, budget=100_000)


@pytest.mark.parametrize(
    "first",
    [
        0,
        *(pytest.param(at, marks=pytest.mark.rest) for at in range(8, 80, 8)),
        *(pytest.param(at, marks=pytest.mark.slow) for at in range(80, 1000, 8)),
    ],
)
def test_random_programs(first: int) -> None:
    assert not differences(first, 8)


@pytest.mark.parametrize("workers", [1, 3])
def test_random_programs_with_all_checks_and_workers(workers: int) -> None:
    """Warps of one CTA go side by side whoever runs it; CTAs that do not share memory give one result."""
    for seed in range(12):
        program = Program(seed)
        if program.blocks != 1:
            continue
        ended = []
        for engine in ENGINES:
            x = np.arange(1024, dtype=np.uint32)
            try:
                out, _ = run(engine, program.text, threads=program.threads, x=x, checks=ALL_CHECKS, workers=workers)
            except DeviceFault as fault:
                ended.append((str(fault), x.tolist()))
            else:
                ended.append((out.tolist(), x.tolist()))
        assert all(each == ended[0] for each in ended)
