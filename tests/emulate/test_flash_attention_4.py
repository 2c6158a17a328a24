"""FlashAttention-4's forward kernel for Hopper on the CPU machine, all checks on; skipped where it is not installed."""

from __future__ import annotations

import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from flash_attention_4 import Problem, available, waits, without, written

from ptxlab.errors import DeviceFault

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="flash-attn-4 and nvidia-cutlass-dsl are not installed"),
    pytest.mark.skipif("cpu" not in DEVICES, reason="llvmlite is not installed"),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dim", "dtype"), [(64, "float16"), (128, "bfloat16")])
def test_against_float64_with_all_checks(dim: int, dtype: str, causal: bool) -> None:
    ptx = written(dim, causal, dtype)
    for shape in ((1, 200, 600), (2, 130, 130), (1, 64, 1)):
        run, error = Problem(dim, causal, dtype, *shape).run(ptx, ALL_CHECKS)
        assert error.ok, (shape, error)
        assert not run.findings


def verdict(ptx: str) -> str:
    """What is said of a text in which something was left out."""
    try:
        run, error = Problem(128).run(ptx, ALL_CHECKS)
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


def test_each_wait_left_out() -> None:
    """Whatever is left out is reported, or stops the kernel, or is one of those above. Takes an hour at worst."""
    ptx = written(128, False, "float16")
    sites = waits(ptx)
    if len(sites) != 61:
        pytest.skip("another version of flash-attn-4 than 4.0.0b36")
    said = {n: verdict(without(ptx, at)) for n, at in enumerate(sites)}
    assert {n for n, one in said.items() if one == "wrong"} == set()
    assert {n for n, one in said.items() if one == "right"} == REDUNDANT.keys()
