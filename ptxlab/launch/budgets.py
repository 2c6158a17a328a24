"""Limits and observers of all launches: set by pytest's plugin and by the grader, which load no engine for that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

BUDGETS = {"cpu": 5_000_000_000, "checked": 500_000_000, "step": 5_000_000}
"""The default budget of a launch in a test or in what is graded, in warp-instructions, by device ("checked": "cpu" with
more checks than memcheck): some seconds of a loop that only computes, minutes of one of slow instructions."""
default_budgets: Mapping[str, int] = {}
"""The budgets of launches that are given none, with the keys of `BUDGETS`; without one there is no limit."""
observers: list[Callable[[Any, tuple[str, ...]], None]] = []
"""Each is called after a launch that succeeded, with its `Run` and the names of its checks."""


@contextlib.contextmanager
def limited(budgets: Mapping[str, int] = BUDGETS) -> Iterator[None]:
    """Launches that are given no budget have these meanwhile."""
    global default_budgets
    before, default_budgets = default_budgets, budgets
    try:
        yield
    finally:
        default_budgets = before
