"""The course's notebooks: in step with their sources, starters hint and solutions pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import notebook_looks
import notebook_runs as notebooks
import pytest

from ptxlab.course import build, catalogue

SOURCES = build.sources()
by_name = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def shown(cell: Any) -> str:
    """What a cell displayed last, as text."""
    return str(cell.outputs[-1].data["text/plain"])


def tagged(notebook: Any, kind: str) -> dict[str, Any]:
    """Exercise -> the cell with the tag `kind:exercise`."""
    tags = [(tag, cell) for cell in notebook.cells for tag in cell.metadata.get("tags", ())]
    return {tag.partition(":")[2]: cell for tag, cell in tags if tag.startswith(f"{kind}:")}


def quiet(notebook: Any) -> None:
    """Nothing went to the standard error."""
    for cell in notebook.cells:
        assert [o.text for o in cell.get("outputs", ()) if o.get("name") == "stderr"] == [], cell.source


@pytest.mark.notebook
@pytest.mark.sweep(3)
@by_name
def test_runs_with_starters_and_solutions(source: Path) -> None:
    notebook = notebooks.execute(notebook_looks.added(source.stem, notebooks.both(source)))
    quiet(notebook)
    for exercise, cell in tagged(notebook, "exercise").items():
        assert shown(cell).startswith(f"{exercise}: not yet"), shown(cell)
        assert "\n  hint: " in shown(cell)
    for exercise, cell in tagged(notebook, "solved").items():
        assert shown(cell).startswith(f"{exercise}: solved\n"), shown(cell)


@pytest.mark.slow
@pytest.mark.notebook
@by_name
def test_the_committed_notebook_runs_as_it_is(source: Path) -> None:
    import nbformat

    quiet(notebooks.execute(nbformat.read(notebooks.FOLDER / f"{source.stem}.ipynb", as_version=4)))


@by_name
def test_what_is_committed_is_in_step_with_its_source(source: Path) -> None:
    committed = (notebooks.FOLDER / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    assert committed == build.text_of(build.notebook(source)), "run: make notebooks"
    cells = json.loads(committed)["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert len(committed) < 300_000


@by_name
def test_the_student_version_has_no_solution(source: Path) -> None:
    committed = (notebooks.FOLDER / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    for exercise in build.exercises_in(source):
        solution = catalogue()[exercise].solution.strip("\n")
        assert json.dumps(solution, ensure_ascii=False)[1:-1] not in committed


def test_no_notebook_is_without_a_source() -> None:
    assert sorted(p.stem for p in notebooks.FOLDER.glob("*.ipynb")) == [p.stem for p in SOURCES]


def test_every_exercise_is_in_its_notebook() -> None:
    placed = [e for source in SOURCES for e in build.exercises_in(source)]
    assert sorted(placed) == sorted(catalogue())
    for source in SOURCES:
        names = build.exercises_in(source)
        assert all(name[:2] == source.name[:2] for name in names)
        if source.name[:2] != "00":
            assert 3 <= len(names) <= 6, f"{source.stem} has {len(names)} exercises"
            levels = [catalogue()[name].level for name in names]
            assert levels == sorted(levels), f"{source.stem}: from easy to hard"


def test_the_generator_says_what_is_out_of_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--folder", str(tmp_path), "01"]) == 0
    assert build.main(["--folder", str(tmp_path), "--check", "01"]) == 0
    (tmp_path / "01-scalar.ipynb").write_text("{}", encoding="utf-8")
    assert build.main(["--folder", str(tmp_path), "--check", "01"]) == 1
    assert "01-scalar.ipynb; run: make notebooks" in capsys.readouterr().err


def test_a_source_with_text_below_an_exercise(tmp_path: Path) -> None:
    source = tmp_path / "01-odd.py"
    source.write_text("# %% [exercise] 01-predict\nx = 1\n", encoding="utf-8")
    with pytest.raises(build.SourceError) as caught:
        build.notebook(source)
    assert str(caught.value) == "01-odd.py: text below the exercise 01-predict; it belongs into its own cell"
