"""Sphinx's settings: `make docs` builds the site into docs/_build. The reference is generated first, by generate.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # noqa: E402

project = "ptxlab"
copyright = "the ptxlab authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "images"]
html_theme = "furo"
html_title = "ptxlab"
html_static_path: list[str] = []
default_role = "code"
highlight_language = "python"
pygments_style = "default"
pygments_dark_style = "monokai"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links into the repository, which GitHub follows

generate.main(HERE / "generated")

_CODE = re.compile(r"(`[^`\n]+`)")


def _plain(line: str) -> str:
    """A line of a docstring as reStructuredText: `x` is code, and stars and bars mean themselves."""
    parts = _CODE.split(line)
    return "".join(f"`{p}`" if p.startswith("`") else re.sub(r"([*|])", r"\\\1", p) for p in parts)


def _docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with backticks; what is indented after a paragraph is shown as it stands."""
    out: list[str] = []
    block = False
    for line in lines:
        indented = line.startswith((" ", "\t"))
        if indented and not block and (not out or not out[-1].strip()):
            block = True
            out += ["::", ""]
        elif line.strip() and not indented:
            if block:
                out.append("")
            block = False
        out.append(line if block else _plain(line))
    lines[:] = out


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _docstring)
