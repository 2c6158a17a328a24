"""Runs the course's notebooks and keeps them clean: `python tests/notebook_runs.py` writes their outputs anew.

A committed notebook holds the outputs of one real run, so that it can be read where nothing runs. It holds no widget
state, no execution times and no warnings of the machine it ran on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"


def read(name: str) -> Any:
    """A notebook of the course by its file name."""
    return nbformat.read(FOLDER / name, as_version=4)


def execute(notebook: Any) -> Any:
    """Runs all cells in order in a fresh kernel, in the notebooks' folder; raises what a cell raises."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    return notebook


def clean(notebook: Any) -> Any:
    """Takes out what differs from machine to machine and means nothing to a reader."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": tags} if tags else {}
        if cell.cell_type != "code":
            continue
        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        for output in cell.outputs:
            if "data" in output:
                output.metadata = {}
                output.data.pop(WIDGET, None)
    return notebook


def refresh(name: str) -> None:
    """Runs a notebook of the course and writes it back with its outputs."""
    nbformat.write(clean(execute(read(name))), FOLDER / name)


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if len(sys.argv) < 2 or path.name in sys.argv[1:]:
            print(path.name)
            refresh(path.name)
