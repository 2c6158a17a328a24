"""The explorer's JavaScript and CSS, read from `static/`; no bundler and nothing from the network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("dom.js", "code.js", "plots.js", "explorer.js")
"""The parts of the module in order; they share one scope, and only the last one exports."""


@cache
def script() -> str:
    """The whole ES module."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)


@cache
def style() -> str:
    """The explorer's style sheet."""
    return view_style() + (STATIC / "explorer.css").read_text(encoding="utf-8")


@cache
def view_style() -> str:
    """The style of what a saved notebook keeps: colours, highlighting, tables."""
    return (STATIC / "view.css").read_text(encoding="utf-8")
