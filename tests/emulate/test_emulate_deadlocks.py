"""Waits for an mbarrier that cannot end are a fault that says who waits for what; waits that can end are not."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import fault_of, kernel, run

BEFORE = ".shared .align 8 .b64 full[2];"
START = """
    mov.u32 %r10, full;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [%r10+8], 3;
    bar.sync 0;
"""
WAIT = "WAIT:\n    mbarrier.test_wait.parity.shared.b64 %p2, [%r10+8], 0;\n    @!%p2 bra WAIT;"
"""Loops that are written otherwise are in `test_emulate_wait_loops.py`."""


def text(body: str) -> str:
    return kernel(body, BEFORE).replace("sm_80", "sm_90")


def line_of(module: str, word: str) -> int:
    return next(n for n, line in enumerate(module.splitlines(), 1) if word in line)


def test_nobody_can_arrive(engine: str) -> None:
    arrives = "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r10+8], 512;\n"
    module = text(START + arrives + WAIT)
    caught = fault_of(engine, module, threads=64, blocks=3, budget=None)
    line = line_of(module, "_wait.parity")
    waits = (
        "waits for the phase of parity 0 of the mbarrier at 'full', byte 8, which has not ended: 2 of 3 arrivals and "
        f"512 bytes missing, no thread can arrive (mbarrier.test_wait.parity.shared.b64, line {line})"
    )
    assert caught.kind == "deadlock"
    assert caught.message == (
        f"no thread of the block can go on\n    warp 0, lanes 0-31: {waits}\n    warp 1, lanes 0-31: {waits}"
    )
    assert (caught.line, caught.thread) == (line, (0, 0, 0))


def test_some_wait_at_a_barrier_and_some_have_ended(engine: str) -> None:
    module = text(
        START
        + """
    setp.ge.u32 %p3, %r1, 64; @%p3 exit;
    setp.lt.u32 %p3, %r1, 40; @%p3 bra BARRIER;
"""
        + WAIT
        + "\n    exit;\nBARRIER:\n    bar.sync 1;"
    )
    caught = fault_of(engine, module, threads=96, budget=None)
    waits = (
        "waits for the phase of parity 0 of the mbarrier at 'full', byte 8, which has not ended: 3 of 3 arrivals "
        f"missing, no thread can arrive (mbarrier.test_wait.parity.shared.b64, line {line_of(module, 'test_wait')})"
    )
    barrier = f"waits for barrier 1 (bar.sync, line {line_of(module, 'bar.sync 1')})"
    assert caught.message.splitlines() == [
        "no thread of the block can go on", f"    warp 0, lanes 0-31: {barrier}",
        f"    warp 1, lanes 0-7: {barrier}", f"    warp 1, lanes 8-31: {waits}", "    ended: warp 2",
    ]  # fmt: skip


@pytest.mark.long
def test_a_late_arrival_is_no_deadlock(engine: str) -> None:
    body = f"""{START}
    setp.lt.u32 %p3, %r1, 32; @%p3 bra CONSUME;
    mov.u32 %r20, 40000;
BUSY:
    sub.u32 %r20, %r20, 1; setp.ne.u32 %p4, %r20, 0; @%p4 bra BUSY;
    setp.lt.u32 %p4, %r1, 35;
    @%p4 mbarrier.arrive.shared.b64 %rd9, [%r10+8];
CONSUME:
{WAIT}
    st.global.u32 [%rd3], 7;"""
    out, _ = run(engine, text(body), threads=64, budget=None)
    assert (out == 7).all()


def test_a_full_barrier_is_no_deadlock(engine: str) -> None:
    """The last warp has arrived at a barrier that counts two, and none of them has run on yet: a third one waits for an
    mbarrier at which the first arrives behind it."""
    body = f"""{START}
    setp.ge.u32 %p3, %r1, 64; @%p3 bra CONSUME;
    bar.sync 1, 64;
    setp.lt.u32 %p4, %r1, 3;
    @%p4 mbarrier.arrive.shared.b64 %rd9, [%r10+8];
    exit;
