"""What a class is given: no solution and no hidden case in it, and nbgrader takes it from release to feedback."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli.main import main
from ptxlab.course import build, catalogue, notebook_sources, score
from ptxlab.course.notebook_sources import exercises_in
from ptxlab.course.release import release, teachers

SEED = 918_273_645
SMALL = """\
# %%
import math

from ptxlab.builder import Builder, Ptr, f32, kernel, u32
from ptxlab.course import check

LOG2E, LN2 = math.log2(math.e), math.log(2)

# %% [exercise] 01-predict

# %% [exercise] 01-lse
"""
"""A notebook with the exercises alone."""


def code(notebook: Any) -> list[Any]:
    """The cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.rest
def test_the_students_have_no_solution_and_no_hidden_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    students, kept = tmp_path / "class", tmp_path / "teacher"
    assert main(["course", "release", str(students), "--nbgrader", str(kept), "--seed", str(SEED)]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert all(path.is_file() for path in written)
    assert sorted(p.name for p in students.iterdir()) == sorted(
        [f"{source.stem}.ipynb" for source in build.sources()] + ["README.md", "requirements.txt"]
    )
    for path in students.iterdir():
        text = path.read_text(encoding="utf-8")
        assert str(SEED) not in text
        assert "HIDDEN TESTS" not in text
        for exercise in catalogue().values():
            assert json.dumps(exercise.solution.strip("\n"), ensure_ascii=False)[1:-1] not in text
    for source in build.sources():
        teacher = (kept / "source" / source.stem / f"{source.stem}.ipynb").read_text(encoding="utf-8")
        assert teacher.count(str(SEED)) == len(exercises_in(source))


@pytest.mark.rest
def test_the_cells_have_what_nbgrader_needs(tmp_path: Path) -> None:
    release(tmp_path / "class", notebooks=["01"])
    import nbformat

    notebook = nbformat.read(tmp_path / "class" / "01-scalar.ipynb", as_version=4)
    nbformat.validate(notebook)
    marked = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len({m.grade_id for m in marked}) == len(marked) == 2 * len(exercises_in(build.sources()[1]))
    for answer, grade in zip(marked[::2], marked[1::2], strict=True):
        assert (answer.grade, answer.solution, answer.locked, answer.schema_version) == (False, True, False, 3)
        assert (grade.grade, grade.solution, grade.locked, grade.schema_version) == (True, False, True, 3)
        assert grade.points == catalogue()[grade.grade_id.removeprefix("grade-")].points


@pytest.mark.rest
def test_a_folder_that_is_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["course", "release", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"ptxlab: {tmp_path} is not empty; name a new folder\n"
    assert main(["course", "release", str(tmp_path / "new"), "--notebooks", "77"]) == 2
    assert "there is no notebook '77'; choose from 00-start-here, 01-scalar" in capsys.readouterr().err


def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert main(["course", "release", str(tmp_path / "file" / "class"), "--notebooks", "01"]) == 2
    folder = tmp_path / "file" / "class"
    assert capsys.readouterr().err == f"ptxlab: {folder}: the folder cannot be made: Not a directory\n"


def test_a_notebook_that_is_not_there_has_no_exercises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "list", "01", "77"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("ptxlab: there are no exercises of a notebook '77'; there are some of 00, 01, 02, ")


def test_a_score_is_a_float_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    but_key_0 = lambda scores: [k for k in range(1, len(scores)) if scores[k] > max(scores[:k])]
    half = score("01-predict", but_key_0, points=2)
    assert isinstance(half, float)
    assert 0 < half < 2
    assert repr(half) == str(float(half)) == repr(float(half))
    assert not hasattr(half, "_repr_mimebundle_") and not hasattr(half, "_repr_html_")  # noqa: PT018
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "You did not name this key." in shown.out or "You named this key." in shown.out
    assert score("01-predict", None, quiet=True) == 0.0
    assert capsys.readouterr().out == ""


# -- nbgrader ----------------------------------------------------------------------------------------------------------


def nbgrader(folder: Path, *arguments: str, status: int = 0) -> str:
    """Runs nbgrader's command line in a course, as a teacher would."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # it calls alembic by name
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": path, "PATH": found, "HOME": str(home), "JUPYTER_PREFER_ENV_PATH": "1"},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def hand_in(course: Path, student: str, answers: dict[str, str]) -> None:
    """What a student hands in: the released notebook with other code in the cells of some exercises."""
    import nbformat

    notebook = nbformat.read(course / "release" / "01-small" / "01-small.ipynb", as_version=4)
    for cell in notebook.cells:
        for name in (name for name in answers if f"exercise:{name}" in cell.metadata.get("tags", ())):
            cell.source = f'{answers[name]}\n\ncheck("{name}", {catalogue()[name].answer})'
    path = course / "submitted" / student / "01-small" / "01-small.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.skipif(importlib.util.find_spec("nbgrader") is None, reason="nbgrader is not installed")
def test_nbgrader_takes_it_from_release_to_feedback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "01-small.py").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(notebook_sources, "SOURCES", tmp_path / "sources")
    course = tmp_path / "course"
    teachers(course, seed=SEED)

    said = nbgrader(course, "validate", "source/01-small/01-small.ipynb")
    assert "Success! Your notebook passes all the tests." in said
    nbgrader(course, "generate_assignment", "01-small", "--create")
    released = (course / "release" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    assert str(SEED) not in released
    assert "BEGIN" not in released
    assert "NotImplementedError" not in released

    right = {name: catalogue()[name].solution for name in ("01-predict", "01-lse")}
    hand_in(course, "right", right)
    hand_in(course, "starter", {})
    hand_in(course, "crash", right | {"01-predict": "raise ValueError('on purpose')\nshrinks = None"})
    but_key_0 = "    return [k for k in range(1, len(scores)) if scores[k] > max(scores[:k])]"
    hand_in(course, "heart", right | {"01-predict": f"def shrinks(scores):\n{but_key_0}"})
    nbgrader(course, "autograde", "01-small")
    nbgrader(course, "generate_feedback", "01-small")

    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        marks = {s.student.id: s for s in book.assignment_submissions("01-small")}
        assert {m.max_score for m in marks.values()} == {2.0}
        assert marks["right"].score == 2.0
        assert marks["crash"].score == 1.0
        assert marks["starter"].score == 0.0
        assert 1.0 < marks["heart"].score < 2.0
    feedback = course / "feedback" / "starter" / "01-small" / "01-small.html"
    assert "You did not name this key." in feedback.read_text(encoding="utf-8")
    assert "on purpose" in (course / "feedback" / "crash" / "01-small" / "01-small.html").read_text(encoding="utf-8")
