"""Runs the course's notebooks as Jupyter does; `benchmarks/notebooks.py` says how long they take."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ptxlab.course import build, find

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"


def execute(notebook: Any) -> Any:
    """Runs all cells in order in a fresh kernel and an empty folder; raises what a cell raises."""
    import nbclient  # a second of imports, which the rest of the tests need not wait for

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    return notebook


def both(source: Path) -> Any:
    """The notebook with, for each exercise, the student's cell and behind it the solved one."""
    from nbformat.v4 import new_code_cell

    notebook = build.notebook(source)
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        for exercise in (t.removeprefix("exercise:") for t in cell.metadata.get("tags", ()) if t.startswith("exer")):
            code = find(exercise).cell(solved=True)
            cells.append(new_code_cell(code, metadata={"tags": [f"solved:{exercise}"]}))
    notebook.cells = cells
    return notebook


def seconds(notebook: Any) -> list[tuple[float, str]]:
    """For each cell of an executed notebook how long it took, and its first line."""
    from datetime import datetime

    found = []
    for cell in notebook.cells:
        times = cell.metadata.get("execution", {})
        if "iopub.status.busy" in times and "iopub.status.idle" in times:
            begin, end = (datetime.fromisoformat(times[f"iopub.status.{w}"]) for w in ("busy", "idle"))
            found.append(((end - begin).total_seconds(), (cell.source.splitlines() or [""])[0]))
    return found
