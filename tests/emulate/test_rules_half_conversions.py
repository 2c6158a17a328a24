"""Conversions of halves by arithmetic on bits, in Python and compiled, against numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxlab.emulate.rules import half_conversions

rules_in_llvm = pytest.importorskip("compiled_rules")


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rules_in_llvm.Compiled([half_conversions.widened, half_conversions.narrowed])


def test_every_half(compiled: Any) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    exact = every.view(np.float16).astype(np.float32).view(np.uint32)
    for half in every.tolist():
        expected = int(exact[half])
        if half & 0x7FFF > 0x7C00:  # a NaN keeps its payload and becomes quiet
            expected = (half & 0x8000) << 16 | 0x7FC00000 | (half & 0x3FF) << 13
        assert half_conversions.widened(half) == expected
        if half % 64 == 1:
            assert compiled(half_conversions.widened, half) == expected


def test_singles_of_every_kind(compiled: Any) -> None:
    rng = np.random.default_rng(1)
    near = rng.integers(0x32000000, 0x48000000, 8192)  # from less than the smallest half to more than the largest
    ties = rng.integers(0x33000000 >> 12, 0x47800000 >> 12, 8192) << 12
    edges = [0, 1, 0x33000000, 0x33000001, 0x33800000, 0x387FFFFF, 0x38800000, 0x477FEFFF, 0x477FF000, 0x7F800000]
    nan = [0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    singles = np.concatenate([rng.integers(0, 1 << 31, 4096), near, ties, edges, nan]).astype(np.uint32)
    singles = np.concatenate([singles, singles | np.uint32(1 << 31)])
    with np.errstate(all="ignore"):
        exact = singles.view(np.float32).astype(np.float16).view(np.uint16)
    for k, (single, expected) in enumerate(zip(singles.tolist(), exact.tolist(), strict=True)):
        if single & 0x7FFFFFFF > 0x7F800000:
            expected = single >> 16 & 0x8000 | 0x7E00 | single >> 13 & 0x3FF
        assert half_conversions.narrowed(single) == expected
        if k % 16 == 0 or single & 0x7FFFFFFF in (*edges, *nan):
            assert compiled(half_conversions.narrowed, single) == expected
