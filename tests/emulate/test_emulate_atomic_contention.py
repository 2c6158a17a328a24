"""Atomic operations by several workers: they stop helping where they do not help, and no operation is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import kernel, run

from ptxlab.emulate.runtime import state as S
from ptxlab.errors import DeviceFault

jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)
atomic_contention = pytest.importorskip(
    "ptxlab.emulate.jit.building.atomic_contention", reason="needs llvmlite", exc_type=ImportError
)

TIMES, BLOCKS, THREADS = 20, 3000, 64
COUNTS = f"""
    mov.u32 %r30, 0;
    and.b32 %r31, %r1, 7;
    mul.wide.u32 %rd10, %r31, 4;
    add.s64 %rd10, %rd1, %rd10;
AGAIN:
    red.global.add.u32 [%rd10], 1;
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p1, %r30, {TIMES};
    @%p1 bra AGAIN;"""
"""Each thread adds to one of eight words, twenty times. What it does first tells this test's kernel from others."""


def counted(workers: int, body: str = COUNTS, threads: int = THREADS) -> tuple[np.ndarray, int]:
    """The first eight words after the launch, and how many thread-instructions it had."""
    options: dict[str, Any] = {"threads": threads, "blocks": BLOCKS, "workers": workers, "budget": None}
    out, report = run("jit", kernel(body), out=np.zeros(64, np.uint32), **options)
    return out[:8], report.thread_instructions


@pytest.fixture(params=["in the caller's thread", "in threads"])
def retreats(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Has every launch whose workers are compared go on with one. For each that does so: how many workers it had, and
    how many of them paused with blocks left to run."""
    seen: list[tuple[int, int]] = []
    let_go, wait = jit.Run.let_go_alone, jit.Run.wait

    def watched(this: Any, team: Any, running: int = 0) -> None:
        let_go(this, team, running)
        if this.crowded and team.running() == running and not this.workers[0].context.alone:
            raise AssertionError("the first worker does not know that it is alone")

    def waited(this: Any) -> None:
        paused: list[int] = []
        go_on = this.go_on

        def noted(worker: Any) -> None:
            go_on(worker)
            if worker is not this.workers[0] and worker.result == S.PAUSED:
                paused.append(worker.context.ticket < worker.context.tickets_end)

        this.go_on = noted
        try:
            wait(this)
        finally:
            if this.crowded:
                seen.append((len(this.workers), sum(paused)))

    monkeypatch.setattr(jit.Run, "let_go_alone", watched)
    monkeypatch.setattr(jit.Run, "wait", waited)
    monkeypatch.setattr(atomic_contention, "GAIN", 1e9)
    monkeypatch.setattr(atomic_contention, "AGAIN", 5)
    monkeypatch.setattr(jit, "SHARED", 1e-5)
    if request.param == "in threads":
        monkeypatch.setattr(jit, "HERE", 3e-4)
        monkeypatch.setattr(jit, "TICK", 1e-4)
    else:
        monkeypatch.setattr(jit, "HERE", 0.5)  # so long that the others surely begin meanwhile, on a busy machine too
    monkeypatch.setattr(jit, "GROWTH", 2)
    return seen


@pytest.mark.parametrize("workers", [2, 3])
def test_blocks_of_workers_that_pause_are_run(retreats: list[tuple[int, int]], workers: int) -> None:
    body = COUNTS + f"\nmov.u32 %r29, {workers};"  # a kernel of its own: what is known of one is kept
    alone = counted(1, body)
    assert (alone[0] == BLOCKS * THREADS * TIMES // 8).all()
    after = 0
    while not retreats or after < atomic_contention.AGAIN:
        assert not after or len(retreats) == 1  # the next launches have one worker from the beginning
        found = counted(workers, body)
        assert (found[0] == alone[0]).all()
        assert found[1] == alone[1]
        after += bool(retreats)
    assert 1 < retreats[0][0] <= workers


def test_some_pause_with_blocks_left(retreats: list[tuple[int, int]]) -> None:
    kernels = iter(range(1000))
    while not any(left for _, left in retreats):
        body = COUNTS + f"\nmov.u32 %r28, {next(kernels)};"
        assert (counted(2, body)[0] == BLOCKS * THREADS * TIMES // 8).all()


def test_a_fault_is_told_after_others_have_paused(retreats: list[tuple[int, int]]) -> None:
    body = (
        COUNTS
        + f"""
    mov.u32 %r20, %ctaid.x;
    setp.eq.u32 %p2, %r20, {BLOCKS - 1};
    @%p2 st.global.u32 [%rd10+4096], %r20;"""
    )
    while not retreats:  # another thread may begin late, on a busy machine
        with pytest.raises(DeviceFault, match=rf"block \({BLOCKS - 1},"):
            counted(2, body)


def test_workers_that_help_stay(monkeypatch: pytest.MonkeyPatch, retreats: list[tuple[int, int]]) -> None:
    monkeypatch.setattr(atomic_contention, "GAIN", 0.0)
    body = COUNTS + "\nmov.u32 %r27, 1;"
    assert (counted(2, body)[0] == BLOCKS * THREADS * TIMES // 8).all()
    assert not retreats


def test_only_atomic_operations_on_memory_of_several_workers_are_compared() -> None:
    def possible(body: str) -> bool:
        from ptxlab.emulate import lower
        from ptxlab.emulate.jit.building.program_summary import ProgramSummary
        from ptxlab.text import parse

        program = lower(parse(kernel(body)), "k")
        return ProgramSummary.of(program).contended

    assert possible(COUNTS)
    assert possible("atom.add.u32 %r20, [%rd1], 1;")
    assert not possible("st.global.u32 [%rd3], %r4;")
    assert not possible(".shared .b32 sum;\nred.shared.add.u32 [sum], 1;")
