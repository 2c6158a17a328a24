"""8-bit floats against ml_dtypes: every code, every f16, ties, saturation and NaN."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from isa_oracle import assert_same, run

FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def encoded(type: str, x: np.ndarray) -> np.ndarray:
    """ml_dtypes' rounding of what is held at the largest number first; NaN is 0x7f."""
    with np.errstate(all="ignore"):
        held = np.clip(x.astype(np.float64), -LARGEST[type], LARGEST[type])
        code = held.astype(np.float32).astype(FP8[type]).view(np.uint8).astype(np.uint16)
    code[np.isnan(x)] = 0x7F
    return code


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_from_f32(type: str) -> None:
    codes = np.arange(256).astype(np.uint8).view(FP8[type]).astype(np.float32)
    finite = np.sort(codes[np.isfinite(codes)])
    middle = (finite[1:] + finite[:-1]) / 2
    more = np.array(
        [1e9, -1e9, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 448.0, 464.0, 480.0, 61440.0, 2.0**17], np.float32
    )
    x = np.concatenate(
        [codes, middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(9e9)), more]
    )
    got = run(f"cvt.rn.satfinite.{type}x2.f32", x, x[::-1].copy())
    assert_same(got & 0xFF, encoded(type, x[::-1]), x[::-1])
    assert_same(got >> 8, encoded(type, x), x)
    positive = np.where(x <= 0, np.float32(0), x)  # also of -0
    assert_same(run(f"cvt.rn.satfinite.relu.{type}x2.f32", x, x) & 0xFF, encoded(type, positive))


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_from_and_to_f16(type: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint32)
    with np.errstate(all="ignore"):
        low = bits.astype(np.uint16).view(np.float16).astype(np.float32)
    got = run(f"cvt.rn.satfinite.{type}x2.f16x2", bits | (bits ^ 0x8000) << 16)
    assert_same(got & 0xFF, encoded(type, low))
    assert_same(got >> 8, encoded(type, np.where(np.isnan(low), low, -low)))
    codes = np.arange(256, dtype=np.uint16)
    halves = run(f"cvt.rn.f16x2.{type}x2", codes | codes[::-1] << 8).view(np.float16).reshape(-1, 2)
    numbers = codes.astype(np.uint8).view(FP8[type]).astype(np.float16)
    assert_same(halves[:, 0].copy(), numbers)
    assert_same(halves[:, 1].copy(), numbers[::-1].copy())
