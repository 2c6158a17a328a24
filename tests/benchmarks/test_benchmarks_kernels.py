"""The yardstick: a kernel and its C agree, and a difference between them stops the run."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda, which writes some of the kernels")

from benchmarks import two_workers
from benchmarks.kernels import reductions, rows
from benchmarks.kernels.__main__ import FAMILIES, KERNELS, measured, table
from benchmarks.kernels.yardstick import OnMachine, agree, compile_c, three
from ptxlab.frontends.cuda import available

KERNEL = rows.KERNELS[0]


@pytest.mark.long
@pytest.mark.skipif(not available() or shutil.which("gcc") is None, reason="needs NVRTC and gcc")
def test_small(tmp_path):
    """The smallest of the kernels, all the way to its line of the table."""
    kernel = next(k for k in reductions.KERNELS if k.name == "reduce_shuffle")
    row = measured(kernel, compile_c([kernel], tmp_path), quick=True)
    assert row["rate"] > 0
    assert table([row]).splitlines()[1].split()[0] == "reduce_shuffle"


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="needs NVRTC")
def test_two_workers(monkeypatch):
    """Both run blocks, also where the kernel's own choice would be one."""
    kernel = next(k for k in reductions.KERNELS if k.name == "reduce_shuffle")
    machine = OnMachine(kernel, kernel.arguments(np.random.default_rng(1)))
    machine.build()
    monkeypatch.setattr(two_workers, "TURNS", 1)
    one, two, chosen, _, share, work = map(float, two_workers.compared(machine, 20).replace("<", "").split())
    assert min(one, two, chosen, work) > 0
    assert 0 < share < 1


def test_list():
    """Every family is in the table, no name comes twice, and each kernel says what it writes."""
    assert len({k.name for k in KERNELS}) == len(KERNELS) == sum(len(family.KERNELS) for family in FAMILIES) >= 30
    assert all(k.written and k.style for k in KERNELS)
    assert three(5) == (5, 1, 1)
    assert three((5, 2)) == (5, 2, 1)


@pytest.mark.parametrize(
    ("tolerance", "theirs", "message"),
    [
        (0, [1, 2, 4], "matvec_rows: argument 2 differs from what the C function writes, in some bits"),
        (
            0.1,
            [1, 2, 4],
            "matvec_rows: argument 2 differs from what the C function writes, by 1, where the largest value is 4",
        ),
        (
            0.3,
            [0, 0, 0],
            "matvec_rows: argument 2 differs from what the C function writes, by 3, where the largest value is 0",
        ),
        (0.3, [1, 2, 4], None),
    ],
)
def test_agree(tolerance, theirs, message):
    kernel = dataclasses.replace(KERNEL, tolerance=tolerance)
    ours, theirs = [np.array([1, 2, 3], np.float32)], [np.array(theirs, np.float32)]
    if message is None:
        agree(kernel, ours, theirs)
        return
    with pytest.raises(ValueError) as refused:
        agree(kernel, ours, theirs)
    assert str(refused.value) == message


def test_agree_on_nothing():
    """Zeros on both sides show nothing."""
    with pytest.raises(ValueError) as refused:
        agree(KERNEL, [np.zeros(3, np.float32)], [np.zeros(3, np.float32)])
    assert str(refused.value) == "matvec_rows: argument 2 is all zeros: the comparison shows nothing"
