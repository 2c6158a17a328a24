"""No word is misspelt in what people read: pages, notebooks, the README, docstrings, messages, exercises."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ = ("README.md", "CHANGELOG.md", "docs", "ptxlab", "benchmarks")
"""Notebooks and their exercises are in `ptxlab/course`; the words that are none are in pyproject.toml."""


def misspelt(capsys: pytest.CaptureFixture[str], *paths: Path) -> list[str]:
    """What codespell finds, a line for each word."""
    spelling = pytest.importorskip("codespell_lib", reason="needs codespell: pip install 'ptxlab[test]'")
    spelling.main("--toml", str(ROOT / "pyproject.toml"), *map(str, paths))
    return capsys.readouterr().out.replace(str(ROOT) + "/", "").splitlines()


@pytest.mark.long
def test_no_word_is_misspelt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert misspelt(capsys, *(ROOT / name for name in READ)) == []
    (tmp_path / "page.md").write_text("Teh warp.\n", encoding="utf-8")
    assert misspelt(capsys, tmp_path / "page.md") == [f"{tmp_path}/page.md:1: Teh ==> The"]
