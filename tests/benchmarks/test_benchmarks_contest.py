"""The method of the GPU benchmarks: memory full of NaN, wrong kernels that get no time, and rivals that raise."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from benchmarks.gpu import contest, memory, timing
from benchmarks.gpu.contest import Inputs, Place, Problem
from ptxlab.errors import DeviceFault

SMALL = Problem(64, True, 64, "bf16", 128, 128, most=3)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_poison_is_nan_and_every_nan_is_counted(dtype):
    whole = pl.empty((3, 5, 16), memory.NUMPY[dtype], device="cpu")
    memory.poison(whole, 4)
    assert memory.nans(whole, dtype, 4) == 240
    assert np.isnan(whole.copy_to_host().astype(np.float32)).all()
    values = np.random.default_rng(0).standard_normal((3, 5, 16)).astype(whole.dtype)
    values[0, 0, 0], values[1, 2, 3] = -np.inf, np.inf
    values[1, 0, 0], values[2, 4, 15] = -np.nan, np.nan
    whole.copy_from_host(values)
    assert memory.nans(whole, dtype, 4) == 2
    first, second, third = memory.parts(whole)
    assert [memory.nans(part, dtype, 1) for part in (first, second, third)] == [0, 1, 1]
    memory.poison(second, 1)
    assert memory.nans(whole, dtype, 4) == 81
    np.testing.assert_array_equal(first.copy_to_host(), values[0])
    np.testing.assert_array_equal(memory.read(third, 16, (2, 16)), values[2, 1:3])


@pytest.fixture
def inputs():
    return Inputs(SMALL.tokens * SMALL.width, "cpu", None)


def prepare(inputs, change=lambda step: step):
    """`swizzle` on the small problem, each of its launches changed."""
    made = contest.ours("swizzle", SMALL, inputs, Place.of("cpu"))
    made.steps = [change(step) for step in made.steps]
    return made


@pytest.mark.long
def test_wrong_kernels_are_caught_and_have_no_time(inputs):
    def last_block_missing(step):
        kernel, (x, y, z), *rest = step
        return (kernel, (x, y, z - 1), *rest)

    def slightly_off(step):
        *rest, args = step
        return (*rest, (*args[:-1], args[-1] * 1.05))

    def one_launch(step, seen=[]):  # noqa: B006 - counts the launches
        seen.append(step)
        return slightly_off(step) if len(seen) == 3 else step

    found = contest.contest(
        {
            "right": lambda: prepare(inputs),
            "unwritten": lambda: prepare(inputs, last_block_missing),
            "off": lambda: prepare(inputs, slightly_off),
            "once": lambda: prepare(inputs, one_launch),
        },
        inputs.answers(SMALL),
        rounds=3,
        warm=0.0,
    )
    right = found["right"]
    assert (right.wrong, right.failed, len(right.seconds)) == ("", "", 3)
    assert 0 < right.median
    assert 0 < right.error < 0.02
    # half of the heads and rows: one of two blocks in z, its o and its lse, in each of three launches
    assert found["unwritten"].wrong == f"{3 * (64 * 128 + 2 * 64)} elements of the output were not written"
    assert found["off"].wrong.startswith("launch 0, batch, head and rows (0, 0, 0 to 31): error ")
    assert found["off"].wrong.endswith(" is allowed")
    assert found["once"].wrong.startswith("launch 2, batch, head and rows (0, 0, 0 to 31): error ")
    assert [found[name].median for name in ("unwritten", "off", "once")] == [None] * 3
    row = contest.row("swizzle", SMALL, found["unwritten"], False, None)
    assert row == {
        "kernel": "swizzle",
        "dtype": "bf16",
        "dim": 64,
        "causal": True,
        "seq": 64,
        "wrong": "swizzle, bf16, D 64, causal, S 64: 24960 elements of the output were not written",
    }


@pytest.mark.long
def test_a_rival_that_raises_leaves_the_others_alone(inputs):
    def no_kernel():
        raise RuntimeError("No available kernel.\nMore.")

    class Fails:
        launches = 1

        def poison(self):
            """Nothing."""

        def replay(self):
            raise ValueError("out of luck")

        def free(self):
            """Nothing."""

    found = contest.contest(
        {"early": no_kernel, "right": lambda: prepare(inputs), "late": Fails},
        inputs.answers(SMALL),
        rounds=2,
        warm=0.0,
    )
    assert found["early"].failed == "RuntimeError: No available kernel."
    assert found["late"].failed == "ValueError: out of luck"
    assert len(found["right"].seconds) == 2
    row = contest.row("torch cuDNN", SMALL, found["early"], True, None)
    assert row["absent"] == "RuntimeError: No available kernel."
    assert "wrong" not in row
    mine = contest.row("mma", SMALL, found["early"], False, None)
    assert mine["wrong"] == "mma, bf16, D 64, causal, S 64: RuntimeError: No available kernel."


@pytest.mark.parametrize("error", [DeviceFault("gpu", "an access"), RuntimeError("CUDA error: an illegal access")])
def test_a_stopped_gpu_ends_the_contest(inputs, error, monkeypatch):
    monkeypatch.setattr(timing, "alive", lambda: False)

    def stopped():
        raise error

    with pytest.raises(timing.Lost) as lost:
        contest.contest({"bad": stopped, "right": pytest.fail}, inputs.answers(SMALL), rounds=2, warm=0.0)
    assert list(lost.value.found) == ["bad"]
    assert lost.value.found["bad"].failed == timing.said(error)
