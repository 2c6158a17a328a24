"""Work that begins in a thread of its own before its result is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Begins with `work` at once; `result` waits for what it gives, or raises what it raised. Work whose result nobody
    asks for ends unheard. The interpreter's end does not wait for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, args=(work,), name="ptxlab-ahead", daemon=True)
        self._thread.start()

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._found.append(work())
        except BaseException as error:  # belongs to whoever asks for the result
            self._error = error

    def result(self) -> T:
        """What the work gave."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found[0]
