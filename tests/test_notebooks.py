"""The course's notebooks: they run without an error, checks hint and pass, and what is committed is clean."""

from __future__ import annotations

import re
from typing import Any

import notebook_runs as notebooks
import pytest

NAMES = sorted(path.name for path in notebooks.FOLDER.glob("*.ipynb"))
SOLUTIONS = notebooks.FOLDER / "solutions"


def solutions(name: str) -> dict[str, str]:
    """Exercise -> the cell that solves it."""
    path = SOLUTIONS / name.replace(".ipynb", ".py")
    parts = re.split(r"^# %% (\S+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE) if path.exists() else [""]
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def exercises(notebook: Any) -> dict[str, Any]:
    """Exercise -> its cell, by the cells' tags."""
    found = {}
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            if tag.startswith("exercise:"):
                found[tag.removeprefix("exercise:")] = cell
    return found


def shown(cell: Any) -> str:
    """What a cell displayed last, as text."""
    return str(cell.outputs[-1].data["text/plain"])


@pytest.mark.notebook
@pytest.mark.parametrize("name", NAMES)
def test_runs_as_it_is_and_the_checks_give_a_hint(name: str) -> None:
    notebook = notebooks.execute(notebooks.read(name))
    for exercise, cell in exercises(notebook).items():
        assert shown(cell).startswith(f"{exercise}: not yet\n")
        assert "\n  hint: " in shown(cell)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert [o.text for o in cell.outputs if o.get("name") == "stderr"] == []


@pytest.mark.notebook
@pytest.mark.parametrize("name", [name for name in NAMES if solutions(name)])
def test_the_solutions_pass_the_checks(name: str) -> None:
    notebook = notebooks.read(name)
    cells = exercises(notebook)
    assert list(cells) == list(solutions(name))
    for exercise, source in solutions(name).items():
        cells[exercise].source = source
    notebooks.execute(notebook)
    for exercise, cell in exercises(notebook).items():
        assert shown(cell).startswith(f"{exercise}: solved\n"), shown(cell)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_committed_is_clean(name: str) -> None:
    notebook = notebooks.read(name)
    assert notebooks.clean(notebooks.read(name)) == notebook, f"run: python tests/notebook_runs.py {name}"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "the outputs are not those of one run from top to bottom"
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not re.search(r"/tmp/|ipykernel|site-packages", str(outputs))
    assert (notebooks.FOLDER / name).stat().st_size < 600_000


def test_every_exercise_is_in_a_notebook() -> None:
    from ptxlab.course import exercises as known

    assert [e for name in NAMES for e in exercises(notebooks.read(name))] == list(known())
