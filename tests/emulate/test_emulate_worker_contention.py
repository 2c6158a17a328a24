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
    monkeypatch.setattr(contention, "ROUND", 5)
    monkeypatch.setattr(jit, "SHARED", 1e-5)
    monkeypatch.setattr(contention, "SHORT", 0.0)
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
    while not retreats or after < contention.ROUND:
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
    """How many of two workers a launch has, which takes so many seconds with one or with both."""
    workers: int = known.workers(2, blocks)
    known.ran(blocks, one if workers == 1 else several, workers)
    return workers


def launches(known: Any, count: int, one: float, several: float, blocks: int = 100) -> list[int]:
    """The same of some launches in a row."""
    return [launch(known, one, several, blocks) for _ in range(count)]


@pytest.fixture
def known() -> Any:
    """What is known of a kernel of which one launch has begun."""
    made = contention.Contention(False, np.ones(1))
    made.began(7, 7e-5)
    return made


@pytest.mark.parametrize(("several", "chosen"), [(2.9e-3, 1), (1.01e-3, 1), (0.99e-3, 2), (6e-4, 2)])
def test_launches_have_the_workers_that_are_faster(known: Any, several: float, chosen: int) -> None:
    found = launches(known, 3 * 65, 1e-3, several)
    assert found == 3 * ([1, 2, 2, 2] + 61 * [chosen])  # compared anew after 64 launches
    assert known.workers(1, 100) == 1


def test_a_launch_that_is_far_slower_is_the_only_one(known: Any) -> None:
    assert launches(known, 2 * 65, 1e-3, 3.1e-3) == 2 * ([1, 2] + 63 * [1])


def test_the_fastest_of_some_launches_with_several_workers_counts(known: Any) -> None:
    assert launch(known, 1e-3, 0) == 1
    assert [launch(known, 1e-3, t) for t in [2.9e-3, 9e-4, 2.9e-3]] == [2, 2, 2]
    assert launches(known, 10, 1e-3, 3e-3) == 10 * [2]


def test_a_slow_launch_or_one_of_another_size_changes_nothing(known: Any) -> None:
    launches(known, 10, 1e-3, 1.5e-3)
    known.ran(100, 3e-3, workers=1)
    known.ran(50, 4e-4, workers=2)
    assert launches(known, 10, 1e-3, 1.5e-3) == 10 * [1]


@pytest.mark.parametrize("one", [2e-4, 0.12, 100.0])
def test_launches_that_are_so_short_or_so_long_are_not_compared(known: Any, one: float) -> None:
    """Of the short ones the second worker begins late, if at all; the long ones would lose by one worker."""
    known.began(100, one)
    assert launches(known, 200, one, 2 * one) == 200 * [2]
    assert known.together(100) == (one > 1e-3)


def test_a_pace_that_others_cannot_have_kept_up_with_is_corrected(known: Any) -> None:
    """The beginning was measured while another program had the core."""
    known.began(100, 1.0)
    assert known.together(100)
    assert launches(known, 10, 1e-3, 2e-3) == [2, 1, 2, 2, 2, *5 * [1]]
    known.ran(100, 1e-3, workers=2)
    assert known.pace == pytest.approx(1e-5)


@pytest.mark.parametrize("one", [3e-4, 4e-3, 0.09])
def test_others_are_compared(known: Any, one: float) -> None:
    known.began(100, one)
    assert launches(known, 10, one, 2 * one) == [1, 2, 2, 2, *6 * [1]]
    assert known.together(100)


def test_where_workers_may_be_in_the_way_they_do_not_begin_together() -> None:
    known = contention.Contention(True, np.ones(1))
    known.began(100, 1e-3)
    assert not known.together(100)


def test_a_launch_whose_other_worker_has_not_begun_is_not_the_only_one(known: Any) -> None:
    assert launch(known, 1e-3, 0) == 1
    for _ in range(3):
        assert known.workers(2, 100) == 2
        known.ran(100, 1e-3, 1)
    assert known.workers(2, 100) == 1


