"""The explorer's page as a widget: one trait for each part of an answer.

The code of a kernel and what it differs in are some hundred thousand characters, its result as many bytes. They travel
once: of a part that the page was sent before, it is told the number alone (`static/answers.js`). A page that does not
know it, because it was opened later, asks for the whole. Once nobody
moves a control any more, the whole is sent in any case, so that what a notebook saves of the widget is complete.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from ptxlab.lab import assets

KNOWN = 60
"""How many numbered parts the page is taken to have."""
REST = 1.5
"""Seconds after an answer until the page is sent the whole of what it was told the number of."""


def _packed(value: Any, view: Any) -> Any:
    """A part that is text, on its way to the page: as bytes, which nothing between here and there reads through."""
    return _numbered(value, view, lambda: {"json": _bytes(value)})


def _bytes(part: dict[str, Any]) -> bytes:
    return json.dumps(part, allow_nan=False).encode()


def _named(value: Any, view: Any) -> Any:
    """A part that holds bytes, or little: as it is."""
    return _numbered(value, view, lambda: {"whole": value})


def _numbered(value: Any, view: Any, whole: Callable[[], dict[str, Any]]) -> Any:
    """The number alone of a part that the page has; else the whole, with its number if it has one."""
    if value is None:
        return None
    key = value.get("key")
    out = {"seq": value.get("seq", 0)} | ({} if key is None else {"ref": key})
    return out if key is not None and view.has(key) else out | whole()


def _referred(value: Any, view: Any) -> Any:
    """The number alone of a code pane that the page has; else what is needed of it, under no number."""
    if value is None:
        return None
    known = view.knows(value["key"])
    return {"seq": value["seq"]} | ({"ref": value["key"]} if known else {"json": _bytes(value)})


class View(anywidget.AnyWidget):
    """The composite pane. Each trait is one part of an answer, a dictionary with the `seq` of its request, or None; one
    that may come again has a number, `key`."""

    _esm = assets.script()
    _css = assets.style()
    code = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    base = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_referred)
    diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    assembly = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_named)
    run = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_named)
    measures = traitlets.Any(None, allow_none=True).tag(sync=True)
    state = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_named)
    sass = traitlets.Any(None, allow_none=True).tag(sync=True)
    sass_diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    problem = traitlets.Any(None, allow_none=True).tag(sync=True)
    status = traitlets.Dict({"state": "building", "text": "", "busy": True, "seq": 0, "asked": {}}).tag(sync=True)
    notes = traitlets.Dict({}).tag(sync=True)
    """By the label of its control: what the explorer changed there by itself, and why."""
    row = traitlets.Int(-1).tag(sync=True)
    wants_sass = traitlets.Bool(False).tag(sync=True)
    against = traitlets.Enum(("previous", "pinned"), "previous").tag(sync=True)
    """What diff, machine code, counters and figures are compared with."""

    def __init__(self, **traits: Any) -> None:
        self._known: OrderedDict[int, None] = OrderedDict()  # the numbers of the last parts that were sent whole
        self._publisher = 0  # the thread that sends an answer; others (a page that opens, a copy) want the whole
        self._referred = False  # whether the page was told the number of something, since it was sent the whole
        self._rest: threading.Timer | None = None
        super().__init__(**traits)

    def publish(self, parts: dict[str, Any]) -> None:
        """Sends parts of an answer to the page in one message."""
        if self._rest is not None:
            self._rest.cancel()
        self._publisher = threading.get_ident()
        try:
            with self.hold_sync():
                for part, value in parts.items():
                    setattr(self, part, value)
        finally:
            self._publisher = 0
        if self._referred:
            self._rest = threading.Timer(REST, self._complete)
            self._rest.daemon = True
            self._rest.start()

    def forget(self) -> None:
        """Sends the whole to a page that did not know a number, and takes nothing for known any more."""
        self._known.clear()
        self._complete()

    def _complete(self) -> None:
        self._referred = False
        self.send_state(["code", "base", "diff", "assembly", "run", "state"])

    def knows(self, key: int) -> bool:
        """Whether the page has the part with this number. Only for an answer."""
        if threading.get_ident() != self._publisher or key not in self._known:
            return False
        self._referred = True
        return True

    def has(self, key: int) -> bool:
        """Whether the page has the part with this number; if not, it is about to get it. Only for an answer."""
        if threading.get_ident() != self._publisher:
            return False
        if self.knows(key):
            return True
        self._known[key] = None
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return False
