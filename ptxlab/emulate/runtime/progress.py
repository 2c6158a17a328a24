"""A line in the notebook under a long launch: its progress, and how to stop it.

    kernel k: running for 12 s, 37 of 64 blocks done, 1,204,331,520 warp-instructions; stop it with the notebook's ■

It appears after two seconds, is updated twice a second, and disappears when the launch ends or fails. Outside a
notebook, or where its output is redirected, there is none. `watched` tells whoever runs launches in a thread of its
own, and lets it stop them.
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
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Launches that this thread makes meanwhile call `watch` about ten times a second. Where it raises
    `KeyboardInterrupt`, the launch stops as it does on Ctrl-C, with a `DeviceFault` of the kind "interrupt"."""
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


class Progress:
    """The line of one launch, a context manager. state: the blocks that are done and the warp-instructions that have
    run, called only when the line is written."""

    def __init__(self, name: str, blocks: int, state: Callable[[], tuple[int, int]]) -> None:
        self._name, self._blocks, self._state = name, blocks, state
        self._watch = _watch.get()
        self._look = 0.0
        self._began = time.perf_counter()
        self._next = self._began + PATIENCE
        self._handle: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    def tick(self) -> None:
        """To be called often: writes the line, and tells who watches, when it is time."""
        now = time.perf_counter()
        if self._watch is not None and now >= self._look:
            self._look = now + LOOK
            done, instructions = self._state()
            self._watch(done, self._blocks, instructions)
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
        """What the line says after so many seconds."""
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
