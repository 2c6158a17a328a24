"""Sphinx's settings: `make docs` builds the site into docs/_build. The reference is generated first, by generate.py."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import course_pages  # noqa: E402
import generate  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx import addnodes  # noqa: E402

from ptxlab.isa import glossary  # noqa: E402

project = "ptxlab"
copyright = "the ptxlab authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.doctest",
              "sphinx.ext.mathjax"]  # fmt: skip
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "images"]
html_theme = "furo"
html_title = "ptxlab"
html_static_path = ["_static"]
html_extra_path = ["generated/pages"]  # the explorer's, each one file
html_css_files = ["site.css"]
default_role = "code"
highlight_language = "python"
pygments_style = "default"
pygments_dark_style = "monokai"
autodoc_typehints = "signature"
napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links into the repository, which GitHub follows

generate.main(HERE / "generated")
course_pages.main(HERE / "generated")

_CODE = re.compile(r"(`[^`\n]+`)")


def _plain(line: str) -> str:
    """A line of a docstring as reStructuredText: `x` is code, and stars and bars mean themselves."""
    parts = _CODE.split(line)
    for at in range(1, len(parts), 2):
        parts[at] = f"`{parts[at]}`" + "\\ " * parts[at + 1][:1].isalnum()  # as in `Roof`s
    parts[::2] = [re.sub(r"([*|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _parameters(obj: Any) -> list[str]:
    """The names that a docstring explains as `name: ...`: the parameters of a function, the fields of a dataclass."""
    if isinstance(obj, type):
        return [*getattr(obj, "__dataclass_fields__", ())]
    try:
        return [*inspect.signature(obj).parameters]
    except (TypeError, ValueError):
        return []


def _listed(lines: list[str], names: list[str]) -> list[str]:
    """A docstring whose paragraphs `kernel: a name. causal: ...` are lists."""
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    begins = re.compile(rf"(?:^|(?<=[.:)] ))(?=(?:{known})(?:(?:, | and )(?:{known}))*: )")
    out: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        text = " ".join(paragraph.split("\n"))
        parts = [part.strip() for part in begins.split(text)] if known and not text.startswith(" ") else []
        if len(parts) > 1:
            before, *items = parts
            out += [before, ""] if before else []
            out += [re.sub(r"^([\w, ]+): ", lambda m: "- **" + m[1] + "**: ", item) for item in items] + [""]
        else:
            out += [*paragraph.split("\n"), ""]
    return out


def _docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with backticks; what is indented after a paragraph is shown as it stands. Sections of
    numpydoc's form come last and are left to napoleon, which is called after this."""
    ruled = (at - 1 for at, line in enumerate(lines) if at and line and not line.strip("-"))
    begins = next(ruled, len(lines))
    lines, sections, whole = lines[:begins], lines[begins:], lines
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
    plain = [line if line.startswith(">>>") else _plain(line) for line in sections]
    whole[:] = [*_listed(out, _parameters(obj)), "", *plain]


_NOT_PROSE = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.term, addnodes.pending_xref,
              addnodes.desc_signature, addnodes.toctree)  # fmt: skip
_WITHOUT_LINKS = ("glossary", "changelog", "security", "generated/isa/", "generated/results")
"""Pages that define or list the terms themselves, and one that is about processes and their pipes."""
_EVERYDAY = {"page", "release", "scope", "phase"}
"""Terms of the glossary that the documentation also uses in their everyday sense: not linked."""


def _link_terms(app: Any, doctree: nodes.document) -> None:
    """Links the first use of each term of the glossary on a page to its meaning."""
    if app.env.docname.startswith(_WITHOUT_LINKS):
        return
    seen = set(_EVERYDAY)
    for text in list(doctree.findall(nodes.Text)):
        above = text.parent
        while above is not None and not isinstance(above, _NOT_PROSE):
            above = above.parent
        if above is not None:
            continue
        pieces: list[nodes.Node] = []
        done = 0
        for term, start, end in glossary.uses(text):
            if term in seen:
                continue
            seen.add(term)
            link = addnodes.pending_xref(
                "", nodes.inline("", text[start:end]), refdomain="std", reftype="term", reftarget=term,
                refdoc=app.env.docname, refexplicit=True, refwarn=True,
            )  # fmt: skip
            pieces += [nodes.Text(text[done:start]), link]
            done = end
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[done:])])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("doctree-read", _link_terms)
