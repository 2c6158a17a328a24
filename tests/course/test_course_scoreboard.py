"""The scoreboard of a student's own kernel: it measures, remembers, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxlab.course import scoreboard
from ptxlab.course.scoreboard import board, start


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
def test_a_kernel_is_measured_beside_ours_and_its_earlier_self() -> None:
    first = scoreboard.enter("rows", start.by_rows, threads=64)
    assert [name for name, _ in first.rows] == ["scalar", "yours"]
    assert first.says == ("Entered.",)
    again = scoreboard.enter("rows", scoreboard.latest("rows"), threads=32)
    assert [name for name, _ in again.rows] == ["scalar", "your last", "yours"]
    ours, last, yours = (values for _, values in again.rows)
    assert last == dict(first.rows)["yours"]
    assert yours["error"] < 2e-5
    assert ours["warp-instructions"] < yours["warp-instructions"] != last["warp-instructions"]
    assert again.says[0].startswith("Entered. Your last one had ")
    assert scoreboard.source("rows") == start.by_rows.ptx, "what was entered last was PTX"


@pytest.mark.long
def test_what_is_wrong_is_told_and_not_kept() -> None:
    wrong = start.by_rows.ptx.replace("ex2.approx.f32", "neg.f32")
    told = scoreboard.enter("rows", wrong, threads=64)
    assert told.says[0].startswith("o[0, 0] should be ")
    assert told.says[0].endswith(": not right yet, so it is not entered.")
    outside = scoreboard.enter("rows", start.by_pages, threads=64)
    assert outside.says[0].startswith("It did not run, so it is not entered:\n")
    assert outside.says[1].startswith("The parameters of a kernel of this stage: q, key, value, o, rows: u32,")
    assert not Path(board.FILE).exists()


@pytest.mark.rest
@pytest.mark.long
def test_every_stage_begins_with_a_kernel_that_is_right() -> None:
    for name, threads in (("tensor cores", 64), ("pages", 32)):
        shown = scoreboard.enter(name, scoreboard.latest(name), threads=threads)
        assert shown.rows[-1][0] == "yours"
        assert shown.says[0].startswith("Entered.")
        assert "<table>" in shown._repr_html_()
        assert scoreboard.source(name).startswith("@kernel\ndef by_")


def test_an_unknown_stage_and_a_damaged_file() -> None:
    with pytest.raises(board.ScoreboardError) as caught:
        scoreboard.enter("row", start.by_rows)
    assert str(caught.value) == "there is no stage 'row'; there are 'rows', 'tiles', 'tensor cores', 'pages', 'final'"
    Path(board.FILE).write_text("{", encoding="utf-8")
    with pytest.raises(board.ScoreboardError) as caught:
        scoreboard.source("rows")
    assert str(caught.value).startswith(f"{Path(board.FILE).resolve()} is damaged (")
    assert str(caught.value).endswith("); remove it to begin anew")
