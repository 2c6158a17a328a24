"""Grid-stride loops: where the turn of a warp ends, on both engines, and what else it may be that warps do there."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run
from random_strides import Program, differences

import ptxlab as pl
from ptxlab.emulate import lower
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import DeviceFault
from ptxlab.text import parse

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
def test_warps_go_side_by_side(way: str) -> None:
    assert _order(way, _loop()) == 10101
    assert _order(way, _loop(n=160), threads=96) == 1201  # warp 2 has one round
    assert _order(way, _loop(step="64")) == 111  # not the size of the grid: one after the other


@pytest.mark.parametrize("way", WAYS)
def test_of_some_lanes_the_turn_goes_on(way: str) -> None:
    """Lanes 0 to 3 of warp 0 alone make a third round: they are all that live, or the others wait behind the loop."""
    text = _loop(n=132)
    assert _order(way, text) == 1001
    assert _order(way, text.replace("@%p1 bra AGAIN;", "@!%p1 exit; bra AGAIN;")) == 1010
    few = _loop(body=ROUND + "and.b32 %r25, %r1, 7; setp.eq.u32 %p2, %r25, 7; @%p2 exit;")
    assert _order(way, few) == 10101


@pytest.mark.parametrize("way", WAYS)
def test_a_warp_that_diverges_in_a_round(way: str) -> None:
    """Lanes of warp 0 part in each round, for several rounds of a loop of their own, and meet at its end."""
    inner = """
    and.b32 %r25, %r1, 35;
    setp.ge.u32 %p2, %r25, 32;
    @%p2 bra MEET;
INNER:
    add.u32 %r25, %r25, 1;
    setp.lt.u32 %p2, %r25, 5;
    @%p2 bra INNER;
MEET:
"""
    assert _order(way, _loop(body=inner + ROUND)) == 10101
    assert _order(way, _loop(body=ROUND + inner)) == 10101


@pytest.mark.parametrize("way", WAYS)
def test_loops_with_barriers_do_not_end_turns(way: str) -> None:
    """The warps wait for each other anyway: a second end of the turn would only cost."""
    text = _loop(body=ROUND + "bar.sync 0;")
    assert not any(code.ends_turn for code in lower(parse(text)).codes)
    assert _order(way, text) == 10101


@pytest.mark.parametrize("way", WAYS)
def test_rounds_without_end_spend_the_budget(way: str) -> None:
    text = _loop().replace("@%p1 bra AGAIN;", "bra AGAIN;")
    with pytest.raises(DeviceFault, match="warp-instructions"):
        _order(way, text, budget=100_000)


def _marked(body: str) -> int:
    return sum(code.ends_turn for code in lower(parse(kernel(body))).codes)


def test_which_loops_have_the_stride_of_the_grid() -> None:
    assert _marked(LOOP.format(body="", step="%r21", n=9)) == 1
    assert _marked(LOOP.format(body="", step="%r20", n=9)) == 1
    assert _marked(LOOP.format(body="mul.lo.u32 %r25, %r20, %r3;", step="%r25", n=9)) == 1  # computed in the loop
    assert _marked(LOOP.format(body="", step="%r3", n=9)) == 0  # that of the block
    # Of the addresses of a grid-stride loop, an inner loop that adds to them has none.
    inner = "mov.u32 %r26, %r23; INNER: add.u32 %r26, %r26, %r23; setp.lt.u32 %p2, %r26, 99; @%p2 bra INNER;"
    assert _marked(LOOP.format(body=inner, step="%r21", n=9)) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_traces_have_the_order(engine: str) -> None:
    _, report = run(engine, _loop(), threads=64, trace=pl.Trace())
    assert isinstance(report.trace, Recording)
    first, second = (report.trace.places()[0, warp] for warp in (0, 1))
    before, each = 12, 6  # steps before the loop, and of a round
    rounds = [first[: before + each], second[: before + each], first[before + each :][:each]]
    assert np.concatenate(rounds).tolist() == list(range(2 * before + 3 * each))


@pytest.mark.parametrize("way", WAYS)
def test_the_fault_of_the_earlier_round_comes_first(way: str) -> None:
    """Warp 0 goes astray in its third round, warp 1 in its second."""
    astray = """
    mul.wide.u32 %rd10, %r23, 4;
    setp.eq.u32 %p2, %r23, 96;
    @%p2 add.u64 %rd10, %rd10, 4096;
    setp.eq.u32 %p2, %r23, 128;
    @%p2 add.u64 %rd10, %rd10, 8192;
    add.u64 %rd10, %rd10, %rd2;
    ld.global.u32 %r24, [%rd10];
"""
    text = _loop(body=astray)
    if way == "good":
        improve(text, (64,), False, ("memcheck",))
    with pytest.raises(DeviceFault, match=r"thread \(32, 0, 0\)"):
        run("step" if way == "step" else "jit", text, threads=64, x=np.zeros(256, np.uint32))


@pytest.mark.parametrize(
    "first",
    [
        0,
        *(pytest.param(at, marks=pytest.mark.rest) for at in (20, 40, 60)),
        *(pytest.param(at, marks=pytest.mark.slow) for at in range(80, 1000, 20)),
    ],
)
def test_random_programs(first: int) -> None:
    assert not differences(first, 20)


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
