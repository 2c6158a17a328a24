"""The explorer's page as a widget: one trait for each part of an answer."""

from __future__ import annotations

import json
from typing import Any

import anywidget
import traitlets

from ptxlab.lab import assets


def _packed(value: Any, _view: Any) -> Any:
    """A part that is text, on its way to the page: as bytes, which nothing between here and there reads through."""
    return value and {"seq": value.get("seq", 0), "json": json.dumps(value, allow_nan=False).encode()}


class View(anywidget.AnyWidget):
    """The composite pane. Each trait is one part of an answer, a dictionary with the `seq` of its request, or None."""

    _esm = assets.script()
    _css = assets.style()
    code = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    base = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    assembly = traitlets.Any(None, allow_none=True).tag(sync=True)
    run = traitlets.Any(None, allow_none=True).tag(sync=True)
    measures = traitlets.Any(None, allow_none=True).tag(sync=True)
    state = traitlets.Any(None, allow_none=True).tag(sync=True)
    sass = traitlets.Any(None, allow_none=True).tag(sync=True)
    sass_diff = traitlets.Any(None, allow_none=True).tag(sync=True, to_json=_packed)
    problem = traitlets.Any(None, allow_none=True).tag(sync=True)
    status = traitlets.Dict({"state": "building", "text": "", "busy": True, "seq": 0}).tag(sync=True)
    controls: Any = traitlets.List([]).tag(sync=True)
    values: Any = traitlets.Dict({"seq": 0, "given": {}, "notes": {}, "unused": []}).tag(sync=True)
    below: Any = traitlets.Any(None, allow_none=True).tag(sync=True)
    """The bar above what is open over the code."""
    wants_sass = traitlets.Bool(False).tag(sync=True)
    against = traitlets.Enum(("previous", "pinned"), "previous").tag(sync=True)
    """What diff, machine code, counters and figures are compared with."""

    def publish(self, parts: dict[str, Any]) -> None:
        """Sends parts of an answer to the page in one message."""
        with self.hold_sync():
            for part, value in parts.items():
                setattr(self, part, value)
