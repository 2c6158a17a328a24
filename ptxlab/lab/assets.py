"""The JavaScript and CSS of the widgets, read from `static/`; nothing comes from the network.

The editor alone is bundled, from `frontend/`. The others are ES modules that a reader can follow; they are joined as
they are.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
SCRIPTS = {
    "explorer": ("keys.js", "dom.js", "drawing.js", "answers.js", "controls.js", "pane.js", "find.js", "descriptors.js",
                 "code_hover.js", "diff.js", "errors.js", "softmax_state.js", "tile_map.js",
                 "counters.js", "roofline.js", "status.js", "links.js", "views.js", "findings.js",
                 "results.js", "lesson.js", "lower_pane.js", "explorer.js"),
    "editor": ("editor.js",),
    "debugger": ("keys.js", "dom.js", "drawing.js", "pane.js", "find.js", "descriptors.js", "code_hover.js",
                 "trace.js", "access.js", "arrays.js", "collectives.js", "lane_exchange.js", "registers.js",
                 "timeline.js", "shared_memory.js", "findings.js", "debugger.js"),
}  # fmt: skip
"""The parts of each module in order. In the page they share one scope, so no name stands at the top of two of them."""
STYLES = {
    "explorer": ("explorer.css", "frame.css"),
    "debugger": ("explorer.css", "debugger.css"),
    "editor": ("editor.css",),
}

_JOINTS = re.compile(r'^import [^;]*"./\w+\.js";\n|^export (?!default)', re.MULTILINE)
"""What makes a part a module of its own, for tools and tests: among the others it has their names already."""


@cache
def script(widget: str = "explorer", *without: str) -> str:
    """The whole ES module of a widget; `without` parts that are not needed."""
    parts = ((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS[widget] if name not in without)
    return "\n".join(_JOINTS.sub("", part) for part in parts)


@cache
def style(widget: str = "explorer") -> str:
    """The style sheet of a widget."""
    return view_style() + "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES[widget])


@cache
def view_style() -> str:
    """The style of what a saved notebook keeps: colours, highlighting, tables."""
    return (STATIC / "view.css").read_text(encoding="utf-8")