CONSUME:
{WAIT}
    st.global.u32 [%rd3], 7;"""
    out, _ = run(engine, text(body), threads=96, budget=None, checks=("synccheck",))
    assert (out[64:] == 7).all()


def test_a_block_that_polls_another_blocks_flag_is_no_deadlock(engine: str) -> None:
    body = f"""{START}
    setp.ne.u32 %p3, %r2, 0; @%p3 bra SECOND;
    setp.lt.u32 %p4, %r1, 32; @%p4 bra CONSUME;
POLL:
    ld.volatile.global.u32 %r20, [%rd2];
    setp.eq.u32 %p4, %r20, 0; @%p4 bra POLL;
    setp.lt.u32 %p4, %r1, 35;
    @%p4 mbarrier.arrive.shared.b64 %rd9, [%r10+8];
CONSUME:
{WAIT}
    st.global.u32 [%rd3], 7;
    exit;
SECOND:
    mov.u32 %r20, 3000;
BUSY:
    sub.u32 %r20, %r20, 1; setp.ne.u32 %p4, %r20, 0; @%p4 bra BUSY;
    st.volatile.global.u32 [%rd2], 1;
    st.global.u32 [%rd3], 7;"""
    out, _ = run(engine, text(body), threads=64, blocks=2, x=np.zeros(1, np.uint32), budget=None, workers=1)
    assert (out == 7).all()


def test_lanes_that_came_to_one_barrier_at_different_times_are_one_line(engine: str) -> None:
    """Lane 1 of warp 2 goes through the loop once more than the others of its warp."""
    body = """
    and.b32 %r20, %r1, 31; shr.u32 %r21, %r1, 5; mov.u32 %r15, 0;
    setp.eq.u32 %p1, %r21, 0; @%p1 ret;
L1:
    mov.u32 %r16, 0;
L4:
    bar.sync 1, 64;
    setp.lt.u32 %p1, %r20, 1; @%p1 ret;
    add.u32 %r16, %r16, 1; setp.le.u32 %p4, %r16, %r20; setp.lt.and.u32 %p4, %r16, 3, %p4;
    @%p4 bra L4;
    add.u32 %r15, %r15, 1; setp.le.u32 %p4, %r15, %r21; setp.lt.and.u32 %p4, %r15, 3, %p4;
    @%p4 bra L1;
    bar.sync 0;"""
    fault = fault_of(engine, kernel(body), threads=96)
    assert "warp 2, lanes 1-31: waits for barrier 1 (bar.sync, line" in str(fault)


def test_a_cluster_says_what_each_block_waits_for(engine: str) -> None:
    module = text(
        START
        + """
    mov.u32 %r20, %cluster_ctarank; setp.eq.u32 %p3, %r20, 0; @%p3 bra TOGETHER;
"""
        + WAIT
        + "\nTOGETHER:\n    barrier.cluster.arrive; barrier.cluster.wait;"
    )
    caught = fault_of(engine, module, threads=64, blocks=2, cluster=(2, 1, 1), budget=None)
    phase = "the phase of parity 0 of the mbarrier at 'full', byte 8, which has not ended: 3 of 3 arrivals missing, no "
    place = f"(mbarrier.test_wait.parity.shared.b64, line {line_of(module, 'test_wait')})"
    assert caught.message.splitlines() == [
        "no thread of the cluster can go on",
        f"    block (1, 0, 0), warps 0-1, lanes 0-31: wait for {phase}thread can arrive {place}",
        "    block (0, 0, 0), warps 0-1, lanes 0-31: wait for the barrier of the cluster (barrier.cluster.wait, line "
        f"{line_of(module, 'barrier.cluster.wait')})",
    ]
    assert caught.block == (1, 0, 0)
