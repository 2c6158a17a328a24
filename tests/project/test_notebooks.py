"""The course's notebooks: in step with their sources, starters hint and solutions pass."""

from __future__ import annotations

import ast
import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import notebook_looks
import notebook_runs as notebooks
import pytest
from word_counts import words_in

from ptxlab.course import build, catalogue, outputs
from ptxlab.course.notebook_sources import exercises_in, placed

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
@pytest.mark.sweep(30)
@by_name
def test_runs_with_starters_and_solutions(source: Path) -> None:
    notebook = notebooks.execute(notebook_looks.added(source.stem, notebooks.both(source)))
    quiet(notebook)
    for exercise, cell in tagged(notebook, "exercise").items():
        assert shown(cell).startswith(f"{exercise}: not yet"), shown(cell)
        assert "\n  hint: " not in shown(cell)  # the starter, untouched
    for exercise, cell in tagged(notebook, "solved").items():
        assert shown(cell).startswith(f"{exercise}: solved\n"), shown(cell)


@pytest.mark.slow
@pytest.mark.notebook
@by_name
def test_the_committed_notebook_runs_as_it_is(source: Path) -> None:
    import nbformat

    quiet(notebooks.execute(nbformat.read(notebooks.FOLDER / f"{source.stem}.ipynb", as_version=4)))


@pytest.mark.long
@by_name
def test_what_is_committed_is_in_step_with_its_source(source: Path) -> None:
    path = notebooks.FOLDER / f"{source.stem}.ipynb"
    committed = build.committed(path)
    made = build.notebook(source)
    assert outputs.up_to_date(made, committed), "its code has changed since it was run: make notebooks"
    assert path.read_text(encoding="utf-8") == build.text_of(outputs.carried_over(made, committed)), "make notebooks"
    assert len({cell["id"] for cell in committed.cells}) == len(committed.cells)


@pytest.mark.long
@by_name
def test_committed_outputs_are_for_readers(source: Path) -> None:
    path = notebooks.FOLDER / f"{source.stem}.ipynb"
    text, committed = path.read_text(encoding="utf-8"), build.committed(path)
    assert len(text) < 1_000_000
    assert "widgets" not in committed.metadata
    assert not re.search(r"/home/|/root/|/tmp/|/work/", text)
    assert sum(bool(cell.get("outputs")) for cell in committed.cells) > 5
    for cell in committed.cells:
        if cell.cell_type != "code":
            continue
        assert cell.execution_count is None
        assert not (outputs.is_exercise(cell) and cell.outputs), "a hint before the first try"
        for output in cell.outputs:
            assert output.output_type != "error", output.get("evalue")
            assert outputs.WIDGET not in output.get("data", {})


@by_name
def test_the_student_version_has_no_solution(source: Path) -> None:
    committed = (notebooks.FOLDER / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    for exercise in exercises_in(source):
        solution = catalogue()[exercise].solution.strip("\n")
        assert json.dumps(solution, ensure_ascii=False)[1:-1] not in committed


def test_no_notebook_is_without_a_source() -> None:
    assert sorted(p.stem for p in notebooks.FOLDER.glob("*.ipynb")) == [p.stem for p in SOURCES]


def test_every_exercise_is_in_its_notebook() -> None:
    assert placed() == list(catalogue())
    for number, halves in groupby(SOURCES, lambda source: source.name[:2]):
        names = [exercises_in(source) for source in halves]
        assert all(name[:2] == number for half in names for name in half)
        assert 3 <= sum(map(len, names)) <= 6, f"{number} has {names}"
        levels = [[catalogue()[name].level for name in half] for half in names if half]
        assert levels[0][0] == 1, f"{number}: the first is a warm-up"
        assert all(half[-1] == max(half) for half in levels), f"{number}: the last is the hardest"


@by_name
def test_a_student_has_something_to_do_within_150_words(source: Path) -> None:
    assert words_in(source)[0] <= 150


@pytest.mark.long
def test_exercises_stand_where_their_idea_is_met() -> None:
    for source in SOURCES:
        cells = build.notebook(source).cells
        tasks = [
            at for at, cell in enumerate(cells) if any(t.startswith("exercise:") for t in cell.metadata.get("tags", ()))
        ]
        if not tasks:
            continue  # the second half of a notebook
        assert tasks[0] < len(cells) / 2, f"{source.stem}: the first task is in the first half"
        assert tasks[-1] - tasks[0] > 2 * len(tasks), f"{source.stem}: there is text between the tasks"


@pytest.mark.long
@by_name
def test_no_cell_uses_what_an_exercise_before_it_binds(source: Path) -> None:
    """A student's answer may be wrong or missing; what comes behind it must run all the same."""
    answers: set[str] = set()
    for cell in build.notebook(source).cells:
        if cell.cell_type != "code" or cell.source.startswith("%%"):
            continue
        tree = ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")))
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)} | functions
        if any(tag.startswith("exercise:") for tag in cell.metadata.get("tags", ())):
            answers |= functions | {
                n.targets[0].id for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
            }
            continue
        used = {name.id for name in names if isinstance(name.ctx, ast.Load)} - stored
        assert not used & answers, f"{source.stem}: {cell.source.splitlines()[0]}"
        answers -= stored


@pytest.mark.long
def test_the_generator_says_what_is_out_of_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--folder", str(tmp_path), "--no-run", "01"]) == 0
    assert build.main(["--folder", str(tmp_path), "--check", "01"]) == 1  # it was not run
    (tmp_path / "01-scalar.ipynb").write_text("{}", encoding="utf-8")
    assert build.main(["--folder", str(tmp_path), "--check", "01"]) == 1
    assert "01-scalar.ipynb; run: make notebooks" in capsys.readouterr().err


@pytest.mark.long
def test_a_source_with_text_below_an_exercise(tmp_path: Path) -> None:
    source = tmp_path / "01-odd.py"
    source.write_text("# %% [exercise] 01-predict\nx = 1\n", encoding="utf-8")
    with pytest.raises(build.SourceError) as caught:
        build.notebook(source)
    assert str(caught.value) == "01-odd.py: text below the exercise 01-predict; put it into a cell of its own"
