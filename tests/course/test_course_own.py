"""Exercises of one's own, from a folder: they are listed, released, graded, and tested by one command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxlab.cli.main import main
from ptxlab.course import build, catalogue, own, score, solution
from ptxlab.errors import PtxlabError

MODULE = """
from ptxlab.course import Exercise


def _grade(g, answer):
    for n in g.vary((3,), hidden=lambda r: int(r.integers(4, 90))):
        g.predict(answer, (n,), n * n, "Each thread has a square.")
    g.note("All squares are right.")


EXERCISES = (
    Exercise(
        name="20-square", title="A square", kind="predict", level=1, prompt="The square of n.",
        starter="def square(n):\\n    return {starter}\\n", solution="def square(n):\\n    return {solution}\\n",
        answer="square", hints=("look at n", "how often is n added?"), graded=("the square",), grade=_grade,
    ),
)
WRONG = {{"20-square": (("def square(n):\\n    return 2 * n\\n", "{phrase}"),)}}
"""


def course(folder: Path, *, starter: str = "0", solution: str = "n * n", phrase: str = "says 9") -> Path:
    """A folder with one exercise and its notebook."""
    for name in ("exercises", "notebooks"):
        (folder / name).mkdir(parents=True)
    text = MODULE.format(starter=starter, solution=solution, phrase=phrase)
    (folder / "exercises" / "e20_own.py").write_text(text, encoding="utf-8")
    (folder / "notebooks" / "20-own.py").write_text("# %% [markdown]\n# # 20 · Own\n\n# %% [exercise] 20-square\n")
    return folder


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Exercises are imported once; here each test has others."""
    monkeypatch.delenv("PTXLAB_COURSE", raising=False)
    for kept in (own.modules, catalogue):
        kept.cache_clear()
    yield
    for kept in (own.modules, catalogue):
        kept.cache_clear()


@pytest.mark.long
def test_a_good_folder_is_listed_released_and_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PTXLAB_COURSE", str(course(tmp_path / "own")))
    assert main(["course", "list", "20"]) == 0
    assert capsys.readouterr().out.startswith("20-square ")
    assert main(["course", "release", str(tmp_path / "class"), "--notebooks", "20"]) == 0
    released = (tmp_path / "class" / "20-own.ipynb").read_text(encoding="utf-8")
    assert "def square(n)" in released
    assert "n * n" not in released
    assert (tmp_path / "class" / "README.md").read_text(encoding="utf-8").startswith("# 20 · Own\n")
    assert "%env PTXLAB_COURSE=." in released
    monkeypatch.chdir(tmp_path / "class")
    monkeypatch.setenv("PTXLAB_COURSE", ".")
    for kept in (own.modules, catalogue):
        kept.cache_clear()
    assert "return n * n" not in Path("exercises/e20_own.py").read_text(encoding="utf-8")
    assert score("20-square", lambda n: n * n) == 1.0
    capsys.readouterr()
    solution("20-square")
    assert capsys.readouterr().out == "Your teacher has the solution of 20-square.\n"
    monkeypatch.setenv("PTXLAB_COURSE", str(tmp_path / "own"))
    for kept in (own.modules, catalogue):
        kept.cache_clear()
    capsys.readouterr()
    assert main(["course", "test", str(tmp_path / "own")]) == 0
    assert capsys.readouterr().out == "20-square: good\n"


def test_a_solution_that_cannot_be_left_out_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = course(tmp_path / "own")
    module = folder / "exercises" / "e20_own.py"
    text = module.read_text(encoding="utf-8")
    found = re.search(r"solution=(.*),\n", text)
    assert found is not None
    module.write_text(f"GIVEN = {found[1]}\n{text.replace(found[1], 'GIVEN')}", encoding="utf-8")
    monkeypatch.setenv("PTXLAB_COURSE", str(folder))
    assert main(["course", "release", str(tmp_path / "class"), "--notebooks", "20"]) == 2
    assert "write the solution of 20-square as solution=..., to be left out" in capsys.readouterr().err
    assert not (tmp_path / "class").exists()


def test_what_a_starter_has_right_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "test", str(course(tmp_path / "own", starter="9 if n == 3 else 0"))]) == 1
    assert "write begin=(1, 2)" in capsys.readouterr().out


def test_what_is_wrong_with_a_folder_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PTXLAB_COURSE", "")
    folder = course(tmp_path / "own", starter="n ** 2", solution="9", phrase="never said")
    (folder / "notebooks" / "20-own.py").unlink()
    assert main(["course", "test", str(folder)]) == 1
    says = capsys.readouterr().out.splitlines()
    assert says[:3] == ["20-square: not yet", "  no notebook has it", "  its starter is right already"]
    assert says[3].startswith("  its solution fails with the seed 0: ")
    assert says[-1].startswith("  a wrong answer does not get the phrase 'never said': ")
    with pytest.raises(PtxlabError, match=r"PTXLAB_COURSE is .*: there is no folder .*exercises"):
        monkeypatch.setenv("PTXLAB_COURSE", str(tmp_path))
        build.sources()
