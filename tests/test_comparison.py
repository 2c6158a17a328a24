"""`compare`: several kernels on the same inputs, as a table."""

from __future__ import annotations

import numpy as np

import ptxlab as pl
from ptxlab import kernels, reference


def test_compare_shows_what_the_swizzle_is_for():
    q, k, v = reference.random_inputs(1, 1, 1, 64, 64, 64, dtype=np.float16)
    found = pl.compare(q, k, v, kernels=["mma", kernels.get("swizzle").build()], device="cpu")
    mma, swizzle = found.entries
    assert (mma.kernel, swizzle.kernel) == ("mma_f16_d64", "swizzle_f16_d64")
    assert mma.ok
    assert swizzle.ok
    assert mma.conflicts > 0 == swizzle.conflicts
    assert mma.sectors == swizzle.sectors > 0
    assert mma.registers > 0
    assert 0 < mma.occupancy <= 1
    lines = str(found).splitlines()
    assert lines[0] == "on cpu"
    assert lines[1].split() == "kernel max error result warp instr. sectors conflicts registers occupancy time".split()
    assert lines[2].startswith("mma_f16_d64 ")
    assert found._repr_mimebundle_()["text/html"].count("<tr>") == 3


def test_compare_takes_every_kernel_of_the_type():
    q, k, v = reference.random_inputs(1, 1, 1, 9, 9, 24)
    names = [e.kernel for e in pl.compare(q, k, v, device="cpu", causal=True).entries]
    assert names == ["scalar_f32_d24_causal", "tiled_f32_d24_causal"]
