"""The corpus of small PTX programs with known results, run on every engine of the emulator."""

from __future__ import annotations

import pytest
from emulate_programs import kernel, run
from engine_cases import CASES


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, engine: str) -> None:
    found, _ = CASES[name].run(engine)
    assert found.tolist() == CASES[name].wanted()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_programs_do_not_depend_on_the_schedule(engine: str, seed: int) -> None:
    for name in (
        "producers and consumers at named barriers",
        "shared memory and a barrier",
        "a warp waits for a later warp",
    ):
        found, _ = CASES[name].run(engine, seed=seed)
        assert found.tolist() == CASES[name].wanted()


def test_counts_by_line(engine: str) -> None:
    body = """
    setp.lt.u32 %p1, %r1, 8;
    @!%p1 bra SKIP;
    add.u32 %r5, %r1, 1;
SKIP:
    @%p1 st.global.u32 [%rd3], %r5;"""
    text = kernel(body)
    _, report = run(engine, text, threads=48)
    lines = text.splitlines()
    counts = {lines[line - 1].strip(): count for line, count in report.lines.items()}
    assert counts["setp.lt.u32 %p1, %r1, 8;"] == (2, 48)
    assert counts["add.u32 %r5, %r1, 1;"] == (1, 8)
    assert counts["@%p1 st.global.u32 [%rd3], %r5;"] == (2, 48)
    assert report.warp_instructions == sum(warps for warps, _ in report.lines.values())
    assert report.thread_instructions == sum(threads for _, threads in report.lines.values())


def test_registers_begin_as_zeros_in_each_block(engine: str) -> None:
    """Whatever an earlier block has left in them. A barrier saves them in the warp's state."""
    body = """
    setp.ne.u32 %p1, %r2, 0;
    @!%p1 mov.u32 %r5, %r1;
    bar.sync 0;
    st.global.u32 [%rd3], %r5;"""
    out, _ = run(engine, kernel(body), threads=64, blocks=4, workers=1)
    assert out.tolist() == [*range(64), *[0] * 192]
