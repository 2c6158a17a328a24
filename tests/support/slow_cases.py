"""Cases that a test has in the slow run only: `parametrize("seed", [*range(12), *slow(range(12, 300))])`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow(cases: Iterable[Any]) -> list[Any]:
    """These cases with the mark `slow`; a tuple holds the values of several arguments."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]
