"""Slides from a notebook of the course: every heading begins one, code and figures come below it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptxlab.course import build, outputs
from ptxlab.errors import PtxlabError, UnavailableError

_HEADING = re.compile(r"^(?=#{1,3} )", re.MULTILINE)


def slides(number: str, folder: Path) -> Path:
    """Writes the slides of a notebook, such as "01", into a folder, as a page with the outputs of the committed run."""
    try:
        from nbconvert import SlidesExporter
    except ImportError:
        raise UnavailableError("slides need nbconvert: pip install nbconvert") from None
    source = next((source for source in build.sources() if source.name.startswith(number)), None)
    if source is None:
        there = ", ".join(source.name.partition("-")[0] for source in build.sources())
        raise PtxlabError(f"there is no notebook {number!r}; choose from {there}")
    made = build.notebook(source)
    before = build.committed(build.FOLDER / f"{source.stem}.ipynb")
    if before is not None:
        made = outputs.carried_over(made, before)
    make: Any = SlidesExporter
    exporter = make(reveal_scroll=True, exclude_input_prompt=True, exclude_output_prompt=True)
    page, _ = exporter.from_notebook_node(arranged(made))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.stem}.slides.html"
    path.write_text(page, encoding="utf-8")
    return path


def arranged(notebook: Any) -> Any:
    """A notebook whose cells say which slide they are on; exercises and the loading of the extension are left out."""
    out = copy.deepcopy(notebook)
    out.cells = [piece for cell in out.cells for piece in _pieces(cell)]
    for at, cell in enumerate(out.cells):
        cell.id = f"slide-{at}"
    return out


def _pieces(cell: Any) -> Iterator[Any]:
    """A cell as it is on slides: text in pieces that each begin with a heading, code below one another."""
    if any(tag.startswith(("exercise:", "about:")) for tag in cell.metadata.get("tags", ())):
        return
    if cell.cell_type == "code":
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["transient"] = {"remove_source": True}  # a figure: what draws it is no news
        yield _on(cell, "fragment" if cell.outputs else "-")
        return
    for text in _HEADING.split(cell.source):
        if text.strip():
            piece = copy.deepcopy(cell)
            piece.source = text.strip()
            headed = _HEADING.match(text) is not None
            yield _on(piece, "-" if not headed else "slide" if text.startswith(("# ", "## ")) else "subslide")


def _on(cell: Any, kind: str) -> Any:
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell
