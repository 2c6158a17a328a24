"""The PTX of the setting that is likely to come next, made in the notebook's process while nobody waits for an answer.

`background_builds` leaves machine code in the cache on disk; the kernel, its code pane and its diff, which the page
shows first, cannot be handed over by another process, and are made here, in a thread. The page gets them before it
asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxlab.garbage_collection import resting
from ptxlab.lab import explorer_views
from ptxlab.lab.background_work import Ahead
from ptxlab.lab.explorer_views import Version
from ptxlab.lab.requests import Request


class Preparing:
    """One version, in the making or made."""

    def __init__(self) -> None:
        self._key: Any = None
        self._work: Ahead[Version | None] | None = None

    def begin(self, request: Request, pinned: Version, made: Callable[[dict[str, dict[str, Any]]], None]) -> None:
        """Begins to make the version of a request and its difference from the pinned one; `made` is given both, as the
        parts "code" and "diff" of the answer."""
        key = request.version_key
        if key != self._key:
            self._key = key
            self._work = Ahead(lambda: self._made(key, request, pinned, made))

    def take(self, request: Request) -> Version | None:
        """The version of a request, if it is this one; waits until it is made, raises what making it raised. If it is
        another one, that is given up at its next stage, and the answer is None."""
        key, work = self._key, self._work
        try:
            return work.result() if work is not None and key == request.version_key else None
        finally:
            self._key = self._work = None

    def _made(
        self, key: Any, request: Request, pinned: Version, made: Callable[[dict[str, dict[str, Any]]], None]
    ) -> Version | None:
        with resting():
            version = explorer_views.begun(request)
            if self._key == key:
                explorer_views.finish(version)
            if self._key != key:
                return None
            parts = {"code": version.code, "diff": explorer_views.compared(pinned, version)}
        if self._key == key:
            made(parts)
        if version.error is None:
            Ahead(lambda: explorer_views.assemble(version, request))  # the assembler keeps what it made
        return version
