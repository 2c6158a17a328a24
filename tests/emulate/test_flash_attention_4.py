"""FlashAttention-4's forward kernels for sm_90a and sm_80 on the emulator, all checks on, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from flash_attention_4 import Problem, available, waits, without
from flash_attention_4_ampere import KEYS, ROWS, AmpereProblem

import ptxlab as pl
from ptxlab import reference
from ptxlab.errors import DeviceFault

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="flash-attn-4 and nvidia-cutlass-dsl are not installed"),
    pytest.mark.skipif("cpu" not in DEVICES, reason="llvmlite is not installed"),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dim", "dtype"), [(64, "float16"), (128, "bfloat16")])
def test_against_float64_with_all_checks(dim: int, dtype: str, causal: bool) -> None:
    ptx = Problem(dim, causal, dtype).ptx
    for shape in ((1, 200, 600), (2, 130, 130), (1, 64, 1)):
        run, error = Problem(dim, causal, dtype, *shape).run(ptx, ALL_CHECKS)
        assert error.ok, (shape, error)
        assert not run.findings


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dim", "dtype"), [(64, "float16"), (128, "bfloat16")])
@pytest.mark.parametrize(("group", "packed"), [(1, False), (2, False), (4, True)])
def test_sm_80_against_float64_with_all_checks(dim: int, dtype: str, causal: bool, group: int, packed: bool) -> None:
    for batch, rows, keys in ((1, 128, 192), (2, 200, 300), (1, 64, 1)):
        problem = AmpereProblem(dim, causal, dtype, group, packed, batch, kv_heads=2, rows=rows, keys=keys)
        run, error = problem.run(problem.ptx, ALL_CHECKS)
        assert error.ok, (problem, error)
        for finding in run.findings:
            assert finding.check == "initcheck", (problem, finding)
            assert finding.address is not None
            assert behind_the_last(problem, finding.first.block[0], finding.address), (problem, finding)
        if rows * (group if packed else 1) % ROWS == keys % KEYS == 0:
            assert not run.findings


def behind_the_last(problem: AmpereProblem, tile: int, address: int) -> bool:
    """Whether a byte of shared memory belongs to a row behind the last query or key.

    The kernel neither loads those rows nor zeroes them; it masks what the products make of them. V, Q and K follow each
    other in shared memory, in columns of 128 bytes.
    """
    row = address // 128
    v, q = KEYS * problem.dim // 64, ROWS * problem.dim // 64
    if v <= row < v + q:
        rows = problem.rows * (problem.group if problem.packed else 1)
        return tile * ROWS + (row - v) % ROWS >= rows
    return row >= v + q and row % KEYS >= (problem.keys - 1) % KEYS + 1


def verdict(launch: Callable[[str, Any], tuple[pl.Run, reference.Error]], ptx: str) -> str:
    """What is said of a text in which something was left out."""
    try:
        run, error = launch(ptx, ALL_CHECKS)
    except DeviceFault:
        return "stopped"
    return "reported" if run.findings else "right" if error.ok else "wrong"


REGISTERS = "setmaxnreg only moves registers"
FIRST = "the first wait for an empty stage names the phase before the first one, and never waits"
TRIED = "a try before it has succeeded, so the loop behind that is not reached"
FENCED = "no register of the products that follow was written since the fence before, or ever"
REDUNDANT = {
    10: "the fence concerns other blocks of a cluster, and there is no cluster",
    **dict.fromkeys((12, 25), REGISTERS),
    **dict.fromkeys((13, 15), FIRST),
    **dict.fromkeys((23, 24), "behind the last copy it waits for a stage that nobody fills again"),
    **dict.fromkeys((29, 35, 40, 50), TRIED),
    **dict.fromkeys((30, 41), FENCED),
    36: "a turn of the ping-pong, which is for speed alone",
    48: "it releases Q, and no other Q follows",
    55: "a warpgroup overwrites only rows of Q that it alone has read",
}
"""Of the waits of version 4.0.0b36, counted from 0, those that change nothing here, and why."""


JOINED = "the copies before it become part of the next group, and the next wait is for both"
REDUNDANT_SM_80 = {
    0: JOINED,
    2: "a stricter wait follows at once",
    15: "a warp overwrites only rows of Q that it alone has read",
}
"""The same of the kernel for sm_80, not causal."""


@pytest.mark.parametrize(
    ("problem", "redundant", "waiting"),
    [
        pytest.param(AmpereProblem(64, rows=256, keys=256), REDUNDANT_SM_80, 17, id="sm_80"),
        pytest.param(Problem(128), REDUNDANT, 61, id="sm_90a"),
    ],
)
def test_each_wait_left_out(problem: Problem | AmpereProblem, redundant: dict[int, str], waiting: int) -> None:
    """Whatever is left out is reported, or stops the kernel, or is redundant.

    sm_80 takes a minute, sm_90a an hour at worst.
    """
    ptx = problem.ptx
    sites = waits(ptx)
    if len(sites) != waiting:
        pytest.skip("another version of flash-attn-4 than 4.0.0b36")
    said = {n: verdict(problem.run, without(ptx, at)) for n, at in enumerate(sites)}
    assert {n for n, one in said.items() if one == "wrong"} == set()
    assert {n for n, one in said.items() if one == "right"} == redundant.keys()
