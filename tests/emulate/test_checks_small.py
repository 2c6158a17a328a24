"""Small kernels in every idiom that orders threads, each right or wrong in one way: the checks tell them apart."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES
from small_kernels import Small
from small_memory import MEMORY
from small_synchronisation import SYNCHRONISING

import ptxlab as pl

KERNELS: dict[str, Small] = SYNCHRONISING | MEMORY


def found(name: str, device: str) -> set[tuple[str, str]]:
    """The checks and kinds that a kernel's findings are of."""
    small = KERNELS[name]
    arrays = np.zeros(small.threads * small.blocks + 64, np.uint32), np.arange(4096, dtype=np.uint32)
    try:
        findings = pl.launch(
            small.text(), small.blocks, small.threads, *arrays, device=device, checks=ALL_CHECKS, budget=200_000
        ).findings
    except pl.DeviceFault as stopped:
        findings = list(stopped.findings)
    return {(f.check, f.kind) for f in findings}


@pytest.mark.parametrize(
    "device",
    [
        "step",
        pytest.param("cpu", marks=[pytest.mark.slow, pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite")]),
    ],
)
@pytest.mark.parametrize("name", KERNELS)
def test_small_kernel(name: str, device: str) -> None:
    seen, wanted = found(name, device), KERNELS[name].finds
    if wanted:
        assert any(check == c and kind in ("", k) for check, kind in wanted for c, k in seen), seen
    else:
        assert seen == set()
