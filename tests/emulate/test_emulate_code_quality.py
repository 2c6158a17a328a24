"""Code and rules of tier 0 do the same as those of tier 1; a launch goes over from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxlab.emulate import Memory, lower
from ptxlab.emulate.runtime import disk_cache
from ptxlab.emulate.runtime.report import Launch, Report
from ptxlab.text import parse

jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.analysis import divergence  # noqa: E402
from ptxlab.emulate.jit.building import build, rule_objects  # noqa: E402
from ptxlab.emulate.jit.instruments.selection import instruments_of  # noqa: E402
from ptxlab.emulate.jit.native import llvm_thread  # noqa: E402

ALL = ("memcheck", "initcheck", "racecheck", "synccheck")
TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 out)
{
    .shared .align 4 .b8 tile[256];
    .reg .pred %p<3>;
    .reg .b64 %rd<4>;
    .reg .b32 %r<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, tile;
    add.u32 %r4, %r4, %r3;
    st.shared.u32 [%r4], %r1;
    setp.lt.u32 %p1, %r1, 5;        // the first warp diverges
    @%p1 bra FEW;
    add.u32 %r2, %r2, 1000;
FEW:
    bar.sync 0;
    xor.b32 %r5, %r3, 252;          // what the thread at the other end has written
    mov.u32 %r6, tile;
    add.u32 %r5, %r5, %r6;
    ld.shared.u32 %r7, [%r5];
    st.shared.u32 [%r4], %r7;       // too early: it may not have been read yet
    add.u32 %r7, %r7, %r2;
    mov.u32 %r8, %ctaid.x;
    shl.b32 %r8, %r8, 6;
    add.u32 %r8, %r8, %r1;
    mul.wide.u32 %rd2, %r8, 4;
    add.u64 %rd3, %rd1, %rd2;
    red.global.add.u32 [%rd3], %r7;
    ret;
}
"""
"""A kernel that diverges, reconverges, counts and races."""
BLOCKS = 6


@pytest.fixture
def nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a new process with an empty cache, on a machine with all the time in the world: nothing gets hot."""
    llvm_thread.wait_until_idle()
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "HOT", float("inf"))
    disk_cache.folder.cache_clear()
    for held in (build, "_recent"), (rule_objects, "_built"):
        monkeypatch.setattr(*held, type(getattr(*held))())
    yield
    disk_cache.folder.cache_clear()


class LaunchState:
    """The kernel, ready to be launched: again and again, in whatever code there is."""

    def __init__(self, text: str = TEXT, **options: Any) -> None:
        self.program, self.memory = lower(parse(text)), Memory()
        self.out = self.memory.allocate(4 * 64 * BLOCKS, "out", np.zeros(64 * BLOCKS, np.uint32))
        params = np.uint64(self.out.address).tobytes()
        self.launch = Launch((BLOCKS, 1, 1), (64, 1, 1), params, **{"workers": 1, **options})
        self.built, _ = build.prepare(self.program, None, instruments_of(self.launch))

    def result(self, report: Report) -> tuple[object, ...]:
        """All that a launch gives but times."""
        data = self.out.data.view(np.uint32).tolist()
        return data, report.lines, report.counters, [str(finding) for finding in report.findings]

    def again(self) -> tuple[object, ...]:
        """One more launch, from zeros."""
        self.out.data[:] = 0
        return self.result(jit.run(self.program, self.launch, self.memory))


RACES = ("memcheck", "racecheck")


@pytest.mark.long
@pytest.mark.sweep(5)
@pytest.mark.parametrize(
    "options",
    [{}, {"checks": ALL}, {"counters": True}, {"checks": ALL, "seed": 3}, {"checks": RACES}],
    ids=lambda options: "+".join(options) or "plain",
)
def test_quick_and_good_code_do_the_same(nothing_built: None, options: dict[str, Any]) -> None:
    launched = LaunchState(**options)
    quick = launched.again()
    launched.built.improve()
    assert launched.again() == quick
    if "racecheck" in options.get("checks", ()):
        assert "race" in str(quick[-1])


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL])
def test_a_launch_goes_over_to_better_code_between_two_blocks(nothing_built: None, checks: tuple[str, ...]) -> None:
    launched = LaunchState(checks=checks)
    expected = launched.again()
    launched.out.data[:] = 0
    run = jit.Run(launched.program, launched.built, launched.launch, launched.memory)
    launched.built.improve()
    quick, begun = run.converged, run.progress()
    run.tick(NoLine())
    assert run.converged is launched.built.converged is not quick
    assert [worker.context.outdated for worker in run.workers] == [1]
    assert begun == (0, 0)
    run.wait()
    assert [worker.context.outdated for worker in run.workers] == [0]
    report = run.report(0.0)
    report.findings += run.found()
    assert launched.result(report) == expected


class NoLine:
    """A progress line that nobody reads."""

    def tick(self) -> None:
        """Nothing is due."""


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL], ids=len)
def test_the_function_for_diverged_warps_has_what_is_needed(
    nothing_built: None, monkeypatch: pytest.MonkeyPatch, checks: tuple[str, ...]
) -> None:
    """A few blocks at first; all, with the same result, when diverged lanes come to another."""
    text = TEXT.replace(
        "add.u32 %r2, %r2, 1000;", "mov.u32 %r2, %ctaid.x;"
    )  # the same in all lanes: they diverge for it
    few = LaunchState(text, checks=checks)
    found = few.again()
    few.built.improve()
    assert few.again() == found
    inner = "    setp.lt.u32 %p2, %r1, 3;\n    @%p2 bra SOME;\n    add.u32 %r2, %r2, 1;\nSOME:\n"
    text = TEXT.replace("    add.u32 %r2, %r2, 1000;\n", inner + "    add.u32 %r2, %r2, 25;\n" * 40)
    grown = LaunchState(text.replace("%r1, 5", "%r1, 40"), checks=checks, counters=True)
    found = grown.again()
    grown.built.improve()
    assert grown.again() == found
    monkeypatch.setattr(divergence, "MOST", 0)
    disk_cache.folder.cache_clear()
    monkeypatch.setenv("PTXLAB_CACHE", "off")
    build._recent.clear()
    whole = LaunchState(text.replace("%r1, 5", "%r1, 40"), checks=checks, counters=True)
    assert whole.again() == found
