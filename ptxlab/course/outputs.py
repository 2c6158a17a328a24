"""The outputs that a committed notebook keeps: those of a real run, without widgets, times of cells and paths.

A reader on the web, or one who has not run it yet, sees figures and results. Exercises have no outputs: a hint should
not stand there before the first try. The notebook remembers the code that was run, so that a change is noticed.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

WIDGET = "application/vnd.jupyter.widget-view+json"
CELL_FILE = re.compile(r"(?<!\S)\S*[/\\]ipykernel_\d+[/\\]\d+\.py")
"""How Python calls the file of a notebook's cell: another name in each run."""


def is_exercise(cell: Any) -> bool:
    """Whether a cell is the student's."""
    return any(tag.startswith("exercise:") for tag in cell.metadata.get("tags", ()))


def code_of(notebook: Any) -> str:
    """A short name for all code outside of exercises; it changes when that code does."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not is_exercise(cell)]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def up_to_date(made: Any, before: Any) -> bool:
    """Whether the outputs of `before` are those of the code of `made`."""
    return bool(before.metadata.get("ptxlab", {}).get("ran") == code_of(made))


def carried_over(made: Any, before: Any) -> Any:
    """`made` with the outputs that `before` has, where the same code was run."""
    if up_to_date(made, before):
        kept = [cell for cell in before.cells if cell.cell_type == "code" and not is_exercise(cell)]
        ours = [cell for cell in made.cells if cell.cell_type == "code" and not is_exercise(cell)]
        for cell, old in zip(ours, kept, strict=True):
            cell.outputs = old.outputs
        made.metadata["ptxlab"] = {"ran": code_of(made)}
    return made


def run(made: Any) -> Any:
    """Runs a notebook as Jupyter does, in an empty folder; keeps what readers are to see, raises what a cell raises."""
    import nbclient
    from nbconvert.preprocessors.coalescestreams import CoalesceStreamsPreprocessor

    root = Path(__file__).resolve().parents[2]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    client = nbclient.NotebookClient(
        made, timeout=600, kernel_name="python3", store_widget_state=False, record_timing=False
    )
    language = made.metadata.get("language_info")
    with tempfile.TemporaryDirectory() as folder:  # a board that somebody has begun is neither read nor changed
        client.resources = {"metadata": {"path": folder}}
        client.execute()
    made.metadata["language_info"] = language  # not the version of Python that happened to run it
    CoalesceStreamsPreprocessor().preprocess(made, {})  # so that a notebook does not depend on when its text came
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [] if is_exercise(cell) else [_clean(output) for output in cell.outputs]
    made.metadata.pop("widgets", None)
    made.metadata["ptxlab"] = {"ran": code_of(made)}
    return made


def _clean(output: Any) -> Any:
    """An output without its widget and without names of this machine's files."""
    if output.output_type == "stream":
        output.text = _without_paths(output.text)
    for kind, data in list(output.get("data", {}).items()):
        if kind == WIDGET:
            del output.data[kind]
        elif isinstance(data, str) and kind.startswith("text/"):
            output.data[kind] = _without_paths(data)
    if "execution_count" in output:
        output.execution_count = None
    return output


def _without_paths(text: str) -> str:
    root = str(Path(__file__).resolve().parents[2])
    return CELL_FILE.sub("cell", text).replace(f"{root}{os.sep}", "")
