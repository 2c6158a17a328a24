"""FlashAttention-2 in Triton against float64, on the emulator; and how the benchmark chooses its tiles."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from benchmarks.gpu.memory import NUMPY
from ptxlab import reference

triton_attention = pytest.importorskip(
    "benchmarks.gpu.triton_attention", reason="needs Triton: pip install 'ptxlab[triton]'", exc_type=ImportError
)
from benchmarks.gpu.triton_attention import Tiles  # noqa: E402 - where there is Triton


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("tiles", [Tiles(64, 32, 4, 2), Tiles(32, 32, 1, 1)], ids=str)
def test_it_computes_attention(dtype, causal, tiles):
    q, k, v = (x.astype(NUMPY[dtype]) for x in reference.random_inputs(2, 2, 2, 128, 128, 64, sigma=2.0))
    o, lse = np.zeros_like(q), np.zeros(q.shape[:3], np.float32)
    kernel = triton_attention.compiled(64, causal, dtype, "sm_80", tiles)
    kernel, grid, block, shared, given = triton_attention.step(kernel, tiles, q, k, v, o, lse)
    pl.launch(kernel, grid, block, *given, shared=shared, device="cpu")
    error = reference.measure(o, lse, q, k, v, causal=causal, tile=tiles.keys)
    assert error.ok, error
