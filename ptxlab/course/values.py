"""Values: `same` for whether two mean the same, and how feedback shows them, `number`, `apart`, `counted`."""

from __future__ import annotations

from typing import Any

import numpy as np


def number(value: Any, digits: int = 4) -> str:
    """A value in words; floats with so many digits."""
    if isinstance(value, list | tuple | np.ndarray):
        inside = ", ".join(number(v, digits) for v in value)
        return f"({inside}{',' * (len(value) == 1)})" if isinstance(value, tuple) else f"[{inside}]"
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


def same(found: Any, truth: Any, rtol: float = 0.0) -> bool:
    """Whether a value means the same: numbers by value (a bool is not a number), sets in any order, others in order."""
    if isinstance(truth, set | frozenset):
        if not isinstance(found, set | frozenset | list | tuple):
            return False
        return all(any(same(f, t, rtol) for t in truth) for f in found) and all(
            any(same(f, t, rtol) for f in found) for t in truth
        )
    if isinstance(truth, list | tuple | np.ndarray):
        if not isinstance(found, list | tuple | np.ndarray | range) or len(found) != len(truth):
            return False
        return all(same(f, t, rtol) for f, t in zip(found, truth, strict=True))
    if isinstance(truth, str | bool | np.bool_):
        return bool(type(found) is type(truth) or isinstance(found, bool | np.bool_)) and bool(found == truth)
    if isinstance(found, bool) or not isinstance(found, int | float | np.number):
        return False
    if isinstance(found, int) and abs(found) > 2**1000:  # no float is that large
        return bool(found == truth)
    return bool(np.isclose(float(found), float(truth), rtol=rtol, atol=0.0))
