"""Runs in a notebook: everything that the checks found is shown, with its threads and lines."""

from __future__ import annotations

import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.lab import display


@kernel
def reverse(k: Builder, x: Ptr[f32], y: Ptr[f32]) -> None:
    """y = x backwards, without the barrier that it needs."""
    tile = k.shared(f32, 64)
    t = k.tid.x
    tile[t] = x[t]
    y[t] = tile[63 - t]


def test_every_finding_is_shown_with_its_threads() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = pl.launch(reverse, 1, 64, x, y, checks=("memcheck", "racecheck"))
    shown = display.run_html(run)
    assert [f.kind for f in run.findings] == ["RAW"]
    for found in run.findings:
        assert found.message in shown
        assert found.where in shown
    assert shown.count("thread (31, 0, 0) (warp 0, lane 31)") == 1
    assert "ld.shared.f32 %f2, [%r3];" in shown
