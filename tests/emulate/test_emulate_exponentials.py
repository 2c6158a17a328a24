"""`ex2` in compiled code, where some CPUs have an instruction for powers of two: for all numbers the bits of `step`."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, agreed, kernel

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")


def numbers() -> np.ndarray:
    """Of every exponent, many of which the result is subnormal or no number at all, and special ones."""
    rng = np.random.default_rng(3)
    anywhere = rng.integers(0, 1 << 32, 4096, np.uint32).view(np.float32)
    near = np.concatenate([rng.uniform(low, high, 2000) for low, high in ((-153, -125), (126, 130), (-1, 1))])
    whole = np.arange(-160, 140) / 2
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 129.00001, -152.0, -151.99998])
    x = np.concatenate([anywhere, near.astype(np.float32), whole.astype(np.float32), special.astype(np.float32)])
    return np.resize(x, 16384)


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_engines_agree(ftz: str) -> None:
    text = kernel(
        "    mul.wide.u32 %rd5, %r4, 4;\n    add.u64 %rd6, %rd2, %rd5;\n    ld.global.f32 %f1, [%rd6];\n"
        f"    ex2.approx{ftz}.f32 %f2, %f1;\n    st.global.f32 [%rd3], %f2;"
    )
    x = numbers().view(np.uint32)
    agreed(text, threads=128, blocks=128, x=x)
