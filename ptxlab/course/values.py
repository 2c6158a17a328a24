"""Values as feedback shows them: `number`, and `apart` for two that differ."""

from __future__ import annotations

from typing import Any

import numpy as np


def number(value: Any, digits: int = 4) -> str:
    """A value in words; floats with so many digits."""
    if isinstance(value, list | tuple | np.ndarray):
        inside = ", ".join(number(v, digits) for v in value)
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biufc" else float(value)
    return f"{value:.{digits}g}" if isinstance(value, float) else repr(value)


def apart(first: Any, second: Any) -> tuple[str, str]:
    """Two values with as many digits as it takes to tell them apart: four, or up to the 17 of a float64."""
    for digits in range(4, 18):
        shown = number(first, digits), number(second, digits)
        if shown[0] != shown[1]:
            return shown
    return number(first), number(second)
