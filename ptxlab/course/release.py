"""Makes what a class is given: `ptxlab course release DIR`, and what its teacher keeps: `--nbgrader DIR`.

A student's notebook has starters in place of solutions, and no hidden case: those come from a seed that only the
teacher's copy and the grader have. Its cells carry nbgrader's metadata, so that the same notebooks work with
`ptxlab course grade`, with nbgrader and by hand.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ptxlab.course import build, own
from ptxlab.course.exercise import Exercise
from ptxlab.course.feedback import find
from ptxlab.course.values import counted
from ptxlab.errors import PtxlabError
from ptxlab.version import __version__

README = """\
# {title}

{count} with exercises. Open with JupyterLab:

    python -m pip install -r requirements.txt
    python -m jupyterlab .

Each exercise is a cell with a beginning in it. Change it, run it, and read what `check` says: it runs your answer on a
machine that sees every register of every thread. It names the mistake where it knows it, and gives hints. It tries
cases that the text does not show, and the class is graded with yet other ones, so write the rule and not the result.

Keep the cells that end in `score(...)`: a grader reads them. Hand in the notebooks under their names.
"""
CONFIG = '''\
"""nbgrader's settings for the ptxlab course."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "ptxlab"
# Starters stay: nothing is put in the place of a solution, least of all an error.
c.ClearSolutions.code_stub = {"python": "# Your answer goes above this line."}
c.ExecutePreprocessor.timeout = 120
'''


def release(folder: Path, *, notebooks: Sequence[str] = ()) -> list[Path]:
    """Writes the students' notebooks, a README and requirements into a folder; returns the files.

    A notebook of one's own begins with a cell that names the folder, in which its exercises are, without solutions.
    notebooks: the beginnings of their names, such as "01"; by default all.
    """
    from nbformat.v4 import new_code_cell

    chosen = _chosen(notebooks)
    ours = own.files("notebooks/*.py")
    kept = own.for_students() if set(ours) & set(chosen) else {}
    _fresh(folder)
    written = [_write(folder / "exercises" / name, text) for name, text in kept.items()]
    title = "" if kept else "Attention on a GPU, one instruction at a time"
    for source in chosen:
        made = build.notebook(source)
        if source in ours:
            title = title or made.cells[0].source.splitlines()[0].lstrip("# ")
        made.cells = [*([new_code_cell(f"%env {own.VARIABLE}=.")] if source in ours else []), *_student(made.cells)]
        written.append(_write(folder / f"{source.stem}.ipynb", build.text_of(made)))
    written.append(_write(folder / "README.md", README.format(title=title, count=counted(len(chosen), "notebook"))))
    written.append(_write(folder / "requirements.txt", f"ptxlab=={__version__}\n"))
    return written


def teachers(folder: Path, *, notebooks: Sequence[str] = (), seed: int | None = None) -> list[Path]:
    """Writes a course for nbgrader into a folder: its settings, and `source/` with solutions and hidden tests.

    `nbgrader generate_assignment NAME` makes the students' version of each, nearly the one of `release`. seed: of the
    hidden cases; by default one at random, which is kept in `source/`.
    """
    chosen = _chosen(notebooks)
    _fresh(folder)
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    written = [_write(folder / "nbgrader_config.py", CONFIG)]
    for source in chosen:
        made = build.notebook(source)
        made.cells = list(_teacher(made.cells, seed))
        written.append(_write(folder / "source" / source.stem / f"{source.stem}.ipynb", build.text_of(made)))
    return written


def _chosen(notebooks: Sequence[str]) -> list[Path]:
    stems = [source.stem for source in build.sources()]
    for name in notebooks:
        if not any(stem.startswith(name) for stem in stems):
            raise PtxlabError(f"there is no notebook {name!r}; choose from {', '.join(stems)}")
    return [s for s in build.sources() if not notebooks or any(s.stem.startswith(name) for name in notebooks)]


def _fresh(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PtxlabError(f"{folder} is not empty; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PtxlabError(f"{folder}: the folder cannot be made: {error.strerror}") from error


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# -- cells -------------------------------------------------------------------------------------------------------------


def _student(cells: list[Any]) -> Iterator[Any]:
    for cell, exercise in _marked(cells):
        yield cell
        if exercise is not None:
            yield _grade_cell(exercise, "seed = None  # the grader has another one")


def _teacher(cells: list[Any], seed: int) -> Iterator[Any]:
    for cell, exercise in _marked(cells):
        if exercise is None:
            yield cell
            continue
        solution = exercise.solution.strip("\n")
        call = f'\n\ncheck("{exercise.name}", {exercise.answer})'
        cell.source = f"{exercise.starter.strip(chr(10))}\n\n\n### BEGIN SOLUTION\n{solution}\n### END SOLUTION{call}"
        yield cell
        hidden = f"### BEGIN HIDDEN TESTS\nseed = {seed}\n### END HIDDEN TESTS"
        yield _grade_cell(exercise, f"seed = None  # the grader has another one\n{hidden}")


def _marked(cells: list[Any]) -> Iterator[tuple[Any, Exercise | None]]:
    """Each cell with its exercise, if it is one's answer, and then with nbgrader's metadata."""
    for cell in cells:
        name = next((t.partition(":")[2] for t in cell.metadata.get("tags", ()) if t.startswith("exercise:")), None)
        if name is None:
            yield cell, None
            continue
        cell.metadata["nbgrader"] = {
            "grade": False,
            "solution": True,
            "locked": False,
            "task": False,
            "grade_id": f"answer-{name}",
            "schema_version": 3,
        }
        yield cell, find(name)


def _grade_cell(exercise: Exercise, seed: str) -> Any:
    from nbformat.v4 import new_code_cell

    call = f'score("{exercise.name}", {exercise.answer}, points={exercise.points}, seed=seed)'
    cell = new_code_cell(f"from ptxlab.course import score\n\n{seed}\n{call}")
    cell.metadata |= {"deletable": False, "editable": False}
    cell.metadata["nbgrader"] = {
        "grade": True, "solution": False, "locked": True, "task": False, "points": exercise.points,
        "grade_id": f"grade-{exercise.name}", "schema_version": 3,
    }  # fmt: skip
    return cell
