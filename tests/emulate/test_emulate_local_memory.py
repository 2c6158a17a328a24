"""What nobody has written is found alike in all ways, ended blocks keep no local memory, volatile variables."""

from __future__ import annotations

import tracemalloc

import pytest
from emulate_programs import ALL_CHECKS, kernel, run
from random_local import differences
from slow_cases import slow

from ptxlab.emulate import lower
from ptxlab.text import parse


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 3),
        (2_000_125, 1),
        (2_000_164, 1),
        *(pytest.param(*given, marks=pytest.mark.rest) for given in ((3, 5), (8, 8), (16, 8))),
        *slow((first, 8) for first in range(24, 600, 8)),
    ],
)
def test_engines_find_the_same_bytes_unwritten(first: int, count: int) -> None:
    assert differences(first, count) == []


@pytest.mark.rest
@pytest.mark.long
def test_blocks_that_have_ended_keep_no_local_memory() -> None:
    text = kernel(".local .b8 much[500000]; st.local.u32 [much], %r1; st.global.u32 [%rd3], %r1;")
    tracemalloc.start()
    run("step", text, blocks=24)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 32 * 500_000


def test_a_volatile_local_variable(engine: str) -> None:
    """As NVRTC writes it; no other thread reads it, so that a loop around it waits for nobody."""
    body = """
    .local .align 8 .b8 own[8];
    st.volatile.local.u32 [own], %r1;
ROUND:
    ld.volatile.local.u32 %r5, [own]; add.u32 %r5, %r5, 7;
    st.volatile.local.v2.u32 [own], {%r5, %r5};
    setp.lt.u32 %p1, %r5, 100; @%p1 bra ROUND;
    st.global.u32 [%rd3], %r5;"""
    text = kernel(body).replace(".version 8.8", ".version 9.1")
    out, report = run(engine, text, checks=ALL_CHECKS)
    assert out.tolist() == [k + 7 * -(-(100 - k) // 7) for k in range(32)]
    assert not report.findings
    assert not lower(parse(text)).may_wait
