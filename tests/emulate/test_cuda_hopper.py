"""CUDA C++ with inline PTX for Hopper, compiled by NVRTC for sm_90a: bulk copies, a cluster, wgmma on tiles by TMA."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS

import ptxlab as pl
from ptxlab.errors import UnavailableError

FOLDER = Path(__file__).parents[1] / "cuda" / "hopper"
Launch = Callable[..., Any]


def bulk_pipeline(launch: Launch) -> None:
    x = np.random.default_rng(1).integers(-99, 99, 5 * 128).astype(np.float32)
    y = np.full_like(x, np.nan)
    launch(1, 64, x, y, 5)
    assert (y == 2 * x + 1).all()


def cluster_sum(launch: Launch) -> None:
    x = np.random.default_rng(2).integers(-99, 99, (2, 700)).astype(np.float32)
    sums = np.full(2, np.nan, np.float32)
    launch(8, 64, x, sums, 700)
    assert (sums == x.sum(axis=1)).all()


def gemm(launch: Launch) -> None:
    """Ragged in rows and columns: what lies outside comes as zeros, and is not stored."""
    rng = np.random.default_rng(3)
    m, n, k = 50, 60, 128
    a, b = (rng.integers(-3, 4, (rows, k)).astype(np.float16) for rows in (m, n))
    c = np.full((m, n), np.nan, np.float32)
    maps = (pl.TensorMap(x, box=(64, 64), swizzle=128) for x in (a, b))
    launch(1, 128, *maps, c, m, n, k, shared=2 * 64 * 64 * 2)
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all()


@pytest.mark.sweep(5)
@pytest.mark.parametrize("program", [bulk_pipeline, cluster_sum, gemm])
def test_against_numpy(program: Callable[[Launch], None], device: str) -> None:
    """All checks are silent; counters are on."""
    source = FOLDER / f"{program.__name__}.cu"
    try:
        kernel = pl.cuda(source.read_text(encoding="utf-8"), "sm_90a", file=source.name)
    except UnavailableError as error:
        pytest.skip(str(error))

    def launch(grid: Any, block: int, *args: Any, **options: Any) -> Any:
        run = pl.launch(kernel, grid, block, *args, device=device, checks=ALL_CHECKS, counters=True, **options)
        assert not run.findings
        return run

    program(launch)
