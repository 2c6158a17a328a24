"""A line in the notebook under a long launch: its progress, and how to stop it.

    kernel k: running for 12 s, 37 of 64 blocks done, 1,204,331,520 warp-instructions; stop it with the notebook's ■

It appears after two seconds, is updated twice a second, and disappears when the launch ends or fails. Outside a
notebook, or where its output is redirected, there is none.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

PATIENCE, PERIOD = 2.0, 0.5
"""Seconds before the line appears, and between two states of it."""


class Progress:
    """The line of one launch, a context manager. state: the blocks that are done and the warp-instructions that have
    run, called only when the line is written."""

    def __init__(self, name: str, blocks: int, state: Callable[[], tuple[int, int]]) -> None:
        self._name, self._blocks, self._state = name, blocks, state
        self._began = time.perf_counter()
        self._next = self._began + PATIENCE
        self._handle: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    def tick(self) -> None:
        """To be called often: writes the line when it is time."""
        now = time.perf_counter()
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
