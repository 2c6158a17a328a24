"""The JavaScript and CSS of the widgets, read from `static/`; nothing comes from the network.

The editor alone is bundled, from `frontend/`; the others are files that a reader can follow.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
SCRIPTS = {
    "explorer": ("keys.js", "dom.js", "answers.js", "control_labels.js", "pane.js", "descriptors.js", "code_hover.js",
                 "diff.js", "summary_strip.js", "errors.js", "softmax_state.js", "tile_map.js", "counters.js",
                 "roofline.js", "status.js", "scroll_anchor.js", "links.js", "views.js", "results.js", "lesson.js",
                 "problem.js", "frames.js", "lower_pane.js", "explorer.js"),
    "editor": ("editor.js",),
    "debugger": ("keys.js", "dom.js", "pane.js", "descriptors.js", "code_hover.js", "trace.js", "access.js",
                 "collectives.js", "lane_exchange.js", "registers.js", "timeline.js", "shared_memory.js", "cluster.js",
                 "debugger.js"),
}  # fmt: skip
"""The parts of each module in order; they share one scope, and only the last one exports."""
STYLES = {
    "explorer": ("explorer.css", "frame.css"),
    "debugger": ("explorer.css", "debugger.css"),
    "editor": ("editor.css",),
}


@cache
def script(widget: str = "explorer", *without: str) -> str:
    """The whole ES module of a widget; `without` parts that are not needed."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS[widget] if name not in without)


@cache
def style(widget: str = "explorer") -> str:
    """The style sheet of a widget."""
    return view_style() + "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES[widget])


@cache
def view_style() -> str:
    """The style of what a saved notebook keeps: colours, highlighting, tables."""
    return (STATIC / "view.css").read_text(encoding="utf-8")
