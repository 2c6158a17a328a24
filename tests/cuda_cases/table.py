"""The table of CUDA C++ programs, and how their drivers compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Launch = Callable[..., Any]
PROGRAMS: dict[str, Callable[[Launch], None]] = {}
NEEDS = {"cache_hints": 80, "matmul_wmma_tf32": 80}
"""The first architecture of a program, where it is not sm_75: an earlier one the assembler refuses."""


def program(f: Callable[[Launch], None]) -> Callable[[Launch], None]:
    """Adds a program to the table."""
    PROGRAMS[f.__name__] = f
    return f


def close(got: np.ndarray, expected: Any, relative: float = 0.0, absolute: float = 0.0) -> None:
    """Fails unless `got` is within `absolute + relative |expected|`; both 0 asks for equal values (or both NaN)."""
    expected = np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    a, b = np.asarray(got, np.float64), expected.astype(np.float64)
    if got.dtype.kind in "iu" and expected.dtype.kind in "iu":
        wrong = got != expected.astype(got.dtype)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~((a == b) | (np.abs(a - b) <= absolute + relative * np.abs(b)) | (np.isnan(a) & np.isnan(b)))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        assert not wrong.any(), f"{wrong.sum()} of {wrong.size} differ, at {at}: {got[at]!r}, expected {expected[at]!r}"


def numbers(seed: int) -> np.random.Generator:
    """A generator of its own for a program."""
    return np.random.default_rng(seed)


def f32(x: Any) -> np.ndarray:
    """The array in single precision, contiguous."""
    return np.ascontiguousarray(x, np.float32)
