"""Single options of the public calls, checked where they are given: whole numbers, switches, several of a kind.

Each check raises `LaunchError` with the option's name, what is wanted and what was given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ptxlab.errors import LaunchError


def is_whole(value: Any) -> bool:
    """Whether this is a whole number: an int or a numpy integer, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number from `least` on, up to `most`."""
    if not is_whole(value) or value < least:
        raise LaunchError(f"{what}: a whole number from {least} on is wanted, got {value!r}")
    if most is not None and value > most:
        raise LaunchError(f"{what}: a whole number up to {most} is wanted, got {value!r}")
    return int(value)


def switch(what: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as such."""
    if not isinstance(value, bool | np.bool_):
        raise LaunchError(f"{what}: True or False is wanted, got {value!r}")
    return bool(value)


def finite(what: str, value: Any) -> float:
    """A finite number, of Python or of numpy."""
    number = math.nan
    if isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an int beyond every float
            pass
    if not math.isfinite(number):
        raise LaunchError(f"{what}: a finite number is wanted, got {value!r}")
    return number


def several(value: Any) -> list[Any] | None:
    """What a list, a tuple, a set, an array or a generator holds; None for what holds nothing to go through, and for
    texts and bytes, which are one thing."""
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping) or not isinstance(value, Iterable):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return None
    return list(value)


def target(what: str, value: Any) -> None:
    """The name of an architecture, or None."""
    if value is not None and not (isinstance(value, str) and re.fullmatch(r"sm_\d+[a-z]?", value)):
        raise LaunchError(f"{what}: a target such as 'sm_90' is wanted, got {value!r}")


def text(what: str, value: Any) -> None:
    """A text, or None: for a target that somebody else has to know."""
    if value is not None and not isinstance(value, str):
        raise LaunchError(f"{what}: a text such as 'sm_90' is wanted, got {value!r}")
