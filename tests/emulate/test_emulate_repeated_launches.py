"""A kernel launched again and again: each launch begins like the first, and nothing of it stays."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES

from ptxlab.emulate import Memory, execute
from ptxlab.errors import DeviceFault
from ptxlab.text import parse

pytest.importorskip("llvmlite")

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2;
    ret;
}
"""


@pytest.mark.rest
@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"counters": True}], ids=lambda o: "+".join(o) or "plain")
def test_the_memory_of_a_launch_is_freed_when_it_ends(options: dict[str, Any]) -> None:
    """Without waiting for the collector of cycles: copies of large arrays would pile up until it runs."""
    module = parse(PTX)
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):  # the first one builds
            memory = Memory()
            y = memory.allocate(128, "y")
            execute(
                module, None, grid=(1,), block=(32,), params=y.address.to_bytes(8, "little"), memory=memory, **options
            )
            assert (y.data.view(np.uint32) == 1).all()
            gone = weakref.ref(memory)
            del memory, y
        assert gone() is None
    finally:
        gc.enable()


SUMS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 y)
{
    .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p;
    .shared .align 4 .b32 total;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    setp.eq.u32 %p, %r1, 0;
    ld.shared.u32 %r6, [total];
    bar.sync 0;
    @%p st.shared.u32 [total], 0;
    bar.sync 0;
    atom.shared.add.u32 %r4, [total], %r1;
    bar.sync 0;
    ld.shared.u32 %r5, [total];
    mad.lo.u32 %r7, %r3, %r2, %r1; mul.wide.u32 %rd2, %r7, 8;
    ld.param.u64 %rd1, [y]; add.s64 %rd1, %rd1, %rd2;
    st.global.v2.u32 [%rd1], {%r5, %r6};
    ret;
}
"""
"""Each thread stores the sum of the indices of its block's threads, and what shared memory held before that."""


def _sums(module: Any, block: int, blocks: int = 5, **options: Any) -> tuple[list[list[int]], Any]:
    memory = Memory()
    y = memory.allocate(blocks * block * 8, "y")
    params = y.address.to_bytes(8, "little")
    report = execute(module, None, grid=(5,), block=(block,), params=params, memory=memory, **options)
    return y.data.view(np.uint32).reshape(-1, 2).tolist(), report


def _expected(block: int) -> list[list[int]]:
    return [[block * (block - 1) // 2, 0xFFFFFFFF]] * (5 * block)


@pytest.mark.parametrize(
    "options",
    [{"workers": 1}, {"workers": 2}, {"seed": 3}, {"counters": True}, {"engine": "step"}],
    ids=lambda o: "+".join(o),
)
def test_each_launch_begins_like_the_first(options: dict[str, Any]) -> None:
    """With unwritten shared memory, counts of its own, and blocks of whatever size."""
    module = parse(SUMS)
    lines = {}
    for block in (32, 40, 32, 128, 40, 7, 32):
        found, report = _sums(module, block, **options)
        assert found == _expected(block)
        assert report.lines == lines.setdefault(block, report.lines)
        assert report.thread_instructions == sum(threads for _, threads in report.lines.values()) > 0


def test_launches_with_checks_and_without_follow_each_other() -> None:
    module = parse(SUMS)
    for engine in ENGINES:
        for checks in (("memcheck",), ALL_CHECKS) * 2:
            assert _sums(module, 64, engine=engine, checks=checks)[0] == _expected(64)


def test_a_launch_after_one_that_was_stopped() -> None:
    module = parse(SUMS)
    whole = _sums(module, 96)[1].lines
    with pytest.raises(DeviceFault, match="past the end of"):
        _sums(module, 96, blocks=3)  # the grid has five
    found, report = _sums(module, 96)
    assert found == _expected(96)
    assert report.lines == whole


def test_launches_from_several_threads_keep_apart(engine: str) -> None:
    module = parse(SUMS)
    sizes = [32, 64, 40, 96, 32, 7, 128, 40] * 4
    with ThreadPoolExecutor(4) as pool:
        for block, (found, _) in zip(
            sizes, pool.map(lambda n: _sums(module, n, workers=2, engine=engine), sizes), strict=True
        ):
            assert found == _expected(block)
