"""A launch goes over from quick to optimized code between two blocks; both know what diverged warps need."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, agreed, ended, kernel

from ptxlab.emulate import Memory, lower
from ptxlab.emulate.runtime.report import Launch
from ptxlab.text import parse

jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.analysis import divergence  # noqa: E402
from ptxlab.emulate.jit.building import build  # noqa: E402
from ptxlab.emulate.jit.instruments.selection import instruments_of  # noqa: E402
from ptxlab.emulate.runtime import disk_cache  # noqa: E402

BLOCKS, THREADS = 6, 64
BODY = """
    shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r7, %r6, %r5; st.shared.u32 [%r7], %r1;
    setp.lt.u32 %p1, %r1, {few}; @%p1 bra FEW;  // the first warp diverges
    {others}
FEW:
    bar.sync 0;
    xor.b32 %r8, %r5, 252; add.u32 %r8, %r8, %r6; ld.shared.u32 %r9, [%r8];  // what the last thread has written
    st.shared.u32 [%r7], %r9;  // too early: it may not have been read yet
    add.u32 %r9, %r9, %r2; red.global.add.u32 [%rd3], %r9;"""
TILE = ".shared .align 4 .b8 tile[256];"


def text(few: int = 5, others: str = "add.u32 %r2, %r2, 1000;") -> str:
    """A kernel that diverges, reconverges, counts and races."""
    return kernel(BODY.format(few=few, others=others), TILE)


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL_CHECKS])
def test_a_launch_goes_over_to_better_code_between_two_blocks(checks: tuple[str, ...]) -> None:
    expected = ended("step", text(), threads=THREADS, blocks=BLOCKS, checks=checks)
    program, memory = lower(parse(text()), shared_gaps="initcheck" in checks), Memory()
    out = memory.allocate(4 * THREADS * BLOCKS, "out", np.zeros(THREADS * BLOCKS, np.uint32))
    params = np.array([out.address] * 2, np.uint64).tobytes()
    launch = Launch((BLOCKS, 1, 1), (THREADS, 1, 1), params, workers=1, checks=checks)
    quick, good = (
        build.prepare(program, None, instruments_of(launch), None, tier)[0] for tier in ("quick", "optimized")
    )
    run = jit.Run(program, quick, launch, memory)
    quick.converged = good.converged
    run.tick(SimpleNamespace(tick=lambda: None))
    assert [worker.context.outdated for worker in run.workers] == [1]
    run.wait()
    assert [worker.context.outdated for worker in run.workers] == [0]
    assert out.data.view(np.uint32).tolist() == expected.out
    assert [str(finding) for finding in run.found()] == expected.findings


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL_CHECKS], ids=len)
def test_the_function_for_diverged_warps_has_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, checks: tuple[str, ...]
) -> None:
    """A few blocks at first; all, with the same result, when diverged lanes come to another."""
    given = {"threads": THREADS, "blocks": BLOCKS, "checks": checks}
    agreed(text(others="mov.u32 %r2, %ctaid.x;"), **given)  # the same in all lanes: they diverge for it
    inner = "setp.lt.u32 %p2, %r1, 3; @%p2 bra SOME; add.u32 %r2, %r2, 1; SOME:" + "add.u32 %r2, %r2, 25;" * 40
    found = agreed(text(40, inner), counters=True, **given)
    monkeypatch.setattr(divergence, "MOST", 0)
    monkeypatch.setattr(build, "_recent", type(build._recent)())
    monkeypatch.setattr(disk_cache, "recall", lambda entry: None)
    assert ended("quick", text(40, inner), counters=True, **given) == found
