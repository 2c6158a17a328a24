"""Slides: a heading begins one, exercises are left out, what was drawn is shown."""

from __future__ import annotations

import builtins
import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli.main import main
from ptxlab.course import build, find, names, slides
from ptxlab.errors import PtxlabError, UnavailableError

PLANS = [Path(__file__).resolve().parents[2] / "docs" / name for name in ("lecture.md", "course.md")]


@pytest.mark.long
def test_each_heading_begins_a_slide() -> None:
    source = next(source for source in build.sources() if source.name.startswith("01"))
    made = build.notebook(source)
    cells = slides.arranged(made).cells
    begins = [cell.source.splitlines()[0] for cell in cells if cell.metadata["slideshow"]["slide_type"] == "slide"]
    assert begins == re.findall("^# (##? .+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({cell.id for cell in cells}) == len(cells)
    text = "\n".join(cell.source for cell in cells)
    assert all(find(name).heading() not in text and find(name).starter.strip() not in text for name in names("01"))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("nbconvert")
    assert main(["course", "slides", "01", "--folder", str(tmp_path)]) == 0
    path = tmp_path / "01-scalar.slides.html"
    assert capsys.readouterr().out.split() == [str(path)]
    page = path.read_text(encoding="utf-8")
    assert "What is wrong with the formula?" in page
    assert "data:image/png;base64," in page or "<svg" in page


@pytest.mark.long
def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(PtxlabError) as caught:
        slides.slides("77", tmp_path)
    there = ", ".join(source.name.partition("-")[0] for source in build.sources())
    assert str(caught.value) == f"there is no notebook '77'; choose from {there}"
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "nbconvert":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnavailableError) as missing:
        slides.slides("01", tmp_path)
    assert str(missing.value) == "slides need nbconvert: pip install nbconvert"


def test_the_plan_names_what_there_is() -> None:
    """Every exercise, every heading of a notebook and every page of slides that the plans name exists."""
    plan = "".join(path.read_text(encoding="utf-8") for path in PLANS)
    assert set(re.findall(r"slides/(\S+)\.slides\.html", plan)) - {"01-scalar"} < {s.stem for s in build.sources()}
    assert set(re.findall(r"`(\d\d-[a-z-]+)`", plan)) <= set(names())
    texts = {
        number: "".join(source.read_text(encoding="utf-8") for source in halves)
        for number, halves in groupby(build.sources(), lambda source: source.name[:2])
    }
    for row in re.findall(r'^\| \d+ \|.*\| (\d\d)\b[^"]*(".*) \|$', plan, re.MULTILINE):
        for heading in re.findall('"([^"]+)"', row[1]):
            assert f"## {heading}\n" in texts[row[0]], heading
