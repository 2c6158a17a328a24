"""The lanes of a warp, and the numpy type that holds each type of lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.targets import WARP

LANES = WARP
DTYPE: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_), "i8": np.dtype(np.uint8), "i16": np.dtype(np.uint16), "i32": np.dtype(np.uint32),
    "i64": np.dtype(np.uint64), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
}  # fmt: skip
"""Lane type -> the numpy type that holds it."""
