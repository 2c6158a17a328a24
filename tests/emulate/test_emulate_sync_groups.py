"""Lanes that stand at one instruction with different member masks: each group waits for its own lanes only."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run

BODY = """    and.b32 %r6, %r1, 1;
    setp.eq.u32 %p1, %r6, 0;
    selp.b32 %r7, 0x55555555, 0xAAAAAAAA, %p1;   // even lanes name the even ones, odd lanes the odd ones
    mov.u32 %r8, %r1; setp.ge.u32 %p2, %r8, 100; selp.u32 %r9, 1, 0, %p2;
    setp.lt.u32 %p3, %r1, 8; or.pred %p3, %p1, %p3;
    or.b32 %r11, %r6, 30;
    mov.u32 %r12, 0;
top:
    WHAT
    setp.eq.u32 %p4, %r12, 1;
@%p4 bra done;
    mov.u32 %r12, 1;
@%p3 bra top;                                    // all even lanes and four odd ones come back first
    add.u32 %r8, %r1, 100; setp.ge.u32 %p2, %r8, 100;
    selp.u32 %r9, 1, 0, %p2;
    bra top;
done:
    st.global.u32 [%rd3], %r10;"""
WAITS = {
    "shfl.sync.idx.b32 %r10, %r8, %r11, 31, %r7;": lambda lane: (30, 131)[lane % 2],
    "vote.sync.ballot.b32 %r10, %p2, %r7;": lambda lane: (0, 0xAAAAAA00)[lane % 2],
    "redux.sync.add.u32 %r10, %r8, %r7;": lambda lane: (240, 256 + 12 * 100)[lane % 2],
    "match.any.sync.b32 %r10, %r9, %r7;": lambda lane: (0x55555555, 0xAA if lane < 8 else 0xAAAAAA00)[lane % 2],
    "bar.warp.sync %r7;\n    mov.u32 %r10, %r1;": lambda lane: lane,
}
"""What waits, and what a lane has then."""


@pytest.mark.parametrize("what", WAITS)
def test_each_group_waits_for_its_own(what: str, engine: str) -> None:
    out, _ = run(engine, kernel(BODY.replace("WHAT", what)), out=np.zeros(32, np.uint32))
    assert list(out) == [WAITS[what](lane) for lane in range(32)]


STAY = """    and.b32 %r6, %r1, 7;
    mov.u32 %r7, 0x01010101;
    shl.b32 %r7, %r7, %r6;                       // lane k names the lanes that are k modulo 8
    setp.eq.u32 %p2, %r6, 7;
    mov.u32 %r8, 0;
@%p2 bra done;                                   // four lanes wait after the loop
top:
    WHAT
    add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 6;
@%p3 bra top;
done:
    activemask.b32 %r10;
    st.global.u32 [%rd3], %r10;"""


@pytest.mark.parametrize("what", ["shfl.sync.idx.b32 %r9, %r1, %r6, 31, %r7;", "bar.warp.sync %r7;"])
def test_groups_that_wait_at_one_place_go_on_together(what: str) -> None:
    """None of them runs ahead: the warp is whole again after the loop, and no instruction runs once for each group."""
    counted = []
    for engine in ENGINES:
        out, report = run(engine, kernel(STAY.replace("WHAT", what)), out=np.zeros(32, np.uint32))
        assert (out == 0xFFFFFFFF).all()
        counted.append(report.warp_instructions)
    assert len(set(counted)) == 1


ANSWERS = {
    "vote.sync.ballot.b32 %r10, %p3, %r7;": lambda lane: 0x01010101 << lane % 8,
    "redux.sync.add.u32 %r10, %r1, %r7;": lambda lane: 4 * (lane % 8) + 48,
    "match.any.sync.b32 %r10, %r8, %r7;": lambda lane: 0x01010101 << lane % 8,
}
"""What groups ask, all at once, and what each lane has then."""


@pytest.mark.parametrize("what", ANSWERS)
def test_groups_that_go_on_together_have_answers_of_their_own(what: str, engine: str) -> None:
    body = STAY.replace("WHAT", "setp.lt.u32 %p3, %r8, 100;\n    " + what).replace("activemask.b32 %r10;\n    ", "")
    out, _ = run(engine, kernel(body.replace("@%p2 bra", "mov.u32 %r10, 7;\n@%p2 bra")), out=np.zeros(32, np.uint32))
    assert list(out) == [ANSWERS[what](lane) if lane % 8 != 7 else 7 for lane in range(32)]
