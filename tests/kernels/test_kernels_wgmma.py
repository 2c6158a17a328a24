"""The rung for Hopper: against float64 on the CPU machine, with all checks, and through NVIDIA's assembler."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES

import ptxlab as pl
from ptxlab import kernels
from ptxlab.gpu import assembler

NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
SHAPES = [(1, 1, 1, 64, 128), (2, 4, 2, 70, 200), (1, 2, 1, 130, 65), (1, 1, 1, 5, 0), (1, 1, 1, 1, 300)]
"""B, Hq, Hkv, Sq, Sk."""


def tensors(dtype: str, dim: int, shape: tuple[int, ...], sigma: float = 1.0) -> list[np.ndarray]:
    b, hq, hkv, sq, sk = shape
    rng = np.random.default_rng(sq + sk)
    made = [rng.standard_normal(s) for s in ((b, hq, sq, dim), (b, hkv, sk, dim), (b, hkv, sk, dim))]
    made[0] *= sigma
    return [x.astype(NUMPY[dtype]) for x in made]


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.skipif("cpu" not in DEVICES, reason="llvmlite is not installed")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("dtype", "dim"), [("f16", 64), ("bf16", 128), pytest.param("f16", 256, marks=pytest.mark.slow)]
)
def test_against_float64(dtype: str, dim: int, causal: bool) -> None:
    built = kernels.get("wgmma").build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a")
    for n, shape in enumerate(SHAPES):
        q, k, v = tensors(dtype, dim, shape, (1.0, 0.1, 8.0)[n % 3])
        out = pl.attention(q, k, v, kernel=built, causal=causal, device="cpu")
        assert out.error.ok, (shape, out.error)


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.skipif("cpu" not in DEVICES, reason="llvmlite is not installed")
@pytest.mark.parametrize("causal", [False, True])
def test_all_checks_are_silent(causal: bool) -> None:
    built = kernels.get("wgmma").build(head_dim=64, causal=causal, arch="sm_90a", tile_kv=32)
    for shape in ((1, 1, 1, 70, 100), (1, 2, 1, 64, 32)):
        out = pl.attention(*tensors("f16", 64, shape), kernel=built, causal=causal, device="cpu", checks=ALL_CHECKS)
        assert out.error.ok
        assert not out.run.findings


@pytest.mark.long
def test_on_the_interpreter() -> None:
    built = kernels.get("wgmma").build(head_dim=64, dtype="bf16", causal=True, arch="sm_90a", tile_kv=32)
    out = pl.attention(
        *tensors("bf16", 64, (1, 1, 1, 66, 70)), kernel=built, causal=True, device="step", checks=ALL_CHECKS
    )
    assert out.error.ok
    assert not out.run.findings


@pytest.mark.long
def test_engines_agree_on_the_state() -> None:
    built = kernels.get("wgmma").build(head_dim=64, causal=True, arch="sm_90a", tile_kv=32)
    q, k, v = tensors("f16", 64, (1, 1, 1, 64, 70))
    results = [
        pl.attention(q, k, v, kernel=built, causal=True, device=d, state=[(0, 0, 5), (0, 0, 63)]) for d in DEVICES
    ]
    for result in results[1:]:
        assert (result.o.view(np.uint16) == results[0].o.view(np.uint16)).all()


@pytest.mark.rest
@pytest.mark.assembler
@pytest.mark.parametrize(("dtype", "dim"), [("f16", 64), ("bf16", 128), ("f16", 128), ("bf16", 256)])
def test_the_assembler_spills_nothing_and_waits_nowhere_else(dtype: str, dim: int) -> None:
    for causal in (False, True):
        built = kernels.get("wgmma").build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a")
        made = assembler.assemble(built.ptx)
        assert made.spill_bytes == 0
        assert "serialized" not in made.log
        assert str(pl.sass(built.ptx)).count("HGMMA") == dim // 16 + built.tile_kv // 16
