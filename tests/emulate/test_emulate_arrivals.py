"""`bar.arrive` in divergent code: lanes wait for the rest of their warp, and for no other warp (PTX ISA, bar)."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run

from ptxlab.errors import DeviceFault

TICKETS = """
    setp.lt.u32 %p1, %r1, 16;
    {arrive}
    atom.global.add.u32 %r3, [%rd2], 1;
    @%p1 bra END;
    {later}
END:
    st.global.u32 [%rd3], %r3;
"""
"""Each lane takes a ticket. Lanes 0 to 15 arrive before that, the others behind it."""


def tickets(engine: str, arrive: str, later: str) -> tuple[list[int], int]:
    """The tickets of 32 lanes, and the warp-instructions."""
    out, report = run(engine, kernel(TICKETS.format(arrive=arrive, later=later)), x=np.zeros(4, np.uint32))
    return out.tolist(), report.warp_instructions


def test_lanes_wait_for_the_rest_of_their_warp(engine: str) -> None:
    got, _ = tickets(engine, "@%p1 barrier.arrive 1, 64;", "barrier.arrive 1, 64;")
    assert got == [*range(16, 32), *range(16)]


def test_lanes_that_have_exited_are_not_waited_for(engine: str) -> None:
    got, _ = tickets(engine, "@%p1 barrier.arrive 1, 64;", "st.global.u32 [%rd3], %r3;\n    exit;")
    assert got[:16] == list(range(16, 32))


def test_a_whole_warp_goes_on_at_once(engine: str) -> None:
    got, _ = tickets(engine, "barrier.arrive 1, 64;", "")
    assert got == list(range(32))


def test_the_engines_execute_as_many_instructions() -> None:
    for arrive, later in (("@%p1 barrier.arrive 1, 64;", "barrier.arrive 1, 64;"), ("@!%p1 barrier.arrive 1, 64;", "")):
        results = []
        for engine in ENGINES:
            try:
                results.append(tickets(engine, arrive, later))
            except DeviceFault as fault:
                results.append(str(fault))
        assert results[0] == results[1]


def test_lanes_that_wait_keep_their_warp_at_the_barrier(engine: str) -> None:
    """Lanes at `bar.arrive` beside lanes at `bar.sync`: the warp waits, here for a second warp that never comes."""
    with pytest.raises(DeviceFault) as caught:
        tickets(engine, "@%p1 barrier.arrive 1, 64;", "barrier.sync 1, 64;")
    assert caught.value.kind == "deadlock"
    assert "lanes 0-15: waits for barrier 1 (barrier.arrive, line " in str(caught.value)
    assert "lanes 16-31: waits for barrier 1 (barrier.sync, line " in str(caught.value)
