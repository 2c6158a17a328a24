"""A line in the notebook under a long launch: its progress, and how to stop it.

    kernel k: running for 12 s, 37 of 64 blocks done, 1,204,331,520 warp-instructions; stop it with the notebook's ■

It appears after two seconds, is updated twice a second, and disappears when the launch ends or fails. Outside a
notebook, or where its output is redirected, there is none. `watched` reports to code that runs launches in a thread of
its own, and lets it stop them.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any

PATIENCE, PERIOD = 2.0, 0.5
"""Seconds before the line appears, and between two states of it."""
LOOK = 0.08
"""Seconds between two calls of who watches: less than the engines' own tick, so that none of those is left out."""
Watch = Callable[[int, int, int], None]
"""What `watched` calls: with the blocks that are done, the blocks of the grid, the warp-instructions so far."""


class Watching:
    """A `Watch` over the launches of a thread."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.due = False  # whether it is to be called although its time has not come
        self.sleeping: list[Callable[[], None]] = []  # what wakes those that wait for launches

    def hurry(self) -> None:
        """Has `watch` called at once. For any thread: one that has changed what `watch` decides by."""
        self.due = True
        for wake in tuple(self.sleeping):
            wake()


_watching: ContextVar[Watching | None] = ContextVar("watching", default=None)


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[Watching]:
    """Launches that this thread makes meanwhile call `watch` about ten times per second. Where it raises
    `KeyboardInterrupt`, the launch stops as it does on Ctrl-C, with a `LaunchKeyboardInterrupt`."""
    made = Watching(watch)
    before = _watching.set(made)
    try:
        yield made
    finally:
        _watching.reset(before)


class Progress:
    """The line of one launch, a context manager. state: the blocks that are done and the warp-instructions that have
    run, called only when the line is written."""

    def __init__(self, name: str, blocks: int, state: Callable[[], tuple[int, int]]) -> None:
        self._name, self._blocks, self._state = name, blocks, state
        self._watching = _watching.get()
        self._wake: Callable[[], None] | None = None
        self._look = 0.0
        self._began = time.perf_counter()
        self._next = self._began + PATIENCE
        self._handle: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._wake is not None and self._watching is not None:
            self._watching.sleeping.remove(self._wake)
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Calling `wake` makes the thread that sleeps while the launch runs call `tick` soon."""
        if self._watching is not None:
            self._wake = wake
            self._watching.sleeping.append(wake)

    def tick(self) -> None:
        """Writes the line and calls the watch when it is time. To be called often."""
        now = time.perf_counter()
        if self._watching is not None and (now >= self._look or self._watching.due):
            self._look = now + LOOK
            self._watching.due = False
            done, instructions = self._state()
            self._watching.watch(done, self._blocks, instructions)
        if now < self._next:
            return
        self._next = now + PERIOD
        if self._handle is None and not in_notebook():
            self._next = float("inf")
            return
        line = {"text/plain": self.line(now - self._began)}
        if self._handle is None:
            from IPython.display import DisplayHandle

            untyped: Any = DisplayHandle
            self._handle = untyped()
            self._handle.display(line, raw=True)
        else:
            self._handle.update(line, raw=True)

    def line(self, seconds: float) -> str:
        """What the line says after `seconds`."""
        done, instructions = self._state()
        blocks = f"{done:,} of {self._blocks:,} block{'s' if self._blocks > 1 else ''} done"
        return (
            f"kernel {self._name}: running for {seconds:.0f} s, {blocks}, {instructions:,} warp-instructions; "
            "stop it with the notebook's ■ (Kernel > Interrupt)"
        )


def in_notebook() -> bool:
    """Whether this thread's output goes to a notebook's cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    plain = type(sys.stdout).__module__.startswith("ipykernel.")  # and not what %%capture puts in its place, say
    return (
        getattr(shell, "kernel", None) is not None and plain and threading.current_thread() is threading.main_thread()
    )
