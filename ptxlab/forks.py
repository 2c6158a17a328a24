"""Forks of a process whose threads launch kernels: a child has one thread, and finds locks that others held for ever.

`multiprocessing`, `concurrent.futures.ProcessPoolExecutor` and servers fork processes that have threads. Three things
would then stop a child, and each has its remedy:

- A lock of this package that another thread held. What such locks guard is changed by single operations, so they are
  simply free in the child (`lock`, `recursive_lock`).
- A module that another thread was importing: Python's lock of that module is never released. So a fork waits until no
  thread of the parent is in an import that this package has begun. One that begins meanwhile is undone in the child:
  the module is imported anew where it is needed.
- LLVM, which has locks of its own. So a fork waits until no thread is in it, and holds back others (`guarded`).

A fork waits no longer than `LONGEST`: a child that never launches a kernel needs none of this.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LONGEST = 10.0
"""Seconds that a fork waits at most: to build a long kernel with all of LLVM's passes may take longer."""
LOOK = 5e-4
"""Seconds between two looks."""
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_IMPORT = "<frozen importlib._bootstrap>"
_importlib_bootstrap: Any = importlib._bootstrap

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_inside: dict[int, int] = {}
"""Threads in guarded code, and how often they have entered it."""
_forking: set[int] = set()
"""Threads that are about to fork."""


def lock() -> threading.Lock:
    """A lock that is free in the child after a fork. What it guards must be sound between any two bytecodes."""
    made = threading.Lock()
    _locks.add(made)
    return made


def recursive_lock() -> Any:
    """The same for a thread that may hold it already."""
    made = threading.RLock()
    _locks.add(made)
    return made


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """What runs in here has ended before a fork, or begins after it."""
    me = threading.get_ident()
    depth = _inside.get(me, 0)
    _inside[me] = depth + 1
    while not depth and _forking - {me}:
        del _inside[me]
        time.sleep(LOOK)
        _inside[me] = 1
    try:
        yield
    finally:
        if depth:
            _inside[me] = depth
        else:
            _inside.pop(me, None)


def _importing(frame: FrameType | None) -> bool:
    """Whether a thread that executes this frame is in an import that this package's code has begun."""
    importing = False
    while frame is not None:
        file = frame.f_code.co_filename
        if file == _IMPORT:
            importing = True
        elif importing and file.startswith(HERE):
            return True
        frame = frame.f_back
    return False


def _busy(me: int) -> bool:
    """Whether another thread is where a fork must not find it."""
    return any(thread != me for thread in tuple(_inside)) or any(
        _importing(frame) for thread, frame in sys._current_frames().items() if thread != me
    )


def _before() -> None:
    me, end = threading.get_ident(), time.monotonic() + LONGEST
    _forking.add(me)
    while _busy(me) and time.monotonic() < end:
        time.sleep(LOOK)


def _in_parent() -> None:
    _forking.discard(threading.get_ident())


def _in_child() -> None:
    _forking.clear()
    me = threading.get_ident()
    for thread in tuple(_inside):
        if thread != me:
            del _inside[thread]
    for each in (*_locks, *_locks_of_properties()):
        if not (hasattr(each, "_is_owned") and each._is_owned()):  # a recursive lock of this thread, which goes on
            each._at_fork_reinit()
    for name, reference in tuple(_importlib_bootstrap._module_locks.items()):
        held = reference()
        if held is not None and held.owner not in (None, me):
            del _importlib_bootstrap._module_locks[name]
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                del sys.modules[name]


def _locks_of_properties() -> Iterator[Any]:
    """Before Python 3.12 a `cached_property` had a lock, one for all objects, held while the value is computed."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("ptxlab"):
            for kind in tuple(vars(module).values()):
                if isinstance(kind, type) and kind.__module__ == name:
                    for member in tuple(vars(kind).values()):
                        if isinstance(member, functools.cached_property) and hasattr(member, "lock"):
                            yield member.lock


def in_child(work: Callable[[], object]) -> None:
    """Has a function called in the child after each fork, where there are forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=work)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