def test_launches_of_other_sizes_are_compared_anew(known: Any) -> None:
    assert launches(known, 10, 1e-3, 2e-3)[-1] == 1
    assert launches(known, 10, 4e-3, 3e-3, blocks=200) == [1, *9 * [2]]
    assert launches(known, 10, 0.2, 0.1, blocks=20_000) == 10 * [2]


def test_better_code_forgets_what_is_known(known: Any) -> None:
    launches(known, 10, 1e-3, 2e-3)
    known.crowded(100)
    known.forget()
    assert (known.pace, known.workers(4, 100), known.together(100)) == (0, 4, False)


def test_a_beginning_that_is_too_short_tells_nothing(known: Any) -> None:
    known.began(100, 10e-6)
    assert known.pace == pytest.approx(1e-5)
    known.began(100, 20e-6)
    assert known.pace == pytest.approx(2e-7)


def test_crowded_launches_have_one_worker_but_longer_ones_find_out_anew(known: Any) -> None:
    known.crowded(100)
    assert known.workers(2, 20_000) == 2
    assert [known.workers(2, blocks) for blocks in [100, 20] * 32] == 64 * [1]
    assert known.workers(2, 20) == 2


class Stretches:
    """A launch of 100 CTAs whose stretches are compared: `of` says whether the first worker goes on alone."""

    def __init__(self, possible: bool = True) -> None:
        self.known = contention.Contention(possible, np.array([10, 1]))
        self.comparison = contention.Comparison(self.known, 100)
        self.now, self.counts = 5.0, []
        self.comparison.begin(self.now)

    def of(self, seconds: float, *warps: int) -> bool:
        """A stretch in which each worker, the first one alone if it is the only one, ran its block so often."""
        for number, ran in enumerate(warps):
            if number == len(self.counts):
                self.counts.append(np.zeros((1, 2), [("warps", np.int64)]))
            self.counts[number]["warps"] += ran
        self.now += seconds
        crowded: bool = self.comparison.look(self.counts, self.now, alone=len(warps) == 1)
        assert not crowded or self.known.workers(2, 100) == 1
        return crowded


@pytest.mark.parametrize(("each", "crowded"), [(40, True), (54, True), (56, False), (90, False)])
def test_workers_must_do_more_than_one_does(each: int, crowded: bool) -> None:
    launch = Stretches()
    assert not launch.of(1e-3, 100)
    assert not launch.of(1e-3, 60, 20)  # the second one has begun within the stretch
    assert launch.of(1e-3, each, each) == crowded
    assert not launch.of(1e-3, 1, 1)  # it is decided


def test_stretches_that_tell_little_are_not_compared() -> None:
    launch = Stretches()
    assert not launch.of(6e-5, 90)
    assert not launch.of(6e-5, 30)  # together with the one before it is long enough
    assert not launch.of(1e-3, 900, 10)
    assert not launch.of(1e-3, 0, 0)
    assert not launch.of(9e-5, 10, 10)  # too short
    assert not launch.of(1e-3, 500, 0)  # the other has ended no CTA
    assert not launch.of(1e-3, 500, 60)  # it has waited
    assert launch.of(1e-3, 500, 80)


def test_nothing_is_compared_where_workers_cannot_be_in_the_way() -> None:
    launch = Stretches(possible=False)
    assert not any(launch.of(1e-3, *ran) for ran in [(100,), (10, 10), (10, 10)])
    assert (launch.comparison.stretch, Stretches().comparison.stretch) == (contention.STRETCH, contention.SURE)


def test_workers_of_a_launch_known_to_be_long_begin_before_its_first_block(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[int, int]] = []
    share = jit.Run.share

    def shared(this: Any, team: Any) -> None:
        before = int(this.next[0])
        share(this, team)
        if this.asked > 1:
            begun.append((len(this.workers), before))

    monkeypatch.setattr(jit.Run, "share", shared)
    for room in jit, contention:
        monkeypatch.setattr(room, "SHARED", 1e-6)
    monkeypatch.setattr(contention, "TRIED", contention.ROUND)  # all launches but the first of a round have several
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
