"""Values as feedback shows them: `number`, `apart` for two that differ, `counted` for so many of something."""

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


def counted(count: int, one: str, more: str = "") -> str:
    """So many of something: "1 row", "3 rows"; `more` is the plural where it is not `one` with an s."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
