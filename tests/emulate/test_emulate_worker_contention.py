"""Atomic operations by several workers: they stop helping where they do not help, and no operation is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import improve, kernel, run

from ptxlab.emulate.runtime import state as S
from ptxlab.errors import DeviceFault

jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)
contention = pytest.importorskip(
    "ptxlab.emulate.jit.building.worker_contention", reason="needs llvmlite", exc_type=ImportError
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
    monkeypatch.setattr(contention, "GAIN", 1e9)
    monkeypatch.setattr(contention, "AGAIN", 5)
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
    improve(kernel(body), (THREADS,), False, ("memcheck",))  # better code forgets what is known
    alone = counted(1, body)
    assert (alone[0] == BLOCKS * THREADS * TIMES // 8).all()
    after = 0
    while not retreats or after < contention.AGAIN:
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
    monkeypatch.setattr(contention, "GAIN", 0.0)
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


def launch(known: Any, one: float, several: float, blocks: int = 100) -> int:
    """How many of two workers a launch has, which takes so many seconds."""
    workers = known.workers(2)
    if workers == 2 and known.pace and not known.measures(blocks):
        known.took(blocks, several)
        return 2
    known.ran(blocks, one, whole=True)
    return 1


def test_launches_that_several_workers_make_slower_have_one() -> None:
    known = contention.Contention(False, np.ones(1))
    known.ran(7, 1e-4, whole=False)  # the beginning of the first launch
    assert launch(known, 2e-3, 0) == 1  # it is short: what a CTA takes is measured
    assert known.pace == pytest.approx(2e-5)
    assert [launch(known, 2e-3, t) for t in [3e-3, 3e-3, 1e-3, 3e-3, 3e-3]] == [2] * 5  # never three in a row
    assert launch(known, 2e-3, 3e-3) == 2
    assert [launch(known, 2e-3, 3e-3) for _ in range(contention.AGAIN + 2)] == [1] * (contention.AGAIN + 1) + [2]
    assert [launch(known, 2e-3, 1e-3) for _ in range(contention.AGAIN)].count(1) == 1  # measured anew
    known.forget()
    assert (known.pace, known.workers(4), known.workers(1)) == (0, 4, 1)


def test_launches_that_have_become_longer_keep_their_workers() -> None:
    known = contention.Contention(False, np.ones(1))
    known.ran(100, 1e-3, whole=True)
    assert launch(known, 1e-3, 6e-4) == 1
    grown = [launch(known, 4e-3, 2.4e-3) for _ in range(20)]  # with other data, in as many blocks
    assert grown == [2] * contention.LOST + [1] + [2] * (20 - contention.LOST - 1)
    assert [launch(known, 1e-2, 6e-3, blocks=200) for _ in range(20)] == [2] * 20  # in more blocks


def test_long_launches_are_not_measured() -> None:
    known = contention.Contention(False, np.ones(1))
    known.ran(10, 1.0, whole=False)
    assert [launch(known, 100.0, 200.0, blocks=1000) for _ in range(2 * contention.AGAIN)] == [2] * 2 * contention.AGAIN


def test_workers_of_a_launch_known_to_be_long_begin_before_its_first_block(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[int, int]] = []
    share = jit.Run.share

    def shared(this: Any, team: Any) -> None:
        before = int(this.next[0])
        share(this, team)
        if this.asked > 1:
            begun.append((len(this.workers), before))

    monkeypatch.setattr(jit.Run, "share", shared)
    monkeypatch.setattr(jit, "SHARED", 1e-6)
    monkeypatch.setattr(contention, "LOST", 1 << 30)
    body = """
        mov.u32 %r26, 1;
        add.u32 %r20, %r4, 7;
        st.global.u32 [%rd3], %r20;"""
    options: dict[str, Any] = {"threads": THREADS, "blocks": BLOCKS, "budget": None}
    expected = run("jit", kernel(body), out=np.zeros(BLOCKS * THREADS, np.uint32), workers=1, **options)[0]
    assert not begun
    for _ in range(3):  # the second one is alone again, to be measured
        out, _ = run("jit", kernel(body), out=np.zeros(BLOCKS * THREADS, np.uint32), workers=3, **options)
        assert (out == expected).all()
    assert any(workers == 2 and before == 0 for workers, before in begun)
