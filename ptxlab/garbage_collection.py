"""`uncollected`: switches off Python's cycle collector for work that makes many objects and no cycles."""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from ptxlab import forks

P = ParamSpec("P")
R = TypeVar("R")

_resting: set[int] = set()
"""The threads that have switched the collector off."""

MANY = 16
"""Imported modules whose objects are worth it: some thousands."""


@contextlib.contextmanager
def resting() -> Iterator[None]:
    """Runs with the cycle collector off.

    A parsed file of 90 kB is 10,000 to 20,000 small objects. While they are made, the collector would now and then
    traverse all objects of the process: half a second in a large notebook, with nothing to free.

    Modules that were imported meanwhile stay. So all that is young then becomes old at once, and the collector does not
    traverse it right afterwards: 6 ms of a first launch.
    """
    if not gc.isenabled():
        yield
        return
    modules, me = len(sys.modules), threading.get_ident()
    try:
        _resting.add(me)
        gc.disable()
        yield
    finally:
        if len(sys.modules) - modules >= MANY and gc.get_freeze_count() == 0:  # else somebody wants it frozen
            gc.freeze()
            gc.unfreeze()  # into the oldest generation
        gc.enable()
        _resting.discard(me)


def _awake() -> None:
    """In the child after a fork: another thread of the parent would never switch the collector on."""
    if _resting and threading.get_ident() not in _resting:
        gc.enable()
    _resting.intersection_update({threading.get_ident()})


forks.in_child(_awake)


def uncollected(work: Callable[P, R]) -> Callable[P, R]:
    """The same function with the collector of cycles off while it runs."""

    @functools.wraps(work)
    def run(*args: P.args, **options: P.kwargs) -> R:
        with resting():
            return work(*args, **options)

    return run
