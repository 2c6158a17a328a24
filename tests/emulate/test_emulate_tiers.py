"""A launch goes over from quick to optimized code between two blocks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ended, kernel

from ptxlab.emulate import Memory, lower
from ptxlab.emulate.runtime.report import Launch
from ptxlab.text import parse

jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.building import build  # noqa: E402
from ptxlab.emulate.jit.instruments.selection import instruments_of  # noqa: E402

BLOCKS, THREADS = 6, 64
BODY = """
    shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r7, %r6, %r5; st.shared.u32 [%r7], %r1;
    setp.lt.u32 %p1, %r1, 5; @%p1 bra FEW;  // the first warp diverges
    add.u32 %r2, %r2, 1000;
FEW:
    bar.sync 0;
    xor.b32 %r8, %r5, 252; add.u32 %r8, %r8, %r6; ld.shared.u32 %r9, [%r8];  // what the last thread has written
    st.shared.u32 [%r7], %r9;  // too early: it may not have been read yet
    add.u32 %r9, %r9, %r2; red.global.add.u32 [%rd3], %r9;"""
TILE = ".shared .align 4 .b8 tile[256];"
TEXT = kernel(BODY, TILE)
"""A kernel that diverges, reconverges, counts and races."""


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("checks", [("memcheck",), ALL_CHECKS])
def test_a_launch_goes_over_to_better_code_between_two_blocks(checks: tuple[str, ...]) -> None:
    expected = ended("step", TEXT, threads=THREADS, blocks=BLOCKS, checks=checks)
    program, memory = lower(parse(TEXT), shared_gaps="initcheck" in checks), Memory()
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
