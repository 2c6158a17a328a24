"""Makes the course's notebooks from their sources: `python -m ptxlab.course.build`, or `make notebooks`.

A source, `ptxlab/course/notebooks/NN-name.py` (a second half: `NNb-name.py`), is a notebook as text in jupytext's
percent format: `# %%` begins a cell of code, `# %% [markdown]` one of prose. `# %% [exercise] 02-tail` stands for an
exercise: a cell with its heading, prompt and what counts, and a cell with its starter and the call of `check`. Solved
notebooks have the solution instead.

The committed notebooks have the outputs of a run (`ptxlab.course.outputs`). A notebook whose code has changed is run
again; one in which only prose or exercises changed keeps its outputs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxlab.course import outputs
from ptxlab.course.feedback import find
from ptxlab.course.notebook_sources import EXERCISE
from ptxlab.course.notebook_sources import sources as sources
from ptxlab.errors import PtxlabError
from ptxlab.kernels.rung import FORMATTER

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
"""Where the student notebooks are committed, in a checkout of the repository."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class SourceError(PtxlabError):
    """A notebook's source cannot be read; the message names the file and the place."""


def notebook(source: Path, *, solved: bool = False) -> Any:
    """The notebook that a source makes, without outputs; solved: with the solutions in place of the starters."""
    import jupytext
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    text = EXERCISE.sub(r'# %% [raw] exercise="\1"', source.read_text(encoding="utf-8"))
    read = jupytext.reads(text, fmt={"extension": ".py", "format_name": "percent"})
    cells: list[Any] = []
    for cell in read.cells:
        exercise = cell.metadata.get("exercise")
        if exercise is not None:
            if cell.source.strip():
                raise SourceError(f"{source.name}: text below the exercise {exercise}; put it into a cell of its own")
            found = find(exercise)
            cells.append(new_markdown_cell(found.heading(), metadata={"tags": [f"about:{exercise}"]}))
            code = found.cell(solved=solved)
            cells.append(new_code_cell(code, metadata={"tags": [f"exercise:{exercise}"]}))
        elif cell.cell_type in ("markdown", "code"):
            make = new_markdown_cell if cell.cell_type == "markdown" else new_code_cell
            kept = {name: cell.metadata[name] for name in ("tags", "jupyter") if name in cell.metadata}
            cells.append(make(FORMATTER.sub("", cell.source), metadata=kept))
        else:
            raise SourceError(f"{source.name}: a cell of kind {cell.cell_type!r}: {cell.source[:60]!r}")
    return new_notebook(cells=cells, metadata=METADATA)


def committed(path: Path) -> Any:
    """The notebook in a file; None where there is none, or something else."""
    import nbformat

    try:
        found = nbformat.read(path, as_version=4)
    except (FileNotFoundError, nbformat.reader.NotJSONError, nbformat.ValidationError):
        return None
    return found if hasattr(found, "cells") else None


def text_of(made: Any) -> str:
    """A notebook as it is written to a file, its cells numbered."""
    import nbformat

    for at, cell in enumerate(made.cells):
        cell.id = f"{'md' if cell.cell_type == 'markdown' else 'code'}-{at:02}"
    return str(nbformat.writes(made, version=4, indent=1, sort_keys=True, ensure_ascii=False)).rstrip("\n") + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Writes all notebooks, or with `--check` says which are not in step with their sources; the status is then 1."""
    parser = argparse.ArgumentParser(prog="python -m ptxlab.course.build", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NN", help="the beginning of a source's name; by default all")
    parser.add_argument("--check", action="store_true", help="write nothing, name the notebooks that are out of step")
    parser.add_argument("--run", action="store_true", help="run them all anew, whether or not their code has changed")
    parser.add_argument(
        "--no-run", action="store_true", help="run none: a notebook whose code has changed has no outputs"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the notebooks go")
    options = parser.parse_args(argv)
    stale = []
    for source in sources():
        if options.names and not any(source.name.startswith(name) for name in options.names):
            continue
        path = options.folder / f"{source.stem}.ipynb"
        made = notebook(source)
        before = committed(path)
        fresh = before is not None and outputs.up_to_date(made, before)
        if before is not None:
            made = outputs.carried_over(made, before)
        if fresh and text_of(made) == path.read_text(encoding="utf-8") and not options.run:
            continue
        stale.append(path.name)
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            if options.run or not (fresh or options.no_run):
                made = outputs.run(made)
            path.write_text(text_of(made), encoding="utf-8")
            print(path)
    if options.check and stale:
        print(f"not in step with their sources: {', '.join(stale)}; run: make notebooks", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
